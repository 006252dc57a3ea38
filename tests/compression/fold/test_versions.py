"""Whoever asks for an older version of what the chat made, or for the difference of two, gets these sent along.

These tests cover versions of a work that are asked for, through folds. They leave out the newest version alone (``test_works``).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.effort import every
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.text.dialogue.wanted.versions import asked_versions
from turnfold.compression.text.words import fold

_CASES: Final[dict[str, Any]] = {
    file.stem: json.loads(file.read_text("utf-8"))
    for file in sorted((Path(__file__).parent / "cases" / "versions").glob("*.json"))
}


def _recalled(case: dict[str, Any], question: str) -> str:
    said: list[Message] = []
    for asked, answered in zip(case["requests"], case["versions"], strict=True):
        said += [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]
    for turn in range(24):
        said += [{"role": "user", "content": prose(turn, "en", 4)}, {"role": "assistant", "content": prose(500 + turn, "en", 10)}]
    body = encode([*said, {"role": "user", "content": question}])
    folded = fold_request(body, FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0)), WARM)
    return [message.text for message in folded.forwarded.messages][-1].removeprefix(question)


@each(("name", "question"), every(2, [(name, asked["question"]) for name, case in _CASES.items() for asked in case["asked"]]))
def test_versions_that_are_asked_for_are_sent_whole(name: str, question: str) -> None:
    case = _CASES[name]
    wanted = next(asked["versions"] for asked in case["asked"] if asked["question"] == question)
    quoted = _recalled(case, question)
    assert [n for n in wanted if case["versions"][n].strip("`") not in quoted] == []


def test_a_version_that_is_not_asked_for_is_not_sent_beside_it() -> None:
    case = _CASES["letter"]
    older, newest = (
        _recalled(case, asked) for asked in ("Go back to the first version of the letter.", "Show me the letter again.")
    )
    assert "Kind regards" not in older
    assert "Kind regards" in newest
    assert "cracked heat exchanger" not in newest


def test_texts_of_one_pattern_are_no_versions_of_each_other() -> None:
    case = _CASES["products"]
    assert "Bosch Drill X18" in _recalled(case, "Show me the description of the Bosch drill again, all of it.")


@each(
    ("said", "versions"),
    [
        ("Give me the script again.", ()),
        ("Shorten the first paragraph of the letter.", ()),
        ("Show me the latest version of the plan.", ()),
        ("Write a new version of the letter.", ()),
        ("Show me version one, the original draft.", (0,)),
        ("Was ist der Unterschied zwischen der alten und der neuen Fassung?", (-2, -1)),
        ("Remets le paragraphe sur les délais dans la lettre.", (-1, 0, 1, 2, 3, 4, 5, 6, 7)),
        ("Vuelve a la versión anterior.", (-2,)),
        ("最初のバージョンに戻して", (0,)),
        ("给我看上一版", (-2,)),
    ],
)
def test_versions_are_read_from_words(said: str, versions: tuple[int, ...]) -> None:
    assert asked_versions(fold(said)) == versions

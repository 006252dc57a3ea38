"""Which sentences need which, and what is read where marks are set otherwise (``tests.support.golden`` says when to write anew).

These tests cover one phrase of each list of ties in each place that a rule asks for, and texts with every mark in its other form:
a typographic apostrophe, a full-width colon, a blank that does not break. They leave out texts of odd pieces
(``test_golden.py``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.compression.text.test_golden import ODD_STAGES
from tests.support import golden, odd_texts
from turnfold.compression.text.private import redact, redact_json
from turnfold.compression.text.statements import objection, objects, statements

FILES = Path(__file__).parent / "golden"

#: Phrases by what they do to what stands in front of them or behind.
PHRASES: Final = (
    *(
        "But",
        "only if",
        "with one exception",
        "Then",
        "the latter",
        "No",
        "Wrong",
        "Never",
        "This",
        "Neither",
        "None of this",
        "All",
    ),
    *(
        "That is a lie",
        "Scratch that",
        "I was wrong",
        "none of it happened",
        "I disagree",
        "was joking",
        "the above",
        "The following",
    ),
    *(
        "see below",
        "Suppose",
        "in a dream",
        "let us imagine",
        "First",
        "Second",
        "Finally",
        "if",
        "Update",
        "Correction",
        "never mind",
    ),
    *(
        "was repealed",
        "turned out",
        "no longer",
        "must not",
        "at first",
        "initially",
        "a bad example",
        "all amounts",
        "He",
        "these",
    ),
    *(
        "aber",
        "nichts davon stimmt",
        "angenommen",
        "zunächst",
        "mais",
        "pero",
        "но",
        "所以",
        "但",
        "以下",
        "以上",
        "假设",
        "上述",
        "不",
    ),
)
_FRONT: Final = "The northern pump is new"
_BEHIND: Final = "the old valve of bay 7 was sold to Anna"


def _placed(phrase: str) -> Iterator[str]:
    """A phrase in front of, inside, behind and instead of a sentence, in a list, under headings, and introducing others."""
    said = f"{phrase} {_BEHIND}."
    yield f"{_FRONT}. It runs. {said} Hoses hold."
    yield f"{_FRONT}. {phrase}. Hoses hold. They do."
    yield f"{_FRONT}.\n\n{said}\n\nHoses hold."
    yield f"{_FRONT}.\n# Valves\n{said}\nHoses hold. It rains."
    yield f"- {_FRONT}.\n- {said} They hold.\n  - Hoses hold.\nIt rains."
    yield f"{phrase}:\n- {_FRONT}.\n- Hoses hold.\n\nIt rains."
    yield f"{phrase}：{_FRONT}。Hoses hold.\nIt rains."
    yield f"{_FRONT}, {phrase} it was sold. Hoses hold. The pump: {phrase}"
    yield f"Anna: {_FRONT}. Hoses hold.\nBen: {said}\nAnna: It rains."


def _taken_back() -> Iterator[str]:
    """A verdict behind so many sentences, with a heading, a blank line or a list among them."""
    for number in (1, 2, 3, 4, 5, 11, 12, 13, 14):
        some = [f"The pump of bay {i} is new and it runs at night." for i in range(number)]
        for verdict in ("None of this is true.", "Scratch that.", "I was wrong about all of it.", "That turned out to be wrong."):
            yield " ".join([*some, verdict, "Hoses hold."])
        yield "\n".join([*some[:-2], "# Valves", *some[-2:], "None of this is true.", "Hoses hold."])
        yield "\n\n".join(
            [" ".join(some[: number // 2]), " ".join([*some[number // 2 :], "None of this is true."]), "Hoses hold."]
        )
        yield "\n".join([*(f"- {one}" for one in some), "None of this is true.", "Hoses hold."])


def _first_sentences() -> Iterator[str]:
    """An objection or a verdict of every length at which it is no longer one, in front of what it may object to."""
    for size in (*range(114, 127, 2), 119, 121, *range(494, 508, 2), 499, 501):
        for begin in ("No, that is wrong", "Wrong", "None of this is true", "I disagree with it"):
            said = f"{begin} {'and nobody paid for it in that year ' * 20}"[: size - 1]
            yield f"{said}."
            yield f"{said}. {_FRONT}. Hoses hold."


def test_phrases_that_tie_sentences() -> None:
    lines = []
    for phrase in PHRASES:
        found = [(made.spans, made.needs, made.sizes, objection(said)) for said in _placed(phrase) for made in [statements(said)]]
        lines.append(f"{phrase}: {[sum(map(len, needs)) for _, needs, _, _ in found]} {golden.name_of(found)}")
    for number, made in enumerate(map(statements, _taken_back())):
        lines.append(f"{number}: {list(map(list, made.needs))} {golden.name_of((made.spans, made.sizes))}")
    first = [(objects(said), objection(said)) for said in _first_sentences()]
    lines += [f"first {i}: {golden.name_of(first[i : i + 8])}" for i in range(0, len(first), 8)]
    golden.agrees(FILES / "phrases.txt", lines)


#: Marks and their other forms.
_OTHER_FORMS: Final = (
    *(("'", "’"), ('"', "“"), (":", "："), (",", "，"), (". ", "。"), ("?", "？"), ("!", "！"), ("(", "（"), (")", "）")),
    *((" ", "\u00a0"), ("-", "–"), (";", "；"), ("\n", "\r\n"), ("...", "…"), ("- ", "• "), ("```", "~~~"), ("%", "％")),
)
_SAID: Final = (
    *("I don't want that: don't call me.", "N'oublie jamais d'utiliser docker.", "Toujours n'utilise que docker, s'il te plaît."),
    *("It's Anna's: O'Neill's (not Ben's); isn't it?", "She said: \"We won't pay - not now!\" He didn't.", "See: a, b - c..."),
    *(
        "These are wrong:\n- pumps run\n- valves hold\n\nIt rains.",
        "50% (or 3.5 kg): yes; no!",
        "l'hôtel d'Anna n'est pas à vendre.",
    ),
    *("The parts of it:\n- pumps\n- valves\n\nIt rains.", "We sold:\nThe pump of Anna.\nHoses hold."),
    *("What? Why! No: never.", "Remember: don't push - ever (really).", "```\nx = 'a'\n```\nThat's it.", "Costs: 1,200.50 - 3%"),
)


def test_marks_in_their_other_forms() -> None:
    texts: dict[str, list[str]] = {}
    for number, said in enumerate(
        [*_SAID, *odd_texts.PIECES[::3], *("\n".join(odd_texts.PIECES[i : i + 3]) for i in range(0, 90, 3))]
    ):
        for i, (mark, other) in enumerate(_OTHER_FORMS):
            if mark in said and (number < len(_SAID) or (i + number) % 3 == 0):
                texts.setdefault(mark, []).append(said.replace(mark, other))
    lines = []
    for stage, read in ODD_STAGES.items():
        if stage not in ("middle", "duplicates"):
            lines += [f"{stage} {mark!r}: {golden.name_of([read(text) for text in some])}" for mark, some in texts.items()]
    golden.agrees(FILES / "other_forms.txt", lines)


def test_private_parts_of_json() -> None:
    """Whatever else the object holds stays what it is."""
    held = {
        "n": 1,
        "yes": True,
        "none": None,
        "half": 0.5,
        "in": [1, None, False, {"x": "a <private>b</private> c", "y": 2}],
        "id": "<private>i</private>",
    }
    assert json.loads(redact_json(json.dumps(held))) == {
        **held,
        "in": [1, None, False, {"x": redact("a <private>b</private> c"), "y": 2}],
    }
    plain = json.dumps({**held, "in": "private", "id": 7}, indent=1)
    assert redact_json(plain) == plain

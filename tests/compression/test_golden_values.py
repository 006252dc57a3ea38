"""Defaults, and histories of every size, byte for byte (``tests.support.golden`` says when to write the files anew).

These tests show what a caller gets who says nothing; what is told of a history in every room. They leave out layers, exports
(``test_golden.py``).
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

import turnfold.compression
from tests.support import golden, odd_texts
from turnfold.compression import compress_text, create_summarizer, errors
from turnfold.compression.budgeted import History, HistoryMessage, HistorySettings, add, context, drill_down, search
from turnfold.compression.errors import InvalidInput, SectionUnknown, TurnfoldError
from turnfold.compression.layers import Compressor, CompressRequest
from turnfold.compression.options import FoldOptions, Keep
from turnfold.compression.recall.tuning import TUNING

FILES = Path(__file__).parent / "golden"

#: Modules whose public names others than the engine itself use with defaults.
_MODULES: Final = (
    *("options", "layers", "negotiate", "calibration", "memo", "budgeted.history", "budgeted.exports", "flows.layers"),
    *(
        "flows.roundtrip",
        "flows.summarizers",
        "flows.driver",
        "fit.fit",
        "fit.recover",
        "fit.overflow",
        "fit.cut",
        "fold",
        "recall.fence",
    ),
    *(
        "recall.question",
        "recall.choosing",
        "roundtrip.values",
        "roundtrip.budget",
        "shorten.registry",
        "shorten.prose",
        "shorten.sift",
        "shorten.terse_prose.compress",
    ),
    *(
        "shorten.lines",
        "state",
        "state.placement",
        "state.record",
        "summary.asking",
        "summary.calls",
        "text.kinds",
        "text.sentences",
    ),
    *("wire.changes", "wire.conversation", "wire.message", "wire.model_calls", "tokens"),
)


def _defaults(name: str, value: Any) -> str:
    """The parameters of a function or class that have a default, and those."""
    try:
        given = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return ""
    found = [one for one in given if one.default is not one.empty]
    plain = (str, bytes, int, float, bool, tuple, frozenset, type(None))
    said = [f"{one.name}={one.default!r}" for one in found if isinstance(one.default, plain)]
    return f"{name} {', '.join(said)}" if said else ""


def test_defaults() -> None:
    lines = []
    for module in _MODULES:
        held = importlib.import_module(f"turnfold.compression.{module}")
        for name, value in sorted(vars(held).items()):
            public = not name.startswith("_") and (inspect.isclass(value) or inspect.isfunction(value))
            if public and (value.__module__ == held.__name__ or name in getattr(held, "__all__", ())):
                room = module.partition(".")[0]  # not the file: code that moves within its room keeps its defaults
                lines.append(_defaults(f"{room}.{name}", value))
    made = (FoldOptions(), TUNING)
    lines += [
        f"{type(one).__name__}.{field.name} {getattr(one, field.name)!r}" for one in made for field in dataclasses.fields(one)
    ]
    golden.agrees(FILES / "defaults.txt", sorted(line for line in lines if line))


def test_public_names() -> None:
    """Each is what its home defines; a name that nobody defines is an error that says so."""
    for name in turnfold.compression.__all__:
        assert getattr(turnfold.compression, name).__name__ == name
    with pytest.raises(AttributeError, match=r"^module 'turnfold.compression' has no attribute 'nothing'$"):
        turnfold.compression.nothing  # type: ignore[attr-defined]  # noqa: B018
    assert Keep(frozenset("a"), frozenset("b")) | Keep(frozenset("c"), frozenset("b")) == Keep(frozenset("ac"), frozenset("b"))
    made = Compressor().compress(CompressRequest("A boat came. Another left.", layer=0))
    assert made.text == made.layers[0].text == "A boat came. Another left."


def _gaps(random: Random) -> str:
    return random.choice((" ", "  ", "   ", "    ", "\n", "\n\n", " \n ", ""))


def history(seed: int, settings: HistorySettings) -> tuple[History, list[str]]:
    """A history of odd messages, sentences of which stand so many blanks apart; some said twice, some by nobody else."""
    random, state, done = Random(f"history {seed}"), History(), list[str]()
    said: list[HistoryMessage] = []
    for _ in range(14 + seed):
        role = random.choice(("user", "user", "assistant", "assistant", "tool", "system", "developer"))
        pieces = [random.choice(odd_texts.PIECES[:26]) for _ in range(random.randrange(1, 6))]
        text = "".join(f"{piece}{_gaps(random)}" for piece in pieces)
        message = random.choice(said) if said and random.random() < 0.15 else HistoryMessage(role, text)
        said.append(message)
        for _ in range(1 + (random.random() < 0.1)):
            state, action = add(state, message, settings)
            done.append(action[0])
    return state, done


def test_histories_in_every_room() -> None:
    lines = []
    for seed in range(9):
        settings = HistorySettings((60, 120, 300)[seed % 3], seed % 4)
        state, done = history(seed, settings)
        lines.append(f"{seed} {''.join(done)} {len(state.blocks)} {golden.name_of(state)}")
        for room in (*range(20, 160, 6), 400):
            told = context(state, HistorySettings(room, 0))
            lines.append(f"  {room} {told.tokens} {told.compression_ratio} {golden.name_of(told.text)}")
        lines += [
            f"  {query}: {[golden.name_of(search(state, query, most)) for most in (0, 1, 3, -1)]}"
            for query in ("docker", "What is the tide?", "zzz", "")
        ]
        for layer in (0, 1, 2, 3, -1, True):
            for section in (state.blocks[0].id, "none"):
                try:
                    lines.append(f"  {layer} {golden.name_of(drill_down(state, section, layer))}")
                except (InvalidInput, SectionUnknown) as refused:
                    lines.append(f"  {layer} {refused}")
    golden.agrees(FILES / "histories.txt", lines)


async def test_prompts_of_ours() -> None:
    """What a caller's function is asked by default, in full."""
    asked: list[str] = []

    def call(prompt: str) -> str:
        asked.append(prompt)
        return "A boat came."

    for said in (
        create_summarizer(call),
        create_summarizer(call, max_response_tokens=1, mode="aggressive", system_prompt="Be short."),
    ):
        said("A boat came. Another left.")
    text = " ".join(odd_texts.PIECES[i] for i in range(0, 60, 2))
    made = [await compress_text(CompressRequest(text, l1_ratio=ratio), call) for ratio in (0.1, 0.6)]
    golden.agrees(FILES / "prompts.txt", [*asked, *(f"{one.written} {one.fault} {one.result.layers[2].text}" for one in made)])


def test_errors() -> None:
    """Of every error its base and what it says."""
    found = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, TurnfoldError)]
    lines = [f"{one.__name__} {[base.__name__ for base in one.__mro__[1:-2]]}" for one in found]
    golden.agrees(FILES / "errors.txt", [*lines, f"{InvalidInput('field', 'is wrong')} {SectionUnknown('s')}"])

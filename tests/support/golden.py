"""Whole outputs kept as files: one changed byte fails.

It compares what the code makes now with what a file says it made, gives short names to long outputs, and has conversations of our
own to make outputs from. What is made of them is up to each ``test_golden.py``.

These files say what came out when they were written, not what is right: they notice a change that nobody meant. Where a change
of the output is meant (a rule got better, a default moved), write them anew with

    TURNFOLD_ACCEPT=1 python -m pytest -n 0 tests -k golden

and read the diff before it is committed: every line of it is something that users get. Where nothing should have changed, the
code is wrong, and the files stay. Lines that end in a digest stand for outputs too long to keep: of those the files beside
them hold a few in full.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable
from difflib import unified_diff
from functools import cache
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, Final, TypeVar

from tests.support.effort import is_thorough

T = TypeVar("T")

Message = dict[str, Any]

#: Read here, since tests of the command line empty the environment.
_ACCEPTS: Final = bool(os.environ.get("TURNFOLD_ACCEPT"))
_ROOT: Final = Path(__file__).resolve().parents[2]
_DEMO: Final = _ROOT / "proxy" / "turnfold" / "proxy" / "demo_data" / "conversation.json"
#: Lines of the difference that a failure shows.
_MOST_TOLD: Final = 40
_CASES: Final = _ROOT / "benchmarks" / "cases" / "orders"


def chosen(cases: Collection[T], some: Collection[T]) -> Collection[T]:
    """The cases of which `some` are made in most runs; all of them in the profile "thorough", and to write the file."""
    assert some, "no case is chosen"
    return cases if _ACCEPTS or is_thorough() else [case for case in cases if case in some]


def some(cases: Iterable[T], step: int = 4) -> Collection[T]:
    """One of each `step` cases in a row in most runs, and all of them where `chosen` makes all.

    Which one is drawn, by a seed that leaves as many cases of every remainder of a division by 2 to 6, since many a case takes
    its wire and its options by its number.
    """
    every, random = list(cases), Random(3354)
    return chosen(every, [every[min(first + random.randrange(step), len(every) - 1)] for first in range(0, len(every), step)])


def agrees_in(path: Path, lines: Iterable[str]) -> None:
    """The same as `agrees`, for lines that may be some of the file's only (`chosen`), each in its place."""
    got = list(lines)
    if _ACCEPTS or is_thorough():
        agrees(path, got)
        return
    kept = path.read_bytes().decode().splitlines()
    assert got, "there are no lines"
    left = iter(kept)
    missing = [line for line in got if line not in kept]
    assert not missing, "\n".join([f"not in {path.name}:", *missing[:_MOST_TOLD]])
    assert all(line in left for line in got), f"other order than in {path.name}"


def agrees(path: Path, lines: Iterable[str]) -> None:
    """Fail where the lines are not those of the file; write the file where that is asked for."""
    got = "".join(f"{line}\n" for line in lines)
    if _ACCEPTS:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(got.encode())
    kept = path.read_bytes().decode()
    changes = unified_diff(kept.splitlines(), got.splitlines(), path.name, "now", lineterm="", n=0)
    assert got == kept, "\n".join(islice(changes, _MOST_TOLD))


def name_of(value: object) -> str:
    """A short name of an output: the same for the same bytes, text or value with a complete ``repr``."""
    data = (
        value
        if isinstance(value, bytes)
        else value.encode(errors="surrogatepass")
        if isinstance(value, str)
        else repr(value).encode()
    )
    return blake2b(data, digest_size=6).hexdigest()


@cache
def conversations() -> dict[str, list[Message]]:
    """Conversations of our own in seven languages, as messages of chat completions; the longest one has tools in it."""
    demo = json.loads(_DEMO.read_bytes())
    messages: list[Message] = [{"role": "system", "content": demo["system"]}]
    for turn in demo["turns"]:
        messages += [*turn["say"], turn["reply"]]
    found = {"radio_en": messages}
    for path in sorted(_CASES.glob("*.json")):
        found[path.stem] = json.loads(path.read_bytes())["messages"]
    return found


def texts() -> dict[str, str]:
    """The texts of these conversations, longest first in each, a few of each."""
    found: dict[str, str] = {}
    for name, messages in conversations().items():
        contents = [m["content"] for m in messages if isinstance(m.get("content"), str)]
        most = 24 if name == "radio_en" else 8
        for text in sorted(dict.fromkeys(contents), key=len, reverse=True)[:most]:
            found[f"{name}/{len(found)}"] = text
    return found

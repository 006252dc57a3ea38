"""A fold never shows an older state of a file as if it were the present one.

These tests cover edits in every form that agents write, through folds. They leave out reading edits from a text
(``text.test_file_edits``), works that a chat made (``test_works``).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any, Final

import pytest

from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.effort import crosswise, is_thorough
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.options import CachePrices, FoldOptions

_UNCACHED: Final = FoldOptions(prices=CachePrices(1, 1))
_PATH: Final = "src/harbour/limits.ts"
_SYSTEM: Final = (
    "You edit files with tags: <read_file>, <replace_in_file>, <write_to_file>, <execute_command>, each with <path> or <command>."
)


def _file(limits: dict[str, int]) -> str:
    lines = ["import { Gauge } from './gauge'", ""]
    for number, (name, value) in enumerate(limits.items()):
        lines += [f"export const {name}Limit = {value}", f"export function {name}Left(gauge: Gauge): number {{"]
        lines += [f"  // {prose(number, 'en', 1)}", f"  return {name}Limit - gauge.read('{name}')", "}", ""]
    return "\n".join(lines)


_NAMES: Final = ("berth", "crane", "parcel", "tariff", "customs", "pilot", "tug", "quay", "ramp", "yard", "gate", "scale")
_OLD: Final = dict.fromkeys(_NAMES, 1000) | {name: 1000 + 7 * i for i, name in enumerate(_NAMES)}


def _block(style: str, old: str, new: str) -> str:
    opens, ends = {"cline": ("------- SEARCH", "+++++++ REPLACE"), "aider": ("<<<<<<< SEARCH", ">>>>>>> REPLACE")}[style]
    return f"<replace_in_file>\n<path>{_PATH}</path>\n<diff>\n{opens}\n{old}\n=======\n{new}\n{ends}\n</diff>\n</replace_in_file>"


def _text_agent(style: str, *, whole: bool) -> list[Message]:
    """An agent that reads a file, changes one limit of it after the other, and goes on with other things."""
    limits = dict(_OLD)
    said: list[Message] = [
        {"role": "system", "content": _SYSTEM},
        {"role": "user", "content": f"<task>\nRaise the limits in {_PATH} as the harbour master asks.\n</task>"},
        {"role": "assistant", "content": f"<read_file>\n<path>{_PATH}</path>\n</read_file>"},
        {"role": "user", "content": f"[read_file for '{_PATH}'] Result:\n{_file(limits)}"},
    ]
    for step, name in enumerate(("crane", "tug", "crane", "gate")):
        old = f"export const {name}Limit = {limits[name]}"
        limits[name] = 20_000 + 11 * step
        block = _block(style, old, f"export const {name}Limit = {limits[name]}")
        if whole:
            block = f"<write_to_file>\n<path>{_PATH}</path>\n<content>\n{_file(limits)}\n</content>\n</write_to_file>"
        said.append({"role": "assistant", "content": f"{prose(40 + step, 'en', 2)}\n\n{block}"})
        said.append({"role": "user", "content": f"[replace_in_file for '{_PATH}'] Result:\nThe file was saved."})
    for step in range(24):
        log = "\n".join(f"{i:3} step {step} {prose(100 * step + i, 'en', 1)}" for i in range(30))
        said.append(
            {"role": "assistant", "content": f"<execute_command>\n<command>make part{step}</command>\n</execute_command>"}
        )
        said.append({"role": "user", "content": f"[execute_command for 'make part{step}'] Result:\n{log}"})
    return said


def _forwarded(messages: list[Message], options: FoldOptions = _UNCACHED, upto: int | None = None) -> list[Any]:
    folded = fold_request(encode(messages[:upto]), options, WARM)
    return list(json.loads(folded.body)["messages"])


def _last(texts: str, values: list[int]) -> int:
    return max((texts.rfind(f"craneLimit = {value}"), value) for value in values)[1]


@each(("style", "whole"), [("cline", False), ("aider", False), ("cline", True)])
def test_the_newest_state_of_a_line_stands_last_at_every_length(style: str, whole: bool) -> None:
    messages = _text_agent(style, whole=whole)
    folded = 0
    for upto in range(12, len(messages) + 1, 2 if is_thorough() else 4):
        texts = "\n".join(message["content"] for message in _forwarded(messages, upto=upto))
        folded += texts != "\n".join(message["content"] for message in messages[:upto])
        if "craneLimit = " in texts:
            assert _last(texts, [1007, 20_000, 20_022]) == 20_022, upto
    assert folded > 3


@pytest.mark.parametrize("style", ["cline", "aider"])
def test_an_edit_keeps_its_tags_its_file_and_what_is_new(style: str) -> None:
    messages = _text_agent(style, whole=False)
    edits = [m["content"] for m in _forwarded(messages, upto=30) if m["role"] == "assistant" and "craneLimit" in m["content"]]
    assert edits
    for edit in edits:
        assert "<replace_in_file>" in edit
        assert "</replace_in_file>" in edit
        assert f"<path>{_PATH}</path>" in edit
        assert "craneLimit = 200" in edit


def _call(number: int, name: str, **arguments: Any) -> Message:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}]}


def _calling_agent(values: tuple[int, ...], ask: str) -> list[Message]:
    """Turns of a user, each with one more edit of the same line, talk between them, and right behind the last one a question
    about that line."""
    limits, said = dict(_OLD), [{"role": "system", "content": "You are a coding agent."}]
    for turn, value in enumerate(values):
        old = f"export const craneLimit = {limits['crane']}"
        said.append({"role": "user", "content": f"Set the crane limit in {_PATH} as the master of shift {turn} wants it."})
        said.append(_call(3 * turn, "read_file", path=_PATH))
        said.append({"role": "tool", "tool_call_id": f"c{3 * turn}", "content": _file(limits)})
        limits["crane"] = value
        new = f"export const craneLimit = {value}"
        said.append(_call(3 * turn + 1, "edit_file", file_path=f"/srv/{_PATH}", old_string=old, new_string=new))
        said.append({"role": "tool", "tool_call_id": f"c{3 * turn + 1}", "content": "The file has been updated."})
        said.append({"role": "assistant", "content": f"The crane limit of {_PATH} is set. {prose(turn, 'en', 3)}"})
        for more in range(14 if value != values[-1] else 0):
            said.append({"role": "user", "content": prose(60 * turn + more, "en", 4)})
            said.append({"role": "assistant", "content": prose(900 + 60 * turn + more, "en", 12)})
    return [*said, {"role": "user", "content": ask}]


@each(
    ("values", "share"),
    crosswise(product([(31_007, 42_014), (31_007, 42_014, 53_021), (64_000, 1007, 75_100)], [None, 0.3, 0.15]), 3),
)
def test_no_quote_behind_the_newest_edit_shows_what_it_replaced(values: tuple[int, ...], share: float | None) -> None:
    messages = _calling_agent(values, f"Is craneLimit in {_PATH} high enough for what the master of the shift wants?")
    budget = None if share is None else int(share * sum(len(str(message)) for message in messages) / 4)
    texts = json.dumps(_forwarded(messages, replace(_UNCACHED, budget=budget)))
    assert len(texts) < len(json.dumps(messages))
    shown = [(texts.rfind(f"craneLimit = {value}"), value) for value in (1007, *values)]
    assert max(shown)[1] == values[-1]


def _whole_file(limits: dict[str, int], ends: str) -> str:
    return "\n".join(f'{n:03} = read("{name}{n}", limit={limits[name] + n}){ends}' for n in range(14) for name in _NAMES)


_TOOLS: Final[dict[str, Callable[[str], dict[str, Any]]]] = {
    "write_file": lambda text: {"path": _PATH, "content": text},
    "str_replace_editor": lambda text: {"command": "create", "path": _PATH, "file_text": text},
    "create_file": lambda text: {"filePath": _PATH, "content": text, "overwrite": True},
}


@each(("tool", "ends"), product(_TOOLS, ["", '  // "é"\t.']))
def test_a_file_written_again_shows_what_was_changed_in_it(tool: str, ends: str) -> None:
    text = _whole_file(_OLD, ends)
    changed = text.replace('"gate12", limit=', '"gate12", limit=4')
    messages: list[Message] = [{"role": "system", "content": "You edit files."}, {"role": "user", "content": f"Tune {_PATH}."}]
    steps = [(tool, _TOOLS[tool](text)), (tool, _TOOLS[tool](changed))]
    steps += [("run", {"command": f"make part{n}"}) for n in range(12)]
    for n, (name, given) in enumerate(steps):
        call = {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(given, ensure_ascii=False)}}
        log = "\n".join(f"{i:3} step {n} {prose(100 * n + i, 'en', 1)}" for i in range(12))
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": log if name == "run" else "File written."})
    folded = fold_request(encode(messages), _UNCACHED, WARM)
    sent = json.loads(folded.body)["messages"]
    calls = [json.loads(call["function"]["arguments"]) for one in sent for call in one.get("tool_calls", ())]
    written = [next(v for v in given.values() if isinstance(v, str) and "\n" in v) for given in calls if len(given) > 1]
    assert folded.events
    assert "more characters of this call are left out here" in written[-1]
    new = next(line for line in changed.split("\n") if "gate12" in line)
    old = next(line for line in text.split("\n") if "gate12" in line)
    assert new in written[-1].split("\n")
    assert not any(old in one for one in written)

"""Items and settings with every value near a right one (``tests.support.golden`` says when to write the files anew)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.compression.wire.test_golden import every
from tests.support import golden
from tests.support.three_wires import WIRES
from turnfold.compression.errors import FoldRejected
from turnfold.compression.memo import Memo

FILES = Path(__file__).parent / "golden"

_OUTPUTS: tuple[Any, ...] = ('{"stdout": "x"}', " [1]", "plain words", "", None, 7, {}, [], [{"type": "input_text", "text": "x"}])
_MARK = {"cache_control": {"type": "ephemeral"}}


def _items() -> Iterator[tuple[str, Any]]:
    for output in _OUTPUTS:
        for kind in ("local_shell_call_output", "shell_call_output", "function_call_output", "custom_tool_call_output"):
            yield "responses", {"type": kind, "call_id": "c", "id": "i", "output": output}
            yield "responses", {"type": kind, "id": "i", "output": output, "status": "completed"}
        for kind in (
            "reasoning",
            "image_generation_call",
            "local_shell_call",
            "mcp_call",
            "computer_call_output",
            "apply_patch_call",
        ):
            yield "responses", {"type": kind, "id": "i", "call_id": "c", "output": output, "result": output, "content": output}
            yield "responses", {"type": kind, "id": "i", "arguments": output, "action": output, "summary": output, "name": "read"}
        yield "chat", {"role": "tool", "tool_call_id": "c", "content": output}
        yield "chat", {"role": "assistant", "content": output, "tool_calls": output, "reasoning_content": output}
        yield "messages", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": output, **_MARK}]}
        yield "messages", {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "read", "input": output}]}
        yield "messages", {"role": "user", "content": [{"type": "document", "source": {"type": "text", "data": output}}]}
    for wire in WIRES:  # half a character, which JSON allows and no text can hold
        yield wire, {"role": "user", "content": [{"type": "text", "text": "half \ud800 of it", **_MARK}]}
        yield wire, {"role": "user", "content": "half \ud800 of it", **_MARK}
    for size in (866, 867, 868, 869, 870, 871, 872, 873, 880):
        yield "responses", {"type": "reasoning", "encrypted_content": "x" * size, "summary": []}


def test_items_with_values_near_a_right_one() -> None:
    lines = []
    for number, (wire, item) in enumerate(_items()):
        asked = {"role": "user", "content": "Which bay?"}
        key = "input" if wire == "responses" else "messages"
        try:
            request = WIRES[wire].wire.read(json.dumps({"model": "gpt-4o", key: [asked, item, asked]}).encode(), Memo())
        except FoldRejected as rejected:
            lines.append(f"{number} {wire} {rejected.reason}")
            continue
        one = request.messages[1]
        told = (one.role, one.raw, [part.text for part in one.texts], one.own, one.call_ids, one.answers, one.attached, one.key)
        seen = f"{one.role} {one.tokens} {one.unsigned.tokens} {one.sealed} {one.pinned} {one.holds} {one.has_calls}"
        lines.append(f"{number} {wire} {seen} {golden.name_of((told, WIRES[wire].wire.unmarked(request)))}")
    golden.agrees(FILES / "items.txt", lines)


_SETTINGS = (
    *("model", "n", "stream", "stream_options", "prompt_cache_key", "metadata", "user", "tools", "functions", "response_format"),
    *("max_completion_tokens", "max_tokens", "max_output_tokens", "output_config", "output_format", "text", "thinking", "store"),
    *("cache_control", "context_management", "thread", "compaction", "container", "mcp_servers", "system", "instructions"),
    *("previous_response_id", "conversation", "prompt", "background", "reasoning", "truncation", "include", "modalities"),
)
_VALUES: tuple[Any, ...] = (
    *(None, False, True, -1, 0, 1, 2, 1.0, "", "x", "1", [], {}, ["x"], [{"type": "text", "text": "x"}], {"user_id": "u"}),
    *({"type": "enabled", "budget_tokens": 1}, {"type": "adaptive"}, {"edits": []}, {"edits": [{"type": "compact_20260112"}]}),
)


def _read(wire: str, settings: dict[str, Any]) -> list[Any]:
    key = "input" if wire == "responses" else "messages"
    body = {key: [{"role": "user", "content": "Which bay?"}], "max_tokens": 9, **settings}
    try:
        return every(WIRES[wire].wire.read(json.dumps(body).encode(), Memo()))
    except FoldRejected as rejected:
        return [rejected.reason]


def test_settings_with_values_near_a_right_one() -> None:
    lines = []
    for wire in sorted(WIRES):
        for name in _SETTINGS:
            read = [_read(wire, {name: value}) for value in _VALUES]
            kinds = len({repr(one) for one in read})
            lines.append(f"{wire} {name}: {kinds} kinds, {golden.name_of(read)}")
    golden.agrees(FILES / "settings.txt", lines)

"""Under a budget, a tool loop keeps what its task asks for.

These tests cover agents with one user message, whose newest steps are all that a budget has room for. They leave out recall for a
person's next message (``test_ask``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from tests.support.cases import each
from tests.support.effort import crosswise
from tests.support.prefix import Kind, classify
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.fold import fold, unfold
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.conversation import Wire
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES

Items = list[dict[str, Any]]

_ASKED: Final = {4: "SN-4F8812", 11: "SN-90C3AA", 19: "SN-17B0DE"}
_TASK: Final = "Look at every hull, one after the other. In the end report the serial numbers of hull-4, hull-11 and hull-19."
_STEPS: Final = 28


def _result(number: int) -> str:
    serial = _ASKED.get(number, f"SN-{number * 7919 % 999983:06d}")
    told = prose(number, "en", 10)
    if number % 3 == 0:
        return f"hull-{number}\n| item | value |\n|---|---|\n| serial number | {serial} |\n\n{told}"
    if number % 3 == 1:
        return json.dumps({"hull": f"hull-{number}", "serial_number": serial, "remarks": told.split(". ")})
    return f"This is hull-{number}. Its serial number is {serial}. {told}"


def _chat(steps: int) -> bytes:
    messages: Items = [{"role": "system", "content": "You inspect ships."}, {"role": "user", "content": _TASK}]
    for n in range(1, steps + 1):
        function = {"name": "look", "arguments": json.dumps({"hull": f"hull-{n}"})}
        messages.append(
            {"role": "assistant", "content": None, "tool_calls": [{"id": f"c{n}", "type": "function", "function": function}]}
        )
        messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": _result(n)})
    return json.dumps({"model": "gpt-4o", "messages": messages}).encode()


def _responses(steps: int) -> bytes:
    items: Items = [{"role": "user", "content": _TASK}]
    for n in range(1, steps + 1):
        items.append(
            {"type": "function_call", "call_id": f"c{n}", "name": "look", "arguments": json.dumps({"hull": f"hull-{n}"})}
        )
        items.append({"type": "function_call_output", "call_id": f"c{n}", "output": _result(n)})
    return json.dumps({"model": "gpt-4o", "instructions": "You inspect ships.", "input": items}).encode()


def _messages(steps: int) -> bytes:
    messages: Items = [{"role": "user", "content": _TASK}]
    for n in range(1, steps + 1):
        called = {"type": "tool_use", "id": f"c{n}", "name": "look", "input": {"hull": f"hull-{n}"}}
        messages.append({"role": "assistant", "content": [called]})
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{n}", "content": _result(n)}]})
    return json.dumps(
        {"model": "claude-sonnet-4-5", "max_tokens": 900, "system": "You inspect ships.", "messages": messages}
    ).encode()


_WIRES: Final[Sequence[tuple[Wire, Callable[[int], bytes]]]] = ((CHAT, _chat), (RESPONSES, _responses), (MESSAGES, _messages))
_NAMES: Final = ("chat", "responses", "messages")


@each(("wire", "made", "budget"), crosswise([(*row, budget) for row in _WIRES for budget in [2500, 4000]], 2))
def test_what_the_task_asks_for_is_quoted_from_old_results(wire: Wire, made: Callable[[int], bytes], budget: int) -> None:
    body = made(_STEPS)
    folded = fold(wire.read(body, WARM), FoldOptions(budget=budget), WARM)
    text = "\n".join(message.text for message in folded.forwarded.messages)
    assert folded.events
    assert folded.tokens_after <= budget
    assert [serial for serial in _ASKED.values() if serial not in text] == []
    assert unfold(folded) == body


def test_no_old_result_is_quoted_where_tool_text_may_not_be() -> None:
    options = FoldOptions(budget=2500, recall_tool_text=False)
    folded = fold(CHAT.read(_chat(_STEPS), WARM), options, WARM)
    assert _ASKED[4] not in folded.forwarded.text


def test_the_loop_repeats_itself_but_at_fold_events() -> None:
    options = FoldOptions(budget=4000)
    bodies = [_chat(steps) for steps in range(1, _STEPS)]
    folds = [fold(CHAT.read(body, WARM), options, WARM) for body in bodies]
    assert folds[-1].events > 1
    for body, before, after in zip(bodies, folds, folds[1:], strict=False):
        if before.events == after.events and before.fitting == after.fitting:
            assert classify(body, before.forwarded.body, after.forwarded.body).kind is not Kind.REWRITE


def _part(number: int) -> str:
    """A file of functions that stand nowhere else, but for one in some."""
    own = [f"def quay_{number}_{k}(ship):\n    return ship.berth_{number}_{k} + {number * 31 + k}" for k in range(12)]
    shared = ["def mooring_limit_of(hull):\n    return HULL_LIMITS[hull]"] if number in (9, 15, 20) else []
    return "\n".join([*own[:6], *shared, *own[6:]])


@each("budget", [2000, 4000])
def test_names_that_a_loop_comes_back_to_are_quoted(budget: int) -> None:
    task = "## Overview\n\nMake the harbour's tests pass, one after the other. Look at each of them first."
    messages: Items = [{"role": "system", "content": "You mend code."}, {"role": "user", "content": task}]
    for n in range(_STEPS):
        function = {"name": "run", "arguments": json.dumps({"command": f"cat part_{n}.py"})}
        called = [{"id": f"c{n}", "type": "function", "function": function}]
        messages.append({"role": "assistant", "content": None, "tool_calls": called})
        messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": _part(n)})
    body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
    folded = fold(CHAT.read(body, WARM), FoldOptions(model="gpt-4o", budget=budget), WARM)
    assert folded.tokens_after <= budget
    assert "return HULL_LIMITS[hull]" in folded.forwarded.text

"""Long results do not push out what an agent did just before them.

These tests cover tool loops on the three wires that end in a result longer than what a fold keeps. They leave out folds of
messages that are whole or gone (``test_sealed``).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha512
from itertools import product
from typing import Any, Final

import pytest

from tests.support.effort import crosswise
from tests.support.messages_api import refusals
from tests.support.responses import Item, reasoning
from tests.support.responses_rules import rule_faults
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.fold import Folded, fold, unfold
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES

Step = tuple[str, str]  # what was run, and what came out

_TASK: Final = "The quotas of the quay are wrong; find out why and repair src/quay.py."
_STEPS: Final = 240
_PRICES: Final = pytest.mark.parametrize("prices", [CachePrices(0.5, 1.0), CachePrices(0.1, 1.0), CachePrices(0.1, 1.25)])


def _report(seed: int, lines: int) -> str:
    return "\n".join(f"step {seed}.{i}: {prose(1000 * seed + i, 'en', 1)}" for i in range(lines))


def _work(steps: int, lines: int) -> list[Step]:
    """An agent that looks at something, changes a line, and sees its test fail, over and over."""
    done: list[Step] = []
    for n in range(steps // 3):
        done.append((f"sed -n {n * 40},{n * 40 + 40}p src/quay.py", _report(n, lines)))
        done.append((f"sed -i 's/QUOTA_{n} = {n}/QUOTA_{n} = {n * 371 + 5}/' src/quay.py", f"changed line {n * 17 + 3}"))
        done.append((f"pytest -k quota_{n}", f"{_report(500 + n, 3)}\nE  AssertionError: quota {n}: {n * 371} != {n * 371 + 9}"))
    return done


def _newest(steps: int) -> list[str]:
    """What was changed last, and the failure under repair."""
    n = steps // 3 - 1
    return [f"QUOTA_{n} = {n * 371 + 5}", f"AssertionError: quota {n}: {n * 371} != {n * 371 + 9}"]


def codex(steps: list[Step], options: FoldOptions) -> Folded:
    items: list[Item] = [{"role": "user", "content": _TASK}]
    for n, (run, out) in enumerate(steps):
        items += [
            reasoning(n) | {"encrypted_content": "gAAAA" + sha512(b"%d" % n).hexdigest() * 8},
            {"type": "function_call", "call_id": f"c{n}", "name": "shell", "arguments": json.dumps({"command": run})},
            {"type": "function_call_output", "call_id": f"c{n}", "output": out},
        ]
    body = json.dumps({"model": "gpt-5", "store": False, "input": items}).encode()
    folded = fold(RESPONSES.read(body, WARM), options, WARM)
    assert not rule_faults(body, folded.body)
    assert unfold(folded) == body
    return folded


def plain(steps: list[Step], options: FoldOptions) -> Folded:
    messages: list[dict[str, Any]] = [{"role": "user", "content": _TASK}]
    for n, (run, out) in enumerate(steps):
        call = {"name": "shell", "arguments": json.dumps({"command": run})}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [{"id": f"c{n}", "type": "function", "function": call}]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": out},
        ]
    body = json.dumps({"model": "gpt-5", "messages": messages}).encode()
    folded = fold(CHAT.read(body, WARM), options, WARM)
    assert unfold(folded) == body
    return folded


def claude(steps: list[Step], options: FoldOptions) -> Folded:
    messages: list[dict[str, Any]] = [{"role": "user", "content": _TASK}]
    for n, (run, out) in enumerate(steps):
        use = {"type": "tool_use", "id": f"t{n}", "name": "shell", "input": {"command": run}}
        messages += [
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": out}]},
        ]
    body = json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages}).encode()
    folded = fold(MESSAGES.read(body, WARM), options, WARM)
    assert refusals(folded.body) == []
    assert unfold(folded) == body
    return folded


WIRES = pytest.mark.parametrize("wire", [codex, plain, claude])


@_PRICES
@WIRES
@pytest.mark.parametrize(("lines", "later"), crosswise(product([400, 1500], [0, 1]), 2))
def test_what_was_done_before_one_long_result_stays(
    wire: Callable[[list[Step], FoldOptions], Folded], prices: CachePrices, lines: int, later: int
) -> None:
    steps = [*_work(_STEPS, 6), ("make build", _report(900, lines)), *[("git status", "nothing to commit")] * later]
    folded = wire(steps, FoldOptions(prices=prices))
    assert folded.events
    told = folded.body.decode()
    assert [text for text in _newest(_STEPS) if text not in told] == []


def local_shell(steps: list[Step], options: FoldOptions) -> Folded:
    """Codex with the local shell, whose outputs are JSON in a string, and are whole or gone."""
    items: list[Item] = [{"role": "user", "content": _TASK}]
    for n, (run, out) in enumerate(steps):
        action = {"type": "exec", "command": ["bash", "-lc", run], "env": {}}
        output = json.dumps({"output": out, "metadata": {"exit_code": 0}})
        items += [
            reasoning(n) | {"encrypted_content": "gAAAA" + sha512(b"%d" % n).hexdigest() * 8},
            {"type": "local_shell_call", "id": f"l{n}", "call_id": f"c{n}", "status": "completed", "action": action},
            {"type": "local_shell_call_output", "call_id": f"c{n}", "output": output},
        ]
    body = json.dumps({"model": "gpt-5", "store": False, "input": items}).encode()
    folded = fold(RESPONSES.read(body, WARM), options, WARM)
    assert not rule_faults(body, folded.body)
    assert unfold(folded) == body
    return folded


@_PRICES
@pytest.mark.parametrize("long", [1, 2, 3])
def test_nor_do_several_where_nothing_of_a_turn_is_shortened(prices: CachePrices, long: int) -> None:
    builds = [(f"make part{n}", _report(900 + n, 400)) for n in range(long)]
    folded = local_shell([*_work(60, 6), *builds], FoldOptions(prices=prices))
    assert folded.events
    told = folded.body.decode()
    assert [text for text in _newest(60) if text not in told] == []

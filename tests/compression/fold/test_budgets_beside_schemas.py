"""Budgets of which instructions and tools' schemas take most: an agent's session still fits, and keeps what is asked for."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.support import words
from tests.support.cases import each
from tests.support.warm import WARM
from turnfold.compression.fold import fold
from turnfold.compression.fold.engine import Folded
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.formats.messages import MESSAGES

_CLAUDE: Final = CachePrices(0.1, 1.25)
_STEPS: Final = 24


def session(schemas: int, instructions: int) -> bytes:
    """A session of an agent with long schemas or instructions; at its end the user asks for what an early step printed."""
    messages: list[dict[str, Any]] = []
    for step in range(_STEPS):
        name = f"toolu_{step}"
        printed = f"build id of part{step}: B-{step * 7919:07d}\n" + words.prose(300 + step, "en", 24)
        messages += [
            {"role": "user", "content": f"Run the check for part{step} and tell me what you find."},
            {"role": "assistant", "content": [{"type": "tool_use", "id": name, "name": "Bash", "input": {"command": "check"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": printed}]},
            {"role": "assistant", "content": words.prose(900 + step, "en", 6)},
        ]
    messages.append({"role": "user", "content": "What was the build id of part3?"})
    tool = {"name": "Bash", "description": words.prose(1, "en", schemas), "input_schema": {"type": "object"}}
    body = {"model": "claude-sonnet-4-6", "max_tokens": 9, "tools": [tool], "messages": messages}
    return json.dumps(body | {"system": words.prose(2, "en", instructions)}).encode()


def folded(schemas: int, instructions: int, budget: int) -> Folded:
    body = session(schemas, instructions)
    return fold(MESSAGES.read(body, WARM), FoldOptions(prices=_CLAUDE, budget=budget), WARM)


@each(
    ("schemas", "instructions", "budget"),
    [(1100, 4, budget) for budget in range(23_000, 36_000, 2_000)] + [(1600, 4, 34_000), (1600, 4, 36_000), (4, 1100, 32_000)],
)
def test_a_session_fits_and_keeps_what_is_asked_for(schemas: int, instructions: int, budget: int) -> None:
    found = folded(schemas, instructions, budget)
    assert found.tokens_before > budget
    assert found.reason != "over-budget"
    assert found.tokens_after <= budget
    assert b"build id of part3: B-0023757" in found.body


def test_what_no_fold_takes_is_all_that_is_left_of_a_smaller_budget() -> None:
    found = folded(1100, 4, 8_000)
    assert found.reason == "over-budget"
    assert found.tokens_after < folded(1100, 4, 23_000).tokens_after


def test_a_budget_is_used() -> None:
    """A target below what no fold takes had left a third of this budget free."""
    assert folded(4, 1100, 32_000).tokens_after > 0.75 * 32_000

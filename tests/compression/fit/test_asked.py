"""A result that is too large for its budget or window keeps what the user asked for, and the budget is met.

These tests cover cutting the newest results. They leave out how a text is cut in the middle (``test_middle.py``).
"""

from __future__ import annotations

import json
from itertools import product
from typing import Any, Final

import pytest

from tests.support.cases import each
from tests.support.effort import crosswise
from turnfold.compression.fit.fit import RESULTS_CUT, Fitted, fit
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions, Keep
from turnfold.compression.wire.formats.chat import CHAT

ROWS: Final = {
    "yaml": "unit-{0}:\n  image: registry/unit-{0}\n  serial: SN-{1}",
    "log": "2026-03-04 08:{2:02}:01 INFO unit-{0} finished job SN-{1} after 3 tries",
    "csv": "unit-{0},Lisbon,{2},SN-{1}",
    "prose": "The old crane was painted twice that year. The serial of unit-{0} is SN-{1}. Nobody remembers why.",
    "code": 'def read_unit_{0}(items):\n    key = "SN-{1}"\n    return [i for i in items if i.key == key]\n',
}
BUDGET: Final = 400


def request(row: str, model: str = "gpt-4o") -> bytes:
    result = "\n".join(row.format(n, 7919 * (n + 3), n % 60) for n in range(120))
    call = {"id": "c1", "type": "function", "function": {"name": "fetch", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Which serial, job or key does unit-77 have (read_unit_77)?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": result},
    ]
    return json.dumps({"model": model, "messages": messages, "max_tokens": 100}).encode()


def fitted(body: bytes, **options: Any) -> Fitted:
    memo = Memo()
    return fit(CHAT.read(body, memo), FoldOptions(**options), memo)


@each(("kind", "limit"), crosswise(product(ROWS, [{"budget": BUDGET}, {"window": 900}]), 2))
def test_the_newest_result_is_cut_to_what_is_asked_for(kind: str, limit: dict[str, int]) -> None:
    body = request(ROWS[kind])
    made = fitted(body, **limit)
    sent = json.loads(made.forwarded.body)["messages"]
    assert made.tokens <= limit.get("budget", 800)
    assert f"SN-{7919 * 80}" in sent[-1]["content"]
    assert "tokens left out]" in sent[-1]["content"]
    assert sent[:-1] == json.loads(body)["messages"][:-1]
    assert made.reason == (RESULTS_CUT if "budget" in limit else "window")


@pytest.mark.parametrize(("model", "keep"), [("claude-sonnet-5-5", Keep()), ("gpt-4o", Keep(tools=frozenset({"fetch"})))])
def test_a_budget_leaves_results_whole_that_must_not_change(model: str, keep: Keep) -> None:
    body = request(ROWS["log"], model)
    made = fitted(body, budget=BUDGET, keep=keep)
    assert made.forwarded.body == body
    assert made.reason == "over-budget"


def test_a_result_on_which_the_question_does_not_bear_keeps_its_ends() -> None:
    body = request(ROWS["csv"]).replace(b"unit-77 have (read_unit_77)", b"Beethoven like")
    sent = json.loads(fitted(body, budget=BUDGET).forwarded.body)["messages"]
    whole = json.loads(body)["messages"][-1]["content"]
    head, tail = sent[-1]["content"].split("\n[turnfold ")
    assert whole.startswith(head)
    assert whole.endswith(tail.split("]\n")[1])

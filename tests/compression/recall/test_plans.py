"""Under a budget, the newest state of a plan that an agent keeps with a tool is quoted, and no older one stands behind it."""

from __future__ import annotations

import json
from itertools import product
from typing import Any, Final

from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.words import prose
from turnfold.compression.fold import fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.formats.chat import CHAT

_STEPS: Final = [f"Sample the {thing} of Porto" for thing in ("ledger", "harbour", "tariff", "parcel", "meter")]


def _arguments(form: str, done: int) -> dict[str, Any]:
    status = ["completed" if n < done else "in_progress" if n == done else "pending" for n in range(len(_STEPS))]
    if form == "todos":
        return {"todos": [{"id": str(n), "content": step, "status": status[n]} for n, step in enumerate(_STEPS)]}
    return {"explanation": "", "plan": [{"status": status[n], "step": step} for n, step in enumerate(_STEPS)]}


def _called(name: str, number: int, arguments: dict[str, Any], result: str) -> list[dict[str, Any]]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


@each(
    ("form", "asked"),
    every(2, crosswise(product(["todos", "plan"], ["Where are we, and what's next?", "Go on with it.", "Weiter."]), 3)),
)
def test_the_newest_plan_is_quoted_under_a_budget(form: str, asked: str) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Do what the ticket says, one thing after the other."}]
    for done in range(4):
        messages += _called("write_plan", 100 * done, _arguments(form, done), "Plan updated.")
        for n in range(1, 16 if done == 3 else 4):
            messages += _called(
                "read_file",
                100 * done + n,
                {"path": f"src/{done}/{n}.md"},
                prose(100 * done + n, "en", 30) + "\nWhere we go on is said next.",
            )
    messages += [
        {"role": "assistant", "content": "Five of nine are done. The next one waits."},
        {"role": "user", "content": asked},
    ]
    body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
    sent = fold(CHAT.read(body, Memo()), FoldOptions(model="gpt-4o", budget=2500), Memo()).body.decode().replace("\\", "")
    newest, older = (json.dumps(_arguments(form, done)) for done in (3, 2))
    assert newest in sent
    assert sent.rfind(older) < sent.rfind(newest)

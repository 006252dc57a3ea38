"""An agent whose tools' results are user messages, at work through the proxy: it gets its tasks done and stops.

These tests cover a scripted model that knows what it is sent and nothing else. They leave out the formats
(``tests.support.text_agents``), what is kept of a session in one request (``tests/compression/fold``).
"""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from tests.proxy.harness import ProxyServer, UpstreamServer, call, proxy_server, reply
from tests.support.effort import every, is_thorough
from tests.support.text_agents import FORMATS, session
from tests.support.warm import warm_fold

Message = dict[str, Any]

_PARTS: Final = 6  # that each task has
_ANSWERS: Final = {
    "/v1/chat/completions": b'{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}',
    "/v1/messages": b'{"content":[],"usage":{"input_tokens":9,"output_tokens":1}}',
    "/v1/responses": b'{"output":[],"usage":{"input_tokens":9,"output_tokens":1}}',
}
_TASKS: Final = (
    "Count the herons of parish 417.",
    "Write the ferry times of Orsa into times.txt.",
    "Paint the gate of plot 9 green.",
)


def body_of(path: str, messages: list[Message]) -> bytes:
    told = "\n".join(m["content"] for m in messages if m["role"] == "system") or "Work."
    said = [m for m in messages if m["role"] != "system"]
    wires: dict[str, Message] = {
        "/v1/chat/completions": {"messages": messages},
        "/v1/messages": {"system": told, "max_tokens": 900, "messages": said},
        "/v1/responses": {"instructions": told, "input": [{"type": "message", **m} for m in said]},
    }
    return json.dumps({"model": "gpt-4o", **wires[path]}).encode()


def text_of(body: bytes) -> str:
    """All that a model is told in a request, in order."""
    found = json.loads(body)
    contents = [m.get("content") for m in found.get("messages", found.get("input"))]
    return "\n".join(c if isinstance(c, str) else "\n".join(part["text"] for part in c) for c in contents)


#: Each format with one or two of the budgets, each of them on a wire in turn; in "thorough" all three with one another.
_CASES: Final = [
    (name, budget, path)
    for row, name in enumerate(["smolagents", "mini-swe", "openhands", "chinese"])
    for column, budget in enumerate([None, 1200, 2500])
    for wire, path in enumerate(sorted(_ANSWERS))
    if is_thorough() or (wire == (row + column) % len(_ANSWERS) and row % 2 == column % 2)
]


@pytest.mark.parametrize(("name", "budget", "path"), every(2, _CASES))
def test_each_task_is_worked_on_until_it_is_done(upstream: UpstreamServer, name: str, budget: int | None, path: str) -> None:
    upstream.handler = reply(_ANSWERS[path])
    form = FORMATS[name]
    made = session(name, len(_TASKS), _PARTS, 5)
    outputs = [made.messages[i]["content"] for i in sorted(made.reports)]
    messages: list[Message] = [{"role": "system", "content": form.system}] if form.system else []
    headers = [("content-type", "application/json"), *([("x-turnfold-budget", str(budget))] if budget else [])]
    worked_on: list[str] = []

    def ask(proxy: ProxyServer) -> str:
        """The task that the model takes for the newest, by what it is sent."""
        assert call(proxy.origin, "POST", path, body_of(path, messages), headers).status == 200
        sent = text_of(upstream.seen[-1].body)
        return max(_TASKS, key=sent.rfind)

    with proxy_server(upstream.origin + "/v1", fold=warm_fold) as (proxy, _):
        for number, task in enumerate(_TASKS):
            messages.append({"role": "user", "content": form.again(task) if number else form.task(task)})
            for part in range(_PARTS):
                worked_on.append(ask(proxy))
                messages.append({"role": "assistant", "content": form.call(f"Part {part} of it.", "run", f"{part}.py")})
                messages.append({"role": "user", "content": outputs[number * _PARTS + part]})
            worked_on.append(ask(proxy))
            messages.append({"role": "assistant", "content": form.answer("It is done.")})
    assert worked_on == [task for task in _TASKS for _ in range(_PARTS + 1)]

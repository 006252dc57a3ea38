"""Anthropic's Messages API through Turnfold, with the official SDK: folded as chat completions are, refused as they are.

The upstream here refuses what the real one does (``tests.support.messages_api``), preserved thinking included; the engine is the
real one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from tests.proxy.harness import ProxyServer, StartProxy, UpstreamServer, call, reply, until
from tests.support.messages_api import Bindings, refusals
from tests.support.warm import warm_fold
from tests.support.words import prose

SDK = "anthropic"  # imported by the tests: it takes seconds, which other processes of a run do without

OLD, BINDING = "claude-sonnet-4-6", "claude-opus-5-5"
USAGE = {
    "input_tokens": 40,
    "cache_read_input_tokens": 600,
    "cache_creation_input_tokens": 260,
    "cache_creation": {"ephemeral_5m_input_tokens": 60, "ephemeral_1h_input_tokens": 200},
    "output_tokens": 1,
}
EVENTS = ((b"content-type", b"text/event-stream"),)


def message(*blocks: dict[str, Any], model: str = OLD, **usage: int) -> dict[str, Any]:
    head = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "stop_reason": "end_turn",
        "stop_sequence": None,
    }
    return {**head, "content": list(blocks), "usage": {**USAGE, **usage}}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def stream_of(said: str) -> list[bytes]:
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message()},
        {"type": "content_block_start", "index": 0, "content_block": text("")},
        {"type": "ping"},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": c}} for c in said),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 40}},
        {"type": "message_stop"},
    ]
    return [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events]


class Api:
    """Answers as the API does: refuses what it refuses, thinks, and calls a tool for every second question."""

    def __init__(self, upstream: UpstreamServer, model: str) -> None:
        self.upstream, self.model, self.bindings = upstream, model, Bindings()
        self.faults: list[str] = []
        self.answers = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sent = self.upstream.seen[-1].body
        self.faults += refusals(sent)
        if self.model == BINDING:
            self.faults += [f"Invalid `signature` in `thinking` block {one}" for one in self.bindings.violations(sent)]
        if self.faults:
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": "; ".join(self.faults)}}
            await reply(json.dumps(error).encode(), status=400)(scope, receive, send)
            return
        number, last = self.answers, json.loads(sent)["messages"][-1]["content"]
        self.answers += 1
        thinking = {"type": "thinking", "thinking": f"About {number}.", "signature": f"sig-{number}"}
        answered = isinstance(last, list) and any(block["type"] == "tool_result" for block in last)
        if answered or number % 3 == 2:
            answer = message(thinking, text(f"Crane {number} lifts {40 + number} t."), model=self.model)
        else:
            call = {"type": "tool_use", "id": f"toolu_{number}", "name": "look", "input": {"crane": number, "deep": 1.50}}
            answer = message(thinking, call, model=self.model)
        self.bindings.answered(sent, {"role": "assistant", "content": answer["content"]})
        await reply(json.dumps(answer).encode())(scope, receive, send)


@pytest.fixture
def proxy(folding_proxy: ProxyServer) -> ProxyServer:
    return folding_proxy


@pytest.fixture
def client(proxy: ProxyServer) -> Iterator[Any]:
    with import_module(SDK).Anthropic(base_url=proxy.origin, api_key="sk-ant-user", max_retries=0) as made:
        yield made


def marked(messages: list[Any]) -> list[Any]:
    """As Claude Code marks: the last two messages."""
    out = [*messages]
    for i in (-1, -2):
        if len(out) >= -i:
            content = out[i]["content"]
            blocks = [*content]
            plain = [n for n, block in enumerate(blocks) if block["type"] not in {"thinking", "redacted_thinking"}]
            blocks[plain[-1]] = {**blocks[plain[-1]], "cache_control": {"type": "ephemeral"}}
            out[i] = {**out[i], "content": blocks}
    return out


@pytest.mark.parametrize(("model", "turns"), [(OLD, 10), (BINDING, 16)])
def test_an_agent_that_thinks_is_folded_and_refused_nowhere(
    upstream: UpstreamServer, start_proxy: StartProxy, model: str, turns: int
) -> None:
    api = upstream.handler = Api(upstream, model)
    proxy = start_proxy(f"{upstream.origin}/v1", fold=warm_fold, folding={"cache_hit_share": 0.0})  # else it hardly pays
    client: Any = import_module(SDK).Anthropic(base_url=proxy.origin, api_key="sk-ant-user", max_retries=0)
    messages: list[Any] = []
    statuses, asked = [], 0
    for turn in range(turns):
        asking = text(
            f"Turn {turn}: what of crane {turn}? {prose(turn, 'en', 8)}"
        )  # a string would become blocks where it is marked
        messages.append({"role": "user", "content": [asking]})
        while messages[-1]["role"] == "user":
            raw = client.messages.with_raw_response.create(
                model=model, max_tokens=500, system=[text("You run the harbour.")], messages=marked(messages)
            )
            statuses.append(raw.headers["x-turnfold-status"])
            content = [block.model_dump(exclude_none=True) for block in raw.parse().content]
            messages.append({"role": "assistant", "content": content})
            if content[-1]["type"] == "tool_use":
                asked += 1
                found = [text(f"Crane {asked} lifts {40 + asked} t. {prose(asked + 99, 'en', 40)}"), text(prose(asked, "de", 20))]
                result = {"type": "tool_result", "tool_use_id": content[-1]["id"], "content": found}
                messages.append({"role": "user", "content": [result]})
    client.close()
    assert api.faults == []
    assert "folded" in statuses
    assert len(upstream.seen[-1].body) < 0.85 * len(json.dumps(messages))
    usage = proxy.recorder.receipts[-1].usage
    assert (usage.prompt_tokens, usage.cached_tokens, usage.cache_write_tokens, usage.cache_write_hour_tokens) == (
        900,
        600,
        260,
        200,
    )


def test_a_model_that_binds_thinking_without_its_name_saying_so_is_learned(
    upstream: UpstreamServer, proxy: ProxyServer, client: Any
) -> None:
    refused = {"type": "invalid_request_error", "message": "messages.3.content.0: Invalid `signature` in `thinking` block. The"}

    async def api(scope: Scope, receive: Receive, send: Send) -> None:
        body = json.loads(upstream.seen[-1].body)
        whole = len(body["messages"]) == len(messages)
        thinks = any(block["type"] == "thinking" for m in body["messages"] if m["role"] == "assistant" for block in m["content"])
        bad = thinks and not whole
        answer = {"type": "error", "error": refused} if bad else _ANSWER
        await reply(json.dumps(answer).encode(), status=400 if bad else 200)(scope, receive, send)

    upstream.handler = api
    messages: list[Any] = []
    for i in range(60):
        thinking = {"type": "thinking", "thinking": "Hm.", "signature": f"s{i}"}
        messages += [
            {"role": "user", "content": [text(f"{i}: {prose(i, 'en', 8)}")]},
            {"role": "assistant", "content": [thinking, text(prose(i + 500, "en", 8))]},
        ]
    messages.append({"role": "user", "content": [text("And now?")]})
    asked = {"model": "claude-of-the-house", "max_tokens": 9, "extra_headers": {"x-turnfold-budget": "9000"}}
    assert client.messages.create(messages=messages, **asked).content[0].text == "ok"
    until(lambda: len(proxy.recorder.so_far) == 1)
    assert [receipt.reason for receipt in proxy.recorder.receipts] == ["thinking-refused"]
    assert len(upstream.seen) == 2
    messages += [{"role": "assistant", "content": [text("ok")]}, {"role": "user", "content": [text("More?")]}]
    assert client.messages.create(messages=messages, **asked).content[0].text == "ok"
    assert len(upstream.seen) == 3
    until(lambda: len(proxy.recorder.so_far) == 2)
    assert proxy.recorder.receipts[-1].status == "folded"


def test_a_stream_passes_and_its_usage_is_read(upstream: UpstreamServer, proxy: ProxyServer, client: Any) -> None:
    upstream.handler = reply(*stream_of("héron"), headers=EVENTS)
    with client.messages.stream(model=OLD, max_tokens=90, messages=[{"role": "user", "content": "hi"}]) as stream:
        assert "".join(stream.text_stream) == "héron"
    receipt = proxy.recorder.one()
    assert (receipt.usage.prompt_tokens, receipt.usage.completion_tokens) == (900, 40)
    assert (receipt.streamed, receipt.complete, receipt.model) == (True, True, OLD)


def chat(turns: int) -> list[Any]:
    return [{"role": "assistant" if i % 2 else "user", "content": f"{i}: {prose(i, 'en', 8)}"} for i in range(2 * turns + 1)]


@pytest.mark.parametrize(
    "message",
    ["prompt is too long: 30000 tokens > 3000 maximum", "input length and `max_tokens` exceed context limit: 9000 + 90 > 3000"],
)
def test_a_full_context_is_recovered_once(upstream: UpstreamServer, proxy: ProxyServer, client: Any, message: str) -> None:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}

    async def full(scope: Scope, receive: Receive, send: Send) -> None:
        fits = len(upstream.seen[-1].body) < 0.8 * len(upstream.seen[0].body)
        await reply(json.dumps(_ANSWER if fits else error).encode(), status=200 if fits else 400)(scope, receive, send)

    upstream.handler = full
    made = client.messages.create(model="claude-nobody-knows", max_tokens=90, messages=chat(40))
    assert made.content[0].text == "ok"
    assert len(upstream.seen) == 2
    assert proxy.recorder.one().status == "recovered"


_ANSWER = message(text("ok"))


def test_errors_are_the_upstreams_own(upstream: UpstreamServer, client: Any) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    upstream.handler = reply(json.dumps(error).encode(), status=529)
    with pytest.raises(import_module(SDK).APIStatusError, match="Overloaded") as failed:
        client.messages.create(model=OLD, max_tokens=9, messages=chat(1))
    assert failed.value.status_code == 529


def test_the_state_answers_in_the_forms_of_the_api(upstream: UpstreamServer, client: Any) -> None:
    messages = [
        {"role": "user", "content": "use docker"},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": "prohibit docker"},
    ]
    asked = {"model": OLD, "max_tokens": 9, "messages": messages, "extra_headers": {"x-turnfold-state": "enforce"}}
    answer = client.messages.create(**asked)
    with client.messages.stream(**asked) as stream:
        assert "".join(stream.text_stream) == answer.content[0].text
    assert "docker" in answer.content[0].text
    assert upstream.seen == []


@pytest.mark.parametrize(
    ("keys", "status"),
    [
        ({"context_management": {"edits": [{"type": "compact_20260112"}]}}, "passthrough"),
        ({"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}, "folded"),
    ],
)
def test_what_the_provider_is_to_summarise_is_whole(
    upstream: UpstreamServer, client: Any, keys: dict[str, Any], status: str
) -> None:
    upstream.handler = reply(json.dumps(_ANSWER).encode())
    raw = client.messages.with_raw_response.create(model=OLD, max_tokens=9, messages=chat(120), extra_body=keys)
    assert raw.headers["x-turnfold-status"] == status


def test_counting_and_batches_pass_through(upstream: UpstreamServer, proxy: ProxyServer, client: Any) -> None:
    upstream.handler = reply(b'{"input_tokens": 12}')
    assert client.messages.count_tokens(model=OLD, messages=chat(1)).input_tokens == 12
    assert upstream.seen[-1].target == "/v1/messages/count_tokens"
    assert proxy.recorder.receipts == []


def test_thinking_that_was_refused_once_is_not_sent_again(upstream: UpstreamServer, proxy: ProxyServer, client: Any) -> None:
    """As after a client's own compaction: what it keeps behind its new summary no longer fits; what is thought later does."""
    refused = {"type": "invalid_request_error", "message": "messages.1.content.0: Invalid `signature` in `thinking` block. The"}

    def thoughts(body: bytes) -> list[str]:
        blocks = [block for m in json.loads(body)["messages"] if m["role"] == "assistant" for block in m["content"]]
        return [block["signature"] for block in blocks if block["type"] == "thinking"]

    async def api(scope: Scope, receive: Receive, send: Send) -> None:
        bad = any(one.startswith("old") for one in thoughts(upstream.seen[-1].body))
        answer = {"type": "error", "error": refused} if bad else _ANSWER
        await reply(json.dumps(answer).encode(), status=400 if bad else 200)(scope, receive, send)

    def thinking(signature: str) -> dict[str, Any]:
        return {"type": "thinking", "thinking": "Hm.", "signature": signature}

    upstream.handler = api
    messages: list[Any] = [{"role": "user", "content": [text("This session is being continued from another one. All is well.")]}]
    for n in range(3):
        messages.append({"role": "assistant", "content": [thinking(f"old {n}"), text(prose(n, "en", 8))]})
        messages.append({"role": "user", "content": [text(f"And crane {n}?")]})
    reasons = []
    for n in range(4):
        raw = client.messages.with_raw_response.create(model="claude-opus-5-5", max_tokens=9, messages=messages)
        reasons.append(raw.headers.get("x-turnfold-reason"))
        messages.append({"role": "assistant", "content": [thinking(f"new {n}"), text("ok")]})
        messages.append({"role": "user", "content": [text(f"And now, {n}?")]})
    assert [thoughts(one.body) for one in upstream.seen] == [
        ["old 0", "old 1", "old 2"],
        [],
        ["new 0"],
        ["new 0", "new 1"],
        ["new 0", "new 1", "new 2"],
    ]
    assert reasons == ["thinking-refused"] * 4
    other = client.with_options(api_key="another")
    assert other.messages.create(model="claude-opus-5-5", max_tokens=9, messages=messages).content[0].text == "ok"
    assert len(upstream.seen) == 7  # what one tenant's were refused says nothing of another's
    assert call(proxy.origin, "DELETE", "/v1/data", None, [("x-api-key", "sk-ant-user")]).status == 200
    assert client.messages.create(model="claude-opus-5-5", max_tokens=9, messages=messages).content[0].text == "ok"
    assert len(upstream.seen) == 9  # refused once more, as nothing is remembered


def test_a_fold_that_lacks_the_thinking_of_a_running_turn_is_sent_unfolded(
    upstream: UpstreamServer, proxy: ProxyServer, client: Any
) -> None:
    """A model that binds thinking, although its name does not say so, and wants it in a turn that goes on."""
    refused = "messages.3.content.0: Invalid `signature` in `thinking` block. The"
    missed = (
        "messages.3.content.0.type: Expected `thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant`"
    )
    missed += " message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."

    async def api(scope: Scope, receive: Receive, send: Send) -> None:
        body = json.loads(upstream.seen[-1].body)
        if body["messages"] == messages:
            await reply(json.dumps(_ANSWER).encode())(scope, receive, send)
            return
        thinks = [block["type"] for m in body["messages"] if m["role"] == "assistant" for block in m["content"]]
        error = {"type": "invalid_request_error", "message": refused if "thinking" in thinks else missed}
        await reply(json.dumps({"type": "error", "error": error}).encode(), status=400)(scope, receive, send)

    upstream.handler = api
    messages: list[Any] = []
    for i in range(60):
        thinking = {"type": "thinking", "thinking": "Hm.", "signature": f"s{i}"}
        call = {"type": "tool_use", "id": f"toolu_{i}", "name": "look", "input": {"crane": i}}
        messages += [
            {"role": "user", "content": [text(f"{i}: {prose(i, 'en', 8)}")]},
            {"role": "assistant", "content": [thinking, call]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": f"toolu_{i}", "content": prose(i + 500, "en", 8)}],
            },
            {"role": "assistant", "content": [text("Done.")]},
        ]
    messages.pop()
    asked = {"model": "claude-of-the-quay", "max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    for _ in range(3):
        made = client.messages.create(messages=messages, **asked, extra_headers={"x-turnfold-budget": "9000"})
        assert made.content[0].text == "ok"
    until(lambda: len(proxy.recorder.so_far) == 3)
    receipts = proxy.recorder.receipts
    assert {(one.status, one.reason, one.tokens_before == one.tokens_after) for one in receipts} == {
        ("passthrough", "thinking-refused", True)
    }

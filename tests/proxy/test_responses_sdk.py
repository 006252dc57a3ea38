"""OpenAI's Responses API through Turnfold, with the official SDK: folded as chat completions are, refused as they are.

The upstream here refuses what the real one does (``tests.support.responses_rules``); the engine is the real one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai import OpenAI
from starlette.types import Receive, Scope, Send

from tests.proxy.harness import ProxyServer, UpstreamServer, reply
from tests.support.responses_rules import rule_faults
from tests.support.words import prose

MODEL = "gpt-4o"
USAGE = {
    "input_tokens": 900,
    "input_tokens_details": {"cached_tokens": 640},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 907,
}
EVENTS = ((b"content-type", b"text/event-stream"),)


def response(text: str = "Noted.", status: str = "completed", **keys: Any) -> dict[str, Any]:
    said = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [said]}
    head = {"id": "resp_1", "object": "response", "created_at": 1, "model": MODEL, "status": status, "error": None}
    rest = {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True, "usage": USAGE}
    return {**head, "output": [message], **rest, **keys}


def event(kind: str, number: int, **keys: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, 'sequence_number': number, **keys})}\n\n".encode()


def stream_of(text: str) -> list[bytes]:
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    return [
        event("response.created", 0, response=response(status="in_progress", usage=None, output=[], instructions="i" * 20_000)),
        event("response.in_progress", 1, response=response(status="in_progress", usage=None, output=[])),
        *(event("response.output_text.delta", 2 + i, delta=c, logprobs=[], **place) for i, c in enumerate(text)),
        event("response.completed", 90, response=response(text)),
    ]


def agent(turns: int) -> list[dict[str, Any]]:
    """A long agent's input: questions, reasoning with the calls that follow it, results, answers."""
    items: list[dict[str, Any]] = []
    for i in range(turns):
        items += [
            {"role": "user", "content": f"Turn {i}: what of crane {i}? {prose(i, 'en', 6)}"},
            {"type": "reasoning", "id": f"rs_{i}", "summary": [], "encrypted_content": "gAAA" + "q" * 60},
            {"type": "function_call", "id": f"fc_{i}", "call_id": f"c{i}", "name": "look", "arguments": f'{{"crane": {i}}}'},
            {
                "type": "function_call_output",
                "call_id": f"c{i}",
                "output": f"Crane {i} lifts {40 + i} t. {prose(i + 99, 'en', 30)}",
            },
            {
                "type": "message",
                "id": f"msg_{i}",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": f"Crane {i} lifts {40 + i} t.", "annotations": []}],
            },
        ]
    return [*items, {"role": "user", "content": "And what did crane 3 lift?"}]


@pytest.fixture
def proxy(folding_proxy: ProxyServer) -> ProxyServer:
    return folding_proxy


@pytest.fixture
def client(proxy: ProxyServer) -> Iterator[Any]:
    with OpenAI(base_url=proxy.origin + "/v1", api_key="sk-user", max_retries=0) as made:
        yield made


def test_a_long_agent_is_folded_and_refused_nowhere(upstream: UpstreamServer, proxy: ProxyServer, client: Any) -> None:
    upstream.handler = reply(json.dumps(response()).encode())
    statuses = []
    whole = agent(40)
    for end in range(51, len(whole) + 1, 30):
        items: Any = whole[:end]
        raw = client.responses.with_raw_response.create(model=MODEL, input=items, instructions="Be brief.", store=False)
        assert raw.parse().output_text == "Noted."
        statuses.append(raw.headers["x-turnfold-status"])
        received = json.dumps({**json.loads(upstream.seen[-1].body), "input": items}).encode()
        assert rule_faults(received, upstream.seen[-1].body) == []
    assert "folded" in statuses
    assert len(upstream.seen[-1].body) < 0.85 * len(json.dumps(whole))
    assert "Crane 3 lifts 43 t" in upstream.seen[-1].body.decode()
    receipt = proxy.recorder.receipts[-1]
    assert (receipt.usage.prompt_tokens, receipt.usage.cached_tokens, receipt.usage.completion_tokens) == (900, 640, 7)
    assert receipt.tokens_after < receipt.tokens_before


def test_a_stream_passes_and_its_usage_is_read(upstream: UpstreamServer, proxy: ProxyServer, client: Any) -> None:
    upstream.handler = reply(*stream_of("héron"), headers=EVENTS)
    events = list(client.responses.create(model=MODEL, input=agent(2), store=False, stream=True))
    assert "".join(e.delta for e in events if e.type == "response.output_text.delta") == "héron"
    receipt = proxy.recorder.one()
    assert (receipt.usage.prompt_tokens, receipt.streamed, receipt.complete) == (900, True, True)


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"previous_response_id": "resp_0"}, "server-history"),
        ({"conversation": "conv_1"}, "server-history"),
        ({"context_management": [{"type": "compaction", "compact_threshold": 9000}]}, "server-history"),
        ({"background": True}, "background"),
    ],
)
def test_a_history_that_lies_upstream_is_left_alone(
    upstream: UpstreamServer, proxy: ProxyServer, client: Any, keys: dict[str, Any], reason: str
) -> None:
    upstream.handler = reply(json.dumps(response()).encode())
    raw = client.responses.with_raw_response.create(model=MODEL, input=agent(30), extra_body=keys)
    assert (raw.headers["x-turnfold-status"], raw.headers["x-turnfold-reason"]) == ("passthrough", reason)
    assert len(json.loads(upstream.seen[-1].body)["input"]) == len(agent(30))


class Full:
    """An upstream whose context takes so many bytes; it says so at once, or inside a stream of status 200."""

    def __init__(self, most: int, upstream: UpstreamServer, *, inside: bool) -> None:
        self.most, self.upstream, self.inside = most, upstream, inside

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        fits = len(self.upstream.seen[-1].body) <= self.most
        error = {"code": "context_length_exceeded", "message": "Your input exceeds the context window of this model."}
        if self.inside:
            failed = event("response.failed", 2, response=response(status="failed", error=error, usage=None, output=[]))
            chunks = stream_of("ok") if fits else [*stream_of("ok")[:2], failed]
            await reply(*chunks, headers=EVENTS)(scope, receive, send)
        elif fits:
            await reply(json.dumps(response("ok")).encode())(scope, receive, send)
        else:
            refused = {"error": {**error, "type": "invalid_request_error", "param": "input"}}
            await reply(json.dumps(refused).encode(), status=400)(scope, receive, send)


@pytest.mark.parametrize("inside", [False, True])
def test_a_full_context_is_recovered_once(upstream: UpstreamServer, proxy: ProxyServer, client: Any, inside: bool) -> None:
    items: Any = agent(24)
    upstream.handler = Full(40_000, upstream, inside=inside)
    made = {"model": f"o-nobody-knows-{inside}", "input": items, "store": False, "stream": inside}
    if inside:
        text = "".join(e.delta for e in client.responses.create(**made) if e.type == "response.output_text.delta")
    else:
        text = client.responses.create(**made).output_text
    assert text == "ok"
    assert len(upstream.seen) == 2
    assert proxy.recorder.one().status == "recovered"


def test_errors_are_the_upstreams_own(upstream: UpstreamServer, client: Any) -> None:
    error = {"error": {"message": "No tool call found for 'c9'", "type": "invalid_request_error", "param": "input", "code": None}}
    upstream.handler = reply(json.dumps(error).encode(), status=400)
    with pytest.raises(openai.BadRequestError, match="No tool call found"):
        client.responses.create(model=MODEL, input=agent(1), store=False)


@pytest.mark.parametrize(("store", "asked"), [(False, 0), (True, 1)])
def test_the_state_answers_where_the_client_keeps_the_history(
    upstream: UpstreamServer, client: Any, store: bool, asked: int
) -> None:
    upstream.handler = reply(json.dumps(response("upstream")).encode())
    items: Any = [
        {"role": "user", "content": "use docker"},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": "prohibit docker"},
    ]
    answer = client.responses.create(model=MODEL, input=items, store=store, extra_headers={"x-turnfold-state": "enforce"})
    assert len(upstream.seen) == asked
    assert (answer.output_text == "upstream") is bool(asked)
    if store:
        return
    streamed = client.responses.create(
        model=MODEL, input=items, store=False, stream=True, extra_headers={"x-turnfold-state": "enforce"}
    )
    assert "".join(e.delta for e in streamed if e.type == "response.output_text.delta") == answer.output_text

"""Long sessions of the official SDKs on Responses and Messages: images, structured output, parallel tools, and what goes wrong.

These tests show what a client sees through Turnfold beside what it sees direct. The upstreams refuse what the real ones refuse
(``tests.support``); the engine is the real one.
"""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from itertools import product
from typing import Any, Final

import openai
import pytest
from openai import OpenAI
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from tests.proxy.harness import Handler, ProxyServer, StartProxy, UpstreamServer, reply, until
from tests.support.effort import crosswise
from tests.support.messages_api import Bindings, drops_invalid, refusals
from tests.support.responses_rules import rule_faults
from tests.support.warm import warm_fold
from tests.support.words import prose

CLAUDE, GPT = "claude-sonnet-4-6", "gpt-4o"
PNG: Final = base64.b64encode(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x02\x00\x00\x00\x02\x00" + bytes(60)).decode()
EVENTS = ((b"content-type", b"text/event-stream"),)


def anthropic() -> Any:
    """The SDK, which takes seconds to import: other processes of a run do without it."""
    return import_module("anthropic")


def claude(origin: str, **keys: Any) -> Any:
    return anthropic().Anthropic(base_url=origin, api_key="sk-ant-user", max_retries=0, **keys)


def gpt(origin: str, **keys: Any) -> OpenAI:
    return OpenAI(base_url=f"{origin}/v1", api_key="sk-user", max_retries=0, **keys)


def claude_says(*blocks: dict[str, Any], model: str = CLAUDE) -> bytes:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "stop_reason": "end_turn"}
    return json.dumps({**head, "content": list(blocks), "usage": {"input_tokens": 9, "output_tokens": 3}}).encode()


def gpt_says(*output: dict[str, Any]) -> bytes:
    head = {"id": "resp_1", "object": "response", "created_at": 1, "model": GPT, "status": "completed", "error": None}
    rest = {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True, "output": list(output)}
    return json.dumps({**head, **rest}).encode()


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def output_text(value: str) -> dict[str, Any]:
    said = {"type": "output_text", "text": value, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [said]}


@pytest.fixture
def patient_proxy(upstream: UpstreamServer, start_proxy: StartProxy) -> ProxyServer:
    """The real engine, with all the time that a busy machine needs for a cold fold."""
    return start_proxy(f"{upstream.origin}/v1", fold=warm_fold, folding={"cache_hit_share": 0.2}, limits={"fold_timeout": 60.0})


# -- conversations long enough to be folded several times --------------------------------------------------------------------


def claude_session(turns: int) -> list[Any]:
    """Every turn calls three tools at once; some bring an image."""
    out: list[Any] = []
    for i in range(turns):
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
        asked = [text(f"Turn {i}: what of crane {i}? {prose(i, 'en', 5)}")]
        uses = [{"type": "tool_use", "id": f"t{i}-{n}", "name": "look", "input": {"crane": i, "part": n}} for n in range(3)]
        results = [
            {"type": "tool_result", "tool_use_id": use["id"], "content": [text(prose(9 * i + n, "en", 40))]}
            for n, use in enumerate(uses)
        ]
        out += [
            {"role": "user", "content": [image, *asked] if i % 7 == 2 else asked},
            {"role": "assistant", "content": [text("Let me look."), *uses]},
            {"role": "user", "content": results},
            {"role": "assistant", "content": [text(f"Crane {i} lifts {40 + i} t.")]},
        ]
    return [*out, {"role": "user", "content": [text("And what did crane 3 lift?")]}]


def gpt_session(turns: int) -> list[Any]:
    """The same in items, with reasoning in front of the first call."""
    out: list[Any] = []
    for i in range(turns):
        image = {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "low"}
        asked = [{"type": "input_text", "text": f"Turn {i}: what of crane {i}? {prose(i, 'en', 5)}"}]
        calls = [
            {
                "type": "function_call",
                "id": f"fc_{i}{n}",
                "call_id": f"c{i}-{n}",
                "name": "look",
                "arguments": f'{{"crane": {i}}}',
            }
            for n in range(3)
        ]
        results = [
            {"type": "function_call_output", "call_id": call["call_id"], "output": prose(9 * i + n, "en", 30)}
            for n, call in enumerate(calls)
        ]
        thought = {"type": "reasoning", "id": f"rs_{i}", "summary": [], "encrypted_content": "gAAA" + "q" * 700}
        out += [{"type": "message", "role": "user", "content": [image, *asked] if i % 7 == 2 else asked}]
        out += [thought, *calls, *results, {**output_text(f"Crane {i} lifts {40 + i} t."), "id": f"msg_{i}"}]
    return [*out, {"role": "user", "content": "And what did crane 3 lift?"}]


def images(value: Any) -> list[Any]:
    if isinstance(value, dict):
        found = [value] if value.get("type") in ("image", "input_image") else []
        return found + [image for inner in value.values() for image in images(inner)]
    return [image for inner in value for image in images(inner)] if isinstance(value, list) else []


def test_images_and_parallel_tools_stay_over_many_folds_on_messages(upstream: UpstreamServer, patient_proxy: ProxyServer) -> None:
    upstream.handler = reply(claude_says(text("43 t.")))
    whole, statuses = claude_session(28), []
    with claude(patient_proxy.origin) as client:
        for end in (93, 101, len(whole)):
            raw = client.messages.with_raw_response.create(model=CLAUDE, max_tokens=90, messages=whole[:end])
            statuses.append(raw.headers["x-turnfold-status"])
            sent = json.loads(upstream.seen[-1].body)
            assert images(sent) == images(whole[:end])
            assert refusals(upstream.seen[-1].body) == []
    assert statuses == ["folded"] * 3
    assert len(upstream.seen[-1].body) < 0.85 * len(json.dumps(whole))


def test_images_and_parallel_tools_stay_over_many_folds_on_responses(
    upstream: UpstreamServer, patient_proxy: ProxyServer
) -> None:
    upstream.handler = reply(gpt_says(output_text("43 t.")))
    whole, statuses = gpt_session(14), []
    with gpt(patient_proxy.origin) as client:
        for end in (69, 90, len(whole)):
            raw = client.responses.with_raw_response.create(model=GPT, input=whole[:end], store=False)
            statuses.append(raw.headers["x-turnfold-status"])
            sent = upstream.seen[-1].body
            assert images(json.loads(sent)) == images(whole[:end])
            assert rule_faults(json.dumps({**json.loads(sent), "input": whole[:end]}).encode(), sent) == []
    assert statuses == ["folded"] * 3
    assert len(upstream.seen[-1].body) < 0.85 * len(json.dumps(whole))


class Lift(BaseModel):
    """What a structured answer holds."""

    crane: int
    tonnes: int


def test_structured_output_of_responses_is_parsed(upstream: UpstreamServer, patient_proxy: ProxyServer) -> None:
    upstream.handler = reply(gpt_says(output_text('{"crane": 3, "tonnes": 43}')))
    with gpt(patient_proxy.origin) as client, gpt(upstream.origin) as direct:
        answers = [
            one.responses.parse(model=GPT, input=gpt_session(12), store=False, text_format=Lift) for one in (client, direct)
        ]
    assert answers[0].output_parsed == answers[1].output_parsed == Lift(crane=3, tonnes=43)
    folded, whole = (json.loads(seen.body) for seen in upstream.seen)
    assert folded["text"] == whole["text"]
    assert len(json.dumps(folded["input"])) < len(json.dumps(whole["input"]))


def test_output_forced_through_a_tool_of_messages_is_whole(upstream: UpstreamServer, patient_proxy: ProxyServer) -> None:
    upstream.handler = reply(claude_says({"type": "tool_use", "id": "t", "name": "record", "input": {"crane": 3, "tonnes": 43}}))
    forced: dict[str, Any] = {
        "tools": [{"name": "record", "input_schema": Lift.model_json_schema()}],
        "tool_choice": {"type": "tool", "name": "record"},
    }
    with claude(patient_proxy.origin) as client, claude(upstream.origin) as direct:
        answers = [
            one.messages.create(model=CLAUDE, max_tokens=90, messages=claude_session(24), **forced) for one in (client, direct)
        ]
    assert Lift.model_validate(answers[0].content[0].input) == Lift(crane=3, tonnes=43)
    assert answers[0] == answers[1]
    folded, whole = (json.loads(seen.body) for seen in upstream.seen)
    assert {key: folded[key] for key in forced} == {key: whole[key] for key in forced}
    assert len(json.dumps(folded)) < len(json.dumps(whole))


# -- what goes wrong ---------------------------------------------------------------------------------------------------------

Ask = Callable[..., Any]


def ask_claude(origin: str, *, stream: bool = False, **keys: Any) -> Any:
    with claude(origin, **keys) as client:
        asked: dict[str, Any] = {"model": CLAUDE, "max_tokens": 9, "messages": claude_session(2)}
        return list(client.messages.create(**asked, stream=True)) if stream else client.messages.create(**asked)


def ask_gpt(origin: str, *, stream: bool = False, **keys: Any) -> Any:
    with gpt(origin, **keys) as client:
        asked: dict[str, Any] = {"model": GPT, "input": gpt_session(2), "store": False}
        return list(client.responses.create(**asked, stream=True)) if stream else client.responses.create(**asked)


ASKS: Final = {"messages": ask_claude, "responses": ask_gpt}


def failure(ask: Ask, origin: str, **keys: Any) -> tuple[Any, ...]:
    """What a client sees of a failure."""
    with pytest.raises((openai.OpenAIError, anthropic().AnthropicError)) as failed:
        ask(origin, **keys)
    found: Any = failed.value
    return type(found), str(found), getattr(found, "status_code", None), getattr(found, "body", None)


ERRORS = [
    (400, "invalid_request_error"),
    (401, "authentication_error"),
    (403, "permission_error"),
    (404, "not_found_error"),
    (409, "conflict_error"),
    (422, "invalid_request_error"),
    (429, "rate_limit_error"),
    (500, "api_error"),
    (529, "overloaded_error"),
]


@pytest.mark.parametrize(("way", "error"), crosswise(product(product(sorted(ASKS), [False, True]), ERRORS), len(ERRORS)))
def test_errors_are_those_of_the_upstream(
    upstream: UpstreamServer, folding_proxy: ProxyServer, way: tuple[str, bool], error: tuple[int, str]
) -> None:
    (name, stream), (status, kind) = way, error
    said = {"type": "error", "error": {"type": kind, "message": "Said the upstream.", "param": None, "code": "c"}}
    upstream.handler = reply(json.dumps(said).encode(), status=status)
    seen = [failure(ASKS[name], origin, stream=stream) for origin in (folding_proxy.origin, upstream.origin)]
    assert seen[0] == seen[1]
    assert seen[0][2] == status


def silent(left: threading.Semaphore, *chunks: bytes) -> Handler:
    """Answers with chunks of a stream, or with nothing at all, and waits for its client to leave."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        if chunks:
            await send({"type": "http.response.start", "status": 200, "headers": EVENTS})
        for chunk in chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        async with asyncio.timeout(60):
            while (await receive())["type"] != "http.disconnect":
                pass
        left.release()

    return handler


@pytest.mark.parametrize("name", sorted(ASKS))
def test_a_client_that_loses_patience_sees_its_own_time_out(
    upstream: UpstreamServer, folding_proxy: ProxyServer, name: str
) -> None:
    upstream.handler = reply(b"{}", status=400)
    failure(ASKS[name], folding_proxy.origin)  # the first fold of a process reads a vocabulary
    for seconds in (1.0, 5.0, 25.0):  # a busy machine may take longer until the upstream is asked
        before, left = len(upstream.seen), threading.Semaphore(0)
        upstream.handler = silent(left)
        with ThreadPoolExecutor(2) as pool:  # both at once: they wait for nothing but the time-out
            seen = list(pool.map(partial(failure, ASKS[name], timeout=seconds), (folding_proxy.origin, upstream.origin)))
        if len(upstream.seen) == before + 2:
            break
    for _ in seen:
        assert left.acquire(timeout=60)
    assert seen[0] == seen[1]
    assert issubclass(seen[0][0], (openai.APITimeoutError, anthropic().APITimeoutError))


def event(kind: str, **keys: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **keys})}\n\n".encode()


def test_a_stream_that_is_cancelled_is_cancelled_upstream(upstream: UpstreamServer, folding_proxy: ProxyServer) -> None:
    begun = json.loads(claude_says())
    created = {**json.loads(gpt_says()), "status": "in_progress"}
    # Without a second event the proxy holds the first one of Responses back for ten seconds: it says nothing of how it goes.
    added = {"output_index": 0, "item": {**output_text(""), "status": "in_progress", "content": []}}
    for name, *first in (
        ("messages", event("message_start", message=begun)),
        (
            "responses",
            event("response.created", sequence_number=0, response=created),
            event("response.output_item.added", sequence_number=1, **added),
        ),
    ):
        left = threading.Semaphore(0)
        upstream.handler = silent(left, *first)
        if name == "messages":
            with claude(folding_proxy.origin) as client:
                streamed: Any = client.messages.create(model=CLAUDE, max_tokens=9, messages=claude_session(1), stream=True)
                assert next(iter(streamed)).type == "message_start"
                streamed.close()
        else:
            with gpt(folding_proxy.origin) as other:
                streamed = other.responses.create(model=GPT, input=gpt_session(1), store=False, stream=True)
                assert next(iter(streamed)).type == "response.created"
                streamed.close()
        assert left.acquire(timeout=60)
    until(lambda: len(folding_proxy.recorder.so_far) == 2)
    assert [(one.streamed, one.complete) for one in folding_proxy.recorder.receipts] == [(True, False)] * 2


# -- thinking that the API may drop ------------------------------------------------------------------------------------------


class Loop:
    """An API that binds thinking and calls a tool every time; it wants its beta named where a body uses it."""

    def __init__(self, upstream: UpstreamServer) -> None:
        self.upstream, self.bindings, self.faults, self.dropped = upstream, Bindings(), list[str](), 0
        self.betas: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        seen = self.upstream.seen[-1]
        named = seen.header("anthropic-beta") or ""
        self.betas.append(named)
        self.faults += refusals(seen.body) + self.bindings.violations(seen.body)
        asks = drops_invalid(json.loads(seen.body))
        if asks != ("thinking-binding-controls-2026-08-01" in named.split(",")):
            self.faults.append("block_binding without its beta, or the beta without need")
        self.dropped += bool(self.bindings.invalid(seen.body))
        number = len(self.upstream.seen)
        blocks: list[dict[str, Any]] = [
            {"type": "thinking", "thinking": f"About {number}.", "signature": f"sig-{number}"},
            {"type": "tool_use", "id": f"t{number}", "name": "look", "input": {"crane": number}},
        ]
        self.bindings.answered(seen.body, {"role": "assistant", "content": blocks})
        await reply(claude_says(*blocks, model="claude-opus-5-5"))(scope, receive, send)


@pytest.mark.parametrize("drops", [False, True])
def test_a_long_loop_is_folded_where_the_api_may_drop_its_thinking(
    upstream: UpstreamServer, start_proxy: StartProxy, drops: bool
) -> None:
    api = upstream.handler = Loop(upstream)
    proxy = start_proxy(
        f"{upstream.origin}/v1",
        fold=warm_fold,
        folding={"drop_thinking": drops, "cache_hit_share": 0.0},
        limits={"fold_timeout": 60.0},
    )
    messages: list[Any] = [{"role": "user", "content": [text("Look at every crane.")]}]
    with claude(proxy.origin, default_headers={"anthropic-beta": "interleaved-thinking-2025-05-14"}) as client:
        for turn in range(44):
            answer = client.messages.create(
                model="claude-opus-5-5", max_tokens=2000, messages=messages, thinking={"type": "enabled", "budget_tokens": 1024}
            )
            found = [text(prose(turn, "en", 60))]
            result = {"type": "tool_result", "tool_use_id": answer.content[1].id, "content": found}
            messages += [{"role": "assistant", "content": [b.model_dump(exclude_none=True) for b in answer.content]}]
            messages += [{"role": "user", "content": [result]}]
    assert api.faults == []
    assert bool(api.dropped) is drops
    assert all(betas.startswith("interleaved-thinking-2025-05-14") for betas in api.betas)
    share = len(upstream.seen[-1].body) / len(json.dumps(messages, separators=(",", ":")))
    assert share < 0.8 if drops else share > 0.9

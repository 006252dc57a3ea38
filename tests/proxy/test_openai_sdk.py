"""The official SDK, unmodified, pointed at Turnfold: every call behaves as it does direct."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, AzureOpenAI, OpenAI
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from tests.proxy.harness import Handler, ProxyServer, StartProxy, UpstreamServer, reply, until

USAGE = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12, "prompt_tokens_details": {"cached_tokens": 4}}
EVENTS = ((b"content-type", b"text/event-stream"),)
CONVERSATION: list[Any] = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "two"},
    {"role": "user", "content": "three"},
]


def completion(message: dict[str, Any], finish: str = "stop") -> bytes:
    """A whole answer."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-4o-2024-08-06"}
    return json.dumps({**head, "choices": [choice], "usage": USAGE}).encode()


def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    """One event of a stream."""
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o-2024-08-06"}
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({**head, "choices": [choice]}).encode() + b"\n\n"


def last_chunk() -> bytes:
    """The event that `include_usage` asks for, and the end."""
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o-2024-08-06"}
    return b"data: " + json.dumps({**head, "choices": [], "usage": USAGE}).encode() + b"\n\ndata: [DONE]\n\n"


@pytest.fixture
def client(proxy: ProxyServer) -> Iterator[OpenAI]:
    """The SDK as a user makes it."""
    with OpenAI(base_url=proxy.origin + "/v1", api_key="sk-user", max_retries=0) as made:
        yield made


@pytest.fixture
async def async_client(proxy: ProxyServer) -> AsyncIterator[AsyncOpenAI]:
    """The SDK's other half."""
    async with AsyncOpenAI(base_url=proxy.origin + "/v1", api_key="sk-user", max_retries=0) as made:
        yield made


def test_chat(upstream: UpstreamServer, proxy: ProxyServer, client: OpenAI) -> None:
    upstream.handler = reply(completion({"content": "hé"}))
    raw = client.chat.completions.with_raw_response.create(
        model="gpt-4o", messages=CONVERSATION, extra_headers={"x-turnfold-budget": "77"}
    )
    answer = raw.parse()
    assert answer.choices[0].message.content == "hé"
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == 9
    assert (raw.headers["x-turnfold-status"], raw.headers["x-turnfold-tokens-after"]) == ("folded", "77")
    seen = upstream.seen[0]
    assert seen.header("authorization") == "Bearer sk-user"
    assert "OpenAI/Python" in (seen.header("user-agent") or "")
    assert not [key for key, _ in seen.headers if key.startswith(b"x-turnfold") and key != b"x-turnfold-via"]
    assert proxy.recorder.one().usage.cached_tokens == 4


async def test_chat_async(upstream: UpstreamServer, async_client: AsyncOpenAI) -> None:
    upstream.handler = reply(completion({"content": "hi"}))
    calls = [async_client.chat.completions.create(model="gpt-4o", messages=CONVERSATION) for _ in range(20)]
    answers = await asyncio.gather(*calls)
    assert [answer.choices[0].message.content for answer in answers] == ["hi"] * 20


def test_stream(upstream: UpstreamServer, proxy: ProxyServer, client: OpenAI) -> None:
    upstream.handler = reply(
        chunk({"role": "assistant", "content": ""}),
        *(chunk({"content": text}) for text in ("a", "b", "é")),
        chunk({}, "stop"),
        last_chunk(),
        headers=EVENTS,
    )
    stream = client.chat.completions.create(
        model="gpt-4o", messages=CONVERSATION, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "abé"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 3
    receipt = proxy.recorder.one()
    assert (receipt.usage.completion_tokens, receipt.streamed, receipt.complete) == (3, True, True)


async def test_stream_async(upstream: UpstreamServer, async_client: AsyncOpenAI) -> None:
    upstream.handler = reply(chunk({"content": "a"}), chunk({"content": "b"}, "stop"), last_chunk(), headers=EVENTS)
    async with async_client.chat.completions.stream(model="gpt-4o", messages=CONVERSATION) as stream:
        kinds = [event.type async for event in stream]
        final = await stream.get_final_completion()
    assert final.choices[0].message.content == "ab"
    assert "content.delta" in kinds


TOOLS: list[Any] = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]


def test_tools(upstream: UpstreamServer, client: OpenAI) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1.10, "b": "\\ud83d\\ude00"}'}}
    upstream.handler = reply(completion({"content": None, "tool_calls": [call]}, "tool_calls"))
    answer = client.chat.completions.create(model="gpt-4o", messages=CONVERSATION[-1:], tools=TOOLS, tool_choice="auto")
    calls = answer.choices[0].message.tool_calls
    assert calls is not None
    assert calls[0].type == "function"
    assert calls[0].function.arguments == call["function"]["arguments"]  # type: ignore[index]
    assert json.loads(upstream.seen[0].body)["tools"] == TOOLS


def test_streamed_tools(upstream: UpstreamServer, client: OpenAI) -> None:
    def piece(text: str) -> bytes:
        return chunk({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": text}}]})

    upstream.handler = reply(piece('{"a"'), piece(": 1}"), chunk({}, "tool_calls"), last_chunk(), headers=EVENTS)
    stream = client.chat.completions.create(model="gpt-4o", messages=CONVERSATION, tools=TOOLS, stream=True)
    found = [c.choices[0].delta.tool_calls for c in stream if c.choices]
    assert "".join(calls[0].function.arguments or "" for calls in found if calls and calls[0].function) == '{"a": 1}'


def test_vision_parts(upstream: UpstreamServer, client: OpenAI) -> None:
    parts: list[Any] = [
        {"type": "text", "text": "what is it?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 200_000, "detail": "low"}},
    ]
    upstream.handler = reply(completion({"content": "a cat"}))
    client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": parts}])
    assert json.loads(upstream.seen[0].body)["messages"][0]["content"] == parts


def test_structured_output(upstream: UpstreamServer, client: OpenAI) -> None:
    class Step(BaseModel):
        explanation: str
        value: int

    upstream.handler = reply(completion({"content": '{"explanation": "sum", "value": 4}'}))
    answer = client.chat.completions.parse(model="gpt-4o", messages=CONVERSATION, response_format=Step)
    assert answer.choices[0].message.parsed == Step(explanation="sum", value=4)
    assert json.loads(upstream.seen[0].body)["response_format"]["json_schema"]["strict"] is True


STATUSES = [
    (400, openai.BadRequestError),
    (401, openai.AuthenticationError),
    (403, openai.PermissionDeniedError),
    (404, openai.NotFoundError),
    (409, openai.ConflictError),
    (422, openai.UnprocessableEntityError),
    (429, openai.RateLimitError),
    (500, openai.InternalServerError),
    (503, openai.InternalServerError),
]


@pytest.mark.parametrize(("status", "kind"), STATUSES)
@pytest.mark.parametrize("stream", [False, True])
def test_errors(upstream: UpstreamServer, client: OpenAI, status: int, kind: type[openai.APIStatusError], stream: bool) -> None:
    error = {"message": "m", "type": "t", "param": "messages", "code": "context_length_exceeded"}
    headers = ((b"content-type", b"application/json"), (b"x-request-id", b"req_1"))
    upstream.handler = reply(json.dumps({"error": error}).encode(), status=status, headers=headers)
    with pytest.raises(kind) as raised:
        client.chat.completions.create(model="gpt-4o", messages=CONVERSATION, stream=stream)
    assert (raised.value.status_code, raised.value.code, raised.value.param) == (status, error["code"], "messages")
    assert raised.value.request_id == "req_1"
    assert raised.value.body == error


def _failing_first(times: int, status: int, *headers: tuple[bytes, bytes]) -> tuple[Handler, list[int]]:
    asked: list[int] = []

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        asked.append(1)
        if len(asked) <= times:
            await reply(b'{"error":{"message":"later"}}', status=status, headers=headers)(scope, receive, send)
        else:
            await reply(completion({"content": "ok"}))(scope, receive, send)

    return handler, asked


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502])
def test_the_sdk_retries_and_we_do_not(upstream: UpstreamServer, client: OpenAI, status: int) -> None:
    upstream.handler, asked = _failing_first(2, status, (b"retry-after-ms", b"1"))
    retrying = client.with_options(max_retries=2)
    assert retrying.chat.completions.create(model="gpt-4o", messages=CONVERSATION).choices[0].message.content == "ok"
    assert len(asked) == 3
    assert [seen.header("x-stainless-retry-count") for seen in upstream.seen] == ["0", "1", "2"]


def test_the_upstream_says_whether_to_retry(upstream: UpstreamServer, client: OpenAI) -> None:
    upstream.handler, asked = _failing_first(1, 500, (b"x-should-retry", b"false"))
    with pytest.raises(openai.InternalServerError):
        client.with_options(max_retries=2).chat.completions.create(model="gpt-4o", messages=CONVERSATION)
    assert len(asked) == 1


def test_a_client_time_out_ends_the_upstream_call(upstream: UpstreamServer, proxy: ProxyServer, client: OpenAI) -> None:
    left = threading.Event()

    async def never(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, send
        await receive()
        left.set()

    upstream.handler = never
    for seconds in (0.2, 2.0, 20.0):  # a busy machine may take longer until the upstream is asked
        proxy.recorder.reset()
        with pytest.raises(openai.APITimeoutError):
            client.with_options(timeout=seconds).chat.completions.create(model="gpt-4o", messages=CONVERSATION)
        if upstream.seen:
            break
    assert left.wait(60)
    assert proxy.recorder.one().complete is False


def _endless(left: threading.Event) -> Handler:
    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        gone = asyncio.ensure_future(receive())
        await send({"type": "http.response.start", "status": 200, "headers": EVENTS})
        while not gone.done():
            await send({"type": "http.response.body", "body": chunk({"content": "x"}), "more_body": True})
            await asyncio.sleep(0.005)
        left.set()

    return handler


def test_a_cancelled_stream_ends_the_upstream_call(upstream: UpstreamServer, proxy: ProxyServer, client: OpenAI) -> None:
    left = threading.Event()
    upstream.handler = _endless(left)
    with client.chat.completions.create(model="gpt-4o", messages=CONVERSATION, stream=True) as stream:
        for _, _ in zip(range(3), stream, strict=False):
            pass
    assert left.wait(60)
    receipt = proxy.recorder.one()
    assert (receipt.complete, receipt.streamed, receipt.status) == (False, True, "folded")


async def test_a_cancelled_task_ends_the_upstream_call(upstream: UpstreamServer, async_client: AsyncOpenAI) -> None:
    left, begun = threading.Event(), asyncio.Event()
    upstream.handler = _endless(left)

    async def consume() -> None:
        async for _ in await async_client.chat.completions.create(model="gpt-4o", messages=CONVERSATION, stream=True):
            begun.set()

    task = asyncio.create_task(consume())
    await asyncio.wait_for(begun.wait(), 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(left.wait, 60)


def test_a_broken_stream_is_an_error(upstream: UpstreamServer, client: OpenAI) -> None:
    async def breaking(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": EVENTS})
        await send({"type": "http.response.body", "body": chunk({"content": "x"}), "more_body": True})

    upstream.handler = breaking
    with pytest.raises(openai.APIConnectionError):
        list(client.chat.completions.create(model="gpt-4o", messages=CONVERSATION, stream=True))


def test_an_error_inside_a_stream(upstream: UpstreamServer, client: OpenAI) -> None:
    upstream.handler = reply(chunk({"content": "x"}), b'data: {"error":{"message":"overloaded"}}\n\n', headers=EVENTS)
    with pytest.raises(openai.APIError, match="overloaded"):
        list(client.chat.completions.create(model="gpt-4o", messages=CONVERSATION, stream=True))


def test_our_own_errors_have_the_sdk_types(client: OpenAI, start_proxy: StartProxy) -> None:
    def ask(made: OpenAI, **headers: str) -> None:
        made.chat.completions.create(model="gpt-4o", messages=CONVERSATION, extra_headers=headers)

    with pytest.raises(openai.BadRequestError, match="x-turnfold-budget") as budget:
        ask(client, **{"x-turnfold-budget": "-1"})
    assert (budget.value.param, budget.value.code) == ("x-turnfold-budget", "invalid_header")
    with pytest.raises(openai.BadRequestError, match="x-turnfold-mode"):
        ask(client, **{"x-turnfold-mode": "maybe"})
    locked = start_proxy("http://127.0.0.1:9/v1", upstream={"api_key": "sk-op"}, auth={"client_tokens": ("t1",)})
    with (
        OpenAI(base_url=locked.origin + "/v1", api_key="wrong", max_retries=0) as stranger,
        pytest.raises(openai.AuthenticationError),
    ):
        ask(stranger)


def test_azure(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    proxy = start_proxy(upstream.origin)
    upstream.handler = reply(completion({"content": "hi"}))
    with AzureOpenAI(azure_endpoint=proxy.origin, api_key="az", api_version="2024-10-21", max_retries=0) as azure:
        raw = azure.chat.completions.with_raw_response.create(model="dep", messages=CONVERSATION)
    assert raw.headers["x-turnfold-status"] == "folded"
    assert upstream.seen[0].target == "/openai/deployments/dep/chat/completions?api-version=2024-10-21"
    assert upstream.seen[0].header("api-key") == "az"


def test_other_routes_of_the_sdk(upstream: UpstreamServer, client: OpenAI) -> None:
    upstream.handler = reply(b'{"object":"list","data":[{"id":"m1","object":"model","created":1,"owned_by":"o"}]}')
    assert [model.id for model in client.models.list()] == ["m1"]
    upstream.handler = reply(b"\x00\xff" * 50_000, headers=((b"content-type", b"audio/mpeg"),))
    assert client.audio.speech.create(model="tts-1", voice="alloy", input="x").content == b"\x00\xff" * 50_000
    upstream.handler = reply(
        b'{"id":"f1","object":"file","bytes":4,"created_at":1,"filename":"a","purpose":"batch","status":"x"}'
    )
    uploaded = client.files.create(file=("a.jsonl", b"\x00\x01\x02\x03"), purpose="batch")
    assert uploaded.id == "f1"
    assert b"\x00\x01\x02\x03" in upstream.seen[-1].body
    upstream.handler = reply(
        b'event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{"id":"r1"}}\n\n',
        headers=EVENTS,
    )
    assert [event.type for event in client.responses.create(model="gpt-4o", input="x", stream=True)] == ["response.created"]
    until(lambda: len(upstream.seen) == 4)

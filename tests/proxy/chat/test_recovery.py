"""Requests that overflow a context, through the whole proxy, against a server that enforces its window in many dialects."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import gzip
import http.client
import json
import logging
import re
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from tests.proxy.harness import (
    NO_LOGGING,
    Answer,
    Handler,
    ProxyServer,
    StartProxy,
    UpstreamServer,
    call,
    proxy_server,
    reply,
    running,
    until,
)
from tests.support.effort import every, is_thorough
from tests.support.overflow_upstream import DIALECTS, LOOK_ALIKES, Dialect, Log, application, count_request
from tests.support.overfull import CURABLE, INCURABLE, overfull
from tests.support.warm import warm_fold
from turnfold.proxy.chat import sending
from turnfold.proxy.chat.receipts import OwnCall, Usage
from turnfold.proxy.learning.windows import Windows

WINDOW = 3000
REFUSING = [d for d in DIALECTS.values() if not d.truncates]
KEY = ("authorization", "Bearer k")


class Server:
    """The upstream of these tests: its dialect is set by each."""

    def __init__(self) -> None:
        self.set("openai")

    def set(self, name: str, look_alike: str | None = None, window: int = WINDOW) -> None:
        """Speak another dialect, and forget what was seen."""
        self.log = Log()
        self.dialect: Dialect = DIALECTS[name]
        self.app = application(self.dialect, window, self.log, LOOK_ALIKES[look_alike] if look_alike else None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Server, ProxyServer]]:
    with contextlib.ExitStack() as stack:
        app = Server()
        server = stack.enter_context(running(uvicorn.Config(app, **NO_LOGGING, lifespan="off")))
        yield app, stack.enter_context(proxy_server(server.origin + "/v1", fold=warm_fold))[0]


@pytest.fixture
def server(shared: tuple[Server, ProxyServer]) -> Server:
    shared[0].set("openai")
    return shared[0]


@pytest.fixture
def folding(shared: tuple[Server, ProxyServer]) -> ProxyServer:
    """A proxy with the real engine."""
    shared[1].recorder.reset()
    return shared[1]


def original_error(answer: Answer, dialect: Dialect, log: Log, body: dict[str, Any]) -> bool:
    """Whether the client has the upstream's own error, of the first request, byte for byte."""
    asked = body.get("max_tokens") or 0
    output = {"none": 0, "asked": asked, "always": asked or min(1024, WINDOW // 8)}[dialect.room]
    error = dialect.render(WINDOW, log.counts[0], output)
    text = error if isinstance(error, str) else json.dumps(error)
    if body.get("stream") and dialect.in_stream:
        return answer.status == 200 and answer.body == f": PROCESSING\n\nevent: error\ndata: {text}\n\n".encode()
    return answer.status == dialect.status and answer.body == text.encode() and answer.header("x-request-id") == "req-original"


#: Each dialect once, every second one streamed, and each that says so in its stream; in "thorough" each both ways.
_WAYS = [
    (dialect, streamed)
    for place, dialect in enumerate(REFUSING)
    for streamed in (False, True)
    if is_thorough() or streamed == (dialect.in_stream or place % 2 == 1)
]


@pytest.mark.parametrize(("dialect", "streamed"), _WAYS, ids=[f"{d.name}-{'streamed' if s else 'whole'}" for d, s in _WAYS])
def test_recovered_wherever_it_can_be(server: Server, folding: ProxyServer, dialect: Dialect, streamed: bool) -> None:
    for shape in every(5, list(CURABLE), start=REFUSING.index(dialect) + streamed):
        server.set(dialect.name)
        body = overfull(shape, 2 * WINDOW, model=f"{dialect.name} {shape} {streamed}", stream=streamed, max_tokens=200)
        answer = folding.chat(body, KEY)
        assert (answer.status, answer.header("x-turnfold-status")) == (200, "recovered"), shape
        assert (b"fits." in answer.body, b"error" in answer.body) == (True, False)
        first, second = server.log.bodies
        assert server.log.counts[1] + (0 if dialect.room == "none" else 200) <= WINDOW
        assert server.log.faults == []
        assert second["messages"][0] == body["messages"][0]
        assert second["messages"][-1]["role"] == body["messages"][-1]["role"]
        assert {k: v for k, v in first.items() if k != "messages"} == {k: v for k, v in second.items() if k != "messages"}
        same = [{k: v for k, v in h.items() if k != "content-length"} for h in server.log.headers]
        assert same[0] == same[1]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("shape", INCURABLE)
def test_the_clear_error_where_it_cannot_be(server: Server, folding: ProxyServer, shape: str, streamed: bool) -> None:
    for dialect in every(4, REFUSING, start=2 * list(INCURABLE).index(shape) + streamed):
        server.set(dialect.name)
        body = overfull(shape, 2 * WINDOW, model=f"{dialect.name} {shape} {streamed}", stream=streamed)
        answer = folding.chat(body, KEY)
        assert original_error(answer, dialect, server.log, body), dialect.name
        assert len(server.log.bodies) == 1


@pytest.mark.parametrize("look_alike", LOOK_ALIKES)
def test_look_alikes_are_never_sent_again(server: Server, folding: ProxyServer, look_alike: str) -> None:
    server.set("openai", look_alike)
    answer = folding.chat(overfull("long chat", 2 * WINDOW, model=f"like {look_alike}"), KEY)
    status, error = LOOK_ALIKES[look_alike]
    assert (answer.status, len(server.log.bodies)) == (status, 1)
    assert answer.body == (error if isinstance(error, str) else json.dumps(error)).encode()


def test_output_room_of_the_whole_window_is_told_at_once(server: Server, folding: ProxyServer) -> None:
    server.set("together")
    body = overfull("long chat", 500, model="room", max_tokens=WINDOW)
    answer = folding.chat(body, KEY)
    assert original_error(answer, server.dialect, server.log, body)
    assert len(server.log.bodies) == 1


def test_a_learned_window_saves_the_second_overflow(server: Server, folding: ProxyServer) -> None:
    body = overfull("long chat", 2 * WINDOW, model="learned")
    assert folding.chat(body, KEY).header("x-turnfold-status") == "recovered"
    until(lambda: folding.recorder.so_far)
    server.set("openai")
    again = folding.chat(body, KEY)
    assert (again.status, again.header("x-turnfold-status")) == (200, "folded")
    assert len(server.log.bodies) == 1
    assert server.log.counts[0] <= WINDOW
    server.set("openai")
    assert folding.chat(body, ("authorization", "Bearer another")).header("x-turnfold-status") == "recovered"


def test_the_receipt_says_recovered(server: Server, folding: ProxyServer) -> None:
    folding.chat(overfull("long chat", 2 * WINDOW, model="receipt"), KEY)
    receipt = folding.recorder.one()
    assert (receipt.status, receipt.reason, receipt.upstream_status) == ("recovered", "overflow-prompt", 200)
    assert receipt.tokens_after < receipt.tokens_before
    assert receipt.usage.prompt_tokens == server.log.counts[1]


@pytest.mark.parametrize("mode", ["off", "observe"])
def test_without_folding_nothing_is_recovered(server: Server, folding: ProxyServer, mode: str) -> None:
    body = overfull("long chat", 2 * WINDOW, model=f"mode {mode}")
    answer = folding.chat(body, KEY, ("x-turnfold-mode", mode))
    assert original_error(answer, server.dialect, server.log, body)
    assert len(server.log.bodies) == 1


def test_silent_truncation_is_noticed_and_then_avoided(
    server: Server, folding: ProxyServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log says so, but not again within ten minutes."""
    server.set("ollama")
    later = 0.0
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + later, perf_counter=time.perf_counter)
    monkeypatch.setattr(sending, "time", clock)
    for size, later, lines in ((4, 0.0, 1), (5, 500.0, 1), (6, 601.0, 2)):  # noqa: B007 - the clock reads it
        with caplog.at_level(logging.WARNING):
            folding.chat(overfull("giant user message", size * WINDOW, model="silent"), KEY)
        until(lambda size=size: len([r for r in folding.recorder.so_far if r.model == "silent"]) == size - 3)  # type: ignore[misc]
        told = [one.getMessage() for one in caplog.records if "cuts prompts off silently" in one.getMessage()]
        assert len(told) == lines
    assert [r.reason for r in folding.recorder.so_far if r.model == "silent"] == ["upstream-truncated"] * 3
    server.set("ollama")
    folding.chat(overfull("giant user message", 5 * WINDOW, model="silent"), KEY)
    assert server.log.counts[0] < WINDOW


def reporting(*prompts: int) -> Handler:
    """Answers that report prompts of so many tokens, one after the other."""
    counts = iter(prompts)

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        usage = {"prompt_tokens": next(counts), "completion_tokens": 1}
        await reply(json.dumps({"choices": [{"message": {"role": "assistant", "content": "ok"}}], "usage": usage}).encode())(
            scope, receive, send
        )

    return handler


def post(proxy: ProxyServer, body: Any) -> Answer:
    data = json.dumps(body).encode()
    return call(proxy.origin, "POST", "/v1/responses", data, [("content-type", "application/json"), KEY])


def test_the_count_of_a_history_that_lies_upstream_is_not_learned_from(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    """An answer's count has all that was said before, which grows while what is sent does not."""
    prompts = (400, 1500, 2600, 3000, 3100, 3200, 3300, 3400, 3400, 3500)
    answers = iter([{"id": f"resp_{i}", "output": [], "usage": {"input_tokens": n}} for i, n in enumerate(prompts)])

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await reply(json.dumps(next(answers)).encode())(scope, receive, send)

    upstream.handler = handler
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    for number, size in enumerate((300, 900, 900, 300, 10, 10, 10, 10, 700, 900)):
        history = {"previous_response_id": f"resp_{number - 1}"} if number else {}
        post(proxy, {"model": "gpt-5", **history, "input": "pump " * size})
    until(lambda: len(proxy.recorder.so_far) == 10)
    assert [one.reason for one in proxy.recorder.so_far[1:]] == ["server-history"] * 9


@pytest.mark.parametrize("hosted", [True, False])
def test_a_sum_over_several_samplings_is_not_learned_from(
    upstream: UpstreamServer, start_proxy: StartProxy, *, hosted: bool
) -> None:
    """With a search of the provider's in between the prompt is read twice or more, and the usage is the sum (Anthropic,
    `usage.iterations`; turnstonelabs/turnstone#1191): a later request that fits is not made smaller for it."""
    call = {"type": "web_search_call" if hosted else "function_call", "id": "c1", "call_id": "c1", "name": "f", "arguments": "{}"}
    answer = json.dumps({"id": "resp_1", "output": [call], "usage": {"input_tokens": 8000}}).encode()
    upstream.handler = reply(answer)
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    for number in range(3):
        post(proxy, {"model": "gpt-4", "input": f"{number} " + "pump " * 2000})
    until(lambda: len(proxy.recorder.so_far) == 3)
    said = [{"role": role, "content": f"{role} " + "pump " * 300} for role in ("user", "assistant") * 4]
    post(proxy, {"model": "gpt-4", "input": [*said, {"role": "user", "content": "And now?"}]})
    assert (json.loads(upstream.seen[-1].body)["input"][:-1] == said) is hosted


def test_a_full_history_that_lies_upstream_says_nothing_of_the_window(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    """A short request with a long history upstream is refused without a figure: others of that model go out whole after it."""
    refusal = {"message": "Your input exceeds the context window of this model.", "code": "context_length_exceeded"}

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        refused = b"previous_response_id" in upstream.seen[-1].body
        answer = {"error": refusal} if refused else {"id": "resp_1", "output": []}
        await reply(json.dumps(answer).encode(), status=400 if refused else 200)(scope, receive, send)

    upstream.handler = handler
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    post(proxy, {"model": "own-model", "previous_response_id": "resp_0", "input": "pump " * 1000})
    said = [{"role": role, "content": f"{role} " + "pump " * 200} for role in ("user", "assistant") * 5]
    said.append({"role": "user", "content": "And now?"})
    post(proxy, {"model": "own-model", "input": said})
    assert json.loads(upstream.seen[-1].body)["input"] == said


@pytest.mark.parametrize("before", [12_000, 130_000])  # read here, and in a process of its own
def test_what_the_providers_own_summary_stands_for_is_not_cut_off(
    before: int, upstream: UpstreamServer, start_proxy: StartProxy
) -> None:
    """A client may still send what stands before a compaction; the upstream reads no more than what is behind it."""
    counts = iter((2000, 6000, 12000, 2100, 3100, 4100))

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        answer = {"id": "resp_1", "output": [], "usage": {"input_tokens": next(counts)}}
        await reply(json.dumps(answer).encode())(scope, receive, send)

    upstream.handler = handler
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    said = [{"role": "user", "content": "pump " * before}, {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"}]
    for size in (2000, 6000, 12000):
        post(proxy, {"model": "gpt-5", "input": "pump " * size})
    for size in (2000, 3000, 4000):
        post(proxy, {"model": "gpt-5", "input": [*said, {"role": "user", "content": "pump " * size}]})
    until(lambda: len(proxy.recorder.so_far) == 6)
    assert "upstream-truncated" not in [one.reason for one in proxy.recorder.so_far]


def test_a_chat_that_is_counted_differently_is_not_taken_for_cut_off(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    """Beside one of 1.4 of the upstream's tokens for each of ours, one of .55; it grows, and its reports with it."""
    upstream.handler = reporting(7000, 550, 2200, 2750, 3300, 3850, 4400)
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    for chat, size in (("dear", 5000), *(("cheap", size) for size in (1000, 4000, 5000, 6000, 7000, 8000))):
        messages = [("user", f"{chat} chat"), ("assistant", "Yes?"), ("user", "pump " * size)]
        proxy.chat({"model": "two chats", "messages": [{"role": role, "content": text} for role, text in messages]}, KEY)
    until(lambda: len(proxy.recorder.so_far) == 7)
    assert proxy.recorder.so_far[-1].tokens_after > 8000  # nothing was taken from it
    assert not [one.reason for one in proxy.recorder.so_far if one.reason == "upstream-truncated"]


def test_a_prompt_of_fewer_tokens_than_the_one_before_is_not_told_to_be_cut_off(
    upstream: UpstreamServer, start_proxy: StartProxy, caplog: pytest.LogCaptureFixture
) -> None:
    """The longest one was a table, which takes more tokens than prose does."""
    upstream.handler = reporting(480, 860, 1240, 1625, 2240, 2285)
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    for size in (500, 900, 1300, 1700, 2000, 2380):
        proxy.chat({"model": "prose", "messages": [{"role": "user", "content": "pump " * size}]}, KEY)
    until(lambda: len(proxy.recorder.so_far) == 6)
    assert not [one.reason for one in proxy.recorder.so_far if one.reason == "upstream-truncated"]
    assert "cuts prompts off" not in caplog.text


def test_the_line_about_a_cut_prompt_counts_as_the_upstream_does(
    upstream: UpstreamServer, start_proxy: StartProxy, caplog: pytest.LogCaptureFixture
) -> None:
    """One that counts three tokens for each of ours, and cuts off: it read more tokens than we counted."""
    upstream.handler = reporting(3000, 6000, 9000, 12000, 15000, 6000)
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    with caplog.at_level(logging.WARNING):
        for size in (1000, 2000, 3000, 4000, 5000, 5001):
            proxy.chat({"model": "threefold", "messages": [{"role": "user", "content": f"{size} " + "pump " * size}]}, KEY)
        until(lambda: "prompts off silently" in caplog.text)
    told = re.search(r"read (\d+) of about (\d+) tokens", caplog.text)
    assert told is not None
    assert int(told[1]) == 6000
    assert 14_000 < int(told[2]) < 16_000


@pytest.mark.parametrize("status", [424, 500, 503])
@pytest.mark.parametrize("full", [True, False])
def test_a_refusal_that_a_gateway_wraps_is_recovered(
    upstream: UpstreamServer, start_proxy: StartProxy, status: int, full: bool
) -> None:
    said = "prompt is too long: 9001 tokens > 3000 maximum" if full else "the server is restarting, 9001 requests wait"
    told = json.dumps({"error": {"message": f"400 Bad Request: {json.dumps({'error': said})}", "code": 400}}).encode()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        answer = reply(told, status=status) if len(upstream.seen) == 1 else reply(b'{"choices": []}')
        await answer(scope, receive, send)

    upstream.handler = handler
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    answer = proxy.chat(overfull("long chat", 9000))
    assert (answer.status, len(upstream.seen)) == ((200, 2) if full else (status, 1))
    if full:
        assert len(upstream.seen[1].body) < len(upstream.seen[0].body)
    else:
        assert answer.body == told


def test_two_failures_give_the_first_error(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    number = iter(range(100))

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        error = {"error": {"code": "context_length_exceeded", "message": f"no {next(number)}"}}
        headers = [(b"x-request-id", b"first"), (b"content-type", b"application/json")]
        await reply(json.dumps(error).encode(), status=400, headers=headers)(scope, receive, send)

    upstream.handler = handler
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    answer = proxy.chat(overfull("long chat", 4000))
    assert (answer.status, answer.json()["error"]["message"], answer.header("x-request-id")) == (400, "no 0", "first")
    assert len(upstream.seen) == 2
    assert proxy.recorder.one().reason == "overflow-refused-again"


def test_a_second_sending_that_breaks_leaves_the_first_error(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    error = b'{"error": {"code": "context_length_exceeded"}}'

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        if len(upstream.seen) > 1:
            raise ConnectionResetError
        await reply(error, status=400)(scope, receive, send)

    upstream.handler = handler
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    answer = proxy.chat(overfull("long chat", 4000))
    assert (answer.status, answer.body, len(upstream.seen)) == (400, error, 2)


@pytest.mark.usefixtures("old_objects_are_frozen")
def test_a_client_that_leaves_during_a_recovery_leaves_no_answer_open(
    upstream: UpstreamServer, start_proxy: StartProxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """While the first answer comes, while the second does, and while what they taught is written."""
    stalls, left = threading.Semaphore(0), threading.Semaphore(0)

    async def learn(*_: object) -> None:
        stalls.release()
        await asyncio.Event().wait()

    async def never_ends(status: int, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": b"{", "more_body": True})
        if status != 200:
            stalls.release()
        while (await receive())["type"] != "http.disconnect":
            pass
        left.release()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        if len(upstream.seen) <= len(refusals):
            await reply(b'{"error": {"code": "context_length_exceeded"}}', status=400)(scope, receive, send)
        else:
            await never_ends(status, receive, send)

    monkeypatch.setattr(Windows, "learn_from_refusal", learn)
    upstream.handler = handler
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    body = json.dumps(overfull("long chat", 4000)).encode()
    for refusals, status in (((), 400), ((400,), 400), ((400,), 200)):
        upstream.seen.clear()
        connection = http.client.HTTPConnection(proxy.origin.removeprefix("http://"), timeout=60)
        with contextlib.closing(connection):
            connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
            assert stalls.acquire(timeout=60)
        assert left.acquire(timeout=60), (refusals, status)
    gc.collect()
    assert "Unclosed" not in caplog.text


def test_a_fault_of_ours_leaves_the_first_error(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    calls = iter(range(100))

    def breaks_later(*args: Any) -> Any:
        if next(calls):
            raise ZeroDivisionError
        return warm_fold(*args)

    error = b'{"error": {"code": "context_length_exceeded"}}'
    upstream.handler = reply(error, status=400)
    proxy = start_proxy(upstream.origin + "/v1", fold=breaks_later)
    answer = proxy.chat(overfull("long chat", 4000))
    assert (answer.status, answer.body, len(upstream.seen)) == (400, error, 1)


def test_a_window_is_learned_though_making_the_request_smaller_failed(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    folds = iter(range(100))

    def breaks_once(*args: Any) -> Any:
        if next(folds) == 1:
            raise ZeroDivisionError
        return warm_fold(*args)

    named = "This model's maximum context length is 1500 tokens. However, your messages resulted in 6000 tokens."
    upstream.handler = reply(json.dumps({"error": {"message": named, "code": "context_length_exceeded"}}).encode(), status=400)
    proxy = start_proxy(upstream.origin + "/v1", fold=breaks_once)
    body = overfull("long chat", 4000)
    assert (proxy.chat(body, KEY).status, len(upstream.seen)) == (400, 1)
    upstream.handler = reply(b"{}")
    again = proxy.chat(body, KEY)
    assert (again.header("x-turnfold-reason"), len(upstream.seen)) == ("window", 2)
    assert int(again.header("x-turnfold-tokens-after") or 9999) <= 1500


def test_a_coded_error_and_a_coded_request_are_understood(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    error = gzip.compress(b'{"error": {"code": "context_length_exceeded"}}')

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        coded = [(b"content-encoding", b"gzip"), (b"content-type", b"application/json")]
        answer = reply(error, status=400, headers=coded) if len(upstream.seen) == 1 else reply(b'{"choices": []}')
        await answer(scope, receive, send)

    upstream.handler = handler
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    body = gzip.compress(json.dumps(overfull("giant user message", 4000)).encode())
    answer = proxy.chat(body, ("content-encoding", "gzip"))
    assert (answer.status, answer.header("x-turnfold-status")) == (200, "recovered")
    second = upstream.seen[1]
    assert second.header("content-encoding") is None
    assert "tokens left out" in json.loads(second.body)["messages"][-1]["content"]


def test_the_server_of_these_tests_counts_by_itself() -> None:
    body = {"messages": [{"role": "user", "content": "Hello, wonderful world: 字字 123456!"}]}
    assert count_request(body) > 15


def test_an_answer_that_nobody_sees_is_paid_for(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    """Some gateways bill a prompt that they refuse, and say so."""
    refusal = {"error": {"message": "maximum context length is 3000 tokens", "code": "context_length_exceeded"}}
    usage = {"prompt_tokens": 9000, "completion_tokens": 0}
    answers = iter(((400, {**refusal, "usage": usage}), (200, {"choices": [], "usage": {"prompt_tokens": 2000}})))

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        status, body = next(answers)
        await reply(json.dumps(body).encode(), status=status)(scope, receive, send)

    upstream.handler = handler
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    assert proxy.chat(overfull("long chat", 2 * WINDOW, model="gpt-4o"), KEY).header("x-turnfold-status") == "recovered"
    receipt = proxy.recorder.one()
    assert receipt.usage.prompt_tokens == 2000
    assert receipt.calls == (OwnCall("refused", "gpt-4o", Usage(9000, 0)),)

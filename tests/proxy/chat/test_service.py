"""The stations: modes, the one fail-open, receipts."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
import time
from dataclasses import replace
from typing import Any

import pytest
import tiktoken
from starlette.types import Receive, Scope, Send
from yarl import URL

from tests.proxy.harness import ProxyServer, StartProxy, UpstreamServer, call, halve, proxy_server, reply, until
from tests.support.words import prose
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fold import Folded, engine, fold
from turnfold.compression.fold.attempts import first_plan
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.changes import Changes
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.config.settings import Settings, UpstreamSettings
from turnfold.proxy.chat.exchange import ChatRequest, Exchange
from turnfold.proxy.chat.folding import Folding, Lanes
from turnfold.proxy.learning.deciding import Decisions
from turnfold.proxy.learning.warming import WarmthMemory
from turnfold.proxy.learning.windows import Windows
from turnfold.proxy.outbound.destination import Destination
from turnfold.proxy.outbound.upstream import Upstream

TWO = b'{"model":"gpt-4o","messages":[{"role":"user","content":"one"},{"role":"user","content":"two"}]}'
USAGE = reply(b'{"model":"gpt-4o-2024-08-06","usage":{"prompt_tokens":7,"completion_tokens":2}}')


def panic() -> BaseException:
    """A panic of a library in Rust: a vocabulary that gives two tokens one number."""
    try:
        tiktoken.Encoding("x", pat_str=".", mergeable_ranks={b"a": 0, b"b": 0}, special_tokens={})
    except BaseException as exc:
        return exc
    raise AssertionError("no panic")


def _raising(error: BaseException) -> Any:
    def fold(*_: object, **__: object) -> Folded:
        raise error

    return fold


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (FoldRejected("malformed"), "malformed"),
        (ValueError("secret text of the user"), "ValueError"),
        (RecursionError(), "RecursionError"),
        (MemoryError(), "MemoryError"),
        (KeyError("messages"), "KeyError"),
        (TimeoutError(), "slow"),
        (FoldRejected("two\r\nlines: é"), "two-lines-"),
        (panic(), "Panicked"),
    ],
)
def test_whatever_fails_in_the_engine_the_original_goes_out(
    upstream: UpstreamServer, start_proxy: StartProxy, caplog: pytest.LogCaptureFixture, error: BaseException, reason: str
) -> None:
    upstream.handler = USAGE
    proxy = start_proxy(upstream.origin + "/v1", fold=_raising(error))
    answer = proxy.chat(TWO)
    assert upstream.seen[0].body == TWO
    assert (answer.status, answer.header("x-turnfold-status")) == (200, "failed-open")
    receipt = proxy.recorder.one()
    assert (receipt.status, receipt.usage.prompt_tokens) == ("failed-open", 7)
    assert answer.header("x-turnfold-reason") == reason
    assert receipt.reason in caplog.text
    assert receipt.reason.startswith(reason[:3])
    assert "secret" not in caplog.text
    assert ("test_service.py" in caplog.text) == (receipt.reason == type(error).__name__)  # where a fault of ours is


def test_what_is_sent_does_not_depend_on_what_is_remembered(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    said = [
        m
        for n in range(60)
        for m in ({"role": "user", "content": f"And pier {n}?"}, {"role": "assistant", "content": prose(n, sentences=20)})
    ]
    bodies = [json.dumps({"model": "gpt-4o", "messages": said[: 2 * n + 1]}).encode() for n in range(40, 60, 4)]
    for most in (48_000_000, 1):
        proxy = start_proxy(upstream.origin + "/v1", limits={"max_memo_bytes": most}, folding={"cache_hit_share": 0.7})
        answers = [proxy.chat(body) for body in bodies]
        assert answers[-1].header("x-turnfold-status") == "folded"
    sent = [one.body for one in upstream.seen]
    assert sent[: len(bodies)] == sent[len(bodies) :]


def test_a_fold_that_is_not_smaller_is_not_used(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    def larger(conversation: Conversation, *_: object) -> Folded:
        return Folded(conversation, conversation, Changes(), True, "", 10, 10)

    proxy = start_proxy(upstream.origin + "/v1", fold=larger)
    assert proxy.chat(TWO).header("x-turnfold-status") == "failed-open"
    assert upstream.seen[0].body == TWO
    assert proxy.recorder.one().reason == "not-smaller"


def test_a_fold_that_takes_too_long_is_not_waited_for(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    go_on = threading.Event()
    body = TWO.replace(b"one", b"one " * 2000)

    def endless(conversation: Conversation, *_: object) -> Folded:
        go_on.wait(60)
        return Folded(conversation, conversation, Changes(), False, "", 0, 0)

    proxy = start_proxy(upstream.origin + "/v1", fold=endless, limits={"fold_timeout": 0.1})
    answer = proxy.chat(body)
    go_on.set()
    assert (answer.status, answer.header("x-turnfold-status")) == (200, "failed-open")
    assert upstream.seen[0].body == body
    assert proxy.recorder.one().reason == "slow"


def test_that_a_fold_took_too_long_is_forgotten_with_the_tenants_data(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    go_on, begun, body = threading.Event(), list[int](), TWO.replace(b"one", b"one " * 10_000)

    def slow_once(conversation: Conversation, options: FoldOptions, memo: Memo) -> Folded:
        begun.append(1)
        if len(begun) == 1:
            go_on.wait(60)
        return halve(conversation, options, memo)

    proxy = start_proxy(upstream.origin + "/v1", fold=slow_once, limits={"fold_timeout": 600.0, "max_fold_workers": 3})
    with proxy.impatient(2.0):
        said = [proxy.chat(body) for _ in range(2)]
    assert call(proxy.origin, "DELETE", "/v1/data").status == 200
    said.append(proxy.chat(body))
    go_on.set()
    told = [(answer.header("x-turnfold-status"), answer.header("x-turnfold-reason")) for answer in said]
    assert told == [("failed-open", "slow"), ("passthrough", "slow-before"), ("folded", None)]


def test_small_requests_do_not_wait_behind_large_ones(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    go_on = threading.Event()

    def slow_when_large(conversation: Conversation, *_: object) -> Folded:
        if len(conversation.text) > 100_000:
            go_on.wait(60)
        return Folded(conversation, conversation, Changes(), False, "short", 1, 1)

    proxy = start_proxy(upstream.origin + "/v1", fold=slow_when_large)
    large = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x" * 200_000}]}).encode()
    threads = [threading.Thread(target=proxy.chat, args=(large,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert proxy.chat(TWO).status == 200
    assert proxy.chat(TWO.replace(b"one", b"one " * 2000)).status == 200
    assert len(upstream.seen) == 2
    go_on.set()
    for thread in threads:
        thread.join()


def test_a_receipt_tells_other_tools_from_the_same_and_from_none(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    upstream.handler = USAGE
    proxy, seen = start_proxy(upstream.origin + "/v1"), []
    for names in ([], ["look_up"], ["look_up"], ["look_up", "buy"]):
        tools = [{"type": "function", "function": {"name": name}} for name in names]
        proxy.chat(json.dumps(json.loads(TWO) | ({"tools": tools} if tools else {})).encode())
        seen.append(proxy.recorder.receipts[-1].schema)
    none, one, again, two = seen
    assert not none
    assert one == again
    assert len({none, one, two}) == 3


def test_off_is_not_parsed(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    upstream.handler = USAGE
    proxy = start_proxy(upstream.origin + "/v1", fold=_raising(AssertionError()), folding={"mode": "off"})
    answer = proxy.chat(TWO)
    assert (answer.header("x-turnfold-status"), answer.header("x-turnfold-tokens-before")) == ("bypassed", None)
    receipt = proxy.recorder.one()
    assert (receipt.status, receipt.model, receipt.usage.completion_tokens) == ("bypassed", "gpt-4o-2024-08-06", 2)


def test_the_header_decides_over_the_setting(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    proxy = start_proxy(upstream.origin + "/v1", folding={"mode": "off", "budget": 50})
    assert proxy.chat(TWO, ("x-turnfold-mode", "On")).header("x-turnfold-tokens-after") == "50"
    assert proxy.chat(TWO, ("x-turnfold-mode", "on"), ("x-turnfold-budget", "40")).header("x-turnfold-tokens-after") == "40"
    assert json.loads(upstream.seen[0].body)["messages"] == [{"role": "user", "content": "two"}]


def test_observe_sends_the_original_and_records_what_a_fold_would_save(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    upstream.handler = USAGE
    begun, go_on = threading.Event(), threading.Event()

    def slow(conversation: Conversation, options: FoldOptions, memo: Memo) -> Folded:
        begun.set()
        go_on.wait(60)
        return halve(conversation, options, memo)

    proxy = start_proxy(upstream.origin + "/v1", fold=slow, folding={"mode": "observe"})
    answer = proxy.chat(TWO, ("x-turnfold-budget", "33"))
    assert begun.wait(60)
    assert proxy.recorder.so_far == []  # still folding
    assert (upstream.seen[0].body, answer.header("x-turnfold-status")) == (TWO, "observed")
    go_on.set()
    receipt = proxy.recorder.one()
    assert (receipt.status, receipt.tokens_before, receipt.tokens_after, receipt.model) == ("observed", 120, 33, "gpt-4o")
    assert (receipt.usage.prompt_tokens, receipt.complete) == (7, True)
    assert proxy.recorder.sections == [()]


def test_observing_waits_until_nobody_is_served(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    folded, go_on = threading.Event(), threading.Event()

    def fold(conversation: Conversation, options: FoldOptions, memo: Memo) -> Folded:
        folded.set()
        return halve(conversation, options, memo)

    async def slow_for_large(scope: Scope, receive: Receive, send: Send) -> None:
        if len(upstream.seen[-1].body) > 1000:
            await asyncio.to_thread(go_on.wait, 60)
        await USAGE(scope, receive, send)

    upstream.handler = slow_for_large
    proxy = start_proxy(upstream.origin + "/v1", fold=fold, folding={"mode": "observe"})
    other = threading.Thread(target=proxy.chat, args=(b"x" * 2000,))
    other.start()
    until(lambda: upstream.seen)
    assert proxy.chat(TWO).status == 200
    assert not folded.wait(0.3)
    go_on.set()
    other.join()
    assert folded.wait(60)
    until(lambda: len(proxy.recorder.so_far) == 2)


def test_bodies_that_wait_to_be_observed_take_so_much_memory_and_no_more(
    upstream: UpstreamServer, start_proxy: StartProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def slow(conversation: Conversation, options: FoldOptions, memo: Memo) -> Folded:
        go_on.wait(60)
        return halve(conversation, options, memo)

    monkeypatch.setattr("turnfold.proxy.chat.service._MOST_OBSERVED", 2 * len(TWO))
    proxy = start_proxy(upstream.origin + "/v1", fold=slow, folding={"mode": "observe"})
    for _ in range(3):
        proxy.chat(TWO)
    until(lambda: proxy.recorder.so_far)
    go_on.set()
    until(lambda: len(proxy.recorder.so_far) == 3)
    assert [(one.reason, one.tokens_before) for one in proxy.recorder.so_far] == [("observer-busy", 0), ("", 120), ("", 120)]


def test_observe_survives_an_engine_that_fails(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    proxy = start_proxy(upstream.origin + "/v1", fold=_raising(ValueError()), folding={"mode": "observe"})
    assert proxy.chat(TWO).status == 200
    assert (proxy.recorder.one().status, proxy.recorder.one().reason) == ("observed", "ValueError")


def test_what_is_observed_is_recorded_before_the_app_stops(upstream: UpstreamServer) -> None:
    def slow(conversation: Conversation, options: FoldOptions, memo: Memo) -> Folded:
        time.sleep(0.2)
        return halve(conversation, options, memo)

    with proxy_server(upstream.origin + "/v1", fold=slow, folding={"mode": "observe"}) as (proxy, _):
        proxy.chat(TWO)
    assert proxy.recorder.one().tokens_before == 120


def test_an_upstream_error_has_a_receipt(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    upstream.handler = reply(b'{"error":{}}', status=429)
    proxy.chat(TWO)
    receipt = proxy.recorder.one()
    assert (receipt.upstream_status, receipt.complete, receipt.status) == (429, True, "folded")
    assert receipt.usage.prompt_tokens is None


def test_an_upstream_that_is_gone_has_a_receipt_with_what_became_of_the_fold(start_proxy: StartProxy) -> None:
    def not_worth_it(conversation: Conversation, *_: object) -> Folded:
        return Folded(conversation, conversation, Changes(), False, "short", 10, 10)

    proxy = start_proxy("http://127.0.0.1:9/v1", fold=not_worth_it)
    assert proxy.chat(TWO).status == 502
    receipt = proxy.recorder.one()
    assert (receipt.upstream_status, receipt.status, receipt.reason) == (None, "passthrough", "short")
    assert receipt.usage.prompt_tokens is None
    assert not receipt.complete


def test_a_small_request_is_on_its_way_before_its_fold_is_asked(
    upstream: UpstreamServer, start_proxy: StartProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.handler = USAGE
    proxy = start_proxy(upstream.origin + "/v1", fold=fold)
    seen_when_planned: list[int] = []

    def told(*given: Any, **more: Any) -> Any:
        until(lambda: upstream.seen)  # the upstream runs in a thread of its own
        seen_when_planned.append(len(upstream.seen))
        return first_plan(*given, **more)

    proxy.chat(TWO)  # the connection is there
    upstream.seen.clear()
    monkeypatch.setattr(engine, "first_plan", told)
    answer = proxy.chat(TWO)
    assert seen_when_planned == [1]
    assert (answer.header("x-turnfold-status"), answer.header("x-turnfold-reason")) == ("passthrough", "short")
    assert answer.header("x-turnfold-tokens-before") == answer.header("x-turnfold-tokens-after") == "11"
    assert upstream.seen[0].body == TWO


def test_a_fault_that_shows_behind_the_sending_is_told_like_any(
    upstream: UpstreamServer, start_proxy: StartProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.handler = USAGE
    proxy = start_proxy(upstream.origin + "/v1", fold=fold)
    monkeypatch.setattr(engine, "first_plan", _raising(ValueError("secret text of the user")))
    answer = proxy.chat(TWO)
    assert (answer.status, answer.header("x-turnfold-status"), answer.header("x-turnfold-reason")) == (
        200,
        "failed-open",
        "ValueError",
    )
    assert upstream.seen[0].body == TWO
    assert len(upstream.seen) == 1


def test_an_upstream_that_is_gone_has_the_figures_of_a_small_request(start_proxy: StartProxy) -> None:
    proxy = start_proxy("http://127.0.0.1:9/v1", fold=fold)
    assert proxy.chat(TWO).status == 502
    receipt = proxy.recorder.one()
    assert (receipt.status, receipt.reason, receipt.tokens_before, receipt.tokens_after) == ("passthrough", "short", 11, 11)


def test_times_are_told(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    before = time.time()
    answer = proxy.chat(TWO)
    receipt = proxy.recorder.one()
    assert before <= receipt.at <= time.time()
    assert receipt.first_byte_ms is not None
    assert 0.01 < receipt.overhead_ms < receipt.first_byte_ms <= receipt.total_ms < 5000
    assert float(answer.header("x-turnfold-overhead-ms") or "-1") == pytest.approx(receipt.overhead_ms, abs=0.01)
    assert upstream.seen


def test_ids_differ(proxy: ProxyServer) -> None:
    ids = {proxy.chat(TWO).header("x-turnfold-request-id") for _ in range(5)}
    assert len(ids) == 5
    refused = proxy.chat(TWO, ("x-turnfold-mode", "x"))
    assert refused.header("x-turnfold-request-id") not in ids | {None}


def test_our_headers_are_on_chat_completions_alone(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    upstream.handler = reply(b"{}", headers=((b"X-Turnfold-Status", b"folded"), (b"x-b", b"1")))
    assert call(proxy.origin, "GET", "/v1/models").headers[:2] == [("x-turnfold-status", "folded"), ("x-b", "1")]
    assert proxy.chat(b"{}").header("x-turnfold-status") == "passthrough"


def test_gzip_that_folds_is_read_and_counted(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    upstream.handler = reply(gzip.compress(b'{"usage":{"prompt_tokens":3}}'), headers=((b"Content-Encoding", b"GZIP"),))
    assert proxy.chat(gzip.compress(TWO), ("content-encoding", "gzip")).header("x-turnfold-status") == "folded"
    assert proxy.recorder.one().usage.prompt_tokens == 3


def test_liveness_and_readiness_cost_no_upstream_call(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    assert call(proxy.origin, "GET", "/healthz").json() == {"status": "alive"}
    checks = {"store": "ok", "receipts": "ok", "background": "ok", "serving": "ok"}
    assert call(proxy.origin, "GET", "/readyz").json() == {"status": "ready", "checks": checks}
    assert call(proxy.origin, "HEAD", "/healthz").status == 200
    assert call(proxy.origin, "GET", "/admin/nothing").status == 404
    assert call(proxy.origin, "POST", "/admin").status == 405
    assert upstream.seen == []


def test_many_at_once(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    upstream.handler = USAGE
    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.append(proxy.chat(TWO).status)) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [200] * 40
    until(lambda: len(proxy.recorder.so_far) == 40)
    assert len({receipt.request_id for receipt in proxy.recorder.receipts}) == 40


async def test_what_is_hardly_new_is_read_without_a_thread() -> None:
    said = [{"role": ("user", "assistant")[n % 2], "content": prose(n, sentences=6)} for n in range(61)]
    readers: list[bool] = []

    def read(body: bytes, memo: Memo) -> Conversation:
        readers.append(threading.current_thread() is threading.main_thread())
        return CHAT.read(body, memo)

    settings, lanes = Settings(), Lanes(1)
    decisions = Decisions(None, 0.0, WarmthMemory())
    folding = Folding.of(settings, lambda model, _: FoldOptions(model=model), Windows(), decisions, lanes)
    nowhere = Destination(Upstream(UpstreamSettings()), URL("http://localhost"), "openai")
    wire = replace(CHAT, read=read)

    async def reads(messages: int, longer: str = "", coding: str = "") -> None:
        asked = {"role": "user", "content": longer or "Why?"}
        body = json.dumps({"model": "gpt-4o", "messages": [*said[:messages], asked]}).encode()
        body = gzip.compress(body) if coding else body
        request = ChatRequest("tf-1", 0.0, 0.0, 0.0, wire, nowhere, (), coding, body, "on", None, None, tenant="t1")
        read = await folding.read_request(Exchange(request))
        assert read.conversation is not None
        assert len(read.conversation.messages) == messages + 1

    try:
        await reads(56)
        await reads(58)
        await reads(60, longer="Why is the pier shut? " * 400)
        await reads(60, coding="gzip")
        await reads(60)
        await reads(2)
    finally:
        lanes.close()
    assert readers == [False, True, False, False, True, True]

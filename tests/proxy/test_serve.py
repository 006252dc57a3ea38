"""A real ``turnfold serve``: what a crash costs, what a stop costs, what several workers add up to, what a request was."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import re
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from tests.proxy.harness import Answer, UpstreamServer, call, reply, unhurried, until
from tests.proxy.processes import COMPLETION, CUT, LONG, SHORT, Served, ServeProcess, StartProcess, chat
from turnfold.config.settings import StoreSettings
from turnfold.proxy.books.receipt_log import receipts_between
from turnfold.proxy.store import open_store


async def _stored(url: str) -> set[str]:
    store = open_store(unhurried(StoreSettings(url=url)))
    try:
        return {line["request_id"] async for line in receipts_between(store, time.time() - 600, time.time() + 60)}
    finally:
        await store.close()


async def _slow_stream(gate: threading.Event, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
    await send({"type": "http.response.body", "body": b"data: one\n\n", "more_body": True})
    await asyncio.to_thread(gate.wait, 60)
    await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})


def _stopped_in_a_stream(served: ServeProcess, upstream: UpstreamServer) -> list[Answer]:
    """Readiness fails first, and streams end; gives the answers during the stop."""
    gate = threading.Event()
    upstream.handler = lambda scope, receive, send: _slow_stream(gate, send)
    before = len(upstream.seen)
    with ThreadPoolExecutor(1) as pool:
        stream = pool.submit(served.post, SHORT)
        until(lambda: len(upstream.seen) > before)
        served.process.send_signal(signal.SIGTERM)
        until(lambda: call(served.origin, "GET", "/readyz").status == 503)
        assert call(served.origin, "GET", "/readyz").json()["checks"]["serving"] == "down"
        assert call(served.origin, "GET", "/healthz").status == 200
        upstream.handler = reply(COMPLETION)
        late = served.post(SHORT)
        assert late.status == 200  # a balancer that has not noticed yet
        until(lambda: _is_closed(served.origin), pause=0.1)
        gate.set()
        streamed = stream.result()
    assert (streamed.status, streamed.body) == (200, b"data: one\n\ndata: [DONE]\n\n")
    assert served.process.wait(60) == 0
    return [streamed, late]


async def test_an_orderly_stop_loses_nothing_and_a_server_says_it_as_json(
    start_process: StartProcess, upstream: UpstreamServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Said are the port that was bound, one line for each request, that it stops, and nothing else."""
    url = f"sqlite:///{tmp_path}/t.db"
    module = "tests.support.unhurried_serve"  # or it says of a store on a busy machine that it is late
    served = start_process(module=module, STORE_URL=url, LOG_FORMAT="json", DRAIN_DELAY="1", DRAIN_TIMEOUT="15")
    answers = [served.post(SHORT) for _ in range(40)]
    for answer in answers:
        assert (answer.status, answer.body) == (200, COMPLETION)
        assert {key for key, _ in answer.headers if not key.startswith("x-turnfold")} <= {"content-type", "transfer-encoding"}
    folded = served.post(LONG)
    answers += [folded, *_stopped_in_a_stream(served, upstream)]
    assert await _stored(url) == {answer.header("x-turnfold-request-id") for answer in answers}
    said = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    ready = next(line for line in said if line.get("event") == "ready")
    assert (ready["origin"], ready["store_answers"]) == (served.origin, True)
    (line,) = [line for line in said if line.get("request_id") == folded.header("x-turnfold-request-id")]
    assert (line["wire"], line["model"], line["status"], line["upstream_status"]) == ("chat", "gpt-4o", "folded", 200)
    assert line["tokens_before"] > line["tokens_after"] > 0
    others = [line for line in said if line["logger"] != "turnfold.proxy.chat.sending"]
    assert [line for line in others if line["level"] != "info"] == []
    assert len(others) == 2 + len(answers)


async def test_what_does_not_end_by_itself_costs_no_receipt_and_does_not_keep_the_process(
    start_process: StartProcess, upstream: UpstreamServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/t.db"
    upstream.handler = reply(COMPLETION)
    served = start_process(module="tests.support.stuck_serve", STORE_URL=url, DRAIN_TIMEOUT="1")
    name = served.post(SHORT).header("x-turnfold-request-id")
    assert served.stop() == 1
    assert await _stored(url) == {name}
    assert capfd.readouterr().err.splitlines()[-1].endswith("not stopped within 11 s after the listener was closed; ending now")


def _sums(text: str, name: str) -> float:
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if re.match(rf"{name}[{{ ]", line))


def test_two_workers_give_one_set_of_figures_and_do_not_outlive_their_parent(
    start_process: StartProcess, upstream: UpstreamServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """An answer that the upstream cut is one line of theirs and no error."""
    served = start_process(WORKERS="2", STORE_URL=f"sqlite:///{tmp_path}/t.db", LOG_FORMAT="json")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(served.post, [SHORT] * 58 + [LONG, LONG]))
    assert {answer.status for answer in answers} == {200}
    paid = 60 * (1000 * 2.5 + 10 * 10) / 1e6

    def scraped() -> list[dict[str, float]]:
        texts = [served.get("/metrics").body.decode() for _ in range(12)]  # each on a connection of its own: either worker
        names = (
            "requests_total",
            "folds_total",
            "dollars_paid_total",
            "overhead_seconds_count",
            "first_byte_seconds_count",
            "workers",
        )
        return [{name: round(_sums(text, f"turnfold_{name}"), 9) for name in names} for text in texts]

    expected = {"requests_total": 60, "folds_total": 2, "dollars_paid_total": round(paid, 9)}
    expected |= {"overhead_seconds_count": 60, "first_byte_seconds_count": 60, "workers": 2}
    until(lambda: scraped() == [expected] * 12, pause=0.3)
    totals = served.get("/admin/report?group_by=status").json()["totals"]
    assert totals["requests"] == 60
    assert totals["dollars"]["paid"] == pytest.approx(paid)
    upstream.handler = CUT
    with pytest.raises(http.client.IncompleteRead):
        served.post(LONG)
    until(lambda: served.get("/admin/report").json()["totals"]["requests"] == 61)
    said = capfd.readouterr().err
    assert said.count("it closed the connection in the middle of its answer") == 1
    assert "ASGI" not in said, [line for line in said.splitlines() if "ASGI" in line]
    assert "error" not in said
    if sys.platform != "linux":  # nothing else tells a process that its parent died
        return
    served.process.kill()
    served.process.wait(60)
    until(lambda: _is_closed(served.origin), pause=0.1)


def test_what_is_known_of_one_request(served: Served, upstream: UpstreamServer) -> None:
    answer = served.post(LONG)
    name = answer.header("x-turnfold-request-id")
    found = served.get(f"/admin/requests/{name}").json()
    receipt = found["receipt"]
    assert receipt["request_id"] == name
    assert (receipt["status"], str(receipt["tokens_before"])) == ("folded", answer.header("x-turnfold-tokens-before"))
    assert found["why"].startswith("Folded")
    assert receipt["paid"] > 0
    originals = {json.dumps(message) for message in chat(60)}
    for section in found["sections"]:
        assert section["kept"]
        assert {json.dumps(json.loads(raw)) for raw in section["messages"]} <= originals
    assert sum(len(section["messages"]) for section in found["sections"]) > 50
    instead = [text for section in found["sections"] for text in section["instead"] if text]
    sent = json.loads(upstream.seen[-1].body)["messages"]
    everything = "\n".join(str(message["content"]) for message in sent)
    assert instead
    assert all(text in everything for text in instead)


def test_a_request_is_known_from_the_first_second_of_its_hour_on(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    name = served.post(SHORT).header("x-turnfold-request-id")
    known = served.get(f"/admin/requests/{name}").json()["receipt"]
    clock = SimpleNamespace(time=lambda: known["at"] // 3600 * 3600 + 0.5)
    monkeypatch.setattr("turnfold.proxy.routes.admin.time", clock)
    assert served.get(f"/admin/requests/{name}").json()["receipt"] == known


def test_a_request_is_known_to_its_tenant_only(served: Served) -> None:
    name = served.post(SHORT).header("x-turnfold-request-id")
    tenant = served.get(f"/admin/requests/{name}").json()["receipt"]["tenant"]
    assert served.get(f"/admin/requests/{name}", ("x-turnfold-tenant", tenant)).status == 200
    missing = served.get(f"/admin/requests/{name}", ("x-turnfold-tenant", "another")).json()
    unknown = served.get("/admin/requests/tf-0", ("x-turnfold-tenant", tenant)).json()
    assert missing["error"]["code"] == unknown["error"]["code"] == "request_unknown"
    assert call(served.origin, "GET", f"/admin/requests/{name}").status == 401
    assert served.get(f"/admin/requests/{name}?colour=red").json()["error"]["param"] == "colour"
    assert served.get(f"/admin/requests/{name}?from=never").json()["error"]["param"] == "from"


def _crowd_out(served: ServeProcess) -> int:
    """Clients that take all descriptors but those that the upstream needs; how many requests were answered."""
    assert served.post(SHORT).status == 200
    usual = resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE, (64, usual[1]))
    place = served.origin.removeprefix("http://").split(":")
    with contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(socket.create_connection((place[0], int(place[1])))) for _ in range(70)]
        until(lambda: sum(map(_is_cut_off, crowd)) == 54, pause=0.05)
        let_in = [client for client in crowd if not _is_cut_off(client)]
        for client in let_in:
            client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%s" % (len(SHORT), SHORT))
        assert [client.recv(15) for client in let_in] == [b"HTTP/1.1 200 OK"] * 16
    until(served.ready)
    resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE, usual)
    return 1 + len(let_in)


async def test_clients_leave_descriptors_for_the_upstream_and_a_second_ctrl_c_cuts_streams_off_and_writes_their_receipts(
    start_process: StartProcess, upstream: UpstreamServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/t.db"
    served = start_process(STORE_URL=url)
    answered = _crowd_out(served)
    assert capfd.readouterr().err.count("as many as 64 open files") == 1
    gate = threading.Event()

    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        await send({"type": "http.response.body", "body": b"data: one\n\n", "more_body": True})
        await asyncio.to_thread(gate.wait, 60)

    upstream.handler = endless
    with ThreadPoolExecutor(1) as pool:
        stream = pool.submit(served.post, SHORT)
        until(lambda: len(upstream.seen) > answered)
        served.process.send_signal(signal.SIGINT)
        until(lambda: _is_closed(served.origin), pause=0.1)
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(60) is not None
        gate.set()
        with pytest.raises(http.client.IncompleteRead):
            stream.result()
    assert len(await _stored(url)) == answered + 1
    assert "Traceback" not in capfd.readouterr().err


def _is_closed(origin: str) -> bool:
    try:
        call(origin, "GET", "/healthz")
    except OSError:
        return True
    return False


def _is_cut_off(client: socket.socket) -> bool:
    try:
        return client.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


ADMIN_READS = (
    "/admin/report",
    "/admin/overview",
    "/admin/overview/tags",
    "/admin/requests",
    "/admin/receipts",
    "/admin/requests/tf-0",
)


def _cut_off_at_the_stop(served: ServeProcess, said: Callable[[], str]) -> None:
    """An upstream that cuts its answer, then a client that has not sent its whole request when the server stops: no traceback.

    The first is one line and no error.
    """
    with pytest.raises(http.client.IncompleteRead):
        served.post(LONG)
    until(lambda: served.get("/admin/report").json()["totals"]["requests"] == 3)
    lines = said()
    assert lines.count("it closed the connection in the middle of its answer") == 1
    assert "ASGI" not in lines
    assert "error" not in lines
    host, port = served.origin.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as client:
        client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\ncontent-length: 90\r\n\r\n{")
        until(lambda: b" 1.0" in _in_flight(served))
        assert served.stop() == 0
    lines = said()
    assert "requests cut off at shutdown: 1 did not finish within TURNFOLD_DRAIN_TIMEOUT" in lines
    assert "Traceback" not in lines


def _in_flight(served: ServeProcess) -> bytes:
    lines = served.get("/metrics").body.splitlines()
    return next(line for line in lines if line.startswith(b'turnfold_requests_in_flight{kind="model"}'))


def test_a_frozen_store_is_named_within_seconds_and_a_stop_cuts_a_client_off_without_a_traceback(
    start_process: StartProcess, upstream: UpstreamServer, valkey: Any, redis_url: str, capfd: pytest.CaptureFixture[str]
) -> None:
    # What waited out its store would be given up by the client. How long an operator waits: ``store/test_waiting``.
    served = start_process(STORE_URL=redis_url, STORE_PATIENCE="60", DRAIN_TIMEOUT="1")
    assert served.post(SHORT).status == 200
    until(lambda: served.get("/admin/report").json()["totals"]["requests"] == 1)
    os.kill(valkey._process.pid, signal.SIGSTOP)
    try:
        assert served.post(SHORT).status == 200  # its receipt waits
        with ThreadPoolExecutor(len(ADMIN_READS)) as pool:
            answers = list(pool.map(served.get, ADMIN_READS))
        for answer in answers:
            assert (answer.status, answer.json()["error"]["code"]) == (503, "store_unavailable")
            assert f"({redis_url}) is frozen" in answer.json()["error"]["message"]
        assert served.get("/readyz").status == 200
        assert served.get("/readyz").json()["checks"]["store"] == "down"
    finally:
        os.kill(valkey._process.pid, signal.SIGCONT)
    until(lambda: served.get("/admin/report").status == 200, pause=0.1)
    until(lambda: served.get("/admin/report").json()["totals"]["requests"] == 2, pause=0.1)
    upstream.handler = CUT
    capfd.readouterr()
    _cut_off_at_the_stop(served, lambda: capfd.readouterr().err)


async def test_a_store_that_takes_nothing_is_named_and_a_crash_costs_less_than_the_last_second(
    start_process: StartProcess, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/t.db"
    served = start_process(STORE_URL=url)
    assert served.post(SHORT).status == 200
    until(lambda: served.get("/admin/ledger").json()["ledger"]["queued"] == 0)
    assert served.get("/readyz").json()["checks"]["receipts"] == "ok"
    pid = served.process.pid

    def may_write(size: int) -> None:  # a limit stands in for a full disk: no byte more goes into any file
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    may_write(4096)
    assert served.post(SHORT).status == 200
    until(lambda: served.get("/readyz").json()["checks"]["receipts"] == "down", pause=0.05)
    assert served.get("/readyz").status == 200  # a balancer that took every replica away would turn a full disk into an outage
    assert served.get("/admin/ledger").json()["ledger"]["problem"]
    until(lambda: b"turnfold_store_up 0.0" in served.get("/metrics").body, pause=0.1)
    for path in ("/admin/report", "/admin/overview"):
        assert "does not accept receipts now: 1 request." in served.get(path).json()["headline"]
    may_write(resource.RLIM_INFINITY)
    well = dict.fromkeys(("store", "receipts", "background", "serving"), "ok")
    until(lambda: served.get("/readyz").json()["checks"] == well)
    until(lambda: served.get("/admin/report").json()["totals"]["requests"] == 2)
    before = await _stored(url)

    def ask(times: int) -> set[str | None]:
        return {served.post(SHORT).header("x-turnfold-request-id") for _ in range(times)}

    old = ask(30)
    until(lambda: served.get("/admin/ledger").json()["ledger"]["queued"] == 0)  # four times a second (test_ledger_bounds)
    new = ask(10)
    served.process.kill()
    served.process.wait(60)
    assert old <= await _stored(url) - before <= old | new

"""Metrics: right figures, right with several workers."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from tests.proxy.harness import NO_LOGGING, UpstreamServer, call, proxy_server, running, unhurried, until
from tests.proxy.receipts import receipt
from tests.support.growth import assert_linear
from turnfold.config.settings import Settings, StoreSettings
from turnfold.proxy.app import Parts
from turnfold.proxy.books.rollups import UNPRICED, RequestCost
from turnfold.proxy.learning.holdout import is_held_out
from turnfold.proxy.telemetry import metrics as module
from turnfold.proxy.telemetry.labels import BoundedLabel
from turnfold.proxy.telemetry.metrics import Health, Metrics


def lines(made: Metrics) -> dict[str, float]:
    body, kind = made.render()
    assert kind.startswith("text/plain")
    pairs = (line.rsplit(" ", 1) for line in body.decode().splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


def test_receipts_are_counted_in_the_metrics() -> None:
    made = Metrics()
    made.observe(receipt(), RequestCost(0.5, 1.25))
    made.observe(receipt(status="observed"), UNPRICED)
    made.observe(receipt(status="failed-open", reason="slow", tokens_after=1000), RequestCost(1, 1))
    made.observe(receipt(status="recovered"), RequestCost(1, 1))
    made.observe(receipt(upstream_status=None, usage=()), UNPRICED)
    made.observe(receipt(upstream_status=429, usage=()), UNPRICED)
    found = lines(made)
    model = '{model="gpt-4o"}'
    assert found['turnfold_requests_total{model="gpt-4o",status="folded"}'] == 3
    assert found[f"turnfold_tokens_before_total{model}"] == 4000
    assert found[f"turnfold_tokens_sent_total{model}"] == 400 + 1000 + 1000 + 400
    assert found[f"turnfold_tokens_saved_total{model}"] == 1200
    assert found['turnfold_upstream_tokens_total{kind="cached",model="gpt-4o"}'] == 400
    assert found[f"turnfold_dollars_paid_total{model}"] == 2.5
    assert found[f"turnfold_dollars_without_turnfold_total{model}"] == 3.25
    assert found[f"turnfold_unpriced_requests_total{model}"] == 1
    assert found[f"turnfold_folds_total{model}"] == 2
    assert found[f"turnfold_recoveries_total{model}"] == 1
    assert found['turnfold_failed_open_total{reason="slow"}'] == 1
    assert found['turnfold_upstream_errors_total{code="none"}'] == 1
    assert found['turnfold_upstream_errors_total{code="429"}'] == 1
    assert found["turnfold_overhead_seconds_count"] == 6
    assert found['turnfold_overhead_seconds_bucket{le="0.001"}'] == 0
    assert found['turnfold_overhead_seconds_bucket{le="0.002"}'] == 6
    assert found["turnfold_first_byte_seconds_sum"] == pytest.approx(0.8)


def test_health_is_taken_over() -> None:
    health = Health(store_up=True, store_failures=0, queued=0, dropped=0)
    made = Metrics(lambda: health)
    made.tick()
    health = Health(store_up=False, store_failures=3, queued=7, dropped=2)
    made.tick()
    found = lines(made)
    assert (found["turnfold_store_up"], found["turnfold_receipts_queued"]) == (0, 7)
    assert (found["turnfold_store_failures_total"], found["turnfold_receipts_dropped_total"]) == (3, 2)


def test_requests_in_flight_are_counted_until_their_stream_ends() -> None:
    upstream, held, go_on = UpstreamServer(), threading.Event(), threading.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": []})
        held.set()
        await asyncio.to_thread(go_on.wait, 60)
        await send({"type": "http.response.body", "body": b""})

    upstream.handler = slow

    def in_flight(origin: str) -> bool:
        body = call(origin, "GET", "/metrics", None, [("authorization", "Bearer adm")]).body
        return b'turnfold_requests_in_flight{kind="passthrough"} 1.0' in body

    with (
        running(uvicorn.Config(upstream, **NO_LOGGING)) as server,
        proxy_server(f"{server.origin}/v1", auth={"admin_token": "adm"}) as (proxy, _),
    ):
        client = threading.Thread(target=call, args=(proxy.origin, "GET", "/v1/models"))
        client.start()
        assert held.wait(60)
        assert in_flight(proxy.origin)
        go_on.set()
        client.join(60)
        until(lambda: not in_flight(proxy.origin))


async def test_the_books_feed_the_metrics() -> None:
    parts = Parts(Settings(store=unhurried(StoreSettings(url="memory://"))))
    async with parts.running():
        parts.ledger.record(receipt(), ())
        async with asyncio.timeout(60):
            while not parts.ledger.written:  # noqa: ASYNC110 - as a scraper sees it
                await asyncio.sleep(0.02)
        assert lines(parts.metrics)['turnfold_dollars_paid_total{model="gpt-4o"}'] > 0


WORKER = """
from tests.proxy.receipts import receipt
from turnfold.proxy.telemetry.metrics import Health, Metrics
from turnfold.proxy.books.rollups import RequestCost
import os, sys, time
for number in map(int, sys.argv[1:]):
    if worker := os.fork():
        assert os.waitpid(worker, 0)[1] == 0
        continue
    made = Metrics(lambda: Health(True, 0, number, 0))
    for _ in range(number):
        made.observe(receipt(), RequestCost(1, 2))
    while time.process_time() < 0.05:  # the metric has steps of a hundredth of a second
        pass
    made.tick()
    if number == int(sys.argv[-1]):
        print(made.render()[0].decode(), flush=True)
    os._exit(0)
"""


def test_several_workers_are_added_up() -> None:
    with module.shared_by_workers():
        directory = os.environ["PROMETHEUS_MULTIPROC_DIR"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}
        command = [sys.executable, "-c", WORKER, "2", "3"]
        worker = subprocess.run(  # noqa: S603 - the workers of this test, one after the other
            command, env=environment, check=True, capture_output=True, text=True, timeout=60
        )
        assert 'turnfold_requests_total{model="gpt-4o",status="folded"} 5.0' in worker.stdout
        assert 'turnfold_dollars_without_turnfold_total{model="gpt-4o"} 10.0' in worker.stdout
        assert "turnfold_overhead_seconds_count 5.0" in worker.stdout
        assert "turnfold_store_up 1.0" in worker.stdout
        assert "turnfold_workers 1.0" in worker.stdout
        assert float(worker.stdout.split("\nprocess_cpu_seconds_total ")[1].split()[0]) > 0
        assert "\nprocess_resident_memory_bytes " in worker.stdout
        assert "turnfold_receipts_queued 3.0" in worker.stdout  # the first worker is gone, and what waited in it with it
    assert not Path(directory).exists()
    assert "PROMETHEUS_MULTIPROC_DIR" not in os.environ


def test_metrics_cost_the_thousandth_request_no_more_than_the_first() -> None:
    def observe(times: int) -> None:
        made, one = Metrics(), receipt()
        for _ in range(times):
            made.observe(one, UNPRICED)

    assert_linear(observe, int, 100)


def test_the_held_out_share_is_a_share_and_stands() -> None:
    names = [f"conversation {number}" for number in range(4000)]
    chosen = {name for name in names if is_held_out(name, 0.1)}
    assert 0.08 < len(chosen) / len(names) < 0.12
    assert chosen <= {name for name in names if is_held_out(name, 0.2)}
    assert not any(is_held_out(name, 0.0) for name in names)


def test_one_tenants_inventions_take_no_others_labels() -> None:
    label = BoundedLabel(5, each=3)
    assert [label("greedy", f"m{i}", admit=True) for i in range(5)] == ["m0", "m1", "m2", "other", "other"]
    assert label("patient", "gpt-4o", admit=False) == "other"  # no upstream has answered for it
    assert label("patient", "gpt-4o", admit=True) == "gpt-4o"
    assert label("greedy", "gpt-4o", admit=False) == "gpt-4o"
    assert [label("third", name, admit=True) for name in ("", "y", "z")] == ["unknown", "y", "other"]


def test_labels_are_bounded() -> None:
    """Two hundred models, half of them one tenant's at most, and two hundred tags; names of a hundred visible characters."""
    made = Metrics()
    for tenant in ("anna", "bert", "carl"):
        for number in range(102):
            name = f"{tenant}-{number}"
            made.observe(receipt(tenant=tenant, model=name, tags=(name,)), UNPRICED)
    found = [name for name in lines(made) if name.startswith("turnfold_folds_total{")]
    assert Counter(name.split('"')[1].partition("-")[0] for name in found) == {"anna": 100, "bert": 100, "other": 1}
    tags = [name for name in lines(made) if name.startswith("turnfold_tag_requests_total{")]
    assert len(tags) == 201
    assert [value for name, value in lines(made).items() if name.startswith("turnfold_build_info{")] == [1]
    label = BoundedLabel(9, each=9)
    names = ["x" * 100, "x" * 101, "a\nb", "\u2028", "é"]
    assert [label("anna", name, admit=True) for name in names] == ["x" * 100, "other", "other", "other", "é"]
    assert (label("anna", "", admit=False), label("anna", "é", admit=False)) == ("unknown", "é")


def test_the_time_of_the_process_is_counted_from_its_start() -> None:
    made = Metrics()
    for _ in range(3):
        before = sum(os.times()[:2])
        told = lines(made)["process_cpu_seconds_total"]
        assert before - 0.02 <= told <= sum(os.times()[:2]) + 0.02

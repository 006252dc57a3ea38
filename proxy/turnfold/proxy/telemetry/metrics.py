"""Metrics for Prometheus.

The metrics, what a receipt adds to them, rendering, and what several workers need. Serving them is up to ``routes.admin``.

With several workers each writes its values into files of one directory, and whichever is scraped adds them up
(prometheus-client's multiprocess mode). The mode is switched on by a variable that must be set before the library is loaded, so
use `shared_by_workers` in the parent process, before the workers start.

Counters start at zero with each process, as Prometheus expects; the report covers the past. Tenants and conversations are not
labels, because their number is unbounded. A model is a label once an upstream has answered for it, and only the first two hundred
are: a client may ask for any name. Tags are labels up to a number for the process: beyond it they are ``(other)``.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from turnfold.proxy.books.rollups import RequestCost, is_served
from turnfold.proxy.cache_model.evidence import is_folded
from turnfold.proxy.chat.receipts import Receipt
from turnfold.proxy.learning.places import OTHER
from turnfold.proxy.telemetry.in_flight import InFlightCount
from turnfold.proxy.telemetry.labels import BoundedLabel
from turnfold.proxy.telemetry.process_metrics import ProcessMetrics
from turnfold.proxy.telemetry.shared_folder import shared_folder

M = TypeVar("M", Counter, Gauge)

_DIRECTORY: Final = "PROMETHEUS_MULTIPROC_DIR"
_KINDS: Final = ("prompt", "completion", "cached", "cache_write")
_MOST_TAGS: Final = 200
_LIVE_GAUGE: Final = re.compile(r"gauge_live\w*_(\d+)\.db")
_MOST_MODELS: Final = 200  # model names as labels, at most half of them for one tenant: each is a time series
# A small request takes less than 1 ms, a cold fold of 100,000 tokens about 100 ms; TURNFOLD_FOLD_TIMEOUT is 10 s.
_OVERHEAD: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
# A small model answers within 0.1 s; one that thinks may take minutes, and its stream ten minutes (SDKs wait 600 s).
_FIRST_BYTE: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
_DURATION: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)


@dataclass(frozen=True, slots=True)
class Health:
    """The health of those parts of this process that no receipt covers."""

    store_up: bool
    store_failures: int
    queued: int
    dropped: int
    tasks: int = 0
    incidents: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    vectors: Mapping[str, int] = field(default_factory=dict)


class Metrics:
    """A process's metrics.

    Args:
        health: called at every `tick`.
    """

    def __init__(self, health: Callable[[], Health] | None = None) -> None:
        self._health = health
        self._last = Health(store_up=True, store_failures=0, queued=0, dropped=0)
        self._registry = registry = CollectorRegistry()
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each, which Prometheus does not use
        self._model = BoundedLabel(_MOST_MODELS, each=_MOST_MODELS // 2)
        self._process = ProcessMetrics(registry)

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"turnfold_{name}", text, labels, registry=registry)

        self._requests = counter("requests", "Requests to a model, by status and model.", "status", "model")
        self._wires = counter("wire_requests", "Requests by their format: chat, responses or messages.", "wire")
        self._tokens_before = counter("tokens_before", "Tokens of served requests as received.", "model")
        self._tokens_sent = counter("tokens_sent", "Tokens of served requests as sent.", "model")
        self._tokens_saved = counter("tokens_saved", "Tokens saved: received but not sent.", "model")
        self._usage = counter("upstream_tokens", "Tokens as the upstream reported them.", "kind", "model")
        self._paid = counter("dollars_paid", "Dollars paid, for models of known price.", "model")
        self._without = counter("dollars_without_turnfold", "Estimated dollars without Turnfold.", "model")
        self._saved = Gauge(
            "turnfold_dollars_saved",
            "Dollars without Turnfold minus dollars paid.",
            ["model"],
            registry=registry,
            multiprocess_mode="sum",
        )
        self._unpriced = counter("unpriced_requests", "Served requests of unknown price or usage.", "model")
        self._own_calls = counter(
            "own_calls", "Turnfold's own calls whose answer no client saw; dollars_paid includes their cost.", "kind", "model"
        )
        self._tag_requests = counter("tag_requests", "Requests by tag; one with several tags counts under each.", "tag")
        self._tag_paid = counter("tag_dollars_paid", "Dollars paid, for models of known price, by tag.", "tag")
        self._tags: set[str] = set()
        self._series: dict[tuple[object, tuple[str, ...]], Any] = {}
        self._served: dict[str, tuple[Counter, ...]] = {}
        self._open: dict[str, InFlightCount] = {}
        self._folds = counter("folds", "Requests that were sent folded.", "model")
        self._recoveries = counter("recoveries", "Requests recovered from a context overflow.", "model")
        self._failed_open = counter("failed_open", "Requests sent unchanged because Turnfold failed.", "reason")
        self._upstream_errors = counter("upstream_errors", "Error responses of the upstream; none: no response.", "code")
        self._store_failures = counter("store_failures", "Calls of the store that failed.")
        self._dropped = counter("receipts_dropped", "Receipts that were not written.")
        self._incidents = counter("background_failures", "Failures of loops and tasks in the background.", "part")
        self._left_out = counter("damaged_records", "Stored records that were skipped.", "kind")
        self._vectors = counter("vector_failures", "Calls for sentence vectors that returned none, or not in time.", "reason")
        self._add_times(registry)
        self._add_gauges(registry)

    def _add_times(self, registry: CollectorRegistry) -> None:
        self._overhead = Histogram(
            "turnfold_overhead_seconds", "Turnfold overhead before a request is sent.", buckets=_OVERHEAD, registry=registry
        )
        self._first_byte = Histogram(
            "turnfold_first_byte_seconds", "From arrival to the first byte of the answer.", buckets=_FIRST_BYTE, registry=registry
        )
        self._duration = Histogram(
            "turnfold_request_duration_seconds",
            "From arrival to the last byte of the answer.",
            buckets=_DURATION,
            registry=registry,
        )

    def _add_gauges(self, registry: CollectorRegistry) -> None:
        self._in_flight = Gauge(
            "turnfold_requests_in_flight",
            "Requests being served now: to a model (model), or passed through.",
            ["kind"],
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._store_up = Gauge(
            "turnfold_store_up",
            "1 if the store is in use and accepts receipts (minimum over the workers).",
            registry=registry,
            multiprocess_mode="livemin",
        )
        self._queued = Gauge(
            "turnfold_receipts_queued", "Receipts waiting to be written.", registry=registry, multiprocess_mode="livesum"
        )
        self._tasks = Gauge(
            "turnfold_tasks",
            "Tasks of the event loop: a few, and some for each open request.",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._store_up.set(1)

    def _of(self, metric: M, *values: str) -> M:
        """The series with these labels, found quickly since a receipt updates a dozen."""
        found = self._series.get((metric, values))
        if found is None:
            found = self._series[metric, values] = metric.labels(*values)
        return cast(M, found)

    def _observe_own(self, receipt: Receipt, priced: RequestCost, model: str) -> None:
        for call in receipt.calls:
            self._of(self._own_calls, call.kind, model).inc()
        self._observe_money(priced, model)

    def observe(self, receipt: Receipt, priced: RequestCost) -> None:
        """Observe a receipt."""
        model = self._model(receipt.tenant, receipt.model, admit=receipt.status != "answered" and is_served(receipt))
        if receipt.status == "own":
            self._observe_own(receipt, priced, model)
            return
        self._of(self._requests, receipt.status, model).inc()
        self._of(self._wires, receipt.wire).inc()
        self._overhead.observe(receipt.overhead_ms / 1000)
        self._duration.observe(receipt.total_ms / 1000)
        for tag in dict.fromkeys(map(self._bounded_tag, receipt.tags)):
            self._of(self._tag_requests, tag).inc()
            self._of(self._tag_paid, tag).inc(priced.paid or 0.0)
        if receipt.status == "failed-open":
            self._of(self._failed_open, receipt.reason).inc()
        if receipt.status == "recovered":
            self._of(self._recoveries, model).inc()
        if receipt.calls or is_served(receipt):
            self._observe_own(receipt, priced, model)
        if receipt.status == "answered":
            return
        if not is_served(receipt):
            self._of(self._upstream_errors, str(receipt.upstream_status or "none")).inc()
            return
        if receipt.first_byte_ms is not None:
            self._first_byte.observe(receipt.first_byte_ms / 1000)
        self._observe_served(receipt, model)

    def _bounded_tag(self, tag: str) -> str:
        if tag not in self._tags and len(self._tags) >= _MOST_TAGS:
            return OTHER
        self._tags.add(tag)
        return tag

    def _observe_served(self, receipt: Receipt, model: str) -> None:
        sent = receipt.tokens_before if receipt.status == "observed" else receipt.tokens_after
        if is_folded(receipt):
            self._of(self._folds, model).inc(receipt.status != "shaped")
            self._of(self._tokens_saved, model).inc(receipt.tokens_before - sent)
        usage = receipt.usage
        reported = (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens, usage.cache_write_tokens)
        for series, number in zip(self._served_series(model), (receipt.tokens_before, sent, *reported), strict=True):
            if number and number > 0:
                series.inc(number)

    def _served_series(self, model: str) -> tuple[Counter, ...]:
        """The series that every served request of a model updates: tokens received, sent and reported, by kind."""
        found = self._served.get(model)
        if found is None:
            ours = (self._tokens_before.labels(model), self._tokens_sent.labels(model))
            found = self._served[model] = (*ours, *(self._usage.labels(kind, model) for kind in _KINDS))
        return found

    def _observe_money(self, priced: RequestCost, model: str) -> None:
        if priced.paid is None or priced.without is None:
            self._of(self._unpriced, model).inc()
        else:
            self._of(self._paid, model).inc(priced.paid)
            self._of(self._without, model).inc(priced.without)
            self._of(self._saved, model).inc(priced.without - priced.paid)

    def in_flight(self, kind: str) -> InFlightCount:
        """A counter for requests of a kind; `tick` exports its value."""
        return self._open.setdefault(kind, InFlightCount())

    def tick(self) -> None:
        """Update the gauges from this process's health."""
        self._process.tick()
        for kind, count in self._open.items():
            self._of(self._in_flight, kind).set(count.now)
        if self._health is None:
            return
        now, last = self._health(), self._last
        self._store_up.set(int(now.store_up))
        self._queued.set(now.queued)
        self._tasks.set(now.tasks)
        self._store_failures.inc(now.store_failures - last.store_failures)
        self._dropped.inc(now.dropped - last.dropped)
        counted = (
            (self._incidents, now.incidents, last.incidents),
            (self._left_out, now.left_out, last.left_out),
            (self._vectors, now.vectors, last.vectors),
        )
        for gauge, new, old in counted:
            for name, number in new.items():
                gauge.labels(name).inc(number - old.get(name, 0))
        self._last = now

    def render(self) -> tuple[bytes, str]:
        """The exposition of all workers, and its media type."""
        self.tick()
        registry = self._registry
        if _DIRECTORY in os.environ:
            _forget_the_dead(os.environ[_DIRECTORY])
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry), CONTENT_TYPE_LATEST


@contextlib.contextmanager
def shared_by_workers() -> Iterator[None]:
    """Provide the directory that the workers share, for their lifetime; used in the parent process."""
    with shared_folder("turnfold-metrics-") as directory:
        os.environ[_DIRECTORY] = directory
        try:
            yield
        finally:
            del os.environ[_DIRECTORY]


def _forget_the_dead(directory: str) -> None:
    """Remove the gauges of ended workers from the sums; their counters stay."""
    pids = {int(match[1]) for name in os.listdir(directory) if (match := _LIVE_GAUGE.fullmatch(name))}
    for pid in pids:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            mark_process_dead(pid)  # type: ignore[no-untyped-call]
        except PermissionError:
            continue

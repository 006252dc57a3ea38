"""Traces and receipts as a collector gets them.

These tests cover a small OTLP receiver, and what arrives there. They leave out the SDK itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.proxy.harness import NO_LOGGING, UpstreamServer, api_server, call, reply, running
from tests.proxy.processes import COMPLETION
from tests.proxy.receipts import NOON, receipt
from tests.support import golden
from tests.support.cases import each
from turnfold.config.serving import OtelSettings
from turnfold.proxy.chat.exchange import Moments
from turnfold.proxy.chat.receipts import Receipt
from turnfold.proxy.otel.parents import parent_in, with_parent
from turnfold.proxy.otel.spans import Traces

FILES = Path(__file__).parent / "golden"
SECRET = "the vault opens with 7731"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
BODY = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": SECRET}]}).encode()


@dataclass
class Received:
    """What came to the collector, once Turnfold has ended, and to the upstream."""

    spans: list[Any] = field(default_factory=list)
    records: list[Any] = field(default_factory=list)
    raw: bytes = b""
    parents: list[str | None] = field(default_factory=list)
    service: str = ""


def received(propagate: bool, *headers: tuple[str, str], status: int = 200) -> Received:
    collector, upstream = UpstreamServer(), UpstreamServer()
    upstream.handler = reply(COMPLETION, status=status)
    found = Received()
    with (
        running(uvicorn.Config(collector, **NO_LOGGING)) as to,
        running(uvicorn.Config(upstream, **NO_LOGGING)) as model,
    ):
        otel = OtelSettings(endpoint=to.origin, propagate=propagate)
        with api_server("memory://", f"{model.origin}/v1", otel=otel) as origin:
            call(origin, "POST", "/v1/chat/completions", BODY, [("authorization", "Bearer sk-very-secret"), *headers])
    for seen in collector.seen:
        found.raw += seen.body
        if seen.target == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(seen.body).resource_spans:
                found.service = values(resource.resource)["service.name"]
                found.spans += [span for scope in resource.scope_spans for span in scope.spans]
        elif seen.target == "/v1/logs":
            for logs in ExportLogsServiceRequest.FromString(seen.body).resource_logs:
                found.records += [record for scope in logs.scope_logs for record in scope.log_records]
    found.parents = [seen.header("traceparent") for seen in upstream.seen]
    return found


def values(of: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in of.attributes}


@pytest.fixture(scope="module")
def traced() -> Received:
    return received(False, ("traceparent", PARENT))


def test_a_span_for_each_station_under_the_clients_own(traced: Received) -> None:
    by_name = {span.name: span for span in traced.spans}
    root, call_ = by_name["POST /v1/chat/completions"], by_name["chat gpt-4o"]
    assert set(by_name) == {root.name, "read", "fold", call_.name, "stream"}
    assert {span.trace_id.hex() for span in traced.spans} == {TRACE}
    assert root.parent_span_id.hex() == "00f067aa0ba902b7"
    assert {by_name[name].parent_span_id for name in ("read", "fold", "chat gpt-4o")} == {root.span_id}
    assert by_name["stream"].parent_span_id == call_.span_id
    ends = [by_name[name].end_time_unix_nano for name in ("read", "fold")]
    starts = [by_name[name].start_time_unix_nano for name in ("fold", "chat gpt-4o")]
    assert ends == starts
    assert by_name["stream"].end_time_unix_nano == call_.end_time_unix_nano == root.end_time_unix_nano
    assert root.start_time_unix_nano == by_name["read"].start_time_unix_nano
    assert all(span.start_time_unix_nano < span.end_time_unix_nano for span in traced.spans)
    assert traced.service == "turnfold"


def test_the_call_is_told_by_the_conventions(traced: Received) -> None:
    (span,) = [span for span in traced.spans if span.name == "chat gpt-4o"]
    found = values(span)
    assert {name: found[name] for name in found if name.startswith("gen_ai") and "conversation" not in name} == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.usage.input_tokens": 1000,
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.usage.cache_read.input_tokens": 0,
    }
    assert (found["server.address"], found["http.response.status_code"]) == ("127.0.0.1", 200)


def test_the_receipt_is_a_log_record_of_the_trace(traced: Received) -> None:
    (record,) = traced.records
    assert (record.event_name, record.trace_id.hex()) == ("turnfold.receipt", TRACE)
    found = values(record)
    assert (found["turnfold.status"], found["turnfold.tokens.before"] > 0) == ("passthrough", True)


def test_no_text_and_no_credential_goes_to_the_collector(traced: Received) -> None:
    assert traced.raw
    assert SECRET.encode() not in traced.raw
    assert b"sk-very-secret" not in traced.raw


def test_headers_go_upstream_as_they_came_unless_set(traced: Received) -> None:
    assert traced.parents == [PARENT]
    passed = received(True, ("traceparent", PARENT))
    (span,) = [span for span in passed.spans if span.name == "chat gpt-4o"]
    assert passed.parents == [f"00-{TRACE}-{span.span_id.hex()}-01"]


def test_an_unsampled_trace_is_not_recorded_and_a_failure_is_marked() -> None:
    assert received(False, ("traceparent", PARENT[:-1] + "0")).spans == []
    failed = received(True, status=500)
    states = {span.name: span.status.code for span in failed.spans}
    assert states["chat gpt-4o"] == states["POST /v1/chat/completions"] == 2
    assert failed.parents[0] is not None
    assert failed.parents[0][3:35] == failed.spans[0].trace_id.hex()


WRONG = [b"", b"junk", PARENT.encode().upper(), b"ff" + PARENT.encode()[2:], PARENT.encode() + b"-x", PARENT.encode()[:-3]]
WRONG += [b"00-" + b"0" * 32 + b"-00f067aa0ba902b7-01", b"00-" + TRACE.encode() + b"-" + b"0" * 16 + b"-01"]


@each("header", WRONG)
def test_a_malformed_parent_is_none(header: bytes) -> None:
    parent = parent_in([(b"traceparent", header)])
    assert parent.span is None
    assert parent.trace
    ((_, value),) = with_parent([(b"traceparent", header)], parent)
    assert parent_in([(b"traceparent", value)]).span == parent.upstream


def test_traces_and_calls_have_ids_of_their_own() -> None:
    begun = [parent_in([]) for _ in range(20)]
    assert len({parent.trace for parent in begun}) == len({parent.upstream for parent in begun}) == 20
    assert max(parent.trace for parent in begun).bit_length() > 64


def test_a_later_version_is_read() -> None:
    assert parent_in([(b"traceparent", b"01" + PARENT.encode()[2:] + b"-more")]).span is not None


def test_nothing_is_loaded_while_it_is_off() -> None:
    # redis-py imports the SDK's metrics by itself wherever the SDK is installed; without the extra there is none of it.
    code = (
        "import sys\nfrom turnfold.config.settings import Settings, StoreSettings\nfrom turnfold.proxy.app import build\n"
        "build(Settings(store=StoreSettings(url='memory://')))\n"
        "sys.exit(any(name.startswith(('opentelemetry.exporter', 'turnfold.proxy.otel.spans')) for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0  # noqa: S603 - ours


def written(*requests: tuple[Receipt, Moments, tuple[tuple[bytes, bytes], ...]]) -> list[str]:
    """Every span and record of these requests, field by field, as they come to a collector."""
    collector, lines = UpstreamServer(), list[str]()
    with running(uvicorn.Config(collector, **NO_LOGGING)) as to:
        traces = Traces(OtelSettings(endpoint=f"{to.origin}/"))
        traces.start()
        for made, moments, headers in requests:
            traces.join(headers, ())[0].finish(made, moments)
        traces.stop()
    sent = [ExportTraceServiceRequest.FromString(seen.body) for seen in collector.seen if seen.target == "/v1/traces"]
    groups = [group for one in sent for group in one.resource_spans]
    spans = [span for group in groups for scope in group.scope_spans for span in scope.spans]
    logs = [ExportLogsServiceRequest.FromString(seen.body) for seen in collector.seen if seen.target == "/v1/logs"]
    scopes = {scope.scope.name for group in groups for scope in group.scope_spans}
    scopes |= {scope.scope.name for one in logs for group in one.resource_logs for scope in group.scope_logs}
    lines += [f"{values(groups[0].resource)['service.name']} {scopes}"]
    names: dict[bytes, str] = {b"": "nobody", bytes.fromhex("00f067aa0ba902b7"): "the client"}
    names |= {span.span_id: span.name for span in spans}
    for span in sorted(spans, key=lambda one: one.end_time_unix_nano):
        place = f"{names[span.parent_span_id]} {'theirs' if span.trace_id.hex() == TRACE else 'own'}"
        times = f"{span.start_time_unix_nano} {span.end_time_unix_nano}"
        lines.append(f"{span.name}: kind {span.kind} in {place} {times} status {span.status.code} {shown(span)}")
    for record in (
        record for one in logs for group in one.resource_logs for scope in group.scope_logs for record in scope.log_records
    ):
        place = f"{names[record.span_id]} {record.time_unix_nano}"
        lines.append(f"{record.event_name} {record.severity_text} {record.severity_number} in {place} {shown(record)}")
    return lines


def shown(of: Any) -> str:
    return json.dumps(values(of), sort_keys=True)


def test_every_field_of_spans_and_records() -> None:
    """Requests that were answered, refused, cut short, never sent, and never answered, in each format and to several hosts."""
    whole = Moments(10.0, 10.5, 11.25, 12.5, 14.0)
    unsent, unanswered = Moments(1.0, 1.5, None, None, 2.0), Moments(1.0, 1.5, 1.75, None, 30.0)
    kept = (b"traceparent", PARENT.encode())
    cases = (
        (receipt(at=NOON, wire="chat", upstream="https://api.openai.com", state="applied", usage=(9, 8, 7, 6)), whole, (kept,)),
        (receipt(at=NOON + 100, wire="messages", upstream="http://10.0.0.1", upstream_status=400, model=""), whole, ()),
        (
            receipt(at=NOON + 200, wire="responses", upstream="https://api.anthropic.com:8443", upstream_status=399),
            whole,
            (kept,),
        ),
        (receipt(at=NOON + 300, wire="chat", complete=False, reason="slow", first_byte_ms=None), unanswered, (kept,)),
        (receipt(at=NOON + 400, wire="", upstream_status=None, usage=(None, None, None, None)), unanswered, (kept,)),
        (receipt(at=NOON + 500, wire="odd", status="answered", upstream_status=None, conversation=None), unsent, (kept,)),
        (receipt(at=NOON + 600, wire="chat", upstream="ws://h", upstream_status=500, complete=False), unsent, (kept,)),
    )
    golden.agrees(FILES / "spans.txt", written(*cases))


@pytest.mark.parametrize(("slow", "waits"), [(0.5, [3.0, 2.5]), (2.0, [3.0, 1.0]), (4.0, [3.0, 0.0])])
def test_a_collector_that_is_down_holds_up_a_stop_for_three_seconds(
    monkeypatch: pytest.MonkeyPatch, slow: float, waits: list[float]
) -> None:
    told, clock = list[float](), [100.0]

    class Hanging:
        """A thread that takes longer than it is waited for."""

        def __init__(self, target: Any, name: str, daemon: bool) -> None:
            assert daemon, "or the process would wait for it after all"
            self._end = target
            del name

        def start(self) -> None:
            self._end()

        def join(self, timeout: float) -> None:
            told.append(timeout)
            clock[0] += slow

    traces = Traces(OtelSettings(endpoint="http://127.0.0.1:9"))
    traces.start()
    monkeypatch.setattr("turnfold.proxy.otel.spans.threading.Thread", Hanging)
    monkeypatch.setattr("turnfold.proxy.otel.spans.time.monotonic", lambda: clock[0])
    traces.stop()
    assert told == waits

"""Spans and log records by OpenTelemetry's SDK, over OTLP/HTTP.

A request's spans, by the semantic conventions for generative AI, and its receipt as a log record; never the text of messages. No
other module imports OpenTelemetry, and this one is loaded only where tracing is on.

All spans of a request are made when it has ended, from the times that its stations left behind, so nothing is added to the way of
a request:

    POST /v1/chat/completions   server   arrival to the last byte
      read                               until the body was whole
      fold                               until the request went out: reading, state, fold
      chat gpt-4o               client   the upstream's answer, by the conventions
        stream                           from its first byte to its last

The SDK's own variables (``OTEL_SERVICE_NAME``, ``OTEL_RESOURCE_ATTRIBUTES``, ``OTEL_EXPORTER_OTLP_HEADERS``,
``OTEL_TRACES_SAMPLER``) hold.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from turnfold.config.serving import OtelSettings
from turnfold.proxy.chat.exchange import Moments
from turnfold.proxy.chat.receipts import Receipt
from turnfold.proxy.otel.parents import Parent, parent_in, with_parent

Value = str | int | float | bool

_SCOPE: Final = "turnfold"
_SECOND: Final = 1e9
_FAREWELL: Final = 3.0  # seconds that a collector gets to take what is left; the SDK would try for ten, for each of the two
#: What the conventions call the operations of our formats.
_OPERATIONS: Final = {"chat": "chat", "responses": "chat", "messages": "chat"}
_PROVIDERS: Final = {"api.openai.com": "openai", "api.anthropic.com": "anthropic"}
_PATHS: Final = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}


class _KnownIds(RandomIdGenerator):
    """Random ids, but where the next is known before: what went upstream named its span already."""

    def __init__(self) -> None:
        self.next_trace = 0
        self.next_span = 0

    def generate_trace_id(self) -> int:
        known, self.next_trace = self.next_trace, 0
        return known or super().generate_trace_id()

    def generate_span_id(self) -> int:
        known, self.next_span = self.next_span, 0
        return known or super().generate_span_id()


@dataclass(frozen=True, slots=True)
class TracedRequest:
    """One request's place in its trace, until it ends."""

    traces: Traces
    parent: Parent

    def finish(self, receipt: Receipt, moments: Moments) -> None:
        """End the request's trace."""
        self.traces.write(self.parent, receipt, moments)


class Traces:
    """Traces of one process; `start` and `stop` around its requests."""

    def __init__(self, settings: OtelSettings) -> None:
        self._settings = settings
        self._ids = _KnownIds()

    def start(self) -> None:
        """Open the way to the collector."""
        endpoint = (self._settings.endpoint or "").rstrip("/")
        resource = Resource.create({"service.version": version("turnfold")})  # merged with the environment's variables
        if str(resource.attributes["service.name"]).startswith("unknown_service"):
            resource = resource.merge(Resource({"service.name": _SCOPE}))
        self._spans = TracerProvider(resource=resource, id_generator=self._ids, shutdown_on_exit=False)
        self._spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces")))
        self._records = LoggerProvider(resource=resource, shutdown_on_exit=False)
        self._records.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(endpoint=f"{endpoint}/v1/logs")))
        self._tracer = self._spans.get_tracer(_SCOPE, version("turnfold"))
        self._logger = self._records.get_logger(_SCOPE, version("turnfold"))

    def stop(self) -> None:
        """Send what is queued, and close. Blocks, but not for long: a collector that is down must hold up no stop."""
        ends = (self._spans.shutdown, self._records.shutdown)
        threads = [threading.Thread(target=end, name="turnfold-otel-stop", daemon=True) for end in ends]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + _FAREWELL
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def join(
        self, came: Sequence[tuple[bytes, bytes]], goes: Sequence[tuple[bytes, bytes]]
    ) -> tuple[TracedRequest, Sequence[tuple[bytes, bytes]]]:
        """A request's place, and the headers that go upstream; they are as they were unless the setting says otherwise."""
        parent = parent_in(came)
        return TracedRequest(self, parent), with_parent(goes, parent) if self._settings.propagate else goes

    def write(self, parent: Parent, receipt: Receipt, moments: Moments) -> None:
        """The spans of a request, and its receipt."""
        begin = receipt.at - moments.started  # from the monotonic clock to Unix time

        def nanoseconds(moment: float) -> int:
            return int((begin + moment) * _SECOND)

        def span(name: str, start: float, end: float, within: Context, kind: SpanKind = SpanKind.INTERNAL) -> Span:
            found = self._tracer.start_span(name, within, kind, start_time=nanoseconds(start))
            found.end(nanoseconds(end)) if kind is SpanKind.INTERNAL else None
            return found

        root = span(f"POST {_PATHS.get(receipt.wire, '')}", moments.started, 0, self._context(parent), SpanKind.SERVER)
        inside = trace.set_span_in_context(root)
        span("read", moments.started, moments.received, inside)
        span("fold", moments.received, moments.departed or moments.ended, inside)
        if moments.departed is not None:
            self._ids.next_span = parent.upstream
            call = span(_call_name(receipt), moments.departed, 0, inside, SpanKind.CLIENT)
            call.set_attributes(_call_attributes(receipt))
            _set_failure(call, receipt)
            if moments.first_byte is not None:
                span("stream", moments.first_byte, moments.ended, trace.set_span_in_context(call))
            call.end(nanoseconds(moments.ended))
        root.set_attributes(_own_attributes(receipt))
        _set_failure(root, receipt)
        root.end(nanoseconds(moments.ended))
        self._log(receipt, root.get_span_context(), nanoseconds(moments.ended))

    def _context(self, parent: Parent) -> Context:
        if parent.span is None:
            self._ids.next_trace = parent.trace
            return Context()
        place = SpanContext(parent.trace, parent.span, is_remote=True, trace_flags=TraceFlags(parent.flags))
        return trace.set_span_in_context(NonRecordingSpan(place), Context())

    def _log(self, receipt: Receipt, place: SpanContext, at: int) -> None:
        self._logger.emit(
            LogRecord(
                timestamp=at,
                context=trace.set_span_in_context(NonRecordingSpan(place), Context()),
                severity_number=SeverityNumber.INFO,
                severity_text="INFO",
                attributes={**_call_attributes(receipt), **_own_attributes(receipt)},
                event_name="turnfold.receipt",
            )
        )


def _call_name(receipt: Receipt) -> str:
    return f"{_OPERATIONS.get(receipt.wire, 'chat')} {receipt.model}".strip()


def _call_attributes(receipt: Receipt) -> dict[str, Value]:
    """By the semantic conventions for generative AI."""
    parts = urlsplit(receipt.upstream)
    usage = receipt.usage
    found: dict[str, Value | None] = {
        "gen_ai.operation.name": _OPERATIONS.get(receipt.wire, "chat"),
        "gen_ai.provider.name": _PROVIDERS.get(parts.hostname or "", "anthropic" if receipt.wire == "messages" else "openai"),
        "gen_ai.request.model": receipt.model or None,
        "gen_ai.conversation.id": receipt.conversation,
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        "server.address": parts.hostname,
        "server.port": parts.port or {"http": 80, "https": 443}.get(parts.scheme),
        "http.response.status_code": receipt.upstream_status,
    }
    return {name: value for name, value in found.items() if value is not None}


def _own_attributes(receipt: Receipt) -> dict[str, Value]:
    """What only Turnfold knows of a request: ids, sizes, times, slugs."""
    found: dict[str, Value | None] = {
        "turnfold.request_id": receipt.request_id,
        "turnfold.tenant": receipt.tenant,
        "turnfold.wire": receipt.wire,
        "turnfold.status": receipt.status,
        "turnfold.reason": receipt.reason or None,
        "turnfold.state": receipt.state or None,
        "turnfold.tokens.before": receipt.tokens_before,
        "turnfold.tokens.after": receipt.tokens_after,
        "turnfold.overhead_ms": receipt.overhead_ms,
        "turnfold.first_byte_ms": receipt.first_byte_ms,
        "turnfold.total_ms": receipt.total_ms,
        "turnfold.streamed": receipt.streamed,
        "turnfold.complete": receipt.complete,
    }
    return {name: value for name, value in found.items() if value is not None}


def _set_failure(span: Span, receipt: Receipt) -> None:
    status = receipt.upstream_status
    failed = status is None or status >= 400 if receipt.status != "answered" else False
    if failed or not receipt.complete:
        span.set_attribute("error.type", str(status) if failed and status else "incomplete" if status else "no_answer")
        span.set_status(Status(StatusCode.ERROR))

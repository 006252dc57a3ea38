"""Turnfold's headers on a response, and the receipt of an exchange.

Both follow from an exchange and what was seen of its response. Sums over receipts are in ``books``.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from turnfold.proxy.chat.exchange import Exchange, Watch
from turnfold.proxy.chat.labels import may_name_a_session, session_of
from turnfold.proxy.chat.receipts import Receipt, Usage
from turnfold.proxy.chat.usage import COST_HEADER, cost_in_header
from turnfold.proxy.http.headers import first_of, returned_headers
from turnfold.proxy.http.refusals import RawHeaders
from turnfold.proxy.outbound.relay import RelayableAnswer

_OURS: Final = frozenset(
    b"x-turnfold-" + name
    for name in (b"status", b"reason", b"tokens-before", b"tokens-after", b"overhead-ms", b"state", b"recall", b"request-id")
)
_NOT_A_SLUG: Final = re.compile(r"[^\w.-]+", re.ASCII)


def response_headers(exchange: Exchange, answer: RelayableAnswer) -> RawHeaders:
    """The response's own headers, then Turnfold's."""
    headers = [pair for pair in returned_headers(answer.headers, answer.status) if pair[0].lower() not in _OURS]
    headers += _our_headers(exchange)
    if is_event_stream(answer) and first_of(answer.headers, b"x-accel-buffering") is None:
        headers.append((b"x-accel-buffering", b"no"))  # otherwise nginx in front of Turnfold buffers the stream
    return headers


def _our_headers(exchange: Exchange) -> RawHeaders:
    headers = [(b"x-turnfold-status", exchange.status.encode())]
    if exchange.reason:
        headers.append((b"x-turnfold-reason", _NOT_A_SLUG.sub("-", exchange.reason).encode()))
    if exchange.tokens is not None:
        headers.append((b"x-turnfold-tokens-before", b"%d" % exchange.tokens[0]))
        headers.append((b"x-turnfold-tokens-after", b"%d" % exchange.tokens[1]))
    if exchange.verdict:
        headers.append((b"x-turnfold-state", exchange.verdict.encode()))
    if exchange.recall:
        headers.append((b"x-turnfold-recall", exchange.recall.encode()))
    headers.append((b"x-turnfold-overhead-ms", b"%.2f" % _overhead_ms(exchange)))
    headers.append((b"x-turnfold-request-id", exchange.request.id.encode()))
    return headers


def is_event_stream(answer: RelayableAnswer) -> bool:
    """Whether the answer is a stream of server-sent events."""
    return (first_of(answer.headers, b"content-type") or b"").lower().startswith(b"text/event-stream")


def _overhead_ms(exchange: Exchange) -> float:
    return 0.0 if exchange.departed is None else (exchange.departed - exchange.request.received) * 1000


def _decoded(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    return [(key.decode("latin-1"), value.decode("utf-8", "replace")) for key, value in headers]


def _session(exchange: Exchange) -> str:
    headers, conversation = exchange.request.headers, exchange.conversation
    return session_of(_decoded(headers), conversation) if may_name_a_session(headers, conversation) else ""


def receipt_of(exchange: Exchange, watch: Watch, ended: float) -> Receipt:
    """The receipt.

    Args:
        ended: the monotonic clock when the response had ended.
    """
    request = exchange.request
    before, after = exchange.tokens or (0, 0)
    return Receipt(
        request_id=request.id,
        at=request.at,
        tenant=request.tenant,
        model=exchange.model or watch.reader.model,
        conversation=exchange.name or request.label,
        status=exchange.status,
        reason=exchange.reason,
        tokens_before=before,
        tokens_after=after,
        usage=_usage(exchange, watch),
        upstream_status=exchange.upstream_status,
        overhead_ms=_overhead_ms(exchange),
        first_byte_ms=None if watch.first_byte is None else (watch.first_byte - request.started) * 1000,
        total_ms=(ended - request.started) * 1000,
        streamed=exchange.answer is not None and is_event_stream(exchange.answer),
        complete=watch.complete,
        state=exchange.verdict,
        calls=exchange.calls,
        wire=request.wire.name,
        session=_session(exchange),
        upstream=request.to.origin,
        loop=exchange.loop,
        folds_at=exchange.outlook.at if exchange.outlook else None,
        foldable=exchange.outlook.foldable if exchange.outlook else None,
        trails=exchange.trails,
        tags=request.tags,
        recall=exchange.recall,
        schema=_fingerprint(exchange.conversation.schema) if exchange.conversation else "",
        hosted=watch.reader.has_hosted_calls,
        served=watch.reader.model,
        refused=watch.reader.is_refused and 200 <= (exchange.upstream_status or 0) < 300,
    )


def _usage(exchange: Exchange, watch: Watch) -> Usage:
    """What the answer reports; else its head says what a gateway charges for it."""
    if exchange.upstream_status is None:
        return Usage()
    usage, answer = watch.reader.usage, exchange.answer
    if usage.cost is not None or answer is None or is_event_stream(answer):
        return usage
    return replace(usage, cost=cost_in_header(first_of(answer.headers, COST_HEADER)))


def _fingerprint(schema: str) -> str:
    """A fingerprint that tells whether the next request has the same."""
    return f"{zlib.crc32(schema.encode('utf-8', 'surrogatepass')):08x}" if schema else ""

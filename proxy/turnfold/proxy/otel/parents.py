"""Whose trace a request belongs to (W3C Trace Context).

This module reads and writes ``traceparent`` without any library of OpenTelemetry's. Spans are in ``spans``.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from turnfold.proxy.http.headers import first, without

_NAME: Final = b"traceparent"
#: Version 00, or a later one with more behind it; ff is none.
_PARENT: Final = re.compile(rb"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_SAMPLED: Final = 1


@dataclass(frozen=True, slots=True)
class Parent:
    """A request's place in a trace.

    Attributes:
        trace: id of the trace, the client's or a new one.
        span: id of the client's span; None where it sent none.
        flags: the client's; a new trace is sampled.
        upstream: id of the span of the call upstream, known before it is sent.
    """

    trace: int
    span: int | None
    flags: int
    upstream: int


def parent_in(headers: Sequence[tuple[bytes, bytes]]) -> Parent:
    """The place that a client's headers (names in lower case) say; a header that is malformed counts as absent."""
    match = _PARENT.fullmatch(first(headers, _NAME) or b"")
    upstream = _new_id(8)
    if match is None or (match[1] == b"00" and match[5]):
        return Parent(_new_id(16), None, _SAMPLED, upstream)
    return Parent(int(match[2], 16), int(match[3], 16), int(match[4], 16), upstream)


def with_parent(headers: Sequence[tuple[bytes, bytes]], parent: Parent) -> list[tuple[bytes, bytes]]:
    """The headers with the call upstream as the parent of whatever comes behind."""
    value = b"00-%032x-%016x-%02x" % (parent.trace, parent.upstream, parent.flags & _SAMPLED)
    return [*without(headers, _NAME), (_NAME, value)]


def _new_id(size: int) -> int:
    return int.from_bytes(secrets.token_bytes(size)) or 1

"""Limits on what a client may send.

Lives here: maximum sizes of the head and of the body, coded or not. Does not belong here: nesting depth. The parser rejects
nesting deeper than 1,024 (orjson's own limit), and a body that does not parse is forwarded unchanged rather than refused.
"""

from __future__ import annotations

from turnfold.config.settings import LimitSettings
from turnfold.proxy.http import codings
from turnfold.proxy.http.headers import first
from turnfold.proxy.http.inbound import Inbound
from turnfold.proxy.http.refusals import RawHeaders, Refused


def check_head(headers: RawHeaders, limits: LimitSettings) -> None:
    """Refuse a head that is larger than the limit.

    Raises:
        Refused: 431.
    """
    if sum(len(key) + len(value) for key, value in headers) > limits.max_header_bytes:
        message = f"The request's headers are larger than {limits.max_header_bytes} bytes (limits.max_header_bytes)."
        raise Refused(431, "headers_too_large", message)


def _too_large(limits: LimitSettings) -> Refused:
    message = f"The request body is larger than {limits.max_body_bytes} bytes (limits.max_body_bytes)."
    return Refused(413, "body_too_large", message)


async def read_body(inbound: Inbound, limits: LimitSettings) -> bytes:
    """The whole body as received.

    Raises:
        Refused: 413.
        ClientGone: the client disconnected.
    """
    declared = first(inbound.headers, b"content-length")
    if declared is not None and declared.isdigit() and int(declared[:20]) > limits.max_body_bytes:
        raise _too_large(limits)
    chunks: list[bytes] = []
    size = 0
    async for chunk in inbound.chunks():
        size += len(chunk)
        if size > limits.max_body_bytes:
            raise _too_large(limits)
        chunks.append(chunk)
    return b"".join(chunks)


def plain_body(body: bytes, coding: str, limits: LimitSettings) -> bytes | None:
    """The decoded body; None if it cannot be decoded.

    Raises:
        Refused: 413, the decoded body is larger than the limit.
    """
    if coding in ("", "identity"):
        return body
    if not codings.is_readable(coding):
        return None
    try:
        return codings.inflate(body, coding, limits.max_body_bytes)
    except codings.CodedBodyBroken:
        return None
    except codings.CodedBodyTooLarge as exc:
        raise _too_large(limits) from exc

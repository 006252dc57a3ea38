"""Limits on what a client may send.

Maximum sizes of the head and of bodies, each and together, coded or not; which hosts and paths are refused. Nesting depth is not
limited here: the parser rejects nesting deeper than 1,024 (orjson's own limit), and a body that does not parse is forwarded
unchanged rather than refused.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from turnfold.config.serving import LimitSettings
from turnfold.proxy.http import codings
from turnfold.proxy.http.headers import first
from turnfold.proxy.http.inbound import Inbound, joined
from turnfold.proxy.http.refusals import RawHeaders, Refused
from turnfold.proxy.http.shapes import has_dot_segments


def check_head(headers: RawHeaders, limits: LimitSettings) -> None:
    """Refuse a head that is larger than the limit.

    Raises:
        Refused: 431.
    """
    if sum([len(key) + len(value) for key, value in headers]) > limits.max_header_bytes:
        message = f"The request's headers are larger than {limits.max_header_bytes} bytes (TURNFOLD_MAX_HEADER_BYTES)."
        raise Refused(431, "headers_too_large", message)


def check_host(headers: RawHeaders, http_version: str) -> None:
    """Refuse a head with several ``Host`` lines, or with none in HTTP/1.1 (RFC 9112 section 3.2): a server in front may have gone
    by another one than we do.

    Raises:
        Refused: 400.
    """
    hosts = [key for key, _ in headers].count(b"host")
    if hosts > 1 or (not hosts and http_version == "1.1"):
        found = "several Host headers" if hosts else "no Host header"
        raise Refused(400, "invalid_header", f"The request has {found}; HTTP/1.1 asks for exactly one.", "host")


def check_path(path: str) -> None:
    """Refuse a path that a server on the way may take for another one, and ``*``, which is not a path: after an upstream's
    address it would become part of the host.

    Raises:
        Refused: 400.
    """
    if not path.startswith("/"):
        raise Refused(400, "invalid_path", "The path does not begin with a slash.")
    if has_dot_segments(path):
        raise Refused(400, "invalid_path", "The path has dot segments in it.")


class UnfinishedBodies:
    """The bytes of all bodies that are still being received, bounded together; a tenant has half of that at most.

    Args:
        most: how many bytes.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: Counter[str] = Counter()

    @property
    def held(self) -> int:
        """Bytes counted now."""
        return self._held.total()

    def add(self, tenant: str, size: int) -> None:
        """Count more bytes.

        Raises:
            Refused: 503, there is no room.
        """
        if self.held + size > self._most or (self._held[tenant] and self._held[tenant] + size > self._most // 2):
            message = "Too many request bodies are being received at the same time (TURNFOLD_MAX_UNFINISHED_BYTES); try again."
            raise Refused(503, "too_many_bodies", message, headers=((b"retry-after", b"1"),))
        self._held[tenant] += size

    def drop(self, tenant: str, size: int) -> None:
        """Count fewer bytes: a body is complete or was abandoned."""
        self._held[tenant] -= size
        if self._held[tenant] <= 0:
            del self._held[tenant]


def _too_large(limits: LimitSettings) -> Refused:
    message = f"The request body is larger than {limits.max_body_bytes} bytes (TURNFOLD_MAX_BODY_BYTES)."
    return Refused(413, "body_too_large", message)


async def read_body(inbound: Inbound, limits: LimitSettings, unfinished: UnfinishedBodies, tenant: str) -> bytes:
    """The whole body as received.

    Raises:
        Refused: 413, or 503 while too many bodies are being received.
        ClientGone: the client disconnected.
        ClientStalled: it sent nothing more.
    """
    declared = first(inbound.headers, b"content-length")
    if declared is not None and declared.isdigit() and int(declared[:20]) > limits.max_body_bytes:
        raise _too_large(limits)
    chunks: list[bytes] = []
    size = 0
    try:
        while (chunk := await inbound.next_chunk()) is not None:
            if size + len(chunk) > limits.max_body_bytes:
                raise _too_large(limits)
            unfinished.add(tenant, len(chunk))
            size += len(chunk)
            chunks.append(chunk)
    finally:
        unfinished.drop(tenant, size)
    return await joined(chunks, size)


async def own_body(inbound: Inbound, most: int) -> bytes:
    """The whole body, decoded, of a request to one of Turnfold's own routes.

    Raises:
        Refused: 413, it is larger than `most` bytes, or 415, it cannot be decoded.
    """
    body = await inbound.body(most)
    if body is None:
        raise _larger_than(most)
    coding = (first(inbound.headers, b"content-encoding") or b"").strip().lower().decode("latin-1")
    if coding in ("", "identity"):
        return body
    if not codings.is_readable(coding):
        raise _undecodable()
    try:  # in a thread: it may unpack to a thousand times its size
        return await asyncio.to_thread(codings.inflate, body, coding, most)
    except codings.CodedBodyBroken as exc:
        raise _undecodable() from exc
    except codings.CodedBodyTooLarge as exc:
        raise _larger_than(most) from exc


def _larger_than(most: int) -> Refused:
    return Refused(413, "body_too_large", f"The body is larger than {most} bytes.")


def _undecodable() -> Refused:
    return Refused(415, "unsupported_encoding", "The body's content-encoding cannot be decoded.", "content-encoding")


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

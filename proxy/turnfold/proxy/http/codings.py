"""Content codings: decoding a body within a size limit.

Lives here: gzip and deflate, piece by piece. Does not belong here: encoding (bytes pass the proxy unchanged), other codings (no
dependency decodes br or zstd, so such a body is relayed but not read).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

_PIECE: Final = 65536
_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP: Final = frozenset(("gzip", "x-gzip"))


class CodedBodyTooLarge(Exception):
    """The decoded body is larger than the limit."""


class CodedBodyBroken(Exception):
    """The bytes do not match their coding, or they end early."""


def is_readable(coding: str) -> bool:
    """Whether `Inflater` can decode this coding."""
    return coding in _GZIP or coding == "deflate"


class Inflater:
    """Decodes one body's gzip (RFC 1952, also several members) or deflate (RFC 1950, or bare RFC 1951 as some clients send it).

    Args:
        coding: one that is `is_readable`.
        limit: maximum size of the decoded body in bytes.
    """

    def __init__(self, coding: str, limit: int) -> None:
        self._gzip = coding in _GZIP
        self._left = limit
        self._held = b""
        self._engine: zlib._Decompress | None = None
        self._closed = False
        self.finished = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Feed bytes; yields what can be decoded so far in pieces of bounded size.

        Raises:
            CodedBodyTooLarge: the limit is exceeded.
            CodedBodyBroken: the bytes do not match the coding.
        """
        self._held += data
        while (engine := self._member()) is not None:
            piece = self._step(engine)
            if piece:
                self._left -= len(piece)
                if self._left < 0:
                    raise CodedBodyTooLarge
                yield piece
            if engine.eof:
                self._held, self._engine, self.finished, self._closed = engine.unused_data, None, True, not self._gzip
            elif not self._held and len(piece) < _PIECE:
                return

    def _member(self) -> zlib._Decompress | None:
        """The current member or the next one; None if there is no more, or more bytes are needed to tell."""
        if self._engine is None and not self._closed and len(self._held) > 1:  # two bytes tell what it is
            self._closed = self.finished and not self._held.startswith(_GZIP_MAGIC)  # padding behind the last member
            if not self._closed:
                self._engine, self.finished = zlib.decompressobj(self._window()), False
        if self._closed:
            self._held = b""
        return self._engine

    def _window(self) -> int:
        if self._gzip:
            return 31
        head = self._held
        wrapped = head[0] & 0x0F == 8 and (head[0] << 8 | head[1]) % 31 == 0
        return 15 if wrapped else -15

    def _step(self, engine: zlib._Decompress) -> bytes:
        try:
            piece = engine.decompress(self._held, _PIECE)
        except zlib.error as exc:
            raise CodedBodyBroken from exc
        self._held = engine.unconsumed_tail
        return piece


def inflate(body: bytes, coding: str, limit: int) -> bytes:
    """A whole body without its coding.

    Raises:
        CodedBodyTooLarge: it is larger than `limit`.
        CodedBodyBroken: it is damaged or cut short.
    """
    inflater = Inflater(coding, limit)
    plain = b"".join(inflater.pieces(body))
    if not inflater.finished:
        raise CodedBodyBroken
    return plain

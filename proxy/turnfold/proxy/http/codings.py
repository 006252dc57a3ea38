"""Content codings: decoding a body within a size limit.

gzip, deflate, br and zstd are decoded piece by piece. Nothing is encoded, since bytes pass the proxy unchanged; a body in any
other coding is relayed but not read.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from typing import Final, Protocol

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_PIECE: Final = 65536
_GZIP_MAGIC: Final = b"\x1f\x8b"
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_ZSTD_WINDOW_LOG: Final = 27  # 128 MB, the default window of encoders at their highest level
_GZIP: Final = frozenset(("gzip", "x-gzip"))


class CodedBodyTooLarge(Exception):
    """The decoded body is larger than the limit."""


class CodedBodyBroken(Exception):
    """The bytes do not match their coding, or they end early."""


def is_readable(coding: str) -> bool:
    """Whether `Inflater` can decode this coding."""
    return coding in _GZIP or coding in ("deflate", "br", "zstd")


class _Member(Protocol):
    """A decoder of one member of a body, as `zlib.decompressobj` is."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    @property
    def unconsumed_tail(self) -> bytes: ...

    def decompress(self, data: bytes, most: int, /) -> bytes: ...


class _ZstdFrame:
    """The same for one frame of zstd. The decoder keeps undecoded input itself."""

    unconsumed_tail = b""

    def __init__(self) -> None:
        self._engine = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG})

    @property
    def eof(self) -> bool:
        return self._engine.eof

    @property
    def unused_data(self) -> bytes:
        return self._engine.unused_data

    def decompress(self, data: bytes, most: int, /) -> bytes:
        try:
            return self._engine.decompress(data, most)
        except zstd.ZstdError as exc:
            raise zlib.error(str(exc)) from exc


class _BrotliStream:
    """The same for brotli (RFC 7932), which has no members and marks its own end."""

    unused_data = unconsumed_tail = b""

    def __init__(self) -> None:
        self._engine = brotli.Decompressor()

    @property
    def eof(self) -> bool:
        return bool(self._engine.is_finished())

    def decompress(self, data: bytes, most: int, /) -> bytes:
        try:
            piece: bytes = self._engine.process(data, output_buffer_limit=most)
        except brotli.error as exc:
            raise zlib.error(str(exc)) from exc
        return piece


class Inflater:
    """Decodes one body's gzip (RFC 1952, also several members), zstd (RFC 8878, also several frames), br (RFC 7932) or deflate
    (RFC 1950, or bare RFC 1951 as some clients send it).

    Args:
        coding: one that is `is_readable`.
        limit: maximum size of the decoded body in bytes.
    """

    def __init__(self, coding: str, limit: int) -> None:
        self._coding = coding
        self._magic = _GZIP_MAGIC if coding in _GZIP else _ZSTD_MAGIC if coding == "zstd" else b""
        self._least = len(self._magic) or (1 if coding == "br" else 2)  # bytes that identify the format; an empty br body has one
        self._left = limit
        self._held = b""
        self._engine: _Member | None = None
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
                self._held, self._engine, self.finished, self._closed = engine.unused_data, None, True, not self._magic
            elif not self._held and len(piece) < _PIECE:
                return

    def _member(self) -> _Member | None:
        """The current member or the next one; None if there is no more, or more bytes are needed to tell."""
        if self._engine is None and not self._closed and len(self._held) >= self._least:
            self._closed = self.finished and not self._held.startswith(self._magic)  # padding after the last member
            if not self._closed:
                self._engine, self.finished = self._decoder(), False
        if self._closed:
            self._held = b""
        return self._engine

    def _decoder(self) -> _Member:
        if self._coding == "zstd":
            return _ZstdFrame()
        if self._coding == "br":
            return _BrotliStream()
        head = self._held
        wrapped = head[0] & 0x0F == 8 and (head[0] << 8 | head[1]) % 31 == 0
        return zlib.decompressobj(31 if self._magic else 15 if wrapped else -15)

    def _step(self, engine: _Member) -> bytes:
        try:
            piece = engine.decompress(self._held, _PIECE)
        except zlib.error as exc:
            raise CodedBodyBroken from exc
        self._held = engine.unconsumed_tail
        return piece


def inflate(body: bytes, coding: str, limit: int) -> bytes:
    """A whole decoded body.

    Raises:
        CodedBodyTooLarge: it is larger than `limit`.
        CodedBodyBroken: it is damaged or cut short.
    """
    inflater = Inflater(coding, limit)
    plain = b"".join(inflater.pieces(body))
    if not inflater.finished:
        raise CodedBodyBroken
    return plain

"""Frames between a process and the one that folds for it.

A frame is a pickled value followed by raw bodies, whatever the values mean.

A body is never pickled: that would hold the interpreter for as long as copying it takes. Both ends are this program, started by
the same user over a pipe, so pickle introduces nothing that was not there.
"""

from __future__ import annotations

import asyncio
import pickle
import struct
from typing import Any, BinaryIO, Final

_HEAD: Final = struct.Struct(">IQQ")  # bytes of the value, of the first body, of the second
_PIECE: Final = 2**18

#: A value, and up to two bodies.
Frame = tuple[Any, bytes, bytes]


def _head(value: Any, first: bytes, second: bytes) -> bytes:
    pickled = pickle.dumps(value)
    return _HEAD.pack(len(pickled), len(first), len(second)) + pickled


async def send_frame(writer: asyncio.StreamWriter, value: Any, first: bytes = b"", second: bytes = b"") -> None:
    """Send a frame, in pieces, so that others get their turn in between."""
    writer.write(_head(value, first, second))
    for body in (first, second):
        view = memoryview(body)
        for start in range(0, len(body), _PIECE):
            writer.write(view[start : start + _PIECE])
            await writer.drain()
    await writer.drain()


async def receive_frame(reader: asyncio.StreamReader) -> Frame:
    """The next frame.

    Raises:
        EOFError: the other end is gone.
    """
    sizes = _HEAD.unpack(await reader.readexactly(_HEAD.size))
    value, first, second = [await reader.readexactly(size) for size in sizes]
    return pickle.loads(value), first, second  # noqa: S301 - our own process


def write_frame(stream: BinaryIO, value: Any, first: bytes = b"", second: bytes = b"") -> None:
    """The same in the process itself, which waits."""
    stream.write(_head(value, first, second))
    stream.write(first)
    stream.write(second)
    stream.flush()


def read_frame(stream: BinaryIO) -> Frame | None:
    """The same; None at the end."""
    head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    value, first, second = (stream.read(size) for size in _HEAD.unpack(head))
    return pickle.loads(value), first, second  # noqa: S301 - our own process

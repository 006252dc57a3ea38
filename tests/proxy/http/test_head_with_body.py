"""A head goes out with what is written right behind it, and never later than the next turn of the loop."""

from __future__ import annotations

import asyncio

from turnfold.proxy.http.http11 import HeadWithBody

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"


class _Pieces(asyncio.WriteTransport):
    """Keeps what is written, piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """A piece."""
        self.pieces.append(bytes(data))

    def close(self) -> None:
        """The end."""
        self.pieces.append(b"closed")

    def is_closing(self) -> bool:
        """Whether it has ended."""
        return self.pieces[-1:] == [b"closed"]


async def test_a_head_and_its_body_are_one_piece() -> None:
    to = _Pieces()
    answers = HeadWithBody(to, asyncio.get_running_loop())
    answers.write(_HEAD)
    answers.write(b"ok")
    answers.write(b"more")
    await asyncio.sleep(0)
    assert to.pieces == [_HEAD + b"ok", b"more"]


async def test_a_head_does_not_wait_for_a_body() -> None:
    to = _Pieces()
    answers = HeadWithBody(to, asyncio.get_running_loop())
    answers.write(_HEAD)
    await asyncio.sleep(0)
    assert to.pieces == [_HEAD]
    answers.write(b"ok")
    assert to.pieces == [_HEAD, b"ok"]


async def test_a_head_goes_out_before_its_connection_closes() -> None:
    to = _Pieces()
    answers = HeadWithBody(to, asyncio.get_running_loop())
    answers.write(_HEAD)
    assert answers.is_closing() is False
    answers.close()
    assert answers.is_closing() is True
    await asyncio.sleep(0)
    assert to.pieces == [_HEAD, b"closed"]

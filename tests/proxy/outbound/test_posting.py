"""POSTs that do not go through aiohttp's session: the same bytes as through it."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
from collections.abc import Iterable
from typing import Any

import aiohttp
import pytest
from aiohttp.connector import Connection
from yarl import URL

from turnfold.config.settings import UpstreamSettings
from turnfold.proxy.outbound.posting import ParserLimits, Posting
from turnfold.proxy.outbound.raw_headers import _Restoring, as_text
from turnfold.proxy.outbound.upstream import Upstream, UpstreamGarbled, pieces

_BODY = b'{"model": "m"}'
_HEADERS = [
    (b"authorization", b"Bearer s"),
    (b"x-twice", b"1"),
    (b"x-twice", b"2"),
    (b"x-opaque", b"caf\xe9 \xc3\xa9"),
    (b"accept-encoding", b"identity"),
    (b"content-length", b"%d" % len(_BODY)),
]


async def _written(*, whole: bool) -> tuple[bytes, list[tuple[bytes, bool]]]:
    """What arrives of a request, whose body goes out whole or in pieces, and what comes back."""
    arrived: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        arrived.append(await reader.readuntil(b"\r\n\r\n") + await reader.readexactly(len(_BODY)))
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, Upstream(UpstreamSettings(url=f"http://127.0.0.1:{port}/v1")) as upstream:
        url = upstream.url(b"/v1/x%20y", b"a=b&c=%2F")
        headers, body = (_HEADERS[:-1], _BODY) if whole else (_HEADERS, pieces(_BODY))
        got = await upstream.send("POST", url, headers, body)
        chunks = [chunk async for chunk in got.chunks()]
        got.close()
    return arrived[0].replace(b":%d\r\n" % port, b"\r\n"), chunks


async def test_both_ways_write_the_same_bytes() -> None:
    thin, through_session = await _written(whole=True), await _written(whole=False)
    assert thin == through_session
    assert thin[0].startswith(b"POST /v1/x%20y?a=b&c=%2F HTTP/1.1\r\nHost: 127.0.0.1\r\nauthorization: Bearer s\r\n")
    assert thin[1] == [(b"ok", True)]


async def test_a_connection_is_used_again_once_its_answer_was_read_to_the_end() -> None:
    """What an answer holds goes on as it came, however it ends."""
    packed = gzip.compress(b"ok")
    plain, coded, endless = (
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n%s" % (len(packed), packed),
        b"HTTP/1.1 200 OK\r\n\r\nto the end",
    )
    waiting, used = iter((plain, coded, plain, endless)), list[int]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(set(used))
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(len(_BODY))
                used.append(number)
                answer = next(waiting)
                writer.write(answer)
                await writer.drain()
                if answer == endless:
                    break
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    found = []
    async with server, Upstream(UpstreamSettings(url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")) as upstream:
        for _ in range(4):
            got = await upstream.send("POST", upstream.url(b"/v1/x", b""), _HEADERS[:-1], _BODY)
            found.append(b"".join([chunk async for chunk, _ in got.chunks()]))
            got.close()
    assert found == [b"ok", packed, b"ok", b"to the end"]
    assert used == [0, 0, 0, 0]


async def test_an_upstream_that_changes_the_protocol_has_answered() -> None:
    async def switch(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 199 Any\r\n\r\n")
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n")
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(switch, "127.0.0.1", 0)
    async with server, Upstream(UpstreamSettings(url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")) as upstream:
        with pytest.raises(UpstreamGarbled, match="with status 101"):
            await upstream.send("POST", upstream.url(b"/v1/x", b""), _HEADERS[:-1], _BODY)


@pytest.mark.parametrize(("size", "fits"), [(65_000, True), (66_000, False)])
async def test_a_line_of_an_answers_head_has_64_kib_at_most(size: int, fits: bool) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nx-long: %s\r\ncontent-length: 0\r\n\r\n" % (b"a" * size))
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server, Upstream(UpstreamSettings(url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")) as upstream:
        with contextlib.nullcontext() if fits else pytest.raises(UpstreamGarbled):
            got = await upstream.send("POST", upstream.url(b"/v1/x", b""), _HEADERS[:-1], _BODY)
            got.close()


async def test_a_connection_that_closes_before_it_is_written_to_has_been_sent_nothing() -> None:
    class Closing(aiohttp.TCPConnector):
        """Whose connections are reset while they are handed over."""

        async def connect(self, *args: Any) -> Connection:
            connection = await super().connect(*args)
            assert connection.transport is not None
            connection.transport.abort()
            return connection

    async def nobody(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server, told = await asyncio.start_server(nobody, "127.0.0.1", 0), list[str]()
    origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    parsing = ParserLimits(read_bufsize=2**16, max_line_size=8190, max_field_size=8190, max_headers=100)
    async with server, aiohttp.ClientSession(connector=Closing()) as session:
        posting = Posting(session, origin, parsing)
        with pytest.raises(aiohttp.ClientConnectionResetError, match="closing transport"):
            await posting.post(URL(f"{origin}/v1/x"), _HEADERS, _BODY, lambda: told.append("the upstream has it"))
    assert told == []


async def test_no_header_ends_its_line() -> None:
    async with Upstream(UpstreamSettings(url="http://127.0.0.1:1/v1")) as upstream:
        url = upstream.url(b"/v1/chat/completions", b"")
        for header in ((b"x-a", b"1\r\nx-b: 2"), (b"x-a\nx-b", b"1")):
            with pytest.raises(ValueError, match="line"):
                await upstream.send("POST", url, [header], _BODY)


class _Written:
    """A transport that keeps what is written, and the protocol that has it."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.transport: Any = self

    def write(self, data: bytes) -> None:
        self.pieces.append(data)

    def writelines(self, pieces: Iterable[bytes]) -> None:
        self.pieces += pieces

    def is_closing(self) -> bool:
        return False


@pytest.mark.parametrize("at_once", [True, False])
def test_a_head_is_written_as_it_came_in_one_piece_or_in_several(at_once: bool) -> None:
    (value,) = as_text([bytes(range(128, 256))])
    head, body = f"GET / HTTP/1.1\r\nx: {value}\r\n\r\n".encode(), value.encode()
    connection = _Written()
    restoring = _Restoring(connection)
    assert not restoring.is_closing()
    if at_once:
        restoring.write(head + body)
    else:
        restoring.writelines([head, body])
    assert b"".join(connection.pieces) == b"GET / HTTP/1.1\r\nx: " + bytes(range(128, 256)) + b"\r\n\r\n" + body
    assert connection.transport is connection  # what follows the head goes the usual way
    connection.transport.write(body)
    assert connection.pieces[-1] == body

"""uvicorn's HTTP/1.1 protocol with eleven fixes that a proxy needs.

They concern limits of size and time for request heads, trailers, bodies of requests whose upgrade is declined, clients that half
close, leave a large body unsent or read nothing, answers to HTTP/1.0, pipelined requests, noticing early who has gone and whose
body is complete (``inbound``), answers in one write, and clients beyond what the process can serve. Whatever an ASGI app can do
for itself is not done here.

uvicorn collects a head of any size before an app sees it. The app's own limit sends a proper answer; the limit here is larger and
protects memory. It also waits for the rest of a head for ever: clients that vanish, or stall on purpose, would collect until no
descriptors are left. Trailers (RFC 9110 section 6.5) count against the size too, and are dropped: uvicorn would append them to
the request's headers, where a credential or one of Turnfold's headers could bypass a front proxy.

A client may close its side once its request is out, and still wait for the answer (RFC 9112 section 9.6). Whether it has gone
altogether shows only when something is sent to it: so it is sent ``100 Continue``, which clients must ignore, and one that is
gone refuses that. Also, httptools ends a request after its head if it asks for an upgrade, which servers may ignore (RFC 9110
section 7.8): Java's client asks for h2c with its first request, whose body would be lost.

A client may also send its next request before it has the answer to the last one (RFC 9112 section 9.3.2). uvicorn knows the
newest request alone: that the client left would be noticed by none before it, and what is said of bytes that are no request would
land in the middle of an answer. So the answers that are due are kept in order.

A client that stays connected and reads nothing of its answer would hold a connection of the upstream's for ever: uvicorn waits
until it reads. So it must read something of what waits for it within a minute, as with nginx's ``send_timeout``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from turnfold.proxy.http import inbound
from turnfold.proxy.http.connection_limit import ConnectionLimit
from turnfold.proxy.http.inbound import ARRIVAL, DEPARTURE
from turnfold.proxy.http.no_request import NoRequests, answer
from turnfold.proxy.http.unread import unread_bytes

_MOST: Final = 2**20
_HEAD_TOO_LARGE: Final = answer(
    431,
    "Request Header Fields Too Large",
    "headers_too_large",
    "The request's headers are far larger than TURNFOLD_MAX_HEADER_BYTES.",
)
_HEAD_SECONDS: Final = 60.0  # from a head's first byte to its last, as in nginx
_UNREAD_SECONDS: Final = 60.0  # within which a client must read some of the waiting data, as in nginx
_STILL_THERE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_ASKED_AGAIN: Final = (0.3, 2.0)  # seconds
_FRAMING: Final = (b"content-length", b"transfer-encoding")
_DOOR: Final = ConnectionLimit()
_NO_REQUESTS: Final = NoRequests()


class _AnyLength(int):
    """The length of a body that ends with its connection, as uvicorn counts it down: never too short, never too long."""

    def __lt__(self, other: int) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return False

    def __sub__(self, other: int) -> _AnyLength:
        return self

    __hash__ = int.__hash__


class HeadWithBody:
    """A connection's transport as answers see it: a head goes out with what is written right behind it, in one packet. uvloop
    hands each write to the system at once, which is the dearest call of a small answer, for us and for its reader."""

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._head = b""

    def write(self, data: bytes) -> None:
        """Write; a head by the next turn of the loop at the latest."""
        if self._head:
            data, self._head = self._head + data, b""
        elif data.startswith(b"HTTP/1.1 ") and data.endswith(b"\r\n\r\n"):
            self._head = data
            self._loop.call_soon(self._write_head)
            return
        self._transport.write(data)

    def _write_head(self) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head)

    def close(self) -> None:
        """Close the connection behind what was written."""
        self._write_head()
        self._transport.close()

    def is_closing(self) -> bool:
        """As of the transport."""
        closing: bool = self._transport.is_closing()
        return closing


class Http11(HttpToolsProtocol):
    """One client connection."""

    def connection_made(self, transport: Any) -> None:
        """Accept as the parent does, unless there are too many clients."""
        self._head_size = 0
        self._unseen = 0
        self._in_head = True
        self._head_began = False
        self._resuming = False
        self._is_whole = True
        self._lost = False
        self._due: deque[RequestResponseCycle] = deque()  # requests that are not answered yet
        self._reads_on = True
        self._to_tell: dict[int, Callable[[], None]] = {}
        self._departure: dict[object, object] = {"tell": self._tell_of_departure}
        super().connection_made(transport)
        self._answers: Any = HeadWithBody(transport, self.loop)
        self._head_timer: asyncio.TimerHandle | None = self.loop.call_later(self.timeout_keep_alive, transport.close)
        self._reading_timer: asyncio.TimerHandle | None = None
        if not _DOOR.is_open(len(self.connections)):
            self._reads_on = False
            transport.close()

    def _end_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _time_head(self) -> None:
        """Start the timer of a head that has begun and is not complete yet."""
        self._end_head_timer()
        self._head_began = True
        self._head_timer = self.loop.call_later(_HEAD_SECONDS, self._read_no_more)

    def _time_rest(self) -> None:
        """A refused request may have more of its body to come, within a time limit; after that, the connection counts as idle.
        The parent class treats it as in use as soon as a byte arrives.
        """
        self._unset_keepalive_if_required()
        seconds = self.timeout_keep_alive if self._is_whole else inbound.STALL
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def pause_writing(self) -> None:
        """Pause as the parent does; from now on the client must read something in time."""
        super().pause_writing()
        self._time_reading()

    def resume_writing(self) -> None:
        """As the parent does."""
        super().resume_writing()
        self._end_reading_timer()

    def _time_reading(self) -> None:
        """Nothing more is written until the client has read: what waits for it only becomes less."""
        self._end_reading_timer()
        if self.transport.get_write_buffer_size():
            self._reading_timer = self.loop.call_later(_UNREAD_SECONDS, self._end_unless_read, unread_bytes(self.transport))

    def _end_unless_read(self, before: int) -> None:
        if unread_bytes(self.transport) < before:
            self._time_reading()
        else:
            self.transport.abort()

    def _end_reading_timer(self) -> None:
        if self._reading_timer is not None:
            self._reading_timer.cancel()
            self._reading_timer = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Close as the parent does; then notify the listeners."""
        self._end_head_timer()
        self._end_reading_timer()
        self._lost = True
        super().connection_lost(exc)
        for cycle in self._due:
            cycle.disconnected = True
            cycle.message_event.set()
        for leave in tuple(self._to_tell.values()):
            leave()
        self._departure.clear()

    def _tell_of_departure(self, leave: Callable[[], None]) -> Callable[[], None]:
        if self._lost:
            self.loop.call_soon(leave)
        key = id(leave)
        self._to_tell[key] = leave

        def end() -> None:
            self._to_tell.pop(key, None)

        return end

    def data_received(self, data: bytes) -> None:
        """Parse the next bytes, unless the head has grown beyond the limit."""
        if not self._reads_on:
            return
        if self._head_size + self._unseen > _MOST:
            self._read_no_more(_HEAD_TOO_LARGE)
            return
        if self._in_head:
            self._head_size += len(data)
        else:
            self._unseen += len(data)  # trailers, unless it turns out to belong to the body
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._read_no_more(_NO_REQUESTS.answer(data, error, self.url))
        except httptools.HttpParserUpgrade as upgrade:
            self._decline_upgrade(data[upgrade.args[0] :])
        if self.transport.is_closing():
            return
        if self._in_head and not self._head_began:
            self._time_head()
        elif not self._in_head and not self._due:
            self._time_rest()

    def _read_no_more(self, said: bytes = b"") -> None:
        """What arrives is not a request: the connection ends after the pending answers, or at once if there are none or one waits
        for the rest of its body. `said` is sent if it cannot be mistaken for part of another answer.
        """
        self._reads_on = False
        if self._due and not self._due[-1].more_body:
            self._due[-1].keep_alive = False
            return
        if said and not (self._due and (len(self._due) > 1 or self._due[0].response_started)):
            self.transport.write(said)
        self.transport.close()

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends nothing more; the connection stays open if it waits for the answer to a complete request.

        Once an answer has begun, who leaves is taken to be gone: nothing but the answer could ask whether it is, and a stream may
        be silent for minutes while its upstream is paid for.
        """
        if not self._due or self._due[0].response_started or self._due[-1].more_body or self.transport.is_closing():
            return False
        self._due[-1].keep_alive = False
        self._probe_client()
        for delay in _ASKED_AGAIN:
            self.loop.call_later(delay, self._probe_client)
        return True

    def _probe_client(self) -> None:
        waits = self._due and not self._due[0].response_started and not self.transport.is_closing()
        if waits and self.scope.get("http_version") == "1.1":
            self.transport.write(_STILL_THERE)

    def _decline_upgrade(self, rest: bytes) -> None:
        """Continue the same request: a new parser is given the framing headers, then the bytes behind the head."""
        framing = b"".join(b"%s: %s\r\n" % pair for pair in self.headers if pair[0] in _FRAMING)
        self.parser = httptools.HttpRequestParser(self)
        self._resuming = True
        self.parser.feed_data(b"POST / HTTP/1.1\r\n" + framing + b"\r\n")
        self._resuming = False
        if rest:
            self.data_received(rest)

    def on_message_begin(self) -> None:
        """A head begins."""
        self._unseen = 0
        if not self._resuming:
            self._in_head, self._head_size = True, 0
            super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Part of the head."""
        if not self._resuming:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Part of the head, or a trailer, which is dropped."""
        if not self._in_head or self._resuming:
            return
        name = name.lower()  # from here on a copy of the parent's code, because the call alone would take as long
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_body(self, body: bytes) -> None:
        """Part of the body."""
        self._unseen = 0
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """A head ends."""
        if not self._resuming:
            self._in_head = self._head_began = self._is_whole = False
            self._end_head_timer()
            if not self._due:
                self._end_reading_timer()
            super().on_headers_complete()
            self._due.append(self.cycle)
            self.cycle.transport = self._answers
            here: dict[object, object] = {"is_here": self.cycle.message_event.is_set}
            self.scope["extensions"] = {DEPARTURE: self._departure, ARRIVAL: here}
            if self.scope.get("http_version") == "1.0":
                # A client of HTTP/1.0 knows no chunks (RFC 9112 section 6.1): the body ends with the connection.
                self.cycle.chunked_encoding = False
                self.cycle.expected_content_length = _AnyLength()
                self.cycle.waiting_for_100_continue = False  # nor interim responses (RFC 9110 section 10.1.1)

    def on_message_complete(self) -> None:
        """A request ends, unless this is a head with an upgrade whose body is still to come.

        The parent reads no more while much of a body waits, until the app asks for more. It does not once the body is whole: that
        the client leaves would show only when something is sent to it.
        """
        if self.parser.should_upgrade():
            return
        self._is_whole = True
        super().on_message_complete()
        if not self.pipeline:
            self.flow.resume_reading()

    def on_response_complete(self) -> None:
        """An answer ends: the oldest that is due. Its last bytes may wait for the client, which is to read them in time too."""
        self._due.popleft()
        super().on_response_complete()
        if not self._due:
            self._time_reading()
            if not (self._is_whole or self.transport.is_closing()):
                self._time_rest()

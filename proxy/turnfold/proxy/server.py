"""Running the app: uvicorn with the flags that a transparent proxy needs.

Lives here: the server's configuration, and a bound on request heads that it lacks. Must not: composition of the app.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors import Multiprocess

from turnfold.compression.conversation import Section
from turnfold.config.settings import Settings
from turnfold.proxy.app import create_app
from turnfold.proxy.receipts import Receipt

_SHUTDOWN_PATIENCE: Final = 25  # seconds that streams get to end after SIGTERM; orchestrators kill after 30
_TOO_LARGE: Final = (
    b'{"error":{"message":"The request\'s headers are far larger than limits.max_header_bytes.",'
    b'"type":"invalid_request_error","param":null,"code":"headers_too_large"}}'
)
_HEAD_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(_TOO_LARGE), _TOO_LARGE)
)


class BoundedHead(HttpToolsProtocol):
    """uvicorn's parser with a bound on the head: it gathers any amount, and an app sees the head only when it is whole.

    The app's own limit answers politely; this one, larger, saves the memory.
    """

    most: int = 2**20

    def connection_made(self, transport: Any) -> None:
        """As the parent does."""
        self._head_open = True
        self._head_seen = 0
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Count what comes before the head is whole."""
        if self._head_open:
            self._head_seen += len(data)
            if self._head_seen > self.most + len(data):
                self.transport.write(_HEAD_TOO_LARGE)
                self.transport.close()
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """A head begins."""
        self._head_open, self._head_seen = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """A head ends."""
        self._head_open = False
        super().on_headers_complete()


class Discard:
    """A recorder that keeps nothing."""

    def record(self, receipt: Receipt, sections: tuple[Section, ...]) -> None:
        """Forget both."""


def bare_app(settings: Settings) -> ASGIApp:
    """The app without store and ledger."""
    return create_app(settings, Discard())


def configuration(settings: Settings, build: Callable[[Settings], ASGIApp] = bare_app, **changes: Any) -> uvicorn.Config:
    """uvicorn's configuration.

    ``date`` and ``server`` headers are the upstream's; with more than one worker `build` must be importable (a module's
    function), since the processes make their apps themselves.
    """
    flags: dict[str, Any] = {
        "host": settings.server.host,
        "port": settings.server.port,
        "workers": settings.server.workers,
        "loop": "auto",
        "http": BoundedHead,
        "ws": "none",
        "server_header": False,
        "date_header": False,
        "access_log": False,
        "log_level": "warning",
        "timeout_graceful_shutdown": _SHUTDOWN_PATIENCE,
    }
    return uvicorn.Config(functools.partial(build, settings), factory=True, **(flags | changes))


def serve(settings: Settings, build: Callable[[Settings], ASGIApp] = bare_app) -> None:
    """Serve until a signal comes.

    Raises:
        InvalidInput: settings under which the start is refused.
    """
    build(settings)  # a wrong setting is reported here, once, and not by each worker
    config = configuration(settings, build)
    if settings.server.workers > 1:
        Multiprocess(config, sockets=[config.bind_socket()]).run()
    else:
        uvicorn.Server(config).run()

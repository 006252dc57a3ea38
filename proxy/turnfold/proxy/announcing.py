"""The startup message, printed once the server answers.

This module waits for the server and keeps the lines in order. The wording is in ``console.greeting``, listening in ``server``.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import socket
import threading
import time
from collections.abc import Callable
from typing import Final

from turnfold.config.settings import Settings
from turnfold.proxy.console.greeting import Greeting, greet
from turnfold.proxy.preflight import look_for_v1, upstream_urls

_PATIENCE: Final = 90  # seconds for an answer: a start under load takes long
_STORE_PATIENCE: Final = 2.0  # seconds: a new SQLite file takes longer than readiness waits for it
_PAUSE: Final = 0.05  # seconds between two checks whether the workers are ready

_log = logging.getLogger("turnfold.server")


def announce(settings: Settings, dashboard: Callable[[str], str], listener: socket.socket) -> None:
    """Say what there is to know once a request is answered. Returns at once; what it does ends with the process.

    Args:
        dashboard: from the dashboard's address to a link that opens it.
        listener: what the server listens on.
    """
    where: str | tuple[str, int] = listener.getsockname()
    if not isinstance(where, str):
        host = settings.server.host
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
        where = (host, where[1])
    threading.Thread(target=_announce, args=(settings, where, dashboard), name="turnfold-greeting", daemon=True).start()


def _announce(settings: Settings, where: str | tuple[str, int], dashboard: Callable[[str], str]) -> None:
    checks, deadline = _readiness(where), time.monotonic() + _STORE_PATIENCE
    while checks is None or (checks.get("store") != "ok" and time.monotonic() < deadline):
        time.sleep(_PAUSE)
        checks = _readiness(where)
    if isinstance(where, str):
        origin = f"unix:{where}"
    else:
        host, port = where
        origin = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    greeting = Greeting.of(settings, origin, store_answers=checks.get("store") == "ok", dashboard=dashboard(f"{origin}/admin/"))
    greet(greeting, as_json=settings.log.format == "json")
    for variable, url in upstream_urls(settings).items():
        if url is not None and (advice := look_for_v1(url)):
            _log.warning("%s: %s", variable, advice)


class _UnixConnection(http.client.HTTPConnection):
    """A connection to a Unix socket."""

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_PATIENCE)
        self.sock.connect(self.host)


def _readiness(where: str | tuple[str, int]) -> dict[str, str] | None:
    """What readiness says of each part; None while nobody answers."""
    connection = _UnixConnection("localhost") if isinstance(where, str) else http.client.HTTPConnection(*where, timeout=_PATIENCE)
    if isinstance(where, str):
        connection.host = where
    try:
        with contextlib.closing(connection):
            connection.request("GET", "/readyz", headers={"host": "localhost"} if isinstance(where, str) else {})
            found: dict[str, str] = json.loads(connection.getresponse().read())["checks"]
    except (OSError, ValueError, http.client.HTTPException, KeyError):
        return None
    return found

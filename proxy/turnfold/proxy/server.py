"""Running the app: uvicorn with the flags that a transparent proxy needs.

Lives here: the server's configuration, and what is said once it is ready. Does not belong here: composition of the app.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import http.client
import json
import logging
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.supervisors import Multiprocess

from turnfold.config.settings import ServerSettings, Settings
from turnfold.proxy.app import build
from turnfold.proxy.books.metrics import shared_by_workers
from turnfold.proxy.console.greeting import Greeting, greet
from turnfold.proxy.console.log_lines import log_configuration
from turnfold.proxy.http.http11 import Http11
from turnfold.proxy.preflight import check_start, doubts, look_for_v1, upstream_urls

# Longer than clients and load balancers keep idle connections (SDKs 5 s, AWS 60 s, Google 600 s): the side that sends next
# must be the one that closes, or now and then a request meets a connection that is just being closed.
_KEEP_ALIVE: Final = 620
# A worker that does not answer for so long is killed and started anew, while it starts too: uvicorn's own 5 s are less than a
# start takes on a machine under load, and then no start ever comes to its end.
_WORKER_PATIENCE: Final = 90
# Seconds for which a thread that folds keeps the interpreter while the event loop waits for it. A small request has it taken back
# about five times, so Python's own 5 ms would be 25 ms and more beside a cold fold; the folds take no longer for it.
_SWITCH_INTERVAL: Final = 0.0005
# glibc's M_ARENA_MAX (mallopt(3)). By default each thread gets a heap of its own, and what one has freed the others cannot use:
# 20 MB after folds of 100,000 tokens.
_ARENA_MAX: Final = -8
_ARENAS: Final = 2
_SHUTDOWN_PATIENCE: Final = 25  # seconds that streams get to end after SIGTERM; orchestrators kill after 30
_STORE_PATIENCE: Final = 2.0  # seconds: a new SQLite file takes longer than readiness waits for it
_PAUSE: Final = 0.05  # seconds between two looks whether the workers are ready

_log = logging.getLogger(__name__)


def configuration(settings: Settings, build: Callable[[Settings], ASGIApp] = build, **changes: Any) -> uvicorn.Config:
    """uvicorn's configuration.

    ``date`` and ``server`` headers are the upstream's; with more than one worker `build` must be importable (a module's
    function), since the processes make their apps themselves.
    """
    flags: dict[str, Any] = {
        "host": settings.server.host,
        "port": settings.server.port,
        "workers": settings.server.workers,
        "loop": "auto",
        "http": Http11,
        "ws": "none",
        "server_header": False,
        "date_header": False,
        "access_log": False,
        "proxy_headers": False,  # nothing is taken from X-Forwarded-*, which anybody can send
        "log_level": "warning",
        "timeout_keep_alive": _KEEP_ALIVE,
        "timeout_graceful_shutdown": _SHUTDOWN_PATIENCE,
        "timeout_worker_healthcheck": _WORKER_PATIENCE,
    }
    return uvicorn.Config(functools.partial(_build_app, build, settings), factory=True, **(flags | changes))


def _build_app(build: Callable[[Settings], ASGIApp], settings: Settings) -> ASGIApp:
    """The app, in the process that is going to serve it: what holds for a whole process is set here, before there are threads."""
    sys.setswitchinterval(_SWITCH_INTERVAL)
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):  # glibc's alone has it
        mallopt(_ARENA_MAX, _ARENAS)
    return build(settings)


def serve(settings: Settings, build: Callable[[Settings], ASGIApp] = build, dashboard: Callable[[str], str] = str) -> None:
    """Serve until a signal comes.

    Args:
        dashboard: from the dashboard's address to a link that opens it, for example one that signs the user in.

    Raises:
        InvalidInput, SettingsError: settings under which the start is refused, or an address on which nobody can listen.
    """
    check_start(settings)
    build(settings)  # a wrong setting is reported here, once, and not by each worker
    level = "critical" if settings.log.level == "off" else "warning"
    config = configuration(settings, build, log_config=log_configuration(settings.log), log_level=level)
    for doubt in doubts(settings):
        _log.warning("%s", doubt)

    def announce(port: int) -> None:
        threading.Thread(target=_announce, args=(settings, port, dashboard), name="turnfold-greeting", daemon=True).start()

    if settings.server.workers == 1:
        _AnnouncingServer(config, announce).run()
        return
    with shared_by_workers():
        bound = config.bind_socket()
        announce(bound.getsockname()[1])
        Multiprocess(config, sockets=[bound]).run()


class _AnnouncingServer(uvicorn.Server):
    """A server that tells the port that it listens on, which port 0 leaves to the system."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[int], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, and tell where."""
        await super().startup(sockets)
        self._announce(self.servers[0].sockets[0].getsockname()[1])


def _announce(settings: Settings, port: int, dashboard: Callable[[str], str]) -> None:
    """Say what there is to know as soon as a request is answered. In a thread, which ends with the process."""
    host = _reachable(settings.server)
    origin = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    checks, deadline = _readiness(host, port), time.monotonic() + _STORE_PATIENCE
    while checks is None or (checks.get("store") != "ok" and time.monotonic() < deadline):
        time.sleep(_PAUSE)
        checks = _readiness(host, port)
    greeting = Greeting.of(settings, origin, store_answers=checks.get("store") == "ok", dashboard=dashboard(f"{origin}/admin/"))
    greet(greeting, as_json=settings.log.format == "json")
    for variable, url in upstream_urls(settings).items():
        if url is not None and (advice := look_for_v1(url)):
            _log.warning("%s: %s", variable, advice)


def _reachable(server: ServerSettings) -> str:
    """The host as seen from this machine."""
    host = server.host.strip("[]")
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound


def _readiness(host: str, port: int) -> dict[str, str] | None:
    """What readiness says of each part; None while nobody answers."""
    try:
        with contextlib.closing(http.client.HTTPConnection(host, port, timeout=_WORKER_PATIENCE)) as connection:
            connection.request("GET", "/readyz")
            found: dict[str, str] = json.loads(connection.getresponse().read())["checks"]
    except (OSError, ValueError, http.client.HTTPException, KeyError):
        return None
    return found

"""Running the app: uvicorn, with the settings that a transparent proxy needs.

The server's configuration, and the startup message. ``app`` composes the app.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import logging
import resource
import socket
import sys
from collections.abc import Callable
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp

from turnfold.config.settings import Settings
from turnfold.config.sources import SettingsError
from turnfold.proxy.announcing import announce
from turnfold.proxy.app import build
from turnfold.proxy.console.log_lines import log_configuration
from turnfold.proxy.early_signals import obey_early_signals
from turnfold.proxy.http.http11 import Http11
from turnfold.proxy.listening import unix_listener
from turnfold.proxy.preflight import check_start, doubts
from turnfold.proxy.stopping import GracefulServer, end_with_parent, leave_gently
from turnfold.proxy.telemetry.metrics import shared_by_workers
from turnfold.proxy.workers import GracefulWorkers

# Longer than clients and load balancers keep idle connections (SDKs 5 s, AWS 60 s, Google 600 s): the side that sends next
# must be the one that closes, or now and then a request meets a connection that is just being closed.
_KEEP_ALIVE: Final = 620
# Seconds for which a thread that folds keeps the interpreter while the event loop waits for it. A small request has it taken back
# about five times, so Python's own 5 ms would be 25 ms and more beside a cold fold; the folds take no longer for it.
_SWITCH_INTERVAL: Final = 0.0005
# glibc's M_ARENA_MAX (mallopt(3)). By default each thread gets a heap of its own, and what one has freed the others cannot use:
# 20 MB after folds of 100,000 tokens.
_ARENA_MAX: Final = -8
_ARENAS: Final = 2

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
        "proxy_headers": False,  # X-Forwarded-* is ignored: anyone can send it
        "log_level": "warning",
        "timeout_keep_alive": _KEEP_ALIVE,
        "timeout_graceful_shutdown": settings.server.drain_timeout,
    }
    return uvicorn.Config(functools.partial(_build_app, build, settings), factory=True, **(flags | changes))


def _build_app(build: Callable[[Settings], ASGIApp], settings: Settings) -> ASGIApp:
    """The app, in the process that is going to serve it: what holds for a whole process is set here, before there are threads."""
    sys.setswitchinterval(_SWITCH_INTERVAL)
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):  # only glibc has it
        mallopt(_ARENA_MAX, _ARENAS)
    _raise_descriptor_limit()
    end_with_parent()
    leave_gently(settings.server.drain_delay)
    return build(settings)


def _raise_descriptor_limit() -> None:
    """Take as many descriptors as the system allows: a stream needs two, and the usual soft limit of 1024 is for programs that
    use ``select``. Beyond the limit, clients are cut off."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def serve(settings: Settings, build: Callable[[Settings], ASGIApp] = build, dashboard: Callable[[str], str] = str) -> None:
    """Serve until a signal comes.

    Args:
        dashboard: from the dashboard's address to a link that opens it, for example one that signs the user in.

    Raises:
        InvalidInput, SettingsError: settings under which the start is refused, or an address on which nobody can listen.
    """
    check_start(settings)
    build(settings)  # reported once here instead of by each worker
    level = "critical" if settings.log.level == "off" else "warning"
    config = configuration(settings, build, log_config=log_configuration(settings.log), log_level=level)
    for doubt in doubts(settings):
        _log.warning("%s", doubt)
    tell = functools.partial(announce, settings, dashboard)
    with contextlib.ExitStack() as stack:
        obey_early_signals()
        own = None if settings.server.uds is None else [stack.enter_context(unix_listener(settings.server.uds))]
        if settings.server.workers == 1:
            _AnnouncingServer(config, tell).run(own)
            return
        stack.enter_context(shared_by_workers())
        bound = own or [config.bind_socket()]
        tell(bound[0])
        workers = GracefulWorkers(config, bound, settings.server.drain_delay + settings.server.drain_timeout)
        workers.run()
        if workers.failed:
            raise SettingsError("no worker could start: see the log above")


class _AnnouncingServer(GracefulServer):
    """A server that reports its listeners; with port 0 the system chooses the port."""

    def __init__(self, config: uvicorn.Config, tell: Callable[[socket.socket], None]) -> None:
        super().__init__(config)
        self._tell = tell

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, and tell where."""
        await super().startup(sockets)
        self._tell(sockets[0] if sockets else self.servers[0].sockets[0])

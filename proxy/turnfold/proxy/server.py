"""Running the app: uvicorn with the flags that a transparent proxy needs.

Lives here: the server's configuration. Does not belong here: composition of the app.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import socket
import sys
from collections.abc import Callable
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.supervisors import Multiprocess

from turnfold.config.settings import ServerSettings, Settings
from turnfold.config.sources import SettingsError
from turnfold.proxy.app import build
from turnfold.proxy.books.metrics import shared_by_workers
from turnfold.proxy.http.http11 import Http11

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
_PORT_PROBLEMS: Final = frozenset({errno.EADDRINUSE, errno.EACCES})
_SHUTDOWN_PATIENCE: Final = 25  # seconds that streams get to end after SIGTERM; orchestrators kill after 30


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


def serve(settings: Settings, build: Callable[[Settings], ASGIApp] = build, greet: Callable[[], None] = lambda: None) -> None:
    """Serve until a signal comes.

    Args:
        greet: called once, when the address is free and the settings are sound.

    Raises:
        InvalidInput: settings under which the start is refused.
        SettingsError: nobody can listen there.
    """
    _check_address(settings.server)
    build(settings)  # a wrong setting is reported here, once, and not by each worker
    config = configuration(settings, build)
    greet()
    if settings.server.workers == 1:
        uvicorn.Server(config).run()
        return
    with shared_by_workers():
        Multiprocess(config, sockets=[config.bind_socket()]).run()


def _check_address(server: ServerSettings) -> None:
    """See that the address can be listened on: uvicorn's own line does not say which setting is wrong."""
    problem: OSError | None = None
    try:
        found = socket.getaddrinfo(server.host.strip("[]"), server.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as exc:
        found, problem = [], exc
    for family, kind, _, _, address in found:
        try:
            with socket.socket(family, kind) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
            return
        except OSError as exc:  # a name may stand for several addresses, of which one is enough
            problem = exc
    if problem is not None:
        wrong = "TURNFOLD_PORT" if problem.errno in _PORT_PROBLEMS else "TURNFOLD_HOST"
        why = (problem.strerror or str(problem)).lower()
        raise SettingsError(f"{wrong}: cannot listen on {server.host!r}, port {server.port}: {why}") from problem

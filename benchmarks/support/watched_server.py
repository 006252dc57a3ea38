"""A server that says for how long its event loop was held.

It is ``turnfold serve`` on asyncio's own loop, whose every callback is timed, with ``GET /holds``. ``benchmarks.holds`` keeps it
busy: it runs ``python -m benchmarks.support.watched_server`` with variables for settings.

What a callback takes is processor time of the loop's thread: what other threads and processes take meanwhile does not count.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any, Final

import orjson
import uvicorn
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from turnfold.config.settings import Settings
from turnfold.config.sources import load
from turnfold.proxy.app import build
from turnfold.proxy.server import configuration

_LOOK: Final = 0.004  # seconds between two looks at what the loop's thread is doing
_SHOWN: Final = 4  # frames
_run = asyncio.Handle._run


class Holds:
    """The longest callbacks since they were last asked for."""

    def __init__(self) -> None:
        self.most: list[tuple[float, list[str]]] = []
        self._loop = threading.get_ident()
        self._began = 0.0
        self._seen: list[str] = []
        threading.Thread(target=self._look, daemon=True).start()

    def run(self, handle: Any) -> None:
        """Run a callback of the loop."""
        self._seen, self._began = [], time.perf_counter()
        start = time.thread_time()
        _run(handle)
        taken, self._began = time.thread_time() - start, 0.0
        self.most = sorted([*self.most, (taken, self._seen)], key=lambda one: -one[0])[:5]

    def _look(self) -> None:
        while True:
            time.sleep(_LOOK)
            if self._began and time.perf_counter() - self._began > _LOOK:
                frame = sys._current_frames().get(self._loop)
                self._seen = [*self._seen[-20:], " < ".join(list(_frames(frame))[:_SHOWN])]


def _frames(frame: FrameType | None) -> Iterator[str]:
    while frame is not None:
        code = frame.f_code
        if "turnfold" in code.co_filename or "starlette" in code.co_filename:
            yield f"{code.co_filename.rpartition('/')[2]}:{frame.f_lineno} {code.co_name}"
        frame = frame.f_back


def _watched(settings: Settings) -> ASGIApp:
    app, holds = build(settings), Holds()

    def timed(handle: asyncio.Handle) -> None:
        holds.run(handle)

    asyncio.Handle._run = timed  # type: ignore[method-assign,assignment]

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/holds":
            told, holds.most = orjson.dumps(holds.most), []
            await Response(told, media_type="application/json")(scope, receive, send)
            return
        await app(scope, receive, send)

    return serve


def main() -> None:
    """Serve until a signal comes."""
    uvicorn.Server(configuration(load().settings, _watched, loop="asyncio")).run()


if __name__ == "__main__":
    main()

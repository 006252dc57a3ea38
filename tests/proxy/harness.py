"""Real servers on loopback, plain ASGI functions as upstreams, and a client that hides nothing of the wire."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import sys
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from turnfold.compression.fold import Fold, Folded, Section, fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.changes import Changes
from turnfold.compression.wire.conversation import Conversation
from turnfold.config.serving import LimitSettings
from turnfold.config.settings import ModelSettings, Settings, StoreSettings, UpstreamSettings
from turnfold.proxy.app import build, warm
from turnfold.proxy.chat.receipts import Originals, Receipt
from turnfold.proxy.server import configuration

Pairs = list[tuple[str, str]]
Handler = Callable[[Scope, Receive, Send], Awaitable[None]]
RunCommand = Callable[..., tuple[int, str, str]]  # a command's arguments to its exit code, standard output and standard error

#: Flags of every server that runs in this process. uvicorn's own logging setup closes all log handlers of the process, and
#: some of them (absl's, which a benchmark's library loads) close the stream beneath: pytest's capture file.
NO_LOGGING: Final[dict[str, Any]] = {"log_config": None, "log_level": "critical"}
NOWHERE: Final = "http://127.0.0.1:9/v1"
_LONGEST_PAUSE: Final = 0.02  # seconds, of those that grow
# Turns of its loop in which a server accepts a connection, begins to read from it, reads, and starts the request.
_TURNS: Final = 8
_REQUEST: Final = "tf-"  # what the ids of requests begin with
T = TypeVar("T")


class QuickServer(uvicorn.Server):
    """A server of which tests start and stop many, and keep some up beside all others.

    uvicorn's looks ten times a second whether it should stop, and sleeps a tenth of a second when it does.
    """

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        await super().startup(sockets)

    async def main_loop(self) -> None:
        await self._stopped.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listening in (*self.servers, *(sockets or ())):
            listening.close()
        state = self.server_state
        for connection in list(state.connections):
            connection.shutdown()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                while state.connections or state.tasks:  # noqa: ASYNC110 - uvicorn has no event for it
                    await asyncio.sleep(0.002)
        for task in state.tasks:
            task.cancel()
        await self.lifespan.shutdown()

    def look_around(self) -> None:
        """Have it take in what has come so far; from any other thread."""

        async def turns() -> None:
            for _ in range(_TURNS):
                await asyncio.sleep(0)

        self._run(turns(), None)

    def is_working_on(self) -> bool:
        """Whether something goes on behind an answer: such a task has the name of its request. From any other thread."""

        async def look() -> bool:
            return any(task.get_name().startswith(_REQUEST) for task in asyncio.all_tasks())

        return self._run(look(), False)

    def _run(self, work: Coroutine[Any, Any, T], otherwise: T) -> T:
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)
        except RuntimeError:  # its loop is closed: it ended by itself
            work.close()
            return otherwise

    def stop(self) -> None:
        """Make it end; from any thread."""
        self.should_exit = True
        with contextlib.suppress(RuntimeError):  # its loop is closed: it ended by itself
            self._loop.call_soon_threadsafe(self._stopped.set)


@dataclass
class Running:
    """A server that serves."""

    origin: str
    server: uvicorn.Server

    def rest(self) -> None:
        """Wait until no request is being served, nor waits unread: whoever sent one may have left since, and the next test would
        see it."""
        if isinstance(self.server, QuickServer):
            self.server.look_around()
        until(lambda: not self.server.server_state.tasks)

    def settle(self) -> None:
        """Wait, beyond that, until nothing goes on behind an answer: the receipt of a request that is only observed comes when it
        has been folded, which may be in the middle of the next test."""
        self.rest()
        server = self.server
        if isinstance(server, QuickServer):
            until(lambda: not server.is_working_on())


@contextlib.contextmanager
def running(config: uvicorn.Config) -> Iterator[Running]:
    """A uvicorn server in a thread."""
    server = QuickServer(config)
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("turnfold.proxy.app._OPENING", 30.0)  # in a second a store may not answer on a busy machine
            thread.start()
            until(lambda: server.started or not thread.is_alive())
        assert server.started, "the server did not start"
        try:
            yield Running(f"http://127.0.0.1:{listener.getsockname()[1]}", server)
        finally:
            server.stop()
            thread.join(60)
            assert not thread.is_alive(), f"the server did not stop:\n{_what_goes_on(thread, server)}"
            assert not getattr(server.lifespan, "shutdown_failed", False), "what ends with the server failed"


def _what_goes_on(thread: threading.Thread, server: QuickServer) -> str:
    """Where a server's thread is, and where each task of its loop waits."""
    lines = traceback.format_stack(sys._current_frames().get(thread.ident or 0))
    for task in asyncio.all_tasks(server._loop):
        lines.append(f"{task.get_name()}:\n")
        waiting: Any = task.get_coro()
        while waiting is not None:
            if (frame := getattr(waiting, "cr_frame", None)) is not None:
                lines += traceback.format_stack(frame, 1)
            waiting = getattr(waiting, "cr_await", None)
    return "".join(lines)


def until(condition: Callable[[], Any], timeout: float = 60.0, pause: float = 0.002) -> None:
    """Wait for something that happens in another thread or process; on a busy machine even what takes no time takes seconds.

    A short pause grows: most conditions ask a server, which has its work to do meanwhile.
    """
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(pause)
        pause = max(pause, min(1.5 * pause, _LONGEST_PAUSE))


@dataclass
class Seen:
    """A request as the upstream got it."""

    method: str
    target: str
    headers: list[tuple[bytes, bytes]]
    body: bytes

    def header(self, name: str) -> str | None:
        values = [value.decode("utf-8") for key, value in self.headers if key == name.encode()]
        assert len(values) < 2, f"{name} came {len(values)} times"
        return values[0] if values else None


class UpstreamServer:
    """An upstream whose answer a test sets: `handler` is a plain ASGI function, `seen` what it was asked."""

    def __init__(self) -> None:
        self.origin = ""
        self.reset()

    def reset(self) -> None:
        """Forget the last test."""
        self.seen: list[Seen] = []
        self.handler: Handler = reply(b"{}")
        self.read_bodies = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        body, more = b"", self.read_bodies
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
        target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
        self.seen.append(Seen(scope["method"], target.decode(), list(scope["headers"]), body))
        await self.handler(scope, receive, send)


def reply(
    *chunks: bytes, status: int = 200, headers: Sequence[tuple[bytes, bytes]] = ((b"content-type", b"application/json"),)
) -> Handler:
    """A handler that answers with these chunks."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": status, "headers": headers})
        for chunk in chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    return handler


@dataclass
class Receipts:
    """A recorder that a test can read. A receipt is written behind its answer, so a client may be quicker than it."""

    so_far: list[Receipt] = field(default_factory=list)
    sections: list[tuple[Any, ...]] = field(default_factory=list)
    rest: Callable[[], None] = lambda: None
    settle: Callable[[], None] = lambda: None

    @property
    def receipts(self) -> list[Receipt]:
        """Those of all requests, once none is being served. While one is, on purpose, `so_far` is to be asked."""
        self.rest()
        return self.so_far

    def record(self, receipt: Receipt, sections: Originals) -> None:
        self.so_far.append(receipt)
        self.sections.append(sections)

    def reset(self) -> None:
        """Forget the last test, whose last receipt may be on its way."""
        self.settle()
        self.so_far, self.sections = [], []

    def one(self) -> Receipt:
        until(lambda: self.so_far)
        assert len(self.so_far) == 1
        return self.so_far[0]


@dataclass
class Answer:
    """A response as a client saw it, headers in order and with repeats."""

    status: int
    headers: Pairs
    body: bytes

    def header(self, name: str) -> str | None:
        values = [value for key, value in self.headers if key.lower() == name]
        assert len(values) < 2, f"{name} came {len(values)} times"
        return values[0] if values else None

    def json(self) -> Any:
        return json.loads(self.body)


def call(
    origin: str, method: str, target: str, body: bytes | None = None, headers: Sequence[tuple[str, str | bytes]] = ()
) -> Answer:
    """One request on a connection of its own, with these headers and no others but host and length."""
    connection = http.client.HTTPConnection(origin.removeprefix("http://"), timeout=60)
    with contextlib.closing(connection):
        return call_on(connection, method, target, body, headers)


def call_on(
    connection: http.client.HTTPConnection,
    method: str,
    target: str,
    body: bytes | None = None,
    headers: Sequence[tuple[str, str | bytes]] = (),
) -> Answer:
    """The same on a connection that is kept."""
    has_host = any(key.lower() == "host" for key, _ in headers)
    connection.putrequest(method, target, skip_host=has_host, skip_accept_encoding=True)
    for key, value in headers:
        connection.putheader(key, value)
    if body is not None and not any(key.lower() in ("content-length", "transfer-encoding") for key, _ in headers):
        connection.putheader("content-length", str(len(body)))
    connection.endheaders(body)
    response = connection.getresponse()
    data = response.read()
    return Answer(response.status, response.getheaders(), data)


def unhurried(settings: StoreSettings) -> StoreSettings:
    """The same, but a healthy store has all the time it needs, unless the settings name a time of their own.

    What a request waits for its store in production is at most a tenth of a second. On a busy machine a test of anything
    else would see the fall-back.
    """
    return settings if "timeout" in settings.model_fields_set else settings.model_copy(update={"timeout": 20.0})


def ample(limits: LimitSettings) -> LimitSettings:
    """The same, but a fold has all the time it needs, unless the limits name a time of their own: in production it has ten
    seconds, which a cold one can take on a busy machine."""
    return limits if "fold_timeout" in limits.model_fields_set else limits.model_copy(update={"fold_timeout": 600.0})


def settings_for(upstream_url: str, **groups: dict[str, Any]) -> Settings:
    """Settings that look at no environment, with this upstream."""
    upstream = {"url": upstream_url} | groups.pop("upstream", {})
    groups.setdefault("store", {"url": "memory://"})
    models = {name: ModelSettings.model_validate(own) for name, own in groups.pop("models", {}).items()}
    base = Settings.model_construct()
    base = base.model_copy(update={"store": unhurried(base.store), "limits": ample(base.limits)})
    values = {name: getattr(base, name).model_copy(update=_validated(base, name, given)) for name, given in groups.items()}
    values["upstream"] = base.upstream.model_copy(update=_validated(base, "upstream", upstream))
    return base.model_copy(update=values | {"models": models})


def _validated(base: Settings, group: str, given: dict[str, Any]) -> dict[str, Any]:
    kind = type(getattr(base, group))
    whole = kind.model_validate(given)
    return {name: getattr(whole, name) for name in given}


def halve(conversation: Conversation, options: FoldOptions, memo: Memo) -> Folded:
    """An engine that is easy to see at work: it keeps the last message of two or more."""
    messages = conversation.messages
    if len(messages) < 2:
        return Folded(conversation, conversation, Changes(), False, "short", 10, 10)
    changes = Changes(dropped=((0, len(messages) - 1),))
    section = Section("s1", "facts", tuple(m.raw for m in messages[:-1]), 100)
    forwarded = conversation.with_changes(changes, memo)
    return Folded(conversation, forwarded, changes, True, "", 120, options.budget or 20, (section,))


class ProxyServer:
    """A proxy in front of an upstream, and what it recorded."""

    def __init__(self, origin: str, recorder: Receipts, limits: LimitSettings | None = None) -> None:
        self.origin = origin
        self.recorder = recorder
        self._limits = limits

    def chat(self, body: Any, *headers: tuple[str, str]) -> Answer:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return call(self.origin, "POST", "/v1/chat/completions", data, [("content-type", "application/json"), *headers])

    @contextlib.contextmanager
    def impatient(self, seconds: float = 0.5) -> Iterator[None]:
        """Requests that begin meanwhile wait so long for their folds, which a test holds up. All others have the time that they
        need on a busy machine."""
        assert self._limits is not None
        before = self._limits.fold_timeout
        object.__setattr__(self._limits, "fold_timeout", seconds)  # frozen: no setting changes in production
        try:
            yield
        finally:
            object.__setattr__(self._limits, "fold_timeout", before)


StartProxy = Callable[..., ProxyServer]


@contextlib.contextmanager
def proxy_server(upstream_url: str, fold: Fold = halve, **groups: dict[str, Any]) -> Iterator[tuple[ProxyServer, Running]]:
    """A proxy with these settings and this engine."""
    recorder = Receipts()

    def build_proxy(settings: Settings) -> ASGIApp:
        return build(settings, recorder=recorder, engine=fold, warm=lambda _: None)

    settings = settings_for(upstream_url, **groups)
    config = configuration(settings, build_proxy, **NO_LOGGING, workers=1, timeout_graceful_shutdown=5)
    with running(config) as server:
        recorder.rest, recorder.settle = server.rest, server.settle
        yield ProxyServer(server.origin, recorder, settings.limits), server


@contextlib.contextmanager
def api_server(store_url: str, upstream: str = NOWHERE, *, engine: Fold = fold, **groups: Any) -> Iterator[str]:
    """A server as ``turnfold serve`` starts it; gives its origin.

    Args:
        engine: another engine: one that shares its memory with other tests folds what they have folded in no time.
        groups: further settings, by group.
    """
    settings = Settings(
        upstream=UpstreamSettings(url=upstream, **groups.pop("upstream_settings", {})),
        store=unhurried(StoreSettings(url=store_url, **groups.pop("store_settings", {}))),
        limits=ample(LimitSettings.model_validate(groups.pop("limits", {}))),
        **groups,
    )
    warm(settings)  # once for the process; on a busy machine it takes longer than a start may
    app = partial(build, engine=engine)
    with running(configuration(settings, app, **NO_LOGGING, workers=1, timeout_graceful_shutdown=5)) as server:
        yield server.origin

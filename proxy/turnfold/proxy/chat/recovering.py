"""Sending a smaller request after the context was full.

This module reads the beginning of a response before the client sees it, and drives ``fit.recover``, which decides what an
overflow is and makes the request smaller. It does not relay.

A response loses nothing: the part that was read is returned again, so that the relay passes on the upstream's bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from turnfold.compression.fit.overflow import SCANNED
from turnfold.compression.fit.recover import Outcome, Resend, UpstreamReply
from turnfold.compression.summary.calls import ModelCall, ModelReply
from turnfold.proxy.http.codings import CodedBodyBroken, CodedBodyTooLarge, Inflater, is_readable
from turnfold.proxy.http.headers import first_of
from turnfold.proxy.http.refusals import RawHeaders
from turnfold.proxy.outbound.relay import RelayableAnswer

T = TypeVar("T")

_PATIENCE: Final = 10.0  # seconds for which a response is held back: refusals come at once, a slow model's first word may not
_MOST_HELD: Final = 2**20  # bytes of a stream's beginning; its first event may repeat the whole request's instructions
# Statuses of answers whose bodies are read before they are passed on; Bedrock tells of a model's refusal under 424, some gateways
# under 503.
_LOOKED_AT: Final = frozenset({400, 413, 422, 424, 500, 503})
#: An event that comes before anything is known of the answer (OpenAI, Responses; Anthropic), or a comment.
_ARRIVED: Final = re.compile(
    rb"(?:event: ?(?:response\.(?:created|in_progress|queued)|message_start|ping)\r?\n(?:data:[^\r\n]*\r?\n)+|:[^\r\n]*\r?\n)"
    rb"\r?\n"
)
_CHUNK: Final = re.compile(rb"data: ?(\{[^\r\n]*)\r?\n\r?\n")

Send = Callable[[bytes], Awaitable[RelayableAnswer]]
#: Runs CPU-heavy work outside the event loop.
Run = Callable[[Callable[[], T]], Awaitable[T]]


class PeekedResponse:
    """A response whose beginning was read, and which still returns all of it.

    Attributes:
        head: the beginning of its body, without its content coding; of a stream its first event that says how it goes.
        in_stream: whether it has status 200.
    """

    def __init__(self, answer: RelayableAnswer) -> None:
        self.status = answer.status
        self.headers = answer.headers
        self.in_stream = answer.status == 200
        self._answer = answer
        self._rest = answer.chunks()
        self._held: list[tuple[bytes, bool]] = []
        self._waiting: asyncio.Task[tuple[bytes, bool]] | None = None

    @property
    def says_nothing_yet(self) -> bool:
        """Whether it has status 200, and nothing of it was read yet."""
        return self.in_stream and not self._held

    @property
    def read(self) -> bytes:
        """The part of its body that was read, without its content coding."""
        return _plain(b"".join(chunk for chunk, _ in self._held), _header(self.headers, b"content-encoding"))

    @property
    def head(self) -> bytes:
        """The beginning that was read so far."""
        return _telling(self.read) if self.status == 200 else self.read

    async def look(self, *, inside: bool) -> None:
        """Read as much as tells an overflow; what comes late is not waited for, what cannot be read is not looked at.

        Args:
            inside: whether an answer with status 200 is looked at too, which holds its head back until its first event.
        """
        enough = self._enough() if inside or self.status != 200 else None
        if enough is None:
            return
        deadline = asyncio.get_running_loop().time() + _PATIENCE
        while not enough(self.head) and not self._is_whole():
            if not await self._read_before(deadline):
                return

    def _enough(self) -> Callable[[bytes], bool] | None:
        """A check whether enough was read; None if nothing needs to be read."""
        coding = _header(self.headers, b"content-encoding")
        if coding not in (b"", b"identity") and not is_readable(coding.decode("latin-1")):
            return None
        if self.status == 200:
            return _has_event if _header(self.headers, b"content-type").startswith(b"text/event-stream") else _is_no_error
        return _never if self.status in _LOOKED_AT else None

    def _is_whole(self) -> bool:
        most = _MOST_HELD if self.status == 200 else SCANNED
        return bool(self._held) and (self._held[-1][1] or sum(len(chunk) for chunk, _ in self._held) >= most)

    async def _read_before(self, deadline: float) -> bool:
        """One more chunk; False at the end, or when none came in time, or none but a failure: those are given with the rest."""
        task = self._waiting or asyncio.ensure_future(anext(self._rest))
        self._waiting = task
        done, _ = await asyncio.wait([task], timeout=max(0.0, deadline - asyncio.get_running_loop().time()))
        if not done or task.exception() is not None:
            return False
        self._waiting = None
        self._held.append(task.result())
        return True

    def chunks(self) -> AsyncIterator[tuple[bytes, bool]]:
        """See the answer itself: what was looked at first, then the rest."""
        return self._beginning_and_rest() if self._held or self._waiting is not None else self._rest

    async def _beginning_and_rest(self) -> AsyncIterator[tuple[bytes, bool]]:
        for held in self._held:
            yield held
        if self._waiting is not None:
            try:
                yield await self._waiting
            except StopAsyncIteration:
                return
        async for chunk in self._rest:
            yield chunk

    def close(self) -> None:
        """See the answer itself."""
        task, self._waiting = self._waiting, None
        if task is not None:
            task.cancel()  # of one that has failed meanwhile, the event loop then no longer says that nobody looked
        self._answer.close()


@dataclass(frozen=True, slots=True)
class Recovered:
    """How a recovery ended.

    Attributes:
        answer: the answer that the client gets.
        unseen: the beginning of an answer that the client never gets; it may say what it cost.
    """

    answer: PeekedResponse
    outcome: Outcome
    unseen: bytes = b""


Flow = Generator[Resend | ModelCall, Any, Outcome]
#: Asks Turnfold's own model.
Ask = Callable[[ModelCall], Awaitable[ModelReply | None]]


async def resend(
    flow: Flow,
    first: PeekedResponse,
    send: Send,
    run: Run[Resend | ModelCall | Outcome],
    failures: tuple[type[Exception], ...],
    ask: Ask,
) -> Recovered:
    """Drive a recovery: make the request smaller, send it once more. The caller closes the answer that comes back; the first
    one is closed here where another took its place.

    Args:
        run: calls a function outside of the event loop.
        failures: what `send` raises when no answer came: then the original error stands.
        ask: asks for a summary of what is left out.
    """
    step = await run(lambda: _advance(flow, None))
    while isinstance(step, ModelCall):
        written = await ask(step)
        step = await run(lambda written=written: _advance(flow, written))  # type: ignore[misc]
    if isinstance(step, Outcome):
        return Recovered(first, step)
    with contextlib.ExitStack() as unless_served:
        try:
            second = PeekedResponse(await send(step.forwarded.body))
        except failures:
            return Recovered(first, _failed(flow))
        unless_served.callback(second.close)
        await second.look(inside=True)
        reply = UpstreamReply(second.status, second.head, second.in_stream)
        outcome = await run(lambda: _advance(flow, reply))
        assert isinstance(outcome, Outcome)  # noqa: S101 - the flow yields once
        if not outcome.recovered:
            return Recovered(first, outcome, second.read)
        unless_served.pop_all()
    first.close()
    return Recovered(second, outcome, first.read)


def _failed(flow: Flow) -> Outcome:
    """The outcome if the second request got no response."""
    outcome = _advance(flow, UpstreamReply(599, b"", in_stream=False))
    assert isinstance(outcome, Outcome)  # noqa: S101 - the flow yields once
    return outcome


def _advance(flow: Flow, reply: UpstreamReply | ModelReply | None) -> Resend | ModelCall | Outcome:
    try:
        return flow.send(reply)
    except StopIteration as done:
        outcome: Outcome = done.value
        return outcome


def _never(_: bytes) -> bool:
    return False


def _telling(head: bytes) -> bytes:
    """A stream from its first event on that says more than that the request has arrived."""
    while (said := _ARRIVED.match(head)) or ((said := _CHUNK.match(head)) and _is_empty(said[1])):
        head = head[said.end() :]
    return head


def _is_empty(chunk: bytes) -> bool:
    """Whether a chunk of a chat tells who speaks, at most: OpenAI's first one does; Azure's has no choices yet."""
    try:
        told = json.loads(chunk)
        choices = [] if told.get("error") or told.get("usage") else [{}, *told["choices"]]
        deltas = [{**(choice.get("delta") or {}), "role": choice.get("finish_reason")} for choice in choices]
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return False
    return bool(deltas) and not any(value for delta in deltas for value in delta.values())


def _has_event(head: bytes) -> bool:
    """Whether the first event of a stream is complete; comments do not count."""
    event = head.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return any(b"data:" in block for block in event.split(b"\n\n")[:-1])


def _is_no_error(head: bytes) -> bool:
    """Whether a JSON answer with status 200 is seen not to be an error in disguise."""
    start = head.lstrip()[:40].replace(b" ", b"")
    return bool(start) and not start.startswith((b'{"error"', b'[{"error"', b'{"object":"error"', b'{"type":"error"'))


def _header(headers: RawHeaders, name: bytes) -> bytes:
    return (first_of(headers, name) or b"").strip().lower()


def _plain(data: bytes, coding: bytes) -> bytes:
    """The beginning of a body without its coding, as far as it can be read."""
    if coding in (b"", b"identity") or not data:
        return data
    found = bytearray()
    with contextlib.suppress(CodedBodyBroken, CodedBodyTooLarge):
        for piece in Inflater(coding.decode("ascii"), _MOST_HELD).pieces(data):
            found += piece
    return bytes(found)

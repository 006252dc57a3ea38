"""One chat completion, station by station: fold, forward, relay, record.

Lives here: the order of the stations, and THE place where a failure of ours sends the original instead (law 2). Must not:
how a station does its work, parsing of the request's head (``routes/chat``).

Folding is CPU: this is the one place where it leaves the event loop. Bodies go to one of two lanes by size, so that a small
request never waits behind cold folds of large ones; the smallest, of which nothing can be folded, do not leave it.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import re
import time
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import orjson
from starlette.types import Send
from yarl import URL

from turnfold.compression import tokens
from turnfold.compression.calibration import Learned, is_truncated
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.recover import Call, Outcome, fit
from turnfold.compression.fold import Section
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.config.settings import LimitSettings, Mode, StateMode
from turnfold.proxy.books.replaced import with_replacements
from turnfold.proxy.books.rollups import HELD_OUT
from turnfold.proxy.chat import recovering
from turnfold.proxy.chat.holdout import held_out
from turnfold.proxy.chat.receipts import OwnCall, Receipt, Recorder, Status, Usage
from turnfold.proxy.chat.relay import relay
from turnfold.proxy.chat.stating import Asked, Decided, FoldFunction, Local, Stated, Stating
from turnfold.proxy.chat.trail import Trails, trail_of
from turnfold.proxy.chat.upstream import Answer, Upstream, UpstreamFailed, refusal
from turnfold.proxy.chat.usage import UsageReader
from turnfold.proxy.chat.windows import Spot, Windows
from turnfold.proxy.http.headers import first, returned, without
from turnfold.proxy.http.limits import plain_body
from turnfold.proxy.http.refusals import Refused

T = TypeVar("T")

OptionsFor = Callable[[str, int | None], FoldOptions]

_INSTANT_BODY: Final = 4096  # about 1,000 tokens, far from the 6,000 at which folding begins
_LIGHT_BODY: Final = 32768  # about 8,000 tokens: a few milliseconds even when nothing of it is memoised
_MOST_OBSERVED: Final = 256 * 2**20  # bytes of bodies that wait to be folded for the record
_QUIET_PAUSE: Final = 0.05  # seconds between two looks whether it is quiet
_QUIET_LOOKS: Final = 200
_FAREWELL: Final = 5.0  # seconds that observed folds get to end when the process does
_OUR_REPLY_HEADERS: Final = (
    b"x-turnfold-status",
    b"x-turnfold-reason",
    b"x-turnfold-tokens-before",
    b"x-turnfold-tokens-after",
    b"x-turnfold-overhead-ms",
    b"x-turnfold-state",
    b"x-turnfold-request-id",
)

_NOTHING_LEARNED: Final = Learned()
_NOT_A_SLUG: Final = re.compile(r"[^\w.-]+", re.ASCII)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request, read and let in.

    Attributes:
        at: Unix time of arrival.
        started: the monotonic clock at arrival.
        read: the monotonic clock when the body was whole; our own time counts from here.
        headers: what the upstream gets, names in lower case, without a length.
        coding: the body's content coding, lower case; "" for none.
        body: as received; once the state was looked up, with its blocks.
        verdict: what became of it under the state; "" where state is off.
        stated: the request with its blocks, where there are any.
    """

    id: str
    at: float
    started: float
    read: float
    url: URL
    headers: list[tuple[str, str]]
    coding: str
    body: bytes
    mode: Mode
    budget: int | None
    conversation: str | None
    tenant: str
    state: StateMode = "off"
    verdict: str = ""
    stated: Stated | None = None

    def with_state(self, decided: Decided) -> ChatRequest:
        """The request as the state makes it."""
        if decided.stated is None:
            return replace(self, verdict=decided.verdict)
        headers = [pair for pair in self.headers if pair[0] != "content-encoding"]
        made = replace(self, body=decided.stated.body, headers=headers, coding="")
        return replace(made, verdict=decided.verdict, stated=decided.stated)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What the fold station hands on. `tokens` are before and after, None where nobody counted.

    Attributes:
        conversation: the client's label, else the engine's name for it.
        received: the client's body without its coding, where it can be folded; else nothing is recovered.
        local: an answer of our own, instead of the upstream's.
        known: what was learned of the model's window and count when this was made.
    """

    body: bytes
    status: Status
    reason: str = ""
    tokens: tuple[int, int] | None = None
    sections: tuple[Section, ...] = ()
    model: str = ""
    folded: bool = False
    received: bytes | None = None
    conversation: str | None = None
    known: Learned = _NOTHING_LEARNED
    local: Local | None = None
    trails: Trails | None = None
    calls: tuple[OwnCall, ...] = ()

    def without_bodies(self) -> Outgoing:
        """The same once it was sent and answered; whether there was something to recover stays known."""
        return replace(self, body=b"", received=None if self.received is None else b"")


@dataclass(slots=True)
class _Progress:
    """How far one exchange got; written by its stations, read once for the receipt."""

    outgoing: Outgoing
    reader: UsageReader
    sent: float | None = None
    upstream_status: int | None = None
    first_byte: float | None = None
    streamed: bool = False
    complete: bool = False

    def see(self, chunk: bytes) -> None:
        """The watch of the response's bytes."""
        if self.first_byte is None:
            self.first_byte = time.perf_counter()
        self.reader.feed(chunk)


class Service:
    """The stations, with what they share.

    Attributes:
        failures: how often the original went out because of a failure of ours, by reason.
    """

    def __init__(
        self,
        upstream: Upstream,
        recorder: Recorder,
        fold: FoldFunction,
        options_for: OptionsFor,
        limits: LimitSettings,
        windows: Windows | None = None,
        stating: Stating | None = None,
        holdout_share: float = 0.0,
    ) -> None:
        self.failures: Counter[str] = Counter()
        self._upstream = upstream
        self._recorder = recorder
        self._fold = fold
        self._options_for = options_for
        self._limits = limits
        self._windows = windows or Windows()
        self._stating = stating or Stating("local", options_for, limits)
        self._holdout_share = holdout_share
        self._memo = Memo()
        self._light = ThreadPoolExecutor(1, "turnfold-light")
        self._heavy = ThreadPoolExecutor(limits.max_fold_workers, "turnfold-fold")
        self._observing: dict[asyncio.Task[None], int] = {}
        self._serving = 0
        self._closing = False

    async def close(self) -> None:
        """Finish what is observed, then stop the threads; folds that are queued are dropped."""
        self._closing = True
        if self._observing:
            _, late = await asyncio.wait(self._observing, timeout=_FAREWELL)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        for lane in (self._light, self._heavy):
            lane.shutdown(wait=False, cancel_futures=True)

    async def serve(self, request: ChatRequest, send: Send) -> None:
        """Serve one request.

        Raises:
            Refused: there is no answer of the upstream's to pass on, or the body unpacks to more than the limit.
        """
        progress = _Progress(Outgoing(request.body, "passthrough", "client-left"), UsageReader())
        self._serving += 1
        try:
            request, progress.outgoing = await self._prepare(request)
            answer = progress.outgoing.local or await self._forward(request, progress)
            if request.mode != "observe":  # streams last minutes: let go of what they need no more
                request, progress.outgoing = replace(request, body=b"", stated=None), progress.outgoing.without_bodies()
            try:
                await self._relay(request, answer, progress, send)
            finally:
                answer.close()
            self._learn(request, progress)
        except Refused as refused:
            if progress.sent is None:
                progress.outgoing = replace(progress.outgoing, reason=refused.code)
            raise
        finally:
            self._serving -= 1
            self._record(request, progress)

    async def _prepare(self, request: ChatRequest) -> tuple[ChatRequest, Outgoing]:
        """The request as its state makes it, and what goes out."""
        if request.state != "off":
            enforce = request.state == "enforce"
            asked = Asked(request.body, request.coding, request.tenant, request.conversation, request.at, enforce)
            in_lane = functools.partial(self._in_lane, request)
            decided = await self._guarded(request, self._stating.decide(asked, self._memo, in_lane))
            if isinstance(decided, Outgoing):
                return request, decided
            request = request.with_state(decided)
            if decided.local is not None:
                reason = f"state-{decided.verdict}"
                return request, Outgoing(b"", "answered", reason, model=decided.model, local=decided.local)
        if request.mode == "off":
            return request, Outgoing(request.body, "bypassed")
        if request.mode == "observe":
            return request, Outgoing(request.body, "observed")
        return request, await self._folded(request)

    async def _folded(self, request: ChatRequest) -> Outgoing:
        """The fold station."""
        return await self._guarded(request, self._fold_in_lane(request))

    async def _fold_in_lane(self, request: ChatRequest) -> Outgoing:
        loop = asyncio.get_running_loop()
        if (model := _instant(request)) is not None:
            known = await self._windows.known(self._spot(request, model))
            return self._fold_body(request, lambda _: known)
        work = functools.partial(self._fold_body, request, functools.partial(self._known, request, loop))
        return await loop.run_in_executor(self._lane(request), work)

    def _lane(self, request: ChatRequest) -> ThreadPoolExecutor:
        return self._light if len(request.body) <= _LIGHT_BODY and not request.coding else self._heavy

    async def _in_lane(self, request: ChatRequest, work: Callable[[], T]) -> T:
        """Do work on a request's body; for the smallest it takes less than going to a thread."""
        if len(request.body) <= _INSTANT_BODY and not request.coding:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._lane(request), work)

    async def _guarded(self, request: ChatRequest, work: Awaitable[T]) -> T | Outgoing:
        """Whatever goes wrong in a station, the request goes out as it is."""
        try:
            async with asyncio.timeout(self._limits.fold_timeout):  # no task of its own: most requests are small
                return await work
        except Refused:
            raise
        except TimeoutError:
            return self._failed_open(request, "slow")
        except FoldRejected as exc:
            return self._failed_open(request, exc.reason)
        except Exception as exc:  # the one fail-open: no fault of the engine may cost a request
            where = traceback.extract_tb(exc.__traceback__)[-1]
            _log.warning("%s: %s at %s:%s", request.id, type(exc).__name__, where.filename, where.lineno)
            return self._failed_open(request, type(exc).__name__)

    def _failed_open(self, request: ChatRequest, reason: str) -> Outgoing:
        self.failures[reason] += 1
        _log.warning("%s: sent unfolded (%s)", request.id, reason)
        received = request.stated.lean if request.stated else None if request.coding else request.body
        return Outgoing(request.body, "failed-open", reason, received=received)

    def _fold_body(self, request: ChatRequest, known_of: Callable[[str], Learned]) -> Outgoing:
        """Runs in a lane's thread, unless it is done before a thread would have begun."""
        stated = request.stated
        plain = stated.lean if stated else plain_body(request.body, request.coding, self._limits)
        if plain is None:
            return Outgoing(request.body, "passthrough", "content-encoding")
        head = _head(plain)
        if head is None:
            return Outgoing(request.body, "passthrough", "unparsable")
        model, known = head.model, known_of(head.model)
        fitted = fit(plain, self._options_for(model, request.budget), self._fold_of(request), self._memo, known)
        result, tokens = fitted.folded, (fitted.folded.tokens_before, fitted.tokens)
        whole = stated.plain if stated else plain
        name = request.conversation or result.conversation
        made = Outgoing(
            request.body, "passthrough", result.reason, tokens, model=model, received=plain, known=known, conversation=name,
            trails=_trails(whole, request.body if stated else plain, head.keys) if tokens[0] else None,
        )  # fmt: skip
        if request.mode == "on" and held_out(name, self._holdout_share):
            return replace(made, status="bypassed", reason=HELD_OUT, tokens=(tokens[0], tokens[0]), received=None)
        if not (result.folded or fitted.fitted):
            return made
        if tokens[1] >= tokens[0] and not stated:  # blocks take room of their own
            raise FoldRejected("not-smaller")
        reason = "window" if fitted.fitted else result.reason
        made = replace(made, body=fitted.body, status="folded", reason=reason, sections=with_replacements(result), folded=True)
        return replace(made, trails=_trails(whole, fitted.body, head.keys))

    def _fold_of(self, request: ChatRequest) -> FoldFunction:
        return request.stated.fold(self._fold) if request.stated else self._fold

    def _known(self, request: ChatRequest, loop: asyncio.AbstractEventLoop, model: str) -> Learned:
        """What was learned of a model's window, asked from a lane's thread, where the model's name is first known."""
        return asyncio.run_coroutine_threadsafe(self._windows.known(self._spot(request, model)), loop).result(1.0)

    def _spot(self, request: ChatRequest, model: str) -> Spot:
        return Spot(request.tenant, str(request.url.origin()), model)

    async def _forward(self, request: ChatRequest, progress: _Progress) -> recovering.Peeked:
        progress.sent = time.perf_counter()
        try:
            served = await self._served(request, progress.outgoing)
        except UpstreamFailed as exc:
            _log.warning("%s: %s", request.id, type(exc).__name__)
            raise refusal(exc) from exc
        if served.overflow is not None:
            await self._after_overflow(request, progress, served)
        answer = served.answer
        progress.upstream_status = answer.status
        progress.reader = UsageReader((first(_lowered(answer), b"content-encoding") or b"").strip().lower().decode("latin-1"))
        return answer

    async def _served(self, request: ChatRequest, outgoing: Outgoing) -> recovering.Served:
        """Send it; where its context was full and we may touch it, once more."""

        async def send(body: bytes) -> Answer:
            headers = [pair for pair in request.headers if body is request.body or pair[0] != "content-encoding"]
            return await self._upstream.send("POST", request.url, headers, body)

        if outgoing.received is None:
            return recovering.Served(recovering.Peeked(await send(outgoing.body)))
        options = self._options_for(outgoing.model, request.budget)
        known = outgoing.known
        suspect = outgoing.tokens is not None and known.may_overflow(known.theirs(outgoing.tokens[1]))
        wanted = recovering.Request(outgoing.received, outgoing.body, outgoing.folded, options, known, suspect)
        return await recovering.serve(wanted, send, self._fold_of(request), self._memo, self._step, (UpstreamFailed,))

    async def _step(self, work: Callable[[], Call | Outcome]) -> Call | Outcome:
        """A step of a recovery; whatever goes wrong in it, the upstream's own error stands."""
        try:
            step = asyncio.get_running_loop().run_in_executor(self._heavy, work)
            return await asyncio.wait_for(step, self._limits.fold_timeout)
        except Exception as exc:  # the same fail-open as of a fold
            self.failures[f"recovery-{type(exc).__name__}"] += 1
            _log.warning("recovery: %s", type(exc).__name__)
            return Outcome(False, "failed", None, 0, 0)

    async def _after_overflow(self, request: ChatRequest, progress: _Progress, served: recovering.Served) -> None:
        outgoing, outcome = progress.outgoing, served.outcome
        if served.overflow is None or outcome is None:
            return
        outgoing = progress.outgoing = replace(outgoing, calls=_unseen_call(outgoing.model, served.unseen))
        theirs = served.overflow.requested or outgoing.known.theirs(outcome.tokens_before)
        limit = outcome.window or served.overflow.limit
        known = await self._windows.refused(self._spot(request, outgoing.model), limit, theirs)
        _log.info("%s: context full, %s", request.id, "recovered" if outcome.recovered else outcome.reason)
        if not outcome.recovered or outcome.body is None:
            progress.outgoing = replace(outgoing, reason=f"overflow-{outcome.reason}", known=known)
            return
        before = outgoing.tokens[0] if outgoing.tokens else outcome.tokens_before
        progress.outgoing = replace(
            outgoing,
            body=outcome.body,
            status="recovered",
            reason=f"overflow-{served.overflow.kind}",
            tokens=(before, outcome.tokens_after),
            sections=outcome.sections,
            known=known,
            trails=_trails(outgoing.received or b"", outcome.body, tuple(orjson.loads(outcome.body))),
        )

    def _learn(self, request: ChatRequest, progress: _Progress) -> None:
        """Compare the upstream's count with ours; say so where it must have dropped text without a word."""
        outgoing, reported = progress.outgoing, _prompt(progress.reader.usage)
        if outgoing.received is None or outgoing.tokens is None or reported is None or progress.upstream_status != 200:
            return
        ours = outgoing.tokens[1]
        if is_truncated(outgoing.known, ours, reported):
            _log.warning(
                "%s: the upstream read %d of about %d tokens: it cuts prompts off in silence", request.id, reported, ours
            )
            progress.outgoing = replace(outgoing, reason="upstream-truncated")
        task = asyncio.get_running_loop().create_task(self._remember(self._spot(request, outgoing.model), ours, reported))
        self._observing[task] = 0
        task.add_done_callback(self._observing.pop)

    async def _remember(self, spot: Spot, ours: int, reported: int) -> None:
        await self._windows.taken(spot, ours, reported)

    async def _relay(self, request: ChatRequest, answer: recovering.Answer, progress: _Progress, send: Send) -> None:
        progress.streamed = _is_event_stream(answer)
        headers = without(returned(answer.headers, answer.status), *_OUR_REPLY_HEADERS)
        headers += _reply_headers(request, progress)
        if progress.streamed and first(_lowered(answer), b"x-accel-buffering") is None:
            headers.append((b"x-accel-buffering", b"no"))  # else nginx in front of us gathers the stream
        try:
            await relay(answer, headers, send, progress.see)
            progress.complete = True
        except UpstreamFailed as exc:  # the head is out: returning now makes the server cut the connection
            _log.warning("%s: %s in mid-response", request.id, type(exc).__name__)

    def _record(self, request: ChatRequest, progress: _Progress) -> None:
        ended = time.perf_counter()
        if progress.outgoing.status != "observed":
            self._recorder.record(_receipt(request, progress, ended), progress.outgoing.sections)
            return
        if sum(self._observing.values()) + len(request.body) > _MOST_OBSERVED:
            progress.outgoing = replace(progress.outgoing, reason="observer-busy")
            self._recorder.record(_receipt(request, progress, ended), ())
            return
        task = asyncio.get_running_loop().create_task(self._observe(request, progress, ended))
        self._observing[task] = len(request.body)
        task.add_done_callback(self._observing.pop)

    async def _observe(self, request: ChatRequest, progress: _Progress, ended: float) -> None:
        """Fold for the record what went out unfolded, as soon as nobody waits for anything else."""
        try:
            await self._quiet()
            would = await self._folded(request)
        except Refused as exc:
            would = Outgoing(request.body, "observed", exc.code)
        except asyncio.CancelledError:  # the process ends; the request itself was served and is recorded
            would = Outgoing(request.body, "observed", "stopped")
        progress.outgoing = replace(would, status="observed", sections=())
        self._recorder.record(_receipt(request, progress, ended), ())

    async def _quiet(self) -> None:
        """Wait for a moment without requests, but not for long."""
        for _ in range(_QUIET_LOOKS):
            if self._closing:
                return
            await asyncio.sleep(_QUIET_PAUSE)
            if not self._serving:
                return


def _instant(request: ChatRequest) -> str | None:
    """The model of a request so small that nothing will be folded: parsing and counting it takes less than going to a thread.

    None where a vocabulary would have to be loaded first, and with a budget, which may ask for a fold of anything.
    """
    if len(request.body) > _INSTANT_BODY or request.coding or request.budget is not None or request.mode != "on":
        return None
    head = _head(request.body)
    return head.model if head is not None and tokens.encoding_for_model(head.model) == tokens.BORDER_ENCODING else None


@dataclass(frozen=True, slots=True)
class _Head:
    """What stands around a request's messages: the model's name ("" without one), and all keys in their order."""

    model: str
    keys: tuple[str, ...]


def _head(body: bytes) -> _Head | None:
    """None when the body is no JSON object that can be folded."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(value, dict):
        return None
    model = value.get("model")
    return _Head(model if isinstance(model, str) else "", tuple(value))


def _trails(received: bytes, sent: bytes, keys: tuple[str, ...]) -> Trails | None:
    """None for a request so small that no provider would have cached it."""
    if len(received) <= _INSTANT_BODY:
        return None
    trail = trail_of(received, keys)
    return Trails(trail, trail if sent is received else trail_of(sent, keys))


def _unseen_call(model: str, head: bytes) -> tuple[OwnCall, ...]:
    """The call whose answer the client does not get, if it says what it cost: as a rule a refusal costs nothing."""
    reader = UsageReader()
    reader.feed(head)
    return () if reader.usage.prompt_tokens is None else (OwnCall("refused", reader.model or model, reader.usage),)


def _lowered(answer: recovering.Answer) -> list[tuple[bytes, bytes]]:
    return [(key.lower(), value) for key, value in answer.headers]


def _is_event_stream(answer: recovering.Answer) -> bool:
    return (first(_lowered(answer), b"content-type") or b"").lower().startswith(b"text/event-stream")


def _prompt(usage: Usage) -> int | None:
    """Prompt tokens as reported, cached ones included: where these are more than the prompt, they were counted apart."""
    prompt, cached = usage.prompt_tokens, (usage.cached_tokens or 0) + (usage.cache_write_tokens or 0)
    return None if prompt is None else prompt + cached if cached > prompt else prompt


def _overhead(request: ChatRequest, progress: _Progress) -> float:
    return 0.0 if progress.sent is None else (progress.sent - request.read) * 1000


def _reply_headers(request: ChatRequest, progress: _Progress) -> list[tuple[bytes, bytes]]:
    outgoing = progress.outgoing
    headers = [(b"x-turnfold-status", outgoing.status.encode())]
    if outgoing.reason:
        headers.append((b"x-turnfold-reason", _NOT_A_SLUG.sub("-", outgoing.reason).encode()))
    if outgoing.tokens is not None:
        headers.append((b"x-turnfold-tokens-before", b"%d" % outgoing.tokens[0]))
        headers.append((b"x-turnfold-tokens-after", b"%d" % outgoing.tokens[1]))
    if request.verdict:
        headers.append((b"x-turnfold-state", request.verdict.encode()))
    headers.append((b"x-turnfold-overhead-ms", b"%.2f" % _overhead(request, progress)))
    headers.append((b"x-turnfold-request-id", request.id.encode()))
    return headers


def _receipt(request: ChatRequest, progress: _Progress, ended: float) -> Receipt:
    outgoing = progress.outgoing
    before, after = outgoing.tokens or (0, 0)
    first_byte = progress.first_byte
    return Receipt(
        request_id=request.id,
        at=request.at,
        tenant=request.tenant,
        model=outgoing.model or progress.reader.model,
        conversation=outgoing.conversation or request.conversation,
        status=outgoing.status,
        reason=outgoing.reason,
        tokens_before=before,
        tokens_after=after,
        usage=progress.reader.usage if progress.upstream_status is not None else Usage(),
        upstream_status=progress.upstream_status,
        overhead_ms=_overhead(request, progress),
        first_byte_ms=None if first_byte is None else (first_byte - request.started) * 1000,
        total_ms=(ended - request.started) * 1000,
        streamed=progress.streamed,
        complete=progress.complete,
        state=request.verdict,
        calls=outgoing.calls,
        trails=outgoing.trails,
    )

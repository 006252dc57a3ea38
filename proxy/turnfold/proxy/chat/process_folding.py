"""Large requests, read and folded in a process of their own.

The messages between the two processes and the serving process's side are here. The other side is ``fold_process``; processes and
turns are in ``lanes``.

How a request is folded depends on its size alone, so that every replica agrees: up to `LARGE` bytes in a thread, up to
`MOST_FOLDED` in a process, beyond that not at all. If the serving process already knows nearly all of a large request, it folds
it itself, into the same bytes (``chat.folding``). What becomes of a fold that takes too long is decided in ``chat.abandoning``.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from hashlib import blake2b
from typing import Any, Final, TypeVar

from turnfold.compression.calibration import Learned
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.overflow import Overflow
from turnfold.compression.fit.recover import Outcome, Resend, UpstreamReply, conclude
from turnfold.compression.fit.unpriced import Attached
from turnfold.compression.fold.outlook import Outlook
from turnfold.compression.options import FoldDecision, FoldOptions, Keep, Precedence, Precedent
from turnfold.compression.wire.conversation import Conversation, Wire
from turnfold.compression.wire.message import Messages
from turnfold.config.settings import Mode
from turnfold.proxy.chat.abandoning import SLOW_BEFORE, AbandonedFolds, FoldInProgress
from turnfold.proxy.chat.exchange import Exchange
from turnfold.proxy.chat.receipts import PackedSection, Status
from turnfold.proxy.lanes.processes import FoldProcess, FoldProcesses
from turnfold.proxy.learning.deciding import Place
from turnfold.proxy.learning.window_records import UpstreamModel
from turnfold.proxy.learning.windows import Windows
from turnfold.proxy.trails.trail import Trails

T = TypeVar("T")

#: What is done once a fold was made: with the exchange before it, the borders of its body, and its options.
Meet = Callable[[Exchange, Sequence[int], FoldOptions], None]
#: Folds a conversation, of a model and of an engine's name, under all decisions; what is decided is kept before it returns.
Decide = Callable[[Exchange, str, str, Callable[[FoldOptions], Awaitable[Exchange]]], Awaitable[Exchange]]

#: Bytes of a body, without its coding, up to which single calls of a fold (JSON, regular expressions) hold the interpreter for
#: less than a tenth of the 250 ms that another request may wait (``benchmarks/stalls.py``). It is about 130,000 tokens.
LARGE: Final = 512 * 2**10
#: About 2 million tokens: more than nearly every model takes, and a cold fold of it takes longer than the time-out.
MOST_FOLDED: Final = 8 * 2**20
_BEGINNING: Final = LARGE // 2  # bytes: conversations that share only tools and instructions differ before that


@dataclass(frozen=True, slots=True)
class Work:
    """A request as the other process gets it, without its body.

    Attributes:
        wire: name of the format of its body.
    """

    id: str
    wire: str
    mode: Mode
    budget: int | None
    label: str | None
    keep: Keep


@dataclass(frozen=True, slots=True)
class FoldWork(Work):
    """Read it, answer with `RequestRead`; fold it for each `FoldConditions` sent, answer with `FoldedBody`; None: stop.

    Attributes:
        asks_borders: whether the serving process will read it step by step too.
    """

    asks_borders: bool = False


@dataclass(frozen=True, slots=True)
class FoldConditions:
    """What a fold depends on besides settings and request: what was learned about the model, beliefs and decisions; and what
    else to report."""

    known: Learned
    belief: FoldDecision | None
    precedents: tuple[Precedent, ...]
    borrowed: tuple[Precedent, ...]
    heard: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RecoverWork(Work):
    """Make a request fit; answered with `RecoveryPlan`. The second body is the one sent, empty if that was the first."""

    known: Learned
    overflow: Overflow


@dataclass(frozen=True, slots=True)
class BareWork(Work):
    """Take thinking out of what was sent, its second body; answer with `BareBody`.

    Attributes:
        refused: keys of the messages that lose it; None: all.
    """

    refused: frozenset[bytes] | None = None


@dataclass(frozen=True, slots=True)
class WorkFailed:
    """Why there is no answer: the engine's slug or the class of an exception."""

    reason: str


@dataclass(frozen=True, slots=True)
class RequestRead:
    """What was read; if `reason` is set, the request cannot be folded and is sent unchanged.

    Attributes:
        name: the engine's.
        loop, compacted, unpriced: as of `Exchange`.
        borders: where it may end (``wire.beginnings``), if that was asked and no message is too large.
    """

    reason: str
    model: str = ""
    name: str = ""
    loop: bool = False
    compacted: bool = False
    unpriced: bool = False
    borders: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FoldedBody:
    """What became of it: fields of an `Exchange`, by their names there. What goes out follows as a body, unless it is what came
    in."""

    status: Status
    reason: str
    tokens: tuple[int, int] | None
    name: str | None
    folded: bool
    recoverable: bool
    trails: Trails | None
    sections: tuple[PackedSection, ...]
    betas: tuple[str, ...]
    outlook: Outlook | None
    decided: tuple[Precedent, ...]
    precedence: Precedence
    events: int
    attached: tuple[Attached, ...]
    large_thoughts: tuple[bytes, ...]

    def put_on(self, exchange: Exchange) -> Exchange:
        """The serving process's exchange, with the result."""
        return exchange.but(settled=True, **{field.name: getattr(self, field.name) for field in fields(self)})


@dataclass(frozen=True, slots=True)
class RecoveryPlan:
    """How to make it fit: `outcome` is how that ends if the upstream takes what follows as a body, or why nothing does."""

    resends: bool
    outcome: Outcome
    trails: Trails | None = None
    sections: tuple[PackedSection, ...] = ()


@dataclass(frozen=True, slots=True)
class BareBody:
    """The body sent without thinking (``None`` if there is none to take out), and its tokens."""

    body: bytes | None
    tokens: int
    trails: Trails | None = None


class ProcessFolding:
    """The stations of large requests."""

    def __init__(self, processes: FoldProcesses, windows: Windows, abandoned: AbandonedFolds) -> None:
        self._processes = processes
        self._windows = windows
        self._abandoned = abandoned

    async def fold_request(self, exchange: Exchange, plain: bytes, decide: Decide, meet: Meet | None = None) -> Exchange:
        """What is forwarded instead of a request.

        Args:
            plain: its body without its coding.
            decide: folds under all decisions.
            meet: begins to get to know it here too; None: nobody does.

        Raises:
            FoldRejected: our own output failed a check, or is not smaller.
            ProcessFailed: the process ended.
        """
        if len(plain) > MOST_FOLDED:
            return exchange.settle("passthrough", "too-large")
        beginning = beginning_of(plain).hex()
        underway = FoldInProgress((Place(UpstreamModel(exchange.request.tenant, "", ""), beginning, beginning),), "processes")
        return await self._abandoned.wait(exchange, underway, self._fold(exchange, plain, underway, decide, meet))

    async def _fold(
        self, exchange: Exchange, plain: bytes, underway: FoldInProgress, decide: Decide, meet: Meet | None
    ) -> Exchange:
        tenant = exchange.request.tenant
        async with self._processes.session(tenant, beginning_of(plain)) as process:
            underway.began = time.monotonic()
            await process.send(_work(FoldWork, exchange, asks_borders=meet is not None), plain)
            read, _ = await _answer(process)
            if isinstance(read, WorkFailed) or read.reason:
                return exchange.settle("passthrough", read.reason)
            name = exchange.request.label or read.name
            spot = UpstreamModel(tenant, exchange.request.to.origin, read.model)
            underway.places, underway.read = (*underway.places, Place(spot, read.name, name)), True
            stub = _stub(exchange.request.wire, read.model)
            exchange = exchange.but(
                conversation=stub, name=name, loop=read.loop, compacted=read.compacted, unpriced=read.unpriced
            )
            if self._abandoned.is_slow(underway):
                await process.send(None)
                return exchange.settle("passthrough", SLOW_BEFORE)
            exchange = exchange.but(known=await self._windows.learned(spot))
            made = await decide(exchange, read.model, read.name, partial(_fold_under, process, exchange))
            await process.send(None)
        if meet is not None and read.borders and made.options is not None:
            meet(exchange, read.borders, made.options)
        return made

    async def plan_recovery(self, exchange: Exchange, overflow: Overflow) -> tuple[RecoveryPlan, bytes]:
        """How to make a request fit whose context was full, and what to send.

        Raises:
            FoldRejected, ProcessFailed: see `fold_request`.
        """
        plain = exchange.plain or b""
        async with self._processes.session(exchange.request.tenant, beginning_of(plain)) as process:
            work = _work(RecoverWork, exchange, known=exchange.known, overflow=overflow)
            await process.send(work, plain, exchange.body or b"")
            done, body = await _answer(process)
        return _checked(done, RecoveryPlan), body

    async def take_thinking_out(self, exchange: Exchange, refused: frozenset[bytes] | None) -> BareBody:
        """What was sent without the thinking of these messages; None: without any.

        Raises:
            FoldRejected, ProcessFailed: see `fold_request`.
        """
        plain = exchange.plain or b""
        async with self._processes.session(exchange.request.tenant, beginning_of(plain)) as process:
            await process.send(_work(BareWork, exchange, refused=refused), plain, exchange.body or plain)
            done, body = await _answer(process)
        return replace(_checked(done, BareBody), body=body or None)

    def forget_in_memory(self) -> None:
        """What the processes remember goes with them."""
        self._processes.renew()

    async def close(self) -> None:
        """Stop the processes."""
        await self._processes.close()


def replayed(plan: RecoveryPlan, body: bytes, overflow: Overflow, wire: Wire) -> Generator[Resend, UpstreamReply, Outcome]:
    """A plan as the exchange with the upstream that ``fit.recover`` would have."""
    if not plan.resends:
        return plan.outcome
    forwarded = replace(_stub(wire, ""), text=body.decode("utf-8"), encoded=body)
    tried = replace(plan.outcome, forwarded=forwarded)
    reply = yield Resend(forwarded, tried)
    return conclude(tried, overflow, reply)


async def _fold_under(process: FoldProcess, exchange: Exchange, options: FoldOptions) -> Exchange:
    under = FoldConditions(exchange.known, options.belief, options.precedents, options.borrowed, options.heard)
    await process.send(under)
    done, body = await _answer(process)
    made = _checked(done, FoldedBody).put_on(exchange).but(options=options)
    return made.but(body=body) if body else made


def _work(kind: Callable[..., T], exchange: Exchange, **more: Any) -> T:
    request = exchange.request
    return kind(request.id, request.wire.name, request.mode, request.budget, request.label, request.keep, **more)


async def _answer(process: FoldProcess) -> tuple[Any, bytes]:
    value, body, _ = await process.receive()
    return value, body


def _checked(done: Any, kind: type[T]) -> T:
    if isinstance(done, kind):
        return done
    raise FoldRejected(done.reason if isinstance(done, WorkFailed) else "fold-process")


def _stub(wire: Wire, model: str) -> Conversation:
    """A conversation of which this process knows only the model."""
    return Conversation(wire, "", Messages(), (), model)


def beginning_of(plain: bytes) -> bytes:
    """The common beginning of one conversation's requests, as far as it can be found without parsing them."""
    return blake2b(plain[:_BEGINNING], digest_size=16).digest()

"""One request to a model, station by station.

The order of the stations, and the one place where a failure of Turnfold's own sends the original instead (law 2). The stations do
their work in ``folding``, ``stating``, ``sending`` and ``recording``; ``routes.model_calls`` reads the head.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from starlette.types import Send

from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.recover import Outcome, Resend
from turnfold.compression.fold import Fold, conversation_name
from turnfold.compression.summary.calls import ModelCall
from turnfold.config.settings import Settings
from turnfold.proxy.chat.abandoning import SLOW, AbandonedFolds
from turnfold.proxy.chat.carrying_on import AS_BEFORE, is_too_slow, remember_fold
from turnfold.proxy.chat.exchange import ChatRequest, Exchange, Moments, Watch
from turnfold.proxy.chat.folding import Folding, Lanes, OptionsFor, SlowRequests, is_instant_body, place_of
from turnfold.proxy.chat.own_models import OwnModels, OwnVectors, end_nothing
from turnfold.proxy.chat.process_folding import ProcessFolding
from turnfold.proxy.chat.receipts import Recorder
from turnfold.proxy.chat.recording import receipt_of, response_headers
from turnfold.proxy.chat.recovering import Run
from turnfold.proxy.chat.sending import Sending, depart
from turnfold.proxy.chat.stating import Stating
from turnfold.proxy.http.headers import first_of
from turnfold.proxy.http.refusals import Refused
from turnfold.proxy.incidents import Incidents, attempt, catchable_panics, describe
from turnfold.proxy.lanes.processes import FoldProcesses
from turnfold.proxy.lanes.taking_over import TakingOver
from turnfold.proxy.learning.deciding import Decisions
from turnfold.proxy.learning.windows import Windows
from turnfold.proxy.outbound.relay import RelayableAnswer, relay
from turnfold.proxy.outbound.upstream import UpstreamFailed
from turnfold.proxy.state_records import StateRecords
from turnfold.proxy.store.base import Store

Station = Callable[[Exchange], Awaitable[Exchange]]

_MOST_OBSERVED: Final = 256 * 2**20  # total bytes of bodies that wait to be folded in observe mode
_QUIET_PAUSE: Final = 0.05  # seconds between two checks for a quiet moment
_QUIET_LOOKS: Final = 200
_END: Final = 1.0  # seconds from a stream's last event to the end of its body
_FAREWELL: Final = 5.0  # seconds that observed folds get to finish at shutdown

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Remembered:
    """What is remembered from one request to the next, in a process and across replicas.

    Attributes:
        windows: what was learned of models.
        records: states of labelled conversations.
        decisions: what was decided of folds.
        models: asks a model for summaries.
        vectors: what has a say in recall beside the words.
        store: where the process and its replicas remember folds that took too long, asked while a request waits.
        patient: the same for what nobody waits for.
    """

    windows: Windows
    records: StateRecords
    decisions: Decisions
    models: OwnModels
    vectors: OwnVectors
    store: Store
    patient: Store


class Service:
    """The stations, with what they share.

    Args:
        engine: what folds.
        processes: fold large requests; None: none do.
        forgetful: no text is kept after a request, which makes the next one slower.

    Attributes:
        failures: number of originals sent because Turnfold failed, by reason.
    """

    def __init__(
        self,
        recorder: Recorder,
        options_for: OptionsFor,
        settings: Settings,
        memory: Remembered,
        engine: Fold,
        incidents: Incidents,
        processes: FoldProcesses | None,
        *,
        forgetful: bool = False,
    ) -> None:
        self._forgetful = forgetful
        self.failures: Counter[str] = Counter()
        limits, folding = settings.limits, settings.folding
        self._vectors = memory.vectors
        windows, self._decisions = memory.windows, memory.decisions
        self._models = memory.models
        self._incidents = incidents
        self._recorder = recorder
        self._limits = limits
        self._lanes = Lanes(limits.max_fold_workers)
        self._abandoned = AbandonedFolds(memory.store, memory.patient, limits, self._incidents)
        self._elsewhere = None if processes is None else ProcessFolding(processes, windows, self._abandoned)
        self._taking_over = None if forgetful else TakingOver(self._lanes.run_heavy, self._incidents)
        self._folding = Folding(
            engine,
            options_for,
            settings,
            windows,
            memory.decisions,
            self._lanes,
            memory.vectors,
            SlowRequests(self._abandoned, self._elsewhere, self._taking_over),
        )
        self._stating = Stating(folding.state_acknowledge, options_for, memory.records, self._lanes, self._folding.memo)
        self._sending = Sending(
            self._folding,
            windows,
            self._recovery_steps,
            self._in_background,
            limits.fold_timeout,
            self._counted,
            memory.models,
        )
        self._background: dict[asyncio.Task[None], int] = {}  # with the bytes of bodies that each holds
        self._serving = 0
        self._closing = False

    async def close(self) -> None:
        """Finish what is observed, then stop the threads; folds that are queued are dropped."""
        self._closing = True
        if self._taking_over is not None:
            await self._taking_over.close()
        if self._background:
            _, late = await asyncio.wait(self._background, timeout=_FAREWELL)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self._abandoned.close()
        self._lanes.close()
        if self._elsewhere is not None:
            await self._elsewhere.close()

    def forget_in_memory(self) -> None:
        """Forget all conversations in memory; later requests only take longer."""
        if self._taking_over is not None:
            self._taking_over.stop()
        self._folding.memo.clear()
        self._decisions.forget_in_memory()
        self._abandoned.forget_in_memory()
        self._sending.forget_in_memory()
        if self._elsewhere is not None:
            self._elsewhere.forget_in_memory()

    async def serve(self, request: ChatRequest, send: Send) -> None:
        """Serve one request.

        Raises:
            Refused: there is no answer of the upstream's to pass on, or the body unpacks to more than the limit.
        """
        exchange, watch = Exchange(request), Watch()
        ends: list[Callable[[], None]] = []
        del request  # the exchange lets go of the body once it was sent
        self._serving += 1
        try:
            for station in self._stations_before_sending:
                exchange = await station(exchange)
            if exchange.answer is None:
                exchange = depart(exchange)
                ends.append(self._begin_summaries(exchange))
                ends.append(self._begin_vectors(exchange))
                for station in (self._sending.send_request, self._sending.recover_request):
                    exchange = await station(exchange)
            if exchange.request.mode != "observe":
                exchange = exchange.without_bodies()
            try:
                await self._relay(exchange, watch, send)
            finally:  # also if the client left: the usage reported by then is valid
                exchange = self._sending.learn_from(exchange, watch)
        except Refused as refused:
            if exchange.departed is None:
                exchange = exchange.but(reason=refused.code)
            raise
        finally:
            self._serving -= 1
            for end in ends:
                end()
            self._let_go(exchange, watch)
            self._record(self._counted(exchange), watch)

    def _begin_summaries(self, exchange: Exchange) -> Callable[[], None]:
        """Have written what a later fold may use; what is returned ends what must not outlive the request."""
        conversation = exchange.conversation
        if not exchange.wanted or conversation is None or exchange.request.mode != "on":
            return end_nothing
        return self._models.begin(exchange, place_of(exchange, conversation.model, conversation_name(conversation)))

    def _begin_vectors(self, exchange: Exchange) -> Callable[[], None]:
        """Have made what a later recall may use; what is returned ends what must not outlive the request."""
        conversation = exchange.conversation
        if not self._vectors.is_on or conversation is None or not conversation.messages:
            return end_nothing
        return self._vectors.begin(exchange, place_of(exchange, conversation.model, conversation_name(conversation)))

    @property
    def _stations_before_sending(self) -> tuple[Station, ...]:
        return (self._read, self._apply_state, self._choose, self._fold, self._carry_on)

    async def _read(self, exchange: Exchange) -> Exchange:
        """Read the request, unless it is forwarded unchanged."""
        request = exchange.request
        if request.state == "off" and request.mode != "on":
            return exchange
        return await self._guarded(exchange, self._folding.read_request, waits=not is_instant_body(request))

    async def _apply_state(self, exchange: Exchange) -> Exchange:
        if exchange.request.state == "off" or exchange.settled:
            return exchange
        return await self._guarded(exchange, self._stating.apply_state)

    async def _choose(self, exchange: Exchange) -> Exchange:
        """Settle a request whose mode does not fold; one that has an answer already, or failed, stays as it is."""
        mode = exchange.request.mode
        if exchange.answer is not None or exchange.status == "failed-open" or mode == "on":
            return exchange
        return exchange.settle("bypassed" if mode == "off" else "observed")

    async def _fold(self, exchange: Exchange) -> Exchange:
        if exchange.settled:
            return exchange
        return await self._guarded(exchange, self._folding.fold_request, waits=not self._folding.is_folded_at_once(exchange))

    async def _carry_on(self, exchange: Exchange) -> Exchange:
        if not is_too_slow(exchange):
            attempt(partial(remember_fold, exchange, self._folding.memo))
            return exchange
        made = await self._guarded(exchange, self._folding.carry_on, waits=False)
        if made.reason == AS_BEFORE:
            _log.warning("%s: sent with its previous fold, which the provider's cache may still hold", made.request.id)
        return made

    async def _guarded(self, exchange: Exchange, station: Station, *, waits: bool = True) -> Exchange:
        """Run a station; if it fails, the request is sent as it is.

        Args:
            waits: whether it may wait for more than the store, so that its time has to be limited.
        """
        try:
            with catchable_panics():
                if not waits:
                    return await station(exchange)
                async with asyncio.timeout(self._limits.fold_timeout):  # no task of its own: most requests are small
                    return await station(exchange)
        except Refused:
            raise
        except TimeoutError:
            return self._failed_open(exchange, SLOW)
        except Exception as exc:  # the only fail-open: a fault of the engine must not cost a request
            return self._failed_by(exchange, exc)

    def _counted(self, exchange: Exchange) -> Exchange:
        """The exchange with the counts of its fold, if it was sent before these were known; a fault of the engine is reported as
        elsewhere.
        """
        if not exchange.uncounted:
            return exchange
        found = attempt(partial(self._folding.count, exchange))
        return self._failed_by(exchange.but(uncounted=False), found) if isinstance(found, Exception) else found

    def _failed_by(self, exchange: Exchange, exc: Exception) -> Exchange:
        if isinstance(exc, FoldRejected):
            return self._failed_open(exchange, exc.reason)
        _log.warning("%s: %s", exchange.request.id, describe(exc))
        return self._failed_open(exchange, type(exc).__name__)

    def _failed_open(self, exchange: Exchange, reason: str) -> Exchange:
        self.failures[reason] += 1
        _log.warning("%s: sent unfolded (%s)", exchange.request.id, reason)
        return exchange.settle("failed-open", reason).but(recoverable=exchange.conversation is not None)

    def _recovery_steps(self, exchange: Exchange) -> Run[Resend | ModelCall | Outcome]:
        return partial(self._recovery_step, exchange.request.tenant)

    async def _recovery_step(self, tenant: str, work: Callable[[], Resend | ModelCall | Outcome]) -> Resend | ModelCall | Outcome:
        """Run a step of a recovery; if it fails, the upstream's own error is returned."""
        try:
            with catchable_panics():
                return await asyncio.wait_for(self._lanes.run_heavy(tenant, work), self._limits.fold_timeout)
        except Exception as exc:  # fail open, as for a fold
            self.failures[f"recovery-{type(exc).__name__}"] += 1
            _log.warning("recovery: %s", type(exc).__name__)
            return Outcome(False, "failed", None, 0, 0)

    async def _relay(self, exchange: Exchange, watch: Watch, send: Send) -> None:
        answer = exchange.answer
        assert answer is not None  # noqa: S101 - there is one, or Refused was raised
        names = (b"content-encoding", b"content-type")
        coding, kind = ((first_of(answer.headers, name) or b"").strip().lower() for name in names)
        watch.expect(coding.decode("latin-1"), streamed=not kind.startswith(b"application/json"))
        try:
            await relay(answer, response_headers(exchange, answer), send, watch.see)
            watch.relayed = True
        except UpstreamFailed as exc:  # the head is out: returning now makes the server cut the connection
            _log.warning("%s: %s: %s", exchange.request.id, exchange.request.to.origin, exc)

    def _let_go(self, exchange: Exchange, watch: Watch) -> None:
        """Drop the connection of an answer that nobody wants the rest of; where only the end of the body is left, read that."""
        answer = exchange.answer
        if answer is None:
            return
        if watch.relayed or self._closing or not watch.complete:
            answer.close()
            return
        self._in_background(asyncio.get_running_loop().create_task(_read_out(answer), name=exchange.request.id))

    def _in_background(self, task: asyncio.Task[None], holds: int = 0) -> None:
        self._background[task] = holds
        task.add_done_callback(self._background.pop)
        self._incidents.watch(task, "after-request", task.get_name())

    def _record(self, exchange: Exchange, watch: Watch) -> None:
        ended = time.perf_counter()
        if self._forgetful:
            self._folding.memo.clear()
        if exchange.status != "observed":
            self._file(exchange, watch, ended)
            return
        size = len(exchange.request.body)
        if sum(self._background.values()) + size > _MOST_OBSERVED:
            self._file(exchange.but(reason="observer-busy", sections=()), watch, ended)
            return
        self._in_background(
            asyncio.get_running_loop().create_task(self._observe(exchange, watch, ended), name=exchange.request.id), size
        )

    def _file(self, exchange: Exchange, watch: Watch, ended: float) -> None:
        """Hand on its receipt and end its trace."""
        receipt, request = receipt_of(exchange, watch, ended), exchange.request
        self._recorder.record(receipt, exchange.sections)
        if request.trace is not None:
            moments = Moments(request.started, request.received, exchange.departed, watch.first_byte, ended)
            failure = attempt(partial(request.trace.finish, receipt, moments))
            if isinstance(failure, Exception):
                self._incidents.add("trace", failure, request.id)

    async def _observe(self, exchange: Exchange, watch: Watch, ended: float) -> None:
        """Fold for the record what went out unfolded, as soon as nobody waits for anything else."""
        try:
            await self._quiet()
            would = exchange.but(settled=False)
            if would.conversation is None:
                would = await self._guarded(would, self._folding.read_request)
            would = await self._fold(would)
        except Refused as exc:
            would = exchange.but(reason=exc.code)
        except asyncio.CancelledError:  # the process ends; the request itself was served and is recorded
            would = exchange.but(reason="stopped")
        self._file(would.but(status="observed", sections=()), watch, ended)
        if self._forgetful:
            self._folding.memo.clear()

    async def _quiet(self) -> None:
        """Wait for a moment without requests, up to a limit."""
        for _ in range(_QUIET_LOOKS):
            if self._closing:
                return
            await asyncio.sleep(_QUIET_PAUSE)
            if not self._serving:
                return


async def _read_out(answer: RelayableAnswer) -> None:
    """Read the end of a body whose last event the client has, so that the next request can reuse the upstream connection."""
    try:
        async with asyncio.timeout(_END):
            async for _ in answer.chunks():
                pass
    except (UpstreamFailed, TimeoutError):
        pass  # the client has all of it
    finally:
        answer.close()

"""Folds that take too long, here and on other replicas.

This module decides how long a request waits for a fold before it asks whether another replica has given up, what continues in the
background, and when the conversation is folded again. It does not fold; the form of a record is in
``learning.abandoned_records``.

If a conversation's fold is given up, the conversation is sent as it came until the fold is done after all; if the fold has to be
killed, for ten minutes. Trying again at once would cost each of its requests the same time. Another replica learns of it from the
store once its own fold has taken a tenth of the timeout (it looks again after each further tenth); it then leaves its fold to
continue behind the request, and sends what came.

What was sent as it came stays so until the conversation's next fold event, on every replica: a fold in between would make the
provider's cache miss. A replica that has sent a conversation folded before continues to do so, since the cache still holds that.

A fold that was given up keeps its place in the lane while it continues. Nobody queues for long behind folds that hold all of a
tenant's places.

A request that is not folded, or folded quickly, asks the store for nothing; one that is folded asks once per conversation and
process. Without the store, each process relies on what it has seen itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from turnfold.config.serving import LimitSettings
from turnfold.proxy.chat.exchange import Exchange
from turnfold.proxy.incidents import Incidents
from turnfold.proxy.lanes.fair import tenant_places
from turnfold.proxy.learning.abandoned_records import AbandonedFold, keep_abandoned, read_abandoned
from turnfold.proxy.learning.deciding import Place
from turnfold.proxy.store.base import Store, StoreError
from turnfold.proxy.store.fair import FairMemory

SLOW: Final = "slow"
SLOW_BEFORE: Final = "slow-before"
BUSY: Final = "busy"

_ALL_OF_IT: Final = 0.9  # share of the timeout from which an unfinished fold counts as slow even if the client left
_MOST_OF_IT: Final = 0.5  # share of it for which the fold must have run, not just waited in the queue
_SOON: Final = 0.1  # share of the timeout after which other replicas are asked about this fold
_GRACE: Final = 2  # timeouts for which an abandoned fold continues before it is killed
_TRY_AGAIN: Final = 600.0  # seconds for which a conversation whose fold was killed is sent unfolded
_FAREWELL: Final = 2.0  # seconds that the store has for pending writes at shutdown
_MOST_REMEMBERED: Final = 10_000  # conversations; about 4 MB


@dataclass(slots=True)
class FoldInProgress:
    """A fold that is being made.

    Attributes:
        places: the conversation, by all that is known of it: the beginning of a large body, last what the engine calls it.
        lane: where it is made.
        read: whether the engine's name is known.
        since: when its request began to wait.
        began: when work on it began; None: it waits for its turn.
        left: whether its request left it because another replica had given it up.
    """

    places: tuple[Place, ...]
    lane: Literal["threads", "processes"]
    read: bool = False
    since: float = field(default_factory=time.monotonic)
    began: float | None = None
    left: bool = False

    def took_too_long(self, patience: float) -> bool:
        """Whether the fold took too long; asked once nobody waits for it."""
        now = time.monotonic()
        worked = 0.0 if self.began is None else now - self.began
        return self.left or (now - self.since > _ALL_OF_IT * patience and worked > _MOST_OF_IT * patience)


@dataclass(slots=True)
class _Memory:
    """What this process knows of a conversation.

    Attributes:
        until: monotonic time until which it goes out as it came, because a fold of it goes on or was killed.
        folds: whether it was sent folded from here.
        record: what the store has, once it was asked.
    """

    until: float = 0.0
    folds: bool = False
    record: AbandonedFold | None = None


class AbandonedFolds:
    """What is remembered of folds that took too long; belongs to one event loop.

    Args:
        store: asked while a request waits.
        patient: the same store for what nobody waits for.
        limits: how long a fold may take, and how many may be made in a lane.
    """

    def __init__(self, store: Store, patient: Store, limits: LimitSettings, incidents: Incidents) -> None:
        self._store = store
        self._patient = patient
        self._limits = limits
        self._each = tenant_places(limits.max_fold_workers)
        self._incidents = incidents
        self._known: FairMemory[Place, _Memory] = FairMemory(_MOST_REMEMBERED)
        self._ongoing: dict[asyncio.Task[Exchange], tuple[str, str]] = {}  # with tenant and lane
        self._writing: set[asyncio.Task[None]] = set()

    def is_slow(self, underway: FoldInProgress) -> bool:
        """Whether the request is sent unfolded without being looked at."""
        known = [self._known.get(place.spot.tenant, place) for place in underway.places]
        return any(one is not None and one.until > time.monotonic() for one in known)

    async def wait(self, exchange: Exchange, underway: FoldInProgress, work: Coroutine[Any, Any, Exchange]) -> Exchange:
        """The result of a fold if it is quick enough; otherwise the fold continues without a waiting request.

        Raises:
            Whatever the work raises.
        """
        if self.is_slow(underway):
            work.close()
            return _passthrough(exchange)
        task = asyncio.get_running_loop().create_task(work, name=exchange.request.id)
        try:
            while not (await asyncio.wait({task}, timeout=_SOON * self._limits.fold_timeout))[0]:
                if exchange.request.mode == "on" and await self._is_slow_elsewhere(underway):
                    underway.left = not task.done()
                    return _passthrough(exchange)
                if underway.began is None and self._holds_all(exchange.request.tenant, underway.lane):
                    return _passthrough(exchange, BUSY)
            made = task.result()
        finally:
            if not task.done():
                self._abandon(task, underway, shared=exchange.request.mode == "on")
        if made.folded and underway.read and exchange.request.mode == "on" and await self._stays_raw(exchange, made, underway):
            return _unfolded(exchange, made)
        return made

    async def _stays_raw(self, exchange: Exchange, made: Exchange, underway: FoldInProgress) -> bool:
        """Whether a fold that was made has to wait for the conversation's next fold event; where not, it is sent."""
        place = underway.places[-1]
        known = self._entry(place)
        if exchange.sent is None and exchange.request.budget is None and made.reason == "" and not known.folds:
            record = known.record or await self._ask(place)
            if record is not None and record.raw:
                if record.events is None:
                    self._keep(place, AbandonedFold(True, made.events))
                    return True
                if made.events <= record.events:
                    return True
        known.folds = True
        return False

    async def _is_slow_elsewhere(self, underway: FoldInProgress) -> bool:
        """Whether another replica has given up a fold of it; if this process sent it folded before, only one turn is new."""
        if any(self._entry(place).folds for place in underway.places):
            return False
        return any([await self._ask(place) is not None for place in underway.places])

    async def _ask(self, place: Place) -> AbandonedFold | None:
        """What is known of it, here or to another replica."""
        known = self._entry(place)
        if known.record is None:
            try:
                known.record = await read_abandoned(self._store, place)
            except StoreError:  # each process relies on what it has seen itself
                return None
        return known.record

    def _holds_all(self, tenant: str, lane: str) -> bool:
        """Whether folds that nobody waits for have all of a tenant's places."""
        return list(self._ongoing.values()).count((tenant, lane)) >= self._each

    def _abandon(self, task: asyncio.Task[Exchange], underway: FoldInProgress, *, shared: bool) -> None:
        """Nobody waits any more. It may go on for a while: what it has in memory then makes the next fold quick."""
        if underway.began is None:
            task.cancel()
            return
        places = underway.places
        if underway.took_too_long(self._limits.fold_timeout):
            raw = not any(self._entry(place).folds for place in places)
            for place in places:
                self._entry(place).until = time.monotonic() + _TRY_AGAIN
                if shared and not underway.left:
                    self._keep(place, AbandonedFold(raw))
        end = asyncio.get_running_loop().call_later(_GRACE * self._limits.fold_timeout, task.cancel)
        self._ongoing[task] = (places[-1].spot.tenant, underway.lane)

        def ended(done: asyncio.Task[Exchange]) -> None:
            end.cancel()
            self._ongoing.pop(done, None)
            if not done.cancelled() and done.exception() is None:
                self._finished(places, done.result())

        task.add_done_callback(ended)

    def _finished(self, places: Sequence[Place], made: Exchange) -> None:
        """An abandoned fold has finished: the next one is quick."""
        for place in places:
            known = self._entry(place)
            known.until = 0.0
            if known.record is not None and known.record.raw and known.record.events is None and made.folded:
                self._keep(place, AbandonedFold(True, made.events))

    def _entry(self, place: Place) -> _Memory:
        known = self._known.get(place.spot.tenant, place)
        if known is None:
            known = _Memory()
            self._known.put(place.spot.tenant, place, known)
        return known

    def _keep(self, place: Place, fold: AbandonedFold) -> None:
        """Remember it here at once, and tell the other replicas after the request."""
        known = self._entry(place)
        known.record = fold
        task = asyncio.get_running_loop().create_task(self._write(place, known, fold), name="turnfold-abandoned")
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        self._incidents.watch(task, "abandoned", place.label)

    async def _write(self, place: Place, known: _Memory, fold: AbandonedFold) -> None:
        try:
            held = await keep_abandoned(self._patient, place, fold)
        except StoreError:
            return
        if known.record is fold:
            known.record = held

    def forget_in_memory(self) -> None:
        """Forget all conversations; slow ones are then found again."""
        self._known.clear()

    async def close(self) -> None:
        """Stop running folds, and write what was learned."""
        for task in self._ongoing:
            task.cancel()
        if self._ongoing:  # one that has just ended begins to write; `gather` would not wait for that, since it is done
            await asyncio.wait(self._ongoing)
        if self._writing:
            _, late = await asyncio.wait(self._writing, timeout=_FAREWELL)
            for writing in late:
                writing.cancel()
        await asyncio.gather(*self._writing, return_exceptions=True)


def _passthrough(exchange: Exchange, reason: str = SLOW_BEFORE) -> Exchange:
    return exchange.settle("passthrough", reason).but(recoverable=exchange.conversation is not None)


def _unfolded(exchange: Exchange, made: Exchange) -> Exchange:
    """The unfolded request, with the counts of its fold."""
    plain = _passthrough(exchange).but(
        conversation=made.conversation,
        known=made.known,
        loop=made.loop,
        compacted=made.compacted,
        unpriced=made.unpriced,
        attached=made.attached,
        name=made.name,
    )
    before = made.tokens[0] if made.tokens else 0
    trails = None if made.trails is None else replace(made.trails, sent=made.trails.received)
    return plain.but(tokens=(before, before) if made.tokens else None, trails=trails, outlook=made.outlook, recoverable=True)

"""The decisions of folds, remembered, in front of the store that other replicas share.

A bounded memory that asks the store once for each decision. What is decided where is in ``compression.fold.decisions``, what is
believed in ``warming``, and the form of a record in ``learning.decision_records``.

If the store cannot be asked, packaged defaults decide, and the decision is held here. It is written, or replaced by what another
replica wrote, when the conversation's next decision is made: at that moment its prefix changes anyway.

When something is decided follows from the messages, except for decisions after a long rest. So a process that has not served a
conversation for a while, or could not ask when it last did, asks at each of its requests whether another replica decided
something there; and every decision asks about the requests since the previous one.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple, Protocol, TypeVar

from turnfold.compression.options import FoldOptions, Precedence, Precedent, WrittenSummary
from turnfold.proxy.learning.decision_records import KeptDecisions, keep_first
from turnfold.proxy.learning.pauses import LONG, Pauses, steady
from turnfold.proxy.learning.warming import WarmthMemory
from turnfold.proxy.learning.window_records import UpstreamModel
from turnfold.proxy.store.base import Store, StoreError

_CONVERSATIONS: Final = 20_000  # in memory, which takes 40 MB at most
_EACH: Final = 256  # conversations that begin alike share a name: keep only their latest decisions

_TRIES: Final = 4  # attempts: a fold whose decisions lose to another replica's is made again with those


class _Deciding(Protocol):
    @property
    def decided(self) -> tuple[Precedent, ...]: ...
    @property
    def precedence(self) -> Precedence: ...


class _Heard(NamedTuple):
    """When this process last knew all decisions of a conversation, and the number of messages then."""

    at: float
    length: int


T = TypeVar("T", bound=_Deciding)

_log = logging.getLogger(__name__)


class Place(NamedTuple):
    """A conversation, its tenant, and its upstream and model.

    Attributes:
        name: the engine's name for it, the same for conversations with the same beginning.
        label: the client's name for it, else the engine's.
    """

    spot: UpstreamModel
    name: str
    label: str


def _none_written(place: Place) -> tuple[WrittenSummary, ...]:
    del place
    return ()


class Decisions:
    """Decisions by conversation; the least recently used are evicted first.

    Args:
        ttl: seconds for which the store keeps a decision.
        warmth: the beliefs about caches.
        summaries: the summaries written so far.
        learns: whether the belief about the cache is learned; otherwise it is configured.
        pauses: the time since each conversation's previous request.
        steady: a clock like :func:`steady`.
    """

    def __init__(
        self,
        store: Store | None,
        ttl: float,
        warmth: WarmthMemory,
        summaries: Callable[[Place], tuple[WrittenSummary, ...]] = _none_written,
        *,
        learns: bool = True,
        pauses: Pauses | None = None,
        steady: Callable[[], float] = steady,
    ) -> None:
        self._steady = steady
        self._pauses = pauses or Pauses()
        self._summaries = summaries
        self._learns = learns
        self._warmth = warmth
        self._store = store
        self._ttl = ttl
        self._store_missed = False
        self._kept: OrderedDict[Place, dict[tuple[int, str], Precedent]] = OrderedDict()
        self._heard: dict[Place, dict[str, _Heard]] = {}  # of stored decisions, by the newest precedent's digest
        self._alone: dict[Place, dict[tuple[int, str], Precedent]] = {}
        self._models: dict[Place, Place] = {}  # a conversation without its model -> the same with the model that last decided

    def options(self, options: FoldOptions, place: Place, pause: float = 0.0, *, alone: bool = False) -> FoldOptions:
        """The options, with this process's beliefs and the decisions it knows for conversations with this beginning.

        Args:
            pause: seconds since the conversation's previous request.
            alone: whether to keep the options' own belief, which every replica shares.
        """
        if options.belief is None:
            return options
        belief, borrowed = options.belief, tuple[Precedent, ...]()
        if not alone:
            borrowed = self._borrowed(place)
            learned = self._warmth.decision(place.spot, place.label, belief, pause)
            warmth = learned.warmth if self._learns else belief.warmth
            belief = replace(learned, warmth=warmth, summaries=self._summaries(place), cold=self._learns and learned.cold)
        return replace(options, precedents=self._known(place), borrowed=borrowed, belief=belief)

    def _known(self, place: Place) -> tuple[Precedent, ...]:
        return tuple(self._kept.get(place, {}).values())

    def _borrowed(self, place: Place) -> tuple[Precedent, ...]:
        """Decisions for the model that the conversation used before.

        A retry or failover to another model finds an empty cache, so folded text may as well stay folded.
        """
        before = self._models.get(_of_any_model(place), place)
        return () if before == place else self._known(before)

    def forget_in_memory(self) -> None:
        """Forget everything that the store has. Decisions that could not be stored exist only here, and stay."""
        self._pauses.forget_in_memory()
        self._heard.clear()
        for place in [place for place in self._kept if place not in self._alone]:
            del self._kept[place]
        self._models = {conversation: place for conversation, place in self._models.items() if place in self._kept}

    async def fold(self, options: FoldOptions, place: Place, work: Callable[[FoldOptions], Awaitable[T]]) -> T:
        """The result of `work` with the options and all decisions. New decisions are stored before this returns."""
        rests = self._learns and options.belief is not None
        pause = await self._pauses.since(place.spot.tenant, place.label) if rests else 0.0
        for _ in range(_TRIES):
            given = replace(self.options(options, place, pause or 0.0), heard=self._newly_heard(place))
            made = await work(given)
            if pause is None and made.decided:  # no other replica needs to know
                pause = await self._pauses.recorded(place.spot.tenant, place.label) or 0.0
                if self.options(options, place, pause).belief != given.belief:
                    continue
            held = await self._keep(place, made.decided, made.precedence)
            if held:
                return made
            if held is None:
                break
        made = await work(self.options(options, place, alone=True))
        self._remember(place, made.decided)
        self._alone.setdefault(place, {}).update({(one.at, one.prefix): one for one in made.decided})
        return made

    async def _keep(self, place: Place, decided: Sequence[Precedent], known: Precedence) -> bool | None:
        """Store new decisions.

        Returns:
            Whether they apply. False: other decisions were stored earlier, and are known now. None: the store is unavailable.
        """
        now, unknown = self._steady(), known.unknown
        if not (decided or unknown):
            self._hear(place, known, now)
            return True
        # Known decisions are stored again if the store has lost them; otherwise a replica would decide anew.
        together = (*known.known, *self._alone.get(place, {}).values(), *decided)
        asked = tuple({(one.at, one.prefix): one for one in together}.values())
        try:
            kept = await self._keep_first(place, asked, unknown)
        except StoreError as exc:
            self._heard.get(place, {}).pop(known.newest, None)
            if not decided:  # sent with the decisions that this process last knew
                return True
            if not self._store_missed:  # otherwise every fold would log it while a disk is full
                _log.info("folds are decided in this process only while the store does not answer: %s", exc)
            self._store_missed = True
            return None
        self._store_missed = False
        if kept.elsewhere:
            self._remember(place, kept.elsewhere)
            return False
        self._alone.pop(place, None)
        self._remember(place, kept.held)
        self._hear(place, known, now)
        return kept.held == asked

    async def _keep_first(self, place: Place, asked: Sequence[Precedent], unknown: Mapping[int, str]) -> KeptDecisions:
        if self._store is None:
            return KeptDecisions(tuple(asked))
        return await keep_first(self._store, place.spot, asked, unknown, self._ttl, place.label)

    def _newly_heard(self, place: Place) -> frozenset[str]:
        since = self._steady() - LONG
        return frozenset(name for name, heard in self._heard.get(place, {}).items() if heard.at > since)

    def _hear(self, place: Place, known: Precedence, now: float) -> None:
        """Note that all decisions of a conversation are known now.

        A repeated earlier request reveals nothing about later decisions.
        """
        if place in self._kept and known.newest:
            heard = self._heard.setdefault(place._replace(spot=_shared(place.spot)), {})
            before = heard.pop(known.newest, None)
            heard[known.newest] = before if before and known.length < before.length else _Heard(now, known.length)
            while len(heard) > _EACH:
                del heard[next(iter(heard))]

    def _remember(self, place: Place, held: Sequence[Precedent]) -> None:
        place = place._replace(spot=_shared(place.spot))
        kept = self._kept.setdefault(place, {})
        kept.update({(one.at, one.prefix): one for one in held})
        while len(kept) > _EACH:
            del kept[next(iter(kept))]
        self._kept.move_to_end(place)
        self._models[_of_any_model(place)] = place
        while len(self._kept) > _CONVERSATIONS:
            gone, _ = self._kept.popitem(last=False)
            self._alone.pop(gone, None)
            self._heard.pop(gone, None)
            if self._models.get(_of_any_model(gone)) == gone:
                del self._models[_of_any_model(gone)]


def _of_any_model(place: Place) -> Place:
    return place._replace(spot=_shared(place.spot._replace(model="")))


@lru_cache(maxsize=1024)
def _shared(spot: UpstreamModel) -> UpstreamModel:
    """One shared object for equal spots, since thousands of conversations have the same."""
    return spot

"""How much is remembered of what was learned and decided, how often it is tried, written and read again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from tests.support.no_time import in_no_time, now
from turnfold.compression.calibration import Learned
from turnfold.compression.options import FoldDecision, FoldOptions, Precedence, Precedent, Warmth
from turnfold.proxy.learning import deciding
from turnfold.proxy.learning.deciding import Decisions, Place
from turnfold.proxy.learning.places import NamePlaces
from turnfold.proxy.learning.warming import WarmthMemory
from turnfold.proxy.learning.window_records import UpstreamModel, WindowRecord, write_record
from turnfold.proxy.learning.windows import Windows
from turnfold.proxy.store.base import Item, Key, StoreUnavailable
from turnfold.proxy.store.memory import MemoryStore
from turnfold.proxy.store.records import TAGS

SPOT = UpstreamModel("t1", "https://api.example", "m")
USUAL = FoldDecision(Warmth(1.0, 1.0))
OPTIONS = FoldOptions(belief=USUAL)
DAY = 86_400


def spot(number: int) -> UpstreamModel:
    return SPOT._replace(model=f"m{number}")


class Counting(MemoryStore):
    """A store that counts its readers and writers by kind, and notes when it was asked; it may be away."""

    away = False

    def __init__(self) -> None:
        super().__init__()
        self.read: list[float] = []
        self.written = 0

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        self.read.append(now())
        if self.away:
            raise StoreUnavailable
        return await super().get(keys)

    async def put(self, items: Sequence[Item]) -> None:
        self.written += 1
        await super().put(items)


def test_ten_thousand_brakes_are_remembered_those_set_last() -> None:
    memory = WarmthMemory()

    def set_brakes(*numbers: int) -> None:
        for number in numbers:
            memory.set_brake("t1", str(number), on=True)

    def braked(number: int) -> bool:
        return memory.decision(SPOT, str(number), USUAL).brake

    set_brakes(*range(10_000), 0)
    assert braked(1)
    set_brakes(10_000)
    assert [braked(number) for number in (0, 1, 2, 9_999, 10_000)] == [True, False, True, True, True]


def test_ten_thousand_beliefs_are_remembered_those_used_last() -> None:
    memory = WarmthMemory()

    def is_known(number: int) -> bool:
        return memory.decision(spot(number), "c", USUAL) != USUAL

    for number in range(10_000):
        memory.observe(spot(number), 5.0, loop=False, warm=False)
    assert is_known(0)
    memory.observe(spot(10_000), 5.0, loop=False, warm=False)
    assert [is_known(number) for number in (0, 2, 10_000, 1)] == [True, True, True, False]


def test_what_is_believed_is_exchanged_every_ten_seconds_where_somebody_wants_to_know() -> None:
    async def work() -> None:
        store = Counting()
        memory = WarmthMemory(store)
        task = asyncio.create_task(memory.run())
        await asyncio.sleep(25)
        assert store.read == []
        memory.decision(SPOT, "c", USUAL)  # nobody has heard of it: at once
        await asyncio.sleep(1)
        assert store.read == [25.0]
        memory.decision(SPOT, "c", USUAL)  # at its turn, and then no more
        await asyncio.sleep(30)
        assert store.read == [25.0, 35.0]
        memory.observe(SPOT, 5.0, loop=False, warm=False)
        store.away = True
        await asyncio.sleep(20)
        store.away = False
        await asyncio.sleep(20)
        assert store.read == [25.0, 35.0, 65.0, 75.0, 85.0]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    in_no_time(work())


@dataclass
class Made:
    """What a fold decided."""

    decided: tuple[Precedent, ...]
    precedence = Precedence()


@dataclass
class Deciding:
    """Folds that decide what they are told."""

    decisions: Decisions
    seen: list[FoldOptions] = field(default_factory=list)

    async def fold(self, name: str, at: int) -> None:
        async def work(options: FoldOptions) -> Made:
            self.seen.append(options)
            return Made((Precedent(at, "p", USUAL),))

        await self.decisions.fold(OPTIONS, Place(SPOT, name, name), work)

    def known(self, *names: str) -> list[int]:
        """How many decisions are known of conversations."""
        places = (Place(SPOT, name, name) for name in names)
        return [len(self.decisions.options(OPTIONS, place).precedents) for place in places]


async def test_decisions_are_remembered_of_so_many_conversations_and_so_many_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    assert deciding._CONVERSATIONS == 20_000  # with fewer the same in a tenth of the time
    monkeypatch.setattr(deciding, "_CONVERSATIONS", 1_000)
    folds = Deciding(Decisions(None, 60.0, WarmthMemory()))
    for at in range(258):
        await folds.fold("one", at)
    assert [one.at for one in folds.seen[256].precedents] == list(range(256))
    assert [one.at for one in folds.seen[257].precedents] == list(range(1, 257))
    for number in range(998):
        await folds.fold(str(number), 1)
    await folds.fold("0", 2)  # used again
    await folds.fold("one", 0)
    await folds.fold("another", 1)
    names = ("one", "0", "1", "2", "another")
    assert folds.known(*names) == [256, 2, 1, 1, 1]
    await folds.fold("and another", 1)
    assert folds.known(*names) == [256, 2, 0, 1, 1]


async def test_conversations_with_one_model_hold_its_name_once() -> None:
    """There may be 20,000, and each request brings the name anew."""
    decisions = Decisions(None, 60.0, WarmthMemory())

    async def work(options: FoldOptions) -> Made:
        return Made((Precedent(1, "p", USUAL),))

    for name in ("one", "another"):
        await decisions.fold(OPTIONS, Place(UpstreamModel(*SPOT), name, name), work)
    assert len({id(place.spot) for place in decisions._kept}) == 1


async def test_a_fold_that_loses_is_made_again_four_times_and_then_alone() -> None:
    class Losing(MemoryStore):
        """Another replica has decided something else, each time."""

        async def swap(self, expected: bytes | None, item: Item) -> bool:
            await super().put([Item(item.key, item.value.replace(b"1.0", b"0.0"), 60)])
            return False

        async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
            found = await super().get(keys)
            await self.discard(keys)
            return found

    folds = Deciding(Decisions(Losing(), 60.0, WarmthMemory()))
    await folds.fold("c", 1)
    assert [len(one.precedents) for one in folds.seen] == [0, 1, 1, 1, 1]
    assert folds.decisions.options(OPTIONS, Place(SPOT, "c", "c")).precedents == (Precedent(1, "p", USUAL),)


async def test_that_the_store_is_away_is_logged_once_until_it_is_back(caplog: pytest.LogCaptureFixture) -> None:
    class Away(MemoryStore):
        """A disk that is full."""

        full = True

        async def swap(self, expected: bytes | None, item: Item) -> bool:
            if self.full:
                raise StoreUnavailable("disk full")
            return await super().swap(expected, item)

    caplog.set_level(logging.INFO, "turnfold.proxy.learning")
    store = Away()
    folds = Deciding(Decisions(store, 60.0, WarmthMemory()))
    for full, lines in ((True, 1), (False, 1), (True, 2)):
        store.full = full
        for number in range(5):
            await folds.fold("c", len(folds.seen) + number)
        assert len(caplog.messages) == lines
    assert "disk full" in caplog.text


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_a_learned_window_is_put_off_five_minutes_and_in_the_end_a_day() -> None:
    clock = Clock()
    windows, found = Windows(clock=clock), []
    for number in range(7):
        await windows.learn_from_refusal(SPOT, 5000 - number, 16_000)
        ((key, record),) = await windows.records("t1")
        found.append((record.tries, record.retry_at - clock.now, record.until - clock.now, record.learned_at - clock.now))
        clock.now += 10
    week = 7.0 * DAY
    times = [300.0, 1800.0, 7200.0, 28_800.0, 86_400.0, 86_400.0, 86_400.0]
    assert found == [(min(5, i + 1), wait, week, 0.0) for i, wait in enumerate(times)]
    assert key == SPOT.key
    record = record.__class__(record.known, record.until, record.retry_at, record.tries)
    assert [record.at(record.retry_at + late).trusted for late in (-1, 0)] == [True, False]


async def test_ratios_are_written_at_first_and_then_every_thirty_second() -> None:
    written = list[int]()

    class Noting(Counting):
        async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
            return await MemoryStore.get(self, keys)

    store = Noting()
    windows = Windows(store)
    for number in range(100):
        before = store.written
        at_once = windows.learn_at_once(SPOT, 1000, 1200 + number)
        if not at_once:
            await windows.learn_from_usage(SPOT, 1000, 1200 + number)
        assert at_once == (store.written == before)
        written += [number] * (store.written - before)
    assert written == [0, 1, 2, 34, 66, 98]
    assert not Windows(store).learn_at_once(SPOT, 1000, 1200)
    await windows.records("t1")  # what was not written yet is written first
    await windows.records("t1")
    assert store.written == len(written) + 1


async def test_a_record_is_kept_for_a_second_at_least() -> None:
    lives = list[float]()

    class Lasting(MemoryStore):
        async def put(self, items: Sequence[Item]) -> None:
            lives.extend(item.ttl for item in items)

    for ttl in (-5.0, 0.5, 1.25):
        await write_record(Lasting(), SPOT, WindowRecord(Learned(), 0.0), ttl)
    assert lives == [1.0, 1.0, 1.0, 1.0, 1.25, 1.25]


async def test_longest_reports_are_remembered_of_ten_thousand_conversations() -> None:
    windows = Windows()
    for number in range(10_001):
        windows.note_report(SPOT, str(number), 10, 20)
    assert windows.longest_report(SPOT, "10000") == (10, 20)
    assert windows.longest_report(SPOT, "0") == windows.longest_report(SPOT, None) == (0, 0)
    assert len(windows._longest) <= 10_000


def test_a_tag_gives_up_its_place_after_thirty_days() -> None:
    places = NamePlaces(TAGS, 2, {"anna": {"old": 100, "new": 101}})
    day = [(number * DAY + DAY - 1) for number in range(140)]
    assert places.placed("anna", ["third"], day[129]) == ("(other)",)
    assert places.placed("anna", ["third", "fourth", "fifth", "new"], day[130]) == ("third", "(other)", "new")
    (item,) = places.items(60.0)
    assert item.value.endswith(b'"seen":{"new":130,"third":130}}')
    assert places.placed("anna", ["new"], day[120]) == ("new",)
    assert places.items(60.0) == [item]
    assert NamePlaces(TAGS, 2, {"anna": {"new": 130}}).items(60.0) == []
    assert NamePlaces(TAGS, 0, {}).placed("anna", ["new"], day[1]) == ("(other)",)

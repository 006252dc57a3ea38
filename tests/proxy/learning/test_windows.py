"""What was learned is remembered for a while, by tenant, upstream and model, here and in a store."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from turnfold.compression.calibration import Learned
from turnfold.compression.fit.unpriced import Attached
from turnfold.proxy.learning.window_records import UpstreamModel
from turnfold.proxy.learning.windows import Windows
from turnfold.proxy.store.base import Item, Key, StoreUnavailable
from turnfold.proxy.store.memory import MemoryStore

SPOT = UpstreamModel("t1", "https://api.example", "m")
DAY = 86_400.0


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Lasting(MemoryStore):
    """A store that tells how long it was asked to keep the last item."""

    seconds = 0.0

    async def put(self, items: Sequence[Item]) -> None:
        self.seconds = items[-1].ttl
        await super().put(items)


class Dead(MemoryStore):
    """A store that is down."""

    async def get(self, keys: object) -> list[bytes | None]:
        raise StoreUnavailable

    async def put(self, items: object) -> None:
        raise StoreUnavailable


async def test_what_was_learned_is_known() -> None:
    windows = Windows()
    assert await windows.learned(SPOT) == Learned()
    await windows.learn_from_refusal(SPOT, 8192, 9000)
    await windows.learn_from_usage(SPOT, 1000, 1200)
    known = await windows.learned(SPOT)
    assert (known.limit, known.fits, known.ratio) == (8192, 1200, 1.2)


@pytest.mark.parametrize(
    "other",
    [
        UpstreamModel("t2", "https://api.example", "m"),
        UpstreamModel("t1", "https://b.example", "m"),
        UpstreamModel("t1", "https://api.example", "n"),
    ],
)
async def test_nobody_else_learns_of_it(other: UpstreamModel) -> None:
    windows = Windows(MemoryStore())
    await windows.learn_from_refusal(SPOT, 8192, 9000)
    assert await windows.learned(other) == Learned()


def test_parts_of_a_key_are_kept_apart() -> None:
    assert UpstreamModel("t", "ab", "c").key != UpstreamModel("t", "a", "bc").key
    assert len({UpstreamModel("t", "u", name + "x" * 10_000).key.id for name in ("", "\ud800")}) == 2
    assert len(UpstreamModel("t", "u", "\ud800" + "x" * 10_000).key.id) == 32


async def test_another_process_learns_from_the_store() -> None:
    store = MemoryStore()
    await Windows(store).learn_from_refusal(SPOT, 8192, 9000)
    assert (await Windows(store).learned(SPOT)).limit == 8192


async def test_it_is_forgotten_after_a_while() -> None:
    clock, store = Clock(), MemoryStore()
    windows = Windows(store, ttl=60, clock=clock)
    await windows.learn_from_refusal(SPOT, 8192, 9000)
    clock.now += 59
    assert (await windows.learned(SPOT)).limit == 8192
    clock.now += 2
    assert await windows.learned(SPOT) == Learned()
    assert await Windows(store, ttl=60, clock=clock).learned(SPOT) == Learned()


async def test_what_was_learned_lasts_for_days_here_and_in_the_store() -> None:
    clock, store = Clock(), Lasting()
    windows = Windows(store, clock=clock)
    await windows.learn_from_refusal(SPOT, 8192, 9000)
    assert store.seconds == pytest.approx(7 * DAY)
    clock.now += 6 * DAY
    assert (await windows.learned(SPOT)).limit == 8192
    assert (await Windows(store, clock=clock).learned(SPOT)).limit == 8192
    clock.now += DAY + 1
    assert await windows.learned(SPOT) == Learned()


async def test_what_was_learned_is_over_at_its_time() -> None:
    clock = Clock()
    windows = Windows(ttl=60, clock=clock)
    await windows.learn_from_refusal(SPOT, 8192, 9000)
    clock.now += 60
    assert await windows.learned(SPOT) == Learned()


@pytest.mark.parametrize("store", [None, MemoryStore()])
async def test_a_ratio_alone_is_remembered_too(store: MemoryStore | None) -> None:
    windows = Windows(store, clock=Clock())
    await windows.learn_from_usage(SPOT, 1000, 1300)
    await windows.learn_from_usage(SPOT, 1000, 1300)
    assert (await windows.learned(SPOT)).ratios == (1.3, 1.3)


async def test_a_word_about_the_window_makes_it_last_longer_and_a_ratio_does_not() -> None:
    clock, store = Clock(), Lasting()
    windows = Windows(store, clock=clock)
    await windows.learn_from_refusal(SPOT, 8192, 9000)
    clock.now += 3 * DAY
    await windows.learn_from_usage(SPOT, 1000, 1200)
    assert store.seconds == pytest.approx(4 * DAY)
    await windows.learn_from_refusal(SPOT, 8192, 9000)
    assert store.seconds == pytest.approx(7 * DAY)


async def test_a_dead_store_costs_learning_anew() -> None:
    windows = Windows(Dead())
    await windows.learn_from_refusal(SPOT, 8192, 9000)
    assert (await windows.learned(SPOT)).limit == 8192


@pytest.mark.parametrize("value", [b"", b"{}", b"[]", b"null", b'{"until": "x"}', b"\xff", b'{"until": 9e99, "ratios": 1}'])
async def test_what_cannot_be_read_is_nothing(value: bytes) -> None:
    store = MemoryStore()
    await store.put([Item(SPOT.key, value, 60)])
    assert await Windows(store).learned(SPOT) == Learned()


async def test_reports_are_written_now_and_then() -> None:
    class Counting(MemoryStore):
        puts = 0

        async def put(self, items: object) -> None:
            Counting.puts += 1
            await super().put(items)  # type: ignore[arg-type]

    windows = Windows(Counting())
    for i in range(200):
        await windows.learn_from_usage(SPOT, 1000, 1200 + i)
    assert 3 <= Counting.puts <= 12


async def test_the_number_of_keys_is_bounded() -> None:
    windows = Windows()
    for i in range(10_050):
        await windows.learned(UpstreamModel("t", "u", str(i)))
    assert len(windows._entries) == 10_000


def test_a_key_carries_its_tenant() -> None:
    assert UpstreamModel("t1", "u", "m").key == Key("t1", "window", UpstreamModel("t2", "u", "m").key.id)


async def test_a_learned_window_is_put_to_the_test_again_after_minutes_then_after_longer() -> None:
    clock = Clock()
    windows = Windows(MemoryStore(), clock=clock)
    waits = []
    for _ in range(4):
        await windows.learn_from_refusal(SPOT, 1000, 9000)
        began = clock.now
        assert (await windows.learned(SPOT)).window(9000) == 1000
        while (await windows.learned(SPOT)).window(9000) is not None:
            clock.now += 60
        waits.append(clock.now - began)
    assert waits == sorted(waits)
    assert waits[0] <= 600
    assert waits[-1] >= 3600
    await windows.learn_from_usage(SPOT, 9000, 9000)
    for _ in range(4):
        await windows.learn_from_usage(SPOT, 9000, 9000)
    assert (await windows.learned(SPOT)).window(9000) is None


async def test_what_was_learned_can_be_forgotten() -> None:
    store = MemoryStore()
    windows = Windows(store)
    await windows.learn_from_refusal(SPOT, 8192, 9000)
    await windows.forget_matching(*SPOT)
    assert await windows.learned(SPOT) == Learned()
    assert await Windows(store).learned(SPOT) == Learned()


async def test_every_process_forgets() -> None:
    """Another process holds it in memory, and would write it back."""
    store, clock = MemoryStore(), Clock()
    here, there = Windows(store, clock=clock), Windows(store, clock=clock)
    await here.learn_from_refusal(SPOT, 8192, 9000)
    assert (await there.learned(SPOT)).limit == 8192
    await here.forget_matching(*SPOT)
    await there.learn_from_refusal(SPOT, 8192, 9000)
    assert await Windows(store, clock=clock).learned(SPOT) == Learned()
    assert await here.learned(SPOT) == Learned()
    clock.now += 30
    assert await there.learned(SPOT) == Learned()
    await there.learn_from_refusal(SPOT, 4096, 9000)
    clock.now += 30
    assert (await there.learned(SPOT)).limit == 4096
    assert (await Windows(store, clock=clock).learned(SPOT)).limit == 4096


async def test_what_is_learned_after_forgetting_reaches_other_processes() -> None:
    store, clock = MemoryStore(), Clock()
    here, there = Windows(store, clock=clock), Windows(store, clock=clock)
    await there.learn_from_refusal(SPOT, 8192, 9000)
    await here.forget_matching(*SPOT)
    await here.learn_from_refusal(SPOT, 4096, 9000)
    clock.now += 30
    assert (await there.learned(SPOT)).limit == 4096


async def test_a_store_that_does_not_answer_forgets_nothing() -> None:
    class Failing(MemoryStore):
        down = False

        async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
            if self.down:
                raise StoreUnavailable
            return await super().get(keys)

    store, clock = Failing(), Clock()
    windows = Windows(store, clock=clock)
    await windows.learn_from_refusal(SPOT, 8192, 9000)
    store.down = True
    clock.now += 30
    assert (await windows.learned(SPOT)).limit == 8192


async def test_the_store_is_asked_twice_a_minute_at_most() -> None:
    class Counting(MemoryStore):
        gets = 0

        async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
            self.gets += 1
            return await super().get(keys)

    store, clock = Counting(), Clock()
    windows = Windows(store, clock=clock)
    for _ in range(120):
        await windows.learned(SPOT)
        clock.now += 1
    assert 3 <= store.gets <= 4


FOUR = [
    UpstreamModel(tenant, f"https://{upstream}.example", model)
    for tenant, upstream, model in [("t1", "a", "m"), ("t1", "a", "n"), ("t1", "b", "m"), ("t2", "a", "m")]
]


@pytest.mark.parametrize(
    ("upstream", "model", "left"),
    [
        (None, None, [3]),
        ("https://a.example", None, [2, 3]),
        (None, "m", [1, 3]),
        ("https://a.example", "m", [1, 2, 3]),
        ("https://c.example", None, [0, 1, 2, 3]),
        (None, "M", [0, 1, 2, 3]),
    ],
)
@pytest.mark.parametrize("fresh", [True, False])
async def test_a_tenant_forgets_its_own(upstream: str | None, model: str | None, left: list[int], fresh: bool) -> None:
    store = MemoryStore()
    windows = Windows(store)
    for spot in FOUR:
        await windows.learn_from_refusal(spot, 8192, 9000)
    forgetting = Windows(store) if fresh else windows
    assert await forgetting.forget_matching("t1", upstream, model) == 4 - len(left)
    for other in (forgetting, Windows(store)):
        assert [i for i, spot in enumerate(FOUR) if (await other.learned(spot)).limit] == left
    names = [(record.upstream, record.model) for tenant in ("t1", "t2") for _, record in await forgetting.records(tenant)]
    assert names == [(FOUR[i].upstream, FOUR[i].model) for i in left]


class Deaf(MemoryStore):
    """A store that takes nothing while it is deaf."""

    deaf = True

    async def put(self, items: Sequence[Item]) -> None:
        if self.deaf:
            raise StoreUnavailable
        await super().put(items)


async def test_forgetting_all_reaches_what_never_was_in_the_store() -> None:
    store, clock = Deaf(), Clock()
    here, there = Windows(store, clock=clock), Windows(store, clock=clock)
    await there.learn_from_refusal(SPOT, 8192, 9000)
    store.deaf = False
    await here.forget_matching(SPOT.tenant)
    clock.now += 30
    assert await there.learned(SPOT) == Learned()


async def test_what_a_store_missed_reaches_other_processes_once_it_is_back() -> None:
    store = Deaf()
    windows = Windows(store)
    await windows.learn_from_refusal(SPOT, 8192, 9000)
    for _ in range(20):  # by then a report says nothing new
        await windows.learn_from_usage(SPOT, 1000, 1000)
    store.deaf = False
    assert not windows.learn_at_once(SPOT, 1000, 1000)
    await windows.learn_from_usage(SPOT, 1000, 1000)
    assert (await Windows(store).learned(SPOT)).limit == 8192


async def test_records_say_the_latest_figures() -> None:
    windows = Windows(MemoryStore())
    for reported in range(1000, 1020):
        await windows.learn_from_usage(SPOT, 1000, reported)
    ((_, record),) = await windows.records(SPOT.tenant)
    assert (record.known.fits, record.upstream, record.model) == (1019, SPOT.upstream, SPOT.model)
    assert await Windows().records(SPOT.tenant) == []


async def test_without_a_store_a_process_forgets_what_it_knows() -> None:
    windows = Windows()
    await windows.learn_from_refusal(SPOT, 8192, 9000)
    assert await windows.forget_matching("t1", model="another") == 0
    assert (await windows.learned(SPOT)).limit == 8192
    assert await windows.forget_matching(*SPOT) == 1
    assert await windows.learned(SPOT) == Learned()


async def test_names_of_any_kind_are_listed_and_forgotten() -> None:
    windows = Windows(MemoryStore())
    for model in ("\ud800", "x" * 10_000, "", "模型 \x1b[31m"):
        await windows.learn_from_refusal(UpstreamModel("t1", "https://u", model), 8192, 9000)
    assert len(await windows.records("t1")) == 4
    assert await windows.forget_matching("t1", model="x" * 10_000) == 1
    assert await windows.forget_matching("t1", model="\ud800") == 1
    assert await windows.forget_matching("t1", model="") == 1


async def test_records_of_the_first_release_have_no_names_and_are_forgotten_all_the_same() -> None:
    store = MemoryStore()
    old = b'{"until": 9e9, "ratios": [], "limit": 8192, "fits": 5, "fails": null, "quiet": []}'
    await store.put([Item(SPOT.key, old, 60)])
    ((_, record),) = await Windows(store).records("t1")
    assert (record.upstream, record.known.limit, record.known.claims, record.tries) == ("", 8192, 2, 1)
    assert record.known.over == (False,)
    await store.put([Item(SPOT.key, old.replace(b"8192", b"null"), 60)])
    ((_, record),) = await Windows(store).records("t1")
    assert (record.known.limit, record.known.claims, record.known.over, record.tries) == (None, 0, (), 0)
    assert await Windows(store).forget_matching("t1", model=SPOT.model) == 0
    assert await Windows(store).forget_matching("t1", SPOT.upstream, SPOT.model) == 1
    assert await Windows(store).records("t1") == []


def test_the_longest_report_of_a_conversation_is_its_own() -> None:
    windows = Windows()
    for ours, reported in ((1000, 500), (2000, 1000), (3000, 1010), (1500, 700)):
        windows.note_report(SPOT, "a", ours, reported)
    windows.note_report(SPOT, "b", 1000, 1400)
    windows.note_report(SPOT, None, 1000, 9000)
    assert windows.longest_report(SPOT, "a") == (2000, 1000)
    assert windows.longest_report(SPOT, "b") == (1000, 1400)
    assert windows.longest_report(SPOT._replace(tenant="t2"), "a") == windows.longest_report(SPOT, None) == (0, 0)
    windows.forget_in_memory(lambda tenant: tenant == SPOT.tenant)
    assert windows.longest_report(SPOT, "a") == (0, 0)


def test_growth_counts_from_the_last_report_with_the_same_attachments() -> None:
    windows, picture = Windows(), (Attached("image", 900, False),)
    assert windows.growth(SPOT, "c", picture, 1000, 1100) == (0, 0)
    assert windows.growth(SPOT, "c", picture, 1500, 1700) == (500, 600)
    assert windows.growth(SPOT, "d", picture, 1600, 1800) == windows.growth(SPOT, None, picture, 1600, 1800) == (0, 0)
    assert windows.growth(SPOT, "c", (), 1600, 1800) == (0, 0)
    assert windows.growth(SPOT, "c", (), 1610, 1820) == (10, 20)

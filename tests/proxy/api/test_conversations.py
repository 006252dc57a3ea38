"""Conversations in every store, and many who add to one at the same time.

Run as a script this file is the processes that add.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.proxy.harness import unhurried
from tests.support.forks import fork_into, run_processes
from tests.support.no_time import in_no_time
from turnfold.compression import budgeted as history
from turnfold.compression import tokens
from turnfold.compression.budgeted import Block, History, HistoryMessage, HistorySettings
from turnfold.config.settings import StoreSettings
from turnfold.proxy.api import conversations as module
from turnfold.proxy.api.conversations import Conversations, ConversationUnknown, HistoryIncomplete
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.books.section_records import SectionExpired, find_section
from turnfold.proxy.store import Batch, Item, Key, Scope, Store, StoreTimedOut, memory, open_store
from turnfold.proxy.store.compare_and_set import Contended, compare_and_set
from turnfold.proxy.store.memory import MemoryStore

SETTINGS = HistorySettings(compress_threshold=200, keep_recent=3)
PROCESSES, ADDS = 2, 32


def conversations(store: Store, ttl: int = 3600) -> Conversations:
    return Conversations(store, StoreSettings(ttl=ttl), Workshop(2))


def note(n: int | str) -> HistoryMessage:
    return HistoryMessage("user", f"Note {n}: the harbour was quiet and nothing of note happened there.")


def told(state: History) -> list[str]:
    """Every message of a history, oldest first."""
    messages = [message for block in state.blocks for message in block.messages] + list(state.recent)
    return [message.content.split(":")[0].removeprefix("Note ") for message in messages]


async def test_sections_are_remembered_by_their_size_up_to_a_tenants_share_of_32_mib() -> None:
    """A section counts with 500 bytes, its texts, and its messages, 200 bytes each beside their words."""
    asked: list[int] = []

    class Counting(MemoryStore):
        async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
            asked.append(len(keys))
            return await super().get(keys)

    kept = Conversations(Counting(), StoreSettings(ttl=3600, tenant_share=0.01), Workshop(2))
    room = int(0.01 * 32 * 2**20)
    for more, reads in ((0, [1]), (1, [1, 1])):
        sizes = (room // 2, room - room // 2 + more)
        blocks = [
            Block.of(
                f"{more}-{number}",
                (HistoryMessage("user", "abc"), HistoryMessage("assistant", "defgh")),
                ("f" * (size - 500 - 8 - 400 - 10), "s" * 10),
                (9, 9, 9),
            )
            for number, size in enumerate(sizes)
        ]
        await kept.replace("anna", "c", History(1, blocks=tuple(blocks), messages=4))
        asked.clear()
        assert (await kept.read("anna", "c")).history.blocks == tuple(blocks)
        assert asked == reads, more


async def test_the_store_holds_what_the_library_makes(store: Store) -> None:
    kept, plain = conversations(store), History()
    for n in range(30):
        plain, action = history.add(plain, note(n), SETTINGS)
        added = await kept.add("anna", "c", note(n), SETTINGS)
        assert (added.kept.history, added.action) == (plain, action)
    fresh = await conversations(store).read("anna", "c")  # nothing in memory: all from the store
    assert fresh.history == plain
    assert fresh.context == history.context(plain, SETTINGS)
    assert fresh.settings == SETTINGS
    assert len(plain.blocks) > 2
    section = await find_section(store, "anna", plain.blocks[0].id)
    assert section.id == plain.blocks[0].id


async def test_an_add_is_as_large_as_all_that_it_looks_at() -> None:
    """So that a large one is done in a process."""
    sizes = list[int]()

    class Measuring(Workshop):
        async def run_sized(self, tenant: str, size: int, job: Callable[..., Any], *args: Any) -> Any:
            sizes.append(size)
            return await super().run_sized(tenant, size, job, *args)

    kept = Conversations(MemoryStore(), StoreSettings(), Measuring(2))
    for size in (5, 70, 900):
        await kept.add("anna", "c", HistoryMessage("user", "y" * size), SETTINGS)
    assert sizes[::2] == [5, 75, 975]  # between them stands the making of the context


async def test_a_copy_keeps_its_sections_when_the_first_conversation_is_deleted(store: Store) -> None:
    kept = conversations(store)
    for n in range(20):
        added = await kept.add("anna", "first", note(n), SETTINGS)
    await kept.replace("anna", "copy", added.kept.history)
    await kept.forget("anna", "first")
    for block in added.kept.history.blocks:
        assert (await find_section(store, "anna", block.id)).id == block.id
    await kept.forget("anna", "copy")
    with pytest.raises(SectionExpired):
        await find_section(store, "anna", added.kept.history.blocks[0].id)


async def test_concurrent_adds_of_one_process_keep_their_order(store: Store) -> None:
    kept = conversations(store)
    await asyncio.gather(*(kept.add("anna", "c", note(n), SETTINGS) for n in range(40)))
    assert told((await kept.read("anna", "c")).history) == [str(n) for n in range(40)]


async def test_several_services_on_one_store_lose_nothing(store: Store) -> None:
    services = [conversations(store) for _ in range(4)]
    await asyncio.gather(*(services[n % 4].add("anna", "c", note(n), SETTINGS) for n in range(32)))
    found = [told((await service.read("anna", "c")).history) for service in services]
    assert sorted(found[0], key=int) == [str(n) for n in range(32)]
    assert found[1:] == found[:1] * 3
    # What one service was asked for in order is in order.
    assert all([n for n in found[0] if int(n) % 4 == k] == [str(n) for n in range(k, 32, 4)] for k in range(4))


async def test_deleting_leaves_nothing_and_others_whole(store: Store) -> None:
    kept = conversations(store)
    for n in range(12):
        for name in ("c", "d"):
            await kept.add("anna", name, note(n), SETTINGS)
    await kept.forget("anna", "c")
    with pytest.raises(ConversationUnknown):
        await kept.forget("anna", "c")
    assert all("c" not in key.id.split(":") for key in await store.keys(Scope("anna", "conversation-block")))
    assert told((await conversations(store).read("anna", "d")).history) == [str(n) for n in range(12)]
    again = await kept.add("anna", "c", note(0), SETTINGS)
    assert again.kept.history.messages == 1


async def test_lost_blocks_are_told_and_not_forgotten(store: Store) -> None:
    kept = conversations(store)
    for n in range(12):
        await kept.add("anna", "c", note(n), SETTINGS)
    await store.delete(Scope("anna", "conversation-block"))
    with pytest.raises(HistoryIncomplete):
        await conversations(store).add("anna", "c", note(12), SETTINGS)


ALONE = HistorySettings(compress_threshold=1, keep_recent=0)  # each message is a block
LONG = 150  # more than two pages of blocks


def long_history(messages: int, settings: HistorySettings = ALONE) -> History:
    state = History()
    for n in range(messages):
        state, _ = history.add(state, note(n), settings)
    return state


class Weighing(MemoryStore):
    """A store that adds up the bytes of what is written."""

    written = 0

    async def swap(self, expected: bytes | None, item: Item) -> bool:
        self.written += len(item.value)
        return await super().swap(expected, item)

    async def record(self, batch: Batch) -> None:
        self.written += sum(len(item.value) for item in batch.items)
        await super().record(batch)


async def test_an_add_writes_as_much_to_a_long_conversation_as_to_a_short_one() -> None:
    """But for a few bytes for each 64 sections."""
    store, sizes = Weighing(), list[int]()
    kept = conversations(store)
    for messages in (10, 2000):
        name = f"c{messages}"
        await kept.replace("anna", name, long_history(messages), ALONE)
        before = store.written
        for n in range(128):  # the first add writes the whole page that becomes full
            await kept.add("anna", name, note(messages + n), ALONE)
        sizes.append(store.written - before)
    assert sizes[1] < 1.5 * sizes[0]


async def test_a_long_conversation_is_read_and_goes_on_anywhere(store: Store) -> None:
    first, plain = conversations(store), long_history(LONG)
    await first.replace("anna", "c", plain, ALONE)
    services = [first, conversations(store)]
    for n in range(LONG, LONG + 70):
        plain, _ = history.add(plain, note(n), ALONE)
        added = await services[n % 2].add("anna", "c", note(n), ALONE)
        assert added.kept.history == plain
        assert added.kept.context == history.context(plain, ALONE)
    found = await conversations(store).read("anna", "c")
    assert (found.history, found.context) == (plain, history.context(plain, ALONE))


async def test_deleting_a_long_conversation_leaves_nothing(store: Store) -> None:
    kept = conversations(store)
    await kept.replace("anna", "c", long_history(LONG), ALONE)
    await conversations(store).forget("anna", "c")
    left = {key.kind for key in await store.keys(Scope("anna"))}
    assert left <= {"section-seen"}
    again = await kept.replace("anna", "c", long_history(LONG), ALONE)
    assert (await conversations(store).read("anna", "c")).history == again.history


async def test_a_lost_page_is_told_and_the_conversation_can_be_deleted(store: Store) -> None:
    await conversations(store).replace("anna", "c", long_history(LONG), ALONE)
    pages = [key for key in await store.keys(Scope("anna")) if key.kind == "conversation-page"]
    assert len(pages) == LONG // 64
    await store.discard(pages[:1])
    kept = conversations(store)
    with pytest.raises(HistoryIncomplete):
        await kept.add("anna", "c", note(LONG), ALONE)
    await kept.forget("anna", "c")
    assert (await kept.add("anna", "c", note(0), ALONE)).kept.history.messages == 1


async def test_a_conversation_without_pages_is_read_by_the_release_before_them() -> None:
    store = MemoryStore()
    kept = conversations(store)
    for messages, version in ((10, 2), (LONG, 3)):
        await kept.replace("anna", "c", long_history(messages), ALONE)
        (head,) = await store.get([Key("anna", "conversation", "c")])
        assert head is not None
        assert orjson.loads(head)["record_version"] == version


async def test_a_long_conversation_of_the_release_before_pages_goes_on() -> None:
    store, plain = MemoryStore(), long_history(LONG)
    kept = conversations(store)
    await kept.replace("anna", "c", plain, ALONE)
    key = Key("anna", "conversation", "c")
    (head,) = await store.get([key])
    assert head is not None
    fields = orjson.loads(head)
    written = fields["pages"][0]["written"]
    del fields["pages"]
    fields |= {"record_version": 2, "blocks": [{"id": block.id, "written": written} for block in plain.blocks]}
    await store.discard([one for one in await store.keys(Scope("anna")) if one.kind == "conversation-page"])
    await store.put([Item(key, orjson.dumps(fields), 3600, "c")])
    plain, _ = history.add(plain, note(LONG), ALONE)
    assert (await conversations(store).add("anna", "c", note(LONG), ALONE)).kept.history == plain
    assert (await conversations(store).read("anna", "c")).history == plain


class Clock:
    """Unix time of conversations and of a store in memory."""

    now = 1e9

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for one in (module, memory):
        monkeypatch.setattr(one, "time", made)
    return made


class Counting(MemoryStore):
    """A store that keeps which sections are written."""

    def __init__(self) -> None:
        super().__init__()
        self.sections: list[str] = []

    async def record(self, batch: Batch) -> None:
        self.sections += [item.key.id.partition(":")[0] for item in batch.items if item.key.kind == "conversation-block"]
        await super().record(batch)


async def test_a_section_is_written_again_after_a_quarter_of_its_life(clock: Clock) -> None:
    store = Counting()
    kept = conversations(store, ttl=4000)
    for n in range(20):
        await kept.add("anna", "c", note(n), SETTINGS)
    written = store.sections
    assert len(written) == len(set(written)) > 2
    clock.now += 999
    store.sections = []
    await kept.add("anna", "c", note(20), SETTINGS)
    assert not set(store.sections) & set(written)
    clock.now += 1
    await kept.add("anna", "c", note(21), SETTINGS)
    assert set(written) <= set(store.sections)


def test_the_last_256_adds_of_a_conversation_are_known_again() -> None:
    async def add() -> None:
        kept, long = conversations(MemoryStore()), HistorySettings(compress_threshold=10**6)
        for n in range(257):
            await kept.add("anna", "c", note(n), long, f"t{n}")
        again = await kept.add("anna", "c", note(1), long, "t1")
        assert len(again.kept.history.recent) == 257
        again = await kept.add("anna", "c", note(0), long, "t0")
        assert len(again.kept.history.recent) == 258

    in_no_time(add())


async def test_blocks_live_as_long_as_the_conversation(clock: Clock) -> None:
    store = MemoryStore()
    kept = conversations(store, ttl=1)
    await kept.replace("anna", "long", long_history(LONG), ALONE)
    for n in range(40):
        await kept.add("anna", "c", note(n), SETTINGS)
        await kept.add("anna", "long", note(LONG + n), ALONE)
        clock.now += 0.05  # twice the time to live in all
    assert told((await conversations(store).read("anna", "c")).history) == [str(n) for n in range(40)]
    assert told((await conversations(store).read("anna", "long")).history) == [str(n) for n in range(LONG + 40)]


def test_own_adds_do_not_displace_keys() -> None:
    async def add() -> None:
        kept, long = conversations(MemoryStore()), HistorySettings(compress_threshold=10**6)
        await kept.add("anna", "c", note("first"), long, "t")
        for n in range(300):
            await kept.add("anna", "c", note(n), long)
        again = await kept.add("anna", "c", note("first"), long, "t")
        assert again.kept.history.messages == 301

    in_no_time(add())


class Forgetful(MemoryStore):
    """Does every other swap, and says that it got no answer."""

    def __init__(self) -> None:
        super().__init__()
        self.swaps = 0

    async def swap(self, expected: bytes | None, item: Item) -> bool:
        self.swaps += 1
        done = await super().swap(expected, item)
        if self.swaps % 2:
            raise StoreTimedOut("done, but nobody heard")
        return done


async def lost(store: MemoryStore) -> None:
    """The store loses its sections."""
    await store.discard(await store.keys(Scope("anna", "conversation-block")))


async def test_sections_in_memory_are_read_anew_once_their_tenants_data_was_deleted() -> None:
    store = MemoryStore()
    kept = conversations(store)
    for n in range(20):
        added = await kept.add("anna", "c", note(n), SETTINGS)
    another = conversations(store)
    assert (await another.read("anna", "c")).history == added.kept.history
    await lost(store)
    assert (await another.read("anna", "c")).history == added.kept.history  # it was read before
    kept.forget_in_memory(lambda tenant: tenant != "anna")
    assert (await kept.read("anna", "c")).history == added.kept.history
    kept.forget_in_memory(lambda tenant: tenant == "anna")
    with pytest.raises(HistoryIncomplete):
        await kept.read("anna", "c")


@pytest.mark.parametrize("room", [0, -1])
async def test_as_many_sections_are_in_memory_as_there_is_room_for(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    state = History()
    while not state.blocks:
        state, _ = history.add(state, note(len(state.recent)), SETTINGS)
    (block,) = state.blocks
    size = 500 + sum(map(len, block.texts)) + sum(len(message.content) + 200 for message in block.messages)
    monkeypatch.setattr(module, "_MOST_KEPT", size + room)
    store = MemoryStore()
    kept = Conversations(store, StoreSettings(tenant_share=1.0), Workshop(2))
    await kept.replace("anna", "c", state)
    await lost(store)
    with pytest.raises(HistoryIncomplete) if room else contextlib.nullcontext():
        await kept.read("anna", "c")


async def test_a_swap_without_an_answer_is_not_done_twice() -> None:
    store = Forgetful()
    kept = conversations(store)
    actions = [(await kept.add("anna", "c", note(n), SETTINGS)).action for n in range(20)]
    assert told((await kept.read("anna", "c")).history) == [str(n) for n in range(20)]
    assert "compressed" in actions
    assert "duplicate" not in actions


async def test_a_swap_that_never_succeeds_is_given_up() -> None:
    class Lost(MemoryStore):
        async def swap(self, expected: bytes | None, item: Item) -> bool:
            return False

    async def change(held: bytes | None) -> tuple[Item, None]:
        return Item(key, b"x", 60), None

    key = Key("anna", "k", "i")
    with pytest.raises(Contended):
        await compare_and_set(Lost(), key, change, patience=0.05)


async def work(process: str, urls: Sequence[str]) -> None:
    for url in urls:
        store = open_store(unhurried(StoreSettings(url=url)))
        kept = conversations(store.patient)  # as the API has it
        await asyncio.gather(*(kept.add("anna", "c", note(f"{process}.{n}"), SETTINGS) for n in range(ADDS)))
        await store.close()


async def test_64_concurrent_adds_through_2_processes_lose_nothing(redis_url: str, tmp_path: Path) -> None:
    urls = [redis_url, f"sqlite:///{tmp_path}/t.db"]
    await run_processes(__file__, PROCESSES, urls)
    for url in urls:
        store = open_store(unhurried(StoreSettings(url=url)))
        found = told((await conversations(store.patient).read("anna", "c")).history)
        assert sorted(found) == sorted(f"{process}.{n}" for process in range(PROCESSES) for n in range(ADDS))
        for process in range(PROCESSES):  # each one's adds stand in the order in which it made them
            own = [name for name in found if name.startswith(f"{process}.")]
            assert own == [f"{process}.{n}" for n in range(ADDS)]
        await store.close()


if __name__ == "__main__":
    tokens.count("")  # which reads the vocabulary, once for all processes
    fork_into(int(sys.argv[1]), lambda number: asyncio.run(work(str(number), sys.argv[2:])))

"""Messages and their originals in every store: together or not at all, each tenant its own (row E10).

These tests cover keeping and finding again. They leave out HTTP (``tests/proxy/routes/test_messages``), compression.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest

from tests.support.small_talk import chat, talk
from turnfold.compression import CompressOptions
from turnfold.config.settings import StoreSettings
from turnfold.proxy.api.roundtrips import Roundtrips, options_of, unpack_result
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.store import Batch, Scope, Store, StoreUnavailable

DEFAULT = CompressOptions()
MESSAGES = talk(30)


@pytest.fixture
def workshop() -> Iterator[Workshop]:
    made = Workshop(2)
    yield made
    made.close()


def roundtrips(store: Store, workshop: Workshop, **settings: Any) -> Roundtrips:
    return Roundtrips(store, StoreSettings(**settings), workshop)


async def test_messages_and_originals_are_one_value(store: Store, workshop: Workshop) -> None:
    result, stored = await roundtrips(store, workshop).compress("anna", MESSAGES, DEFAULT, None)
    assert stored
    (key,) = await store.keys(Scope("anna", "roundtrip"))
    (value,) = await store.get([key])
    assert value is not None
    assert unpack_result(value) == (result.messages, dict(result.verbatim))


async def test_originals_are_found_by_the_messages_alone(store: Store, workshop: Workshop) -> None:
    trips = roundtrips(store, workshop)
    first, _ = await trips.compress("anna", MESSAGES, DEFAULT, None)
    again, _ = await trips.compress("anna", [*first.messages, *chat(20)], DEFAULT, None)
    once = await trips.uncompress("anna", again.messages, None, recursive=False)
    assert once.messages == [*first.messages, *chat(20)]
    deep = await trips.uncompress("anna", again.messages, None, recursive=True)
    assert (deep.messages, deep.missing_ids) == ([*MESSAGES, *chat(20)], ())


async def test_numbers_of_any_size_come_back_from_the_store(store: Store, workshop: Workshop) -> None:
    sent = [{**message, "sent_ns": 1_795_000_000_000_000_000 + n, "score": -1e300} for n, message in enumerate(MESSAGES)]
    trips = roundtrips(store, workshop)
    result, _ = await trips.compress("anna", sent, DEFAULT, None)
    assert (await trips.uncompress("anna", result.messages, None, recursive=False)).messages == sent


async def test_other_options_and_conversations_do_not_overwrite(store: Store, workshop: Workshop) -> None:
    trips = roundtrips(store, workshop)
    named = [[{**m, "id": f"m{n}"} for n, m in enumerate(said)] for said in (MESSAGES, chat(30))]
    made = [
        (messages, (await trips.compress("anna", messages, CompressOptions(recency_window=window), None))[0])
        for messages in named
        for window in (0, 4, 20)
    ]
    for messages, result in made:
        assert (await trips.uncompress("anna", result.messages, None, recursive=True)).messages == messages


async def test_tenants_do_not_see_each_others_originals(store: Store, workshop: Workshop) -> None:
    trips = roundtrips(store, workshop)
    result, _ = await trips.compress("anna", MESSAGES, DEFAULT, None)
    theirs = await trips.uncompress("bert", result.messages, None, recursive=True)
    assert theirs.messages == result.messages
    assert set(theirs.missing_ids) == set(result.verbatim)


async def test_what_expires_or_is_deleted_is_missing_as_a_whole(store: Store, workshop: Workshop) -> None:
    trips = roundtrips(store, workshop)
    result, _ = await trips.compress("anna", MESSAGES, DEFAULT, "harbour")
    assert await store.delete(Scope("anna", conversation="harbour")) == 1
    assert (await trips.uncompress("anna", result.messages, None, recursive=False)).messages_expanded == 0
    brief = Roundtrips(store, StoreSettings().model_copy(update={"ttl": 0.3}), workshop)  # as a setting it is in whole seconds
    _, stored = await brief.compress("anna", MESSAGES, DEFAULT, None)
    assert stored
    await asyncio.sleep(0.35)
    found = await trips.uncompress("anna", result.messages, None, recursive=False)
    assert (found.messages, set(found.missing_ids)) == (result.messages, set(result.verbatim))


async def test_nothing_is_kept_where_the_settings_say_so(store: Store, workshop: Workshop) -> None:
    trips = roundtrips(store, workshop, save_originals=False)
    result, stored = await trips.compress("anna", MESSAGES, DEFAULT, None)
    assert not stored
    assert await store.keys(Scope("anna")) == []
    assert (await trips.uncompress("anna", result.messages, result.verbatim, recursive=False)).messages == MESSAGES


class Down:
    """A store that refuses what it is given."""

    def __init__(self) -> None:
        self.seen: list[Sequence[Any]] = []

    async def record(self, batch: Batch) -> None:
        self.seen.append(batch.items)
        raise StoreUnavailable


async def test_a_store_that_is_down_costs_no_original(workshop: Workshop) -> None:
    down = Down()
    result, stored = await roundtrips(cast(Store, down), workshop).compress("anna", MESSAGES, DEFAULT, None)
    assert not stored
    assert [len(items) for items in down.seen] == [1]
    assert result.verbatim


def test_counters_by_name() -> None:
    message = {"role": "user", "content": "The pump was serviced."}
    counts = {name: options_of({"token_counter": name}).token_counter(message) for name in ("characters", "o200k_base")}
    assert counts == {"characters": 7, "o200k_base": 8}


async def test_nothing_private_is_kept(store: Store, workshop: Workshop) -> None:
    said = [{**MESSAGES[0], "content": f"{MESSAGES[0]['content']} <private>hunter2 of the kitchen</private>"}, *MESSAGES[1:]]
    said.insert(3, {"role": "user", "content": "<private>hunter2 and more, never closed"})
    trips = roundtrips(store, workshop)
    result, _ = await trips.compress("anna", said, DEFAULT, None)
    (value,) = await store.get(list(await store.keys(Scope("anna", "roundtrip"))))
    assert value is not None
    assert "hunter2" not in json.dumps(unpack_result(value))
    back = await trips.uncompress("anna", result.messages, None, recursive=False)
    assert back.messages[5:] == said[5:]

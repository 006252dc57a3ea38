"""What is private leaves every text before it is stored.

These tests show that no store of the proxy's ever holds such text. They leave out what counts as private
(``tests/compression/text/test_private.py``).
"""

from __future__ import annotations

import json
import logging
import zlib
from dataclasses import replace
from typing import Any

import pytest

from turnfold.compression import budgeted as history
from turnfold.compression.fold import Section, fold
from turnfold.compression.layers import CompressRequest, Layer
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.text.private import REDACTED
from turnfold.compression.wire.formats.responses import RESPONSES
from turnfold.config.settings import CacheSettings, StoreSettings
from turnfold.proxy.api.cache import CompressionCache
from turnfold.proxy.api.compressions import Compressions
from turnfold.proxy.api.conversations import Conversations
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.books.section_records import Layered, find_section, pack_section, section_items, unpack_section
from turnfold.proxy.store import Store
from turnfold.proxy.store.memory import MemoryStore

SECRET = "hunter2 of the kitchen"


def test_sections_are_stored_without_it_and_found_by_their_id() -> None:
    raw = json.dumps({"role": "user", "content": f"The key: <private>{SECRET}</private>, as ever."})
    kept = unpack_section("abc", pack_section(Section("abc", "facts", (raw,), 9)))
    assert isinstance(kept, Section)
    assert kept.id == "abc"
    assert json.loads(kept.messages[0])["content"] == f"The key: {REDACTED}, as ever."


@pytest.mark.parametrize("member", ["private int x;", "<Private>True</Private>"])
def test_reasoning_with_the_call_that_follows_it_is_stored(member: str) -> None:
    """In the Responses format they are one message of several objects; here the call writes code with the word in it."""
    turns: list[Any] = [{"role": "user", "content": "Write the classes."}]
    for number in range(12):
        patch = json.dumps({"patch": f"class Crane{number} {{ {member} }} " + "// lifts 40 t " * 99})
        turns += [
            {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "gAAAA" * 30},
            {"type": "function_call", "call_id": f"c{number}", "name": "write", "arguments": patch},
            {"type": "function_call_output", "call_id": f"c{number}", "output": "Done. " * 99},
            {"role": "assistant", "content": "Written."},
            {"role": "user", "content": f"Go on with class {number + 1}."},
        ]
    body = json.dumps({"model": "gpt-4o", "input": turns}).encode()
    folded = fold(RESPONSES.read(body, Memo(2**24)), FoldOptions(prices=CachePrices(1.0, 1.0)), Memo(2**24))
    kept = [unpack_section(one.id, pack_section(one)) for one in folded.sections]
    items = [item for one in kept if isinstance(one, Section) for item in json.loads(f"[{','.join(one.messages)}]")]
    assert items
    assert "True" not in json.dumps(items)
    steps = [(item["type"], item.get("call_id", item.get("id"))) for item in items if "type" in item]
    numbers = [name.removeprefix("rs_") for kind, name in steps if kind == "reasoning"]
    assert steps == [
        step
        for number in numbers
        for step in (("reasoning", f"rs_{number}"), ("function_call", f"c{number}"), ("function_call_output", f"c{number}"))
    ]
    if member.startswith("private"):
        left = iter(turns)  # a request that stays stands between two sections
        assert all(item in left for item in items)


def test_layers_that_lost_their_tags_are_not_stored() -> None:
    whole = Layer(f"Intro. <private>One. {SECRET} is it.</private> End.", 9)
    section = Layered("abc", (whole, Layer(f"{SECRET} is it.", 4), Layer(SECRET, 3)), (("user", whole.text),))
    kept = unpack_section("abc", pack_section(section))
    assert isinstance(kept, Layered)
    assert SECRET not in repr(kept)
    assert kept.layers[0].text == f"Intro. {REDACTED} End."


async def _held(store: Store, tenant: str, names: list[str]) -> str:
    return repr([await find_section(store, tenant, name) for name in names])


TEXT = f"""The pump on pier 4 was serviced on Monday. <private>The code is {SECRET}.

It was changed by Ada. {SECRET} is long.</private> The valve on pier 5 holds 42 bar. It was checked twice by Bo.
"""


async def test_compressions_give_it_to_the_caller_and_keep_none_of_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    store = MemoryStore()
    settings = StoreSettings()
    workshop = Workshop(1)
    try:
        made = Compressions(store, settings, CompressionCache(store, CacheSettings()), workshop)
        first = await made.compress("t", CompressRequest(TEXT))
        again = await made.compress("t", CompressRequest(TEXT))
    finally:
        workshop.close()
    assert first.result == again.result
    assert not again.cached
    assert SECRET in first.result.layers[0].text
    held = await _held(store, "t", [section.id for section in first.result.sections])
    assert REDACTED in held
    assert SECRET not in held
    assert "Ada" not in held
    assert SECRET not in caplog.text


async def test_conversations_never_hold_it() -> None:
    store = MemoryStore()
    workshop = Workshop(1)
    try:
        conversations = Conversations(store, StoreSettings(), workshop)
        few = history.HistorySettings(60, 1)
        for day in range(9):
            said = history.HistoryMessage(
                "user", f"Day {day}: the pump holds {day + 40} bar. <private>{SECRET} {day}</private> Noted."
            )
            added = await conversations.add("t", "c", said, few)
        assert added.kept.history.blocks
        assert SECRET not in repr(added.kept)
        exported = history.export_history(added.kept.history)
        open_tag = exported.replace(REDACTED, f"<private>{SECRET}</private>")
        put = await conversations.replace("t", "d", history.read_export(open_tag).history)
        assert SECRET not in repr(put)
        assert SECRET not in repr(await conversations.read("t", "d"))
    finally:
        workshop.close()


async def test_an_imported_block_is_told_by_what_is_left_of_it() -> None:
    said = history.HistoryMessage("user", f"a <private>{SECRET}</private> b")
    block = history.Block("b", (said,), (SECRET, SECRET), (9, 3, 3), ())
    workshop = Workshop(1)
    try:
        state = replace(history.History(), blocks=(block,))
        put = await Conversations(MemoryStore(), StoreSettings(), workshop).replace("t", "c", state)
    finally:
        workshop.close()
    assert SECRET not in repr(put)


def test_section_items_hold_none_of_it() -> None:
    raw = json.dumps({"role": "tool", "content": f"<private>{SECRET}"})
    items = section_items("t", Section("s", "line", (raw,), 3), 60.0, None)
    assert SECRET not in repr(unpack_section("s", items[0].value))


def test_what_was_sent_in_place_of_something_private_is_not_kept() -> None:
    raw = json.dumps({"role": "user", "content": f"a <private>{SECRET}</private> b"})
    one = Section("0" * 12, "facts", (raw, '{"role":"user","content":"open"}'), 9, (f"a {SECRET}", "opn"))
    for section in (one, replace(one, level="summary", instead=(f"quotes {SECRET}",))):
        stored = b"".join(zlib.decompress(item.value) for item in section_items("anna", section, 60, None) if item.value)
        assert SECRET.encode() not in stored
        assert (b"opn" in stored) == (section.level == "facts")

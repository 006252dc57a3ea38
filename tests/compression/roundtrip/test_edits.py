"""Messages that were edited or deleted between compressing and restoring.

These tests show what ``uncompress`` says of them. They leave out originals that the store lacks (``test_roundtrip``).
"""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from turnfold.compression import Compressed, compress, strip_provenance, uncompress
from turnfold.compression.roundtrip.provenance import provenance_of
from turnfold.compression.roundtrip.values import Results

Message = dict[str, Any]

FENCE = "```py\nprint(1)\n```"
SAID = "The tide was low and the boats lay on the sand all day. Nobody minded, since it was a holiday for everybody. " * 4


def conversation(count: int = 12) -> list[Message]:
    roles = ("user", "assistant")
    return [{"id": f"m{n}", "role": roles[n % 2], "content": f"{n}. {SAID}\n\n{FENCE}\n{n}"} for n in range(count)]


def compressed(messages: list[Message]) -> tuple[Compressed, list[int]]:
    """A result, and the places of its compressed messages."""
    result = compress(messages)
    return result, [n for n, message in enumerate(result.messages) if provenance_of(message)]


@each(("new", "which"), product(["Mine now.", "", None, [{"type": "text", "text": "Mine."}]], [0, 3, -1]))
def test_an_edit_is_kept_and_its_original_listed(new: Any, which: int) -> None:
    messages = conversation()
    result, places = compressed(messages)
    at = places[which]
    edited = [{**m, "content": new} if n == at else m for n, m in enumerate(result.messages)]
    back = uncompress(edited, result.verbatim)
    assert back.edited_ids == (f"m{at}",)
    assert (back.deleted_ids, back.missing_ids) == ((), ())
    assert back.messages == [edited[at] if n == at else m for n, m in enumerate(messages)]
    assert (back.messages_expanded, back.messages_passthrough) == (len(places) - 1, len(messages) - len(places) + 1)
    assert back.as_dict()["edited_ids"] == [f"m{at}"]


def test_nothing_is_said_of_what_was_not_touched() -> None:
    messages = conversation()
    result, _ = compressed(messages)
    back = uncompress([{**message, "seen": True} for message in result.messages], result.verbatim)
    assert (back.edited_ids, back.deleted_ids, back.messages_expanded) == ((), (), len(result.verbatim))
    assert uncompress(result).as_dict() == uncompress(result.messages, dict(result.verbatim)).as_dict()


def test_originals_of_a_deleted_message_are_listed() -> None:
    messages = [{"role": ("user", "assistant")[n % 2], "content": SAID, "id": f"m{n}"} for n in range(30)]
    result = compress(messages, {"dedup": False})
    summary = provenance_of(result.messages[0])
    assert summary is not None
    assert len(summary.ids) > 1
    back = uncompress(result.messages[1:], result.verbatim)
    assert set(back.deleted_ids) == set(summary.ids)
    assert set(uncompress(result.messages[1:], Results({result.result_id: result.verbatim})).deleted_ids) == set(summary.ids)
    assert uncompress(result.messages[1:], result.verbatim.get).deleted_ids == ()
    assert set(uncompress(strip_provenance(result.messages), result.verbatim).deleted_ids) == set(result.verbatim)


def test_an_original_that_a_later_compression_stands_for_is_not_deleted() -> None:
    first = compress(conversation(20))
    second = compress([*first.messages, *conversation(8)], {"recency_window": 0})
    store = {**first.verbatim, **second.verbatim}
    for recursive in (False, True):
        assert uncompress(second.messages, store, recursive=recursive).deleted_ids == ()


def test_a_result_without_the_note_is_restored_as_before() -> None:
    result, _ = compressed(conversation())
    old = []
    for message in result.messages:
        notes = {name: value for name, value in message.get("metadata", {}).get("turnfold", {}).items() if name != "written"}
        old.append({**message, "metadata": {"turnfold": notes}} if notes else message)
    assert uncompress(old, result.verbatim).messages == conversation()


@given(st.sets(st.integers(0, 11)), st.sets(st.integers(0, 11)))
def test_every_original_is_restored_or_listed_once(edited: set[int], deleted: set[int]) -> None:
    messages = conversation()
    result, places = compressed(messages)
    left = [{**m, "content": "x"} if n in edited else m for n, m in enumerate(result.messages) if n not in deleted]
    back = uncompress(left, result.verbatim)
    compressed_ones = set(places)
    assert set(back.edited_ids) == {f"m{n}" for n in compressed_ones & edited - deleted}
    assert set(back.deleted_ids) == {f"m{n}" for n in compressed_ones & deleted}
    assert [m["id"] for m in back.messages] == [f"m{n}" for n in range(12) if n not in deleted]

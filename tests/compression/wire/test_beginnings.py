"""Beginnings of a body are bodies of the same conversation, up to the body itself."""

from __future__ import annotations

from tests.support.block_conversations import Kind, conversation
from tests.support.cases import each
from tests.support.three_wires import WIRES
from turnfold.compression.memo import Memo
from turnfold.compression.wire.beginnings import beginning, borders
from turnfold.compression.wire.conversation import Conversation

STEP = 2000


def read(name: str, turns: int = 12) -> Conversation:
    on = WIRES[name]
    return on.wire.read(on.encode(conversation(3, Kind(turns=turns, loops=2, sentences=4, thinks=0.3))), Memo())


@each("wire", sorted(WIRES))
def test_each_beginning_is_a_body_with_the_first_messages(wire: str) -> None:
    whole = read(wire)
    ends = borders(whole, STEP, 10**6)
    assert len(ends) > 3
    assert list(ends) == sorted(set(ends))
    last = 0
    for end in ends:
        part = whole.wire.read(beginning(whole.text, ends, end).encode(), Memo())
        assert part.messages.keys == whole.messages.keys[: len(part.messages)]
        assert (part.model, part.schema, part.keys) == (whole.model, whole.schema, whole.keys)
        assert len(part.messages) > last
        last = len(part.messages)
    assert beginning(whole.text, ends, ends[-1]) == whole.text


@each("wire", sorted(WIRES))
def test_a_step_is_no_longer_than_it_has_to_be(wire: str) -> None:
    whole = read(wire)
    every = borders(whole, 1, 10**6)
    ends = borders(whole, STEP, 10**6)
    assert set(ends) <= set(every)
    for before, end in zip((0, *ends), ends[:-1], strict=False):
        assert end - before >= STEP
        assert all(other < before + STEP or other >= end for other in every if other > before)


@each("wire", sorted(WIRES))
def test_a_body_with_a_message_too_large_has_none(wire: str) -> None:
    whole = read(wire, turns=3)
    start, end = whole.history
    assert borders(whole, STEP, end - start)
    assert borders(whole, STEP, 10) == ()

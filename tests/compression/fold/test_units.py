"""Units: what stays together, whatever stands between."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.conversations import bodies, odd_conversations
from tests.support.effort import costly
from turnfold.compression.fold.units.grouping import units
from turnfold.compression.fold.units.questions import question_start
from turnfold.compression.fold.units.unit import Unit
from turnfold.compression.memo import Memo
from turnfold.compression.wire.formats.chat import CHAT

KINDS: dict[str, Message] = {
    "u": {"role": "user", "content": "x"},
    "b": {"role": "user", "content": " "},
    "a": {"role": "assistant", "content": "x"},
    "c": {"role": "assistant", "content": None, "tool_calls": [{"id": "i", "function": {"name": "f", "arguments": "{}"}}]},
    "r": {"role": "tool", "tool_call_id": "i", "content": "x"},
    "s": {"role": "system", "content": "x"},
}


def cut(kinds: str, memo: Memo | None = None) -> tuple[Unit, ...]:
    return units(CHAT.read(encode([KINDS[kind] for kind in kinds]), Memo()).messages, {}, memo)


@each(
    "parted",
    [
        *("s|u|a|u", "u|crr|a", "u|csr|a", "u|cssr|a", "u|crsr|a", "u|cr|s|u", "u|c|s|s|a", "ub|a", "ssr|u", "u|c|s", "u|c|s|u"),
        *("u|asb|a", "u|crsbr", "u|crsbsr|a", "u|a|s|a"),
    ],
)
def test_a_call_its_results_and_instructions_between_them_are_one_unit(parted: str) -> None:
    kinds = parted.replace("|", "")
    assert "|".join(kinds[u.start : u.end] for u in cut(kinds)) == parted


@given(st.lists(st.text("uacrsb", min_size=1, max_size=40), min_size=1, max_size=5))
def test_what_is_kept_of_a_beginning_changes_nothing(grown: list[str]) -> None:
    memo, kinds = Memo(), ""
    for more in grown:
        kinds += more
        assert cut(kinds, memo) == cut(kinds)


@costly(5)
@given(bodies(odd_conversations()))
def test_every_message_is_in_one_unit_and_none_begins_with_a_result_of_the_one_before(body: bytes) -> None:
    messages = CHAT.read(body, Memo()).messages
    found = units(messages)
    assert [i for u in found for i in range(u.start, u.end)] == list(range(len(messages)))
    for _, unit in pairwise(found):
        ahead = (m for m in messages[unit.start :] if not m.pinned)
        assert not next((m.is_result for m in ahead), False)


def _unit(kind: str, tokens: int) -> Unit:
    asks = kind in "uw"
    return Unit(0, 1, tokens, 0, asks, kind == "p", asks, marked=False, attached=kind == "w", wordless=kind == "w")


@each(
    ("kinds", "tokens", "start"),
    [
        # u: the user; w: the user, without words; a: an answer; p: an instruction.
        *(("uaw", 10, 0), ("uau", 10, 2), ("upaw", 10, 0), ("uwaw", 10, 0), ("uauaw", 10, 2), ("aw", 10, 1), ("w", 10, 0)),
        *((f"u{'a' * 6}w", 10, 0), (f"u{'a' * 7}w", 10, 8), (f"u{'p' * 9}w", 10, 0), (f"u{'w' * 9}", 10, 0)),
        *(("uaw", 500, 0), ("uaw", 501, 2), ("uaaw", 250, 0), ("uaaw", 251, 3)),
    ],
)
def test_a_picture_is_asked_with_the_words_near_in_front_of_it(kinds: str, tokens: int, start: int) -> None:
    assert question_start([_unit(kind, tokens) for kind in kinds], len(kinds) - 1) == start

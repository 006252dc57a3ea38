"""Odd sessions that the providers take, folded: nothing is refused, and nothing is lost that has to stay."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.effort import costly
from tests.support.provider_rules import refusals
from tests.support.wild_runs import SETTINGS, fold_faults
from tests.support.wild_sessions import requests, session
from turnfold.compression.fold import fold
from turnfold.compression.memo import Memo
from turnfold.compression.wire.conversation import Wire
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES


@each("wire", ["chat", "messages", "responses"])
def test_the_providers_take_what_is_made(wire: str) -> None:
    for seed in range(6):
        assert [fault for _, body in requests(session(wire, seed, 3)) for fault in refusals(wire, body)] == []


@costly(3)
@given(st.integers(0, 2**20), st.sampled_from(["chat", "messages", "responses"]), st.sampled_from(sorted(SETTINGS)))
def test_no_session_is_refused_or_loses_what_has_to_stay(seed: int, wire: str, setting: str) -> None:
    assert list(fold_faults(session(wire, seed, 4), setting, every=3)) == []


@costly(3)
@given(st.integers(0, 2**20), st.sampled_from([CHAT, MESSAGES, RESPONSES]))
def test_what_was_read_before_changes_nothing(seed: int, wire: Wire) -> None:
    """A request is read alike, and folded to the same bytes, by a process that saw those before it and by one that did not."""
    memo, options = Memo(), SETTINGS["half price"]
    sent = [body for _, body in requests(session(wire.name, seed, 4))]
    for body in sent:
        read = wire.read(body, memo)
        assert read == wire.read(body, Memo())
    alone = Memo()
    assert fold(read, options, memo).body == fold(wire.read(sent[-1], alone), options, alone).body

"""Instructions amid Anthropic's messages stand where the API takes them, whatever is left out around them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import words
from tests.support.cases import each
from tests.support.effort import is_thorough
from tests.support.messages_api import refusals
from tests.support.warm import WARM
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.cut import cut
from turnfold.compression.fold import fold, unfold
from turnfold.compression.fold.account import Account
from turnfold.compression.fold.check import check
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.changes import Changes
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.edits import apply, invert
from turnfold.compression.wire.formats.messages import MESSAGES

Message = dict[str, Any]


def said(role: str, number: int, sentences: int = 1) -> Message:
    return {"role": role, "content": words.prose(number, "en", sentences)}


def call(name: str) -> Message:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": name, "name": "Read", "input": {}}]}


def result(name: str, number: int, sentences: int = 1) -> Message:
    block = {"type": "tool_result", "tool_use_id": name, "content": words.prose(number, "en", sentences)}
    return {"role": "user", "content": [block]}


SERVED: Message = {
    "role": "assistant",
    "content": [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
    ],
}
KINDS = {"u": said("user", 1), "a": said("assistant", 2), "w": SERVED, "c": call("t"), "r": result("t", 3)}
KINDS |= {"-": {"role": "system", "content": [], "output_config": {"effort": "low"}}}


def messages_of(kinds: str) -> list[Message]:
    """A letter for each message, small or large; a digit is instructions."""
    return [KINDS.get(kind.lower()) or {"role": "system", "content": f"note {kind}"} for kind in kinds]


def read(messages: list[Message]) -> Conversation:
    return MESSAGES.read(json.dumps({"model": "claude-opus-4-8", "system": "S", "messages": messages}).encode(), WARM)


@each(
    ("kinds", "written"),  # what is written large is left out
    [
        ("U1Au", "u1"),
        ("UAU1Auau", "u1au"),
        ("u1Au", "uu1"),
        ("U1AU2Au", "u12"),
        ("U1Au2a", "u12a"),
        ("uCR1au", "u1au"),
        ("uCR1CRu", "uu1"),
        ("uw1au", "uw1au"),
        ("UW1Auau", "u1au"),
        ("U-Au", "-u"),
        ("ua1uAu", "ua1uu"),  # as the client had them, who may speak to another API
        ("U1Auua", "uu1a"),
        ("U1Au2Aua", "uu12a"),
        ("uaCR1aua", "uaau1a"),
        ("U1Au2Au3A", "uu123"),
        ("u1a", "u1a"),
    ],
)
def test_they_go_behind_the_next_message_of_the_users_where_they_must(kinds: str, written: str) -> None:
    received = read(messages_of(kinds))
    changes = Changes(dropped=tuple((i, i + 1) for i, kind in enumerate(kinds, 1) if kind.isupper()))
    forwarded = received.with_changes(changes, WARM)
    assert json.loads(forwarded.text)["messages"] == messages_of(written)
    back = invert(received.text, MESSAGES.write(received, changes))
    assert apply(forwarded.text, back) == received.text
    kept = Account(tuple(range(len(received.messages)))).after(changes, received).kept
    assert [received.messages[i].raw for i in kept] == [m.raw for m in forwarded.messages]


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=9))
def test_whatever_is_left_out_they_stand_where_the_api_takes_them(turns: list[tuple[bool, bool, bool]]) -> None:
    """Turns with or without instructions, of which the user's or the assistant's message may go; the first kept is a user's."""
    kinds = "".join(
        f"{'U' if user else 'u'}{i if noted else ''}{'A' if answer else 'a'}" for i, (noted, user, answer) in enumerate(turns)
    )
    kinds += "u"
    kinds = re.sub(r"^[^u]*", lambda head: head[0].upper(), kinds)
    received = read(messages_of(kinds))
    gone = [i for i, kind in enumerate(kinds, 1) if kind.isupper()]
    forwarded = received.with_changes(Changes(dropped=tuple((i, i + 1) for i in gone)), WARM)
    assert refusals(forwarded.body) == []
    assert re.findall(r"note (\d)", forwarded.text) == re.findall(r"\d", kinds)


def test_moving_one_is_allowed_and_leaving_one_out_is_not() -> None:
    received = read(messages_of("u1au2au"))
    check(received, read(messages_of("u12")))
    for spoiled in ("u1", "u21", "u1u"):
        with pytest.raises(FoldRejected):
            check(received, read(messages_of(spoiled)))


def sessions(turns: int, loops: int, every: int) -> Iterator[list[Message]]:
    """The requests of a session whose client says something amid the messages from time to time, as Claude Code does."""
    found: list[Message] = []
    for turn in range(turns):
        found.append(said("user", turn, 12))
        for step in range(loops):
            name = f"t{turn}.{step}"
            found += [call(name), result(name, 7 * turn + step, 15)]
            if (turn + step) % every == 0:
                found.append({"role": "system", "content": f"The todo list is empty, {name}."})
        if not loops and turn % every == 0:
            found.append({"role": "system", "content": f"The date is now {turn}."})
        yield list(found)
        found.append(said("assistant", 900 + turn, 10))


@pytest.mark.parametrize(("loops", "budget"), [(0, None), (0, 2000), (4, None), (4, 6000)])
def test_a_fold_of_a_session_is_never_refused_for_them(loops: int, budget: int | None) -> None:
    options, memo, folds = FoldOptions(budget=budget, prices=CachePrices(1.0, 1.0)), WARM, 0
    for messages in islice(sessions(9 if loops else 24, loops, 3), 0, None, 1 if is_thorough() else 2):
        body = json.dumps({"model": "claude-opus-4-8", "messages": messages}).encode()
        assert refusals(body) == []
        folded = fold(MESSAGES.read(body, memo), options, memo)
        assert refusals(folded.body) == []
        assert unfold(folded) == body
        folds += bool(folded.sections)
    assert folds >= 2


@pytest.mark.parametrize("loops", [0, 4])
def test_a_cut_of_a_session_is_never_refused_for_them(loops: int) -> None:
    *_, messages = sessions(16, loops, 3)
    for room in (1500, 2400, 3600):
        made = cut(read(messages), room, FoldOptions(), WARM)
        assert made is not None
        assert made.dropped
        assert refusals(made.forwarded.body) == []

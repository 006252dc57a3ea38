"""Conversations under a label: the record is the truth, messages add to it, only a directive removes.

These tests cover clients that send their whole history, a window, their newest message, an edited or a cut history; the record's
bytes, and those of the last release. They use no store and no socket.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.effort import draws
from turnfold.compression.errors import InvalidInput
from turnfold.compression.state import Machine, Placement, Record, State, Turn, place, read_record, render_block
from turnfold.compression.state.block import CLOSING, OPENING
from turnfold.compression.state.machine import Pending
from turnfold.compression.state.record import MAX_ENTRIES, MAX_STATES, Positions

ASKED = 'Did you mean to use "podman" instead?'


@dataclass
class Label:
    """What is kept under one label, through its bytes each time, and the conversation as the client has it."""

    window: int = 10_000
    record: Record = field(default_factory=Record)
    turns: list[Turn] = field(default_factory=list)
    sent: list[list[str]] = field(default_factory=list)

    def send(self, turns: list[Turn]) -> Placement:
        placed = place(turns, record=self.record)
        self.record = read_record(placed.record.redacted().to_bytes())
        assert self.record == placed.record
        if placed.verdict.kind == "forward":
            blocks = {pin.index: pin.text + "\n" for pin in placed.pins}
            self.sent.append([f"{blocks.get(at, '')}{turn.text}" for at, turn in enumerate(turns)])
        return placed

    def say(self, text: str | None) -> Placement:
        self.turns.append(Turn("user", text))
        placed = self.send(self.turns[-self.window :])
        self.turns.append(Turn("assistant", placed.verdict.text or f"answer {len(self.turns)}"))
        return placed

    def policies(self) -> dict[str, str]:
        return dict(self.record.machine.state.policies)


def users(*texts: str) -> list[Turn]:
    return [Turn("user", text) for text in texts]


@each("window", [1, 2, 3, 5, 10_000])
def test_no_client_wipes_what_was_laid_down(window: int) -> None:
    label = Label(window)
    for text in ("set premise we bake", "use docker", "What is 2+2?", "prohibit emojis", "hello", "and now?"):
        placed = label.say(text)
    assert placed.verdict.kind == "forward"
    assert placed.state == State("we bake", {"docker": "use", "emojis": "prohibit"})
    assert label.sent[-1][placed.pins[-1].index].startswith(render_block(placed.state))
    label.say("remove policy docker")
    label.say("clear premise")
    assert label.say("go").state == State(policies={"emojis": "prohibit"})
    assert label.say("clear state").state == State()
    assert all("revoked" in pin.text for pin in label.say("go").pins[-1:])


@each(("window", "word"), product([1, 2, 3, 10_000], ["yes", "no"]))
def test_a_question_waits_in_the_record(window: int, word: str) -> None:
    label = Label(window)
    assert label.say("use podman instead of docker").verdict.text == ASKED
    assert label.say(word).verdict.kind == "acknowledge"
    assert label.policies() == ({"podman": "use"} if word == "yes" else {})
    label.say("use ruff instead of pylint")
    label.say(word)
    assert label.policies() == ({"podman": "use", "ruff": "use"} if word == "yes" else {})


@each("window", [1, 3, 10_000])
def test_a_question_is_dropped_by_a_request(window: int) -> None:
    label = Label(window)
    label.say("use podman instead of docker")
    assert label.say("no, I mean in the tests of the second module").verdict.kind == "forward"
    assert label.say("yes").verdict.kind == "forward"
    label.say("use podman instead of docker")
    assert label.say("hm").verdict.text == ASKED
    assert label.say("hm").verdict.kind == "forward"
    assert label.policies() == {}


def test_a_question_that_was_never_put_is_dropped() -> None:
    label = Label()
    label.send(users("use podman instead of docker"))
    history = [Turn("user", "use podman instead of docker"), Turn("assistant", "Why not. Shall I?"), Turn("user", "yes")]
    assert label.send(history).verdict.kind == "forward"
    assert label.policies() == {}


def test_what_was_seen_is_not_taken_again() -> None:
    label = Label()
    label.say("set premise a")
    first = label.send(label.turns[:1])
    assert (first.verdict.kind, first.verdict.text) == ("acknowledge", "State updated.\npremise: a")
    label.say("change premise to b")
    for text in ("hello", "there"):
        label.say(text)
    assert label.send(users("set premise a")).verdict.kind == "acknowledge"  # alone, and it asks nothing
    assert label.record.machine.state == State("b")
    assert label.send([*label.turns[:4], Turn("user", "new")]).state == State("b")


@each("text", ["use docker", "set premise a", "use podman instead of docker", "hello", "use", "set premise"])
def test_a_request_sent_again_has_the_same_answer(text: str) -> None:
    for before in ([], ["set premise p"], ["use docker"], ["hello", "prohibit docker"]):
        for window in (1, 10_000):
            label = Label(window)
            for said in before:
                label.say(said)
            placed = label.say(text)
            record = label.record
            assert label.send(label.turns[:-1][-window:]).verdict == placed.verdict
            assert label.record == record


def test_newest_only_may_say_the_same_again() -> None:
    label = Label(1)
    for text in ("use docker", "remove policy docker", "use docker"):
        label.say(text)
    assert label.policies() == {"docker": "use"}
    label.say("clear state")
    label.say("use ruff")
    label.say("clear state")
    assert label.policies() == {}


def test_history_may_say_the_same_again() -> None:
    label = Label()
    for text in ("use docker", "remove policy docker", "use docker", "hello", "clear state", "use ruff", "clear state"):
        label.say(text)
    assert label.policies() == {}
    assert [dict(state.policies) for _, state in place(label.turns).changes] == [
        {"docker": "use"},
        {},
        {"docker": "use"},
        {},
        {"ruff": "use"},
        {},
    ]


def chat(*texts: str) -> Label:
    label = Label()
    for text in texts:
        label.say(text)
    return label


def test_a_history_that_was_cut_removes_nothing() -> None:
    label = chat("use docker", "hello", "prohibit emojis", "there")
    assert label.send([*label.turns[:4], Turn("user", "use ruff")]).state.policies == {
        "docker": "use",
        "emojis": "prohibit",
        "ruff": "use",
    }
    assert len(label.send([*label.turns[2:], Turn("user", "and now")]).state.policies) == 3
    assert len(label.send(users("another beginning")).state.policies) == 3
    assert len(label.send(label.turns[:2]).state.policies) == 3
    assert len(label.send([Turn("system", "x")]).state.policies) == 3
    assert len(label.send([]).state.policies) == 3


def test_an_edited_message_adds_and_removes_nothing() -> None:
    label = chat("use docker", "hello", "prohibit emojis", "there")
    edited = [Turn("user", "use ruff"), *label.turns[1:], Turn("user", "and now")]
    placed = label.send(edited)
    assert placed.verdict.kind == "forward"
    assert placed.state.policies == {"docker": "use", "emojis": "prohibit", "ruff": "use"}
    assert placed.pins[-1].text == render_block(placed.state)
    for text in ("clear state", "remove policy docker", "use mypy instead of docker", "prohibit ruff", "set premise to x"):
        placed = label.send([Turn("user", text), *edited[1:], Turn("assistant", "a"), Turn("user", text + "?")])
        assert placed.verdict.kind == "forward"
        assert placed.state.policies == {"docker": "use", "emojis": "prohibit", "ruff": "use"}
    label.send([Turn("user", "set premise p"), *edited[1:]])
    assert label.record.machine.state.premise == "p"


def test_after_an_edit_the_history_goes_on() -> None:
    label = chat("use docker", "hello", "prohibit emojis", "there")
    label.turns[2] = Turn("user", "use mypy")
    label.say("and now")
    label.say("remove policy mypy")
    label.say("remove policy docker")
    before = len(label.sent)
    for text in ("one", "two", "three"):
        assert label.say(text).state == State(policies={"emojis": "prohibit"})
    for earlier, later in zip(label.sent[before:], label.sent[before + 1 :], strict=False):
        assert later[: len(earlier)] == earlier


def test_a_state_from_outside_holds_whatever_the_history() -> None:
    for window in (1, 3, 10_000):
        label = Label(window)
        label.say("use docker")
        label.say("hello")
        label.record = read_record(label.record.put(Machine(State("p"))).to_bytes())
        placed = label.say("hello")
        assert placed.state == State("p")
        assert placed.pins[-1].text == render_block(State("p"))
        assert label.say("go").pins[-1].text == render_block(State("p"))
    label = Label(1)
    label.say("clear state")
    label.record = label.record.put(Machine(State("p")))
    assert label.say("clear state").state == State()  # it is no repeat of a request: somebody set the state since


def test_messages_with_more_than_text_are_told_apart() -> None:
    label = Label()
    picture = Turn("user", None, "use docker")
    label.send([picture])
    assert label.send([picture, Turn("assistant", "a"), Turn("user", "use docker")]).state.policies == {"docker": "use"}


TEXTS = [
    "hello",
    "use docker",
    "prohibit docker",
    "use podman instead of docker",
    "use sword",
    "yes",
    "no",
    "hm",
    "remove policy podman",
    "set premise p",
    "change premise to q",
    "clear state",
    "use the attached file",
    None,
]
SAID = st.lists(st.sampled_from(TEXTS), max_size=14)


@draws(12)
@given(SAID)
def test_a_whole_history_under_a_label_is_served_as_without_one(texts: list[str | None]) -> None:
    label, turns = Label(), []
    for text in texts:
        turns.append(Turn("user", text))
        placed, alone = label.say(text), place(turns)
        turns.append(Turn("assistant", alone.verdict.text or f"answer {len(turns)}"))
        assert (placed.verdict, placed.pins, placed.machine) == (alone.verdict, alone.pins, alone.machine)
        assert placed.changes == alone.changes


@draws(12)
@given(SAID, st.sampled_from([1, 2, 3, 4, 7]))
def test_windows_lead_to_the_same_state(texts: list[str | None], window: int) -> None:
    part, whole = Label(window), Label()
    for text in texts:
        placed, expected = part.say(text), whole.say(text)
        assert placed.state == expected.state
        if len(texts) == len(set(texts)):  # else it may be the same request, sent again
            assert placed.verdict.kind == expected.verdict.kind
        if placed.verdict.kind == "forward" and placed.state != State():
            assert placed.pins[-1].text == render_block(placed.state)


@draws(12)
@given(SAID, st.lists(st.tuples(st.integers(0, 12), st.sampled_from(["use ruff", "hello you", "prohibit x1", None])), max_size=4))
def test_no_edit_removes(texts: list[str | None], edits: list[tuple[int, str | None]]) -> None:
    label = Label()
    for text in texts:
        label.say(text)
    held = label.record.machine.state
    turns = list(label.turns)
    for at, text in edits:
        if at * 2 < len(turns):
            turns[at * 2 : at * 2 + (2 if text is None else 1)] = [] if text is None else [Turn("user", text)]
        after = label.send([*turns, Turn("user", "what now?")]).state
        assert held.policies.items() <= after.policies.items()
        assert held.premise in (None, after.premise)
        held = after


def test_a_record_is_bounded() -> None:
    label = Label(1)
    label.send(users(*(f"message {number}" for number in range(MAX_ENTRIES))))
    for number in range(3):
        label.send(users(f"another {number}"))
    assert len(label.record.entries) == MAX_ENTRIES
    assert len(label.record.to_bytes()) < 16 * MAX_ENTRIES
    many = [Turn("user", f"use item{number}") for number in range(2 * MAX_STATES + 10)]
    record = place(many).record
    assert len([entry for entry in record.entries if entry.state]) <= 2 * MAX_STATES
    more = place([*many, Turn("user", "hello")], record=record)
    assert more.state == record.machine.state
    assert more.pins[-1].text == render_block(more.state)


def test_a_history_longer_than_the_record_is_not_taken_again() -> None:
    turns = [*users("set premise a", "change premise to b"), *users(*(f"message {n}" for n in range(MAX_ENTRIES)))]
    record = place(turns).record
    after = place([*turns, Turn("user", "more")], record=record)
    assert (after.verdict.kind, after.state) == ("forward", State("b"))
    assert after.pins[-1].text == render_block(State("b"))


def test_private_text_is_not_in_its_bytes() -> None:
    for text in (
        "set premise <private>Zed",
        "use <private>Zed</private> mail",
        'use "x<private>Zed</private>" instead of docker',
    ):
        record = place(users(text, "hello")).record
        kept = read_record(record.redacted().to_bytes())
        assert b"Zed" not in record.redacted().to_bytes()
        assert len(kept.entries) == 2
    assert kept.without_question().machine.pending is None


def first_version(machine: Machine, seen: int, base: Machine | None = None, after: int = 0) -> Record:
    value = json.loads(Record(machine, seen, positions=Positions(base, after)).to_bytes())
    kept = ("machine", "seen", "base", "after")
    return read_record(json.dumps({"record_version": 1, **{name: value[name] for name in kept}}).encode())


def test_a_record_of_version_1_is_read_on() -> None:
    turns: list[Turn] = []
    for text in ("set premise a", "use docker", "hello"):
        turns.append(Turn("user", text))
        turns.append(Turn("assistant", place(turns).verdict.text or "answer"))
    old = place(turns[:-1])
    record = first_version(old.machine, len(turns) - 1)
    assert read_record(record.to_bytes()) == record
    placed = place([*turns, Turn("user", "prohibit emojis")], record=record)
    assert placed.state == State("a", {"docker": "use", "emojis": "prohibit"})
    assert placed.pins == old.pins
    assert placed.record.positions is None
    lone = place(users("What is 2+2?"), record=record)
    assert (lone.verdict.kind, lone.state) == ("forward", old.state)
    assert lone.pins[-1].text == render_block(old.state)
    assert place([*turns[:2], Turn("user", "new")], record=record).state == old.state


def test_a_record_of_version_1_set_from_outside_is_read_on() -> None:
    base = Machine(State("p", {"podman": "use"}))
    turns = [
        *users("use docker"),
        Turn("assistant", "noted"),
        *users("hello"),
        Turn("assistant", "hi"),
        *users("prohibit emojis"),
    ]
    record = first_version(Machine(State("p", {"podman": "use", "emojis": "prohibit"})), 5, base, 2)
    more = place([*turns, Turn("assistant", "noted"), Turn("user", "go")], record=record)
    assert more.state == State("p", {"podman": "use", "emojis": "prohibit"})
    assert [pin.index for pin in more.pins] == [2, 4]
    assert place([*turns, Turn("user", "go")], record=record.put(Machine(State("q")))).state == State("q")
    asked = Machine(State(), Pending("podman", None, ASKED))
    assert place(users("yes"), record=first_version(asked, 1)).state.policies == {"podman": "use"}


def damaged(**fields: Any) -> bytes:
    value = json.loads(place(users("use docker", "hello")).record.to_bytes())
    return json.dumps(value | fields).encode()


@each(
    ("data", "field"),
    [
        (b"\xff", "record"),
        (b"[]", "record.record_version"),
        (b'{"record_version":9}', "record.record_version"),
        (b'{"record_version":true}', "record.record_version"),
        (b'{"record_version":1}', "record.machine"),
        (b'{"record_version":2}', "record.machine"),
        (damaged(seen=-1), "record.seen"),
        (damaged(after=True), "record.after"),
        (damaged(base=[]), "record.base"),
        (damaged(asked="1"), "record.asked"),
        (damaged(keys="?"), "record.keys"),
        (damaged(keys=None), "record.keys"),
        (damaged(keys=base64.b64encode(b"x").decode()), "record.keys"),
        (damaged(outcomes="fx"), "record.outcomes"),
        (damaged(outcomes=[]), "record.outcomes"),
        (damaged(states={}), "record.states"),
        (damaged(states=[[2, None, {}, []]]), "record.states"),
        (damaged(states=[[0, 3, {}, []]]), "record.states"),
        (damaged(states=[[0, None, {"x": "maybe"}, []]]), "record.states"),
        (damaged(states=[[0, None, {}, [3]]]), "record.states"),
        (damaged(states=[3]), "record.states"),
    ],
)
def test_a_damaged_record_is_refused(data: bytes, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_record(data)
    assert caught.value.field == field


@draws(16)
@given(SAID, st.integers(0, 3))
def test_a_record_comes_back(texts: list[str | None], seen: int) -> None:
    label = Label()
    for text in texts:
        label.say(text)
    record = replace(label.record, seen=seen).put(Machine(State("p", {"x": "use"})))
    assert read_record(record.to_bytes()) == record
    assert OPENING not in record.to_bytes().decode()
    assert CLOSING not in record.to_bytes().decode()

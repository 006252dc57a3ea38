"""The stored record of a conversation's state under its label.

The record and its bytes. How a request's messages add to a record is up to `placement`; storing it, to the shell.

The record is the truth: messages add to it, and only a directive removes. So it holds the state, the question that waits, and
of each user message its digest, what became of it, and the state behind it where it has a block of its own. A record of
version 1 knows only how many messages were seen; `placement` reads it on with the next request.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from turnfold.compression.errors import InvalidInput
from turnfold.compression.state.machine import FRESH, Machine, Pending, State
from turnfold.compression.state.seen import KEY_SIZE
from turnfold.compression.state.serial import canonical, checkpoint_value, parse_json, read_checkpoint
from turnfold.compression.text.private import redact

RECORD_VERSION: Final = 2
#: User messages that a record remembers. Older ones count as seen if they precede these.
MAX_ENTRIES: Final = 4096
#: States that a record remembers; older ones are forgotten when there are twice as many.
MAX_STATES: Final = 256

#: What was done with a message: it was sent upstream, or answered with a question or an acknowledgement.
Outcome = Literal["forward", "clarify", "acknowledge"]
_OUTCOMES: Final[dict[str, Outcome]] = {"f": "forward", "c": "clarify", "a": "acknowledge"}


class RecordUnreadable(InvalidInput):
    """A stored state of another version, or invalid data."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A user message that was seen before.

    Attributes:
        key: its digest (`seen.message_key`).
        state: the state after it, if the conversation has a block for that; otherwise None.
    """

    key: bytes
    outcome: Outcome = "forward"
    state: State | None = None


@dataclass(frozen=True, slots=True)
class Positions:
    """The data of version 1: the machine that was set from outside (None: none was), and the number of messages before that."""

    base: Machine | None = None
    after: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    """A conversation's state.

    Attributes:
        machine: state and pending question.
        seen: number of messages in the newest request.
        entries: user messages seen, oldest first: those not in the newest request, then all that are.
        asked: how often the pending question was asked.
        fresh: whether no message was seen since the state was set from outside.
        positions: the data of version 1, until a request has been seen.
    """

    machine: Machine = FRESH
    seen: int = 0
    entries: tuple[Entry, ...] = ()
    asked: int = 1
    fresh: bool = False
    positions: Positions | None = None

    def put(self, machine: Machine) -> Record:
        """The record after somebody set the state."""
        positions = None if self.positions is None else Positions(machine, self.seen)
        return replace(self, machine=machine, asked=1, fresh=True, positions=positions)

    def without_question(self) -> Record:
        """The record if the pending question was not sent to the user."""
        return replace(self, machine=replace(self.machine, pending=None), asked=1)

    def has(self, text: str) -> bool:
        """Whether the state or the question contains a text."""
        state, pending = self.machine.state, self.machine.pending
        return text in "\n".join((state.premise or "", *state.policies, pending.prompt if pending else ""))

    def redacted(self) -> Record:
        """The record without text that users marked as private."""
        states: dict[int, State] = {}  # most entries share their state, and converting large states takes time

        def public(state: State) -> State:
            return states.setdefault(id(state), _redacted_state(state))

        entries = tuple(e if e.state is None else replace(e, state=public(e.state)) for e in self.entries)
        positions = self.positions and replace(self.positions, base=self.positions.base and _redacted(self.positions.base))
        return replace(self, machine=_redacted(self.machine), entries=entries, positions=positions)

    def to_bytes(self) -> bytes:
        """The record's bytes for the store."""
        positions = self.positions
        value = {
            "record_version": RECORD_VERSION,
            "machine": checkpoint_value(self.machine),
            "seen": self.seen,
            "asked": self.asked,
            "fresh": self.fresh,
            "keys": base64.b64encode(b"".join(entry.key for entry in self.entries)).decode("ascii"),
            "outcomes": "".join(entry.outcome[0] for entry in self.entries),
            "states": list(_differences(self.entries)),
            "base": None if positions is None or positions.base is None else checkpoint_value(positions.base),
            "after": None if positions is None else positions.after,
        }
        return canonical(value).encode("ascii")


def bounded(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The entries that a record keeps: the newest ones, and the states of the newest of these."""
    entries = tuple(entries[-MAX_ENTRIES:])
    stated = [place for place, entry in enumerate(entries) if entry.state is not None]
    if len(stated) <= 2 * MAX_STATES:
        return entries
    older = stated[-MAX_STATES]
    return tuple(replace(entry, state=None) if place < older else entry for place, entry in enumerate(entries))


def _redacted(machine: Machine) -> Machine:
    pending = machine.pending
    if pending is not None:
        old = None if pending.old is None else redact(pending.old)
        pending = Pending(redact(pending.new), old, redact(pending.prompt))
    return Machine(_redacted_state(machine.state), pending)


def _redacted_state(state: State) -> State:
    premise = None if state.premise is None else redact(state.premise)
    return State(premise, {redact(item): policy for item, policy in state.policies.items()})


def _differences(entries: Iterable[Entry]) -> Iterator[list[Any]]:
    """Each state as its difference from the previous one: position, premise, items set, items removed."""
    before = State()
    for place, entry in enumerate(entries):
        if (state := entry.state) is not None:
            old, new = before.policies, state.policies
            added = {} if new is old else {item: policy for item, policy in new.items() if old.get(item) != policy}
            gone = [] if new is old else [item for item in old if item not in new]
            yield [place, state.premise, added, gone]
            before = state


def read_record(data: bytes) -> Record:
    """A record from its stored bytes. Unknown fields are ignored.

    Raises:
        RecordUnreadable: the bytes are not a record of this or the previous version.
    """
    try:
        value = parse_json(data.decode("utf-8", "replace"), "record")
        return _READERS[_version(value)](value)
    except RecordUnreadable:
        raise
    except InvalidInput as exc:
        raise RecordUnreadable(exc.field, exc.problem) from exc


def _version(value: object) -> int:
    version = value.get("record_version") if isinstance(value, dict) else None
    if type(version) is not int or version not in _READERS:
        raise RecordUnreadable("record.record_version", f"must be {RECORD_VERSION}")
    return version


def _read_first(value: dict[str, Any]) -> Record:
    machine, base = read_checkpoint(value.get("machine"), "record.machine"), value.get("base")
    base = None if base is None else read_checkpoint(base, "record.base")
    return Record(machine, _count(value, "seen"), positions=Positions(base, _count(value, "after")))


def _read_second(value: dict[str, Any]) -> Record:
    old = value if value.get("after") is not None else {**value, "after": 0}
    first = _read_first(old)
    return replace(
        first,
        entries=_read_entries(value),
        asked=_count(value, "asked"),
        fresh=value.get("fresh") is True,
        positions=first.positions if old is value else None,
    )


_READERS: Final[dict[int, Callable[[dict[str, Any]], Record]]] = {1: _read_first, RECORD_VERSION: _read_second}


def _read_entries(value: dict[str, Any]) -> tuple[Entry, ...]:
    outcomes = value.get("outcomes")
    if not isinstance(outcomes, str) or set(outcomes) - _OUTCOMES.keys():
        raise InvalidInput("record.outcomes", "must be a letter for each message")
    try:
        keys = base64.b64decode(value.get("keys", ""), validate=True)
    except (binascii.Error, TypeError, ValueError) as exc:
        raise InvalidInput("record.keys", "must be digests in base64") from exc
    if len(keys) != KEY_SIZE * len(outcomes):
        raise InvalidInput("record.keys", "must hold a digest for each message")
    states = _read_states(value.get("states"), len(outcomes))
    return tuple(
        Entry(keys[KEY_SIZE * n : KEY_SIZE * (n + 1)], _OUTCOMES[letter], states.get(n)) for n, letter in enumerate(outcomes)
    )


def _read_states(value: object, count: int) -> dict[int, State]:
    if not isinstance(value, list):
        raise InvalidInput("record.states", "must be a list")
    states: dict[int, State] = {}
    policies: dict[str, Any] = {}
    for row in value:
        place, premise, added, gone = _read_difference(row, count)
        policies = {item: policy for item, policy in policies.items() if item not in gone} | added
        states[place] = State(premise, policies)
    return states


def _read_difference(row: object, count: int) -> tuple[int, str | None, dict[str, Any], set[str]]:
    match row:
        case [int(place), str() | None as premise, dict(added), list(gone)] if 0 <= place < count:
            if all(policy in ("use", "prohibit") for policy in added.values()) and all(isinstance(item, str) for item in gone):
                return place, premise, added, set(gone)
    raise InvalidInput("record.states", "must hold a place, a premise, items set and items gone")


def _count(value: dict[str, Any], field: str) -> int:
    count = value.get(field)
    if type(count) is not int or count < 0:
        raise InvalidInput(f"record.{field}", "must be a number of messages")
    return count

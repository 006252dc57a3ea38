"""What the store keeps of a conversation's state.

Lives here: the record and its bytes. Does not belong here: the store. The state follows from the messages, so the record is
needed only if a state was set from outside (``PUT /v1/state/...``): from there on the replay begins behind the messages seen
before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from turnfold.compression.errors import InvalidInput
from turnfold.compression.state.machine import FRESH, Machine
from turnfold.compression.state.placement import Anchor
from turnfold.compression.state.serial import canonical, checkpoint_value, parse_json, read_checkpoint

RECORD_VERSION: Final = 1


class RecordUnreadable(InvalidInput):
    """A stored state is of another version, or no state at all."""


@dataclass(frozen=True, slots=True)
class Record:
    """A conversation's last known state.

    Attributes:
        machine: state and pending question, for reading.
        seen: number of messages of the conversation when it was last seen.
        base: the machine that was set from outside; None: the state follows from the messages alone.
        after: number of messages that `base` already includes.
    """

    machine: Machine = FRESH
    seen: int = 0
    base: Machine | None = None
    after: int = 0

    def anchor(self) -> Anchor:
        """Where a replay of the conversation begins."""
        return Anchor() if self.base is None else Anchor(self.base, self.after)

    def with_observation(self, machine: Machine, seen: int) -> Record:
        """The record after a request of `seen` messages that led to `machine`."""
        return replace(self, machine=machine, seen=seen)

    def put(self, machine: Machine) -> Record:
        """The record after the state was set from outside for all messages to come."""
        return Record(machine, self.seen, machine, self.seen)

    def to_bytes(self) -> bytes:
        """For the store."""
        value = {
            "record_version": RECORD_VERSION,
            "machine": checkpoint_value(self.machine),
            "seen": self.seen,
            "base": None if self.base is None else checkpoint_value(self.base),
            "after": self.after,
        }
        return canonical(value).encode("ascii")


def read_record(data: bytes) -> Record:
    """A record from the store; fields that this release does not know are ignored.

    Raises:
        RecordUnreadable: the bytes are no record of this version.
    """
    try:
        return _record(parse_json(data.decode("utf-8", "replace"), "record"))
    except RecordUnreadable:
        raise
    except InvalidInput as exc:
        raise RecordUnreadable(exc.field, exc.problem) from exc


def _record(value: object) -> Record:
    if not isinstance(value, dict) or value.get("record_version") != RECORD_VERSION:
        raise RecordUnreadable("record.record_version", f"must be {RECORD_VERSION}")
    base = value.get("base")
    return Record(
        read_checkpoint(value.get("machine"), "record.machine"),
        _count(value, "seen"),
        None if base is None else read_checkpoint(base, "record.base"),
        _count(value, "after"),
    )


def _count(value: dict[str, Any], field: str) -> int:
    count = value.get(field)
    if type(count) is not int or count < 0:
        raise InvalidInput(f"record.{field}", "must be a number of messages")
    return count

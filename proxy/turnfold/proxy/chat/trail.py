"""How far one request repeats another, told without keeping either.

Lives here: fingerprints of a body's beginnings. Does not belong here: tokens, dollars, text.

A trail holds a checksum of everything up to each whole kilobyte of the messages' JSON. Two trails are equal as far as the
texts are, so the longest common prefix is found to a kilobyte, from some bytes for each that may lie in the store. CRC-32 is
enough: it is a statistic's fingerprint, and nobody gains by a false one in his own figures.

Cache marks are left out first (``Wire.unmarked``): they move on from request to request, which no cache takes for a change.
"""

from __future__ import annotations

import base64
import struct
import zlib
from array import array
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import Any, Final, NamedTuple

from turnfold.compression.memo import Memo, continued
from turnfold.compression.wire.conversation import Conversation, family
from turnfold.compression.wire.known_bodies import repeats
from turnfold.compression.wire.removal import element_place

_STEP: Final = 1024
_WIDTH: Final = 4
_MOST: Final = 4096  # steps, or 4 MB of text; what lies behind counts as equal when all before it is
_AT_END: Final = 2  # messages: some clients mark the one before the newest
_SLACK: Final = _STEP + 64  # the last step is not whole, and a list's end gives way to what is appended


@dataclass(frozen=True, slots=True)
class Trail:
    """The fingerprints of one request's messages.

    Attributes:
        size: bytes of the messages' JSON.
        sums: four bytes for each whole kilobyte of it, each over everything from the beginning.
    """

    size: int
    sums: bytes

    def to_json(self) -> dict[str, Any]:
        """As a JSON value."""
        return {"size": self.size, "crcs": base64.b64encode(self.sums).decode("ascii")}

    @classmethod
    def from_json(cls, value: Any) -> Trail:
        """From `to_json`, or from what earlier releases wrote: base 85, which Python decodes in a loop; in the first one a list.

        Raises:
            ValueError, LookupError, TypeError: it is neither.
        """
        if isinstance(value, dict) and "crcs" in value:
            return cls(value["size"], base64.b64decode(value["crcs"], validate=True))
        size, sums = value if isinstance(value, list) else (value["size"], value["sums"])
        return cls(size, base64.b85decode(sums))

    def repeats(self, earlier: Trail) -> float:
        """Share of an earlier request's messages with which this one begins, 0 to 1; to a kilobyte, and 1 when it is all."""
        low, high = 0, min(len(self.sums), len(earlier.sums)) // _WIDTH
        while low < high:
            middle = (low + high + 1) // 2
            at = slice((middle - 1) * _WIDTH, middle * _WIDTH)
            low, high = (middle, high) if self.sums[at] == earlier.sums[at] else (low, middle - 1)
        whole = low == _MOST or low * _STEP + _SLACK >= earlier.size
        return 1.0 if whole else low * _STEP / earlier.size


@dataclass(frozen=True, slots=True)
class Trails:
    """Of one request: as it came in, and as it went out.

    Attributes:
        marked: whether the client asks to have all of it written to the cache: its last mark is at the end. It is not kept.
    """

    received: Trail
    sent: Trail
    marked: bool = False

    def to_json(self) -> dict[str, Any]:
        """As a JSON value; `sent` is null where it equals `received`."""
        return {"received": self.received.to_json(), "sent": None if self.sent == self.received else self.sent.to_json()}

    @classmethod
    def from_json(cls, value: Any) -> Trails:
        """From `to_json`, or from what earlier releases wrote: base 85, which Python decodes in a loop; in the first one a list.

        Raises:
            ValueError, LookupError, TypeError: it is neither.
        """
        first, second = value if isinstance(value, list) else (value["received"], value["sent"])
        received = Trail.from_json(first)
        return cls(received, Trail.from_json(second) if second else received)


def trails_of(received: Conversation, sent: Conversation, memo: Memo | None = None) -> Trails:
    """The trails of a request; with a memo, that of what was received goes on from where the conversation's last one ended."""
    trail = trail_of(received, memo)
    marks = received.messages.marked
    marked = bool(marks) and marks[-1] >= len(received.messages) - _AT_END
    return Trails(trail, trail if sent is received else trail_of(sent), marked)


def trail_of(conversation: Conversation, memo: Memo | None = None) -> Trail:
    """The trail of one body."""
    if conversation.messages.marked and memo is not None:
        return _trail_without_marks(conversation, memo)
    if memo is None:
        return _trail(conversation.wire.unmarked(conversation), b"")
    key = ("trail", conversation.wire.name, family(conversation.messages))
    known: _KnownTrail | None = memo.find(key)
    body, (start, end) = conversation.body, conversation.history_in_body
    front = _outside(conversation).encode("utf-8") if conversation.wire.unmarks_outside else b""
    begun = (start, front)
    if known is None or known.begun != begun or not repeats(body, known.body, start, known.summed):
        known = _KnownTrail(body, begun, b"", start)
    trail = _trail(front[_end(known.sums) :] + body[known.summed : end], known.sums)
    kept = _KnownTrail(body, begun, trail.sums, start + max(0, _end(trail.sums) - len(front)))
    memo.put(key, kept, lambda kept: 500 + len(kept.sums))
    return trail


class _KnownTrail(NamedTuple):
    """An earlier body, which the engine remembers too, and its sums.

    Attributes:
        begun: where its history starts, and the messages in front that stand elsewhere.
        summed: up to where the body is in the sums.
    """

    body: bytes
    begun: tuple[int, bytes]
    sums: bytes
    summed: int


class _MarkedTrail(NamedTuple):
    """The trail of an earlier body with cache marks, which move on.

    Attributes:
        messages: indices of the first message behind each piece of it.
        ends: bytes up to there; both begin with 0.
    """

    body: bytes
    trail: Trail
    messages: array[int]
    ends: array[int]


def _trail_without_marks(conversation: Conversation, memo: Memo) -> Trail:
    """The trail of a body with cache marks, gone on from where it parts from the last one."""
    messages, wire = conversation.messages, conversation.wire

    def run(known: _MarkedTrail | None, same: int) -> _MarkedTrail:
        if known is None or not (border := _settled(known, same, conversation)):
            known, border = _MarkedTrail(b"", Trail(0, b""), array("q", [0]), array("q", [0])), 0
        steps = min(known.ends[border] // _STEP, len(known.trail.sums) // _WIDTH)
        begin = bisect_right(known.ends, steps * _STEP, hi=border + 1) - 1  # the piece in which the last whole kilobyte ends
        found = list(conversation.wire.unmarked_pieces(conversation, known.messages[begin]))
        rest = b"".join([piece for _, piece in found])[steps * _STEP - known.ends[begin] :]
        ends = accumulate([len(piece) for _, piece in found], initial=known.ends[begin])
        return _MarkedTrail(
            conversation.body,
            _trail(rest, known.trail.sums[: steps * _WIDTH]),
            known.messages[: begin + 1] + array("q", [end for end, _ in found]),
            known.ends[:begin] + array("q", ends),
        )

    key = ("marked trail", wire.name, family(messages))
    try:
        found = continued(memo, key, messages, run, lambda known: 200 + 16 * len(known.ends) + len(known.trail.sums))
    except ValueError:
        return _trail(wire.unmarked(conversation), b"")
    return found.trail


def _settled(known: _MarkedTrail, same: int, conversation: Conversation) -> int:
    """The last border of an earlier trail's pieces up to which the conversation is the same, of which that is known of `same`
    messages."""
    border = bisect_right(known.messages, same) - 1
    if not (border and conversation.groups):  # a message is all of its element
        return border
    end = element_place(conversation, known.messages[border] - 1)[1]
    behind = len(conversation.text[end:].encode("utf-8"))
    return border if repeats(conversation.body, known.body, 0, len(conversation.body) - behind) else 0


def _outside(conversation: Conversation) -> str:
    """The messages that stand outside of the array of messages, which come first."""
    start, end = conversation.history
    pairs = zip(conversation.messages, conversation.spans, strict=True)
    return "".join([message.raw for message, (at, _) in takewhile(lambda pair: not start <= pair[1][0] < end, pairs)])


def _end(sums: bytes) -> int:
    """Where the last whole kilobyte ends."""
    return len(sums) // _WIDTH * _STEP


def _trail(rest: bytes, known: bytes) -> Trail:
    """The trail of a text of whose beginning the sums are known, and which goes on with the rest."""
    begin, view = _end(known), memoryview(rest)
    starts = range(0, min(len(rest) - _STEP + 1, _MOST * _STEP - begin), _STEP)
    total = int.from_bytes(known[-_WIDTH:], "little")
    sums = [total := zlib.crc32(view[at : at + _STEP], total) for at in starts]
    return Trail(begin + len(rest), known + struct.pack(f"<{len(sums)}I", *sums))

"""How far one request repeats another, told without keeping either.

This module takes fingerprints of a body's beginnings. It counts neither tokens nor dollars, and keeps no text.

A trail holds a checksum of everything up to each whole kilobyte of the messages' JSON. Two trails are equal as far as the
texts are, so the longest common prefix is found to a kilobyte, from some bytes for each that may lie in the store. CRC-32 is
enough: it is a statistic's fingerprint, and nobody gains by a false one in his own figures.

Cache marks are left out first (``Wire.unmarked``), since they move from request to request and no cache counts that as a change.
What they ask to have kept goes with the trail (``cache_entries``).
"""

from __future__ import annotations

import base64
import struct
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, takewhile
from typing import Any, Final, NamedTuple

from turnfold.compression.memo import Memo, continued
from turnfold.compression.wire.bare_parts import lifetime
from turnfold.compression.wire.cache_marks import mark_of
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.known_bodies import repeats
from turnfold.compression.wire.message import family
from turnfold.compression.wire.removal import element_place
from turnfold.config.prices import takes_breakpoints
from turnfold.proxy.trails.cache_entries import Entries, KeptPrefix

_STEP: Final = 1024
_WIDTH: Final = 4
_MOST: Final = 4096  # steps, or 4 MB of text; everything after counts as equal if all before it is
_MARKS: Final = 8  # newest marks of a request; providers accept four
_BEGINNINGS: Final = 255  # newest messages after which a cached prefix may end
_LOOK_BACK: Final = 20  # of these, the ones in which each part may end a cached prefix
_MINUTES: Final = 300  # seconds
_NO_ENTRIES: Final = Entries()
_SLACK: Final = _STEP + 64  # the last step is not complete, and the end of a list changes when something is appended


@dataclass(frozen=True, slots=True)
class Trail:
    """The fingerprints of one request's messages.

    Attributes:
        size: bytes of the messages' JSON.
        sums: four bytes for each whole kilobyte, each a checksum of everything up to there.
        entries: what it leaves in a cache that hits at marks; empty if it has no marks.
    """

    size: int
    sums: bytes
    entries: Entries = _NO_ENTRIES

    def to_json(self) -> dict[str, Any]:
        """The trail as a JSON value."""
        found = {"size": self.size, "crcs": base64.b64encode(self.sums).decode("ascii")}
        return found | ({"entries": self.entries.to_json()} if self.entries.left else {})

    @classmethod
    def from_json(cls, value: Any) -> Trail:
        """A trail from the value that `to_json` returns, or an earlier release's: base 85, which Python decodes in a loop, or a
        list in the first one.

        Raises:
            ValueError, LookupError, TypeError: the value is invalid.
        """
        if isinstance(value, dict) and "crcs" in value:
            entries = Entries.from_json(value["entries"]) if "entries" in value else _NO_ENTRIES
            return cls(value["size"], base64.b64decode(value["crcs"], validate=True), entries)
        size, sums = value if isinstance(value, list) else (value["size"], value["sums"])
        return cls(size, base64.b85decode(sums))

    @property
    def bytes(self) -> int:
        """Approximate size in memory, in bytes."""
        return len(self.sums) + 8 * len(self.entries.left)

    def with_earlier(self, earlier: Trail, scale: float, elapsed: float) -> Trail:
        """The trail, plus the entries of an earlier request that the cache still has (``Entries.with_earlier``)."""
        return replace(self, entries=self.entries.with_earlier(earlier.entries, scale, elapsed))

    def begun(self, share: float) -> Trail:
        """The trail of this share of the request's beginning."""
        size = round(min(1.0, share) * self.size)
        return Trail(size, self.sums[: size // _STEP * _WIDTH], self.entries.begun(share))

    def repeats(self, earlier: Trail) -> float:
        """Share of an earlier request's messages that this one begins with, 0 to 1; 1 if it has all of them.

        The kilobyte with the first difference counts half, unless it is the first one.
        """
        low, high = 0, min(len(self.sums), len(earlier.sums)) // _WIDTH
        while low < high:
            middle = (low + high + 1) // 2
            at = slice((middle - 1) * _WIDTH, middle * _WIDTH)
            low, high = (middle, high) if self.sums[at] == earlier.sums[at] else (low, middle - 1)
        whole = low == _MOST or low * _STEP + _SLACK >= earlier.size
        return 1.0 if whole else (low * _STEP + (_STEP // 2 if low else 0)) / earlier.size


@dataclass(frozen=True, slots=True)
class Trails:
    """The trails of one request as received and as sent.

    Attributes:
        key: checksum of the client's `prompt_cache_key`; 0 for none. Requests with different keys go to machines with caches of
            their own (OpenAI, "Prompt caching").
    """

    received: Trail
    sent: Trail
    key: int = 0

    def to_json(self) -> dict[str, Any]:
        """The trails as a JSON value; `sent` is null if it equals `received`."""
        sent = None if self.sent == self.received else self.sent.to_json()
        return {"received": self.received.to_json(), "sent": sent} | ({"key": self.key} if self.key else {})

    @classmethod
    def from_json(cls, value: Any) -> Trails:
        """Trails from the value that `to_json` returns, or an earlier release's: base 85, which Python decodes in a loop, or a
        list in the first one.

        Raises:
            ValueError, LookupError, TypeError: the value is invalid.
        """
        first, second = value if isinstance(value, list) else (value["received"], value["sent"])
        received = Trail.from_json(first)
        key = value.get("key", 0) if isinstance(value, dict) else 0
        return cls(received, Trail.from_json(second) if second else received, key)


def trails_of(received: Conversation, sent: Conversation, memo: Memo | None = None) -> Trails:
    """The trails of a request. With a memo, that of the received body continues from the conversation's last one."""
    trail = trail_of(received, memo)
    key = received.settings.get("prompt_cache_key")
    return Trails(trail, trail if sent is received else trail_of(sent), zlib.crc32(repr(key).encode()) if key else 0)


def trail_of(conversation: Conversation, memo: Memo | None = None) -> Trail:
    """The trail of one body."""
    if conversation.messages.marked or _ends_are_kept(conversation):
        return _trail_with_entries(conversation, memo)
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
    """An earlier body, which the engine caches too, with its sums.

    Attributes:
        begun: the start of its history, and the messages outside the history.
        summed: the end of the summed part.
    """

    body: bytes
    begun: tuple[int, bytes]
    sums: bytes
    summed: int


class _MarkedTrail(NamedTuple):
    """The trail of an earlier body with cache marks, which move from request to request.

    Attributes:
        messages: index of the first message after each piece.
        ends: bytes up to there.
        totals: checksums up to there; all three lists begin with 0.
    """

    body: bytes
    trail: Trail
    messages: array[int]
    ends: array[int]
    totals: array[int]


def _empty_trail() -> _MarkedTrail:
    return _MarkedTrail(b"", Trail(0, b""), array("q", [0]), array("q", [0]), array("L", [0]))


def _ends_are_kept(conversation: Conversation) -> bool:
    """Whether a cache that hits at marks keeps the whole body without one."""
    return conversation.marked_at_end or takes_breakpoints(conversation.model)


def _trail_with_entries(conversation: Conversation, memo: Memo | None) -> Trail:
    """The trail of a body with cache marks, continued from where it differs from the last one."""
    messages, wire = conversation.messages, conversation.wire

    def run(known: _MarkedTrail | None, same: int) -> _MarkedTrail:
        if known is None or not (border := _settled(known, same, conversation)):
            known, border = _empty_trail(), 0
        steps = min(known.ends[border] // _STEP, len(known.trail.sums) // _WIDTH)
        begin = bisect_right(known.ends, steps * _STEP, hi=border + 1) - 1  # the piece in which the last whole kilobyte ends
        found = list(wire.unmarked_pieces(conversation, known.messages[begin]))
        pieces = [piece for _, piece in found]
        rest = b"".join(pieces)[steps * _STEP - known.ends[begin] :]
        ends = accumulate([len(piece) for piece in pieces], initial=known.ends[begin])
        totals = accumulate(pieces, lambda total, piece: zlib.crc32(piece, total), initial=known.totals[begin])
        return _MarkedTrail(
            conversation.body,
            _trail(rest, known.trail.sums[: steps * _WIDTH]),
            known.messages[: begin + 1] + array("q", [end for end, _ in found]),
            known.ends[:begin] + array("q", ends),
            known.totals[:begin] + array("L", totals),
        )

    key = ("marked trail", wire.name, family(messages))
    try:
        found = continued(memo, key, messages, run, lambda known: 200 + 24 * len(known.ends) + len(known.trail.sums))
        return replace(found.trail, entries=_entries(conversation, found))
    except ValueError:
        return _trail(wire.unmarked(conversation), b"")


def _entries(conversation: Conversation, known: _MarkedTrail) -> Entries:
    """The cache entries requested by a body's marks, and the prefixes that may be cached already."""
    whole = max(len(conversation.body), known.trail.size)  # everything else has about the same tokens per byte
    front = whole - known.trail.size
    left, sums, last = dict[int, KeptPrefix](), {0}, 0
    for index in conversation.messages.marked[-_MARKS:]:
        last = max(last, place := _piece_of(conversation, known, index))
        for total, end, life in _ends_of(conversation, known, index, place):
            sums.add(total)
            if life is not None:
                left[total] = KeptPrefix.of(total, (front + end) / whole, life)
    if _ends_are_kept(conversation):
        last = bisect_right(known.messages, len(conversation.messages)) - 1
        life = _MINUTES if conversation.marked_at_end else 0
        left[known.totals[last]] = KeptPrefix.of(known.totals[last], (front + known.ends[last]) / whole, life)
    for place in range(max(1, last - _LOOK_BACK), last + 1):
        sums.update(total for total, _, _ in _part_ends(conversation, known, known.messages[place] - 1, place))
    return Entries(tuple(left.values()), frozenset(sums.union(known.totals[max(0, last - _BEGINNINGS) : last + 1])))


def _piece_of(conversation: Conversation, known: _MarkedTrail, index: int) -> int:
    """The piece that a message belongs to; 0 if it comes before all pieces."""
    start, end = conversation.history
    outside = not start <= conversation.spans[index][0] < end
    return 0 if outside and not conversation.wire.unmarks_outside else bisect_right(known.messages, index)


def _ends_of(conversation: Conversation, known: _MarkedTrail, index: int, place: int) -> Iterator[tuple[int, int, int | None]]:
    """The ends of a marked message's parts: checksum, bytes up to there, and the lifetime requested by a mark."""
    if not place:
        yield 0, 0, _own_life(conversation, index)
        return
    parts = list(_part_ends(conversation, known, index, place))
    yield from parts[:-1]
    beside = all(life is None for _, _, life in parts)  # the mark is on the message itself, or within a part
    yield known.totals[place], known.ends[place], _own_life(conversation, index) if beside else parts[-1][2]


def _own_life(conversation: Conversation, index: int) -> int:
    raw = conversation.messages[index].raw
    run = raw[1:-1] if raw.startswith("[") else raw  # a system text is the list of its parts
    return lifetime(mark_of(run, conversation.wire.marks))


def _part_ends(conversation: Conversation, known: _MarkedTrail, index: int, place: int) -> Iterator[tuple[int, int, int | None]]:
    """The same for all parts of the elements of a piece."""
    total, end = known.totals[place - 1], known.ends[place - 1]
    for part in conversation.wire.bare_parts(conversation, index):
        total, end = zlib.crc32(part.written, total), end + len(part.written)
        yield total, end, part.life


def _settled(known: _MarkedTrail, same: int, conversation: Conversation) -> int:
    """The last piece border up to which the conversation is unchanged, given that `same` messages are."""
    border = bisect_right(known.messages, same) - 1
    if not (border and conversation.groups):  # each message is an element of its own
        return border
    end = element_place(conversation, known.messages[border] - 1)[1]
    behind = len(conversation.text[end:].encode("utf-8"))
    return border if repeats(conversation.body, known.body, 0, len(conversation.body) - behind) else 0


def _outside(conversation: Conversation) -> str:
    """The messages outside the array of messages, which come first."""
    start, end = conversation.history
    pairs = zip(conversation.messages, conversation.spans, strict=True)
    return "".join([message.raw for message, (at, _) in takewhile(lambda pair: not start <= pair[1][0] < end, pairs)])


def _end(sums: bytes) -> int:
    """The end of the last whole kilobyte."""
    return len(sums) // _WIDTH * _STEP


def _trail(rest: bytes, known: bytes) -> Trail:
    """The trail of a text: `known` are the sums of its beginning, `rest` is the remaining text."""
    begin, view = _end(known), memoryview(rest)
    starts = range(0, min(len(rest) - _STEP + 1, _MOST * _STEP - begin), _STEP)
    total = int.from_bytes(known[-_WIDTH:], "little")
    sums = [total := zlib.crc32(view[at : at + _STEP], total) for at in starts]
    return Trail(begin + len(rest), known + struct.pack(f"<{len(sums)}I", *sums))

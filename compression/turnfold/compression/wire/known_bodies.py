"""Bodies of earlier requests, found by the beginning of a new one.

This module decides where an earlier body is kept, and how far a new one repeats it, compared byte by byte. What is read of a body
is up to the formats.

Requests of a conversation begin with the same bytes. A body is kept under a sample of itself, taken at the last of some places
that lie ever farther apart; a later one passes the same places. A sample that two conversations share costs a comparison and
never more: what is known of a body is used as far as the bytes themselves are the same. They are compared where they stand: as
text a body with a single emoji takes four times as much, and a slice of either would be a copy.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from sys import getsizeof
from typing import Any, Final, NamedTuple

from turnfold.compression.memo import Memo

_FIRST: Final = 2048
_GROWTH: Final = 1.2
_PLACES: Final = tuple(int(_FIRST * _GROWTH**n) for n in range(64))  # up to 200 million bytes
_SAMPLE: Final = 256  # bytes at the beginning, and before a place
_NEWEST: Final = 4  # elements: the next request usually repeats everything before the last three
_KEPT: Final = 4  # bodies for one sample: conversations with the same beginning, and the forwarded body of each


class Sample(NamedTuple):
    """The key under which a body is cached."""

    wire: str
    place: int
    beginning: bytes
    before: bytes


@dataclass(frozen=True, slots=True)
class KnownBody:
    """A body that was read before.

    Attributes:
        ends: the ends of its elements; the text up to each end can be read alone.
        reading: its reading.
        weight: approximate bytes of its elements.
    """

    body: bytes
    ends: list[int]
    reading: Any
    weight: int

    def common(self, body: bytes) -> int:
        """The number of first elements that another body shares, including everything before them."""
        ends = self.ends
        if not ends or not repeats(body, self.body, 0, ends[0]):
            return 0
        if repeats(body, self.body, ends[0], ends[-1]):  # the usual case: it continues
            return len(ends)
        low, high = 1, len(ends)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if repeats(body, self.body, ends[low - 1], ends[middle - 1]) else (low, middle)
        return low


def repeats(body: bytes, other: bytes, start: int, end: int) -> bool:
    """Whether both have the same bytes from `start` to `end`."""
    return end <= min(len(body), len(other)) and body.startswith(memoryview(other)[start:end], start)


def samples(wire: str, body: bytes) -> list[Sample]:
    """The keys under which an earlier body of the conversation may be cached, nearest first."""
    inside, beginning = _PLACES[: bisect_right(_PLACES, len(body))], body[:_SAMPLE]
    return [Sample(wire, place, beginning, body[place - _SAMPLE : place]) for place in reversed(inside)]


def find_known(taken: Sequence[Sample], body: bytes, memo: Memo) -> tuple[Sample, KnownBody, int] | None:
    """The cached body with the longest common prefix, its key, and the number of common elements."""
    for sample in taken:
        kept: tuple[KnownBody, ...] = memo.find(sample) or ()
        found = max(((known.common(body), -at, known) for at, known in enumerate(kept)), default=None)
        if found is not None and found[0]:
            return sample, found[2], found[0]
    return None


def keep_known(taken: Sequence[Sample], body: KnownBody, memo: Memo, instead: tuple[Sample, KnownBody] | None) -> None:
    """Cache a body, replacing the one that it continues; a body with few elements is not cached."""
    settled = body.ends[-_NEWEST] if len(body.ends) >= _NEWEST else 0
    sample = next((sample for sample in taken if sample.place <= settled), None)
    if sample is None:
        return
    if instead is not None and instead[0] != sample:
        _put(instead[0], tuple(known for known in memo.find(instead[0]) or () if known is not instead[1]), memo)
    others = tuple(known for known in memo.find(sample) or () if instead is None or known is not instead[1])
    _put(sample, (body, *others)[:_KEPT], memo)


def _put(sample: Sample, kept: tuple[KnownBody, ...], memo: Memo) -> None:
    memo.put(
        sample, kept, lambda bodies: 1000 + sum(getsizeof(body.body) + 100 * len(body.ends) + body.weight for body in bodies)
    )

"""What a request leaves in a cache that hits at marks only, told without keeping its text.

This module notes the places in a request up to which such a cache keeps a prefix, and how much of that a later request finds.
Caches that keep any prefix are covered by ``trail``.

Such a cache (Anthropic's, and OpenAI's from gpt-5.6 on) keeps what ends at one of the client's marks, or with the request. A
later request finds it if it begins with the same content, before its own last mark. So a checksum is kept for each such place,
and compared with those of the beginnings of a new request.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

_FORM: Final = struct.Struct("<IHH")
_WHOLE: Final = 0xFFFF  # a share of 1
_ROUNDED: Final = 0.001  # shares that differ by at most this are equal
_MOST: Final = 12  # entries of a request, including those left by earlier ones


class KeptPrefix(NamedTuple):
    """A prefix kept in a cache.

    Attributes:
        sum: checksum of the messages in it.
        share: its share of the request's tokens.
        life: seconds for which it is kept; 0 if unknown.
    """

    sum: int
    share: float
    life: int = 0

    @classmethod
    def of(cls, total: int, share: float, life: int) -> KeptPrefix:
        """A prefix with its share, in the stored precision."""
        return cls(total, round(min(1.0, share) * _WHOLE) / _WHOLE, life)


@dataclass(frozen=True, slots=True)
class Entries:
    """The cache entries of one request.

    Attributes:
        left: the entries that it leaves, shortest first.
        sums: checksums of its prefixes, which may match entries of other requests; not stored.
    """

    left: tuple[KeptPrefix, ...] = ()
    sums: Collection[int] = field(default=(), compare=False)

    @property
    def last(self) -> float:
        """Share of the request that is written to the cache or read from it."""
        return self.last_for(0)

    def last_for(self, life: int) -> float:
        """The same for entries requested to be kept for `life` seconds."""
        return max((one.share for one in self.left if one.life >= life), default=0.0)

    def found(self, earlier: Entries, elapsed: float | None = None) -> float:
        """Share of an earlier request that this one finds in the cache. If `elapsed` is given, expired entries don't count."""
        kept = [one for one in earlier.left if elapsed is None or not one.life or elapsed <= one.life]
        return max((one.share for one in kept if one.sum in self.sums), default=0.0)

    def begun(self, share: float) -> Entries:
        """The entries of this share of the request's beginning."""
        inside = (one for one in self.left if one.share <= share + _ROUNDED)
        return Entries(tuple(KeptPrefix.of(one.sum, one.share / share, one.life) for one in inside), self.sums)

    def with_earlier(self, earlier: Entries, scale: float, elapsed: float) -> Entries:
        """These entries, plus those of an earlier request that this one has as a prefix.

        Args:
            scale: tokens of the earlier request / tokens of this one.
            elapsed: seconds since then.
        """
        own = {one.sum for one in self.left}
        held = [one for one in earlier.left if not one.life or elapsed < one.life]
        again = [one for one in held if one.sum in self.sums and one.sum not in own]
        kept = [KeptPrefix.of(one.sum, one.share * scale, one.life and max(1, int(one.life - elapsed))) for one in again]
        return Entries(_in_order([*self.left, *kept]), self.sums)

    def to_json(self) -> str:
        """The entries as a JSON value."""
        packed = (_FORM.pack(one.sum, round(one.share * _WHOLE), one.life) for one in self.left)
        return base64.b64encode(b"".join(packed)).decode("ascii")

    @classmethod
    def from_json(cls, value: Any) -> Entries:
        """Entries from the value that `to_json` returns.

        Raises:
            ValueError, TypeError: the value is invalid.
        """
        packed = base64.b64decode(value, validate=True)
        found = _FORM.iter_unpack(packed[: len(packed) // _FORM.size * _FORM.size])
        return cls(tuple(KeptPrefix(total, share / _WHOLE, life) for total, share, life in found))


def _in_order(entries: Iterable[KeptPrefix]) -> tuple[KeptPrefix, ...]:
    """The longest entries."""
    return tuple(sorted(entries, key=lambda one: one.share)[-_MOST:])

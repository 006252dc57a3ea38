"""The passages of a conversation with their terms, side by side.

This module knows which passages contain which terms. What is derived from a message alone is in ``leaves``; there are no
questions or scores here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeVar, cast

import numpy as np
import numpy.typing as npt

from turnfold.compression.memo import Memo
from turnfold.compression.recall.leaves import Leaves, leaves_of
from turnfold.compression.scorers.bm25 import Field, FieldIndex, Hashes, fields_joined, mean_length, norms
from turnfold.compression.text.quotes import Quotable, Quote

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
T = TypeVar("T")


@dataclass(frozen=True)
class PassageIndex:
    """All passages of the sources in order. Arrays have one entry for each passage unless stated otherwise.

    Attributes:
        sources: the indexed sources.
        keys: the sources' keys.
        quotes: the passages themselves.
        languages: the languages that occur, sorted.
        words, grams, heads: postings of the terms in :class:`leaves.Leaves`.
        said: the terms of `words` in order.
        stamps: postings of the terms of the header in force, by source.
        speakers: postings of the terms of the name beside a text, by source.
        stamp: the header in force after the last source.
        stamped: whether a source has a header of its own, by source.
        blocks: number of the paragraph's first passage.
        source_of: number of the source.
        whole: whether the passage is a whole message.
        spoken: whether it is a whole message, or belongs to a turn of a conversation within one message.
    """

    sources: tuple[Quotable, ...]
    keys: tuple[bytes, ...]
    quotes: tuple[Quote, ...]
    languages: tuple[str, ...]
    words: FieldIndex
    grams: FieldIndex
    heads: FieldIndex
    said: Field
    stamps: FieldIndex
    speakers: FieldIndex
    stamp: Hashes
    stamped: npt.NDArray[np.bool_]
    blocks: Ints
    costs: Floats
    asking: npt.NDArray[np.bool_]
    source_of: Ints
    whole: npt.NDArray[np.bool_]
    spoken: npt.NDArray[np.bool_]
    _derived: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)

    def derived(self, key: Hashable, make: Callable[[], T]) -> T:
        """A value derived from the index, computed once."""
        if key not in self._derived:
            self._derived[key] = make()
        return cast(T, self._derived[key])

    @cached_property
    def is_talk(self) -> bool:
        """Whether all sources are talk."""
        return all(source.role in ("user", "assistant") for source in self.sources)

    @cached_property
    def days(self) -> Ints:
        """For each source, the number of headers up to it that begin another day or session.

        If most messages have a header, as in an exported chat, no header counts.
        """
        stamped = self.stamped.astype(np.int64)
        return np.cumsum(stamped if 4 * stamped.sum() <= len(stamped) else np.zeros_like(stamped))

    @cached_property
    def block_lengths(self) -> Ints:
        """Number of words of the paragraph that begins with each passage; 0 if none does."""
        return np.bincount(self.blocks, self.words.lengths, len(self.quotes)).astype(np.int64)

    @cached_property
    def is_chat(self) -> bool:
        """Whether each passage is a paragraph."""
        return bool((self.blocks == np.arange(len(self.blocks))).all())

    def block_norms(self, k1: float, b: float) -> Floats:
        """Like ``FieldIndex.norms``, for the words of paragraphs."""
        lengths = self.block_lengths
        return self.derived(("norms", k1, b), lambda: norms(lengths, mean_length(lengths), k1, b))

    @cached_property
    def turns(self) -> Ints:
        """For each passage, the number of its message, or of its turn if a message contains a conversation."""
        other = np.diff(self.source_of, prepend=-1) > 0
        return np.cumsum(other | (self.spoken & (np.diff(self.blocks, prepend=-1) > 0))) - 1

    @cached_property
    def names(self) -> frozenset[str]:
        """The names given beside the texts."""
        return frozenset(source.name for source in self.sources if source.name)

    @cached_property
    def named(self) -> npt.NDArray[np.bool_]:
        """Whether a name beside the text tells who speaks, by source; a name shared by all tells nothing."""
        return (self.speakers.lengths > 0) & (len(self.names) > 1)

    @cached_property
    def has_speakers(self) -> bool:
        """Whether at least half of the messages name their speaker, at their beginning or beside their text."""
        begins = np.diff(self.turns, prepend=-1) > 0
        telling = self.named.take(self.source_of) | (self.spoken & (self.heads.lengths > 0))
        return 2 * int(np.count_nonzero(begins & telling)) >= max(4, int(np.count_nonzero(begins)))

    @cached_property
    def characters(self) -> Ints:
        """Characters of each passage."""
        return np.array([end - start for _, start, end in self.quotes], np.int64)

    @cached_property
    def median_turn(self) -> float:
        """Median of the estimated tokens of a message or turn.

        If one side's messages are far longer, as a model's answers often are, it is the median of that side: a median of both
        would depend on chance. A few answers about a pasted transcript do not count as a side.
        """
        sizes = np.bincount(self.turns, self.costs)
        firsts = np.flatnonzero(np.diff(self.turns, prepend=-1)).tolist()
        roles = np.array([self.sources[self.quotes[first].source].role for first in firsts])
        sides = [sizes[roles == role] for role in ("user", "assistant")]
        medians = [float(np.median(side)) for side in sides if len(side) * _FEW_TURNS >= max(1, len(sizes))]
        longer = max(medians, default=0.0)
        return longer if longer >= _FAR_LONGER * min(medians, default=0.0) else float(np.median(sizes))

    @property
    def size(self) -> int:
        """Approximate size in bytes: postings, terms, and the data kept for each passage, including quoted lines."""
        postings = sum(field.nbytes for field in (self.words, self.grams, self.heads, self.stamps, self.speakers))
        return 600 + postings + self.said.terms.nbytes + 760 * len(self.quotes) + 2 * int(self.characters.sum())

    @property
    def most_lines(self) -> int:
        """Most quoted lines to keep: a message of several passages may be quoted in many ways."""
        return len(self.quotes) + 1000


_FAR_LONGER: Final = 2  # factor
_FEW_TURNS: Final = 10  # fewer than one in this many is not a side of a conversation
_KEPT: Final = 2  # indices kept for one conversation: with a budget, its parts are tried in more than one way


def build(sources: Sequence[Quotable], memo: Memo) -> PassageIndex:
    """The index of the sources. If it extends an earlier index, only the new sources are read."""
    family = (b"recall.index", *[s.key for s in sources[:4]])
    kept: tuple[PassageIndex, ...] = memo.find(family) or ()
    found = next((index for index in kept if index.sources is sources), None)
    if found is not None:
        return found
    keys = tuple([s.key for s in sources])
    found = next((index for index in kept if index.keys == keys), None)
    if found is None:
        beginnings = [index for index in kept if index.keys == keys[: len(index.keys)]]
        known = max(beginnings, key=lambda index: len(index.keys), default=None)
        found = _join(tuple(sources), keys, leaves_of(sources[len(known.keys) if known else 0 :], memo), known)
        others = (index for index in kept if index is not known)
        memo.put(family, (found, *others)[:_KEPT], lambda indices: sum(index.size for index in indices))
    return found


def build_beyond(index: PassageIndex, behind: Sequence[Quotable], memo: Memo) -> PassageIndex:
    """An index extended by the messages behind it.

    Cached separately, so that it does not replace the index that the next question needs.
    """
    family = (b"recall.index beyond", *index.keys[:4])
    keys = (*index.keys, *[one.key for one in behind])
    found: PassageIndex | None = memo.find(family)
    if found is None or found.keys != keys:
        found = _join((*index.sources, *behind), keys, leaves_of(behind, memo), index) if behind else index
        memo.put(family, found, lambda kept: kept.size)
    return found


def _stamps_in_force(last: Hashes, stamps: Sequence[Hashes]) -> list[Hashes]:
    """The header in force in each source; `last` is in force before the first of them."""
    return [last := stamp if len(stamp) else last for stamp in stamps]


def _by_source(terms: Sequence[Hashes]) -> Field:
    return Field(np.concatenate(terms), np.array([len(own) for own in terms], np.int64))


def _join(sources: tuple[Quotable, ...], keys: tuple[bytes, ...], new: Leaves, known: PassageIndex | None) -> PassageIndex:
    """An index extended by new sources."""
    known = known or _EMPTY
    before, passages = len(known.keys), len(known.quotes)
    firsts = np.cumsum(new.counts) - new.counts
    number = np.repeat(np.arange(len(new.counts)), new.counts)
    languages = {name for name, count in zip(new.languages, new.counts.tolist(), strict=True) if count}.union(known.languages)
    stamps = _stamps_in_force(known.stamp, new.stamps)
    source_of = number + before
    return PassageIndex(
        sources,
        keys,
        quotes=known.quotes + tuple(map(Quote, source_of.tolist(), *zip(*new.spans, strict=True))),
        languages=tuple(sorted(languages)),
        words=known.words.continued(new.words),
        grams=known.grams.continued(new.grams),
        heads=known.heads.continued(new.heads),
        said=fields_joined([known.said, new.words]),
        stamps=known.stamps.continued(_by_source(stamps)),
        speakers=known.speakers.continued(_by_source(new.speakers)),
        stamp=stamps[-1],
        stamped=np.append(known.stamped, [len(stamp) > 0 for stamp in new.stamps]),
        blocks=np.append(known.blocks, new.blocks + firsts[number] + passages),
        costs=np.append(known.costs, new.costs),
        asking=np.append(known.asking, new.asking),
        source_of=np.append(known.source_of, source_of),
        whole=np.append(known.whole, new.counts[number] == 1),
        spoken=np.append(known.spoken, new.spoken),
        _derived={key: dict(value) for key, value in known._derived.items() if value.__class__ is dict},
    )


_NO_TERMS: Final = Field(np.zeros(0, np.uint32), np.zeros(0, np.int64))
_NO_FIELD: Final = FieldIndex(np.zeros(0, np.int64))
_NO_INTS: Final = np.zeros(0, np.int64)
_NO_BOOLS: Final = np.zeros(0, np.bool_)
_EMPTY: Final = PassageIndex(
    sources=(),
    keys=(),
    quotes=(),
    languages=(),
    words=_NO_FIELD,
    grams=_NO_FIELD,
    heads=_NO_FIELD,
    said=_NO_TERMS,
    stamps=_NO_FIELD,
    speakers=_NO_FIELD,
    stamp=_NO_TERMS.terms,
    stamped=_NO_BOOLS,
    blocks=_NO_INTS,
    costs=np.zeros(0),
    asking=_NO_BOOLS,
    source_of=_NO_INTS,
    whole=_NO_BOOLS,
    spoken=_NO_BOOLS,
)

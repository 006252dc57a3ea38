"""BM25 over passages, on arrays.

Lives here: the lexical score of Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the
non-negative idf of Lucene. Does not belong here: words, languages, what a passage is.

A field is the sequence of its terms, passage after passage. Its postings are sorted once; a conversation grows at its end, so
those of what was known stay as they are, and a few parts that shrink geometrically, as in a log-structured merge tree, hold all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_NOWHERE: Final = np.zeros(0, np.int64)
_HALF: Final = np.uint64(32)
_LOWER: Final = np.uint64(0xFFFFFFFF)
_FAN: Final = 8


@dataclass(frozen=True)
class Hits:
    """Where the terms of a query occur: one entry per pair of a term and a passage that contains it.

    Attributes:
        terms, passages: their total numbers.
        term, passage, frequency: the entries; each pair once.
    """

    terms: int
    passages: int
    term: Ints
    passage: Ints
    frequency: Floats

    def only(self, chosen: Sequence[int]) -> Hits:
        """The hits of some terms, renumbered in the given order."""
        number = np.full(self.terms, -1)
        number[list(chosen)] = np.arange(len(chosen))
        if len(chosen) == self.terms:
            return Hits(self.terms, self.passages, number[self.term], self.passage, self.frequency)
        kept = number[self.term] >= 0
        return Hits(len(chosen), self.passages, number[self.term[kept]], self.passage[kept], self.frequency[kept])

    def regroup(self, to: Ints) -> Hits:
        """The hits with passages combined: those of passage ``p`` count for ``to[p]``, which never decreases."""
        if not len(self.term):
            return self
        passage = to[self.passage]
        first = np.flatnonzero(_begins(self.term) | _begins(passage))
        term, passage, frequency = self.term[first], passage[first], np.add.reduceat(self.frequency, first)
        order = np.argsort(term, kind="stable")
        return Hits(self.terms, self.passages, term[order], passage[order], frequency[order])


@dataclass(frozen=True)
class Postings:
    """Sorted pairs of a term and a passage that contains it, some passages' worth.

    Attributes:
        pairs: the term in the upper 32 bits, the passage in the lower; each pair once.
        counts: how often the passage contains the term.
    """

    pairs: npt.NDArray[np.uint64]
    counts: npt.NDArray[np.uint16]

    def find(self, wanted: npt.NDArray[np.uint64]) -> tuple[Ints, Ints]:
        """Where the pairs of each wanted term begin and end; terms stand in the upper 32 bits here too."""
        return self.pairs.searchsorted(wanted), self.pairs.searchsorted(wanted | _LOWER, side="right")


@dataclass(frozen=True)
class Field:
    """The terms of passages, one after another.

    Attributes:
        terms: term hashes in order of the text.
        lengths: number of terms of each passage.
        known: postings of a field that this one continues, for the passages that both have.
        known_passages: how many these are.
    """

    terms: Hashes
    lengths: Ints
    known: tuple[Postings, ...] = ()
    known_passages: int = 0

    @cached_property
    def ends(self) -> Ints:
        """Where the terms of each passage end."""
        return np.cumsum(self.lengths)

    @cached_property
    def mean_length(self) -> float:
        """Terms of a passage that has any, on average."""
        return mean_length(self.lengths)

    @cached_property
    def postings(self) -> tuple[Postings, ...]:
        """Postings of all passages, in parts that shrink by `_FAN` at least."""
        begin = int(self.ends[self.known_passages - 1]) if self.known_passages else 0
        numbers = np.arange(self.known_passages, len(self.lengths), dtype=np.uint64)
        passages = np.repeat(numbers, self.lengths[self.known_passages :])
        new = np.sort(self.terms[begin:].astype(np.uint64) << _HALF | passages)
        parts = [*self.known, _distinct(new, np.ones(len(new), np.uint16))] if len(new) else list(self.known)
        while len(parts) > 1 and len(parts[-1].pairs) * _FAN > len(parts[-2].pairs):
            parts[-2:] = [_merge(*parts[-2:])]
        return tuple(parts)

    def continued(self, terms: Hashes, lengths: Ints) -> Field:
        """This field with more passages behind its own; only theirs are sorted."""
        return Field(
            np.concatenate([self.terms, terms]), np.concatenate([self.lengths, lengths]), self.postings, len(self.lengths)
        )

    def of(self, passage: int) -> Hashes:
        """The terms of one passage."""
        end = int(self.ends[passage])
        return self.terms[end - int(self.lengths[passage]) : end]

    def having(self, terms: Sequence[int]) -> Ints:
        """How many passages contain each term."""
        wanted = np.array(terms, dtype=np.uint64) << _HALF
        total = np.zeros(len(terms), np.int64)
        for part in self.postings:
            begins, ends = part.find(wanted)
            total += ends - begins
        return total

    def find(self, groups: Sequence[Sequence[int]]) -> Hits:
        """Where each group of equivalent terms occurs; a term belongs to the first group that has it."""
        group_of = {term: g for g in range(len(groups) - 1, -1, -1) for term in groups[g]}
        if not group_of or not self.terms.size:
            return Hits(len(groups), len(self.lengths), _NOWHERE, _NOWHERE, np.zeros(0))
        ordered = sorted(group_of, key=group_of.__getitem__)
        wanted = np.array(ordered, dtype=np.uint64) << _HALF
        group = np.array([group_of[term] for term in ordered], dtype=np.int64)
        sizes, passage, frequency = _entries(self.postings, wanted)
        term = np.repeat(group, sizes)
        if len(ordered) > len(set(group_of.values())):  # several terms of a group may stand in one passage
            return _combined(len(groups), len(self.lengths), term, passage, frequency)
        return Hits(len(groups), len(self.lengths), term, passage, frequency)


def _entries(parts: Sequence[Postings], wanted: npt.NDArray[np.uint64]) -> tuple[Ints, Ints, Floats]:
    """How many pairs each wanted term has; their passages, term after term, and the counts.

    Each part has passages of its own, those of the parts before it come first. A slice for each takes less than places of pairs.
    """
    places = [part.find(wanted) for part in parts]
    sizes = np.sum([ends - begins for begins, ends in places], axis=0)
    of_parts = [[slice(a, b) for a, b in zip(begins.tolist(), ends.tolist(), strict=True)] for begins, ends in places]
    slices = [(part, one) for of_term in zip(*of_parts, strict=True) for part, one in zip(parts, of_term, strict=True)]
    pairs = np.concatenate([part.pairs[one] for part, one in slices])
    counts = np.concatenate([part.counts[one] for part, one in slices])
    return sizes, (pairs & _LOWER).astype(np.int64), counts.astype(np.float64)


def _begins(values: Ints) -> npt.NDArray[np.bool_]:
    """Where a run of equal values begins."""
    return np.concatenate([[True], values[1:] != values[:-1]])


def _combined(terms: int, passages: int, term: Ints, passage: Ints, frequency: Floats) -> Hits:
    """Hits of entries in any order, those of one term and passage made one."""
    cells, inverse = np.unique(term * passages + passage, return_inverse=True)
    total = np.bincount(inverse, frequency, len(cells)).astype(np.float64)
    return Hits(terms, passages, cells // max(1, passages), cells % max(1, passages), total)


def _distinct(pairs: npt.NDArray[np.uint64], counts: npt.NDArray[np.uint16]) -> Postings:
    """Postings of sorted pairs, equal ones made one."""
    first = np.flatnonzero(np.concatenate([[True], pairs[1:] != pairs[:-1]]))
    return Postings(pairs[first], np.add.reduceat(counts, first))


def _merge(one: Postings, other: Postings) -> Postings:
    """The postings of different passages together; those of the smaller one are put among those of the larger."""
    at = one.pairs.searchsorted(other.pairs)
    return Postings(np.insert(one.pairs, at, other.pairs), np.insert(one.counts, at, other.counts))


def idf(hits: Hits) -> Floats:
    """Weight of each term by the share of passages that contain it; an absent term weighs most."""
    return rarity(np.bincount(hits.term, minlength=hits.terms), hits.passages)


def rarity(having: Ints, passages: int) -> Floats:
    """The same by the number of passages that contain each term."""
    weights: Floats = np.log1p((passages - having + 0.5) / (having + 0.5))
    return weights


def mean_length(lengths: Ints) -> float:
    """The mean of those that are not 0."""
    return max(1.0, float(lengths[lengths > 0].mean())) if (lengths > 0).any() else 1.0


def scores(hits: Hits, weights: Floats, lengths: Ints, mean: float, k1: float, b: float) -> Floats:
    """BM25 of every passage for terms with these weights; in longer passages a frequency counts less.

    Args:
        mean: of `lengths` (see ``mean_length``).
    """
    norm = (k1 * (1 - b + b * lengths / mean))[hits.passage]
    counts = hits.frequency * (k1 + 1) / (hits.frequency + norm)
    total: Floats = np.bincount(hits.passage, weights[hits.term] * counts, hits.passages).astype(np.float64)
    return total


def presence(hits: Hits, weights: Floats) -> Floats:
    """For every passage the total weight of its distinct terms."""
    total: Floats = np.bincount(hits.passage, weights[hits.term], hits.passages).astype(np.float64)
    return total

"""BM25 over passages, on arrays.

Lives here: the lexical score of Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the
non-negative idf of Lucene. Does not belong here: words, languages, what a passage is.

A field is the sequence of its terms, passage after passage. Its postings are sorted once; a conversation grows at its end, so those
of what was known stay as they are, and a few parts that shrink geometrically, as in a log-structured merge tree, hold them all.
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
_DENSE: Final = 16  # places for each entry up to which all of them are looked at instead of sorting entries
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
        """The hits with passages combined: those of passage ``p`` count for ``to[p]``."""
        return _count_hits(self.terms, self.passages, self.term * self.passages + to[self.passage], self.frequency)


@dataclass(frozen=True)
class Postings:
    """Sorted pairs of a term and a passage that contains it, some passages' worth.

    Attributes:
        pairs: the term in the upper 32 bits, the passage in the lower; each pair once.
        counts: how often the passage contains the term.
    """

    pairs: npt.NDArray[np.uint64]
    counts: npt.NDArray[np.uint32]

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
        parts = [*self.known, _distinct(new, np.ones(len(new), np.uint32))] if len(new) else list(self.known)
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
        wanted = np.array(list(group_of), dtype=np.uint64) << _HALF
        firsts = np.array(list(group_of.values()), dtype=np.int64) * len(self.lengths)
        cells, counts = [], []
        for part in self.postings:
            begins, ends = part.find(wanted)
            sizes = ends - begins
            at = np.arange(int(sizes.sum())) + np.repeat(begins - (np.cumsum(sizes) - sizes), sizes)
            cells.append(np.repeat(firsts, sizes) + (part.pairs[at] & _LOWER).astype(np.int64))
            counts.append(part.counts[at])
        return _count_hits(len(groups), len(self.lengths), np.concatenate(cells), np.concatenate(counts).astype(np.float64))


def _distinct(pairs: npt.NDArray[np.uint64], counts: npt.NDArray[np.uint32]) -> Postings:
    """Postings of sorted pairs, equal ones made one."""
    first = np.flatnonzero(np.concatenate([[True], pairs[1:] != pairs[:-1]]))
    return Postings(pairs[first], np.add.reduceat(counts, first))


def _merge(one: Postings, other: Postings) -> Postings:
    """The postings of different passages together; those of the smaller one are put among those of the larger."""
    at = one.pairs.searchsorted(other.pairs)
    return Postings(np.insert(one.pairs, at, other.pairs), np.insert(one.counts, at, other.counts))


def _count_hits(terms: int, passages: int, cells: Ints, weights: Floats) -> Hits:
    if terms * passages <= _DENSE * len(cells):  # counting is cheaper than sorting
        counts = np.bincount(cells, minlength=terms * passages)
        distinct = np.flatnonzero(counts)
        frequency: Floats = np.bincount(cells, weights, terms * passages)[distinct].astype(np.float64)
    else:
        distinct, inverse = np.unique(cells, return_inverse=True)
        frequency = np.bincount(inverse, weights, len(distinct)).astype(np.float64)
    term, passage = np.divmod(distinct, max(1, passages))
    return Hits(terms, passages, term, passage, frequency)


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
    norm = k1 * (1 - b + b * lengths[hits.passage] / mean)
    counts = hits.frequency * (k1 + 1) / (hits.frequency + norm)
    total: Floats = np.bincount(hits.passage, weights[hits.term] * counts, hits.passages).astype(np.float64)
    return total


def presence(hits: Hits, weights: Floats) -> Floats:
    """For every passage the total weight of its distinct terms."""
    total: Floats = np.bincount(hits.passage, weights[hits.term], hits.passages).astype(np.float64)
    return total

"""BM25 over passages, on arrays.

Lives here: the lexical score of Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the
non-negative idf of Lucene. Does not belong here: words, languages, what a passage is.

A field is the plain sequence of its terms, passage after passage. A query scans it once for its own few terms (a 64k table before
an exact check), so building a field needs no sorting, and results stay sparse.
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
        kept = number[self.term] >= 0
        return Hits(len(chosen), self.passages, number[self.term[kept]], self.passage[kept], self.frequency[kept])

    def regroup(self, to: Ints) -> Hits:
        """The hits with passages combined: those of passage ``p`` count for ``to[p]``."""
        return _count_hits(self.terms, self.passages, self.term * self.passages + to[self.passage], self.frequency)


@dataclass(frozen=True)
class Field:
    """The terms of passages, one after another.

    Attributes:
        terms: term hashes in order of the text.
        lengths: number of terms of each passage.
    """

    terms: Hashes
    lengths: Ints

    @cached_property
    def ends(self) -> Ints:
        """Where the terms of each passage end."""
        return np.cumsum(self.lengths)

    @cached_property
    def _low(self) -> npt.NDArray[np.uint16]:
        return (self.terms & np.uint32(0xFFFF)).astype(np.uint16)

    def of(self, passage: int) -> Hashes:
        """The terms of one passage."""
        end = int(self.ends[passage])
        return self.terms[end - int(self.lengths[passage]) : end]

    def find(self, groups: Sequence[Sequence[int]]) -> Hits:
        """Where each group of equivalent terms occurs; a term belongs to the first group that has it."""
        group_of = {term: g for g in range(len(groups) - 1, -1, -1) for term in groups[g]}
        wanted = np.array(sorted(group_of), dtype=np.uint32)
        if not wanted.size or not self.terms.size:
            return Hits(len(groups), len(self.lengths), _NOWHERE, _NOWHERE, np.zeros(0))
        groups_of = np.array([group_of[t] for t in wanted.tolist()], dtype=np.int64)
        at, slot = self._find_places(wanted)
        cells = groups_of[slot] * len(self.lengths) + self._passages(at)
        return _count_hits(len(groups), len(self.lengths), cells, np.ones(len(cells)))

    def _find_places(self, wanted: Hashes) -> tuple[Ints, Ints]:
        """The places of the wanted terms, and which term is at each; found with a table of the low 16 bits."""
        low = wanted & np.uint32(0xFFFF)
        likely = np.zeros(1 << 16, dtype=bool)
        likely[low] = True
        at = np.flatnonzero(likely.take(self._low))
        table = np.zeros(1 << 16, dtype=np.int64)
        places, slots = [], []
        left = np.arange(len(wanted))
        while left.size:  # once more for those of one low half, which share a place in the table
            table[low[left]] = left
            slot = table.take(self._low.take(at))
            exact = wanted.take(slot) == self.terms.take(at)
            places.append(at[exact])
            slots.append(slot[exact])
            at = at[~exact]
            left = left[table[low[left]] != left]
        return np.concatenate(places), np.concatenate(slots)

    def _passages(self, at: Ints) -> Ints:
        """The passages to which places belong."""
        if len(at) * _DENSE < len(self.terms):
            return np.searchsorted(self.ends, at, side="right")
        return np.repeat(np.arange(len(self.lengths)), self.lengths).take(at)


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
    having = np.bincount(hits.term, minlength=hits.terms)
    weights: Floats = np.log1p((hits.passages - having + 0.5) / (having + 0.5))
    return weights


def scores(hits: Hits, weights: Floats, lengths: Ints, k1: float, b: float) -> Floats:
    """BM25 of every passage for terms with these weights; in longer passages a frequency counts less."""
    mean = max(1.0, float(lengths[lengths > 0].mean())) if (lengths > 0).any() else 1.0
    norm = k1 * (1 - b + b * lengths[hits.passage] / mean)
    counts = hits.frequency * (k1 + 1) / (hits.frequency + norm)
    total: Floats = np.bincount(hits.passage, weights[hits.term] * counts, hits.passages).astype(np.float64)
    return total


def presence(hits: Hits, weights: Floats) -> Floats:
    """For every passage the total weight of its distinct terms."""
    total: Floats = np.bincount(hits.passage, weights[hits.term], hits.passages).astype(np.float64)
    return total

"""BM25 over passages, on arrays.

The lexical score of Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the
non-negative idf of Lucene. What a word or a passage is, is up to the caller.

A field is the sequence of its terms, passage after passage. Its postings are sorted once; a conversation grows at its end, so
those of what was known stay as they are, and a few parts that shrink geometrically, as in a log-structured merge tree, hold all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_NOWHERE: Final = np.zeros(0, np.int64)
_TERM: Final = np.uint64(32)  # bits below it are those of a passage's number
_PASSAGE: Final = np.uint64(0xFFFFFFFF)
_FAN: Final = 8
_SMALL: Final = 2**15  # pairs: every question searches each part, and merging small parts takes no longer than searching them
_SHORT_RUN: Final = 200  # pairs of a term


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

    def where(self, kept: npt.NDArray[np.bool_]) -> Hits:
        """Some of the hits."""
        return Hits(self.terms, self.passages, self.term[kept], self.passage[kept], self.frequency[kept])

    def ordered(self) -> Hits:
        """The same hits, term after term."""
        if not (self.term[1:] < self.term[:-1]).any():
            return self
        order = np.argsort(self.term, kind="stable")
        return Hits(self.terms, self.passages, self.term.take(order), self.passage.take(order), self.frequency.take(order))

    def regroup(self, to: Ints) -> Hits:
        """The hits with passages combined: those of passage ``p`` count for ``to[p]``, which never decreases."""
        if not len(self.term):
            return self
        term, passage, frequency = self.term, to.take(self.passage), self.frequency
        begins = _begins(term) | _begins(passage)
        if not begins.all():
            first = np.flatnonzero(begins)
            term, passage, frequency = term.take(first), passage.take(first), np.add.reduceat(frequency, first)
        return Hits(self.terms, self.passages, term, passage, frequency).ordered()


@dataclass(frozen=True, slots=True)
class Wanted:
    """Groups of equivalent terms, prepared for searching fields. A term belongs to the first group that contains it.

    Attributes:
        groups: number of groups.
        terms: the distinct terms of all groups, group after group.
        group: the number of each term's group.
    """

    groups: int
    terms: Hashes
    group: Ints

    @property
    def has_equivalents(self) -> bool:
        """Whether a group has several terms."""
        return bool((self.group[1:] == self.group[:-1]).any())


def wanted_terms(groups: Sequence[Sequence[int]]) -> Wanted:
    """Groups prepared for searching fields."""
    group_of = {term: g for g in range(len(groups) - 1, -1, -1) for term in groups[g]}
    ordered = sorted(group_of, key=group_of.__getitem__)
    numbers = [group_of[term] for term in ordered]
    return Wanted(len(groups), np.array(ordered, dtype=np.uint32), np.array(numbers, dtype=np.int64))


@dataclass(frozen=True)
class Postings:
    """Which passages contain which terms: pairs sorted by term, then by passage, without duplicates.

    Attributes:
        terms: the distinct terms, at least one. Searching these has better locality than searching the terms of all pairs.
        starts: the start of each term's pairs, and the end of all.
        passages: the passage of each pair, in the smallest integer type that fits.
        counts: how often the passage contains the term, in the smallest type that fits.
    """

    terms: Hashes
    starts: Ints
    passages: npt.NDArray[Any]
    counts: npt.NDArray[Any]

    def find(self, wanted: Hashes) -> tuple[Ints, Ints]:
        """The start and end of each wanted term's pairs."""
        at = np.minimum(self.terms.searchsorted(wanted), len(self.terms) - 1)
        return self.starts[at], self.starts[at + (self.terms[at] == wanted)]

    def entries(self, wanted: Hashes) -> tuple[Ints, npt.NDArray[Any], npt.NDArray[Any]]:
        """For each wanted term, its number of pairs; and the passages and counts of all pairs, term after term."""
        begins, ends = self.find(wanted)
        sizes = ends - begins
        total = int(sizes.sum())
        if total < _SHORT_RUN * len(sizes):  # for short runs, slicing takes longer than indexing
            places = np.repeat(begins - (np.cumsum(sizes) - sizes), sizes) + np.arange(total)
            return sizes, self.passages.take(places), self.counts.take(places)
        runs = [slice(begin, end) for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
        return sizes, np.concatenate([self.passages[run] for run in runs]), np.concatenate([self.counts[run] for run in runs])

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.terms.nbytes + self.starts.nbytes + self.passages.nbytes + self.counts.nbytes


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
        """The end of each passage's terms."""
        return np.cumsum(self.lengths)

    def of(self, passage: int) -> Hashes:
        """The terms of one passage."""
        end = int(self.ends[passage])
        return self.terms[end - int(self.lengths[passage]) : end]

    def part(self, start: int, stop: int) -> Field:
        """The passages ``start..stop``."""
        first = int(self.ends[start - 1]) if start else 0
        return Field(self.terms[first : int(self.ends[stop - 1]) if stop else 0], self.lengths[start:stop])

    def of_passages(self, numbers: Sequence[int] | Ints) -> Field:
        """The passages with these numbers, in this order; repetitions are allowed."""
        chosen = np.array(numbers, np.int64)
        lengths = self.lengths[chosen]
        ends = np.cumsum(lengths)
        places = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(self.ends[chosen] - ends, lengths)
        return Field(self.terms[places], lengths)


def fields_joined(fields: Sequence[Field]) -> Field:
    """All passages of several fields as one field."""
    some = [one for one in fields if len(one.lengths)]
    if len(some) == 1:
        return some[0]
    return Field(np.concatenate([f.terms for f in fields]), np.concatenate([f.lengths for f in fields]))


@dataclass(frozen=True)
class FieldIndex:
    """Passages by the terms of a field. The terms themselves are not stored: those of character grams take more memory than the
    text.

    Attributes:
        lengths: number of terms of each passage.
        postings: of all passages, in parts that shrink by a factor of `_FAN` at least; only the last part is small.
    """

    lengths: Ints
    postings: tuple[Postings, ...] = ()
    _norms: dict[tuple[float, float], Floats] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, field: Field) -> FieldIndex:
        """The index of some passages."""
        return cls(field.lengths, _sorted(field, 0))

    @cached_property
    def mean_length(self) -> float:
        """Mean number of terms of the passages that have any."""
        return mean_length(self.lengths)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.lengths.nbytes + sum(part.nbytes for part in self.postings)

    def continued(self, field: Field) -> FieldIndex:
        """This index extended by more passages; only these are sorted."""
        parts = [*self.postings, *_sorted(field, len(self.lengths))]
        while len(parts) > 1 and len(parts[-2].passages) < max(_SMALL, len(parts[-1].passages) * _FAN):
            parts[-2:] = [_merge(*parts[-2:])]
        return FieldIndex(np.concatenate([self.lengths, field.lengths]), tuple(parts))

    def norms(self, k1: float, b: float) -> Floats:
        """For every passage, the length norm (see ``norms``)."""
        if (k1, b) not in self._norms:
            self._norms[k1, b] = norms(self.lengths, self.mean_length, k1, b)
        return self._norms[k1, b]

    def having(self, terms: Hashes) -> Ints:
        """How many passages contain each term."""
        total = np.zeros(len(terms), np.int64)
        for part in self.postings:
            begins, ends = part.find(terms)
            total += ends - begins
        return total

    def scores(self, terms: Hashes, k1: float, b: float) -> Floats:
        """BM25 of every passage for distinct terms, weighted by rarity. Same result as `scores` of what `find` returns."""
        if not (len(terms) and self.postings):
            return np.zeros(len(self.lengths))
        found = [part.entries(terms) for part in self.postings]
        weights = rarity(sum((sizes for sizes, _, _ in found[1:]), found[0][0]), len(self.lengths))
        passage = np.concatenate([passages for _, passages, _ in found], dtype=np.int64)
        frequency = np.concatenate([counts for _, _, counts in found], dtype=np.float64)
        weighed = np.repeat(np.tile(weights, len(found)), np.concatenate([sizes for sizes, _, _ in found]))
        # Each passage is in one part, so its terms are added in order.
        return _sums(passage, frequency, weighed, self.norms(k1, b), k1)

    def find(self, wanted: Wanted) -> Hits:
        """The occurrences of each group of terms."""
        if not (self.postings and len(wanted.terms)):
            return Hits(wanted.groups, len(self.lengths), _NOWHERE, _NOWHERE, np.zeros(0))
        sizes, passage, frequency = _entries(self.postings, wanted.terms)
        term = np.repeat(wanted.group, sizes)
        if wanted.has_equivalents:  # a passage may contain several terms of a group
            return _combined(wanted.groups, len(self.lengths), term, passage, frequency)
        return Hits(wanted.groups, len(self.lengths), term, passage, frequency)


def _entries(parts: Sequence[Postings], wanted: Hashes) -> tuple[Ints, Ints, Floats]:
    """For each wanted term, its number of pairs; and the passages and counts of all pairs, term after term.

    Parts have distinct passages; those of earlier parts come first.
    """
    places = [part.find(wanted) for part in parts]
    sizes: Ints = sum((ends - begins for begins, ends in places[1:]), places[0][1] - places[0][0])
    of_parts = [zip(repeat(part), begins.tolist(), ends.tolist()) for part, (begins, ends) in zip(parts, places, strict=True)]
    # Slicing is faster than indexing here.
    runs = [run for of_term in zip(*of_parts, strict=True) for run in of_term if run[1] < run[2]]
    if not runs:
        return sizes, _NOWHERE, np.zeros(0)
    passages = np.concatenate([part.passages[begin:end] for part, begin, end in runs], dtype=np.int64)
    counts = np.concatenate([part.counts[begin:end] for part, begin, end in runs], dtype=np.float64)
    return sizes, passages, counts


def _begins(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """The starts of runs of equal values."""
    return np.concatenate([[True], values[1:] != values[:-1]])


def distinct(values: Ints) -> Ints:
    """The distinct numbers in order. A sort is faster than `numpy.unique`, which builds a table first."""
    ordered = np.sort(values)
    is_new = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    found: Ints = ordered[is_new]
    return found


def _combined(terms: int, passages: int, term: Ints, passage: Ints, frequency: Floats) -> Hits:
    """Hits from entries in any order; entries of the same term and passage are combined."""
    cells, inverse = np.unique(term * passages + passage, return_inverse=True)
    total = np.bincount(inverse, frequency, len(cells)).astype(np.float64)
    return Hits(terms, passages, cells // max(1, passages), cells % max(1, passages), total)


def _sorted(field: Field, first: int) -> tuple[Postings, ...]:
    """The postings of passages; empty if they have no terms.

    Args:
        first: number of the first of the passages.
    """
    if not len(field.terms):
        return ()
    # A term and its passage are one number: sorting numbers takes half as long as sorting their places.
    pairs = field.terms.astype(np.uint64)
    pairs <<= _TERM
    pairs |= np.repeat(np.arange(first, first + len(field.lengths), dtype=np.uint64), field.lengths)
    pairs.sort()
    begins = np.flatnonzero(_begins(pairs))
    pairs, counts = pairs.take(begins), np.diff(begins, append=len(pairs))
    terms = (pairs >> _TERM).astype(np.uint32)
    is_new = _begins(terms)
    starts = np.append(np.flatnonzero(is_new), len(terms))
    return (Postings(terms[is_new], starts, _narrow(pairs & _PASSAGE), _narrow(counts)),)


def _narrow(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same numbers in the smallest integer type that fits."""
    return values.astype(np.min_scalar_type(values.max()))


def _merge(one: Postings, other: Postings) -> Postings:
    """The postings of passages and of later passages, merged."""
    terms = np.union1d(one.terms, other.terms)
    starts = [np.append(side.starts[side.terms.searchsorted(terms)], side.starts[-1]) for side in (one, other)]
    at = np.repeat(one.starts[one.terms.searchsorted(other.terms, side="right")], np.diff(other.starts))
    sides = ((one.passages, other.passages), (one.counts, other.counts))
    pairs = [np.insert(kept.astype(np.promote_types(kept.dtype, new.dtype)), at, new) for kept, new in sides]
    return Postings(terms, starts[0] + starts[1], *pairs)


def idf(hits: Hits) -> Floats:
    """Weight of each term by the share of passages that contain it; an absent term weighs most."""
    return rarity(np.bincount(hits.term, minlength=hits.terms), hits.passages)


def rarity(having: Ints, passages: int) -> Floats:
    """Like `idf`, given the number of passages that contain each term."""
    weights: Floats = np.log1p((passages - having + 0.5) / (having + 0.5))
    return weights


def mean_length(lengths: Ints) -> float:
    """The mean of the lengths that are not 0."""
    return max(1.0, float(lengths[lengths > 0].mean())) if (lengths > 0).any() else 1.0


def norms(lengths: Ints, mean: float, k1: float, b: float) -> Floats:
    """BM25's length norm of each passage: a term's frequency counts less in longer passages.

    Args:
        mean: of `lengths` (see ``mean_length``).
    """
    return (k1 * (1 - b + b * lengths / mean)).astype(np.float64, copy=False)


def scores(hits: Hits, weights: Floats, by: Floats, k1: float) -> Floats:
    """BM25 of every passage for terms with these weights.

    Args:
        by: the norm of every passage (see ``norms``).
    """
    return _sums(hits.passage, hits.frequency, weights.take(hits.term), by, k1)


def _sums(passage: Ints, frequency: Floats, weights: Floats, by: Floats, k1: float) -> Floats:
    """BM25 sums of parallel entries. There may be tens of thousands, so each step overwrites the arrays of the previous one."""
    norm: Floats = by.take(passage)
    norm += frequency
    counts = frequency * (k1 + 1)
    counts /= norm
    counts *= weights
    total: Floats = np.bincount(passage, counts, len(by)).astype(np.float64, copy=False)
    return total


def presence(hits: Hits, weights: Floats) -> Floats:
    """For every passage, the total weight of its distinct terms."""
    total: Floats = np.bincount(hits.passage, weights.take(hits.term), hits.passages).astype(np.float64, copy=False)
    return total

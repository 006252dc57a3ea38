"""BM25 over passages, on arrays.

Lives here: the lexical score of Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with
the non-negative idf of Lucene. Must not: words, languages, what a passage is.

A field is kept as the bare sequence of its terms, passage after passage. A query looks through it once for its own few
terms (a 64k table in front of an exact check), so nothing is sorted when a field is built and a query of 100 terms over
100,000 takes under a millisecond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Field:
    """The terms of passages, one after another.

    Attributes:
        terms: term hashes in order of the text.
        lengths: how many of them belong to each passage.
    """

    terms: Hashes
    lengths: npt.NDArray[np.int64]

    @cached_property
    def ends(self) -> npt.NDArray[np.int64]:
        return np.cumsum(self.lengths)

    @cached_property
    def mean_length(self) -> float:
        return max(1.0, float(self.lengths.mean())) if len(self.lengths) else 1.0

    def of(self, passage: int) -> Hashes:
        """The terms of one passage."""
        end = int(self.ends[passage])
        return self.terms[end - int(self.lengths[passage]) : end]

    def frequencies(self, groups: Sequence[Sequence[int]]) -> Floats:
        """How often each group of equivalent terms occurs in each passage; shape (groups, passages)."""
        flat = np.array([t for group in groups for t in group], dtype=np.uint32)
        group_of = np.array([g for g, group in enumerate(groups) for _ in group], dtype=np.int64)
        shape = (len(groups), len(self.lengths))
        if not flat.size or not self.terms.size:
            return np.zeros(shape)
        order = np.argsort(flat, kind="stable")
        flat, group_of = flat[order], group_of[order]
        likely = np.zeros(1 << 16, dtype=bool)
        likely[flat & np.uint32(0xFFFF)] = True
        at = np.flatnonzero(likely[self.terms & np.uint32(0xFFFF)])
        slot = np.minimum(np.searchsorted(flat, self.terms[at]), len(flat) - 1)
        exact = flat[slot] == self.terms[at]
        passage = np.searchsorted(self.ends, at[exact], side="right")
        cells = np.bincount(group_of[slot[exact]] * shape[1] + passage, minlength=shape[0] * shape[1])
        return cells.reshape(shape).astype(np.float64)


def idf(frequencies: Floats) -> Floats:
    """Weight of each term by the share of passages that have it; shape (terms,)."""
    passages = frequencies.shape[1]
    having = (frequencies > 0).sum(axis=1)
    weights: Floats = np.log1p((passages - having + 0.5) / (having + 0.5))
    return weights


def saturated(frequencies: Floats, field: Field, k1: float, b: float) -> Floats:
    """Each frequency as BM25 counts it: rising to ``k1 + 1``, and slower in long passages."""
    norm = k1 * (1 - b + b * field.lengths / field.mean_length)
    counts: Floats = frequencies * (k1 + 1) / (frequencies + norm)
    return counts

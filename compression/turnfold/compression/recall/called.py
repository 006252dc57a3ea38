"""Results whose call the question names.

Lives here: what a result gains by it. Does not belong here: the short form of a call (``call_labels``), the score of a text.

A result seldom repeats what it was asked: of "14 degrees" only the call says that it is Oslo. Words that all calls have, as their
tool's name, tell nothing.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from turnfold.compression.recall.passage_index import Floats, PassageIndex
from turnfold.compression.recall.ranking import Terms
from turnfold.compression.scorers.bm25 import Field, FieldIndex, Hashes
from turnfold.compression.text import words

_NONE: Final = FieldIndex(np.zeros(0, np.int64))


def with_called(index: PassageIndex, worth: Floats, asked: Terms, share: float) -> Floats:
    """The worth of each passage, more for those of results whose calls have words of the question that other calls lack.

    Args:
        share: of the greatest worth, what the best passage of the result gains whose call has all of these words.
    """
    labelled = index.derived("labelled", lambda: np.array([bool(source.answered_call) for source in index.sources]))
    number = np.count_nonzero(labelled)
    if number < _FEWEST:
        return worth
    found = index.derived("called", lambda: _called(index)).find(asked.wanted)
    if not len(found.term):
        return worth
    having = np.bincount(found.term, minlength=len(asked.weights))
    value = np.where(having > 0, np.log(number / np.maximum(having, 1)), 0.0) * asked.weights
    named = np.bincount(found.passage, value.take(found.term), len(index.sources))
    if not value.sum() > 0.0:
        return worth
    best = np.zeros(len(index.sources))
    np.maximum.at(best, index.source_of, worth)
    most = best.take(index.source_of)
    first = np.diff(index.source_of, prepend=-1) > 0
    of_best = np.where(most > 0.0, worth / np.maximum(most, 1e-9), first)  # where no part of it says more, its beginning
    gains: Floats = share * float(worth.max(initial=0.0)) * (named / value.sum()).take(index.source_of) * of_best
    return worth + gains


_FEWEST: Final = 2  # results; a single one is not told from others


def _called(index: PassageIndex) -> FieldIndex:
    terms = [_terms(source.answered_call, index.languages) for source in index.sources]
    return _NONE.continued(Field(np.concatenate(terms), np.array([len(own) for own in terms], np.int64)))


def _terms(call: str, languages: tuple[str, ...]) -> Hashes:
    if not call:
        return np.zeros(0, np.uint32)
    folded = words.fold(call)
    said = words.words(folded)
    stems = {term for name in languages for term in words.stem_table(set(said), name).values()}
    return np.array(sorted(stems.union(words.run_on_terms(folded).tolist())), np.uint32)

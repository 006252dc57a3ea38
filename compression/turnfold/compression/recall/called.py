"""Results whose call the question names.

Lives here: what a result gains by it. Does not belong here: the short form of a call (``call_labels``), the score of a text.

A result seldom repeats what it was asked: of "14 degrees" only the call says that it is Oslo. Words that all calls have, as their
tool's name, tell nothing.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from turnfold.compression.recall.fence import frames
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
    named = _named(index, asked)
    if named is None:
        return worth
    best = np.zeros(len(index.sources))
    np.maximum.at(best, index.source_of, worth)
    most = best.take(index.source_of)
    first = np.diff(index.source_of, prepend=-1) > 0
    of_best = np.where(most > 0.0, worth / np.maximum(most, 1e-9), first)  # where no part of it says more, its beginning
    gains: Floats = share * float(worth.max(initial=0.0)) * named.take(index.source_of) * of_best
    return worth + gains


def called_room(index: PassageIndex, asked: Terms) -> int:
    """Tokens that a passage of a result takes whose call the question names, with its label and the fence; 0 without one."""
    named = _named(index, asked)
    wanted = None if named is None else (named > _WHOLLY).take(index.source_of)
    if wanted is None or not wanted.any():
        return 0
    labels = frames(index.sources).take(index.source_of)
    needed = int((_ABOUT * index.costs + labels)[wanted].max()) + _AROUND
    return needed if needed <= _MOST else 0


_WHOLLY: Final = 0.99
_ABOUT: Final = 1.3  # times the estimate a text may take
_AROUND: Final = 20  # tokens of the fence
_MOST: Final = 256  # tokens that one passage may take beyond what a question has room for


def _named(index: PassageIndex, asked: Terms) -> Floats | None:
    """The share that each source's call has of the question's words that only some calls have; None without such words."""
    number = index.derived("labelled", lambda: sum(bool(source.answered_call) for source in index.sources))
    if number < _FEWEST:
        return None
    found = index.derived("called", lambda: _called(index)).find(asked.wanted)
    having = np.bincount(found.term, minlength=len(asked.weights))
    value = np.where(having > 0, np.log(number / np.maximum(having, 1)), 0.0) * asked.weights
    total = float(value.sum())
    return np.bincount(found.passage, value.take(found.term), len(index.sources)) / total if total > 0.0 else None


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

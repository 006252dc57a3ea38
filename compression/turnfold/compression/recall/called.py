"""Results that the question names, by their call or by their text.

This module decides what a result gains by that. The short form of a call is in ``call_labels``; the score of a text is up to
``ranking``.

A result seldom repeats the question that it answers: only the call says that "14 degrees" is Oslo's. Words that all calls have,
such as their tool's name, say nothing. A longer result names its thing at its head and describes it below, in words that all
results of that kind have: a mail has its sender, and "the amount comes to". So among the few results with the question's rare
words, the passages that hold its words together gain.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from turnfold.compression.recall.fence import frames
from turnfold.compression.recall.passage_index import Floats, PassageIndex
from turnfold.compression.recall.ranking import Terms
from turnfold.compression.scorers.bm25 import Field, FieldIndex, Hashes
from turnfold.compression.text import words

_NONE: Final = FieldIndex(np.zeros(0, np.int64))
_RESULT: Final = "tool"
_RARE: Final = 4  # a word is rare if at most one in this many results has it
_LEAST_NAMED: Final = 0.5  # share of the rare words' weight that a result must have
_NEARLY: Final = 0.9  # share of the greatest match
_MOST_NAMING: Final = 6  # results; if more match, the question names none of them
_MOST_PARTS: Final = 3  # passages of a result that gain
_STEP: Final = 0.1  # each gains this much less than the one before it
_OF_EQUAL: Final = 0.01  # share of a passage's own worth, which breaks ties between equal matches


def with_called(index: PassageIndex, worth: Floats, asked: Terms, share: float) -> Floats:
    """The worth of each passage, raised for results whose calls have words of the question that other calls lack.

    Args:
        share: share of the greatest worth that the best passage gains if the call has all of these words.
    """
    named = _named(index, asked)
    if named is None:
        return worth
    best = np.zeros(len(index.sources))
    np.maximum.at(best, index.source_of, worth)
    most = best.take(index.source_of)
    first = np.diff(index.source_of, prepend=-1) > 0
    of_best = np.where(most > 0.0, worth / np.maximum(most, 1e-9), first)  # if no part of it matches better, its beginning
    gains: Floats = share * float(worth.max(initial=0.0)) * named.take(index.source_of) * of_best
    return worth + gains


def with_named_results(index: PassageIndex, worth: Floats, asked: Terms, share: float) -> Floats:
    """The worth of each passage, raised for results that have what the question names in their text or call.

    Args:
        share: share of the greatest worth that the first of these passages gains if a result has all of the question's words.
    """
    results = index.derived("results", lambda: np.array([source.role == _RESULT for source in index.sources]))
    if np.count_nonzero(results) < _FEWEST or not len(asked.hits.term):
        return worth
    gains = np.zeros(len(worth))
    held = _held_by_source(index, asked) & results[:, None]
    for source, gain in _naming(held, asked.weights, int(results.sum())):
        first, last = np.searchsorted(index.source_of, (source, source + 1)).tolist()
        parts = _covering(asked, first, last, held[source], worth)
        for place, number in enumerate(parts):
            gains[number] = gain * (1 - _STEP * place)
    return worth + share * float(worth.max(initial=0.0)) * gains


def _held_by_source(index: PassageIndex, asked: Terms) -> npt.NDArray[np.bool_]:
    """For each source and term, whether the text or the call has the term."""
    held = np.zeros((len(index.sources), len(asked.weights)), np.bool_)
    held[index.source_of.take(asked.hits.passage), asked.hits.term] = True
    called = index.derived("called", lambda: _called(index)).find(asked.wanted)
    held[called.passage, called.term] = True
    return held


def _naming(held: npt.NDArray[np.bool_], weights: Floats, number: int) -> list[tuple[int, float]]:
    """The results with the most of the question's rare words, if they are few, each with its share of the question."""
    having = held.sum(axis=0)
    rare = np.where((having > 0) & (_RARE * having <= number), np.log(number / np.maximum(having, 1)), 0.0) * weights
    named = held @ rare
    most = float(named.max(initial=0.0))
    if most < _LEAST_NAMED * float(rare.sum()) or most <= 0.0:
        return []
    best = np.flatnonzero(named >= _NEARLY * most)
    if len(best) > _MOST_NAMING:
        return []
    known = float(weights[having > 0].sum())
    return [(int(n), float(weights[held[n]].sum()) / known) for n in best]


def _covering(asked: Terms, first: int, last: int, held: npt.NDArray[np.bool_], worth: Floats) -> list[int]:
    """Passages of a result that together have all of its words of the question; the one with the most words first."""
    here = (asked.hits.passage >= first) & (asked.hits.passage < last)
    has = np.zeros((last - first, len(held)), np.bool_)
    has[asked.hits.passage[here] - first, asked.hits.term[here]] = True
    value, own = asked.weights.copy(), worth[first:last] / max(float(worth[first:last].max(initial=0.0)), 1e-9)
    chosen: list[int] = []
    while len(chosen) < min(_MOST_PARTS, last - first):  # a result may match by its call alone and have no text
        gain = has @ value
        best = int(np.argmax(gain + _OF_EQUAL * own))
        if gain[best] <= 0.0:
            break
        chosen.append(first + best)
        value[has[best]] = 0.0
    return chosen


def called_room(index: PassageIndex, asked: Terms) -> int:
    """Tokens for a passage of a result whose call the question names, with label and fence; 0 if there is no such result."""
    named = _named(index, asked)
    wanted = None if named is None else (named > _WHOLLY).take(index.source_of)
    if wanted is None or not wanted.any():
        return 0
    labels = frames(index.sources).take(index.source_of)
    needed = int((_ABOUT * index.costs + labels)[wanted].max()) + _AROUND
    return needed if needed <= _MOST else 0


_WHOLLY: Final = 0.99
_ABOUT: Final = 1.3  # factor by which a text may exceed the estimate
_AROUND: Final = 20  # tokens of the fence
_MOST: Final = 256  # tokens that a passage may take beyond the question's room


def _named(index: PassageIndex, asked: Terms) -> Floats | None:
    """For each source, its call's share of the question's words that only some calls have; None if there are no such words."""
    number = index.derived("labelled", lambda: sum(bool(source.answered_call) for source in index.sources))
    if number < _FEWEST:
        return None
    found = index.derived("called", lambda: _called(index)).find(asked.wanted)
    having = np.bincount(found.term, minlength=len(asked.weights))
    value = np.where(having > 0, np.log(number / np.maximum(having, 1)), 0.0) * asked.weights
    total = float(value.sum())
    return np.bincount(found.passage, value.take(found.term), len(index.sources)) / total if total > 0.0 else None


_FEWEST: Final = 2  # results; with a single one there is nothing to distinguish


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

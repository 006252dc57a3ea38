"""Records of several lines that a question names, including the lines that do not repeat the name.

This module decides which records these are, and what their passages are worth. Records are found in ``text.ties.stanzas`` and
``text.records``; what else passages are worth is up to ``ranking``.

A record names its thing once, and tells the rest below in words that all records have, or that no question has: of an interface,
the line with its address. So the record with most of the question's words is read as a whole.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from turnfold.compression import lazy
from turnfold.compression.recall.passage_index import Floats, Ints, PassageIndex
from turnfold.compression.recall.ranking import Terms
from turnfold.compression.recall.wholes.parts.edited_code import printed_code
from turnfold.compression.recall.wholes.whole_records import passages_of
from turnfold.compression.scorers.bm25 import distinct
from turnfold.compression.text import words
from turnfold.compression.text.escapes import is_json
from turnfold.compression.text.kinds import kind_of
from turnfold.compression.text.quotes import Quotable, Quote
from turnfold.compression.text.records import listed_objects
from turnfold.compression.text.ties.stanzas import Stanzas

Range = tuple[int, int]

_LINE: Final = lazy.pattern("\n")
_LONGEST: Final = 400_000  # characters of a text that is split into records
_MOST: Final = 1200  # characters of a record
_FEW: Final = 24  # passages with a word that names a record
_BEST: Final = 0.8  # share of the best record's match with the question
_RECORDS: Final = 2  # records that are read
_LEAST: Final = 0.8  # share of the best worth for the least of its passages with a word of the question
_BESIDE: Final = 0.6  # share of the best worth for passages of it without any word of the question


class _NamedRecord(NamedTuple):
    """The range of a record, its first passage, and one past its last."""

    source: int
    start: int
    end: int
    passages: Range


def with_stanzas(
    index: PassageIndex, sources: Sequence[Quotable], worth: Floats, asked: Terms, said: str
) -> tuple[Floats, tuple[Quote, ...]]:
    """The worth of passages, with those of records that a question names raised to the worth of their naming passage; and the
    records.

    Args:
        said: the question's words.
    """
    often = np.bincount(asked.hits.term, minlength=asked.hits.terms)
    naming = _naming(index, asked, often)
    records = {one for number in naming.tolist() for one in _records(index, sources, number)}
    if not records:
        return worth, ()
    weights = asked.weights * np.log(len(worth) / np.maximum(often, 1))
    held = {one: _matched_share(asked, one, weights) for one in records}
    most = max(held.values())
    if not most:  # every passage has these words, so they tell nothing
        return worth, ()
    names = words.words(said)
    best = [one for one in records if held[one] >= _BEST * most]
    best.sort(key=lambda one: (-held[one], -_times(names, sources, one), one))
    raised, top = worth.copy(), float(worth.max(initial=0.0))
    has_words = np.zeros(len(worth), np.bool_)
    has_words[asked.hits.passage] = True
    for one in best[:_RECORDS]:
        inside = slice(*one.passages)
        own = worth[inside] / max(float(worth[inside].max()), 1e-9)
        share = np.where(has_words[inside], _LEAST + (1.0 - _LEAST) * own, _BESIDE)
        raised[inside] = np.maximum(raised[inside], top * held[one] / most * share)
    with_blank = [Quote(one.source, max(0, one.start - 1), one.end) for one in best[:_RECORDS]]  # including the blank before it
    return raised, tuple(with_blank)


def _times(names: Sequence[str], sources: Sequence[Quotable], record: _NamedRecord) -> int:
    """How often a record contains the question's words."""
    text = words.fold(sources[record.source].text[record.start : record.end])
    return sum(map(text.count, names))


def _naming(index: PassageIndex, asked: Terms, often: Ints) -> Ints:
    """Passages of results with a rare word of the question."""
    is_result = index.derived("results", lambda: np.array([source.role == "tool" for source in index.sources]))
    found = distinct(asked.hits.passage[often.take(asked.hits.term) <= _FEW])
    named: Ints = found[is_result.take(index.source_of.take(found))]
    return named


def _matched_share(asked: Terms, record: _NamedRecord, weights: Floats) -> float:
    """A record's share of the question, by the weight of its words."""
    first, last = record.passages
    inside = (asked.hits.passage >= first) & (asked.hits.passage < last)
    return float(weights[distinct(asked.hits.term[inside])].sum())


def _records(index: PassageIndex, sources: Sequence[Quotable], number: int) -> Iterator[_NamedRecord]:
    """The records that a passage belongs to: it may contain the end of one and the beginning of the next."""
    source, start, end = index.quotes[number]
    text = sources[source].text
    known: dict[int, Stanzas | tuple[Range, ...]] = index.derived("stanzas", dict)
    if source not in known:
        known[source] = _read(sources[source])
    read = known[source]
    if isinstance(read, Stanzas):
        lines = [start, *(m.end() for m in _LINE.finditer(text, start, end))]
        found = [read.around(line, _MOST) for line in lines]
    else:
        found = [_object(read, start, end)]
    for around in dict.fromkeys(found):
        if around is not None:
            inside = list(passages_of(index, number, around))
            yield _NamedRecord(source, *around, (inside[0], inside[-1] + 1))


def _read(source: Quotable) -> Stanzas | tuple[Range, ...]:
    """The lines of a text, or the objects in lists of JSON; nothing for code, since functions are handled elsewhere."""
    if is_json(source.text):
        return tuple(sorted(listed_objects(source.text)))
    is_code = kind_of(source.text) == "code" and bool(printed_code(source).definitions)
    return () if is_code or len(source.text) > _LONGEST else Stanzas(source.text)


def _object(objects: tuple[Range, ...], start: int, end: int) -> Range | None:
    """The largest list item around a passage that is short enough to be read whole."""
    around = (one for one in objects[: bisect_left(objects, (end, 0))] if start < one[1])
    return next((one for one in around if one[1] - one[0] <= 2 * _MOST), None)

"""Whole records of JSON that a question names.

This module finds the passages that belong to such a record, and decides what they are worth. Records are found in
``text.records``; which words of a question name one thing is decided in ``question``, what else passages are worth in
``ranking``.

A record says its number once and the rest below it, line after line, in words that all records have. Of one that is asked for by
its number no part is worth less than what shares the question's other words.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from turnfold.compression.recall.passage_index import Floats, PassageIndex
from turnfold.compression.recall.tuning import Tuning
from turnfold.compression.scorers.bm25 import wanted_terms
from turnfold.compression.text import words
from turnfold.compression.text.escapes import is_json
from turnfold.compression.text.passages import estimate
from turnfold.compression.text.quotes import Quotable
from turnfold.compression.text.records import listed_objects

Range = tuple[int, int]

_MOST: Final = 600  # approximate tokens of a record that is quoted whole
_OWN: Final = 0.01  # share of a passage's own worth, which ranks it within its record


def with_records(
    index: PassageIndex, sources: Sequence[Quotable], worth: Floats, things: Sequence[str], tuning: Tuning
) -> Floats:
    """The worth of passages, with those of each record that contains one of the things raised to the best worth.

    Of a record that is too long for that, only the passages that bear most on the question are raised.
    """
    raised = worth.copy()
    best = float(worth.max(initial=0.0))
    for thing in things:
        for place in _places(index, thing, tuning):
            record = _record(index, sources, place, thing)
            mates = [*passages_of(index, place, record)] if record else []
            if mates and index.costs[mates].sum() <= _MOST:
                raised[mates] = best + _OWN * worth[mates]
            elif mates:
                raised[mates] = np.maximum(raised[mates], best * worth[mates] / max(float(worth[mates].max()), 1e-9))
    return raised


def _places(index: PassageIndex, thing: str, tuning: Tuning) -> list[int]:
    """The passages with a thing; empty if they are so many that the thing says little about them."""
    found = index.words.find(wanted_terms([(words.term(thing),)])).passage.tolist()
    return found if len(found) <= tuning.link_passages else []


def _record(index: PassageIndex, sources: Sequence[Quotable], place: int, thing: str) -> Range | None:
    """The list item around a thing in a passage: the largest that can be quoted whole, else the smallest."""
    source, start, end = index.quotes[place]
    text = sources[source].text
    said = re.compile(re.escape(thing), re.IGNORECASE).search(text, start, end)
    if not said:
        return None
    known: dict[int, tuple[Range, ...]] = index.derived("records", dict)
    if source not in known:
        known[source] = tuple(sorted(listed_objects(text))) if is_json(text) else ()
    before = known[source][: bisect_left(known[source], (said.start() + 1, 0))]
    around = [one for one in before if said.start() < one[1]]
    return next((one for one in around if estimate(text[slice(*one)]) <= _MOST), around[-1] if around else None)


def passages_of(index: PassageIndex, place: int, record: Range) -> Iterator[int]:
    """The numbers of a record's passages, given one of them."""
    source = index.quotes[place].source
    first = place
    while first and index.quotes[first - 1].source == source and index.quotes[first - 1].end > record[0]:
        first -= 1
    for number in range(first, len(index.quotes)):
        if index.quotes[number].source != source or index.quotes[number].start >= record[1]:
            return
        yield number

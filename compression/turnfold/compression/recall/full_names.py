"""Where the full names in the best passages of documents lead: from the film to its actor, from the actor to his wife.

Lives here: which passages name again, word for word, whom or what the best ones name in several words, and what these are worth.
Does not belong here: single names, which are words of a second hop (``ranking``), identifiers (``links``), talk, where people are
called by one name.

"Will Arnett" as a whole stands in few passages, while one is called Will in many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from turnfold.compression.recall.greatest import best_places
from turnfold.compression.recall.passage_index import Floats, PassageIndex
from turnfold.compression.recall.tuning import Tuning
from turnfold.compression.scorers.bm25 import wanted_terms
from turnfold.compression.text import words
from turnfold.compression.text.quotes import Quotable

_CAPITAL: Final = r"[^\W\d_a-z][^\W\d_]{1,30}"
_FULL_NAME: Final = re.compile(rf"\b{_CAPITAL}(?:[ -](?:(?:of|the|de|van|von|la|le|di|and) )?{_CAPITAL}){{1,4}}")
_MOST: Final = 24  # names of a passage
_FEW: Final = 8  # passages that name somebody whose name leads on


def named_in_full(index: PassageIndex, sources: Sequence[Quotable], worth: Floats, known: set[int], tuning: Tuning) -> Floats:
    """What each passage of a document is worth by the full names that it shares with the best ones.

    Args:
        worth: by the question's own words; the fewer passages share a name, the more of it is passed on.
        known: terms of the question, which say nothing new.
    """
    total = np.zeros(len(worth))
    if index.spoken.all():
        return total
    best = best_places(worth, tuning.hop_passages)
    for place in best:
        for name in _names(_text(index, sources, place)):
            others = [other for other in _naming(index, sources, name, known) if other != place]
            if 0 < len(others) <= _FEW:
                total[others] = np.maximum(total[others], worth[place] / np.sqrt(len(others)))
    total[best] = 0.0
    total[index.spoken] = 0.0
    return total


def _names(text: str) -> list[str]:
    found = (words.fold(name) for name in _FULL_NAME.findall(text))
    return list(dict.fromkeys(found))[:_MOST]


def _naming(index: PassageIndex, sources: Sequence[Quotable], name: str, known: set[int]) -> Iterator[int]:
    """The passages that a folded name stands in, if it says anything new."""
    said = [word for word in words.words(name) if not words.is_function_word(word)]
    by_language = [words.stem_table(said, language) for language in index.languages]
    groups = [sorted({terms[word] for terms in by_language}) for word in dict.fromkeys(said)]
    if len(groups) < _SEVERAL or all(not known.isdisjoint(group) for group in groups):
        return
    hits = index.words.find(wanted_terms(groups))
    for place in np.flatnonzero(np.bincount(hits.passage, minlength=len(index.quotes)) == len(groups)).tolist():
        if name in words.fold(_text(index, sources, place)):
            yield place


_SEVERAL: Final = 2  # words


def _text(index: PassageIndex, sources: Sequence[Quotable], place: int) -> str:
    source, start, end = index.quotes[place]
    return sources[source].text[start:end]

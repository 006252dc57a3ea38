"""Links by identifiers in the best passages: from an order to its customer, from the customer to an address.

This module decides which words link passages, and what the linked ones are worth. What passages are worth by a question's own
words is up to ``ranking``, and so are single names of people and places in the best ones, which occur in too many to be followed
like this.

An identifier, or a name in capitals, that few passages share says that they tell of the same thing, whatever else they say.
Years, times, dates, amounts and versions have digits too, but tell of nothing by themselves. In documents full names lead on too,
from the film to its actor: "Will Arnett" as a whole stands in few of them, while one is called Will in many.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from turnfold.compression import lazy
from turnfold.compression.recall.greatest import best_places
from turnfold.compression.recall.passage_index import Floats, PassageIndex
from turnfold.compression.recall.tuning import Tuning
from turnfold.compression.scorers.bm25 import Hits, wanted_terms
from turnfold.compression.text import words
from turnfold.compression.text.quotes import Quotable

_PLAIN_FIGURE: Final = lazy.pattern(r"(?:1\d|20)\d\d|\d+[^\W\d_]{1,4}|\d{1,4}(?:[-./:]\d{1,4}){1,2}")
_HINT: Final = lazy.pattern(r"[\d_@]")  # no identifier is without one
_CAPITALS: Final = lazy.pattern(r"\b[A-Z]{4,}\b")  # a name as programs and puzzles have it
_IDENTIFIER: Final = lazy.pattern(r"(?=.*\d)[\w./:@#-]{4,}|.*[^\W_]_[^\W_].*|.+@.+")


def linked(index: PassageIndex, sources: Sequence[Quotable], worth: Floats, known: set[int], tuning: Tuning) -> Floats:
    """The worth of each passage by identifiers that it shares with the best ones, or with passages that these lead to.

    Args:
        worth: by the question's own words; a passage passes its worth on to those that it leads to.
        known: terms of the question, which lead to nothing new.
    """
    total, seen = np.zeros(len(worth)), set(known)
    best = best_places(worth, tuning.hop_passages)
    for _ in range(tuning.link_steps):
        leads = {place: _leads(_text(index, sources, place)) for place in reversed(best)}
        found = {term: float(worth[place]) for place, terms in leads.items() for term in terms}
        forms = {term: form for terms in leads.values() for term, form in terms.items()}
        leading = [term for term in _rare(index, found, tuning) if term not in seen]
        if not leading:
            break
        seen.update(leading)
        hits = index.words.find(wanted_terms([(term,) for term in leading]))
        hits = hits.where(_in_form(index, sources, hits, [forms[term] for term in leading]))
        led = np.zeros(len(worth))
        np.maximum.at(led, hits.passage, np.array([found[term] for term in leading]).take(hits.term))
        led[best] = 0.0
        led[total > 0] = 0.0
        total += led
        best = [place for place in best_places(led, tuning.hop_passages) if led[place]]
        worth = led
    return total


def names_one_thing(word: str) -> bool:
    """Whether a folded word is an identifier, rather than a figure that may count anything."""
    return not word.isalpha() and _IDENTIFIER.fullmatch(word) is not None and _PLAIN_FIGURE.fullmatch(word) is None


def _leads(text: str) -> dict[int, str]:
    """The terms that lead from a text to others, each with the exact form required there; "" if any form will do."""
    folded = words.fold(text)
    found = [word for word in dict.fromkeys(words.words(folded)) if names_one_thing(word)] if _HINT.search(folded) else []
    parts = {part for word in found for part in words.words(word)[1:]}  # D-0009 and Y-0009 share a part by chance
    names = {words.term(words.fold(name)): name for name in _CAPITALS.findall(text)}
    return names | {words.term(word): "" for word in found if word not in parts}


def _in_form(index: PassageIndex, sources: Sequence[Quotable], hits: Hits, forms: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which of the hits have the required form: a name in capitals may be an ordinary word elsewhere."""
    places = zip(hits.term.tolist(), hits.passage.tolist(), strict=True)
    return np.array([forms[term] in _text(index, sources, place) for term, place in places], np.bool_)


def _text(index: PassageIndex, sources: Sequence[Quotable], place: int) -> str:
    source, start, end = index.quotes[place]
    return sources[source].text[start:end]


def _rare(index: PassageIndex, found: dict[int, float], tuning: Tuning) -> list[int]:
    """The terms that occur in other passages too, but in few."""
    having = index.words.having(np.array(list(found), np.uint32)).tolist() if found else []
    return [term for term, number in zip(found, having, strict=True) if 1 < number <= tuning.link_passages]


# ---------------------------------------------------------------- full names

_CAPITAL: Final = r"[^\W\d_a-z][^\W\d_]{1,30}"
_FULL_NAME: Final = lazy.pattern(rf"\b{_CAPITAL}(?:[ -](?:(?:of|the|de|van|von|la|le|di|and) )?{_CAPITAL}){{1,4}}")
_MOST: Final = 24  # names in a passage
_FEW: Final = 8  # passages with a name, beyond which it leads nowhere


def named_in_full(index: PassageIndex, sources: Sequence[Quotable], worth: Floats, known: set[int], tuning: Tuning) -> Floats:
    """The worth of each passage of a document by the full names that it shares with the best ones.

    Args:
        worth: by the question's own words; the fewer passages share a name, the more worth it passes on.
        known: terms of the question, which lead to nothing new.
    """
    total = np.zeros(len(worth))
    if index.spoken.all():
        return total
    best = best_places(worth, tuning.hop_passages)
    for place in best:
        for groups, others in index.derived(("full names", place), partial(_led_to, index, sources, place)):
            if any(known.isdisjoint(group) for group in groups):
                total[others] = np.maximum(total[others], worth[place] / np.sqrt(len(others)))
    total[best] = 0.0
    total[index.spoken] = 0.0
    return total


class _LedTo(NamedTuple):
    """The terms of each word of a full name, and the other passages with that name."""

    groups: tuple[tuple[int, ...], ...]
    others: list[int]


def _led_to(index: PassageIndex, sources: Sequence[Quotable], place: int) -> tuple[_LedTo, ...]:
    """The full names in a passage that occur in few other passages."""
    names = dict.fromkeys(words.fold(name) for name in _FULL_NAME.findall(_text(index, sources, place)))
    found = (_naming(index, sources, name, place) for name in islice(names, _MOST))
    return tuple([one for one in found if 0 < len(one.others) <= _FEW])


def _naming(index: PassageIndex, sources: Sequence[Quotable], name: str, place: int) -> _LedTo:
    """The other passages that contain a folded name."""
    said = [word for word in words.words(name) if not words.is_function_word(word)]
    by_language = [words.stem_table(said, language) for language in index.languages]
    groups = tuple([tuple(sorted({terms[word] for terms in by_language})) for word in dict.fromkeys(said)])
    if len(groups) < _SEVERAL:
        return _LedTo(groups, [])
    hits = index.words.find(wanted_terms(groups))
    having = np.flatnonzero(np.bincount(hits.passage, minlength=len(index.quotes)) == len(groups)).tolist()
    return _LedTo(groups, [one for one in having if one != place and name in words.fold(_text(index, sources, one))])


_SEVERAL: Final = 2  # words

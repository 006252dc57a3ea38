"""The offered thing, or the labelled exchange, that a question refers to: "the third hike", "as in problem 2".

This module decides which text contains it, and what is quoted of it. Such a question is recognised in
``text.dialogue.wanted.offers``; parts of any text are found in ``placed_parts``.

A place shares no words with what stands there. The noun does, with the request that the list answers: "suggest some hikes".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Final

from turnfold.compression.memo import of_each
from turnfold.compression.recall.cover import first_sentences
from turnfold.compression.recall.fence import FRAME, quote_tokens
from turnfold.compression.recall.question import content_words
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.request import WholeRequest
from turnfold.compression.text import words
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.offers import (
    ALTERNATIVE,
    OFFERS,
    Label,
    label_of,
    listed,
    named_labels,
    named_offer,
    offered,
)
from turnfold.compression.text.dialogue.wanted.picks import PLACES
from turnfold.compression.text.quotes import Quotable, Quote

_WHOLE: Final = 600  # characters of a text that is quoted whole
_PREFIX: Final = 4  # letters by which "hikes" match "hike"
_REQUEST: Final = 400  # characters of a message that asks for suggestions
_MOST: Final = 300  # most tokens for a message that is quoted for its label
_IN_REQUEST: Final = 2  # weight of a word in the request, relative to one in an offered item
_SERIES: Final = 2  # exchanges whose labels share a noun


def find_offer(asked: WholeRequest) -> FoundWork:
    """The offered item at the place that a question names; empty if it names none.

    If the question only says that it was offered ("the third suggestion"), the newest offer is meant.
    """
    sources, behind, folded, room, count, memo = asked
    named = named_offer(folded)
    if named is None or room <= 0:
        return FoundWork()
    told = {word[:_PREFIX] for word in content_words(folded) if word not in OFFERS and word not in PLACES}
    offers = of_each(memo, "offered", sources, _offered)
    said = of_each(memo, "beginnings", sources, _beginnings)
    fewest = max(2, abs(named.place))
    pairs = [n for n, found in enumerate(offers) if found and n and len(found) >= fewest and _answers(sources, n)]
    shared = {n: told & said[n - 1] for n in pairs}
    often = Counter(chain.from_iterable(shared.values()))
    best, most = None, 0.0
    for n in pairs:
        if named.noun and named.noun[:_PREFIX] not in shared[n]:
            continue
        fits = sum(_IN_REQUEST / often[word] for word in shared[n])
        if fits or named.place == ALTERNATIVE:
            fits += len(told & said[n]) / len(pairs)
        if fits and fits >= most:
            best, most = n, fits
    if best is None and not named.noun and not any(_lists(one, fewest) for one in behind):
        best = max((n for n in pairs if _lists(sources[n], fewest)), default=None)
    return FoundWork() if best is None else _quoted(sources, best, offers[best], named.place, room, count)


def _answers(sources: Sequence[Quotable], n: int) -> bool:
    """Whether a message answers one that may ask for suggestions."""
    request = sources[n - 1]
    return (request.role, sources[n].role) == ("user", "assistant") and len(request.text) <= _REQUEST


def _lists(answer: Quotable, fewest: int) -> bool:
    return answer.role == "assistant" and len(listed(answer.text)) >= fewest


def _offered(answer: Quotable) -> Sequence[Range]:
    return offered(answer.text) if answer.role == "assistant" else ()


def _quoted(
    sources: Sequence[Quotable], at: int, ranges: Sequence[Range], place: int, room: int, count: Callable[[str], int]
) -> FoundWork:
    """All of a short text with suggestions, else the one at the place; of two alternatives, both."""
    text = sources[at].text
    chosen = ranges if place == ALTERNATIVE else [ranges[place - 1 if place > 0 else place]]
    if len(text) <= _WHOLE:
        chosen = [(0, len(text))]
    quotes = tuple(Quote(at, start, end) for start, end in chosen)
    tokens = sum(count(text[start:end]) + FRAME for _, start, end in quotes)
    return FoundWork(quotes, (), tokens) if tokens <= room else FoundWork()


def _beginnings(message: Quotable) -> frozenset[str]:
    """The first letters of each word of a message."""
    return frozenset(word[:_PREFIX] for word in words.words(words.fold(message.text)))


def find_labelled(asked: WholeRequest) -> FoundWork:
    """The exchanges with the labels that a question names, from a series of labelled ones; each message and its answer."""
    sources, _, folded, room, count, memo = asked
    named = named_labels(folded)
    if not named or room <= 0:
        return FoundWork()
    labels = of_each(memo, "labels", sources, lambda one: label_of(words.fold(one.text[:_REQUEST])))
    series: dict[str, dict[int, int]] = {}
    for n, label in enumerate(labels):
        if label is not None:
            series.setdefault(label.noun, {})[label.number] = n
    long = {noun: places for noun, places in series.items() if len(places) >= _SERIES}
    found = {at for label in named if (at := _labelled(label, long)) is not None}
    quotes = [quote for at in sorted(found) for quote in _exchange(sources, at)]
    tokens = quote_tokens(quotes, sources, count)
    return FoundWork(tuple(quotes), (), tokens) if tokens <= room else FoundWork()


def _labelled(named: Label, series: dict[str, dict[int, int]]) -> int | None:
    """The start of the exchange with a label; "number 4" means the one in the most recent series."""
    nouns = [noun for noun in series if noun[:_PREFIX] == named.noun[:_PREFIX] or not named.noun]
    return max((series[noun][named.number] for noun in nouns if named.number in series[noun]), default=None)


def _exchange(sources: Sequence[Quotable], at: int) -> list[Quote]:
    """A message and, if it is a user's, the answer; of long messages, the beginning."""
    both = [at]
    if sources[at].role == "user" and at + 1 < len(sources) and sources[at + 1].role == "assistant":
        both.append(at + 1)
    return [first_sentences(sources, Quote(n, 0, len(sources[n].text)), _MOST) for n in both]

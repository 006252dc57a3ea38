"""What users say later of a thing that they told of before: "we rehearse at the church hall", and then "the hall has mould, so we
use Otis's garage".

This module finds these later messages. Messages that say themselves that they update others are in ``recall.later``; those that
match a question as well as what is quoted, in ``recall.abreast``.

People seldom say that something has changed, and the later message often shares no word with the question. But it names the thing
again, by a word that is near the question's words in the older message and hardly occurs anywhere else. It may also ask something
else: "the hall has mould, so it's Otis's garage. How long do I boil eggs?".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from turnfold.compression.memo import Memo, digest, of_each
from turnfold.compression.recall.greatest import best_places
from turnfold.compression.recall.leaves import message_terms
from turnfold.compression.recall.passage_index import PassageIndex
from turnfold.compression.recall.ranked_quotes import RankedQuotes
from turnfold.compression.recall.ranking import Terms
from turnfold.compression.scorers.bm25 import rarity, wanted_terms
from turnfold.compression.text import words
from turnfold.compression.text.dialogue import requests
from turnfold.compression.text.passages import WHOLE, estimate
from turnfold.compression.text.quotes import Quotable, Quote, Source
from turnfold.compression.text.sentences import rough_sentences
from turnfold.compression.text.spans import QUESTION_MARKS

_BEST: Final = 2  # passages whose subjects are looked up
_LOOKED_AT: Final = 16
_MOST: Final = 2  # messages for each
_FEW: Final = 4  # passages with a word, beyond which it is no name
_SOON: Final = 3  # messages of the user within which somebody may refer to a thing without naming it
_BRIEF: Final = 40  # words of such a message
_PRONOUNS: Final = requests.POINTERS - requests.ARTICLES
_NEAR: Final = 12  # words between a name and the words of the question
#: Whether the place is after the folded messages, and the number of a passage, or of a message there.
_Place = tuple[bool, int]


class ToldBehind(NamedTuple):
    """A user's statement in a message after the folded ones: the message's number and its terms."""

    number: int
    terms: frozenset[int]


class Later(NamedTuple):
    """A later message about a thing.

    Attributes:
        older: the quote about the thing.
        is_behind: whether the newer one comes after the folded messages.
        number: of the newer passage, or of its message if `is_behind`.
    """

    older: Quote
    is_behind: bool
    number: int


def told_behind(behind: Sequence[Quotable], memo: Memo) -> list[ToldBehind]:
    """Users' statements after the folded messages, in messages of one passage."""

    def terms_of(one: Quotable) -> frozenset[int] | None:
        return _statement_terms(one, memo) if one.role == "user" and estimate(one.text) <= WHOLE else None

    found = of_each(memo, "told behind", behind, terms_of)
    return [ToldBehind(n, terms) for n, terms in enumerate(found) if terms]


def _statement_terms(message: Quotable, memo: Memo) -> frozenset[int]:
    """The terms of what a message states, without what it asks."""
    told = _statement_part(message.text)
    if told == message.text:
        return message_terms(message, memo)
    return message_terms(Source(message.role, told, digest(message.role, told)), memo) if told else frozenset()


def _statement_part(text: str) -> str:
    """The text without the question at its end."""
    if not text.rstrip().endswith(QUESTION_MARKS):
        return text
    said = (text[start:end].strip() for start, end in rough_sentences(text))
    return " ".join(one for one in said if not one.endswith(QUESTION_MARKS))


def named_again(
    asked: Sequence[Terms],
    index: PassageIndex,
    sources: Sequence[Quotable],
    behind: Sequence[ToldBehind],
    ranking: RankedQuotes,
    memo: Memo,
) -> Iterator[Later]:
    """Messages of users, folded or `behind`, that name the subjects of their best passages again."""
    best = [(number, index.said.of(number).tolist()) for number in _best(index, sources, ranking, memo)]
    for terms in asked:
        known = {term for group in terms.groups for term in group}
        for number, said in best:
            things = _things(said, known, index, behind)
            for place in _newest(things, index, sources, memo, since=index.quotes[number].source + 1):
                yield Later(index.quotes[number], *place)


def going_on(index: PassageIndex, sources: Sequence[Quotable], ranking: RankedQuotes, memo: Memo) -> Iterator[Later]:
    """Messages in which users continue about the subject of their best passage without naming it."""
    for number in _best(index, sources, ranking, memo)[:1]:
        for passage in _unnamed(index.quotes[number].source, index, sources):
            yield Later(index.quotes[number], False, passage)


def _unnamed(since: int, index: PassageIndex, sources: Sequence[Quotable]) -> Iterator[int]:
    """The passages of users' next messages that refer to somebody or something without a name.

    Example: "they gave me ten percent, so I went for it".
    """
    users = (n for n in range(since + 1, len(sources)) if sources[n].role == "user")
    for n in islice(users, _SOON):
        first, end = index.source_of.searchsorted([n, n + 1]).tolist()
        if end - first == 1 and index.whole[first] and _points(_statement_part(sources[n].text)):
            yield first


def _points(told: str) -> bool:
    said = words.words(words.fold(told))
    return len(said) <= _BRIEF and not _PRONOUNS.isdisjoint(said)


class _Thing(NamedTuple):
    """A term that only a few passages have: the number of folded ones, and the numbers of the messages after them."""

    term: int
    folded: int
    behind: tuple[int, ...]


def _things(said: Sequence[int], known: AbstractSet[int], index: PassageIndex, behind: Sequence[ToldBehind]) -> list[_Thing]:
    """Rare terms near known terms in a passage that occur somewhere else too."""
    places = [place for place, term in enumerate(said) if term in known]
    near = sorted({term for place in places for term in said[max(0, place - _NEAR) : place + _NEAR + 1]})
    if not near:
        return []
    having = zip(near, index.words.having(np.array(near, np.uint32)).tolist(), strict=True)
    few = [(term, count) for term, count in having if count <= _FEW]
    found = [_Thing(term, count, tuple([one.number for one in behind if term in one.terms])) for term, count in few]
    return [one for one in found if 1 < one.folded + len(one.behind) <= _FEW]


def _newest(
    things: Sequence[_Thing], index: PassageIndex, sources: Sequence[Quotable], memo: Memo, *, since: int
) -> list[_Place]:
    """The newest place for each thing; of these, the ones that name the most."""
    if not things:
        return []
    weights = rarity(np.array([one.folded + len(one.behind) for one in things]), len(index.quotes)).tolist()
    newest: dict[int, _Place] = {}
    named: dict[_Place, float] = {}
    folded = _naming(things, index, sources, memo, since=since)
    later = ((number, (True, place)) for number, thing in enumerate(things) for place in thing.behind)
    for number, place in (*folded, *later):
        named[place] = named.get(place, 0.0) + weights[number]
        newest[number] = max(newest.get(number, place), place)
    return sorted(set(newest.values()), key=lambda place: (named[place], place))[-_MOST:]


def _best(index: PassageIndex, sources: Sequence[Quotable], ranking: RankedQuotes, memo: Memo) -> list[int]:
    """The best passages in which users state something."""
    numbers = ranking.numbers[ranking.numbers < len(index.quotes)]
    worth = np.where(index.whole.take(numbers), ranking.worth.take(numbers), 0.0)
    best = [int(numbers[place]) for place in best_places(worth, _LOOKED_AT) if worth[place] > 0]
    messages = ((number, sources[index.quotes[number].source]) for number in best)
    telling = (number for number, one in messages if one.role == "user" and _statement_terms(one, memo))
    return [*islice(telling, _BEST)]


def _naming(
    things: Sequence[_Thing], index: PassageIndex, sources: Sequence[Quotable], memo: Memo, *, since: int
) -> Iterator[tuple[int, _Place]]:
    """The number of each thing, with the passages of users' messages from `since` on that mention it."""
    numbers = [number for number, thing in enumerate(things) if thing.folded > 1]
    hits = index.words.find(wanted_terms([(things[number].term,) for number in numbers]))
    for number, passage in zip(hits.term.tolist(), hits.passage.tolist(), strict=True):
        source = int(index.source_of[passage])
        if source < since or sources[source].role != "user" or not index.whole[passage]:
            continue
        if not index.asking[passage] or things[numbers[number]].term in _statement_terms(sources[source], memo):
            yield numbers[number], (False, passage)

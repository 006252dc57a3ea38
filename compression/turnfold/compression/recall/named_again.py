"""What users say later of a thing that they told of before: "we rehearse at the church hall", and then "the hall has mould, so we
use Otis's garage".

Lives here: which later messages these are. Does not belong here: messages that say that they renew others (``recall.later``), and
those that bear on a question as much as what is quoted (``recall.abreast``).

People seldom say that something has changed, and the later message often shares no word with the question. But it names the thing
again, by a word that stands near the question's words in the older message, and hardly anywhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

import numpy as np

from turnfold.compression.memo import Memo, of_each
from turnfold.compression.recall.greatest import best_places
from turnfold.compression.recall.leaves import message_terms
from turnfold.compression.recall.passage_index import PassageIndex
from turnfold.compression.recall.ranked_quotes import RankedQuotes
from turnfold.compression.recall.ranking import Terms
from turnfold.compression.scorers.bm25 import rarity, wanted_terms
from turnfold.compression.text.passages import WHOLE, estimate
from turnfold.compression.text.quotes import Quotable, Quote
from turnfold.compression.text.spans import QUESTION_MARKS

_BEST: Final = 2  # passages whose things are looked for
_LOOKED_AT: Final = 16
_MOST: Final = 2  # messages for each
_FEW: Final = 4  # passages that have a word which names a thing
_NEAR: Final = 12  # words between it and those of the question
#: Whether it is behind what is folded, and the number of a passage, or of a message there.
_Place = tuple[bool, int]


class ToldBehind(NamedTuple):
    """What a user tells in a message behind what is folded: the message's number, and its terms."""

    number: int
    terms: frozenset[int]


class Later(NamedTuple):
    """What names a thing again.

    Attributes:
        older: the quote that tells of the thing.
        is_behind: whether the newer one stands behind what is folded.
        number: of its passage, or of its message there.
    """

    older: Quote
    is_behind: bool
    number: int


def told_behind(behind: Sequence[Quotable], memo: Memo) -> list[ToldBehind]:
    """What users tell behind what is folded, in messages of one passage."""

    def terms_of(one: Quotable) -> frozenset[int] | None:
        return message_terms(one, memo) if one.role == "user" and _tells(one.text) else None

    found = of_each(memo, "told behind", behind, terms_of)
    return [ToldBehind(n, terms) for n, terms in enumerate(found) if terms is not None]


def _tells(text: str) -> bool:
    return estimate(text) <= WHOLE and not text.rstrip().endswith(QUESTION_MARKS)


def named_again(
    asked: Sequence[Terms], index: PassageIndex, sources: Sequence[Quotable], behind: Sequence[ToldBehind], ranking: RankedQuotes
) -> Iterator[Later]:
    """Messages of users that name again what the best passages of theirs tell of, folded ones or those `behind` them."""
    best = [(number, index.said.of(number).tolist()) for number in _best(index, sources, ranking)]
    for terms in asked:
        known = {term for group in terms.groups for term in group}
        for number, said in best:
            things = _things(said, known, index, behind)
            for place in _newest(things, index, sources, since=index.quotes[number].source + 1):
                yield Later(index.quotes[number], *place)


class _Thing(NamedTuple):
    """What a term names that only a few passages have: how many folded ones do, and the numbers of the others."""

    term: int
    folded: int
    behind: tuple[int, ...]


def _things(said: Sequence[int], known: AbstractSet[int], index: PassageIndex, behind: Sequence[ToldBehind]) -> list[_Thing]:
    """What is named near known terms in a passage, and somewhere else too."""
    places = [place for place, term in enumerate(said) if term in known]
    near = sorted({term for place in places for term in said[max(0, place - _NEAR) : place + _NEAR + 1]})
    if not near:
        return []
    having = zip(near, index.words.having(np.array(near, np.uint32)).tolist(), strict=True)
    few = [(term, count) for term, count in having if count <= _FEW]
    found = [_Thing(term, count, tuple([one.number for one in behind if term in one.terms])) for term, count in few]
    return [one for one in found if 1 < one.folded + len(one.behind) <= _FEW]


def _newest(things: Sequence[_Thing], index: PassageIndex, sources: Sequence[Quotable], *, since: int) -> list[_Place]:
    """Of the newest places that name each thing those that name most."""
    if not things:
        return []
    weights = rarity(np.array([one.folded + len(one.behind) for one in things]), len(index.quotes)).tolist()
    newest: dict[int, _Place] = {}
    named: dict[_Place, float] = {}
    folded = _naming(things, index, sources, since=since)
    later = ((number, (True, place)) for number, thing in enumerate(things) for place in thing.behind)
    for number, place in (*folded, *later):
        named[place] = named.get(place, 0.0) + weights[number]
        newest[number] = max(newest.get(number, place), place)
    return sorted(set(newest.values()), key=lambda place: (named[place], place))[-_MOST:]


def _best(index: PassageIndex, sources: Sequence[Quotable], ranking: RankedQuotes) -> list[int]:
    """The best passages in which users tell something."""
    numbers = ranking.numbers[ranking.numbers < len(index.quotes)]
    worth = np.where((index.whole & ~index.asking).take(numbers), ranking.worth.take(numbers), 0.0)
    best = [int(numbers[place]) for place in best_places(worth, _LOOKED_AT) if worth[place] > 0]
    return [number for number in best if sources[index.quotes[number].source].role == "user"][:_BEST]


def _naming(
    things: Sequence[_Thing], index: PassageIndex, sources: Sequence[Quotable], *, since: int
) -> Iterator[tuple[int, _Place]]:
    """Each of some things, by number, with the passages in which users tell of it from message `since` on."""
    numbers = [number for number, thing in enumerate(things) if thing.folded > 1]
    hits = index.words.find(wanted_terms([(things[number].term,) for number in numbers]))
    for number, passage in zip(hits.term.tolist(), hits.passage.tolist(), strict=True):
        source = int(index.source_of[passage])
        if source >= since and sources[source].role == "user" and index.whole[passage] and not index.asking[passage]:
            yield numbers[number], (False, passage)

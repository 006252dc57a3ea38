"""What users say later of a thing that they told of before: "we rehearse at the church hall", and then "the hall has mould, so we
use Otis's garage".

Lives here: which later messages these are. Does not belong here: messages that say that they renew others (``recall.later``), and
those that bear on a question as much as what is quoted (``recall.abreast``).

People seldom say that something has changed, and the later message often shares no word with the question. But it names the thing
again, by a word that stands near the question's words in the older message, and hardly anywhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from turnfold.compression.recall.greatest import best_places
from turnfold.compression.recall.passage_index import Floats, PassageIndex
from turnfold.compression.recall.ranked_quotes import RankedQuotes
from turnfold.compression.recall.ranking import Terms
from turnfold.compression.scorers.bm25 import Hashes, rarity, wanted_terms
from turnfold.compression.text.quotes import Quotable, Quote

_BEST: Final = 2  # passages whose things are looked for
_MOST: Final = 2  # messages for each
_FEW: Final = 4  # passages that have a word which names a thing
_NEAR: Final = 12  # words between it and those of the question


@dataclass(frozen=True, slots=True)
class IndexedMessages:
    """The messages that are folded, or those behind them, with their passages."""

    messages: Sequence[Quotable]
    index: PassageIndex


class Later(NamedTuple):
    """What names a thing again.

    Attributes:
        older: the quote that tells of the thing.
        part: number of the part in which the newer one stands.
        number: of its passage there.
    """

    older: Quote
    part: int
    number: int


def named_again(asked: Terms, parts: Sequence[IndexedMessages], ranking: RankedQuotes) -> Iterator[Later]:
    """Messages of users that name again what the best passages of theirs tell of.

    Args:
        asked: the question.
        parts: what is folded, and what stands behind it, if anything does.
        ranking: what bears on the question in the former.
    """
    index = parts[0].index
    known = np.array(sorted({term for group in asked.groups for term in group}), np.uint32)
    for best in _best(parts[0], ranking):
        said = index.said.of(best)
        things = _near(said, np.flatnonzero(np.isin(said, known)).tolist())
        having = sum((part.index.words.having(things) for part in parts[1:]), index.words.having(things))
        few = (having > 1) & (having <= _FEW)
        weights = rarity(having[few], len(index.quotes))
        for part, number in _newest(things[few], weights, parts, index.quotes[best].source + 1):
            yield Later(index.quotes[best], part, number)


def _best(folded: IndexedMessages, ranking: RankedQuotes) -> list[int]:
    """The best passages in which users tell something."""
    index = folded.index
    numbers = ranking.numbers[ranking.numbers < len(index.quotes)]
    users = np.array([one.role == "user" for one in folded.messages]).take(index.source_of.take(numbers))
    worth = np.where(users & (index.whole & ~index.asking).take(numbers), ranking.worth.take(numbers), 0.0)
    return [int(numbers[place]) for place in best_places(worth, _BEST) if worth[place] > 0]


def _near(said: Hashes, places: Iterable[int]) -> Hashes:
    """The terms near some places of a passage, each once."""
    is_near = np.zeros(len(said), np.bool_)
    for place in places:
        is_near[max(0, place - _NEAR) : place + _NEAR + 1] = True
    return np.unique(said[is_near])


def _newest(things: Hashes, weights: Floats, parts: Sequence[IndexedMessages], since: int) -> list[tuple[int, int]]:
    """Of each thing the newest passage of a user's that names it, from message `since` on; of these the ones that name most."""
    wanted = wanted_terms([(term,) for term in things.tolist()])
    newest: dict[int, tuple[int, int]] = {}
    named: dict[tuple[int, int], float] = {}
    for number, part in enumerate(parts):
        messages, index = part.messages, part.index
        hits = index.words.find(wanted)
        for thing, passage in zip(hits.term.tolist(), hits.passage.tolist(), strict=True):
            source = int(index.source_of[passage])
            told = messages[source].role == "user" and index.whole[passage] and not index.asking[passage]
            if told and (number or source >= since):
                place = number, passage
                named[place] = named.get(place, 0.0) + float(weights[thing])
                newest[thing] = max(newest.get(thing, place), place)
    return sorted(set(newest.values()), key=lambda place: (named[place], place))[-_MOST:]

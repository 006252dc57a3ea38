"""What users say later of a thing that they told of before: "we rehearse at the church hall", and then "the hall has mould, so we
use Otis's garage".

Lives here: which later messages these are. Does not belong here: messages that say that they renew others (``recall.later``), and
those that bear on a question as much as what is quoted (``recall.abreast``).

People seldom say that something has changed, and the later message often shares no word with the question. But it names the thing
again, by a word that stands near the question's words in the older message, and hardly anywhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from turnfold.compression.memo import Memo
from turnfold.compression.recall.greatest import best_places
from turnfold.compression.recall.leaves import leaves_of
from turnfold.compression.recall.passage_index import Ints, PassageIndex
from turnfold.compression.recall.ranked_quotes import RankedQuotes
from turnfold.compression.recall.ranking import Terms
from turnfold.compression.scorers.bm25 import Hashes, rarity, wanted_terms
from turnfold.compression.text.quotes import Quotable, Quote

_BEST: Final = 2  # passages whose things are looked for
_LOOKED_AT: Final = 16
_MOST: Final = 2  # messages for each
_FEW: Final = 4  # passages that have a word which names a thing
_NEAR: Final = 12  # words between it and those of the question


class ToldBehind(NamedTuple):
    """What users tell in messages behind what is folded: terms, each with the number of its message."""

    terms: Hashes
    numbers: Ints


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


def told_behind(behind: Sequence[Quotable], memo: Memo) -> ToldBehind:
    """What users tell behind what is folded."""
    users = [number for number, one in enumerate(behind) if one.role == "user"]
    if not users:
        return ToldBehind(np.zeros(0, np.uint32), np.zeros(0, np.int64))
    leaves = leaves_of([behind[number] for number in users], memo)
    tells = (leaves.counts == 1).repeat(leaves.counts) & ~leaves.asking
    numbers = np.array(users, np.int64).repeat(leaves.counts)
    is_told = tells.repeat(leaves.words.lengths)
    return ToldBehind(leaves.words.terms[is_told], numbers.repeat(leaves.words.lengths)[is_told])


def named_again(
    asked: Terms, index: PassageIndex, sources: Sequence[Quotable], behind: ToldBehind, ranking: RankedQuotes
) -> Iterator[Later]:
    """Messages of users that name again what the best passages of theirs tell of, folded ones or those `behind` them."""
    known = np.array(sorted({term for group in asked.groups for term in group}), np.uint32)
    for best in _best(index, sources, ranking):
        said = index.said.of(best)
        things = _near(said, np.flatnonzero(np.isin(said, known)).tolist())
        pairs = _told_of(things, behind)
        having = index.words.having(things) + np.bincount(pairs[:, 0], minlength=len(things))
        few = (having > 1) & (having <= _FEW)
        weights = np.where(few, rarity(having, len(index.quotes)), 0.0)
        newest: dict[int, tuple[bool, int]] = {}
        named: dict[tuple[bool, int], float] = {}
        folded = _naming(things, few, index, sources, since=index.quotes[best].source + 1)
        later = ((thing, (True, number)) for thing, number in pairs[few[pairs[:, 0]]].tolist())
        for thing, place in (*folded, *later):
            named[place] = named.get(place, 0.0) + float(weights[thing])
            newest[thing] = max(newest.get(thing, place), place)
        for is_behind, number in sorted(set(newest.values()), key=lambda place: (named[place], place))[-_MOST:]:
            yield Later(index.quotes[best], is_behind, number)


def _best(index: PassageIndex, sources: Sequence[Quotable], ranking: RankedQuotes) -> list[int]:
    """The best passages in which users tell something."""
    numbers = ranking.numbers[ranking.numbers < len(index.quotes)]
    worth = np.where((index.whole & ~index.asking).take(numbers), ranking.worth.take(numbers), 0.0)
    best = [int(numbers[place]) for place in best_places(worth, _LOOKED_AT) if worth[place] > 0]
    return [number for number in best if sources[index.quotes[number].source].role == "user"][:_BEST]


def _near(said: Hashes, places: Iterable[int]) -> Hashes:
    """The terms near some places of a passage, each once."""
    is_near = np.zeros(len(said), np.bool_)
    for place in places:
        is_near[max(0, place - _NEAR) : place + _NEAR + 1] = True
    return np.unique(said[is_near])


def _naming(
    things: Hashes, few: npt.NDArray[np.bool_], index: PassageIndex, sources: Sequence[Quotable], *, since: int
) -> Iterator[tuple[int, tuple[bool, int]]]:
    """Each of a few things, by number, with the passages in which users tell of it from message `since` on."""
    numbers = np.flatnonzero(few).tolist()
    hits = index.words.find(wanted_terms([(int(things[number]),) for number in numbers]))
    for thing, passage in zip(hits.term.tolist(), hits.passage.tolist(), strict=True):
        source = int(index.source_of[passage])
        if source >= since and sources[source].role == "user" and index.whole[passage] and not index.asking[passage]:
            yield numbers[thing], (False, passage)


def _told_of(things: Hashes, behind: ToldBehind) -> Ints:
    """The things that messages behind what is folded name, by number, each with the number of such a message."""
    places = np.flatnonzero(np.isin(behind.terms, things))
    pairs = np.stack([things.searchsorted(behind.terms[places]), behind.numbers[places]], axis=1)
    return np.unique(pairs, axis=0)

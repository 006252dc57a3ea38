"""The subject of a tool loop: passages with the names that its steps come back to.

This module finds these passages for an agent of whose loop a part was folded. What bears on the task's own words is ranked in
``ranking``; ``quote_choice`` counts how many passages fit.

The next call takes its paths and identifiers from steps that share few words with the task: functions that were read twice, a
script that was written and run. A name that occurs in several steps will be used again, the more recent the likelier; one that
the request contains needs no quote.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from math import log1p
from typing import Final

import numpy as np

from turnfold.compression.memo import Memo
from turnfold.compression.recall.fence import FRAME
from turnfold.compression.recall.passage_index import PassageIndex
from turnfold.compression.recall.ranked_quotes import RankedQuotes
from turnfold.compression.shorten.coverage import CoverageColumns, cover_columns
from turnfold.compression.shorten.lines import is_identifier, names
from turnfold.compression.text.quotes import Quotable

_HALF: Final = 96  # messages over which the weight of a name halves
_SHARE: Final = 0.5  # share of the room, multiplied by the loop's share of the folded text
_NAME: Final = 80  # bytes that a name takes in a set


def with_worked_on(
    ranking: RankedQuotes, index: PassageIndex, held: Set[str], first: int, room: float, memo: Memo
) -> RankedQuotes:
    """A ranking with such passages in front, the most informative first.

    Args:
        held: names that the request contains anyway.
        first: number of the source with which the loop begins.
    """
    weights = {name: weight for name, weight in _weights(index.sources[first:], memo).items() if name not in held}
    begin = int(np.searchsorted(index.source_of, first))
    facts = {n: found for n in range(begin, len(index.quotes)) if (found := _names_in(index, n, weights.keys()))}
    part = index.costs[begin:].sum() / max(index.costs.sum(), 1e-9)
    passages = len(index.quotes)
    columns = CoverageColumns((np.ceil(index.costs).astype(int) + FRAME).tolist(), [0.0] * passages, [1.0] * passages, facts)
    chosen = cover_columns(columns, weights, int(_SHARE * part * room), {}, list(facts))
    worth = ranking.worth.copy()
    worth[chosen] = worth.max(initial=0.0) + np.arange(len(chosen), 0, -1)
    return ranking._replace(numbers=np.union1d(ranking.numbers, np.array(chosen, np.int64)), worth=worth)


def identifiers(texts: Iterable[str]) -> frozenset[str]:
    """Names in texts that a later call may have to repeat, excluding ordinary words."""
    return frozenset(name for text in texts for line in text.split("\n") for name in names(line) if is_identifier(name))


def _weights(loop: Sequence[Quotable], memo: Memo) -> dict[str, float]:
    """The weights of names: more for names in many messages, and in recent ones."""
    found: dict[str, float] = {}
    for age, source in enumerate(reversed(loop)):
        for name in _names(source, memo):
            found[name] = found.get(name, 0.0) + 0.5 ** (age / _HALF)
    return {name: log1p(weight) for name, weight in found.items()}


def _names(source: Quotable, memo: Memo) -> frozenset[str]:
    return memo.get(("identifiers", source.key), lambda: identifiers([source.text]), lambda found: 100 + _NAME * len(found))


def _names_in(index: PassageIndex, number: int, wanted: Set[str]) -> tuple[str, ...]:
    """The wanted names that a passage contains."""
    known: dict[int, frozenset[str]] = index.derived("identifiers", dict)
    if number not in known:
        source, start, end = index.quotes[number]
        known[number] = identifiers([index.sources[source].text[start:end]])
    return tuple(sorted(known[number] & wanted))

"""Choosing the sentences of a message, or of a run of messages, that are worth keeping.

This module chooses a share of the sentences and rewords none. What is noted of each is read in ``reading``; other kinds of
content are shortened in ``registry``.

A run's sentences are chosen for the run as a whole: names and figures count once, so a second sentence with the same content adds
little (``coverage``). The choice depends only on the run, not on what comes before or after.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence, Set
from functools import lru_cache
from itertools import accumulate, chain
from math import log
from typing import Final

import numpy as np

from turnfold.compression.shorten.coverage import CoverageColumns, cover_columns
from turnfold.compression.shorten.prose import join
from turnfold.compression.shorten.reading import Columns, Floats, Ints, Read, Reader, columns_of, read

# Messages that one beginning with "No" or "Wait" may refer to: another speaker's, and the one that it answered.
_OBJECTED: Final = 2
_LEAST_GAP: Final = 80  # characters: shorter prose next to a block stays
_BY_CENTRE, _BY_FACT = 0.3, 0.4
_SPARSE: Final = 8  # numbers of words for each word, above which words are renumbered
_SPLIT: Final = 2.0**26  # weights are split into two parts here, each of which can be added without rounding


def sift(reads: Sequence[Read], share: float, *, at_least_one: bool = False, keep_figures: bool = False) -> list[str]:
    """The kept part of each text, in whole sentences: about `share` of all characters, not counting blocks.

    Blocks, standing orders and possible secrets are kept at any cost.

    Args:
        share: 0 to 1.
        at_least_one: keep one sentence even if the share has no room for it.
        keep_figures: for every figure, identifier, version, path and URL of a text, keep a sentence with it, whatever the size. A
            sentence that several texts of `reads` contain is kept only once.
    """
    if not reads:  # a run of only repetitions
        return []
    again = _repeats(reads)
    first = list(accumulate([len(one.spans) for one in reads], initial=0))
    pieces = _pieces(reads, _centres(reads, again), first)
    costs = pieces.costs
    kept: list[set[int]] = [_fixed_sentences(one) for one in reads]
    size = sum(costs) - sum([costs[n + j] for n, one in zip(first, reads, strict=False) for j in one.blocks])
    left = int(share * size) - sum(
        [costs[n + j] for n, some, one in zip(first, kept, reads, strict=False) for j in some - one.blocks]
    )
    closed = {n + j for n, some, repeated in zip(first, kept, again, strict=False) for j in some | repeated}
    free = [n for n in range(first[-1]) if n not in closed] if closed else range(first[-1])
    chosen = cover_columns(pieces, _fact_weights(reads), left, _needs(reads, first), free, closed)
    if at_least_one and not chosen and not any(kept) and free:
        chosen = [max(free, key=lambda n: (pieces.bases[n] + _BY_FACT * len(pieces.facts.get(n, ())), -n))]
    for n in chosen:
        i = bisect_right(first, n) - 1
        reads[i].parts.add_with_needs(n - first[i], kept[i])
    if keep_figures:
        for one, some, repeated in zip(reads, kept, again, strict=True):
            for j in _figure_sentences(one, some, repeated):
                one.parts.add_with_needs(j, some)
    _keep_objections(reads, kept)  # last, since it depends on what is kept of earlier messages
    return [join(one.text, one.spans, chosen) if chosen else "" for one, chosen in zip(reads, kept, strict=True)]


def _keep_objections(reads: Sequence[Read], kept: Sequence[set[int]]) -> None:
    """Keep "No, it wasn't." if something of the two previous messages is kept; always keep it at the beginning."""
    for i, one in enumerate(reads):
        near = kept[max(0, i - _OBJECTED) : i]
        if (len(near) < _OBJECTED or any(near)) and not (opening := _opening(one)) <= kept[i] and one.objects:
            kept[i] |= opening


def _figure_sentences(one: Read, kept: Set[int], repeated: Set[int]) -> set[int]:
    """Sentences needed in addition to the kept ones so that every figure of a text is included; the richest come first."""
    held = {j: found for j, found in one.figures.items() if j not in repeated} if repeated else one.figures
    if held.keys() <= kept:
        return set()
    said = {figure for j in kept for figure in held.get(j, ())}
    wanted: set[int] = set()
    for j in sorted(held.keys() - kept, key=lambda j: (-len(held[j]), j)):
        if not said.issuperset(held[j]):
            wanted.add(j)
            said.update(held[j])
    return wanted


def _opening(one: Read) -> set[int]:
    """The first statement, with its needs."""
    return one.parts.with_needs(0) if one.spans else set()


def _needs(reads: Sequence[Read], first: Sequence[int]) -> dict[int, Sequence[int]]:
    """The needs of each sentence that has any."""
    return {
        n + j: [n + other for other in needed]
        for n, one in zip(first, reads, strict=False)
        if any(one.parts.needs)
        for j, needed in enumerate(one.parts.needs)
        if needed
    }


def _fixed_sentences(one: Read) -> set[int]:
    """Sentences that are always kept: blocks, musts, and prose next to a block that is too short to cut."""
    fixed = {*one.blocks, *one.must}
    if not fixed:
        return fixed
    if one.has_blocks:
        run: list[int] = []
        for j in range(len(one.spans) + 1):
            if j < len(one.spans) and j not in one.blocks:
                run.append(j)
                continue
            if run and one.spans[run[-1]].end - one.spans[run[0]].start < _LEAST_GAP:
                fixed.update(run)
            run = []
    return one.parts.complete(fixed)


def _pieces(reads: Sequence[Read], centres: Floats, first: Sequence[int]) -> CoverageColumns:
    """The cost and worth of each sentence."""
    columns = columns_of(reads)
    return CoverageColumns(
        columns.costs.tolist(),
        (columns.bases + _BY_CENTRE * centres).tolist(),
        columns.factors.tolist(),
        {n + j: facts for n, one in zip(first, reads, strict=False) for j, facts in one.facts.items()},
    )


def _repeats(reads: Sequence[Read]) -> list[Set[int]]:
    """For each text, the sentences that repeat an earlier one of any text word for word."""
    said = [[*map(str.strip, one.spans.pieces(one.text))] for one in reads]
    if len(set(chain.from_iterable(said))) == sum(map(len, said)):  # usually
        return [frozenset()] * len(reads)
    seen: set[str] = set()
    found: list[Set[int]] = []
    for one, pieces in zip(reads, said, strict=True):
        again = set()
        for j, piece in enumerate(pieces):
            if j in one.blocks:
                continue
            if piece in seen:
                again.add(j)
            else:
                seen.add(piece)
        found.append(again)
    return found


def _centres(reads: Sequence[Read], again: Sequence[Set[int]]) -> Floats:
    """How central each sentence is to the run, 0 to 1; repetitions do not count.

    Weights are added in two parts with so few bits that no sum is rounded. The result equals that of ``fsum``, in any order.
    """
    columns = columns_of(reads)
    words, sizes = _words(reads, columns), columns.sizes
    if not len(words):
        return np.zeros(len(sizes))
    if int(words.max()) > _SPARSE * len(words):
        words = np.unique(words, return_inverse=True)[1]
    distinct = sum([len(one.spans) - len(one.blocks) - len(some) for one, some in zip(reads, again, strict=True)])
    counted = words
    if any(again):
        repeated = [j in some for one, some in zip(reads, again, strict=True) for j in range(len(one.spans))]
        counted = words[~np.repeat(repeated, sizes)]
    times = np.bincount(counted, minlength=int(words.max()) + 1)
    # Words in a tenth of all sentences are grammar, so the weight decreases above that.
    weights = _logarithms(int(times.max()).bit_length())[times] / (1 + 10 * times / max(1, distinct))
    high = np.floor(weights * _SPLIT) / _SPLIT
    of = np.repeat(np.arange(len(sizes)), sizes)
    sums = (np.bincount(of, high[words], len(sizes)) + np.bincount(of, (weights - high)[words], len(sizes))) / (sizes + 4)
    top = float(sums.max())
    return _rounded(sums / top) if top else sums


def _words(reads: Sequence[Read], columns: Columns) -> Ints:
    """The numbers of all sentences' words."""
    if all(one.numbers is reads[0].numbers for one in reads):
        return columns.words
    numbers: dict[str, int] = {}  # the texts were read separately
    found: list[int] = []
    for one in reads:
        names = list(one.numbers)
        found += [numbers.setdefault(names[word], len(numbers)) for word in one.columns.words.tolist()]
    return np.array(found, np.int64)


@lru_cache(maxsize=4)
def _logarithms(bits: int) -> Floats:
    """Of all numbers of so many bits, and 0 for 0: of ``math``, since those of numpy differ in the last place."""
    return np.array([0.0, *map(log, range(1, 1 << bits))])


def _rounded(values: Floats) -> Floats:
    """``round(value, 6)`` for each."""
    scaled = values * 1e6
    near = np.rint(scaled)
    found = near / 1e6
    for i in np.flatnonzero(np.abs(scaled - near) > 0.499):  # the exact value decides the direction
        found[i] = round(float(values[i]), 6)
    return found


def _fact_weights(reads: Sequence[Read]) -> dict[str, float]:
    """Worth of a name or figure: higher if several messages contain it, but lower if most do (the speakers' own names)."""
    times = Counter(chain.from_iterable([dict.fromkeys(chain.from_iterable(one.facts.values())) for one in reads]))
    return {fact: _BY_FACT * (1 + min(1.0, 0.3 * (n - 1))) / (1 + 8 * max(0, n - 2) / len(reads)) for fact, n in times.items()}


__all__ = ["Read", "Reader", "read", "sift"]

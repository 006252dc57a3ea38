"""Later statements: which passages update others, so that an outdated one is neither quoted alone nor last.

This module finds pairs of passages and messages and applies them to a ranking, and makes sure that an echo is no passage of its
own. How messages update, pick and repeat others is read in ``text.dialogue``; what a passage is worth to a question, in
``ranking``.

A message that updates an older one is quoted before it, also where the request holds it elsewhere: the older one, standing behind
it, would seem to be the newer. That includes messages that are not folded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from turnfold.compression.memo import Memo, of_each
from turnfold.compression.recall.held import Held
from turnfold.compression.recall.passage_index import Floats, PassageIndex
from turnfold.compression.recall.quote_choice import QuoteTokens
from turnfold.compression.recall.ranked_quotes import RankedQuotes
from turnfold.compression.text.dialogue.echoes import echoes
from turnfold.compression.text.dialogue.standings import earlier_standings, standings, standings_behind
from turnfold.compression.text.dialogue.updates import LONGEST, StatementUpdate, may_update, updates
from turnfold.compression.text.dialogue.wanted.picks import picks
from turnfold.compression.text.quotes import Quotable, Quote

#: The number of a passage that updates another (or of a message after the folded ones), and the number of the updated passage.
Pairs = list[tuple[int, int]]

_AHEAD: Final = 1.001
_BEFORE: Final = 400  # folded messages, counted from the last, that messages after them may update


def with_updates_raised(index: PassageIndex, sources: Sequence[Quotable], worth: Floats, memo: Memo) -> Floats:
    """The worth of passages, with updates raised to the worth of what they update, so that they are quoted first.

    A picked item and the message that picks it get the same worth. What an echo repeats gets the echo's worth, and the echo none.
    """
    pairs = _pairs(index, sources, memo)
    repeated = index.derived("echoes", lambda: list(_echoed(index, sources, memo)))
    if not (pairs or repeated):
        return worth
    found = worth.copy()
    for echo, said in repeated:
        found[said], found[echo] = max(found[said], found[echo]), 0.0
    for newer, older in (*pairs, *pairs):  # a passage raised by one pair may be raised again by an earlier one
        found[newer] = max(found[newer], _AHEAD * found[older])
    return found


def release(tokens: QuoteTokens, ranking: RankedQuotes, index: PassageIndex, sources: Sequence[Quotable], memo: Memo) -> None:
    """Let passages be quoted that the request holds elsewhere, if they update one that may be quoted."""
    bearing = set(ranking.numbers.tolist())
    for newer, older in sorted(_updating_pairs(index, sources, memo)):
        if older in bearing and newer in bearing and not tokens.is_held(older):
            tokens.release(newer)


def with_behind(
    ranking: RankedQuotes, index: PassageIndex, sources: Sequence[Quotable], behind: Sequence[Quotable], held: Held, memo: Memo
) -> RankedQuotes:
    """A ranking with later messages that update one of its passages, each before the passage it updates.

    Their sources are numbered after `sources`.
    """
    if not (behind and len(ranking.numbers)):
        return ranking
    bearing = set(ranking.numbers.tolist())
    worth: dict[int, float] = {}
    near = [n for n, one in enumerate(behind) if one.role in ("user", "assistant") and len(one.text) <= LONGEST]
    for newer, older in _updates_behind(index, sources, [behind[n] for n in near], memo):
        quote = index.quotes[older]
        if older in bearing and not held.has(quote.source, sources[quote.source].text[quote.start : quote.end]):
            worth[newer] = max(worth.get(newer, 0.0), _AHEAD * float(ranking.worth[older]))
    size = len(ranking.worth)
    return RankedQuotes(
        np.append(ranking.numbers, np.arange(size, size + len(worth))),
        np.append(ranking.worth, list(worth.values())),
        (*ranking.more, *(Quote(len(sources) + near[n], 0, len(behind[near[n]].text)) for n in worth)),
    )


def _pairs(index: PassageIndex, sources: Sequence[Quotable], memo: Memo) -> Pairs:
    """Pairs of passages that update another, and these, in order.

    Before them come picked items and the messages that pick them, paired both ways: neither says anything alone.
    """
    return index.derived("picked", lambda: _picked(index, sources, memo)) + _updating_pairs(index, sources, memo)


def _picked(index: PassageIndex, sources: Sequence[Quotable], memo: Memo) -> Pairs:
    found: Pairs = []
    for one in picks(sources, memo):
        for by, item in _passages(index, one.by, one.of, one.item[0]):
            found += [(item, by), (by, item)]
        found += _passages(index, one.by, one.instead, 0) if one.instead is not None else []
    return found


def _updating_pairs(index: PassageIndex, sources: Sequence[Quotable], memo: Memo) -> Pairs:
    def make() -> Pairs:
        said = [*updates(sources, memo), *standings(sources, memo)]
        return [pair for one in said for pair in _passages(index, *one)]

    return index.derived("renewals", make)


def _passages(index: PassageIndex, newer: int, older: int, start: int) -> Pairs:
    """The first passage of a message, and the passage of another that contains the text it updates."""
    first, end = index.source_of.searchsorted([newer, newer + 1]).tolist()
    found = _passage_at(index, older, start)
    return [] if found is None or first == end else [(first, found)]


def _passage_at(index: PassageIndex, source: int, start: int) -> int | None:
    first, end = index.source_of.searchsorted([source, source + 1]).tolist()
    return next((n for n in range(first, end) if index.quotes[n].end > start), None)


def _updates_behind(
    index: PassageIndex, sources: Sequence[Quotable], behind: Sequence[Quotable], memo: Memo
) -> Iterator[tuple[int, int]]:
    """Numbers of messages after the folded ones, with the passages that they update."""
    skipped = max(0, len(sources) - _BEFORE)
    since = len(sources) - skipped
    found: list[StatementUpdate] = []
    if any(of_each(memo, "may renew", behind, lambda one: may_update(one, memo))):  # rare; other conversations are skipped
        found += [one for one in updates([*sources[skipped:], *behind], memo) if one.newer >= since]
    earlier = index.derived("told figures", lambda: earlier_standings(sources[skipped:], memo))
    found += standings_behind(earlier, behind, memo)
    for newer, older, start in found:
        if older < since and (passage := _passage_at(index, skipped + older, start)) is not None:
            yield newer - since, passage


def _echoed(index: PassageIndex, sources: Sequence[Quotable], memo: Memo) -> Iterator[tuple[int, int]]:
    """Passages that only repeat earlier text, with what they repeat."""
    for at in echoes(sources, memo):
        first, echo, end = index.source_of.searchsorted([at - 1, at, at + 1]).tolist()
        if echo - first == 1 and end - echo == 1:
            yield echo, first

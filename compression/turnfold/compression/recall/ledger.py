"""The short exchanges of a chat whose other answers are long: "add milk", "Milk added."; what users have kept, step by step.

This module finds these messages and their place in a ranking. Single statements of users are chosen in ``shorten.told``; what is
worth most to a question, in ``ranking``.

A list that grew, a budget that changed, a game's state: the steps hardly share words with the question, and each may change what
the others say. If all of them fit into what an explicit budget leaves for quotes, they come after what clearly bears on the
question, or first if little does. If most of a chat consists of such exchanges, they do not fit and mean nothing special, nor do
they if several people speak.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from turnfold.compression.memo import Memo
from turnfold.compression.recall.fence import FRAME
from turnfold.compression.recall.passage_index import Ints, PassageIndex
from turnfold.compression.recall.quote_choice import QuoteTokens
from turnfold.compression.recall.ranked_quotes import RankedQuotes
from turnfold.compression.shorten.answers import merely_agrees
from turnfold.compression.shorten.steps import kept_steps
from turnfold.compression.text.dialogue.echoes import echoes
from turnfold.compression.text.dialogue.short_exchanges import is_short, short_exchanges
from turnfold.compression.text.dialogue.turns import several_speak
from turnfold.compression.text.quotes import Quotable

_BEHIND: Final = 0.5  # share of the best worth from which a passage clearly bears on the question
_MINORITY: Final = 0.25  # of all text, at most
_STEP: Final = 1e-6  # how much more the newer one is worth


def with_ledger(
    ranking: RankedQuotes, index: PassageIndex, sources: Sequence[Quotable], room: int, memo: Memo, *, first: bool
) -> RankedQuotes:
    """A ranking with the passages of short exchanges, the first exchange and then the newest first, if all of them fit.

    Args:
        first: whether they come before all others.
    """
    ledger = fitting_ledger(index, sources, room, memo)
    if not len(ledger):
        return ranking
    worth = ranking.worth.copy()
    best = float(worth.max()) if float(worth.max()) > 0 else 1.0
    least = best if first else _BEHIND * best
    steps = np.arange(1, len(ledger) + 1)
    steps[index.source_of[ledger] == 0] += len(ledger)  # the opening of a chat says what all of it is about
    worth[ledger] = np.maximum(worth[ledger], least * (1.0 + _STEP * steps))
    return ranking._replace(numbers=np.union1d(ranking.numbers, ledger), worth=worth)


def fitting_ledger(index: PassageIndex, sources: Sequence[Quotable], room: int, memo: Memo) -> Ints:
    """The passages of short exchanges, in order, if all of them fit.

    Otherwise those of the steps that users have kept, without the answers, if these fit; otherwise none.
    """
    if index.named.any():
        return np.zeros(0, np.int64)
    kinds: tuple[Ints, ...] = index.derived("ledger", lambda: _passages(index, sources, memo))
    fitting = (ledger for ledger in kinds if float((index.costs[ledger] + FRAME).sum()) <= room)
    return next(fitting, np.zeros(0, np.int64))


def release_ledger(tokens: QuoteTokens, index: PassageIndex, sources: Sequence[Quotable], room: int, memo: Memo) -> None:
    """Let passages be quoted that the request holds elsewhere, if an earlier one is quoted: the order of the steps matters."""
    ledger = fitting_ledger(index, sources, room, memo).tolist()
    quoted = next((at for at, number in enumerate(ledger) if not tokens.is_held(number)), len(ledger))
    for number in ledger[quoted:]:
        tokens.release(number)


def _passages(index: PassageIndex, sources: Sequence[Quotable], memo: Memo) -> tuple[Ints, ...]:
    """The passages of short exchanges, without nods and echoes, and those of the steps that users have kept; both in order.

    Empty if several speakers are named. Either list is left out if it makes up most of the conversation.
    """
    if several_speak(sources, memo):
        return ()
    steps = [step for step in kept_steps(sources, memo) if is_short(sources[step.answer])]
    kept = [at for step in steps for at in ((step.question.source, step.source) if step.question else (step.source,))]
    both = [np.flatnonzero(np.isin(index.source_of, np.fromiter(said, np.int64))) for said in (_messages(sources, memo), kept)]
    return tuple([found for found in both if index.costs[found].sum() <= _MINORITY * index.costs.sum()])


def _messages(sources: Sequence[Quotable], memo: Memo) -> Iterator[int]:
    repeated = set(echoes(sources, memo))
    for at in short_exchanges(sources):
        yield at
        if at + 1 not in repeated and not merely_agrees(sources[at + 1].text):
            yield at + 1

"""The moves of a game, for the next one: "27. Rxe4" needs the 26 before it, and "is it a violin?" all that was asked.

This module decides which exchanges are moves, and what is quoted of each. That a game begins is recognised in
``text.dialogue.wanted.series``; a game's figures are in ``text.dialogue.standings``, questions about its state in
``answer_series``.

A move shares no word with the one before it. Users move in a few words; an answer moves in its first line or sentence, and goes
on about something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turnfold.compression.memo import of_each
from turnfold.compression.recall.fence import quote_tokens
from turnfold.compression.recall.wholes.exchanges.answer_series import short_opening
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.request import WholeRequest
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.series import begins_game
from turnfold.compression.text.quotes import Quotable, Quote

_LONGEST: Final = 60  # characters of a user's move
_FEWEST: Final = 5
_LEAST: Final = 0.6  # share of the users' messages since the start of a game that are moves


def find_moves(asked: WholeRequest) -> FoundWork:
    """The start of the newest game and all folded moves since, with their answers, or without if these don't fit."""
    sources, behind, asks, room, count, memo = asked
    said = [*sources, *behind]
    if len(asks) > _LONGEST or not _may_end_with_moves(said):
        return FoundWork()
    begun = of_each(memo, "begin-games", sources, _begins)
    start = max((n for n, one in enumerate(begun) if one), default=None)
    if start is None:
        return FoundWork()
    users = [n for n in range(start + 1, len(said)) if said[n].role == "user"]
    moves = [n for n in users if len(said[n].text) <= _LONGEST]
    if len(moves) < max(_FEWEST, _LEAST * len(users)):
        return FoundWork()
    folded = [n for n in moves if n < len(sources)]
    own = [Quote(n, 0, len(sources[n].text)) for n in (start, *folded)]
    answers = [Quote(n + 1, *_answered(sources[n + 1].text)) for n in folded if sources[n + 1 : n + 2]]
    both = [*own, *(one for one in answers if one.end and sources[one.source].role == "assistant")]
    for some in (both, own):
        quotes = tuple(sorted(some))
        tokens = quote_tokens(quotes, sources, count)
        if tokens <= room:
            return FoundWork(quotes, (), tokens, counted=frozenset(quotes))
    return FoundWork()


def _may_end_with_moves(said: Sequence[Quotable]) -> bool:
    """Whether enough of the users' messages since any place are short enough; whether a game began there takes longer to tell."""
    moves = 0
    for users, one in enumerate((one for one in reversed(said) if one.role == "user"), start=1):
        moves += len(one.text) <= _LONGEST
        if moves >= max(_FEWEST, _LEAST * users):
            return True
    return False


def _answered(text: str) -> Range:
    """The first line of an answer if it is as short as a move ("12... Bb7"), else its first sentence."""
    line = text.find("\n")
    return (0, line) if 0 < line <= _LONGEST else short_opening(text)


def _begins(source: Quotable) -> bool:
    return source.role == "user" and begins_game(source.text)

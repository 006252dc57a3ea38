"""Definitions of a question's letters: "what is f(3)?" needs "let f(x) = x² + 3x", however long ago that was.

This module decides which definitions are quoted. Letters, and what they stand for, are found in ``text.dialogue.wanted.symbols``.

The newest definition of each is meant, with those of the letters in it. One that the request holds needs no quote.
"""

from __future__ import annotations

from typing import Final

from turnfold.compression.memo import of_each
from turnfold.compression.recall.fence import FRAME
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.request import WholeRequest
from turnfold.compression.text.dialogue.wanted.symbols import definitions, used_symbols
from turnfold.compression.text.quotes import Quotable, Quote

_MOST: Final = 8
_MOST_TOKENS: Final = 400


def find_definitions(asked: WholeRequest) -> FoundWork:
    """The newest definitions of the symbols that a question uses, and of the symbols used in these."""
    sources, behind, text, room, count, memo = asked
    wanted = used_symbols(text)
    if not wanted:
        return FoundWork()
    every = [*sources, *behind]
    newest: dict[str, Quote] = {}
    for n, found in enumerate(of_each(memo, "definitions", every, _definitions)):
        newest.update({symbol: Quote(n, *where) for symbol, where in found})
    chosen: dict[Quote, int] = {}
    spent = 0
    for symbol in wanted:  # which grows during the loop
        quote = newest.get(symbol)
        if quote is None or quote in chosen:
            continue
        said = every[quote.source].text[quote.start : quote.end]
        cost = count(said) + FRAME
        spent += cost
        if len(chosen) == _MOST or spent > min(_MOST_TOKENS, room):
            break
        chosen[quote] = cost
        wanted += [one for one in used_symbols(said) if one not in wanted]
    quotes = tuple(sorted(quote for quote in chosen if quote.source < len(sources)))
    return FoundWork(quotes, (), sum(chosen[quote] for quote in quotes))


def _definitions(source: Quotable) -> tuple[tuple[str, tuple[int, int]], ...]:
    return tuple(definitions(source.text)) if source.role in ("user", "assistant") else ()

"""Quotes within a budget.

Lives here: what quotes cost, and as many of them as fit. Does not belong here: which are the best (see ``recall``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from typing import Final

from turnfold.compression.memo import Memo, digest
from turnfold.compression.recall import fence
from turnfold.compression.recall.passage_index import PassageIndex
from turnfold.compression.text.quotes import Quotable, Quote
from turnfold.compression.tokens import BORDER_COUNTER, count_lines, count_tail

#: Tokens of a role label, or of an elision.
FRAME: Final = 3
_CHARACTERS: Final = 8  # of a token at most: what is longer does not fit
_MOST_LINES: Final = 1000
#: What the same JSON may be written with or without.
_DRESS: Final = str.maketrans("", "", '" \t\r\n')
_TELLING: Final = 12  # characters; fewer may stand anywhere

#: The most characters of a quote, to the quotes that are no longer, best first.
Ranking = Callable[[float], Iterator[Quote]]


class QuoteTokens:
    """What quotes cost, and which the request holds already; what an earlier question asked is not found out again.

    Args:
        held: the text of what the request holds.
    """

    def __init__(self, sources: Sequence[Quotable], count: Callable[[str], int], index: PassageIndex, held: str) -> None:
        self.sources = sources
        self.held = held
        self._held_quotes = _answers_about(held, index)
        self._bare: str | None = None  # what is held, without the dress of JSON
        self._count = count
        self._quotes: dict[Quote, int] = index.derived(("quotes", count), dict)
        self._lines: dict[str, int] = index.derived(("lines", count), dict)
        self._escaped: dict[str, str] = index.derived(("escaped", count), dict)
        if len(self._lines) > _MOST_LINES:
            self._lines.clear()
            self._escaped.clear()
        self._last: tuple[list[Quote], str] = ([], "")
        self._tokens: int | None = None  # of that text

    def text(self, quote: Quote) -> str:
        """The quoted text."""
        return self.sources[quote.source].text[quote.start : quote.end]

    def is_held(self, quote: Quote) -> bool:
        """Whether the request holds the quoted text already, be it without the quotation marks and white space of JSON."""
        found = self._held_quotes.get(quote)
        if found is None:
            text = self.text(quote)
            found = bool(self.held) and (text in self.held or ('"' in text and self._holds_bare(text)))
            self._held_quotes[quote] = found
        return found

    def _holds_bare(self, text: str) -> bool:
        bare = text.translate(_DRESS)
        if len(bare) < _TELLING:
            return False
        if self._bare is None:
            self._bare = self.held.translate(_DRESS)
        return bare in self._bare

    def cost(self, quote: Quote) -> int:
        """Tokens of a quote, and about those of its frame."""
        if quote not in self._quotes:
            self._quotes[quote] = self._count(self.text(quote))
        return self._quotes[quote] + FRAME

    def rendered(self, quotes: Sequence[Quote]) -> int:
        """Tokens of the fence with these quotes."""
        text = self._render(quotes)
        if self._tokens is None:
            self._tokens = count_lines(text, self._count, self._lines)
        return self._tokens

    def _render(self, quotes: Sequence[Quote]) -> str:
        if self._last[0] != quotes:
            self._last = (list(quotes), fence.render(self.sources, quotes, self._escape))
            self._tokens = None
        return self._last[1]

    def _escape(self, text: str) -> str:
        if text not in self._escaped:
            self._escaped[text] = fence.escape(text)
        return self._escaped[text]

    def remember(self, quotes: Sequence[Quote], memo: Memo) -> None:
        """Remember what the rendered quotes came to, for the message that will end with them."""
        if quotes and self._count == BORDER_COUNTER:
            count_tail(self._render(quotes), self.rendered(quotes), memo)

    def empty(self) -> int:
        """Tokens of the fence around nothing."""
        return self._count(f"{fence.OPEN}\n{fence.CLOSE}")


def _answers_about(held: str, index: PassageIndex) -> dict[Quote, bool]:
    """Which quotes a text holds, as far as that was asked; only answers about the last text are kept."""
    kept: list[tuple[bytes, dict[Quote, bool]]] = index.derived("held", list)
    name = digest(held)
    for known, found in kept:
        if known == name:
            return found
    answers: dict[Quote, bool] = {}
    kept[:] = [(name, answers)]
    return answers


def fit_quotes(ranked: Ranking, budget: int, tokens: QuoteTokens) -> list[Quote]:
    """As many of the quotes, in the given order, as the rendered fence has room for.

    A label costs two or three tokens, so what three for each leave over is given out once more.
    """
    chosen = _take(ranked(inf), budget - tokens.empty(), "", tokens)
    used = tokens.rendered(chosen)
    if budget - used > 2 * FRAME:
        known = set(chosen)
        left = (quote for quote in ranked(_CHARACTERS * (budget - used)) if quote not in known)
        if more := _take(left, budget - used, "\0".join(map(tokens.text, chosen)), tokens):
            chosen += more
            used = tokens.rendered(chosen)
    while chosen and used > budget:
        chosen.pop()
        used = tokens.rendered(chosen)
    return chosen


def _take(quotes: Iterable[Quote], room: float, taken: str, tokens: QuoteTokens) -> list[Quote]:
    """The first of the quotes that are new to the request and fit, in the given order; `taken` is the text of those before."""
    chosen: list[Quote] = []
    texts: set[str] = set()
    for quote in quotes:
        if room < FRAME + 2:
            break
        if quote.end - quote.start > _CHARACTERS * room:
            continue
        text = tokens.text(quote)
        if text in texts or tokens.is_held(quote):
            continue
        cost = tokens.cost(quote)
        if cost > room or (taken and _is_taken(text, taken, tokens.held)):  # looked for last: that takes longest
            continue
        chosen.append(quote)
        texts.add(text)
        room -= cost
    return chosen


def _is_taken(text: str, taken: str, held: str) -> bool:
    """Whether a text is among those that were taken; one with the sign between two texts in it may lie across them."""
    return text in taken or ("\0" in text and text in f"{held}\0{taken}")

"""Quotes within a budget.

Lives here: what quotes cost, and as many of them as fit. Does not belong here: which are the best (see ``recall``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import inf
from typing import Final, NamedTuple

from turnfold.compression.memo import digest
from turnfold.compression.recall import fence
from turnfold.compression.recall.passage_index import PassageIndex
from turnfold.compression.text.quotes import Quotable, Quote
from turnfold.compression.tokens import ModelCounter, count_line

#: Tokens of a role label, or of an elision.
FRAME: Final = 3
_CHARACTERS: Final = 8  # of a token at most: what is longer does not fit
#: What the same JSON may be written with or without.
_DRESS: Final = str.maketrans("", "", '" \t\r\n')
_TELLING: Final = 12  # characters; fewer may stand anywhere

#: The most characters of a quote, to the quotes that are no longer, best first.
Ranking = Callable[[float], Iterator[Quote]]


class QuotedLine(NamedTuple):
    """What is quoted of one message.

    Attributes:
        passage: as it was, not escaped.
        text: as the fence has it.
        tokens: by each vocabulary of the counter; None where they depend on the lines around it.
    """

    passage: fence.Passage
    text: str
    tokens: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Quoted:
    """Quotes as they stand in a request.

    Attributes:
        quotes: in the order of the conversation.
        text: the fence with them, "" for none.
        passages: by message.
        tokens: of the text.
    """

    quotes: tuple[Quote, ...] = ()
    text: str = ""
    passages: tuple[fence.Passage, ...] = ()
    tokens: int = 0


class QuoteTokens:
    """What quotes cost, and which the request holds already; what an earlier question asked is not found out again.

    Args:
        held: the text of what the request holds.

    Attributes:
        known: tokens of quotes that were counted.
    """

    def __init__(self, sources: Sequence[Quotable], count: Callable[[str], int], index: PassageIndex, held: str) -> None:
        self.sources = sources
        self.held = held
        self._held_quotes = _answers_about(held, index)
        self._bare: str | None = None  # what is held, without the dress of JSON
        self._count = count
        self.known: dict[Quote, int] = index.derived(("quotes", count), dict)
        self._lines: dict[tuple[Quote, ...], QuotedLine] = index.derived(("lines", count), dict)
        if len(self._lines) > index.most_lines:
            self._lines.clear()

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
        if quote not in self.known:
            self.known[quote] = self._count(self.text(quote))
        return self.known[quote] + FRAME

    def render(self, quotes: Sequence[Quote]) -> Quoted:
        """The quotes as they stand in a request."""
        if not quotes:
            return Quoted()
        inside = fence.by_message(quotes)
        lines = [self._lines.get(one) or self._line(one) for one in inside]
        text = fence.enclose([line.text for line in lines])
        passages = tuple([line.passage for line in lines])
        return Quoted(tuple(chain.from_iterable(inside)), text, passages, self._tokens(lines, text))

    def _line(self, quotes: tuple[Quote, ...]) -> QuotedLine:
        source = self.sources[quotes[0].source]
        text = fence.line(fence.passage_of(source, quotes, fence.escape))
        tokens = count_line(f"{text}\n", self._count) if isinstance(self._count, ModelCounter) else None
        line = self._lines[quotes] = QuotedLine(fence.passage_of(source, quotes, str), text, tokens)
        return line

    def _tokens(self, lines: Iterable[QuotedLine], text: str) -> int:
        """Tokens of the fence with these lines, counted as a whole only where they are no sum."""
        counts = [line.tokens for line in lines]
        if None in counts or not isinstance(self._count, ModelCounter):
            return self._count(text)
        return max(map(sum, zip(*_frame(self._count), *counts, strict=True)))

    def empty(self) -> int:
        """Tokens of the fence around nothing."""
        return self._count(fence.enclose(()))


@lru_cache(maxsize=4)
def _frame(counter: ModelCounter) -> tuple[tuple[int, ...], ...]:
    """Tokens of the fence's own lines."""
    return tuple(count_line(line, counter) or () for line in (f"{fence.OPEN}\n", fence.CLOSE))


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


def fit_quotes(ranked: Ranking, budget: int, tokens: QuoteTokens) -> Quoted:
    """As many of the quotes, in the given order, as the rendered fence has room for.

    A label costs two or three tokens, so what three for each leave over is given out once more.
    """
    chosen = _take(ranked(inf), budget - tokens.empty(), "", tokens)
    found = tokens.render(chosen)
    if budget - found.tokens > 2 * FRAME:
        known = set(chosen)
        left = (quote for quote in ranked(_CHARACTERS * (budget - found.tokens)) if quote not in known)
        if more := _take(left, budget - found.tokens, "\0".join(map(tokens.text, chosen)), tokens):
            chosen += more
            found = tokens.render(chosen)
    while chosen and found.tokens > budget:
        chosen.pop()
        found = tokens.render(chosen)
    return found


def _take(quotes: Iterable[Quote], room: float, taken: str, tokens: QuoteTokens) -> list[Quote]:
    """The first of the quotes that are new to the request and fit, in the given order; `taken` is the text of those before."""
    chosen: list[Quote] = []
    texts: set[str] = set()
    known = tokens.known
    for quote in quotes:
        if room < FRAME + 2:
            break
        _, start, end = quote
        if end - start > _CHARACTERS * room or known.get(quote, 0) + FRAME > room:
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

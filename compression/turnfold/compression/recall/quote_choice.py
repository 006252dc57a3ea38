"""Quotes within a budget.

This module knows what quotes cost, and takes as many as fit. Which are the best is up to ``ranking``; what a part of a message
needs, to ``needed_quotes``.

A long conversation has thousands of passages, and a request may have room for hundreds, so what is asked of a passage is kept by
its number, and asked of many at once: a look at each of them by itself would make up most of a turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from turnfold.compression.recall import fence
from turnfold.compression.recall.greatest import best_first
from turnfold.compression.recall.held import Held, answers_about
from turnfold.compression.recall.known_quotes import NO_NUMBERS, LineKey, QuotedLine, continued, known_quotes
from turnfold.compression.recall.needed_quotes import ChosenQuote, Needs, complete, needs
from turnfold.compression.recall.passage_index import Ints, PassageIndex
from turnfold.compression.recall.ranked_quotes import RankedQuotes
from turnfold.compression.text.passages import estimate
from turnfold.compression.text.quotes import Quotable, Quote
from turnfold.compression.tokens import BORDER_COUNTER, ModelCounter, count_labelled, count_line

_LEAST: Final = fence.FRAME + 2  # fewest tokens for a quote
_CHARACTERS: Final = 8  # most characters of a token: a text with more characters does not fit
#: Characters in which two spellings of the same JSON may differ.
_DRESS: Final = str.maketrans("", "", '" \t\r\n')
_TELLING: Final = 12  # characters; a shorter text may occur anywhere by chance


@dataclass(frozen=True, slots=True)
class Quoted:
    """Quotes as they appear in a request.

    Attributes:
        quotes: in the order of the conversation.
        text: the fence with the quotes; "" if there are none.
        passages: the quotes grouped by message.
        counts: tokens of the text for each vocabulary of the counter.
    """

    quotes: tuple[Quote, ...] = ()
    text: str = ""
    passages: tuple[fence.Passage, ...] = ()
    counts: tuple[int, ...] = (0,)

    @property
    def tokens(self) -> int:
        """Tokens of the text."""
        return max(self.counts)


class QuoteTokens:
    """The costs of quotes, and which of them the request already holds. Reuses what earlier questions computed.

    Args:
        held: the text that the request holds.
        more: quotes that are not passages.
        replaced: tells whether a quote shows outdated text, which no other quote depends on.
        cut: the source of a table for which to state the number of quoted rows.
    """

    def __init__(
        self,
        sources: Sequence[Quotable],
        count: Callable[[str], int],
        index: PassageIndex,
        held: Held,
        more: tuple[Quote, ...] = (),
        replaced: Callable[[Quote], bool] | None = None,
        *,
        cut: int | None = None,
    ) -> None:
        self.sources, self.held, self.count, self._replaced, self._cut = sources, held.text, count, replaced, cut
        self._bare: str | None = None  # the held text without quotation marks and white space
        self._index, self._source_of = index, index.source_of
        self._characters, self._estimates = index.characters, index.costs
        self._known, self._is_held = known_quotes(index, count, sources, cut), answers_about(held, index)
        self._of_passages, self._passages_held = self._known, self._is_held  # shared with the next question
        self._passages, self._index_sources = len(index.quotes), len(index.sources)
        self._frames = index.derived("frames", lambda: fence.frames(index.sources).take(index.source_of))
        self._own_lines: dict[LineKey, QuotedLine] = {}  # for quotes that are not passages
        self.usual = fence.FRAME + float(self._estimates.mean())
        if more:  # these numbers mean other quotes to the next question
            self._source_of = np.append(self._source_of, [quote.source for quote in more])
            self._characters = np.append(self._characters, [quote.end - quote.start for quote in more])
            self._known = continued(self._known, sources, more, self._known.lines, self._known.sizes)
            self._estimates = np.append(self._estimates, [estimate(self.text(n)) for n in range(-len(more), 0)])
            self._is_held = np.append(self._is_held, held.known(self._source_of[-len(more) :]))
            self._frames = np.append(self._frames, fence.frames([sources[quote.source] for quote in more]))

    def text(self, number: int) -> str:
        """The quoted text."""
        text: str = self._known.texts[number]
        return text

    def texts(self, numbers: Ints) -> list[str]:
        """The quoted texts of several numbers."""
        texts: list[str] = self._known.texts.take(numbers).tolist()
        return texts

    def is_held(self, number: int) -> bool:
        """Whether the request already holds the quoted text, with or without JSON's quotation marks and white space."""
        found = int(self._is_held[number])
        if found < 0:
            found = self._is_held[number] = self._holds(self.text(number))
            if number < self._passages:
                self._passages_held[number] = found
        return bool(found)

    def release(self, number: int) -> None:
        """Let a quote be chosen even if the request holds it."""
        if self._is_held[number]:
            self._is_held = self._is_held.copy()  # copied, since other questions share it
            self._is_held[number] = 0

    def keep_apart(self, numbers: Ints) -> None:
        """Let quotes be chosen even if another has the same text or the request holds it: each of them counts."""
        if len(numbers):
            twins = self._known.twins.copy()
            twins[numbers] = numbers
            self._known = self._known._replace(twins=twins)
        for number in numbers.tolist():
            self.release(number)

    def _holds(self, text: str) -> bool:
        return bool(self.held) and (text in self.held or ('"' in text and self._holds_bare(text)))

    def _holds_bare(self, text: str) -> bool:
        bare = text.translate(_DRESS)
        if len(bare) < _TELLING:
            return False
        if self._bare is None:
            self._bare = self.held.translate(_DRESS)
        return bare in self._bare

    def cost(self, number: int) -> int:
        """Tokens of a quote, plus an estimate for its frame."""
        found = int(self._known.tokens[number])
        if found < 0:
            found = self._known.tokens[number] = self._count_quote(number)
            if number < self._passages:
                self._of_passages.tokens[number] = found
        return found + int(self._frames[number])

    def _count_quote(self, number: int) -> int:
        quote: Quote = self._known.quotes[number]
        at, start, end = quote
        source = self.sources[at]
        if self.count == BORDER_COUNTER and start == 0 and end == len(source.text):
            known = source.text_tokens
            if known is not None:
                return known
        return self.count(self.text(number))

    def _size_of(self, text: str) -> int:
        """Tokens of a text that is not a passage."""
        known = self._known.sizes
        found = known.get(text)
        if found is None:
            found = known[text] = self.count(text)
        return found

    def without_twins(self, numbers: Ints, chosen: Ints) -> Ints:
        """The numbers whose texts differ from all chosen ones."""
        twins, is_taken = self._known.twins, np.zeros(len(self._known.twins), bool)
        is_taken[twins.take(chosen)] = True
        return numbers[~is_taken.take(twins.take(numbers))]

    def facts(self, numbers: Ints) -> Iterator[tuple[int, int, int, int]]:
        """Each number with its characters, its tokens if known, and the first quote with the same text."""
        facts = (numbers, self._characters[numbers], self._known.tokens[numbers], self._known.twins[numbers])
        return zip(*[column.tolist() for column in facts], strict=True)

    # ------------------------------------------------------------ what fits

    def may_fit(self, numbers: Ints, room: int) -> Ints:
        """The numbers that may fit into this many tokens, as far as is known."""
        small = self._characters[numbers] <= _CHARACTERS * room
        return numbers[small & (self._known.tokens[numbers] <= room - fence.FRAME)]

    def first_fitting(self, numbers: Ints, room: int, chosen: Ints) -> tuple[Ints, int, Ints]:
        """The first numbers that fit together and whose texts are new to the request and to the chosen ones; their cost; the
        other numbers.
        """
        held, tokens = self._is_held, self._known.tokens
        about = np.where(tokens[numbers] < 0, self._estimates[numbers], tokens[numbers])
        reach = int(np.cumsum(about + fence.FRAME).searchsorted(room, "right"))
        likely = numbers[:reach]
        unknown = likely[held[likely] < 0]
        held[unknown] = list(map(self._holds, self.texts(unknown)))
        passages = unknown[unknown < self._passages]
        self._passages_held[passages] = held[passages]
        new = likely[held[likely] == 0]
        for number in new[tokens[new] < 0].tolist():
            self.cost(number)
        _, first = np.unique(self._known.twins[np.append(chosen, new)], return_index=True)
        new = new[np.sort(first[first >= len(chosen)]) - len(chosen)]
        costs = tokens[new] + self._frames[new]
        rooms = room - (np.cumsum(costs) - costs)
        fits = (costs <= rooms) & (rooms >= _LEAST) & (self._characters[new] <= _CHARACTERS * rooms)
        end = len(fits) if fits.all() else int(fits.argmin())
        return new[:end], int(costs[:end].sum()), np.append(new[end:], numbers[reach:])

    # ------------------------------------------------------------ as it stands in a request

    def _lines(self, ordered: Ints) -> list[QuotedLine]:
        """The quoted line of each message."""
        begins = np.flatnonzero(np.diff(self._source_of.take(ordered), prepend=-1)).tolist()
        numbers = ordered.tolist()
        keys: Sequence[int | tuple[int, ...]] = numbers  # one for each message, as in a chat
        if len(begins) < len(numbers):
            runs = pairwise([*begins, len(numbers)])
            keys = [numbers[a] if b - a == 1 else tuple(numbers[a:b]) for a, b in runs]
        return self._lines_of(keys)

    def _lines_of(self, keys: Sequence[LineKey]) -> list[QuotedLine]:
        known, own = self._known.lines, self._own_lines
        return [known.get(key) or own.get(key) or self._make_line(key) for key in keys]

    def _ordered(self, chosen: Ints) -> Ints:
        """Numbers in the order of the conversation. The numbers of passages are in that order already."""
        if len(self._known.quotes) == self._passages:
            return np.sort(chosen)
        return np.array(sorted(chosen.tolist(), key=self._known.quotes.__getitem__), np.int64)

    def _make_line(self, key: LineKey) -> QuotedLine:
        named = (key,) if isinstance(key, int) else key
        quotes: list[Quote] = [self._known.quotes[one] if isinstance(one, int) else one for one in named]
        source = self.sources[quotes[0].source]
        passage = fence.passage_of(
            source, quotes, str, counts_rows=quotes[0].source == self._cut
        )  # each quote is escaped separately
        said = fence.escape(passage.text) if len(quotes) == 1 else fence.passage_of(source, quotes, fence.escape).text
        escaped = fence.Passage(passage.role, said)
        text = fence.line(escaped)
        line = QuotedLine(passage, text, self._line_tokens(key, passage, escaped, text))
        own_only = quotes[0].source >= self._index_sources or any(isinstance(n, int) and n >= self._passages for n in named)
        (self._own_lines if own_only else self._known.lines)[key] = line
        tokens = line.tokens
        if isinstance(key, int) and tokens is not None and len(tokens) == 1:
            for known in (self._known,) if own_only else (self._known, self._of_passages):
                known.lone_lines[key], known.lone_passages[key] = text, passage
                known.alone[key] = tokens[0]  # set last: another thread checks this first
        return line

    def _line_tokens(self, key: LineKey, passage: fence.Passage, escaped: fence.Passage, text: str) -> tuple[int, ...] | None:
        if not isinstance(self.count, ModelCounter):
            return None
        if isinstance(key, int) and escaped.text == passage.text and (known := int(self._known.tokens[key])) >= 0:
            found = count_labelled(passage.role, passage.text, known, self.count)
            if found is not None:
                return found
        return count_line(f"{text}\n", self.count)

    def rendered(self, chosen: Ints) -> int:
        """Tokens of the fence with the quotes; 0 if there are none."""
        if not len(chosen):
            return 0
        found = self._lone_tokens(chosen)
        return max(self._sizes(self._lines(self._ordered(chosen)))) if found is None else found

    def _lone_tokens(self, chosen: Ints) -> int | None:
        """Like `rendered`, if each message has one quoted passage and the lines' tokens are known; else None."""
        alone = self._known.alone
        if not isinstance(self.count, ModelCounter) or np.bincount(self._source_of.take(chosen)).max() > 1:
            return None
        for number in chosen[alone.take(chosen) < 0].tolist():
            _ = self._known.lines.get(number) or self._own_lines.get(number) or self._make_line(number)
        counts = alone.take(chosen)
        return int(counts.sum()) + sum(map(sum, fence.own_lines(self.count))) if (counts >= 0).all() else None

    def _sizes(self, lines: Sequence[QuotedLine]) -> tuple[int, ...]:
        """Tokens of the fence with these lines, for each vocabulary. Counted as a whole only if they are no sum of the lines'
        tokens.
        """
        if not isinstance(self.count, ModelCounter):
            return (self.count(fence.enclose([line.text for line in lines])),)
        counts = [line.tokens for line in lines]
        if None in counts:
            return self.count.each(fence.enclose([line.text for line in lines]))
        return tuple(map(sum, zip(*fence.own_lines(self.count), *counts, strict=True)))

    def needs(self, chosen: Ints) -> Needs:
        """The ranges that the chosen passages depend on."""
        found = needs(chosen[chosen < self._passages], self._index, self.sources)
        if self._replaced is None:
            return found
        source_of, replaced = self._source_of, self._replaced
        return {n: tuple(one for one in ranges if not replaced(Quote(int(source_of[n]), *one))) for n, ranges in found.items()}

    def render_completed(self, chosen: Ints, needed: Needs, room: int) -> Quoted:
        """The quotes, best first, with the ranges they depend on, as far as they fit."""
        asked = [ChosenQuote(self._known.quotes[n], self.cost(n), needed.get(n, ())) for n in chosen.tolist()]
        quotes = tuple(complete(asked, self.sources, room, self._size_of))
        numbers = {one.quote: n for one, n in zip(asked, chosen.tolist(), strict=True)}  # for passages quoted without change
        keys = [numbers.get(key[0], key) if len(key) == 1 else key for key in fence.by_message(quotes)]
        return self._quoted(quotes, self._lines_of(keys))

    def render(self, chosen: Ints) -> Quoted:
        """The quotes as they appear in a request."""
        if not len(chosen):
            return Quoted()
        known, ordered = self._known, self._ordered(chosen)
        quotes, total = tuple(known.quotes.take(ordered).tolist()), self._lone_tokens(chosen)
        if total is not None:
            text = fence.enclose(known.lone_lines.take(ordered).tolist())
            return Quoted(quotes, text, tuple(known.lone_passages.take(ordered).tolist()), (total,))
        return self._quoted(quotes, self._lines(ordered))

    def _quoted(self, quotes: tuple[Quote, ...], lines: Sequence[QuotedLine]) -> Quoted:
        if not quotes:
            return Quoted()
        text = fence.enclose([line.text for line in lines])
        return Quoted(quotes, text, tuple([line.passage for line in lines]), self._sizes(lines))


def fit_quotes(ranking: RankedQuotes, budget: int, tokens: QuoteTokens) -> Quoted:
    """As many quotes, best first, as fit into the rendered fence, each with the ranges it depends on."""
    return render_quotes(choose_quotes(ranking, budget, tokens), budget, tokens)


def choose_quotes(ranking: RankedQuotes, budget: int, tokens: QuoteTokens) -> Ints:
    """Like `fit_quotes`, before the ranges that quotes depend on are known.

    A label costs two or three tokens. Three are reserved for each, and the remainder is distributed in a second pass.
    """
    chosen = _take(ranking, budget - fence.fence_tokens(tokens.count), NO_NUMBERS, tokens)
    left = budget - tokens.rendered(chosen)
    if left > 2 * fence.FRAME:
        others = np.ones(len(ranking.worth), bool)
        others[chosen] = False
        rest = ranking._replace(numbers=ranking.numbers[others[ranking.numbers]])
        chosen = np.append(chosen, _take(rest, left, chosen, tokens))
    return chosen


def render_quotes(chosen: Ints, budget: int, tokens: QuoteTokens) -> Quoted:
    """As many of the chosen quotes, best first, as fit with the ranges that each depends on."""
    if needed := tokens.needs(chosen):
        return _complete(chosen, needed, budget, tokens)
    found = tokens.render(chosen)
    while len(chosen) and found.tokens > budget:
        chosen = chosen[:-1]
        found = tokens.render(chosen)
    return found


def _complete(chosen: Ints, needed: Needs, budget: int, tokens: QuoteTokens) -> Quoted:
    """As many of the chosen quotes, best first, as fit with the given ranges that they depend on."""
    room = budget - fence.fence_tokens(tokens.count)
    while True:
        found = tokens.render_completed(chosen, needed, room)
        if found.tokens <= budget:
            return found
        room -= found.tokens - budget


_SPARE: Final = 16  # quotes sorted beyond the number that usually fits


def _take(ranking: RankedQuotes, room: int, before: Ints, tokens: QuoteTokens) -> Ints:
    """The best quotes that fit and are new to the request and to those chosen `before`, best first."""
    chosen = NO_NUMBERS
    taken = b""
    left = ranking.numbers
    while room >= _LEAST and len(left := tokens.may_fit(left, room)):
        best, left = best_first(ranking.worth, left, _SPARE + int(room / tokens.usual))
        if not len(before):  # usually nearly all that fit
            first, cost, best = tokens.first_fitting(best, room, chosen)
            chosen = np.append(chosen, first)
            room -= cost
        more: list[int] = []
        seen = set[int]()
        for number, characters, known, twin in tokens.facts(tokens.without_twins(tokens.may_fit(best, room), chosen)):
            if room < _LEAST:
                break
            if characters > _CHARACTERS * room or known + fence.FRAME > room or twin in seen or tokens.is_held(number):
                continue
            cost = tokens.cost(number)
            if cost > room:
                continue
            if len(before):  # checked last, since it takes longest
                taken = taken or b"\0".join(map(_encoded, tokens.texts(before)))
                if _is_taken(tokens.text(number), taken, tokens.held):
                    continue
            more.append(number)
            seen.add(twin)
            room -= cost
        chosen = np.append(chosen, np.array(more, np.int64))
    return chosen


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _is_taken(text: str, taken: bytes, held: str) -> bool:
    """Whether a text is among those taken. A text with the separator in it may span two of them.

    Compared as bytes: a single emoji would make each character of a string take four bytes.
    """
    sought = _encoded(text)
    return sought in taken or (b"\0" in sought and sought in _encoded(held) + b"\0" + taken)

"""Quotes within a budget.

Lives here: what quotes cost, and as many of them as fit. Does not belong here: which are the best (see ``ranking``), what a part
of a message needs (``needed_quotes``).

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

_LEAST: Final = fence.FRAME + 2  # tokens in which a quote may fit
_CHARACTERS: Final = 8  # of a token at most: what is longer does not fit
#: What the same JSON may be written with or without.
_DRESS: Final = str.maketrans("", "", '" \t\r\n')
_TELLING: Final = 12  # characters; fewer may stand anywhere


@dataclass(frozen=True, slots=True)
class Quoted:
    """Quotes as they stand in a request.

    Attributes:
        quotes: in the order of the conversation.
        text: the fence with them, "" for none.
        passages: by message.
        counts: tokens of the text by each vocabulary of the counter.
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
    """What quotes cost, and which the request holds already; what an earlier question asked is not found out again.

    Args:
        held: what the request holds.
        more: quotes that are no passages.
        replaced: whether a quote shows what no longer holds, so that nothing needs it.
        cut: the source of a table of which it is to be said how many rows are quoted.
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
        self._bare: str | None = None  # what is held, without the dress of JSON
        self._index, self._source_of = index, index.source_of
        self._characters, self._estimates = index.characters, index.costs
        self._known, self._is_held = known_quotes(index, count, sources, cut), answers_about(held, index)
        self._of_passages, self._passages_held = self._known, self._is_held  # what the next question knows too
        self._passages, self._index_sources = len(index.quotes), len(index.sources)
        self._frames = index.derived("frames", lambda: fence.frames(index.sources).take(index.source_of))
        self._own_lines: dict[LineKey, QuotedLine] = {}  # of what is no passage
        self.usual = fence.FRAME + float(self._estimates.mean())
        if more:  # their own numbers mean something else to the next question
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
        """The same of several."""
        texts: list[str] = self._known.texts.take(numbers).tolist()
        return texts

    def is_held(self, number: int) -> bool:
        """Whether the request holds the quoted text already, be it without the quotation marks and white space of JSON."""
        found = int(self._is_held[number])
        if found < 0:
            found = self._is_held[number] = self._holds(self.text(number))
            if number < self._passages:
                self._passages_held[number] = found
        return bool(found)

    def release(self, number: int) -> None:
        """Let a quote be chosen although the request may hold it already."""
        if self._is_held[number]:
            self._is_held = self._is_held.copy()  # the answers are those of other questions too
            self._is_held[number] = 0

    def keep_apart(self, numbers: Ints) -> None:
        """Let quotes be chosen although another has the same text, or the request may hold it: each of them counts."""
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
        """Tokens of a quote, and about those of its frame."""
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
        """Tokens of a text that is no passage."""
        known = self._known.sizes
        found = known.get(text)
        if found is None:
            found = known[text] = self.count(text)
        return found

    def without_twins(self, numbers: Ints, chosen: Ints) -> Ints:
        """Those of the numbers whose texts are none of those chosen."""
        twins, is_taken = self._known.twins, np.zeros(len(self._known.twins), bool)
        is_taken[twins.take(chosen)] = True
        return numbers[~is_taken.take(twins.take(numbers))]

    def facts(self, numbers: Ints) -> Iterator[tuple[int, int, int, int]]:
        """Each number with its characters, its tokens as far as they are known, and the first quote with the same text."""
        facts = (numbers, self._characters[numbers], self._known.tokens[numbers], self._known.twins[numbers])
        return zip(*[column.tolist() for column in facts], strict=True)

    # ------------------------------------------------------------ what fits

    def may_fit(self, numbers: Ints, room: int) -> Ints:
        """Those that fit into so many tokens, as far as that is known."""
        small = self._characters[numbers] <= _CHARACTERS * room
        return numbers[small & (self._known.tokens[numbers] <= room - fence.FRAME)]

    def first_fitting(self, numbers: Ints, room: int, chosen: Ints) -> tuple[Ints, int, Ints]:
        """The first of the numbers that fit one after another and are new to the request and to those chosen, with what they
        cost; the others."""
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
        """What is quoted of each message."""
        begins = np.flatnonzero(np.diff(self._source_of.take(ordered), prepend=-1)).tolist()
        numbers = ordered.tolist()
        keys: Sequence[int | tuple[int, ...]] = numbers  # of each message one, as in a chat
        if len(begins) < len(numbers):
            runs = pairwise([*begins, len(numbers)])
            keys = [numbers[a] if b - a == 1 else tuple(numbers[a:b]) for a, b in runs]
        return self._lines_of(keys)

    def _lines_of(self, keys: Sequence[LineKey]) -> list[QuotedLine]:
        known, own = self._known.lines, self._own_lines
        return [known.get(key) or own.get(key) or self._make_line(key) for key in keys]

    def _ordered(self, chosen: Ints) -> Ints:
        """Numbers in the order of the conversation: that of passages is their own."""
        if len(self._known.quotes) == self._passages:
            return np.sort(chosen)
        return np.array(sorted(chosen.tolist(), key=self._known.quotes.__getitem__), np.int64)

    def _make_line(self, key: LineKey) -> QuotedLine:
        named = (key,) if isinstance(key, int) else key
        quotes: list[Quote] = [self._known.quotes[one] if isinstance(one, int) else one for one in named]
        source = self.sources[quotes[0].source]
        passage = fence.passage_of(
            source, quotes, str, counts_rows=quotes[0].source == self._cut
        )  # each quote is escaped by itself
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
                known.alone[key] = tokens[0]  # last: another thread looks at this first
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
        """Tokens of the fence with quotes; 0 without any."""
        if not len(chosen):
            return 0
        found = self._lone_tokens(chosen)
        return max(self._sizes(self._lines(self._ordered(chosen)))) if found is None else found

    def _lone_tokens(self, chosen: Ints) -> int | None:
        """The same where of each message one passage is quoted and the lines' tokens are known; else None."""
        alone = self._known.alone
        if not isinstance(self.count, ModelCounter) or np.bincount(self._source_of.take(chosen)).max() > 1:
            return None
        for number in chosen[alone.take(chosen) < 0].tolist():
            _ = self._known.lines.get(number) or self._own_lines.get(number) or self._make_line(number)
        counts = alone.take(chosen)
        return int(counts.sum()) + sum(map(sum, fence.own_lines(self.count))) if (counts >= 0).all() else None

    def _sizes(self, lines: Sequence[QuotedLine]) -> tuple[int, ...]:
        """The same of lines by each vocabulary, counted as a whole only where they are no sum."""
        if not isinstance(self.count, ModelCounter):
            return (self.count(fence.enclose([line.text for line in lines])),)
        counts = [line.tokens for line in lines]
        if None in counts:
            return self.count.each(fence.enclose([line.text for line in lines]))
        return tuple(map(sum, zip(*fence.own_lines(self.count), *counts, strict=True)))

    def needs(self, chosen: Ints) -> Needs:
        """What those of the chosen quotes that are passages are not to be quoted without."""
        found = needs(chosen[chosen < self._passages], self._index, self.sources)
        if self._replaced is None:
            return found
        source_of, replaced = self._source_of, self._replaced
        return {n: tuple(one for one in ranges if not replaced(Quote(int(source_of[n]), *one))) for n, ranges in found.items()}

    def render_completed(self, chosen: Ints, needed: Needs, room: int) -> Quoted:
        """The quotes, the best first, with what they need, as far as they fit."""
        asked = [ChosenQuote(self._known.quotes[n], self.cost(n), needed.get(n, ())) for n in chosen.tolist()]
        quotes = tuple(complete(asked, self.sources, room, self._size_of))
        numbers = {one.quote: n for one, n in zip(asked, chosen.tolist(), strict=True)}  # of a passage quoted as it is
        keys = [numbers.get(key[0], key) if len(key) == 1 else key for key in fence.by_message(quotes)]
        return self._quoted(quotes, self._lines_of(keys))

    def render(self, chosen: Ints) -> Quoted:
        """The quotes as they stand in a request."""
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
    """As many of the quotes, the best first, as the rendered fence has room for, each with what it needs."""
    return render_quotes(choose_quotes(ranking, budget, tokens), budget, tokens)


def choose_quotes(ranking: RankedQuotes, budget: int, tokens: QuoteTokens) -> Ints:
    """The same, before it is known what they need.

    A label costs two or three tokens, so what three for each leave over is given out once more.
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
    """As many of the chosen quotes, the best first, as fit with what each needs."""
    if needed := tokens.needs(chosen):
        return _complete(chosen, needed, budget, tokens)
    found = tokens.render(chosen)
    while len(chosen) and found.tokens > budget:
        chosen = chosen[:-1]
        found = tokens.render(chosen)
    return found


def _complete(chosen: Ints, needed: Needs, budget: int, tokens: QuoteTokens) -> Quoted:
    """As many of the chosen quotes, the best first, as fit with what they need."""
    room = budget - fence.fence_tokens(tokens.count)
    while True:
        found = tokens.render_completed(chosen, needed, room)
        if found.tokens <= budget:
            return found
        room -= found.tokens - budget


_SPARE: Final = 16  # quotes put in order beyond those that a room holds as a rule


def _take(ranking: RankedQuotes, room: int, before: Ints, tokens: QuoteTokens) -> Ints:
    """The best of the quotes that are new to the request and to those chosen `before`, and fit, the best first."""
    chosen = NO_NUMBERS
    taken = b""
    left = ranking.numbers
    while room >= _LEAST and len(left := tokens.may_fit(left, room)):
        best, left = best_first(ranking.worth, left, _SPARE + int(room / tokens.usual))
        if not len(before):  # as a rule nearly all that fits
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
            if len(before):  # looked for last: that takes longest
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
    """Whether a text is among those that were taken; one with the sign between two texts in it may lie across them.

    They are compared as bytes: with a single emoji among them, each character of the text would take four.
    """
    sought = _encoded(text)
    return sought in taken or (b"\0" in sought and sought in _encoded(held) + b"\0" + taken)

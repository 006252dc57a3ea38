"""SUMMARY: the few sentences that stand for a whole block of messages.

This module chooses them as verbatim quotes and rewords nothing. ``recall.fence`` renders them.

All standing orders of users come first, then the best sentences by centrality and signals (decisions, promises, open questions);
a sentence is worth less if its names and figures are quoted already. A block may be a whole long conversation, so it is read in
two passes: all messages as bags of words, then only the best ones sentence by sentence. Centrality is the mean weight of words in
the block (R. Radev et al. 2004, the centroid, without the matrix).
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from sys import intern
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.memo import Memo
from turnfold.compression.scorers.terms import terms
from turnfold.compression.shorten.prose import TELLS, has_order
from turnfold.compression.shorten.reading import is_run_on
from turnfold.compression.shorten.running_text import without_told_in_passing
from turnfold.compression.shorten.told import NO_ROOM, ToldRoom, told
from turnfold.compression.text.dialogue.own_words import beside_pasted
from turnfold.compression.text.dialogue.replaced_lines import ReplacedLines
from turnfold.compression.text.dialogue.signals import signal_weight
from turnfold.compression.text.dialogue.standing.orders import may_order, orders_nothing
from turnfold.compression.text.lower import lower_text, words, words_within
from turnfold.compression.text.quotes import Quote, Source
from turnfold.compression.text.spans import QUESTION_MARKS, bare_range
from turnfold.compression.text.statements import Statements, StatementsAlone, objection, statements
from turnfold.compression.tokens import Count

_FACT: Final = lazy.pattern(r"(?<=\w )[^\W\d_a-z][^\W_]+|\w*\d[\w.,:/-]*|[\u30a1-\u30f6]{3,}")
_DIGIT: Final = lazy.pattern(r"\d")
# The same for ASCII without digits; most sentences are like that.
_PLAIN_FACT: Final = lazy.pattern(r"[A-Z](?<=\w [A-Z])[^\W_]+")
#: Overhead of rendering, in tokens: the fence, and each quote's mark (``conversation.fence``).
FIXED, PER_QUOTE = 15, 3
# A quote has at least this many words and at most this many characters.
_SHORT, _LONG = 4, 480
_FARTHEST: Final = 20_000  # most characters that a user's words next to a pasted text take along
_ROLE_WORTH: Final = {"user": 0.25, "assistant": 0.15, "system": 0.3, "developer": 0.3}
_TAKE: Final = 4  # most candidates of one message: a summary covers the whole block
_OBJECTED: Final = 2  # messages after one that may retract it
_OPEN: Final = 0.4  # additional worth of a question in the last two messages, which nobody has answered yet
_ASKED: Final = 1.0  # additional worth of a user's words next to a pasted text, which are the reason for sending it
_PER_WORD: Final = 16  # bytes: its position, and a share of the object shared by all messages
_READ: Final = 8  # tokens of budget for each message read sentence by sentence; a quote takes three times that


class _MessageWords(NamedTuple):
    """Results of the first pass: the distinct words, the weight of signals, and whether the message may contain an order."""

    words: tuple[str, ...]
    signal: float
    may_order: bool


class _QuoteCandidate(NamedTuple):
    start: int
    end: int
    order: bool
    words: tuple[str, ...]
    signal: float
    needs: tuple[tuple[int, int], ...] = ()  # ranges of the message that must be quoted with it
    asked: bool = False  # whether a user wrote it next to a pasted text


class _Ranked(NamedTuple):
    """A heap entry: the smallest comes first."""

    minus_value: float
    place: int
    quote: Quote
    base: float
    needs: tuple[tuple[int, int], ...]


def summarise(
    sources: Sequence[Source], budget: int, count: Count, memo: Memo, room_for_told: ToldRoom = NO_ROOM
) -> tuple[Quote, ...]:
    """The quotes that replace a block, in order, within about `budget` tokens when rendered.

    All standing orders of users are included, even beyond the budget. Anything else must fit into it, except users' statements
    (``told``), which have a room of their own.
    """
    said = told(sources, room_for_told, count, memo)
    if budget <= 0:  # in most of a long conversation only the orders are quoted, so nothing else is rated
        ordering = {i: _orders_of(source, memo) for i, source in enumerate(sources) if holds_orders(source, memo)}
        return _beside(said, {*_latest(sources, ordering), *_objections(sources, range(_OBJECTED), memo)})
    messages = [_message_of(source, memo) for source in sources]
    weights = _weights(messages)
    standing_out = _standouts(sources, messages, weights, budget)
    kept = _in_force(sources, {i: _candidates_of(sources[i], memo) for i in sorted(standing_out)}, memo)
    chosen = _latest(sources, {i: [(c.start, c.end) for c in candidates if c.order] for i, candidates in kept.items()})
    # The messages before the block may be quoted by another summary.
    chosen += [quote for quote in _objections(sources, range(_OBJECTED), memo) if quote not in chosen]
    chosen = list(_beside(said, chosen))
    spent = FIXED + sum(count(sources[quote.source].text[quote.start : quote.end]) + PER_QUOTE for quote in chosen)
    seen = {fact for quote in chosen for fact in _facts(sources, quote)}
    quoted = set(chosen)
    whole = {quote.source for quote in said if quote.end - quote.start == len(sources[quote.source].text)}
    queue = _ranking(sources, {i: found for i, found in kept.items() if i not in whole}, weights)
    # Lazy greedy: worth only decreases as facts are quoted, so an item still on top with its current worth is the best.
    while queue and spent + PER_QUOTE + _SHORT < budget:
        top = heapq.heappop(queue)
        value = _value(top.base, _facts(sources, top.quote), seen)
        if queue and -value > queue[0].minus_value + 1e-12:
            heapq.heappush(queue, top._replace(minus_value=-value))
            continue
        needed = (Quote(top.quote.source, start, end) for start, end in top.needs)
        next_ones = range(top.quote.source + 1, top.quote.source + 1 + _OBJECTED)
        new = [quote for quote in (*needed, top.quote, *_objections(sources, next_ones, memo)) if quote not in quoted]
        cost = sum(count(sources[quote.source].text[quote.start : quote.end]) + PER_QUOTE for quote in new)
        if spent + cost <= budget:
            chosen += new
            quoted.update(new)
            spent += cost
            seen.update(fact for quote in new for fact in _facts(sources, quote))
    return _beside(said, chosen)


def _beside(said: Sequence[Quote], others: Iterable[Quote]) -> tuple[Quote, ...]:
    """Users' statements, and the parts of other quotes that they lack, in order."""
    by_source: dict[int, list[Quote]] = {}
    for quote in said:
        by_source.setdefault(quote.source, []).append(quote)

    def holds(one: Quote) -> bool:
        return any(quote.start <= one.start and one.end <= quote.end for quote in by_source.get(one.source, ()))

    return tuple(sorted({*said, *(quote for quote in others if not holds(quote))}))


def holds_orders(source: Source, memo: Memo) -> bool:
    """Whether a message may contain a standing order; False is certain."""
    return memo.get(("may-order", source.role, source.key), lambda: _may_order(source, words(lower_text(source.text))))


def _may_order(source: Source, said: Sequence[str]) -> bool:
    return source.role in TELLS and (not source.text.isascii() or may_order(said, source.text))


def _objections(sources: Sequence[Source], places: range, memo: Memo) -> list[Quote]:
    """Objections in these messages to earlier ones ("No, it wasn't."), with what they need."""
    inside = range(places.start, min(len(sources), places.stop))
    return [Quote(i, *said) for i in inside if sources[i].role != "tool" for said in _objection(sources[i], memo)]


def _objection(source: Source, memo: Memo) -> Sequence[tuple[int, int]]:
    def read() -> Sequence[tuple[int, int]]:
        text = source.text
        first = objection(text)
        if first is None:
            return ()
        whole = statements(text)
        return [bare_range(whole.spans[i], whole.spans[i].of(text)) for i in sorted(whole.with_needs(0))]

    return memo.get(("objection", source.key), read)


def _message_of(source: Source, memo: Memo) -> _MessageWords:
    def weigh(message: _MessageWords) -> int:
        return 150 + _PER_WORD * len(message.words)

    return memo.get(("summary-words", source.role, source.key), lambda: _message(source), weigh)


def _message(source: Source) -> _MessageWords:
    said = words(lower_text(source.text))
    dense = is_run_on(source.text, said)
    bag = _distinct(terms(source.text) if dense else said)
    return _MessageWords(bag, 0.0 if source.role == "tool" else signal_weight(source.text, said), _may_order(source, said))


def _weights(messages: Sequence[_MessageWords]) -> dict[str, float]:
    """Damped frequency of each word in the block; words of a single message are omitted."""
    found: Counter[str] = Counter()
    for message in messages:
        found.update(message.words)
    # Words in half of all messages are grammar, so the weight decreases above a twentieth.
    return {word: math.log(n) / (1 + 20 * n / len(messages)) for word, n in found.items() if n > 1}


def _centre(said: Sequence[str], weights: dict[str, float]) -> float:
    return sum([weights.get(word, 0.0) for word in said]) / (len(said) + 4)


def _standouts(sources: Sequence[Source], messages: Sequence[_MessageWords], weights: dict[str, float], budget: int) -> set[int]:
    """Messages that may contain orders, and the best others by their words."""
    worth = [
        (_centre(m.words, weights) + 0.8 * m.signal, -i) for i, m in enumerate(messages) if m.words and sources[i].role != "tool"
    ]
    best = {-i for _, i in heapq.nlargest(8 + budget // _READ, worth)}
    return best | {i for i, m in enumerate(messages) if m.may_order or i >= len(messages) - 2}


def _in_force(
    sources: Sequence[Source], kept: dict[int, tuple[_QuoteCandidate, ...]], memo: Memo
) -> dict[int, tuple[_QuoteCandidate, ...]]:
    """The candidates without those that show a line of a file that was edited since."""
    replaced = ReplacedLines(sources, memo)
    if not replaced:
        return kept

    def holds(i: int, one: _QuoteCandidate) -> bool:
        return one.order or not replaced.is_shown_in(i, sources[i].text[one.start : one.end])

    return {i: tuple([one for one in found if holds(i, one)]) for i, found in kept.items()}


def _candidates_of(source: Source, memo: Memo) -> tuple[_QuoteCandidate, ...]:
    def weigh(candidates: tuple[_QuoteCandidate, ...]) -> int:
        return 200 + sum(160 + _PER_WORD * len(c.words) for c in candidates)

    return memo.get(_rated(source), lambda: _candidates(source), weigh)


def _rated(source: Source) -> tuple[str, str, bytes]:
    return ("summary-sentences", source.role, source.key)


def _candidates(source: Source) -> tuple[_QuoteCandidate, ...]:
    """The quotable statements of a message, each with the ranges that it depends on."""
    if source.role == "tool":  # only orders are quoted of it, and a tool gives none
        return ()
    read, pieces, said, orders = _read(source)
    found: list[_QuoteCandidate] = []
    ranges = list(map(bare_range, read.spans, pieces))
    begins, ends = [begin for begin, _ in ranges], [end for _, end in ranges]
    own: set[int] = set()
    for one in beside_pasted(source.text) if source.role == "user" else ():
        inside = range(bisect_right(ends, one[0]), bisect_left(begins, one[1]))
        own.update(inside)
        every = read.complete_within(inside, _FARTHEST)
        if every is None or not inside:
            continue
        start, end = min(one[0], begins[inside[0]]), max(one[1], ends[inside[-1]])  # a line may be part of a sentence
        needs = tuple(ranges[i] for i in sorted(every.difference(inside)))
        found.append(_QuoteCandidate(start, end, False, *_weighed(source.text[start:end]), needs, asked=True))
    for i, span in enumerate(read.spans):
        start, end = ranges[i]
        if i not in orders and i in own:
            continue
        dense = is_run_on(pieces[i], said[i])
        if i not in orders and (span.kind or (len(said[i]) < _SHORT and not dense)):
            continue
        if i in orders:  # always quoted, including its needs
            found.append(_QuoteCandidate(start, end, True, *_weighed(pieces[i], said[i])))
        elif end - start <= _LONG and (every := read.missing(i)):
            needs = tuple(ranges[j] for j in sorted(every) if j != i)
            found.append(_QuoteCandidate(start, end, False, *_weighed(pieces[i], said[i]), needs))
    return tuple(found)


def _orders_of(source: Source, memo: Memo) -> Sequence[tuple[int, int]]:
    """The ranges of a message's standing orders with their needs, without rating anything."""

    def make() -> Sequence[tuple[int, int]]:
        candidates: tuple[_QuoteCandidate, ...] | None = memo.find(_rated(source))
        if candidates is not None:
            return [(c.start, c.end) for c in candidates if c.order]
        if orders_nothing(source.text):  # most messages with a word of rules
            return []
        alone = StatementsAlone(source.text)
        pieces, said = _statement_words(source.text, alone.statements)
        orders = _ordering(source, alone.statements, pieces, said)
        if not orders:  # as in most others
            return []
        read = alone.with_needs()
        return [bare_range(read.spans[i], pieces[i]) for i in sorted(read.complete(orders))]

    return memo.get(("summary-orders", source.role, source.key), make, lambda found: 100 + 120 * len(found))


class _ReadStatements(NamedTuple):
    """A message's statements, the text and words of each, and which are standing orders or needed by one."""

    read: Statements
    pieces: list[str]
    said: list[list[str]]
    orders: set[int]


def _read(source: Source) -> _ReadStatements:
    read = statements(source.text)
    pieces, said = _statement_words(source.text, read)
    return _ReadStatements(read, pieces, said, read.complete(_ordering(source, read, pieces, said)))


def _statement_words(text: str, read: Statements) -> tuple[list[str], list[list[str]]]:
    """The text of each statement, and its words."""
    within = words_within(text)
    return [span.of(text) for span in read.spans], [within(start, end) for start, end, _ in read.spans]


def _weighed(piece: str, known: Sequence[str] | None = None) -> tuple[tuple[str, ...], float]:
    """The distinct words of a piece, and the weight of its signals."""
    said = words(lower_text(piece)) if known is None else known
    return _distinct(terms(piece) if is_run_on(piece, said) else said), signal_weight(piece, said)


def _distinct(said: Iterable[str]) -> tuple[str, ...]:
    """The distinct words. Words are shared objects, since most messages have the same ones."""
    return tuple(map(intern, dict.fromkeys(said)))


def _ordering(source: Source, read: Statements, pieces: Sequence[str], said: Sequence[list[str]]) -> set[int]:
    """Statements with a standing order from somebody who may give one."""
    if source.role not in TELLS:
        return set()
    orders = {i for i, span in enumerate(read.spans) if not span.kind and has_order(pieces[i], said[i], read.sizes[i])}
    return without_told_in_passing(source.text, read.spans, orders) if source.role == "user" else orders


def _latest(sources: Sequence[Source], orders: Mapping[int, Sequence[tuple[int, int]]]) -> list[Quote]:
    """All standing orders, by message, identical ones once (the latest)."""
    latest: dict[str, Quote] = {}
    for i, ranges in orders.items():
        for start, end in ranges:
            latest[sources[i].text[start:end]] = Quote(i, start, end)
    return list(latest.values())


def _ranking(sources: Sequence[Source], kept: dict[int, tuple[_QuoteCandidate, ...]], weights: dict[str, float]) -> list[_Ranked]:
    heap: list[_Ranked] = []
    for i, candidates in kept.items():
        role = _ROLE_WORTH.get(sources[i].role, 0.0)
        late = _OPEN if i >= len(sources) - 2 else 0.0
        worth = (
            (_base(c, weights) + role + late * _asks(sources[i].text, c.end), -c.start, c.end, c.needs)
            for c in candidates
            if not c.order
        )
        heap += [
            _Ranked(-2 * base, i, Quote(i, -start, end), base, needs) for base, start, end, needs in heapq.nlargest(_TAKE, worth)
        ]
    heapq.heapify(heap)
    return heap


def _base(candidate: _QuoteCandidate, weights: dict[str, float]) -> float:
    return _centre(candidate.words, weights) + 0.8 * candidate.signal + _ASKED * candidate.asked


def _asks(text: str, end: int) -> bool:
    return text[end - 1 : end] in QUESTION_MARKS


def _facts(sources: Sequence[Source], quote: Quote) -> list[str]:
    text, start, end = sources[quote.source].text, quote.start, quote.end
    plain = text.isascii() and not _DIGIT.search(text, start, end)
    return (_PLAIN_FACT if plain else _FACT).findall(text, start, end)


def _value(base: float, facts: Sequence[str], seen: set[str]) -> float:
    """Up to twice the base, depending on its number of new facts; less than a third for a sentence without any."""
    fresh = len({fact for fact in facts if fact not in seen})
    return base * (0.2 + min(1.8, 0.45 * fresh)) if facts else 0.3 * base

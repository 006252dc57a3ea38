"""Choosing lines of a text under a token limit.

It is the chooser that all line-wise kinds share (code, logs, diffs, search results, tests, traces, listings, YAML, tables), and
writes its choice. It knows no kind: each kind's file says what its lines are worth.

A line is worth its own weight plus the names that no chosen line has shown yet (weighted coverage, chosen greedily by
worth per token: Nemhauser, Wolsey and Fisher 1978; evaluated lazily: Minoux 1978). What an agent needs later from an old
result is nearly always a name in it, and a line that repeats known names has little to add.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import accumulate, chain
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text.heads import heads, in_records, in_sections, opened, remarked
from turnfold.compression.text.spans import STOPS
from turnfold.compression.text.ties.framed import framed
from turnfold.compression.text.ties.marked_lines import (
    continued,
    exchanged,
    in_elements,
    noted,
    priced,
    qualified,
)
from turnfold.compression.text.writers import in_turns
from turnfold.compression.tokens import Count

#: How far evidence may take a text beyond the wanted size.
CEILING: Final = 1.6
#: Texts of at most this many tokens stay unchanged: a note about omitted text would cost about as much as is saved.
FLOOR: Final = 64

#: A longer line is data rather than a line: it is divided into pieces that are chosen individually.
LONGEST: Final = 600

_KNOWN: Final = 0.15  # worth of a name that the reader has elsewhere
_GAP: Final = "…"
_WORD: Final = lazy.pattern(r"\w{3,}")
_COMPOUND: Final = lazy.pattern(r"[a-z0-9][A-Z]|[A-Za-z]\d|\d[A-Za-z]|\w_\w|^__")
_PATH: Final = lazy.pattern(r"[\w.@~/-]+")
#: Maximum number of lines that are weighed, not counting evidence and lines with the task's words.
MOST_ROWS: Final = 4000
_WIDTH: Final = 6  # times the room that is examined
_LOOKS: Final = 6  # maximum number of times, on average, that a row's worth is computed
_LARGE: Final = 2000  # tokens above which a limit need not be met exactly
_PIECE: Final = 16_000  # characters counted at a time
_NEARBY: Final = 40  # characters before a cut in which a blank is looked for
_BREAKS: Final = " ,、，"  # else
_ENDED: Final = lazy.pattern(rf"[.!?][\"'”’)\]]* |[。！？{STOPS}] ?")  # what a long line is cut behind rather
_UNFINISHED: Final = lazy.pattern(r"\d{1,20}\Z")
_TRIES: Final = 8  # rows after the first that does not fit that are tried individually
_JOINT: Final = frozenset("/@")  # characters that join paths and addresses
_MOST_NAMES: Final = 60  # a line with more names is data, not a statement


class WeighedLine(NamedTuple):
    """A line that may be written (a tuple, because a megabyte makes twenty thousand of them).

    Attributes:
        text: the text to write, one line or a few that belong together.
        weight: its own worth; a new name is worth about 1.
        evidence: importance as evidence, 0 to 3; evidence may exceed the limit, up to the ceiling.
        scale: factor for the worth of its names.
        like: lines with the same non-empty key are similar; each further one is worth half of the previous one.
        lines: number of original lines that it represents.
        unmarked: no gap mark is needed before it, because it has its own number or such lines need not be adjacent.
        over: extra tokens that are written with it.
        under: distance back to the heading that it needs (a file's name above its hits); 0 for none.
        needs: distances to other lines without which it would mean something else; negative for lines after it.
    """

    text: str
    weight: float = 1.0
    evidence: int = 0
    scale: float = 1.0
    like: str = ""
    lines: int = 1
    unmarked: bool = False
    over: float = 0.0
    under: int = 0
    needs: tuple[int, ...] = ()


def names(text: str) -> list[str]:
    """Words and paths of a line that a later call may have to repeat, in order, with repetitions."""
    found: list[str] = _WORD.findall(text)
    if "/" in text or "@" in text:
        found += [path for path in _PATH.findall(text) if not _JOINT.isdisjoint(path.strip("/@"))]
    return found[:_MOST_NAMES]


def visible_parts(text: str) -> set[str]:
    """Lines and names in a text, which another text need not repeat (`known` of `registry.facts`)."""
    lines = [line.strip() for line in text.split("\n")]
    return {line for line in lines if len(line) > 12}.union(*map(names, lines))


def is_identifier(name: str) -> bool:
    """Whether a name is a path, an address or a compound identifier, rather than a plain word."""
    return not _JOINT.isdisjoint(name) or _COMPOUND.search(name) is not None


def name_worth(name: str, words: frozenset[str]) -> float:
    """Worth of the first mention of a name: identifiers and paths more than words, the task's words most."""
    if not _JOINT.isdisjoint(name):
        worth = 1.6
    elif _COMPOUND.search(name):
        worth = 1.5
    elif name.isdigit():
        worth = 0.5
    else:
        worth = 0.2 if name.islower() else 0.6
    return worth * 2 + 0.2 if name.lower() in words else worth


class _Worth:
    """Worth of lines, given those already chosen."""

    def __init__(
        self, rows: Sequence[WeighedLine], looked_at: Sequence[int], words: frozenset[str], known: Container[str]
    ) -> None:
        self._rows = rows
        self._names = {i: tuple(dict.fromkeys(names(rows[i].text))) for i in looked_at}
        frequency = Counter(chain.from_iterable(self._names.values()))
        common = max(4.0, len(looked_at) / 8)
        self._value = {
            name: name_worth(name, words if seen <= common else frozenset())
            * (1 + 0.25 * math.log2(seen))
            * (_KNOWN if name in known else 1.0)
            for name, seen in frequency.items()
        }
        self._alike: Counter[str] = Counter()

    def afresh(self) -> _Worth:
        """A copy with no line chosen; only for an instance without choices."""
        copied = copy(self)
        copied._value, copied._alike = dict(self._value), Counter()
        return copied

    def of(self, index: int) -> float:
        """The line's current worth: repeated names count nothing, and each line like a chosen one counts half."""
        row = self._rows[index]
        worth = row.weight + row.scale * math.fsum(map(self._value.__getitem__, self._names[index])) + 4.0 * row.evidence
        return worth / 2 ** min(self._alike[row.like], 20) if row.like else worth

    def take(self, index: int) -> None:
        """Mark the line as chosen: its names are known from now on."""
        for name in self._names[index]:
            self._value[name] = 0.0
        self._alike[self._rows[index].like] += 1


def _cost(row: WeighedLine, rate: float) -> float:
    """Approximate tokens of a line: leading white space is one token, a gap mark another."""
    return len(row.text.strip()) * rate + row.over + (1.5 if row.unmarked else 2.5)


def _rate(rows: Sequence[WeighedLine], count: Count) -> float:
    """Tokens per character, measured on three samples of the text."""
    third = max(1, len(rows) // 3)
    heads = ["\n".join(row.text.strip() for row in rows[at : at + 80])[:2000] for at in range(0, len(rows), third)]
    sample = "\n".join(heads[:3])
    return max(count(sample), 1) / max(len(sample), 1)


def _lines_to_weigh(rows: Sequence[WeighedLine], words: frozenset[str]) -> list[int]:
    """The lines to weigh: for a very long text, the evidence, lines with the task's words, and an even sample."""
    filled = [i for i, row in enumerate(rows) if row.text and not row.text.isspace()]
    if len(filled) <= MOST_ROWS:
        return filled
    telling = {i for i in filled if rows[i].evidence or not words.isdisjoint(rows[i].text.lower().split())}
    return _sample(filled, telling)


def _sample(filled: Sequence[int], telling: set[int]) -> list[int]:
    """An even sample of all lines, and another of the informative ones."""
    chosen = {*_even(filled), *_even(sorted(telling)), filled[-1]}
    return sorted(chosen)


def _even(some: Sequence[int]) -> Sequence[int]:
    step = len(some) / MOST_ROWS
    return some if step <= 1 else [some[int(k * step)] for k in range(MOST_ROWS)]


def rows_of(
    lines: Sequence[str], words: frozenset[str], telling: Iterable[int], make: Callable[[int], WeighedLine]
) -> list[WeighedLine]:
    """`make` for each line of a text, by index. For a very long text, only the lines from `_lines_to_weigh` get one; each run of
    others gets a row that is never chosen.

    Args:
        telling: indices of lines that must be weighed.
    """
    if len(lines) <= MOST_ROWS:
        return [make(i) for i in range(len(lines))]
    filled = [i for i, line in enumerate(lines) if line and not line.isspace()]
    if not filled:
        return []
    named = (i for i in filled if not words.isdisjoint(lines[i].lower().split())) if words else ()
    out: list[WeighedLine] = []
    last = -1
    for i in _sample(filled, {*telling, *named}):
        if i > last + 1:
            out.append(WeighedLine(_GAP, weight=-99.0, lines=i - last - 1))
        out.append(make(i))
        last = i
    return out


def needed_above(lines: Sequence[str], *, headings: bool) -> dict[int, tuple[int, ...]]:
    """For each line, the lines above that it depends on (``text.heads``, `WeighedLine.needs`); empty if `rows_of` samples."""
    if len(lines) > MOST_ROWS:
        return {}
    above: dict[int, tuple[int, ...]] = {i: (distance,) for i, distance in heads(lines, headings=headings).items()}
    found_heads = [remarked(lines), in_sections(lines), in_records(lines), in_turns(lines), opened(lines)]
    found_heads += [
        noted(lines),
        in_elements(lines),
        exchanged(lines),
        continued(lines),
        priced(lines),
        qualified(lines),
    ]
    for i, distance in (pair for pairs in found_heads for pair in pairs.items()):
        above[i] = (*above.get(i, ()), distance)
    for i, others in framed(lines).items():
        above[i] = (*above.get(i, ()), *(i - other for other in others))
    return above


def needed_remarks(lines: Sequence[str]) -> dict[int, tuple[int, ...]]:
    """`needed_above`, where only remarks, the names of blocks of settings and open elements say how a line is to be read."""
    if len(lines) > MOST_ROWS:
        return {}
    above: dict[int, tuple[int, ...]] = {i: (distance,) for i, distance in remarked(lines).items()}
    for i, distance in (*opened(lines).items(), *in_elements(lines).items()):
        above[i] = (*above.get(i, ()), distance)
    return above


def _foremost(entries: list[tuple[bool, float, int]], cost: Mapping[int, float], room: float) -> list[tuple[bool, float, int]]:
    """All evidence, and the best other lines up to this many tokens; a sorted list is a heap."""
    spent = accumulate(0.0 if not tier else cost[index] for tier, _, index in entries)
    return [entry for entry, so_far in zip(entries, spent, strict=True) if so_far <= room or not entry[0]]


class _Weighed(NamedTuple):
    """Lines by index.

    Attributes:
        queues: groups of similar lines: whether each is not evidence, and the negative of its worth per token; best last.
        best: the best line of each group, best first.
    """

    cost: dict[int, float]
    worth: _Worth
    queues: dict[str, list[tuple[bool, float, int]]]
    best: list[tuple[bool, float, int]]


class RankedLines:
    """Lines that are weighed once and then shortened to one or several lengths."""

    def __init__(self, rows: Sequence[WeighedLine], words: frozenset[str], count: Count, known: Container[str] = ()) -> None:
        self.rows = rows
        self.count = count
        self._words, self._known = words, known

    @cached_property
    def whole(self) -> str:
        """All lines as text."""
        return "\n".join([row.text for row in self.rows])

    @cached_property
    def _total(self) -> int:
        return _total(self.rows)

    def written(self, chosen: Sequence[int]) -> str:
        """Some of the lines as text (``write_lines``)."""
        return write_lines(self.rows, chosen, self._total)

    @cached_property
    def _weighed(self) -> _Weighed:
        rows = self.rows
        rate = _rate(rows, self.count)
        looked_at = _lines_to_weigh(rows, self._words)
        cost = {i: _cost(rows[i], rate) for i in looked_at}
        worth = _Worth(rows, looked_at, self._words, self._known)
        queues: dict[str, list[tuple[bool, float, int]]] = {}
        for i in looked_at:
            queues.setdefault(rows[i].like or f"\n{i}", []).append((not rows[i].evidence, -worth.of(i) / cost[i], i))
        for queue in queues.values():
            queue.sort(reverse=True)
        return _Weighed(cost, worth, queues, sorted([queue[-1] for queue in queues.values()]))

    def order(self, keep: int) -> list[int]:
        """Indices of lines in the order in which to take them, evidence first; more than fit `keep` tokens.

        Of similar lines, only the best remaining one is in the heap. Of the others, only those with the highest initial worth
        are, a few times as many as fit. Worth is recomputed only a few times per line, so time is linear in the text.
        """
        cost, best = self._weighed.cost, self._weighed.best
        room = keep * CEILING * 1.3 + 50
        heap = _foremost(best, cost, _WIDTH * room)
        order: list[int] = []
        for index in self._all_taken if len(heap) == len(best) else self._taken(heap):
            order.append(index)
            room -= cost[index]
            if room <= 0:
                break
        return order

    @cached_property
    def _all_taken(self) -> _DrawnLines:
        """All lines in that order, computed as far as it is read. The same for every length at which no line is left out."""
        return _DrawnLines(self._taken([*self._weighed.best]))

    def _taken(self, heap: list[tuple[bool, float, int]]) -> Iterator[int]:
        """The lines in the order in which to take them."""
        rows, (cost, weighed, queues, _) = self.rows, self._weighed
        worth = weighed.afresh()
        taken: Counter[str] = Counter()  # of similar lines
        looks = _LOOKS * len(heap)
        while heap:
            tier, _, index = heapq.heappop(heap)
            now = -worth.of(index) / cost[index]
            looks -= 1
            if looks > 0 and heap and (tier, now) > heap[0][:2]:
                heapq.heappush(heap, (tier, now, index))
                continue
            if now >= 0:
                continue
            worth.take(index)
            yield index
            if like := rows[index].like:
                taken[like] += 1
                if taken[like] < len(queues[like]):
                    heapq.heappush(heap, queues[like][-1 - taken[like]])


class _DrawnLines:
    """The values of an iterator, cached for repeated reading and drawn on demand."""

    def __init__(self, rest: Iterator[int]) -> None:
        self._rest = rest
        self._drawn: list[int] = []

    def __iter__(self) -> Iterator[int]:
        yield from self._drawn
        for index in self._rest:
            self._drawn.append(index)
            yield index


def with_needed(rows: Sequence[WeighedLine], chosen: Sequence[int]) -> set[int]:
    """The chosen lines, with all lines that they depend on, directly or indirectly."""
    kept = set(chosen)
    rest = [i for i in chosen if rows[i].under or rows[i].needs]
    while rest:
        i = rest.pop()
        for distance in (rows[i].under, *rows[i].needs):
            if i - distance not in kept:
                kept.add(i - distance)
                rest.append(i - distance)
    return kept


def _total(rows: Sequence[WeighedLine]) -> int:
    return sum([row.lines for row in rows])


def write_lines(rows: Sequence[WeighedLine], chosen: Sequence[int], total: int | None = None) -> str:
    """The chosen lines in order, with a mark for each gap and, at the end, how many of how many lines are shown.

    `chosen` need not be sorted; what chosen lines need is written too. `total` are all lines, if they are counted already.
    """
    kept = sorted(with_needed(rows, chosen))
    out: list[str] = []
    last = -1
    for index in kept:
        row = rows[index]
        parted = index > last + 1 and out and not (row.unmarked or row.under)
        if parted and any(rows[i].text.strip() for i in range(last + 1, index)):
            out.append(_GAP)
        out.append(row.text)
        last = index
    shown = sum([rows[i].lines for i in kept])
    out.append(f"[{shown} of {_total(rows) if total is None else total} lines]")
    return "\n".join(out)


def fit_to_limit(order: Sequence[int], tokens: Callable[[Sequence[int]], int], limit: float) -> list[int]:
    """The longest beginning of `order` within `limit` tokens, plus any of the next few that still fit.

    The search interpolates, and stops at 96% of a large limit, because each try requires a token count.
    """
    low, high = 0, len(order)
    aim = max(1, int(high / (CEILING * 1.25)))
    while low < high:
        spent = tokens(order[:aim])
        if spent <= limit:
            low = aim
            if limit > _LARGE and spent >= 0.96 * limit:
                break
        else:
            high = aim - 1
        guess = int(aim * limit / max(spent, 1))
        aim = min(max(guess, low + 1 + (high - low) // 8), high - (high - low) // 8)
    taken = list(order[:low])
    for index in order[low + 1 : low + 1 + _TRIES] if limit <= _LARGE else ():
        if tokens([*taken, index]) <= limit:
            taken.append(index)
    return taken


def within(rows: Sequence[WeighedLine], order: Sequence[int], tokens: Callable[[Sequence[int]], int], keep: int) -> list[int]:
    """The part of `order` to take: `keep` tokens, or, if the evidence alone is more, evidence up to the ceiling."""
    taken = fit_to_limit(order, tokens, keep)
    evidence = [i for i in order if rows[i].evidence]
    if sum(1 for i in taken if rows[i].evidence) < len(evidence):
        return fit_to_limit(evidence, tokens, int(keep * CEILING))
    return taken


def short_lines(text: str) -> list[str]:
    """The text's lines; a line longer than `LONGEST` characters is cut into pieces, best where a sentence ends."""
    lines = text.rstrip("\n").split("\n")
    if all(len(line) <= LONGEST for line in lines):
        return lines
    return [piece for line in lines for piece in _pieces(line)]


def _pieces(line: str) -> list[str]:
    out: list[str] = []
    at = 0
    while len(line) - at > LONGEST:
        middle, most = at + LONGEST // 2, at + LONGEST
        ended = [end.end() for end in _ENDED.finditer(line, middle, most)]
        cut = ended[-1] if ended else max(line.rfind(sign, middle, most) for sign in _BREAKS) + 1
        cut = cut or at + LONGEST
        out.append(line[at:cut])
        at = cut
    return [*out, line[at:]]


def is_longer(text: str, tokens: int, count: Count) -> bool:
    """Whether a text certainly has more than `tokens` tokens; counts only as much as necessary."""
    seen = 0
    for at in range(0, len(text), _PIECE):
        seen += count(text[at : at + _PIECE]) - (at > 0)  # a cut inside a token makes two of it
        if seen > tokens:
            return True
    return False


def _beginning(text: str, keep: int, count: Count) -> str:
    """The beginning of a text in which no line fits, in about `keep` tokens including the mark of the omission.

    It ends after a word if one ends nearby: half a figure would be another figure.
    """
    size = min(len(text), 4 * keep)
    while size > 8 and count(text[:size]) > keep:
        size = size * 7 // 8
    size = text.rfind(" ", max(0, size - _NEARBY), size + 1) + 1 or len(_UNFINISHED.sub("", text[:size])) or size
    return f"{text[:size].rstrip()}… [{size} of {len(text)} characters]"


def choose(ranked: RankedLines, keep: int, *, spoken: bool = False) -> str:
    """The best lines that fit `keep` tokens (evidence: `CEILING` times that), written in order.

    If all lines fit they are written without a note. Linear in the text, except for a heap of its lines.

    Args:
        spoken: whether they are prose; if none fits, the best is written whole, since its beginning could mean something else.
    """
    rows, count = ranked.rows, ranked.count
    whole = ranked.whole
    if len(whole) <= 12 * keep and count(whole) <= keep:
        return whole
    order = ranked.order(keep)
    taken = within(rows, order, lambda some: count(ranked.written(some)), keep)
    if taken:
        return ranked.written(taken)
    return ranked.written(order[:1]) if spoken and order else _beginning(whole, keep, count)

"""Layers 1 and 2 of one text: choosing and writing their content.

This module chooses statements by the facts that they carry, and the share of data beside language. What there is to choose from
is in ``judged_text``, requests and results are in ``layers``, scores come from ``scorers``; ``text.statements`` knows what
depends on what, and ``registry`` how data gets shorter.

Language is shown in whole statements, in the source's order and words. Data (logs, JSON, tables, code) of more than a few tokens
is shown by its kind's rule in its share of the budget, with the rule's marks for what is left out; so are smaller blocks that
layer 1 has no room for.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import fsum
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.shorten.coverage import CoverageItem, cover_closely
from turnfold.compression.shorten.evidence import grades
from turnfold.compression.shorten.judged_text import ROWED, JudgedText
from turnfold.compression.shorten.lines import is_longer
from turnfold.compression.text.sections import is_heading
from turnfold.compression.text.spans import QUESTION_MARKS
from turnfold.compression.text.statements import Statements, label_at

# About the worth of a figure at most (``judged_text``).
_SCORE_WORTH, _SIGNAL_WORTH = 0.9, 0.45
_FILLER_FACTOR: Final = 0.3  # factor for a score without any fact or signal: central words alone tell a reader nothing
_SUMMARY_FILLER: Final = 0.6  # the same in a summary, which says what the text is about
# Added as a cube: an answer to a query is worth a figure more. As a factor it would displace the figures of the rest.
_RELEVANCE_WORTH, _RELEVANCE_POWER = 4.0, 3
_QUESTION_FACTOR: Final = 0.6  # a question claims nothing
_ALIKE_FACTOR: Final = 0.5  # of the entries of a series each says less than a sentence that is unlike them
_BESIDE_FACTOR: Final = 0.3  # text quoted in a letter was said before and is answered there; its recipients are not its content
_CRUMB_FACTOR: Final = 0.1  # a few words on a page with buttons
_COUNTER_FACTOR: Final = 0.05  # figures without a word, such as counters of subtitles and pages
_SAID: Final = lazy.pattern(r"[^\W\d_]")
_SIGN: Final = lazy.pattern(r"[^\W_]")
_SIGNATURE, _NAME_WORDS = 60, 3  # characters and words of a signature below a letter, or a cheer in a chat
# Above this many pieces, fewer tries are made to fill the last percent of a budget.
_MANY: Final = 4000
_HEADED: Final = 2  # fewest lines of a useful part of a table
_TINY: Final = 20  # tokens: a block of this size is shown whole or not at all
_PART: Final = 1 / 2  # share of a budget for the shown part of a small block
_MARK: Final = lazy.pattern(r"\[[^\n]*\]|…")
_LEAST: Final = 40  # fewest tokens of data worth showing
_MOST_DATA: Final = 2 / 3  # share of a budget, if small shares are enlarged
_SPOKEN_SHARE: Final = 8  # one token in this many is reserved for statements beside data, if they need it
_REPORTS: Final = frozenset({"log", "tests", "trace"})  # kinds in which programs report
_ROW: Final = 40  # tokens of data that replace one sentence in layer 2
_OVER: Final = 2  # if nothing fits: longest statement, relative to the shortest one
_SHORT: Final = 80  # and characters that are always allowed then


@dataclass(frozen=True, slots=True)
class ChosenText:
    """The parts of a text that are shown.

    Attributes:
        spans: indices of the spans that are shown whole.
        short: replacements for data that is shown in part, by the index of its first span.
    """

    spans: frozenset[int]
    short: Mapping[int, str]


# ---------------------------------------------------------------- layer 1


def choose_facts(source: JudgedText, budget: int) -> ChosenText:
    """The content of layer 1: at most `budget` tokens by the true count, or one statement if none is that short."""
    chosen = _chosen(source, budget)
    if chosen is None:
        return _least(source, budget)
    shown = {*chosen.spans, *chosen.short}
    left_out = frozenset(first for first, last in source.blocks if first not in shown and _is_partible(source, first, last))
    in_part = _chosen(replace(source, partial=left_out), budget) if left_out else None
    return in_part if in_part and not left_out.isdisjoint(in_part.short) else chosen


def _is_partible(source: JudgedText, first: int, last: int) -> bool:
    """Whether a block is worth showing in part: it has facts, and more than a few tokens."""
    return any(source.facts[first:last]) and is_longer(source.slice(first, last), _TINY, source.count)


def _chosen(source: JudgedText, budget: int) -> ChosenText | None:
    """A choice that fits; None if nothing does."""
    short = _shortened(source, budget)
    pieces = _pieces(source)
    over = data_heads(source, short)
    budget -= sum(source.count(source.spans[i].of(source.text)) + 1 for i in over)
    left = budget - sum(source.count(text) + 1 for text in short.values())
    kept = _filling(source, pieces, ChosenText(frozenset(), short), left, budget)
    return ChosenText(_with_sources(source, kept, short, budget) | over, short) if kept or short else None


def _with_sources(source: JudgedText, kept: set[int], short: Mapping[int, str], budget: int) -> frozenset[int]:
    """The kept statements and, as far as the budget allows, the lines above them that name their source (``[Chunk 3] Source:
    ...``).
    """
    titles = [i for i, span in enumerate(source.spans) if not span.kind and is_heading(source.text, span)]
    left = budget - _size(source, sorted(kept), ChosenText(frozenset(), short)) if titles else 0
    out = set(kept)
    shown = sorted({*kept, *short})
    for title, following in pairwise([*titles, len(source.spans)]):
        if bisect_right(shown, title) < bisect_left(shown, following):
            left -= source.count(source.spans[title].of(source.text)) + 1
            if left < 0:
                break
            out.add(title)
    return frozenset(out)


def _filling(
    source: JudgedText,
    pieces: Sequence[CoverageItem],
    shown: ChosenText,
    room: int,
    budget: int,
) -> set[int]:
    """The statements that fill a budget.

    Joined statements have other token counts than their sum, so each try learns from the previous one.
    """
    best: set[int] = set()
    most = 0
    allowed = room
    for _ in range(3 if len(pieces) < _MANY else 2):
        order = cover_closely(pieces, source.weights, allowed, source.read.needs)
        true = _size(source, order, shown)
        allowed += budget - true
        while true > budget and order:
            excess = true - budget
            while order and excess > 0:
                excess -= pieces[order[-1]].cost
                _drop_last(order, source.read)
            true = _size(source, order, shown)
        if order and true > most:
            best, most = set(order), true
        if budget - most <= budget // 100:
            break
    return best


def _size(source: JudgedText, order: Sequence[int], shown: ChosenText) -> int:
    return source.count(write(source, ChosenText(frozenset(order), shown.short)))


def _drop_last(order: list[int], read: Statements) -> None:
    """Remove the last piece of the choice, with the pieces chosen for it."""
    last = order.pop()
    if order and read.needs[last]:
        needed = read.with_needs(last) - {last}
        while order and order[-1] in needed:
            order.pop()


def _pieces(source: JudgedText) -> list[CoverageItem]:
    """Each span as a candidate. Heads, data shown by its own rule, repetitions and buttons are not chosen for themselves."""
    facts, repeated = source.facts, source.repeated
    pieces = []
    for i, span in enumerate(source.spans):
        base = _base(source, i) + source.places[i]
        silent = i in source.in_data or i in repeated or i in source.heads or i in source.buttons
        cost = source.count(span.of(source.text).rstrip())
        pieces.append(CoverageItem(cost, base, 0.0 if silent else _factor(source, i), tuple(facts[i])))
    return pieces


def _base(source: JudgedText, i: int) -> float:
    score = _SCORE_WORTH * source.central[i] * (1.0 if source.facts[i] or source.signals[i] else _FILLER_FACTOR)
    return score + _SIGNAL_WORTH * source.signals[i] + _RELEVANCE_WORTH * source.relevance[i] ** _RELEVANCE_POWER


def _factor(source: JudgedText, i: int) -> float:
    """The factor for a statement's worth, given its part in a letter or a talk."""
    spans, text = source.spans, source.text
    said = spans[i].of(text).rstrip()
    if i in source.beside:
        return _BESIDE_FACTOR
    if len(said) <= _SIGNATURE and len(said.split()) <= _NAME_WORDS and all(word.isalpha() for word in said.split()):
        return 0.0 if i - 1 in source.heads else _CRUMB_FACTOR if source.buttons else _FILLER_FACTOR
    if not _SAID.search(said):
        return _COUNTER_FACTOR
    return (_QUESTION_FACTOR if said.endswith(QUESTION_MARKS) else 1.0) * (_ALIKE_FACTOR if i in source.alike else 1.0)


def _least(source: JudgedText, budget: int) -> ChosenText:
    """Where nothing fits: of the statements that need least room the one that says most for its tokens, or the beginning of
    data."""
    facts = source.facts
    said = [i for i, span in enumerate(source.spans) if not span.kind and i not in source.heads]
    if not said:
        first = next((f for f, _ in source.data), 0)
        last = source.data_ends.get(first, 1)
        text = _least_data(source, source.slice(first, last), max(_LEAST, budget))
        return ChosenText(frozenset(), {first: text}) if text else ChosenText(frozenset({first}), {})

    def value(i: int, needed: Iterable[int]) -> tuple[float, int]:
        worth = _base(source, i) + fsum(source.weights[f] for f in facts[i])
        cost = sum(source.spans[j].end - source.spans[j].start for j in needed)
        return (worth + 0.1) / (cost + 40), -i

    whole = {i: needed for i in said if (needed := source.read.missing(i))} or {said[0]: source.read.with_needs(said[0])}
    sizes = {i: sum(source.spans[j].end - source.spans[j].start for j in needed) for i, needed in whole.items()}
    most = max(_OVER * min(sizes.values()), _SHORT, budget * len(source.text) / max(1, source.count(source.text)))
    best = max((i for i in whole if sizes[i] <= most), key=lambda i: value(i, whole[i]))
    return ChosenText(frozenset(whole[best]), {})


def _least_data(source: JudgedText, text: str, limit: int) -> str:
    """Data in `limit` tokens, or in the fewest that are informative; "" if that would be all of it."""
    most = source.count(text)
    while limit < most:
        short = source.shortener.within(text, limit)
        if says_something(short, text):
            return short
        limit = min(2 * limit, most - 1) if limit < most - 1 else most
    return ""


# ---------------------------------------------------------------- data


def says_something(short: str, text: str) -> bool:
    """Whether what is shown of data has a word or figure in it, where the data has one: "{…}" has none."""
    return bool(short.strip()) and (_SIGN.search(short) is not None or _SIGN.search(text) is None)


def _shortened(source: JudgedText, budget: int) -> dict[int, str]:
    """The replacement for each stretch of data within its share of the budget, by its first span."""
    groups = source.data
    if not groups:
        return {}
    sizes = {first: source.count(source.slice(first, last)) for first, last in groups}
    total = max(1, source.count(source.text))
    alone = all(span.kind for span in source.spans)
    spoken = max(0, total - sum(sizes.values()))
    left = (
        budget if alone else min(int(budget * max(_MOST_DATA, 1 - spoken / total)), budget - min(spoken, budget // _SPOKEN_SHARE))
    )
    out: dict[int, str] = {}
    floors = {first: min(_LEAST, sizes[first]) for first, last in groups if _has_failure(source.slice(first, last))}
    for first, last in sorted(groups, key=lambda group: -sizes[group[0]]):
        floors.pop(first, None)
        heads = source.read.missing(first)
        if heads is None:
            continue
        needed = "".join(source.spans[j].of(source.text) for j in heads if j != first)
        over = source.count(needed) + 1 if needed else 0
        least = int(budget * _PART) if first in source.partial else _LEAST
        share = max(int(budget * sizes[first] / total), min(least, sizes[first]))
        limit = min(left - over, share, max(left - over - sum(floors.values()), left // 2))
        text = short_data(source, source.slice(first, last), source.spans[first].kind, limit)
        if text.strip() and _tells(source, first, last, text):
            out[first] = text
            left -= source.count(text) + 1 + over
    return out


def _tells(source: JudgedText, first: int, last: int, text: str) -> bool:
    """Whether what is shown of data says something: of a table more than its header; of a small block a fact, and that in the
    block's own words, which values of JSON under their names are not."""
    data = source.slice(first, last).strip()
    lines = [line for line in text.strip().split("\n") if not _MARK.fullmatch(line)]
    if source.spans[first].kind in ROWED and len(lines) < _HEADED and "\n" in data:
        return False
    if first not in source.partial:
        return True
    own = "".join(data.split())
    return all("".join(line.split()) in own for line in lines) and any(fact in text.lower() for fact in source.facts[first])


def data_heads(source: JudgedText, shown: Iterable[int]) -> set[int]:
    """What data, by its first span, is not to be read without: the line that introduces it, its heading."""
    return source.read.complete(_with_parts(source, shown)) - source.in_data


def data_heads_within(source: JudgedText, shown: Iterable[int], most: float) -> set[int] | None:
    """The same; None if they have far more than `most` characters."""
    begun = _with_parts(source, shown)
    data = sum(source.spans[i].end - source.spans[i].start for i in begun)
    found = source.read.complete_within(begun, most + data)
    return found if found is None else found - source.in_data


def _with_parts(source: JudgedText, shown: Iterable[int]) -> set[int]:
    begun = set(shown)
    return begun.union(*(range(i, source.data_ends[i]) for i in begun if i in source.data_ends))


def short_data(source: JudgedText, text: str, kind: str, limit: int) -> str:
    """Data of a text in at most `limit` tokens, "" if that is impossible; a fence stays closed."""
    if limit <= 0:
        return ""
    if kind != "fence":
        short = source.shortener.within(text.strip("\n"), limit)
        return short if says_something(short, text) else ""
    opening, _, body = text.strip("\n").partition("\n")
    body, _, closing = body.rpartition("\n")
    inner = source.shortener.within(body, limit - source.count(f"{opening}\n\n{closing}")) if body else ""
    return f"{opening}\n{inner}\n{closing}" if inner.strip() else ""


# ---------------------------------------------------------------- layer 2


def choose_summary(source: JudgedText, most: int, budget: int) -> ChosenText:
    """What layer 2 shows: up to `most` sentences, counting rows of data, in `budget` tokens; may be nothing."""
    short = _telling_rows(source, most, budget)
    left = budget - sum(source.count(text) + 1 for text in short.values())
    left -= sum(source.count(source.spans[i].of(source.text)) + 1 for i in data_heads(source, short))
    room = most - _slots(source, most) * bool(short)
    facts, repeated = source.facts, source.repeated
    silent = repeated | source.heads | source.in_data | source.buttons
    said = [i for i, span in enumerate(source.spans) if i not in silent and (not span.kind or span.kind in ROWED)]
    worth = {i: _summary_worth(source, i, fsum(source.weights[fact] for fact in facts[i])) for i in said}
    chosen: set[int] = set()
    seen: set[str] = set()
    for i in sorted(said, key=lambda i: (-worth[i], i))[: 20 * most]:
        if i in chosen or (facts[i] and facts[i].keys() <= seen):
            continue
        new = source.read.missing(i, chosen)
        size = sum(source.read.sizes[j] for j in new if _is_sentence(source, j)) if new else 0
        size += bool(source.spans[i].kind)
        if not new or size > room:
            continue
        cost = sum(source.count(source.spans[j].of(source.text).rstrip()) + 1 for j in new)
        if cost - 1 <= left:
            chosen |= new
            left -= cost
            room -= size
            seen |= facts[i].keys()
    return ChosenText(frozenset(chosen | data_heads(source, short)), short)


def _is_sentence(source: JudgedText, i: int) -> bool:
    span = source.spans[i]
    return not span.kind and not is_heading(source.text, span)


def _summary_worth(source: JudgedText, i: int, facts: float) -> float:
    """Score, signals and facts of a sentence; a long one needs more of them to be worth its place."""
    weight: float = (len(source.spans[i].of(source.text)) + 60) ** 0.4
    filler = 1.0 if source.facts[i] or source.signals[i] or source.relevance[i] else _SUMMARY_FILLER
    return _factor(source, i) * (3 * filler * source.scores[i] + source.signals[i] + facts / 2) / weight


def _slots(source: JudgedText, most: int) -> int:
    """How many of a number of sentences are rows of data: by its share of the text, and at least one if there is nothing else."""
    groups = _shown_by_rows(source)
    if not groups:
        return 0
    if not any(not span.kind for span in source.spans):
        return most
    size = sum(source.spans[last - 1].end - source.spans[first].start for first, last in groups)
    share = round(most * size / len(source.text))
    telling = any(_has_failure(source.slice(first, last)) for first, last in groups)
    return min(max(share, int(telling)), max(1, most - 1))


def _shown_by_rows(source: JudgedText) -> list[tuple[int, int]]:
    """The blocks whose rows layer 2 may show: data, and a failure that is short enough for layer 1 to show whole."""
    small = (block for block in source.blocks if block not in source.data and source.spans[block[0]].kind in _REPORTS)
    return [*source.data, *(block for block in small if _has_failure(source.slice(*block)))]


def _has_failure(text: str) -> bool:
    return 3 in grades(text.split("\n"))


def _telling_rows(source: JudgedText, most: int, budget: int) -> dict[int, str]:
    slots = _slots(source, most)
    if not slots:
        return {}
    groups = sorted(
        _shown_by_rows(source),
        key=lambda g: (not _has_failure(source.slice(*g)), source.spans[g[0]].start - source.spans[g[1] - 1].end, g),
    )
    first, last = groups[0]
    budget -= sum(source.count(source.spans[i].of(source.text)) + 1 for i in data_heads(source, [first]))
    limit = min(budget, _ROW * slots)
    text = short_data(source, source.slice(first, last), source.spans[first].kind, limit)
    return {first: text} if text.strip() else {}


# ---------------------------------------------------------------- writing


def write(source: JudgedText, chosen: ChosenText) -> str:
    """The chosen spans in order, with the white space after each; a line break separates parts that are not adjacent."""
    out: list[str] = []
    before: int | None = None
    for i in sorted({*chosen.spans, *chosen.short}):
        if before is not None and (before + 1 != i or before in chosen.short or i in chosen.short):
            _break(out, source, before, i)
        out.append(chosen.short.get(i) or source.spans[i].of(source.text))
        before = i
    return "".join(out).lstrip("\n").rstrip()


def _break(out: list[str], source: JudgedText, before: int, i: int) -> None:
    """End a line; after a label the line continues with the speaker's text."""
    if out[-1].endswith("\n") or source.spans[before].kind == "label":
        return
    between = source.text[source.spans[before].end - 1 : source.spans[i].start]
    line = source.text.rfind("\n", 0, source.spans[before].end) + 1
    goes_on = "\n" not in between and label_at(source.text, line, len(source.text)) is not None
    out[-1] = out[-1].rstrip() + (" " if goes_on else "\n")


def shown_entities(source: JudgedText, chosen: ChosenText) -> Iterator[str]:
    """The entities that are shown, in lower case."""
    facts = source.facts
    for i in chosen.spans:
        yield from facts[i]
    for first, text in chosen.short.items():
        last = source.data_ends.get(first, first + 1)
        low = text.lower()
        yield from (fact for k in range(first, last) for fact in facts[k] if fact in low)

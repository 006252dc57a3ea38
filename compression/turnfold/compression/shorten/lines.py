"""Choosing lines of a text under a token limit.

Lives here: the one chooser that every line-wise kind shares (code, logs, diffs, search results, tests, traces, listings,
YAML, tables), and how its choice is written out. Must not: knowledge of a kind; each kind's file says what its lines are
worth.

A line is worth its own weight plus the names that no chosen line has shown yet (weighted coverage, chosen greedily by
worth per token: Nemhauser, Wolsey and Fisher 1978; evaluated lazily: Minoux 1978). What an agent needs later from an old
result is nearly always a name in it, and a line that repeats known names has little to add.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

Count = Callable[[str], int]

#: How far over the wanted size evidence may take a text.
CEILING: Final = 1.6
#: Texts of so few tokens are left alone: any note about what was left out would cost about as much as is saved.
FLOOR: Final = 64

_GAP: Final = "…"
_WORD: Final = re.compile(r"\w{3,}")
_COMPOUND: Final = re.compile(r"[a-z0-9][A-Z]|[A-Za-z]\d|\d[A-Za-z]|\w_\w|^__")
_PATH: Final = re.compile(r"[\w.~-]*(?:/[\w.@-]+)+")
_MOST_NAMES: Final = 60  # a line's names beyond these are not weighed: it is data, not a statement


@dataclass(frozen=True, slots=True)
class Row:
    """A line as it may be written out.

    Attributes:
        text: what is written, one line or a few that belong together.
        weight: worth of having it, in units of about one fresh name.
        evidence: 0, or how sorely it must be kept (1 to 3); evidence may go over the limit, up to the ceiling.
        like: rows with the same non-empty key say the same; each further one is worth half of the last.
        lines: lines of the original that it stands for.
        numbered: the text carries its own line number, so a gap before it shows without a mark.
        under: index distance back to the heading that it needs (a file's name over its hits); 0 for none.
    """

    text: str
    weight: float = 1.0
    evidence: int = 0
    like: str = ""
    lines: int = 1
    numbered: bool = False
    under: int = 0


def names(text: str) -> list[str]:
    """Words and paths of a line that a later call may have to repeat, in order, with repetitions."""
    found: list[str] = _WORD.findall(text)
    if "/" in text:
        found += _PATH.findall(text)
    return found[:_MOST_NAMES]


def name_worth(name: str, words: frozenset[str]) -> float:
    """What a first mention of a name is worth: identifiers, paths and numbers more than words, the task's words most."""
    if "/" in name:
        worth = 1.6
    elif _COMPOUND.search(name):
        worth = 1.5
    elif name.isdigit():
        worth = 0.5
    else:
        worth = 0.2 if name.islower() else 0.6
    return worth + (1.0 if name.lower() in words else 0.0)


class _Worth:
    """Worth of rows against what has been chosen so far."""

    def __init__(self, rows: Sequence[Row], words: frozenset[str]) -> None:
        self._names = [names(row.text) for row in rows]
        frequency = Counter(name for found in self._names for name in set(found))
        common = max(4.0, len(rows) / 8)
        self._value = {
            name: name_worth(name, words if seen <= common else frozenset()) * (1 + 0.25 * math.log2(seen))
            for name, seen in frequency.items()
        }
        self._rows = rows
        self._shown: set[str] = set()
        self._alike: Counter[str] = Counter()

    def of(self, index: int) -> float:
        row, shown, value = self._rows[index], self._shown, self._value
        fresh = sum(value[name] for name in set(self._names[index]) if name not in shown)
        worth = row.weight + fresh
        if row.evidence:
            worth += 4.0 * row.evidence
        return worth / 2 ** min(self._alike[row.like], 20) if row.like else worth

    def take(self, index: int) -> None:
        self._shown.update(self._names[index])
        if self._rows[index].like:
            self._alike[self._rows[index].like] += 1


def _rate(rows: Sequence[Row], count: Count) -> float:
    """Tokens per character, measured on three samples of the text."""
    text = "\n".join(row.text for row in rows)
    third = max(0, len(text) // 3)
    sample = text if len(text) < 6000 else text[:2000] + text[third : third + 2000] + text[2 * third : 2 * third + 2000]
    return max(count(sample), 1) / max(len(sample), 1)


def ranked(rows: Sequence[Row], keep: int, words: frozenset[str], count: Count) -> list[int]:
    """Indices in the order in which they are to be taken, evidence first; more of them than fit `keep` tokens."""
    rate = _rate(rows, count)
    cost = [len(row.text) * rate + 1.5 for row in rows]
    room = keep * CEILING * 1.5 + 50
    worth = _Worth(rows, words)
    heap = [(-bool(row.evidence), -worth.of(i) / cost[i], i) for i, row in enumerate(rows) if row.text.strip()]
    heapq.heapify(heap)
    order: list[int] = []
    while heap and room > 0:
        tier, _, index = heapq.heappop(heap)
        now = -worth.of(index) / cost[index]
        if heap and (tier, now) > heap[0][:2]:
            heapq.heappush(heap, (tier, now, index))
            continue
        worth.take(index)
        order.append(index)
        room -= cost[index]
    return order


def written(rows: Sequence[Row], chosen: Sequence[int]) -> str:
    """Chosen rows in their order, a mark for each gap, and at the end how many of how many lines are shown.

    `chosen` need not be sorted; headings that chosen rows need are written too.
    """
    kept = set(chosen)
    kept |= {i - rows[i].under for i in chosen if rows[i].under}
    out: list[str] = []
    last = -1
    for index in sorted(kept):
        gap = any(rows[i].text.strip() for i in range(last + 1, index))
        if gap and not rows[index].numbered and not rows[index].under:
            out.append(_GAP)
        out.append(rows[index].text)
        last = index
    total = sum(row.lines for row in rows)
    shown = sum(rows[i].lines for i in kept)
    out.append(f"[{shown} of {total} lines]")
    return "\n".join(out)


def _largest(rows: Sequence[Row], order: Sequence[int], limit: int, count: Count) -> int:
    """How many of the first of `order` can be written within `limit` tokens."""
    low, high = 0, len(order)
    while low < high:
        middle = (low + high + 1) // 2
        if count(written(rows, order[:middle])) <= limit:
            low = middle
        else:
            high = middle - 1
    return low


def choose(rows: Sequence[Row], keep: int, words: frozenset[str], count: Count) -> str:
    """The best rows that fit `keep` tokens, evidence to `CEILING` times that, written out in order.

    All rows are written, without a note, where they fit. Linear in the text but for a heap of its rows.
    """
    whole = "\n".join(row.text for row in rows)
    if len(whole) <= 12 * keep and count(whole) <= keep:
        return whole
    order = ranked(rows, keep, words, count)
    evidence = sum(1 for i in order if rows[i].evidence)
    taken = _largest(rows, order, keep, count)
    if taken < evidence:
        taken = _largest(rows, order[:evidence], int(keep * CEILING), count)
    return written(rows, order[:taken])

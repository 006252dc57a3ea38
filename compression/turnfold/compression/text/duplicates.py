"""Texts that repeat an earlier text of the conversation exactly or nearly.

This module finds them. What is done with them, references included, is up to the caller.

Near duplicates are found by similarity of line multisets (weighted Jaccard). Candidates come from an inverted index of line
hashes, without lines that many texts share (braces, blank lines). Texts of few lines are compared by word shingles (Broder 1997).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.memo import digest

SHORTEST: Final = 200  # characters under which a reference is no shorter than the text
_FEW_LINES: Final = 8  # texts of fewer are compared by shingles
_SHINGLE: Final = 4  # words
_COMMON: Final = 32  # texts that share a unit; beyond these it tells nothing
_WORD: Final = lazy.pattern(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Near:
    """Text `index` is nearly identical to text `earlier`, which is itself never a reference."""

    index: int
    earlier: int
    similarity: float


def duplicates(texts: Sequence[str]) -> list[int | None]:
    """For each text the index of the first identical earlier text, or None.

    Texts shorter than `SHORTEST` characters never count. The index never points to a text that is itself a duplicate, so there
    are no chains.
    """
    first: dict[bytes, int] = {}
    out: list[int | None] = []
    for index, text in enumerate(texts):
        seen = first.setdefault(digest(text), index) if len(text) >= SHORTEST else index
        out.append(seen if seen < index else None)
    return out


def _units(text: str) -> Counter[str]:
    """The units by which a text is compared: its lines, or its shingles if it has few lines."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if len(lines) >= _FEW_LINES:
        return Counter(lines)
    words = _WORD.findall(text)
    return Counter(" ".join(words[i : i + _SHINGLE]) for i in range(max(1, len(words) - _SHINGLE + 1)))


def _similarity(one: Counter[str], other: Counter[str]) -> float:
    """Weighted Jaccard of two multisets."""
    small, large = (one, other) if len(one) <= len(other) else (other, one)
    shared = sum(min(times, large[unit]) for unit, times in small.items() if unit in large)
    return shared / (one.total() + other.total() - shared)


def _candidates(units: Counter[str], index: dict[str, list[int]]) -> Iterator[int]:
    """A few earlier texts that share units with this one, most shared first."""
    shared: Counter[int] = Counter()
    for unit in units:
        for earlier in index.get(unit, ()):
            shared[earlier] += 1
    ranked = sorted(shared.items(), key=lambda pair: (-pair[1], pair[0]))
    return (earlier for earlier, _ in ranked[:5])


def near_duplicates(texts: Sequence[str], threshold: float = 0.85) -> list[Near | None]:
    """For each text the earlier text most like it, at `threshold` (0 to 1) or above, or None.

    Identical texts count too (similarity 1.0). A text that is itself a near duplicate is never referred to, so no reference leads
    to a reference. Time is linear in the text, times at most `_COMMON`.
    """
    index: dict[str, list[int]] = {}
    all_units: dict[int, Counter[str]] = {}
    out: list[Near | None] = []
    for i, text in enumerate(texts):
        if len(text) < SHORTEST:
            out.append(None)
            continue
        units = _units(text)
        scored = ((_similarity(units, all_units[j]), -j) for j in _candidates(units, index))
        best, minus = max(scored, default=(0.0, 0))
        if best >= threshold:
            out.append(Near(i, -minus, best))
            continue
        out.append(None)
        all_units[i] = units
        for unit in units:
            holders = index.setdefault(unit, [])
            if len(holders) < _COMMON:
                holders.append(i)
    return out

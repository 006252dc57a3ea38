"""Text in two columns with their lines side by side, as copied from a PDF: a sentence continues below, not to the right.

This module finds the halves of such lines, and which of them make up each sentence. Tables, whose cells are a few words each, are
in ``text.blocks``; other text is cut in ``text.sentences``.

One pass over the lines: linear.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.blocks import Range

_GAP: Final = lazy.pattern(r"(?<=\S)[ \u00a0]{2,}+(?=\S)")
_FEWEST: Final = 4  # lines of which both halves say something
_HALF: Final = 2.5  # words of a half, on the average of its column
_MOST_GAPS: Final = 5  # one line of so many with another gap: else it is a table
_LETTERS: Final = 0.7  # of all halves
_LEAST: Final = 16  # characters of the left column
_END: Final = lazy.pattern(r"(?<!\b[A-Za-z])[.!?…][\"'”’»)\]]*(?=\s+[\"'“‘«(]?[^\Wa-z_]|\s*\Z)")
_BLANKS: Final = lazy.pattern(r"\s*")
_WORD: Final = lazy.pattern(r"[^\W\d_]+")


def side_by_side(text: str) -> list[list[tuple[Range, ...]]]:
    """By each place with such columns their sentences, each as the ranges of its parts in reading order."""
    if text.count("   ") < _FEWEST or text.count("\n") < _FEWEST - 1:
        return []
    lines = text.split("\n")
    starts = [*accumulate((len(line) + 1 for line in lines), initial=0)]
    return [[*_sentences(text, [*_halves(lines, starts, range(first, stop), column)])] for first, stop, column in _regions(lines)]


def parts_beside(text: str) -> list[Range]:
    """Where each part of such a sentence stops and where the next one begins."""
    return [(one[1], other[0]) for sentences in side_by_side(text) for parts in sentences for one, other in pairwise(parts)]


def _regions(lines: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """The first line of two columns, that behind the last, and where the right one begins."""
    gaps = [frozenset(m.end() for m in _GAP.finditer(line)) for line in lines]
    often = Counter(at for found in gaps for at in found if at >= _LEAST)
    for column, times in often.most_common(1):
        if times < _FEWEST:
            return
        fits = [_fits(line, column) for line in lines]
        for is_inside, run in groupby(range(len(lines)), fits.__getitem__):
            both = [i for i in run if is_inside and column in gaps[i]]
            if len(both) >= _FEWEST and _is_prose(lines, both, column):
                stop = next((i for i in range(both[-1], len(lines)) if not fits[i]), len(lines))
                yield both[0], stop, column


def _fits(line: str, column: int) -> bool:
    """Whether no text of a line crosses the gap before the right column."""
    return not line[column - 2 : column].strip() and (len(line) <= column or not line[column].isspace())


def _is_prose(lines: Sequence[str], both: Sequence[int], column: int) -> bool:
    """Whether the halves are words for the most part, and too many for cells, in either column."""
    if _MOST_GAPS * sum(len(_GAP.findall(lines[i].strip())) > 1 for i in both) > len(both):
        return False
    if 2 * sum(lines[i][:column].rstrip().endswith(":") for i in both) > len(both):
        return False  # names and their values
    return all(
        _are_words([half.strip() for half in halves])
        for halves in zip(*((lines[i][:column], lines[i][column:]) for i in both), strict=True)
    )


def _are_words(halves: Sequence[str]) -> bool:
    words = [word for half in halves for word in _WORD.findall(half)]
    signs = sum(len(half.replace(" ", "")) for half in halves)
    return len(words) >= _HALF * len(halves) and sum(map(len, words)) >= _LETTERS * signs


def _halves(lines: Sequence[str], starts: Sequence[int], inside: range, column: int) -> Iterator[Range]:
    """The halves of the left column, then those of the right one; an empty one is an empty range."""
    for left in (True, False):
        for i in inside:
            line = lines[i]
            half = line[:column] if left else line[column:]
            begin = starts[i] + (0 if left else min(column, len(line)))
            said = half.strip()
            at = begin + (half.index(said) if said else 0)
            yield at, at + len(said)


def _sentences(text: str, halves: Sequence[Range]) -> Iterator[tuple[Range, ...]]:
    """The sentences of a column, which a blank half ends too, unless it goes on with a small letter behind it."""
    parts: list[Range] = []
    said = iter([at for at, stop in halves if at < stop])
    following = text[at] if (at := next(said, -1)) >= 0 else ""
    for start, stop in halves:
        if start == stop:
            if parts and not following.islower():
                yield tuple(parts)
                parts = []
            continue
        following = text[at] if (at := next(said, -1)) >= 0 else ""
        at = start
        for end in _END.finditer(text[start:stop]):
            parts.append((at, start + end.end()))
            yield tuple(parts)
            parts = []
            at = start + end.end()
            at = _BLANKS.match(text, at, stop).end()  # type: ignore[union-attr]  # it matches everywhere
        if at < stop:
            parts.append((at, stop))
    if parts:
        yield tuple(parts)

"""Program output without lines whose figures nobody needs to copy.

A form of a text from which every figure, identifier, path and URL can still be copied. What these are is defined in
``text.figures``; rules by kind of content are in ``registry``.

Neighbouring lines that differ in some words only become a table: a line with marks for these words, then their words line by
line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import chain
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.shorten.prose import join
from turnfold.compression.text.figures import figures
from turnfold.compression.text.heads import heads
from turnfold.compression.text.sentences import sentences
from turnfold.compression.text.ties.marked_lines import noted, qualified

_HOLE: Final = "§"
_GAP: Final = "…"
_FEWEST: Final = 4  # lines that make a table
_LONG: Final = 240  # characters from which a line is treated sentence by sentence
_WITH_DIGIT: Final = lazy.pattern(r"(?<![^ ])[^ 0-9]*+[0-9][^ ]*+")


def line_figures(text: str) -> list[tuple[str, ...]]:
    """The figures of each line of a text."""
    return [figures(line) for line in text.split("\n")]


def with_figures(text: str, short: str, listed: Sequence[tuple[str, ...]]) -> str:
    """The shorter form `short` if it has every figure of a text, else the lines needed for them.

    Args:
        short: a lossy form, whose lines are kept.
        listed: `line_figures(text)`.
    """
    kept = _needed_lines(text, short, listed)
    if kept is None:
        return short
    made = "\n".join(_tables(kept))
    return made if len(made) < len(text) else text


def _needed_lines(text: str, short: str, listed: Sequence[tuple[str, ...]]) -> list[str] | None:
    """The lines of a text that are in `short` or have a new figure, with gaps marked; None if `short` has all figures."""
    lines = text.split("\n")
    there = {figure for found in line_figures(short) for figure in found}
    if all(there.issuperset(found) for found in listed):
        return None
    shown = set(short.split("\n"))
    said: set[str] = set()
    kept: dict[int, str] = {}
    for i, (line, found) in enumerate(zip(lines, listed, strict=True)):
        if (line.strip() and line in shown) or not said.issuperset(found):
            kept[i] = line if line in shown or len(line) < _LONG else _needed_sentences(line, said)
            shown.discard(line)
            said.update(found)
    for i, above in chain(reversed(heads(lines, headings=True).items()), noted(lines).items(), qualified(lines).items()):
        if i in kept:
            kept.setdefault(i - above, lines[i - above])
    out: list[str] = []
    for i in range(len(lines)):
        if i in kept:
            out.append(kept[i])
        elif not out or out[-1] != _GAP:
            out.append(_GAP)
    return out


def _needed_sentences(line: str, said: Set[str]) -> str:
    """The sentences of a long line with a new figure."""
    known = set(said)
    spans = sentences(line)
    chosen: set[int] = set()
    for i, span in enumerate(spans):
        found = figures(span.of(line))
        if not known.issuperset(found):
            known.update(found)
            chosen.add(i)
    return join(line, spans, chosen) if chosen else line


def _tables(lines: Sequence[str]) -> Iterator[str]:
    shapes = [*map(_shape, lines)]
    at = 0
    while at < len(lines):
        end = at + 1
        while shapes[at] and end < len(lines) and shapes[end] == shapes[at]:
            end += 1
        if end - at >= _FEWEST:
            yield from _table(lines[at:end])
        else:
            yield from lines[at:end]
        at = end


def _shape(line: str) -> str:
    """A line with a mark for each word with a digit; empty if it can't be a table row."""
    if _HOLE in line:
        return ""
    if line.isascii():
        shape = _WITH_DIGIT.sub(_HOLE, line)
    else:
        shape = " ".join(_HOLE if any(map(str.isdigit, word)) else word for word in line.split(" "))
    return shape if _HOLE in shape else ""


def _table(lines: Sequence[str]) -> Iterator[str]:
    rows = [line.split(" ") for line in lines]
    fixed = [len(set(column)) == 1 for column in zip(*rows, strict=True)]
    if all(fixed):
        yield from lines
        return
    head = " ".join(word if same else _HOLE for word, same in zip(rows[0], fixed, strict=True))
    yield f"[{len(lines)} lines of: {head}]"
    for row in rows:
        yield " ".join(word for word, same in zip(row, fixed, strict=True) if not same)

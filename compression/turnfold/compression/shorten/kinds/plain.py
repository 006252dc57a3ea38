"""Program output of no more specific kind: choosing its important lines.

This is the rule for lines of unknown structure. More specific kinds have files of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.shorten.evidence import graded_lines, grades, odd_rows, odd_settings, with_messages
from turnfold.compression.shorten.lines import WeighedLine, needed_above, rows_of, short_lines
from turnfold.compression.text.beside import beside
from turnfold.compression.text.statements import statements
from turnfold.compression.text.writers import written_by

_OFTEN: Final = 3
_ALIKE: Final = 6  # statements that differ in their figures only are a series
_VARYING: Final = lazy.pattern(r"[0-9][0-9a-f]*")
_BEGUN: Final = lazy.pattern(r"[a-f]{1,7}#")  # a hexadecimal number may begin with letters
_NUMBERS: Final = lazy.pattern(r"(?:0x)?[a-f]{0,7}[0-9][0-9a-f]*")
_AND: Final = "… and "
_EXCERPT: Final = lazy.pattern(r" *+(?:\d++ *+)?\|")  # source that a compiler quotes
_SAID: Final = lazy.pattern(r"[^\W\d_]{2}")
_BESIDE: Final = 0.2  # worth of a header, a quoted mail, a button
_COUNTER: Final = 0.05  # worth of a line without a word: a number, a time, a rule
_FEW: Final = 2  # numbers that are enough to abbreviate a failure; with more, it would be unclear which is which
_FAILURE: Final = 3  # the highest grade
_LONG: Final = 50  # characters of a line that is worth abbreviating


def template(line: str) -> str:
    """The line with its variable parts replaced."""
    return _strike_values(line.strip())


def templates(lines: Sequence[str]) -> list[str]:
    """`template` of each line, in one pass; no line contains a line break."""
    return _strike_values("\n".join([line.strip() for line in lines])).split("\n") if lines else []


def alike(said: Mapping[int, str]) -> frozenset[int]:
    """Which statements, by index, several others repeat with other figures: the entries of a series."""
    read = templates([" ".join(piece.split()) for piece in said.values()])
    often = Counter(read)
    return frozenset(i for i, one in zip(said, read, strict=True) if often[one] >= _ALIKE)


def _strike_values(text: str) -> str:
    struck = _VARYING.sub("#", text)
    return _BEGUN.sub("#", struck) if "#" in struck else struck


def in_short(rows: Sequence[WeighedLine]) -> list[WeighedLine]:
    """Failures that repeat the previous one with other numbers, reduced to these numbers: `… and 43, 4`."""
    out: list[WeighedLine] = []
    first = 0
    for i, row in enumerate(rows):
        if i == 0 or row.like != rows[i - 1].like or row.evidence < 3 or len(row.text) < _LONG:
            first = i
            out.append(row)
            continue
        before, said = _NUMBERS.findall(rows[first].text), _NUMBERS.findall(row.text)
        new = [now for was, now in zip(before, said, strict=False) if now != was]
        short = f"{_AND}{', '.join(new)}"
        fits = len(before) == len(said) and 1 <= len(new) <= _FEW and len(short) * 3 < len(row.text)
        out.append(row._replace(text=short, under=i - first) if fits else row)
    return out


def sentence_rows(text: str) -> list[WeighedLine]:
    """Prose: one row for each statement, after its speaker's label. Numbers and names decide; the first statement of a line is
    worth more, a line that only names the writer nothing.
    """
    read = statements(text)
    said = [span.of(text) for span in read.spans]
    labels = {i for i, span in enumerate(read.spans[:-1]) if span.kind == "label" and not said[i].endswith("\n")}
    said = ["" if i in labels else (said[i - 1] if i - 1 in labels else "") + piece for i, piece in enumerate(said)]
    pieces = [piece.strip() for piece in said]
    aside = beside(text, read.spans)
    writers = written_by(text)
    heads = {i for i, span in enumerate(read.spans) if (above := writers.above(span.end)) and span.start < above[1]}
    graded = grades([" ".join(piece.split("\n")) for piece in pieces])

    def weight(i: int) -> float:
        if i in heads or i in aside:
            return 0.0 if i in heads else _BESIDE
        at = read.spans[i].start
        return 1.2 if text[at - 1 : at] in ("", "\n") or i - 1 in labels else 0.4

    return [
        WeighedLine(
            piece,
            weight=weight(i),
            unmarked=True,
            scale=0.0 if i in heads else 1.0,
            evidence=1 if grade == _FAILURE else 0,
            needs=tuple(i - n for needed in read.needs[i] if (n := needed + (needed in labels)) != i),
            lines=piece.count("\n") + 1 if piece else 0,
        )
        for i, (piece, grade) in enumerate(zip(pieces, graded, strict=True))
    ]


def rows(text: str, words: frozenset[str]) -> list[WeighedLine]:
    """Every line, with failures and outcomes as evidence; the first and the last are worth slightly more.

    A warning or an outcome that is repeated with other numbers counts as evidence three times, a failure always.
    """
    lines = short_lines(text)
    found = with_messages(lines, grades(lines))
    above = needed_above(lines, headings=True)
    odd, last = odd_settings(lines) | odd_rows(lines), len(lines) - 1
    seen: Counter[str] = Counter()

    def row(i: int) -> WeighedLine:
        key = template(lines[i])
        seen[key] += 1
        evidence = found[i] if found[i] == 3 or seen[key] <= _OFTEN else int(i in odd)
        if _EXCERPT.match(lines[i]):
            return WeighedLine(lines[i], weight=-0.2, scale=0.4)
        worth = 2.0 if i in (0, last) else 0.6 if _SAID.search(lines[i]) else _COUNTER
        return WeighedLine(lines[i], weight=worth, evidence=evidence, like=key, needs=above.get(i, ()))

    return in_short(rows_of(lines, words, {*odd, *graded_lines(found)}, row))

"""Lines without which others must not be read, recognised by marks: a note below its sign, an element around its content, the
first line of a request above its answer, column names above their rows, what a line is indented under.

This module finds them in text that is shown line by line, and for requests also among sentences. Heads, sections and remarks are
in ``heads``, notes below sentences in ``farther``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.heads import opened
from turnfold.compression.text.ties.pieces import StatementPiece

_NOTE: Final = lazy.pattern(r"[ \t]*(\*{1,3}|[†‡§¹²³⁴-⁹]|\[\^\w{1,3}\]:|\(\d\))[ \t]*(?=[^\W_])")
#: The same signs behind what they are about.
_NOTE_USED: Final = lazy.pattern(
    r"(?:(?<=[^\s*(\[|])|(?<=\w[ \t])|(?<=\S[ \t])(?!\*))(\*{1,3}|[†‡§¹²³⁴-⁹]|\[\^\w{1,3}\]|\(\d\))(?![\w*])"
)
_MARKS: Final = frozenset("*†‡§¹²³⁴⁵⁶⁷⁸⁹[(")
_ELEMENT: Final = lazy.pattern(
    r"\s*<(?P<name>[A-Za-z][\w:.-]*)(?P<fields>(?:\s+[\w:.-]+\s*=\s*(?:\"[^\"]*+\"|'[^']*+'))*+)\s*>\s*"
)
_ELEMENT_END: Final = lazy.pattern(r"\s*</[A-Za-z][\w:.-]*\s*>\s*")
_FIELD: Final = lazy.pattern(r"\s(?!xmlns\b)[\w:.-]+\s*=")
_PAGE: Final = ("<div", "<html", "<span", "<body")  # whose elements say how it looks
#: "> POST /v2/transfer HTTP/1.1", "GET http://localhost/x HTTP/2", and what follows it: a field, a status, a body.
_REQUEST: Final = lazy.pattern(r"(?:[>*<] ?)?(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|CONNECT|TRACE) \S+ HTTP/\d")
_STATUS: Final = lazy.pattern(r"(?:[<*>] ?)?HTTP/\d(?:\.\d)? \d{3}\b")
#: "€ 119.00", "1.299,00 kr", "34 %".
PRICE: Final = lazy.pattern(
    r"[ \t]*[+–-]?(?:(?:[$€£¥₹₩]|[A-Z]{2,3}\$?)[ \u00a0]?\d[\d.,’' \u00a0]{0,16}"
    r"|\d[\d.,’' \u00a0]{0,16}(?:[$€£¥₹₩%]|kr\b|[A-Z]{3}\b))[.-]*\s*"
)
_CELLS: Final = lazy.pattern(r" {2,}+|\t")
_FEWEST_CELLS: Final = 3
_LONGEST_PRICE: Final = 40  # characters
_SLIGHTLY: Final = 1  # blanks more that tell nothing
_DEEPEST: Final = 24  # lines that open what a line stands in, from the innermost out


def noted(lines: Sequence[str]) -> dict[int, int]:
    """By index of a line with a note's sign, how far below it the note is, as a negative number."""
    notes = [(i, m[1].rstrip(":")) for i, line in enumerate(lines) if line.lstrip()[:1] in _MARKS and (m := _NOTE.match(line))]
    often = Counter(mark for _, mark in notes)
    place = {mark: i for i, mark in notes if often[mark] == 1}  # else it marks the items of a list
    last = max(place.values(), default=0)
    used = ((k, [place.get(mark, -1) for mark in _NOTE_USED.findall(line)]) for k, line in enumerate(lines[:last]))
    return {k: k - max(notes) for k, notes in used if max(notes, default=-1) > k}


def in_elements(lines: Sequence[str]) -> dict[int, int]:
    """By index of a line of XML, how far above it the element around it opens, if that element has fields: ``<order
    status="cancelled">``.
    """
    if not any(line.lstrip().startswith("<") for line in lines) or any(sign in line for line in lines for sign in _PAGE):
        return {}
    found: dict[int, int] = {}
    above = [-1]  # for each element that is open the nearest one with fields, itself or around it
    for i, line in enumerate(lines):
        if _ELEMENT_END.fullmatch(line) and above[1:]:
            above.pop()
        opens = _ELEMENT.fullmatch(line)
        nearest = above[-1]
        if nearest >= 0 and line.strip():
            found[i] = i - nearest
        if opens:
            above.append(i if _FIELD.search(opens["fields"]) else nearest)
    return found


def exchanged(lines: Sequence[str]) -> dict[int, int]:
    """By index of a line of a request or its answer, how far above it the first line of the request, or of the answer, is."""
    found: dict[int, int] = {}
    request = status = -1
    for i, line in enumerate(lines):
        if _REQUEST.match(line):
            request, status = i, -1
        elif request >= 0 and line.strip():
            answers = _STATUS.match(line)
            status = i if answers else status
            found[i] = i - (request if answers or status < 0 else status)
    return found


def continued(lines: Sequence[str]) -> dict[int, int]:
    """By index of a row of cells in columns, the distance to an indented line just below it without cells: what was paid, why a
    value is unreliable.
    """
    return {
        i: -1
        for i, (line, below) in enumerate(pairwise(lines))
        if below.startswith("  ")
        and len(below) - len(below.lstrip()) > len(line) - len(line.lstrip()) + _SLIGHTLY
        and len(_CELLS.split(line.strip())) >= _FEWEST_CELLS
        and len(_CELLS.split(below.strip())) == 1
    }


def priced(lines: Sequence[str]) -> dict[int, int]:
    """By index of an amount on a line of its own, how far above it the line is that says what it is for."""
    found = {i for i, line in enumerate(lines) if len(line) <= _LONGEST_PRICE and PRICE.fullmatch(line)}
    return {i: 1 for i in found if i and i - 1 not in found and lines[i - 1].strip()}


def qualified(lines: Sequence[str]) -> dict[int, int]:
    """By index of an amount on a line of its own, the distance to the line below it that gives its unit: "$14 / per month"."""
    return {
        i: -1
        for i, (line, below) in enumerate(pairwise(lines))
        if len(line) <= _LONGEST_PRICE and says_per_what(below) and PRICE.fullmatch(line)
    }


def says_per_what(line: str) -> bool:
    """Whether a line goes on from an amount above it: with a small letter, a stroke or a bracket."""
    sign = line.lstrip()[:1]
    return sign.islower() or sign in ("/", "(")


def openings(text: str) -> dict[int, tuple[tuple[int, int], ...]]:
    """By the start of a line, the ranges of the lines that open what it is inside, the outermost first."""
    if "{" not in text and "</" not in text and " HTTP/" not in text:
        return {}
    lines = text.split("\n")
    starts = [*accumulate((len(line) + 1 for line in lines), initial=0)]
    found: dict[int, tuple[int, ...]] = {}  # by line those that open what it stands in
    for distances in (opened(lines), in_elements(lines), exchanged(lines)):
        for i, distance in distances.items():
            above = i - distance
            found[i] = (*found.get(above, ())[1 - _DEEPEST :], above)
    return {starts[i]: tuple((starts[k], starts[k] + len(lines[k])) for k in dict.fromkeys(above)) for i, above in found.items()}


def exchange_ties(text: str, pieces: Sequence[StatementPiece]) -> Iterator[tuple[int, int]]:
    """Pairs of a sentence of a request or its answer and the one that says what was asked, or how it was answered."""
    if " HTTP/" not in text or "\n" not in text:
        return
    lines = text.split("\n")
    found = exchanged(lines)
    starts = [*accumulate((len(line) + 1 for line in lines), initial=0)] if found else []
    begins = [piece.span.start for piece in pieces]

    def piece_at(line: int) -> int:
        return bisect_right(begins, starts[line]) - 1

    for line, distance in found.items():
        if (one := piece_at(line)) != (other := piece_at(line - distance)):
            yield one, other

"""The frame of a line in structures without a rule of their own: timetables, price lists, cards, rosters, outlines, menus.

For each line of such a text, this module finds the lines without which it must not be read. Marks of a known kind are in
``marked_lines`` and ``heads``; words are read in the other files of ties.

Whatever kind of page it is, there are few ways to say what a line is about. A line is about the first line of its paragraph, the
last line that is only a name, the line that it is indented under, and the names of its columns. A line that is a paragraph of its
own is about everything that follows. A line below that has the same sign is a note on it. A short title, or a remark that ends
the page, is about everything. Each of these lines is short, so in doubt it is shown too.

One pass over the lines, each compared with a bounded number of others: linear.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice, pairwise
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.heads import FIELD
from turnfold.compression.text.spans import QUESTION_MARKS, STOPS
from turnfold.compression.text.ties.pieces import ITEM, StatementPiece
from turnfold.compression.text.ties.side_by_side import side_by_side

_FEWEST_LINES: Final = 4  # of a page
_CELLS: Final = lazy.pattern(r" {2,}+|\t+")
_FEWEST_CELLS: Final = 3
_FIGURES: Final = 3  # one cell of so many with a figure: it is no line of names
#: How far a line is indented, by blanks or by the branches of a tree.
_LEAD: Final = lazy.pattern(r"(?:[ \t\u00a0│├└╰┬─]|[|`](?=  |--))*+")
_SLIGHTLY: Final = 1  # blanks more that tell nothing in front of a figure, which may be set to the right
_FARTHEST_IN: Final = 24  # blanks; what is indented farther stands in the middle or at the right
_FENCES: Final = ("```", "~~~")
_MARKED: Final = lazy.pattern(r"#{1,6} |\*\*[^*]+\*\*:?\Z|__[^_]+__:?\Z|[=-]{3,}\Z")
_MARKS: Final = frozenset("#*_=-")
_ENDS: Final = (*f".!?…。！？{STOPS}",)
#: A line that is nothing but a name: "Ground floor", "For (4)", "Room 14", "TAURUS".
_NAME: Final = lazy.pattern(r"[^\W\d_][\w'’&/-]*(?: [\w'’&/-]+){0,3}(?: \([^()\n]{1,24}\))?:?")
_LEAST_SCRAPS: Final = 1 / 15  # of the characters of a page
_SCRAP_WORDS: Final = 9  # of a line that is no sentence
_RECORDS: Final = 2  # so many are several
_ALIKE: Final = 5  # lines of which fewer than one looks like the first: that one is no item
_TITLE_WORDS: Final = 15
_TITLE_LINES: Final = 2
_LONGEST_HEAD: Final = 100  # characters
_LONGEST_HEADER: Final = 300
_LONGEST_NOTE: Final = 300
_FEWEST_NAMES: Final = 2
_TOGETHER: Final = 2  # names right below each other that head what follows together
#: A note: its sign, and what it says: "b  Fridays only", "S = only on school days", "** contains alcohol".
_NOTE: Final = lazy.pattern(
    r"(?:^|(?<=  )|(?<=[,;:] ))[ \t]*"
    # Behind a letter one blank tells nothing: "A los docentes", "I think".
    r"(\(\w\)(?=[ \t=:–-])|[^\w\s]{1,3}(?=[ \t=:–-])|[A-Za-z](?= ?[=:–-] |  |\t)|(?<=[,:] )\d{1,2}(?=[ \t=:–-]))"
    r"(?: ?[=:–-] |[ \t]+)(?=[^\W_])"
)
_BEFORE_NOTES: Final = ("  ", ", ", "; ", ": ")
_SIGN: Final = lazy.pattern(r"\(\w\)|(?<![^\W\d_])[A-Za-z](?![^\W_])|[^\w\s.,:;()–-]{1,3}|(?<![\w.])\d{1,2}(?![\w.])")
_MOST_NOTED: Final = 3  # lines with a note of the same sign, as below several tables
_FEW_SIGNS: Final = 8  # which are looked for one by one
_LAST_WORDS: Final = 40  # of the remarks that end a page
_LAST_LINES: Final = 3
_MOST_GOVERNING: Final = 24  # lines of one line, from the nearest out


class _PageLine(NamedTuple):
    """A line with something in it.

    Attributes:
        at: its index.
        words: how many.
        cells: how many columns it has.
        paragraph: which paragraph it belongs to.
        is_scrap: whether it is no sentence.
    """

    at: int
    body: str
    indent: int
    words: int
    cells: Sequence[str]
    paragraph: int
    is_scrap: bool

    @property
    def is_free(self) -> bool:
        """Whether it is neither a sentence nor an item of a list, which has a head of its own."""
        return self.is_scrap and ITEM.match(self.body) is None

    @property
    def is_note(self) -> bool:
        """Whether it may be one."""
        return len(self.body) <= _LONGEST_NOTE and len(self.cells) < _FEWEST_CELLS

    @property
    def look(self) -> tuple[object, ...]:
        """What other lines of its kind have in common with it."""
        first, body = self.body[0], self.body
        kind = "a" if first.isalpha() else "1" if first.isdigit() else first
        signs = any(map(str.isdigit, body)), "=" in body, ": " in body
        return self.indent, kind, *signs, min(len(self.cells), _FEWEST_CELLS), body.endswith((":", "{"))

    @property
    def is_name(self) -> bool:
        return len(self.cells) == 1 and not self.body[0].islower() and _NAME.fullmatch(self.body) is not None


def framed(lines: Sequence[str]) -> dict[int, tuple[int, ...]]:
    """By index of a line the indices of those without which it is not to be read, the nearest ones only: these have others."""
    read = [*_read(lines)]
    if len(read) < _FEWEST_LINES:
        return {}
    paragraphs = _paragraphs(read)
    paged = [_is_paged(paragraph) for paragraph in paragraphs]
    if True not in paged:
        return {}
    found: dict[int, dict[int, None]] = {}

    def add(pairs: Iterator[tuple[int, int]]) -> None:
        for one, other in pairs:
            if one in found:
                found[one][other] = None
            else:
                found[one] = {other: None}

    names = _names(read)
    for paragraph, is_paged in zip(paragraphs, paged, strict=True):
        if is_paged:
            add(_under_first(paragraph))
            add(_under_names(paragraph, names) if names else iter(()))
            add(_under_less_indented(paragraph))
    add(_under_columns(read))
    add(_under_titles(paragraphs, paged))
    add(_in_records(paragraphs))
    add(_with_notes(read, paged))
    add(_with_last_words(paragraphs, paged))
    return {i: tuple(others) for i, others in found.items()}


def _read(lines: Sequence[str]) -> Iterator[_PageLine]:
    """What a reader sees line by line, without headings, bold lines and fences, which say themselves what they are for."""
    paragraph = 0
    last = -1
    is_fenced = False
    for i, line in enumerate(lines):
        body = line.strip()
        is_fence = body.startswith(_FENCES)
        is_fenced ^= is_fence
        if not body or is_fence or is_fenced or (body[0] in _MARKS and _MARKED.match(body)):
            continue
        paragraph += last >= 0 and i > last + 1
        indent = 0 if line[0].isalnum() else _LEAD.match(line).end()  # type: ignore[union-attr]
        words = body.count(" ") + 1 if len(body) > _LONGEST_NOTE else len(body.split())
        cells = _cells(body)
        is_scrap = len(cells) > 1 or (words <= _SCRAP_WORDS and not body.endswith(_ENDS))
        yield _PageLine(i, line[indent:].rstrip() or body, indent, words, cells, paragraph, is_scrap)
        last = i


def _cells(body: str) -> Sequence[str]:
    """The columns of a row; a line is a row if two blanks follow the end of a sentence."""
    if "  " not in body and "\t" not in body:
        return (body,)
    cells = _CELLS.split(body)
    return (body,) if any(cell.endswith(_ENDS) for cell in cells[:-1]) else cells


def _paragraphs(read: Sequence[_PageLine]) -> list[list[_PageLine]]:
    found: list[list[_PageLine]] = [[] for _ in range(read[-1].paragraph + 1)]
    for line in read:
        found[line.paragraph].append(line)
    return found


def _is_paged(paragraph: Sequence[_PageLine]) -> bool:
    """Whether at least half of its lines are neither sentences nor what people say to each other."""
    scraps = [len(line.body) for line in paragraph if line.is_scrap]
    if len(paragraph) < 2 or 2 * len(scraps) < len(paragraph):
        return False
    if sum(scraps) < _LEAST_SCRAPS * sum([len(line.body) for line in paragraph]):  # a title above running text
        return False
    if any(line.is_name for line in paragraph):
        return True
    speakers = [m["name"] for line in paragraph if not line.indent and (m := FIELD.match(line.body))]
    return 2 * len(speakers) < len(paragraph) or 2 * len({*speakers}) > len(speakers)


def _names(read: Sequence[_PageLine]) -> set[int]:
    """The lines that are only names, just above lines that are more; a longer run of them is a list."""
    found: list[int] = []
    run: list[int] = []  # no more of it than tells that it is too long
    named = [line.is_name for line in read]
    for (line, below), is_name, is_below_name in zip(pairwise(read), named, named[1:], strict=False):
        if not is_name:
            run = []
            continue
        run = [*(run[-_TOGETHER:] if run and run[-1] == line.at - 1 else ()), line.at]
        if len(run) <= _TOGETHER and not is_below_name and below.at == line.at + 1 and line.indent <= below.indent:
            found += run
    return {*found} if len(found) >= _FEWEST_NAMES else set()


def _under_first(paragraph: Sequence[_PageLine]) -> Iterator[tuple[int, int]]:
    """Lines and the first of their paragraph, where few of them look like it."""
    first = paragraph[0]
    if len(first.body) > _LONGEST_HEAD:
        return
    look = first.look
    alike = (True for line in paragraph[1:] if line.indent == first.indent and line.look == look)
    if next(islice(alike, (len(paragraph) - 1) // _ALIKE, None), False) is False:
        yield from ((line.at, first.at) for line in paragraph[1:] if line.is_free and line.indent >= first.indent)


def _under_names(paragraph: Sequence[_PageLine], names: set[int]) -> Iterator[tuple[int, int]]:
    head: list[int] = []
    for line in paragraph:
        if line.at in names:
            head = [*(head[1 - _TOGETHER :] if line.at - 1 in head else ()), line.at]
        else:
            yield from ((line.at, name) for name in head)


def _under_less_indented(paragraph: Sequence[_PageLine]) -> Iterator[tuple[int, int]]:
    above: list[_PageLine] = []
    for line in paragraph:
        while above and above[-1].indent >= line.indent - _SLIGHTLY * line.body[0].isdigit():
            above.pop()
        if above and line.indent <= _FARTHEST_IN:
            yield line.at, above[-1].at
        above.append(line)


def _under_columns(read: Sequence[_PageLine]) -> Iterator[tuple[int, int]]:
    """Rows and the names of their columns; below a blank line other rows may have others."""
    header: _PageLine | None = None
    for line in read:
        if len(line.cells) < _FEWEST_CELLS:
            continue
        if header is None or (line.paragraph != header.paragraph and not _tells_figures(line.cells)):
            header = line if len(line.body) <= _LONGEST_HEADER else None
        elif len(line.cells) >= len(header.cells) // 2:
            yield line.at, header.at


def _tells_figures(cells: Sequence[str]) -> bool:
    return _FIGURES * sum(any(map(str.isdigit, cell)) for cell in cells) >= len(cells)


def _under_titles(paragraphs: Sequence[Sequence[_PageLine]], paged: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Paragraphs and the last one-line paragraph before them; and the title of the page, which heads all of them."""
    top = [line.at for line in paragraphs[0]] if _is_title(paragraphs[0]) else []
    above: int | None = None
    for paragraph, is_paged in zip(paragraphs, paged, strict=True):
        lone = paragraph[0]
        if len(paragraph) == 1 and not lone.body.endswith(_ENDS) and len(lone.body) <= _LONGEST_HEAD:
            above = lone.at
        if is_paged or lone.at == above:
            for line in paragraph:
                yield from ((line.at, title) for title in (*top, above) if title is not None and title < line.at)


def _is_title(paragraph: Sequence[_PageLine]) -> bool:
    if len(paragraph) > _TITLE_LINES or sum(line.words for line in paragraph) > _TITLE_WORDS:
        return False
    is_field = len(paragraph) > 1 and any(": " in line.body for line in paragraph)
    return not is_field and not any(line.indent or line.body.endswith(_ENDS) for line in paragraph)


def _with_notes(read: Sequence[_PageLine], is_paged: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Lines with a sign and the note below that has it.

    What several lines begin with marks the items of a list; what many lines have parts their cells, as "|" does.
    """
    noted = [_notes(line.body) if line.is_note else [] for line in read]
    begun = [notes[0][1] if notes and not notes[0].start() else "" for notes in noted]
    often, had = Counter(begun), Counter(sign for notes in noted for sign in {m[1] for m in notes})
    signs: dict[str, int] = {}
    for line, own, notes in zip(reversed(read), reversed(begun), reversed(noted), strict=True):
        if is_paged[line.paragraph] and (len(signs) > _FEW_SIGNS or any(map(line.body.__contains__, signs))):
            used = (sign for sign in dict.fromkeys(_SIGN.findall(line.body)) if sign != own)
            yield from ((line.at, signs[sign]) for sign in used if sign in signs)
        signs.update({m[1]: line.at for m in notes if often[m[1]] <= 1 and had[m[1]] <= _MOST_NOTED})


def _notes(body: str) -> list[re.Match[str]]:
    """The notes in a line: the one that it begins with, and those behind a gap or a comma."""
    if any(map(body.__contains__, _BEFORE_NOTES)):
        return [*_NOTE.finditer(body)]
    first = _NOTE.match(body)
    return [first] if first else []


def _in_records(paragraphs: Sequence[Sequence[_PageLine]]) -> Iterator[tuple[int, int]]:
    """The lines of a record and its first field, if other records begin with a field of that name: "User-agent: *"."""
    fields = [FIELD.match(paragraph[0].body) for paragraph in paragraphs]
    often = Counter(field["name"].lower() for field in fields if field)
    for paragraph, field in zip(paragraphs, fields, strict=True):
        if field and often[field["name"].lower()] >= _RECORDS:
            yield from ((line.at, paragraph[0].at) for line in paragraph[1:])


def _with_last_words(paragraphs: Sequence[Sequence[_PageLine]], is_paged: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """All lines and the remarks that end the page; a question below it is no such remark."""
    last = paragraphs[-1]
    said = [line for line in last if line.body.endswith(_ENDS) and not line.body.endswith(QUESTION_MARKS)]
    if len(last) <= _LAST_LINES and len(said) == len(last) and sum(line.words for line in last) <= _LAST_WORDS:
        for paragraph, paged in zip(paragraphs[:-1], is_paged, strict=False):
            yield from ((line.at, end.at) for line in paragraph if paged and line.is_free for end in said)


def framed_ties(text: str, pieces: Sequence[StatementPiece]) -> Iterator[tuple[int, int]]:
    """Pairs of a sentence and one without which it is not to be read."""
    if text.count("\n") + 1 < _FEWEST_LINES:
        return
    lines = text.split("\n")
    found = framed(lines)
    if not found or any(side_by_side(text)):
        return
    ends = [*accumulate(len(line) + 1 for line in lines)]
    on: dict[int, list[int]] = {}
    for i, piece in enumerate(pieces):
        said = piece.text.strip()
        start = piece.span.start + piece.text.find(said)
        for line in range(bisect_right(ends, start), bisect_right(ends, start + max(0, len(said) - 1)) + 1):
            on.setdefault(line, []).append(i)
    for line, needed in found.items():
        for one in on.get(line, ()):
            yield from ((one, other) for head in needed for other in on.get(head, ())[-_MOST_GOVERNING:] if other != one)


class Governing:
    """`framed` of a text's lines, each with those that its own governing lines need in turn. It knows no columns side by side."""

    def __init__(self, text: str) -> None:
        lines = text.split("\n")
        self._found = framed(lines)
        self._starts = [*accumulate((len(line) + 1 for line in lines), initial=0)] if self._found else []

    def of(self, start: int, end: int) -> Iterator[Range]:
        """The lines by which a part of the text is to be read."""
        if self._found:
            for line in range(bisect_right(self._starts, start) - 1, bisect_left(self._starts, end)):
                yield from ((self._starts[i], self._starts[i + 1] - 1) for i in self._all(line))

    def _all(self, line: int) -> Iterator[int]:
        known = {line: None}
        rest = deque([line])
        while rest and len(known) <= _MOST_GOVERNING:
            for other in self._found.get(rest.popleft(), ()):
                if other not in known:
                    known[other] = None
                    rest.append(other)
        return (other for other in known if other != line)

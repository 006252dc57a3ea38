"""What belongs together by its place on the page: an enumeration that is one sentence, what a mail quotes and who wrote it,
a term and its definition, an outcome below what was proposed.

This module pairs a sentence with one that it needs, judging by indentation, marks and line ends. Ties by words are in the other
files of ties, titles without a mark in ``farther`` and ``framed``, lines of data in ``heads``.

Each rule goes through the text once and looks back a bounded number of sentences: all are linear.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import all_words
from turnfold.compression.text.spans import STOPS
from turnfold.compression.text.ties.marked_lines import PRICE, says_per_what
from turnfold.compression.text.ties.pieces import StatementPiece
from turnfold.compression.text.writers import written_by

Pair = tuple[int, int]

_FUNCTION_WORDS: Final = all_words("function_words")
_BLANK_LINE: Final = lazy.pattern(r"\n[ \t>\r]*\n\s*\Z")
_QUOTED: Final = lazy.pattern(r"[ \t]*((?:>[ \t]?)+)")
_ENDS: Final = frozenset(f".!?…。！？｡{STOPS}")
_COLONS: Final = frozenset(":：")
_GOES_ON: Final = frozenset(";,；，、")
_BOTH: Final = lazy.pattern(
    r"[;,；，]?\s*\b(?:and/or|and|or|und|oder|et|ou|y|e|o|i|lub|en|of|ve|veya|и|или)\Z|[及和或且]\Z", re.IGNORECASE
)
_MOST_ITEMS: Final = 24
_CLAUSE_WORDS: Final = 3  # of a line that a single item may complete
_MOST_CHARACTERS: Final = 1500  # of an enumeration that is shown whole or not at all
_BOLD: Final = lazy.pattern(r"[ \t]*(\*\*|__)[^*_\n]{1,60}\1[ \t]*[:：]?[ \t\r]*\n\s*")
_PLACE: Final = lazy.pattern(r"[ \t]*[\w@+-]*(?:[/.\\][\w@+-]+)*\.[A-Za-z]\w{0,4}(?::\d+(?:[:-]\d+)?)?:?[ \t\r]*\n\s*")
_FEWEST_BOLD: Final = 2
_OUTCOME_WORDS: Final = 5
_TALLY_WORDS: Final = 12
#: Votes: "Carried 4-1.", "(3 Ja, 5 Nein, 1 Enthaltung)", "Vote : 1 pour, 2 contre."
_TALLY: Final = lazy.pattern(
    r"(?<![\w.,:/–-])\d{1,3} ?[–—-] ?\d{1,3}(?![\w:/–-])|(?<![\w.,:/–-])\d{1,3} [^\W\d_]+, \d{1,3} [^\W\d_]+"
)
_MOST_LINES: Final = 8
_ATX: Final = lazy.pattern(r"\s{0,3}(#{1,6})\s")
_UNDERLINED: Final = {"=": 1, "-": 2}


def layout_ties(text: str, pieces: Sequence[StatementPiece]) -> list[Pair]:
    """Pairs of a sentence and one that it needs; of a text in one line none."""
    if "\n" not in text:
        return []
    found = [*_enumerations(pieces), *_indented(pieces), *_outcomes(pieces), *_signed(text, pieces)]
    found += _priced(pieces)
    if "." in text:
        found += _placed(pieces)
    if ">" in text:
        found += _quoted(text, pieces)
    if "**" in text or "__" in text:
        found += _under_bold(pieces)
    if sum(piece.kind == "heading" for piece in pieces) > 1:
        found += _under_parents(pieces)
    return found


# ---------------------------------------------------------------- enumerations


def _enumerations(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """ "The fee is due, unless / (a) it is disputed; or / (b) ...": a line and the items below it that complete its sentence."""
    under: dict[int, list[int]] = {}
    above: list[tuple[int, int]] = []  # the open items: how far each is indented, and which it is
    lead = -1
    inner: tuple[str | None, ...] | None = None  # the marks of a list that an item of another one leads on to
    for i, piece in enumerate(pieces):
        if piece.kind:
            above, lead, inner = [], -1, None
        elif piece.item:
            indent = _indent(piece.text)
            inner = piece.style if i and _opens_another_list(pieces, i) else inner
            indent += piece.style == inner  # as if it were indented
            while above and above[-1][0] >= indent:
                above.pop()
            parent = above[-1][1] if above else lead
            if parent in under and pieces[under[parent][0]].style != piece.style and _BLANK_LINE.search(pieces[i - 1].tail(40)):
                parent, lead = -1, -1  # another list
            if parent >= 0:
                under.setdefault(parent, []).append(i)
            above.append((indent, i))
        elif piece.starts_line or not above:
            above, lead = [], i
        else:  # more of what an item says: what stands below it completes the last sentence
            above[-1] = (above[-1][0], i)
    for parent, items in under.items():
        if _is_one_sentence(pieces, parent, items):
            yield from ((parent, item) for item in items)
            yield from ((item, parent) for item in items)


def _opens_another_list(pieces: Sequence[StatementPiece], i: int) -> bool:
    """Whether an item goes on the one in front, which leads on to a list that is marked otherwise: "(2) ... does not apply to /
    1. guide dogs,"."""
    before = pieces[i - 1]
    last = before.tail(60).rstrip().rpartition(" ")[2].lower()
    return before.item and before.style != pieces[i].style and (last in _FUNCTION_WORDS or last[-1:] in _COLONS)


def _is_one_sentence(pieces: Sequence[StatementPiece], parent: int, items: Sequence[int]) -> bool:
    if len(items) > _MOST_ITEMS or pieces[items[-1]].span.end - pieces[parent].span.start > _MOST_CHARACTERS:
        return False
    lead = pieces[parent].tail(60).rstrip()
    if lead[-1:] in _ENDS:
        return False
    ends = [pieces[after - 1].tail(40).rstrip() for after in items[1:]]
    if any(_BOTH.search(end) for end in ends):
        return True
    if lead[-1:] in _COLONS:
        return False
    if not ends:  # a single one, or several that were read as one sentence
        return pieces[items[0]].text.lstrip().startswith("(") and len(pieces[parent].said) >= _CLAUSE_WORDS
    return ends[0][-1:] in _GOES_ON or lead.rpartition(" ")[2].lower() in _FUNCTION_WORDS


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


# ---------------------------------------------------------------- titles


def _indented(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """A definition and the term above it, which is less indented: "xlsx / Only the first sheet is read."."""
    above: list[tuple[int, int]] = []  # the lines that others may stand under, and how far each is indented
    for i, piece in enumerate(pieces):
        if piece.kind or not piece.starts_line:
            above = [] if piece.kind else above
            continue
        line = piece.text
        indent = _indent(line)
        defines = line.startswith(": ") and i > 0 and not pieces[i - 1].kind
        if defines:
            yield i, i - 1
        while above and above[-1][0] >= indent:
            above.pop()
        if above and not piece.item:
            yield i, above[-1][1]
        if line.rstrip()[-1:] not in _ENDS and not defines:
            above.append((indent, i))


def _placed(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """The lines of a paragraph and the place in a file that they are about: "src/queue.py:41 / This never stops."."""
    place = -1
    for i, piece in enumerate(pieces):
        if piece.starts_line and (i == 0 or _BLANK_LINE.search(pieces[i - 1].tail(40)) or pieces[i - 1].kind):
            place = i if not piece.kind and _PLACE.fullmatch(piece.text) else -1
        elif place >= 0:
            yield i, place


def _under_bold(pieces: Sequence[StatementPiece]) -> list[Pair]:
    """The lines below a bold line and that line, if there are several bold lines: "**Anna** / Blockers: none"."""
    bold = {i for i, piece in enumerate(pieces) if not piece.kind and piece.starts_line and _BOLD.fullmatch(piece.text)}
    if len(bold) < _FEWEST_BOLD:
        return []
    found: list[Pair] = []
    title = -1
    for i, piece in enumerate(pieces):
        if i in bold or piece.kind == "heading":
            title = i if i in bold else -1
        elif title >= 0:
            found.append((i, title))
    return found


def _under_parents(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """A heading and the one above it in the hierarchy, unless that is the only one of its level: "### Fixed" of "## 2.0"."""
    levels = {i: _level(piece.text) for i, piece in enumerate(pieces) if piece.kind == "heading"}
    several = [*levels.values()]
    above: list[int] = []
    for i, level in levels.items():
        while above and levels[above[-1]] >= level:
            above.pop()
        if above and several.count(levels[above[-1]]) > 1:
            yield i, above[-1]
        above.append(i)


def _level(heading: str) -> int:
    found = _ATX.match(heading)
    return len(found[1]) if found else _UNDERLINED.get(heading.rstrip()[-1:], 1)


# ---------------------------------------------------------------- outcomes


def _outcomes(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """ "Motion to close the library. / Carried 4-1.": a short line and the one above it; votes and all of their paragraph."""
    said: list[int] = []  # the sentences of the paragraph
    for i, piece in enumerate(pieces):
        if piece.kind == "label":
            continue
        if piece.kind or (i and _BLANK_LINE.search(pieces[i - 1].tail(40))):
            said = []
        labelled = i > 0 and pieces[i - 1].kind == "label"
        if said and (piece.starts_line or labelled) and not (piece.item or piece.asks):
            is_last = i + 1 == len(pieces) or bool(_BLANK_LINE.search(piece.tail(40))) or pieces[i + 1].item
            tells_votes = len(piece.said) <= _TALLY_WORDS and _TALLY.search(piece.text) is not None
            proposed = pieces[said[-1]].text.rstrip()[-1:] in _ENDS
            if tells_votes or (is_last and proposed and not labelled and _is_short(piece)):
                for k in said[-_MOST_LINES:] if tells_votes and is_last else said[-1:]:
                    yield from ((i, k), (k, i))
        if not piece.kind:
            said.append(i)


def _is_short(piece: StatementPiece) -> bool:
    return not piece.dense and 0 < len(piece.said) <= _OUTCOME_WORDS and piece.text.rstrip()[-1:] in _ENDS


def _priced(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """An amount on a line of its own, the line just above it that says what it is for, and the one below that gives its unit:
    "Battery 36 V / € 119.00", "$14 / per member and month".
    """
    for i, piece in enumerate(pieces):
        if not i or piece.kind or not piece.starts_line or not PRICE.fullmatch(piece.text):
            continue
        if i + 1 < len(pieces) and not _BLANK_LINE.search(piece.tail(40)) and says_per_what(pieces[i + 1].text):
            yield i, i + 1
        above = pieces[i - 1]
        if not (above.kind or _BLANK_LINE.search(above.tail(40)) or PRICE.fullmatch(above.text)):
            yield i, i - 1


# ---------------------------------------------------------------- signatures


def _signed(text: str, pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """What somebody wrote and the lines below it that say who: "Don't reset it. / — heatpro, 12 Jan 2024"."""
    begins = [piece.span.start for piece in pieces]
    for first, start, _ in written_by(text).signatures:
        at = bisect_left(begins, start)
        if at < len(begins) and begins[at] == start:
            yield from ((i, at) for i in range(bisect_left(begins, first), at) if pieces[i].kind != "label")


# ---------------------------------------------------------------- mails


def _quoted(text: str, pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """What a mail quotes: a sentence inside a line and the one with the line's marks; all of it and "On Monday Ana wrote:"."""
    wrote: list[int] = []  # by depth which sentence says who wrote what is quoted there, -1 where none does
    for i, piece in enumerate(pieces):
        line = text.rfind("\n", 0, piece.span.start) + 1
        marks = _QUOTED.match(text, line)
        depth = marks[1].count(">") if marks else 0
        if depth and i and line < piece.span.start:
            yield i, i - 1
        if depth < len(wrote):
            del wrote[depth:]
            if not (piece.kind or pieces[i - 1].kind):
                yield i, i - 1  # an answer below what it quotes
        elif depth > len(wrote):
            leads = i > 0 and pieces[i - 1].text.rstrip(" \t\r\n>")[-1:] in _COLONS
            wrote += [*[-1] * (depth - len(wrote) - 1), i - 1 if leads else -1]
        if depth and wrote[-1] >= 0:
            yield i, wrote[-1]

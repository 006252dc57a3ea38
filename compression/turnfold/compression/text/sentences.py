"""Sentences of a text.

This module cuts a text, losslessly, into blocks and sentences. What is protected is known to ``protect``; which sentences matter
is decided elsewhere.

The sentence rules are ``sentencex``'s (abbreviations, decimals, many scripts); this file cuts at blocks and newlines first,
chooses its language by script, and takes back cuts that fall inside protected spans or right behind a list marker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise, repeat
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.lexicon import all_words
from turnfold.compression.text.protect import inline_joints, may_be_block, uncut_spans
from turnfold.compression.text.short_forms import is_short_form, may_be_short, segments
from turnfold.compression.text.spans import STOPS, Span, spans_of
from turnfold.compression.text.ties.side_by_side import side_by_side
from turnfold.compression.text.unmarked_speech import unmarked_speech
from turnfold.compression.text.wrapped_lines import broken_lines

#: A sentence of more characters is cut at a blank: text without punctuation must still be selectable piece by piece.
LONGEST: Final = 1200

_LINE: Final = lazy.pattern(r"[^\n]+\n*|\n+")
# A terminator with something to follow; lines without one need no sentence rules (most lines of chats are such).
_INNER_END: Final = lazy.pattern(rf"[.!?…。！？｡{STOPS}][^\w]{{0,12}}\w")
#: The end of a sentence with the marks of notes and sources behind it: "in 1699.[3][citation needed] Poland", "war.¹ Venice".
_NOTED: Final = lazy.pattern(
    r"[.!?](?<=[^\W_][.!?]|[\"”’»)\]][.!?])[\"”’»)]?"
    r"(?:(?:\[(?:\d{1,3}|[a-z]{1,2}|(?:[Nn]ote|nb|n\.?) ?\d{1,2}|[a-z][a-z ?-]{3,30})\]|【[^】\n]{1,40}】|[⁰¹²³⁴-⁹]{1,3}){1,8})"
    r"(?::\d{1,4}(?:[–-]\d{1,4})?)?[ \t]+(?=[\"“‘«(]?[A-ZÀ-ÞĀ-Ž\d])"
)
#: A unit of one letter with which a sentence ends, and the first word of the next one, which is a word of grammar; the segmenter
#: takes such a letter for an initial: "It is 168 m. On day 57".
_UNIT_END: Final = lazy.pattern(r"\d[ \u00a0]?[ghlmst]\.[ \t]+([A-ZÀ-ÖØ-ÞА-Я]\w{0,12})")
_FUNCTION_WORDS: Final = all_words("function_words")
#: Ends where the segmenter never cuts: a full-width one with a figure or a small Latin letter right behind it ("雨です。3時に"),
#: Khmer and Tibetan ones.
_WIDE_END: Final = lazy.pattern(r"[。！？｡][」』）”’]*(?=[0-9０-９a-z])|[།។៕]\s*(?=\w)")
_OPENING, _CLOSING = lazy.pattern("[「『（“‘]"), lazy.pattern("[」』）”’]")
_PORTION: Final = 2000
_LATE_END: Final = lazy.pattern(r"[.!?][\"')”]?\s+(?=[^\W\d_a-z])|[。！？]")
_OPENS: Final = "»"  # behind a blank, in German; the segmenter knows it as a closing mark only
_CLOSED: Final = f"。！？｡{STOPS}!?…」』）”’\"'»)"
_MARKER: Final = lazy.pattern(
    r"\s*(?:[-*•]\s*)?(?:\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)]|#{1,6}|[QA]\."
    r"|(?:§{1,2}|Article|Art\.|Section|Sec\.|Clause|Rule|Chapter|Step|Phase|Artikel|Kapitel|Abschnitt|Schritt|Chapitre|[ÉE]tape"
    r"|Artículo|Capítulo|Cláusula|Paso|Articolo|Capitolo|Passo|Artigo|Статья|Глава|Шаг|Krok|Artykuł|Madde|Adım)[ \u00a0]?"
    r"(?:\d{1,3}(?:\.\d{1,3}){0,3}|[IVX]{1,5})\.)\s*\Z"
)
_NUMBERED: Final = 24  # characters of "Article 12. " and the like at most
_NUMERALS: Final = frozenset("ivx")
_NUMBERS: Final = frozenset("0123456789IVX")
_MARKER_END: Final = 7
_WORD: Final = lazy.pattern(r"\w")
_ROW: Final = 200  # characters of the first cells of a row
_NEXT_LINE: Final = lazy.pattern(r"\n\s*")
_LETTER: Final = lazy.pattern(r"[^\W\d_]")
_SURROGATE: Final = lazy.pattern("[\ud800-\udfff]")
_WIDE_BLANK: Final = lazy.pattern(r"[^\S\x00-\x7f](?=\.)")
_NOT_LATIN: Final = lazy.pattern(r"[\u0370-\u1fff\u2e80-\uffee]")
# The script decides: kana before Han, as Japanese has both. What is not here has Latin-like punctuation.
_SCRIPTS: Final = (
    ("ja", lazy.pattern(r"[\u3040-\u30ff\uff66-\uff9f]")),
    ("zh", lazy.pattern(r"[\u3400-\u9fff]")),
    ("hi", lazy.pattern(r"[\u0900-\u097f]")),
    ("ar", lazy.pattern(r"[\u0600-\u06ff]")),
    ("ru", lazy.pattern(r"[\u0400-\u04ff]")),
    ("el", lazy.pattern(r"[\u0370-\u03ff]")),
    ("th", lazy.pattern(r"[\u0e00-\u0e7f]")),
)


# Every sentence takes more than its sign, so that each place is looked at once.
_ROUGH: Final = lazy.pattern(rf"\S(?:[^\n.!?…{STOPS}。！？]|[.!?…{STOPS}](?!\s)(?!\Z)){{0,800}}+[.!?…{STOPS}。！？]?")
_MOST_ROUGH: Final = 801  # characters of one before its last sign
#: The same in a text that has no more, which takes it in runs.
_ROUGH_SHORT: Final = lazy.pattern(rf"\S(?:[^\n.!?…{STOPS}。！？]++|[.!?…{STOPS}](?!\s)(?!\Z))*+[.!?…{STOPS}。！？]?")


def rough_sentences(text: str) -> list[Range]:
    """Where sentences seem to be, by their last signs alone: to weigh them, not to quote them."""
    found = [match.span() for match in _ROUGH_SHORT.finditer(text)]
    if len(text) > _MOST_ROUGH and any(end - start > _MOST_ROUGH for start, end in found):
        return [match.span() for match in _ROUGH.finditer(text)]
    return found


def language(text: str) -> str:
    """The language code whose sentence rules fit the script of a text; "en" for Latin and unknown ones."""
    if text.isascii() or not _NOT_LATIN.search(text):
        return "en"
    return next((code for code, script in _SCRIPTS if script.search(text)), "en")


def sentences(text: str, blocks: Sequence[Span] | None = None) -> list[Span]:
    """Spans that tile the text exactly: blocks (with their kind) and sentences (kind ""), each with the white space after it.

    No cut falls inside a protected span. White space alone is one span; an empty text has none.

    Args:
        blocks: what is taken for blocks, and (kind ``inline-json``) for JSON that shares its several lines with prose, in order
            and apart; None: what ``uncut_spans`` finds.
    """
    if blocks is None and _is_plain_line(text) and not unmarked_speech(text, 0, len(text)):
        cuts = _cuts(text, ()) if len(text) > LONGEST or _INNER_END.search(text) else ()
        return spans_of(zip((0, *cuts), (*cuts, len(text)), repeat("")))
    starts: list[tuple[int, str]] = []
    at = 0
    values: list[Span] = []
    for block in uncut_spans(text) if blocks is None else blocks:
        if block.kind == "inline-json":
            values.append(block)
            continue
        _cut_prose(text, at, block.start, starts, values, is_all=blocks is None)
        values.clear()
        starts.append((block.start, block.kind))
        at = block.end
    _cut_prose(text, at, len(text), starts, values, is_all=blocks is None)
    if not starts:
        return [Span(0, len(text))] if text else []
    if beside := side_by_side(text):
        starts = [*_beside(text, starts, beside)]
    starts[0] = (0, starts[0][1])
    return spans_of([(start, end, kind) for (start, kind), (end, _) in pairwise([*starts, (len(text), "")])])


def _beside(
    text: str, starts: Sequence[tuple[int, str]], beside: Sequence[Sequence[Sequence[Range]]]
) -> Iterator[tuple[int, str]]:
    """The starts of sentences and blocks; in columns side by side, those of the parts of their sentences."""
    at = 0
    kind = ""  # of what the columns end in
    for region in beside:
        parts = sorted(part for sentence in region for part in sentence)
        first, last = parts[0][0], max(stop for _, stop in parts)
        while at < len(starts) and starts[at][0] < first:
            yield starts[at]
            at += 1
        yield from ((begin, "") for begin, _ in parts)
        while at < len(starts) and starts[at][0] <= last:
            kind = starts[at][1]
            at += 1
        behind = _NEXT_LINE.search(text, last)
        if behind and behind.end() < len(text) and (at == len(starts) or starts[at][0] > behind.end()):
            yield behind.end(), kind
    yield from starts[at:]


def _is_plain_line(text: str) -> bool:
    """Whether a text is one line of ASCII without a block or JSON: told without a scan, as of most messages of a chat."""
    return text.isascii() and not ("\n" in text or "{" in text or "[" in text or may_be_block(text) or text.isspace() or not text)


def _cut_prose(text: str, start: int, end: int, starts: list[tuple[int, str]], values: Sequence[Span], *, is_all: bool) -> None:
    """Adds the sentence starts of a range without blocks; blank lines belong to the text before them.

    Args:
        values: its JSON; that over several lines at least.
        is_all: whether `values` has all of its JSON.
    """
    for *passages, behind in () if values else unmarked_speech(text, start, end):
        _cut_marked(text, start, passages[0], starts, (), is_all=is_all)
        starts += [(begin, "") for begin in passages]
        start = behind
    _cut_marked(text, start, end, starts, values, is_all=is_all)


def _cut_marked(text: str, start: int, end: int, starts: list[tuple[int, str]], values: Sequence[Span], *, is_all: bool) -> None:
    """The same where sentences have marks at their ends."""
    for begin, stop, inside in _lines(text, start, end, values):
        piece = text[begin:stop]
        if piece.isspace():
            continue
        starts.append((begin, ""))
        if len(piece) > LONGEST or _INNER_END.search(piece):
            starts += [(begin + cut, "") for cut in _cuts(piece, inside if inside or is_all else None)]


def _lines(text: str, start: int, end: int, values: Sequence[Span]) -> Iterator[tuple[int, int, list[Range]]]:
    """The lines of a range, joined where a JSON value or a sentence continues on the next one, each with the ranges of its JSON
    values.
    """
    if not values and start < end and text.find("\n", start, end) < 0:
        yield start, end, []
        return
    begin = stop = start
    at = 0
    inside: list[Range] = []
    broken = broken_lines(text, start, end)
    for line in _LINE.finditer(text, start, end):
        stop = line.end()
        while at < len(values) and values[at].start < stop:
            inside.append((values[at].start - begin, values[at].end - begin))
            at += 1
        if stop - 1 not in broken and (not inside or begin + inside[-1][1] <= stop):
            yield begin, stop, inside
            begin, inside = stop, []
    if begin < stop:
        yield begin, stop, inside


def _cuts(line: str, values: Sequence[Range] | None) -> list[int]:
    """Where the sentences of a line begin, except the first; a line feed within it is a blank."""
    body = line.rstrip("\n")
    if "\n" in body and not values:
        line = body.replace("\n", " ") + line[len(body) :]
    cuts = _sentence_cuts(line)
    noted = [m.end() for m in _NOTED.finditer(line)] if "[" in line or not line.isascii() else ()  # each has such a sign
    noted = [*noted, *(m.start(1) for m in _UNIT_END.finditer(line) if m[1].lower() in _FUNCTION_WORDS)]
    if not line.isascii():
        noted += _wide_ends(line)
    if noted:
        cuts = sorted({*cuts, *noted})
    if len(line) > LONGEST:
        cuts = _cut_long_ones(line, cuts)
    if not cuts:
        return cuts
    joints = inline_joints(line, values)
    return [cut for cut in cuts if not _inside(joints, cut)] if joints else cuts


def _sentence_cuts(line: str) -> list[int]:
    """The segmenter's valid cuts. It is quadratic on some lines, so long lines are passed to it in portions."""
    rules = language(line)
    cuts: list[int] = []
    at = last = 0
    for portion, ends in _portions(line):
        readable = portion if portion.isascii() else _readable(portion)
        pieces = segments(rules, readable)
        if "".join(pieces) != readable:  # it drops newlines in odd places; a lost character would shift every cut behind it
            pieces = [readable]
        if len(portion) == len(line) and _are_plain(pieces, rules):  # mostly
            return [*accumulate(map(len, pieces[:-1]))]
        for i, piece in enumerate(pieces):
            at += len(piece)
            cut = at - 1 if line[at - 2 : at - 1].isspace() and line[at - 1] == _OPENS else at
            if (ends or i < len(pieces) - 1) and at < len(line) and _is_border(line, last, cut):
                cuts.append(cut)
                last = cut
    return cuts


def _wide_ends(line: str) -> Iterator[int]:
    """Where sentences begin with a figure behind a full-width end, outside quotations and brackets."""
    at = opened = 0
    for end in _WIDE_END.finditer(line):
        opened += len(_OPENING.findall(line, at, end.end())) - len(_CLOSING.findall(line, at, end.end()))
        at = end.end()
        if opened <= 0:
            opened = 0
            yield at


def _readable(portion: str) -> str:
    """The portion as the segmenter takes it: in UTF-8, and without what it panics at, a wide blank before a full stop (sentencex
    1.0.32 steps back by a byte there)."""
    return _WIDE_BLANK.sub(" ", _SURROGATE.sub("\ufffd", portion))


def _portions(line: str) -> Iterator[tuple[str, bool]]:
    """Pieces of at most `_PORTION` characters, and whether each ends with a sentence."""
    at = 0
    while len(line) - at > _PORTION:
        end, ends = at + _PORTION, False
        for stop in _LATE_END.finditer(line, at + _PORTION // 2, end):
            end, ends = stop.end(), True
        if not ends:
            end = min(_blank_before(line, at + _PORTION // 2, end), end)
        yield line[at:end], ends
        at = end
    yield line[at:], True


def _are_plain(pieces: Sequence[str], rules: str) -> bool:
    """Whether all cuts between the pieces of a line are valid at first sight: words or figures begin there, behind a blank and
    no short form, and no piece is a marker, which has nothing but blanks behind its first five characters."""
    ends = [piece[-4:] for piece in pieces[:-1]]
    return (
        not may_be_short(pieces, rules)
        and False not in [end[-1:] == " " != end[-2:-1] for end in ends]
        and True not in [len(piece) <= _NUMBERED and piece[-3:-2] in _NUMBERS for piece in pieces[:-1]]
        and False
        not in [
            (piece[:2].isalpha() and piece[0] not in _NUMERALS)
            or (piece[0].isalnum() and len(piece) > _MARKER_END and not piece[_MARKER_END - 2 : _MARKER_END].isspace())
            for piece in pieces
        ]
    )


def _is_border(line: str, last: int, at: int) -> bool:
    """Whether a cut is valid: a blank or a full-width stop before it, more than a list marker, and words after it."""
    before = line[at - 1]
    if not before.isspace() and (before.isascii() or before not in _CLOSED):
        return False
    if is_short_form(line, last, at):
        return False
    if not (line[at].isalnum() or _WORD.search(line, at, at + 200)):
        return False
    if line[at - 2 : at] == "  " and not _LETTER.search(line, max(last, at - _ROW), at):
        return False  # "18.11.  ": the first cells of a row
    begin = line[last : last + 2]
    numbered = at - last <= _NUMBERED and line[at - 3 : at - 2] in _NUMBERS
    if len(begin) == 2 and begin.isalpha() and not (numbered or _NUMERALS.issuperset(begin)):  # a word: most sentences
        return True
    return not _MARKER.match(line, last, at) and bool(_WORD.search(line, last, at))


def _cut_long_ones(line: str, cuts: list[int]) -> list[int]:
    out: list[int] = []
    for start, end in zip([0, *cuts], [*cuts, len(line)], strict=True):
        if start:
            out.append(start)
        at = start
        while end - at > LONGEST:
            at = _blank_before(line, at + LONGEST // 2, at + LONGEST)
            if at >= end:  # without a blank, it reaches to the next cut or beyond
                break
            out.append(at)
    return out


def _blank_before(line: str, low: int, high: int) -> int:
    """Just after the last blank in the range, else just after the next one."""
    found = line.rfind(" ", low, high)
    if found < 0:
        found = line.find(" ", high)
    return found + 1 if found >= 0 else len(line)


def _inside(spans: list[Span], at: int) -> bool:
    """Whether a position is strictly inside one of the spans (those of one line)."""
    low, high = 0, len(spans)
    while low < high:
        middle = (low + high) // 2
        if spans[middle].end <= at:
            low = middle + 1
        else:
            high = middle
    return low < len(spans) and spans[low].start < at

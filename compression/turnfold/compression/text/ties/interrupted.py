"""Where something on the page cuts a sentence in two: the foot and the head of a page, the time of the next caption, the end of
a verse.

This module finds where the first part stops and the second begins: each needs the other. Lines that are merely broken at a column
are in ``wrapped_lines``; where passages end is decided in ``passages``.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.transcripts import cues
from turnfold.compression.text.lexicon import all_words
from turnfold.compression.text.spans import STOPS
from turnfold.compression.text.ties.pieces import ITEM, StatementPiece
from turnfold.compression.text.ties.side_by_side import parts_beside

_PARAGRAPH: Final = lazy.pattern(r"^[^\S\n]*+\S[^\n]*(?:\n[^\S\n]*+\S[^\n]*)*+", re.MULTILINE)
#: The end of a line with which no sentence ends.
_UNENDED: Final = lazy.pattern(r"[^\W_][,’')”»\]-]?\Z")
_BLANK_LINE: Final = lazy.pattern(r"\n[ \t\r]*\n")
_TERMINATORS: Final = frozenset(f".!?:;…。！？：；｡{STOPS}")
_CLOSING: Final = " \t\r\n\"'”’»)]*_"
_OPENING: Final = " \t\"'“‘„«*_"
_WORD: Final = lazy.pattern(r"[^\W\d_]{2,}")
_FEWEST_WORDS: Final = 5  # of the last line of a page's text
_LETTERS: Final = 0.6  # of a paragraph
_FARTHEST: Final = 6  # paragraphs of notes, foot and head between the two parts
_BETWEEN: Final = 800  # characters of these
_ASIDE: Final = lazy.pattern(r"[\[(♪][^\n]*[\])♪]")
_TURN: Final = lazy.pattern(r"[ \t]*[-–—][ \t]?\S")
#: Verses, each with its own number of words and characters, in stanzas of so many.
_STANZAS: Final = 2
_VERSES: Final = (2, 8)
_VERSE_WORDS: Final = (2, 12)
_VERSE_LENGTH: Final = 70
_MOSTLY: Final = 0.7  # of a text's lines are verses, and of a verse letters
_FUNCTION_WORDS: Final = all_words("function_words")
_STOPS: Final = frozenset(f".!?…{STOPS}")


def interrupted_ties(text: str, pieces: Sequence[StatementPiece]) -> Iterator[tuple[int, int]]:
    """Pairs of a sentence's part and the other one."""
    found = [*interruptions(text), *parts_beside(text)]
    begins = [piece.span.start for piece in pieces] if found else []
    for stop, start in found:
        one, other = bisect_left(begins, stop) - 1, bisect_right(begins, start) - 1
        yield one, other
        yield other, one


def interruptions(text: str) -> list[Range]:
    """Where the first part of such a sentence stops and where the second begins, in order; linear."""
    if "\n" not in text:
        return []
    captions = cues(text)
    return [*_captions(text, captions)] if captions else sorted({*_pages(text), *_verses(text)})


def _pages(text: str) -> Iterator[Range]:
    """A paragraph without an end, and the next one that begins with a small letter; few in a page's text do."""
    if not any(_is_unended(text, blank.start()) for blank in _BLANK_LINE.finditer(text)):
        return
    open_at, seen = -1, 0  # where a paragraph stops that has no end, and how many came behind it
    for found in _PARAGRAPH.finditer(text):
        start, stop = found.span()
        said = found[0]
        first = said.lstrip(_OPENING)
        if open_at >= 0 and first[:1].islower() and start - open_at <= _BETWEEN and _is_prose(said) and not ITEM.match(said):
            yield open_at, start + len(said) - len(said.lstrip())
            open_at = -1
        seen += 1
        if not first[:1].islower() and _is_cut(said):
            open_at, seen = stop, 0
        elif seen >= _FARTHEST:
            open_at = -1


def _is_unended(text: str, stop: int) -> bool:
    """Whether no sentence ends with the line that stops at `stop`."""
    end = text[text.rfind("\n", 0, stop) + 1 : stop].rstrip(" \t\r")[-2:]
    return _UNENDED.search(end) is not None


def _is_cut(paragraph: str) -> bool:
    """Whether its last line is words without an end; a hyphen tells, else it has to be about as long as the others."""
    last = paragraph.rpartition("\n")[2]
    end = last.rstrip(_CLOSING)[-1:]
    if not end or end in _TERMINATORS or len(_WORD.findall(last)) < _FEWEST_WORDS or not _is_prose(last):
        return False
    return end == "-" or 4 * len(last) >= 3 * max(map(len, paragraph.split("\n")))


def _is_prose(paragraph: str) -> bool:
    """Whether it is words for the most part."""
    return sum(map(len, _WORD.findall(paragraph))) >= _LETTERS * len(paragraph) and not any(map(paragraph.__contains__, "{}|=<>"))


def _captions(text: str, times: list[int]) -> Iterator[Range]:
    """What a caption says and the next one that goes on with it; two speakers in one caption."""
    bodies: list[Range] = []
    for at, behind in pairwise([*times, len(text)]):
        start = text.find("\n", at) + 1 or len(text)
        last = text.rfind("\n", start, behind) if behind < len(text) else behind
        stop = max(last, start)
        if behind < len(text):  # the number of the next caption stands on the line above its time
            above = text.rfind("\n", start, stop)
            number = text[max(above, start) : stop].strip()
            stop = above if above >= start and (not number or number.isdecimal()) else stop
        said = text[start:stop]
        if said.strip():
            bodies.append((start + len(said) - len(said.lstrip()), start + len(said.rstrip())))
    for start, stop in bodies:
        line = text.find("\n", start, stop)
        if line >= 0 and _TURN.match(text, start) and _TURN.match(text, line + 1):
            yield line, line + 1
    for (start, stop), (following, _) in pairwise(bodies):
        if text[start:stop].rstrip(_CLOSING)[-1:] not in _TERMINATORS and not (
            _ASIDE.fullmatch(text, start, stop) or _TURN.match(text, following)
        ):
            yield stop, following


def _verses(text: str) -> list[Range]:
    """The ends of verses with which no sentence ends, where nearly all of a text is verses."""
    stanzas: list[list[Range]] = []
    lines = sum(not line.isspace() for line in text.split("\n") if line)
    others = verses = spoken = ended = 0
    for found in _PARAGRAPH.finditer(text):
        stanza: list[Range] = []
        at = found.start()
        for line in found[0].split("\n"):
            said = line.lower().split() if len(line) <= _VERSE_LENGTH else ()
            if _VERSE_WORDS[0] <= len(said) <= _VERSE_WORDS[1] and _is_verse(line):
                stanza.append((at, at + len(line)))
                spoken += not _FUNCTION_WORDS.isdisjoint(said)
                ended += line.rstrip(_CLOSING)[-1:] in _STOPS
            else:
                others += 1
                if lines - others < _MOSTLY * lines:  # mostly after a few lines
                    return []
            at += len(line) + 1
        verses += len(stanza)
        if _VERSES[0] <= len(stanza) <= _VERSES[1] and len(stanza) == found[0].count("\n") + 1:
            stanzas.append(stanza)
    if len(stanzas) < _STANZAS or 2 * spoken < verses or 2 * ended > verses:
        return []
    return [
        (stop, following + len(text[following:end]) - len(text[following:end].lstrip()))
        for stanza in stanzas
        for (start, stop), (following, end) in pairwise(stanza)
        if text[start:stop].rstrip(_CLOSING)[-1:] not in _STOPS
    ]


def _is_verse(line: str) -> bool:
    letters = sum(map(str.isalpha, line)) + line.count(" ")
    return letters >= _MOSTLY * len(line) and not any(map(line.__contains__, ":|{}=<>\t/")) and line.strip()[0].isalpha()

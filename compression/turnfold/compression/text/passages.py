"""Cutting a message into passages that can be quoted on their own.

This module decides where a passage begins and ends. How relevant it is, is decided in ``recall``.

A message of up to about 150 tokens is one passage. A longer one is cut into chunks of about 25 tokens at sentence or line
borders, never across a blank line or from one record to the next (of JSON or XML, on one line; small records stay together). Each
turn of a conversation within one message is treated likewise. Time is linear in the text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.dialogue.turns import turn_starts
from turnfold.compression.text.records import record_starts
from turnfold.compression.text.spans import STOPS
from turnfold.compression.text.ties.interrupted import interruptions
from turnfold.compression.text.unmarked_speech import unmarked_speech
from turnfold.compression.text.wrapped_lines import broken_lines
from turnfold.compression.text.writers import written_by

#: Tokens up to which a message is quoted whole or not at all, and tokens of a chunk of a longer one.
WHOLE: Final = 150
CHUNK: Final = 25
_SIGNS: Final = 4.2  # ASCII characters of a token
_AROUND: Final = 300  # characters that a passage takes along where they cut a sentence in two
_LONGEST: Final = 500  # characters without a border after which a chunk is cut at a comma, a blank, or anywhere

# The alternatives begin with one class, which the regex engine finds fast. A cell of a row that is but a sign ends nothing:
# "1808 ?        Ss".
_BORDER: Final = lazy.pattern(
    rf"[.!?…{STOPS}。！？｡\n](?:(?<=\n)\n*|(?<=[.!?…{STOPS}])(?!(?<=[ \t].)(?:[ ]{{2,}}|[ ]?\t)\S)[\"')\]»”’]*\s+"
    r"|(?<=[。！？｡])[」』”’）]*\s*)"
)
#: A line that does not end, and an item that completes it: "unless / (a) the fee is paid; or / (b) ...".
_COMPLETED: Final = lazy.pattern(r"(?:[^\W_]|(?<=[\w)])[;,]) *\n[ \t]*(?:\((?:[a-z]|[ivx]{1,4}|\d)\)|[a-z]\)) ")
#: Such an item, found by the line feed in front of it.
_COMPLETING: Final = lazy.pattern(r"\n[ \t]*(?:\((?:[a-z]|[ivx]{1,4}|\d)\)|[a-z]\)) ")
_SOFT_BORDER: Final = lazy.pattern(r"[,;:|、，；)}\]]\s*|\s+")

Range = tuple[int, int]


def estimate(text: str) -> float:
    """Tokens of a text within about a fifth, from its length and its share of non-ASCII bytes."""
    if text.isascii():
        return len(text) / _SIGNS
    size = len(text.encode("utf-8", "surrogatepass"))
    # Two-byte scripts take 2.7 characters a token, three-byte ones about 1.5.
    return (2 * len(text) - size) / _SIGNS + (size - len(text)) / 2.7 if size < 2 * len(text) else size / 4.6


def estimates(text: str, ranges: Sequence[Range]) -> list[float]:
    """:func:`estimate` of parts of a text."""
    if text.isascii():
        return [(end - start) / _SIGNS for start, end in ranges]
    return [estimate(text[start:end]) for start, end in ranges]


def turns(text: str) -> list[int]:
    """Where the turns of a text begin that is more than one passage."""
    return turn_starts(text) if estimate(text) > WHOLE else []


def passages(text: str, starts: Sequence[int] | None = None) -> list[Range]:
    """Half-open ranges, in order, that cover a text except white space at their borders. `starts` are its ``turns``, if known."""
    if estimate(text) <= WHOLE:
        return _trim(text, [(0, len(text))])
    if starts is None:
        starts = turn_starts(text)
    if starts:
        return [found for start, end in pairwise([0, *starts, len(text)]) for found in _of_turn(text, start, end)]
    return _chunks(text)


def _of_turn(text: str, start: int, end: int) -> list[Range]:
    said = text[start:end]
    parts = [(0, len(said))] if estimate(said) <= WHOLE else _chunks(said)
    return [(start + a, start + b) for a, b in _trim(said, parts)]


def _chunks(text: str) -> list[Range]:
    """Ranges of about `CHUNK` tokens."""
    found: list[Range] = []
    start = last = 0
    size = 0.0
    plain = text.isascii()
    records = frozenset(record_starts(text))
    for end in _sentence_ends(text, records):
        piece = (end - last) / _SIGNS if plain else estimate(text[last:end])
        apart = text.endswith("\n\n", start, last) or (last in records and size > CHUNK / 2)
        if size and (size + piece > 1.25 * CHUNK or apart):
            found.append((start, last))
            start, size = last, 0.0
        size += piece
        last = end
    return _trim(text, [*found, (start, last)])


def sentences(text: str, start: int, end: int) -> list[Range]:
    """The sentences of a part of a text, without the white space between them."""
    ends = [start, *(start + at for at in _sentence_ends(text[start:end]))]
    return _trim(text, list(pairwise(ends)))


def _sentence_ends(text: str, records: Collection[int] = ()) -> list[int]:
    ends: list[int] = []
    last = 0
    borders = [m.end() for m in _BORDER.finditer(text)]
    if records:
        borders = sorted({*borders, *records})
    broken = broken_lines(text, 0, len(text)) if "\n" in text else ()
    if broken:
        borders = [border for border in borders if border - 1 not in broken]
    if "\n" in text:
        items = ") " in text and _COMPLETING.search(text)
        completed = {text.index("\n", m.start()) + 1 for m in _COMPLETED.finditer(text)} if items else set()
        completed.update(_beside_writers(text, borders))
        completed.update(_within_sentences(text, borders))
        borders = [border for border in borders if border not in completed] if completed else borders
    for *begins, behind in unmarked_speech(text, 0, len(text)):
        borders = sorted({*(border for border in borders if not begins[0] < border <= behind), *begins[1:], behind})
    for border in [*borders, len(text)]:
        while border - last > _LONGEST:
            last = _soft_border(text, last + _LONGEST // 2, last + _LONGEST)
            ends.append(last)
        if border > last:
            ends.append(border)
            last = border
    return ends


def _soft_border(text: str, start: int, end: int) -> int:
    """Where a range without a border is cut: at a blank line, as between captions, a comma, a blank, or at its end."""
    paragraph = text.rfind("\n\n", start, end)
    if paragraph >= 0:
        return paragraph + 2
    soft = [m.end() for m in _SOFT_BORDER.finditer(text, start, end)]
    return soft[-1] if soft else end


def _beside_writers(text: str, borders: Sequence[int]) -> Iterator[int]:
    """The ends of lines that name the writer of the text below, and of those before signatures: no passage ends there."""
    named = written_by(text)
    for ranges in (named.heads, [(start - 1, end - 1) for _, start, end in named.signatures]):
        for start, end in ranges:
            yield from borders[bisect_right(borders, start) : bisect_right(borders, end)]


def _within_sentences(text: str, borders: Sequence[int]) -> Iterator[int]:
    """The borders where something small on the page cuts a sentence in two."""
    for stop, start in interruptions(text):
        if start - stop <= _AROUND:
            yield from borders[bisect_right(borders, stop) : bisect_right(borders, start)]


def _trim(text: str, ranges: list[Range]) -> list[Range]:
    trimmed = []
    for start, end in ranges:
        if start < end and not (text[start].isspace() or text[end - 1].isspace()):  # as most are
            trimmed.append((start, end))
            continue
        part = text[start:end]
        left = start + len(part) - len(part.lstrip())
        if left < end:
            trimmed.append((left, start + len(part.rstrip())))
    return trimmed

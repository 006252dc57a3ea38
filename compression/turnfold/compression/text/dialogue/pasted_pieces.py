"""Texts pasted in pieces, message after message: "Part 1 of 3: ...", "Got it.", "Part 2 of 3: ...".

This module tells which messages are the pieces of one text, and what number a piece has. Which text is meant, and what is quoted
of it, is decided in ``recall.wholes``; single words are in ``lexicon/pieces.txt``.

A user's long messages, between which the other side says next to nothing, are pieces of one text if something connects them:
labels that count, a word for going on, headings whose numbers continue, or a sentence that was broken off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.memo import Memo, of_each
from turnfold.compression.text import words
from turnfold.compression.text.dialogue.wanted.places import named_parts
from turnfold.compression.text.dialogue.wanted.sections import counts_on, text_sections
from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.passages import estimate
from turnfold.compression.text.quotes import Quotable

_LEAST: Final = 300  # tokens of a piece
_LONGEST_REPLY: Final = 300  # characters of an answer to a piece
_LONGEST_LEAD: Final = 100  # characters of the line above a piece
_WORDS: Final = lexicon("pieces")["words"]
_WORD: Final = rf"(?:{one_of('pieces', 'words')})"
_OF: Final = rf"(?:[^\S\n]*[/|∕][^\S\n]*|[^\S\n]+(?:{one_of('pieces', 'of')})[^\S\n]+)"
#: "Part 2 of 3", "[2/3]", "Teil 2:", "第2部分"; without a word two numbers may be a date.
_LABEL: Final = lazy.pattern(
    rf"(?:(?<!\w){_WORD}[^\S\n]*#?|(?:\A|[\[(,;:–—-])[^\w\n]*)(?P<number>\d{{1,2}}){_OF}(?P<all>\d{{1,2}})(?![\d/]|[.,]\d)"
    rf"|(?<!\w){_WORD}[^\S\n]*#?(?P<alone>\d{{1,2}})(?=[^\S\n]*(?:[:.)\]—–-]|\Z))"
    rf"|(?P<nth>第)?[^\S\n]*(?P<sign>{words.FIGURE})[^\S\n]*(?:部分|(?(nth)[部段](?![^\W\d_])|(?!)))"
)
_GOES_ON: Final = lazy.pattern(
    rf"(?<!\w)(?:{one_of('pieces', 'goes on')})(?!\w)|\A\W*(?:{one_of('pieces', 'goes on run-on')})(?=[^\w\s]|\s*\Z)"
)
_ENDS: Final = lazy.pattern(r"[.!?:;…。！？：；)\]}>\"”»'`|*_-]\s*\Z")
_BEGINS_LOWER: Final = lazy.pattern(r"\s*[^\W\d_]")


class _PastedPiece(NamedTuple):
    """The properties that connect a long message to others.

    Attributes:
        number: the number of its label; 0 without one.
        goes_on: whether its first line says that it continues.
        first, last: numbers of its first and last heading; "" without one.
        is_broken: whether its last sentence is incomplete.
        is_rest: whether it begins in the middle of a sentence.
    """

    number: int
    goes_on: bool
    first: str
    last: str
    is_broken: bool
    is_rest: bool


def pieces_with(sources: Sequence[Quotable], at: int, memo: Memo) -> tuple[int, ...]:
    """The pieces of the text that a message belongs to, in order; () if it is not part of one."""
    return next((chain for chain in _chains(sources, memo) if at in chain), ())


def newest_pieces(sources: Sequence[Quotable], memo: Memo) -> tuple[int, ...]:
    """The pieces of the text most recently pasted in pieces, in order."""
    return next(reversed(_chains(sources, memo)), ())


def named_piece(folded: str, sources: Sequence[Quotable], memo: Memo) -> int | None:
    """The piece that a case-folded message names by number ("part 2"), of the text most recently pasted in labelled pieces."""
    named = named_parts(folded)
    if named is None or named.noun not in _WORDS or len(named.places) != 1:
        return None
    pieces = of_each(memo, "pieces", sources, _piece)
    for chain in reversed(_chains(sources, memo)):
        numbers = {one.number: n for n in chain if (one := pieces[n]) is not None and one.number}
        if numbers:
            place = named.places[0]
            return numbers.get(place if place > 0 else max(numbers) + 1 + place)
    return None


def _chains(sources: Sequence[Quotable], memo: Memo) -> list[tuple[int, ...]]:
    pieces = of_each(memo, "pieces", sources, _piece)
    chains: list[list[int]] = []
    for n, piece in enumerate(pieces):
        if piece is None:
            continue
        chain = chains[-1] if chains else []
        before = pieces[chain[-1]] if chain else None
        if before is not None and _is_next(sources, chain[-1], n) and _ties(before, piece):
            chain.append(n)
        else:
            chains.append([n])
    return [tuple(chain) for chain in chains if len(chain) > 1]


def _is_next(sources: Sequence[Quotable], before: int, n: int) -> bool:
    """Whether at most a short answer is between two messages."""
    between = sources[before + 1 : n]
    return len(between) < 2 and all(one.role == "assistant" and len(one.text) <= _LONGEST_REPLY for one in between)


def _ties(before: _PastedPiece, piece: _PastedPiece) -> bool:
    if piece.number or before.number:
        return piece.number == before.number + 1
    counts = bool(before.last and piece.first) and counts_on(before.last, piece.first)
    return piece.goes_on or counts or (before.is_broken and piece.is_rest)


def _piece(message: Quotable) -> _PastedPiece | None:
    text = message.text
    if message.role != "user" or len(text) <= _LEAST or estimate(text) < _LEAST:
        return None
    lead = words.fold(text.lstrip()[:_LONGEST_LEAD].partition("\n")[0])
    numbers = [one.number for one in text_sections(text) if one.number]
    begins = _BEGINS_LOWER.match(text)
    return _PastedPiece(
        label_number(lead),
        _GOES_ON.search(lead) is not None,
        numbers[0] if numbers else "",
        numbers[-1] if numbers else "",
        _ENDS.search(text[-20:]) is None,
        begins is not None and begins[0][-1].islower(),
    )


def label_number(lead: str) -> int:
    """The number of the label in the case-folded line above a text; 0 if there is none."""
    found = _LABEL.search(lead)
    if found is None or (found["all"] and int(found["number"]) > int(found["all"])):
        return 0
    return next(words.figure(one) for one in found.group("number", "alone", "sign") if one)

"""Words of a text in lower case.

All word-based rules share these splits into words. Stop words and stems belong to the scorers, which have their own terms.

Most sentences are ASCII: replacing all other bytes with blanks splits them several times faster than a pattern does. Only pieces
with more than letters and digits are searched for words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from turnfold.compression import lazy

#: Marks that belong to the letter before them but are no ``\w``: Latin accents, Hebrew and Arabic points, Indic and Thai vowels;
#: not the full stops of Indic scripts, which lie between them.
MARKS: Final = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u096f\u0971-\u0df3\u0e31-\u0e4e\u200c\u200d"
)
#: In front of a pattern of many phrases: where none of them begins they are not tried one by one. Each begins a word, or with a
#: sign that is not ASCII, or the text.
PHRASE_START: Final = r"(?:\b(?=\w)|(?=[^\x00-\x7f])|\A)"
_RUN: Final = rf"[^\W\d_](?:[^\W\d_]|[{MARKS}])*+"
_WORD: Final = lazy.pattern(rf"{_RUN}(?:'{_RUN})?")
_JOINED: Final = rf"[^\W_](?:[^\W_]|[{MARKS}])*+"
_JOINED_WORD: Final = lazy.pattern(rf"{_JOINED}(?:['’-]{_JOINED})*")
_LETTERS: Final = bytes(byte if chr(byte).isascii() and chr(byte).isalpha() else 32 for byte in range(256))
_LETTERS_AND_DIGITS: Final = bytes(byte if chr(byte).isascii() and chr(byte).isalnum() else 32 for byte in range(256))
_JOINTS: Final = b"'-"
_WITH_APOSTROPHES: Final = bytes(byte if byte == ord("'") else blank for byte, blank in enumerate(_LETTERS))
#: One that is not within a word of its own.
_ODD_APOSTROPHE: Final = lazy.pattern(r"'(?:(?![A-Za-z])|(?<![A-Za-z]')|[A-Za-z]+')")
_TWO_APOSTROPHES: Final = lazy.pattern("'[a-z]+'")
#: A joint without a letter or digit on each side.
_NO_JOINT: Final = lazy.pattern(r"['-](?:(?![A-Za-z0-9])|(?<![A-Za-z0-9].))")
#: What may be part of a word that is not ASCII.
_FOREIGN: Final = lazy.pattern(r"[^\W\x00-\x7f]")
_JOINED_KEPT: Final = bytes(byte if byte in _JOINTS else blank for byte, blank in enumerate(_LETTERS_AND_DIGITS))


def lower_text(text: str) -> str:
    """The text in lower case with straight apostrophes."""
    return text.lower().replace("’", "'")


def words(low: str) -> list[str]:
    """Words of a lowered text, in order: letters with at most one apostrophe inside."""
    if not low.isascii():
        return _WORD.findall(low)
    if "'" not in low:
        return low.encode().translate(_LETTERS).decode().split()
    split = low.encode().translate(_WITH_APOSTROPHES).decode()
    return _in_pieces(split, _WORD) if _ODD_APOSTROPHE.search(split) else split.split()


def joined_words(low: str) -> list[str]:
    """Words of a lowered text, in order: letters and digits, with apostrophes and hyphens inside."""
    if not low.isascii():
        return _JOINED_WORD.findall(low)
    if "'" not in low and "-" not in low:
        return low.encode().translate(_LETTERS_AND_DIGITS).decode().split()
    return _NO_JOINT.sub(" ", low.encode().translate(_JOINED_KEPT).decode()).split()


def _in_pieces(split: str, word: re.Pattern[str]) -> list[str]:
    """The words of an ASCII text with blanks in place of what is in none."""
    found: list[str] = []
    for piece in split.split():
        if piece.isalnum():
            found.append(piece)
        else:
            found += word.findall(piece)
    return found


def plain_words(low: str) -> frozenset[str] | None:
    """The words of a lowered text, cut at apostrophes; None if it has words beyond ASCII. A pattern that needs one of some words
    need not be tried if none of them occurs.
    """
    plain = _plain_low(low)
    return None if plain is None else frozenset(plain.encode().translate(_LETTERS).decode().split())


def words_within(text: str) -> Callable[[int, int], list[str]]:
    """``words(lower_text(text[start:end]))`` by the range; a text without words beyond ASCII is split once."""
    low = _plain_low(text)
    if low is None:
        return lambda start, end: words(lower_text(text[start:end]))
    if "'" not in low:
        split = low.encode().translate(_LETTERS).decode()
        return lambda start, end: split[start:end].split()
    split = _NO_JOINT.sub(" ", low.encode().translate(_WITH_APOSTROPHES).decode())
    if _TWO_APOSTROPHES.search(split):
        return lambda start, end: words(low[start:end])
    return lambda start, end: split[start:end].strip("'").split()


def joined_words_within(text: str) -> Callable[[int, int], list[str]]:
    """``joined_words(lower_text(text[start:end]))`` by the range; a text without words beyond ASCII is split once."""
    low = _plain_low(text)
    if low is None:
        return lambda start, end: joined_words(lower_text(text[start:end]))
    if "'" not in low and "-" not in low:
        split = low.encode().translate(_LETTERS_AND_DIGITS).decode()
        return lambda start, end: split[start:end].split()
    joined = _NO_JOINT.sub(" ", low.encode().translate(_JOINED_KEPT).decode())
    # A range may cut a word in two; a joint at its edge joins nothing in it.
    return lambda start, end: joined[start:end].strip("'-").split()


def _plain_low(text: str) -> str | None:
    """``lower_text(text)`` in ASCII, character by character, with other signs in place of those beyond; None if it has words
    beyond ASCII.
    """
    if text.isascii():
        return text.lower()
    if _FOREIGN.search(text):
        return None
    return text.replace("’", "'").encode("ascii", "replace").decode().lower()

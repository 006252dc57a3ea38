"""Words of a text in lower case.

Lives here: the splits into words that all word-based rules share. Does not belong here: stop words, stems (scorers have their own
terms).

Most sentences are ASCII without apostrophes: blanks in place of all other bytes split them several times faster than a pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_JOINED_WORD: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_LETTERS: Final = bytes(byte if chr(byte).isascii() and chr(byte).isalpha() else 32 for byte in range(256))
_LETTERS_AND_DIGITS: Final = bytes(byte if chr(byte).isascii() and chr(byte).isalnum() else 32 for byte in range(256))


def lower_text(text: str) -> str:
    """The text in lower case with straight apostrophes."""
    return text.lower().replace("’", "'")


def words(low: str) -> list[str]:
    """Words of a lowered text, in order: letters with at most one apostrophe inside."""
    if low.isascii() and "'" not in low:
        return low.encode().translate(_LETTERS).decode().split()
    return _WORD.findall(low)


def joined_words(low: str) -> list[str]:
    """Words of a lowered text, in order: letters and digits, with apostrophes and hyphens inside."""
    if low.isascii() and "'" not in low and "-" not in low:
        return low.encode().translate(_LETTERS_AND_DIGITS).decode().split()
    return _JOINED_WORD.findall(low)


def words_within(text: str) -> Callable[[int, int], list[str]]:
    """``words(lower_text(text[start:end]))`` by the range; ASCII is lowered once for all ranges."""
    if not text.isascii():
        return lambda start, end: words(lower_text(text[start:end]))
    low = text.lower()
    split = low.encode().translate(_LETTERS).decode()
    if "'" not in text:
        return lambda start, end: split[start:end].split()
    return lambda start, end: split[start:end].split() if low.find("'", start, end) < 0 else _WORD.findall(low, start, end)


def joined_words_within(text: str) -> Callable[[int, int], list[str]]:
    """``joined_words(lower_text(text[start:end]))`` by the range; ASCII is lowered once for all ranges."""
    if not text.isascii():
        return lambda start, end: joined_words(lower_text(text[start:end]))
    low = text.lower()
    split = low.encode().translate(_LETTERS_AND_DIGITS).decode()
    if "'" not in text and "-" not in text:
        return lambda start, end: split[start:end].split()

    def within(start: int, end: int) -> list[str]:
        if low.find("'", start, end) < 0 and low.find("-", start, end) < 0:
            return split[start:end].split()
        return _JOINED_WORD.findall(low, start, end)

    return within

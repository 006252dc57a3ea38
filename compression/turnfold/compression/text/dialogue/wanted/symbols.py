"""Letters that stand for something: "let f(x) = x² + 3x", "Soit K la matrice ...", "Option A: the train".

This module tells which of them a message uses, and where a text says what one stands for. Which are quoted is decided in
``recall.wholes.definitions``. Names of more than one letter are words like any other.

A single letter says too little to count as a word of a question, but "what is f(3)?" cannot be answered without knowing what f
is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.sentences import rough_sentences

_SYMBOL: Final = r"[A-Za-zα-ωΑ-Ω](?:_?\d{1,2}|[′'](?=\s?\())?"
_ALONE: Final = rf"(?<![\w.'’$@#/\\-])({_SYMBOL})(?![\w'’])"
_USED: Final = lazy.pattern(_ALONE)
# Words of a letter in one language or another, and what stands behind an apostrophe: these are letters beside a sign alone.
_WORDS: Final = frozenset("aiyoeuvwzAIOYEUVWZ")
_SIGN: Final = "(=+*/^<>≤≥·×÷√∫"
_DEFINED: Final = lazy.pattern(
    rf"{_ALONE}[^\S\n]{{0,2}}(?:\([^()\n]{{1,20}}\)[^\S\n]{{0,2}})?(?::=|≔|=(?![=>]))[^\S\n]{{0,2}}(?=\S)"
)
_LET: Final = lazy.pattern(
    rf"\b(?:let|call|denote|define|sei|seien|nenne|soit|soient|sea|sean|sia|siano|seja|sejam|zij|niech|пусть)\s+{_ALONE}(?=\s)",
    re.IGNORECASE,
)
#: "Option A: the train", "B) the car".
_LABELLED: Final = lazy.pattern(
    r"^[\s>*_#-]{0,8}(?:\d{1,2}[.)]\s)?[*_]{0,3}(?:[^\W\d_]{3,12} )?([A-H])(?:[:)]|[*_]{2,3}:?|\.(?= )| [–—-](?= ))"
)
_LONGEST_LINE: Final = 300  # characters; of a longer one the sentence
_MOST_READ: Final = 2_000  # characters of a line; a longer one was not written by hand
_LONGEST: Final = 600  # characters of a message that asks so


def used_symbols(text: str) -> list[str]:
    """The letters used as symbols in a message, in order; empty for a long message."""
    return list(dict.fromkeys(_used(text))) if len(text) <= _LONGEST else []


def _used(text: str) -> Iterator[str]:
    found = [*_USED.finditer(text)]
    is_listed = any(one[1] not in _WORDS for one in found)  # "A and C"
    for one in found:
        behind, front = text[one.end() :].lstrip()[:1], text[: one.start()].rstrip()[-1:]
        is_sign = (behind and behind in _SIGN) or (front and front in _SIGN)
        if one[1] not in _WORDS or is_sign or (is_listed and one[1] == "A"):
            yield one[1]


def definitions(text: str) -> Iterator[tuple[str, Range]]:
    """The letters that a text defines, each with the line or sentence that defines it."""
    start = 0
    listed: list[tuple[str, Range]] = []
    for line in text.splitlines(keepends=True):
        if len(line) <= _MOST_READ:
            yield from ((symbol, (start + a, start + b)) for symbol, (a, b) in _defined(line))
            if item := _LABELLED.match(line):
                listed.append((item[1], (start, start + len(line.rstrip()))))
        start += len(line)
    letters = "".join(letter for letter, _ in listed)
    if len(letters) > 1 and "ABCDEFGH".startswith(letters):  # who speaks comes again, and in any order
        yield from listed


def _defined(line: str) -> Iterator[tuple[str, Range]]:
    found = [(one.start(), one[1]) for pattern in (_DEFINED, _LET) for one in pattern.finditer(line)]
    end = len(line.rstrip())
    said = [(0, end)] if end <= _LONGEST_LINE or not found else rough_sentences(line[:end])
    for at, symbol in sorted(found):
        yield symbol, next((one for one in reversed(said) if one[0] <= at), (0, end))

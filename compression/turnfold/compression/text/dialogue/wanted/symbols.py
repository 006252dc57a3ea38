"""Letters that stand for something: "let f(x) = x² + 3x", "a = 14", "Soit K la matrice ...".

Lives here: which of them a message uses, and where a text says what one stands for. Does not belong here: which are quoted
(``recall.wholes.definitions``), names of more than a letter, which are words like others.

A letter says too little to be a word of a question, and "what is f(3)?" cannot be answered without what f is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from turnfold.compression.text.blocks import Range
from turnfold.compression.text.sentences import rough_sentences

_SYMBOL: Final = r"[A-Za-zα-ωΑ-Ω](?:_?\d{1,2}|[′'](?=\s?\())?"
_ALONE: Final = rf"(?<![\w.'’$@#/\\-])({_SYMBOL})(?![\w'’])"
_USED: Final = re.compile(_ALONE)
# Words of a letter in one language or another, and what stands behind an apostrophe: these are letters beside a sign alone.
_WORDS: Final = frozenset("aiyoeuvwzAIOYEUVWZ")
_SIGN: Final = "(=+*/^<>≤≥·×÷√∫"
_DEFINED: Final = re.compile(
    rf"{_ALONE}[^\S\n]{{0,2}}(?:\([^()\n]{{1,20}}\)[^\S\n]{{0,2}})?(?::=|≔|=(?![=>]))[^\S\n]{{0,2}}(?=\S)"
)
_LET: Final = re.compile(
    rf"\b(?:let|call|denote|define|sei|seien|nenne|soit|soient|sea|sean|sia|siano|seja|sejam|zij|niech|пусть)\s+{_ALONE}(?=\s)",
    re.IGNORECASE,
)
_LONGEST_LINE: Final = 300  # characters; of a longer one the sentence
_MOST_READ: Final = 2_000  # characters of a line; a longer one was not written by hand
_LONGEST: Final = 600  # characters of a message that asks so


def used_symbols(text: str) -> list[str]:
    """The letters that stand for something in a message, in order; none in a long one."""
    return list(dict.fromkeys(_used(text))) if len(text) <= _LONGEST else []


def _used(text: str) -> Iterator[str]:
    for found in _USED.finditer(text):
        behind, front = text[found.end() :].lstrip()[:1], text[: found.start()].rstrip()[-1:]
        if found[1] not in _WORDS or (behind and behind in _SIGN) or (front and front in _SIGN):
            yield found[1]


def definitions(text: str) -> Iterator[tuple[str, Range]]:
    """The letters for which a text says what they stand for, each with the line or the sentence that says so."""
    if "=" not in text and "≔" not in text and not _LET.search(text):
        return
    start = 0
    for line in text.splitlines(keepends=True):
        if len(line) <= _MOST_READ:
            yield from ((symbol, (start + a, start + b)) for symbol, (a, b) in _defined(line))
        start += len(line)


def _defined(line: str) -> Iterator[tuple[str, Range]]:
    found = [(one.start(), one[1]) for pattern in (_DEFINED, _LET) for one in pattern.finditer(line)]
    end = len(line.rstrip("\r\n"))
    said = [(0, end)] if end <= _LONGEST_LINE or not found else rough_sentences(line[:end])
    for at, symbol in sorted(found):
        yield symbol, next((one for one in reversed(said) if one[0] <= at), (0, end))

"""How raw words become item keys, premise values and answers.

This module deals with Unicode and white space, nothing else. The grammar's patterns and the state are in `grammar` and `machine`.

`unicodedata.normalize` takes quadratic time on long runs of combining marks (100,000 of them: 20 s), so whoever calls in
here first asks `tame`.
"""

from __future__ import annotations

import unicodedata
from itertools import groupby
from typing import Final, Literal

from turnfold.compression import lazy

#: Longest raw text that can be a directive or an answer; a longer one is ordinary text. Keeps every step far under a millisecond.
MAX_TEXT: Final = 10_000
#: Longest premise or item that may be imported: NFKC turns a character into 18 at most, so every reachable value fits.
MAX_VALUE: Final = 18 * MAX_TEXT
#: Longest run of combining marks in a directive (30 in Unicode's stream-safe format), before and after NFKC.
MAX_MARKS: Final = 64
MAX_VALUE_MARKS: Final = 4 * MAX_MARKS

_APOSTROPHES: Final = str.maketrans({"’": "'", "`": "'"})
_DONT: Final = lazy.pattern(r"\bdont\b")
_ARTICLES: Final = frozenset({"a", "an", "the"})

_ANSWERS: Final[dict[str, Literal["yes", "no"]]] = {
    **dict.fromkeys(("yes", "yes please", "yep", "yeah", "sure", "ok", "okay"), "yes"),
    **dict.fromkeys(("no", "nope", "no thanks"), "no"),
}


def tame(text: str, max_length: int = MAX_TEXT, max_marks: int = MAX_MARKS) -> bool:
    """Whether a text is short enough, and free of runs of combining marks, to be normalised in linear time."""
    if len(text) > max_length:
        return False
    if text.isascii():
        return True
    runs = groupby(text, lambda char: unicodedata.combining(char) != 0)
    return all(sum(1 for _ in run) <= max_marks for marks, run in runs if marks)


def _collapse(text: str) -> str:
    return " ".join(text.split())


def _lower(text: str) -> str:
    """NFKC and lower case, repeated so that neither undoes the other: lower case may put characters side by side that compose."""
    while (lowered := unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())) != text:
        text = lowered
    return text


def item_key(raw: str) -> str:
    """The key of an item; empty if nothing is left of it."""
    words = _DONT.sub("don't", _lower(raw).translate(_APOSTROPHES)).split()
    return " ".join(words[1:] if words and words[0] in _ARTICLES else words)


def item_spelling(key: str) -> str:
    """A spelling of a key that `item_key` reads back as that key.

    A key that itself begins with an article ("use the the who") would lose it when read again.
    """
    return key if item_key(key) == key else f"the {key}"


def premise_value(raw: str) -> str:
    """A premise as stored: NFKC, with apostrophes and white space normalised."""
    return _collapse(unicodedata.normalize("NFKC", raw).translate(_APOSTROPHES))


def answer(text: str) -> Literal["yes", "no"] | None:
    """The meaning of a reply to a pending question; None for anything but the words of the grammar."""
    bare = text.strip()
    if not tame(bare):
        return None
    return _ANSWERS.get(_collapse(unicodedata.normalize("NFKC", bare).lower()).rstrip(".,!?").rstrip())

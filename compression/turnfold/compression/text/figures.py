"""Figures, identifiers, versions, paths and URLs of a text, which a reader may have to copy exactly.

This module finds them in a piece of text, cheaply enough for every sentence of a long conversation. Names and kinds are in
``names.entities``, what must stay byte for byte in ``protect``; sentences are chosen elsewhere.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from turnfold.compression import lazy
from turnfold.compression.text.spans import Span

_MOST_KNOWN: Final = 64  # characters of a token that is remembered
# Most sentences have none of these marks and need no closer look. All begin with one class, which the regex engine finds fast.
_HINT: Final = lazy.pattern(
    r"[\d_/\\@`#=¼½¾²³一二三四五六七八九十百千万萬億亿零〇A-Z.:()-]"
    r"(?:(?<=[^A-Z.:()-])|(?<=[a-z][A-Z])|(?<=\w[.:(])(?=\w)|(?<=\(\))|(?<=\s-)-?[a-z])"
)
# Scripts that put no blanks between words, and typographic marks, end a token.
_PIECE: Final = lazy.pattern(
    r"`[^`\n]++`|[一二三四五六七八九十]{1,3}月[一二三四五六七八九十]{1,3}[日号號]|[一二三四五六七八九十百千万萬億亿零〇点點]{2,}+"
    r"|[^\s`\u0e00-\u0e7f\u2010-\u203a\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff0f\uff1a-\uff20"
    r"\uff3b-\uff40\uff5b-\uff65\u060c\u061b\u061f\u0964]++"
)
_TELLS: Final = lazy.pattern(
    r"[\d_\\@=`¼½¾²³一二三四五六七八九十百千万萬億亿零〇]|[a-z][A-Z]|\w(?:[.:]|::|->)\w|\w\(\)|[A-Z]-[A-Z]"
    r"|\A--?[A-Za-z]|\A[.~]{0,2}/\w|\w/[^/]*[/.A-Z]|://|#\w"
)
_NOT_ONE: Final = lazy.pattern(r"(?:[^\W\d_]\.)+[^\W\d_]|\w+:[^\W\d_]+")  # "e.g", "a.m", "U.S"
_FIGURE: Final = lazy.pattern(r"[-+±~<>≤≥=$€£¥₹]*[\d.,:]+")
_CALL: Final = lazy.pattern(r"[\w.:>-]*\w\(\)")
_EDGES: Final = ".,;:!?\"'*”’“‘«»…()[]{}<>¿¡|"
# What an ASCII character is, of what is asked here.
_IN_WORD, _UPPER, _LOWER, _BLANK, _TELLING, _JOINT, _DASH, _OPENING = (1 << n for n in range(8))
_SIGNS: Final = bytes(
    (_IN_WORD if sign.isalnum() or sign == "_" else 0)
    | (_UPPER if sign.isupper() else 0)
    | (_LOWER if sign.islower() else 0)
    | (_BLANK if sign.isspace() else 0)
    | (_TELLING if sign.isdigit() or sign in "_\\@=/#" else 0)
    | (_JOINT if sign in ".:" else 0)
    | (_DASH if sign == "-" else 0)
    | (_OPENING if sign == "(" else 0)
    for sign in map(chr, range(128))
) + bytes(128)
_LEAD: Final = ",;:!?\"'*”’“‘«»…()[]{}<>¿¡|"


def figures_by_span(text: str, spans: Sequence[Span]) -> dict[int, tuple[str, ...]]:
    """The figures of each span that has any, by its index; the spans tile the text."""
    starts = [span.start for span in spans]
    found: dict[int, tuple[str, ...]] = {}
    at = 0
    while hint := _HINT.search(text, at):  # one scan of the text, not one of each span
        i = bisect_right(starts, hint.start()) - 1
        if held := figures(spans[i].of(text)):
            found[i] = held
        at = spans[i].end
    return found


def figures_by_start(text: str, starts: NDArray[np.int64]) -> dict[int, tuple[str, ...]]:
    """The same for ASCII, by where the pieces begin: the text may be many texts in a row."""
    signs = np.frombuffer(text.encode().translate(_SIGNS) + b"\0", np.uint8)
    begins = np.zeros(len(signs), bool)
    begins[starts] = begins[-1] = True
    candidates, sure = _candidates(signs, begins)
    solid = (signs & _BLANK) == 0
    solid[-1] = False
    firsts = np.flatnonzero(solid & np.append(True, ~solid[:-1] | begins[1:]))
    ends = np.flatnonzero(solid[:-1] & (~solid[1:] | begins[1:])) + 1
    tokens = np.unique(np.searchsorted(firsts, candidates, "right") - 1)
    of = np.searchsorted(starts, firsts[tokens], "right") - 1
    after = np.minimum(tokens + 1, len(firsts) - 1)
    follows = (after > tokens) & (firsts[after] < np.append(starts, len(text))[of + 1])
    columns = (of, firsts[tokens], ends[tokens], follows, firsts[after], ends[after])
    found: dict[int, dict[str, None]] = {}
    for i, start, end, is_followed, begin, stop in zip(*[column.tolist() for column in columns], strict=True):
        token = raw = text[start:end]
        if not raw.isdecimal() and not _tells(token := _stripped(raw)):
            continue
        if is_followed and (raw.isdecimal() or _is_bare(token, raw)):
            unit = text[begin:stop]
            token = f"{token} {(unit if unit.isalpha() else _stripped(unit)).lower()}"
        found.setdefault(i, {})[token] = None
    hinted = set((np.searchsorted(starts, sure, "right") - 1).tolist())
    stops = [*starts[1:].tolist(), len(text)]
    for i in [i for i in found if i not in hinted and not _HINT.search(text[int(starts[i]) : stops[i]])]:
        del found[i]
    every = {i: tuple(held) for i, held in found.items()}
    at = text.find("`")
    while at >= 0:  # what stands in such marks is one token
        i = int(np.searchsorted(starts, at, "right")) - 1
        every[i] = figures(text[int(starts[i]) : stops[i]])
        at = text.find("`", stops[i])
    return {i: held for i, held in every.items() if held}


def _candidates(signs: NDArray[np.uint8], begins: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places in all tokens that may be figures; and those of them with signs that suffice as hints."""
    marks = np.flatnonzero((signs & (_TELLING | _UPPER | _JOINT | _DASH | _OPENING)) > 0)
    here, before, behind = signs[marks], signs[marks - 1], signs[marks + 1]  # in front of the first is the last, which is none
    telling = (here & _TELLING) > 0
    dashed = ((before & _IN_WORD) == 0) | ((behind & _IN_WORD) == 0) | begins[marks] | ((before & behind & _UPPER) > 0)
    tells = (
        telling
        | (((here & _UPPER) > 0) & ((before & _LOWER) > 0))
        | (((here & _JOINT) > 0) & ((behind & (_IN_WORD | _JOINT)) > 0))
        | (((here & _OPENING) > 0) & ((behind & (_IN_WORD | _BLANK)) == 0))
        | (((here & _DASH) > 0) & dashed)
    )
    return marks[tells], marks[telling]


def figures(piece: str) -> tuple[str, ...]:
    """What a piece of text contains that may have to be copied, each once, in order.

    A bare number is listed with the word behind it: "3 retries" and "3 nodes" are two figures.
    """
    if not _HINT.search(piece):
        return ()
    found: dict[str, None] = {}
    bare = ""
    for raw in piece.split() if piece.isascii() and "`" not in piece else _PIECE.findall(piece):
        if not bare and raw[1:].islower() and raw.isalpha() and raw.isascii():  # most tokens
            continue
        token, tells, is_bare = _known(raw) if len(raw) <= _MOST_KNOWN else _read(raw)
        if bare:
            found[f"{bare} {token.lower()}"] = None
            bare = ""
        if not tells:
            continue
        if is_bare:
            bare = token
        else:
            found[token] = None
    if bare:
        found[bare] = None
    return tuple(found)


def _read(raw: str) -> tuple[str, bool, bool]:
    """A token without the punctuation around it, whether it may have to be copied, and whether it is a bare number then."""
    token = _stripped(raw)
    tells = _tells(token)
    return token, tells, tells and _is_bare(token, raw)


#: Lines of output have the same tokens again and again.
_known: Final = lru_cache(maxsize=2048)(_read)


def _stripped(raw: str) -> str:
    """A token without the punctuation around it."""
    token = raw.lstrip(_LEAD)
    call = _CALL.match(token) if "()" in token else None
    return call[0] if call else token.rstrip(_EDGES)


def _tells(token: str) -> bool:
    """Whether a token may have to be copied."""
    plain = token.isascii() and token.isalpha() and token[1:].islower()  # most tokens: told without the pattern
    return bool(token) and not plain and _TELLS.search(token) is not None and not _NOT_ONE.fullmatch(token)


def _is_bare(token: str, raw: str) -> bool:
    """Whether it is a number without a unit, and more follows in its clause."""
    return _FIGURE.fullmatch(token) is not None and raw[-1] not in ".,;:!?)"

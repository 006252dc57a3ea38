"""Figures, identifiers, versions, paths and URLs of a text: what a reader may have to copy exactly.

Lives here: finding them in a piece of text, cheaply enough for every sentence of a long conversation. Does not belong here: names
and kinds (``entities``), what must stay byte for byte (``protect``), choosing sentences.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from turnfold.compression.text.spans import Span

# Most sentences have none of these marks and need no closer look. All begin with one class, which the regex engine finds fast.
_HINT: Final = re.compile(
    r"[\d_/\\@`#=¼½¾²³一二三四五六七八九十百千万萬億亿零〇A-Z.:()-]"
    r"(?:(?<=[^A-Z.:()-])|(?<=[a-z][A-Z])|(?<=\w[.:(])(?=\w)|(?<=\(\))|(?<=\s-)-?[a-z])"
)
# Scripts that put no blanks between words, and typographic marks, end a token.
_PIECE: Final = re.compile(
    r"`[^`\n]++`|[一二三四五六七八九十百千万萬億亿零〇点點]{2,}+"
    r"|[^\s`\u0e00-\u0e7f\u2010-\u203a\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff0f\uff1a-\uff20"
    r"\uff3b-\uff40\uff5b-\uff65\u060c\u061b\u061f\u0964]++"
)
_TELLS: Final = re.compile(
    r"[\d_\\@=`¼½¾²³一二三四五六七八九十百千万萬億亿零〇]|[a-z][A-Z]|\w(?:[.:]|::|->)\w|\w\(\)|[A-Z]-[A-Z]"
    r"|\A--?[A-Za-z]|\A[.~]{0,2}/\w|\w/[^/]*[/.A-Z]|://|#\w"
)
_NOT_ONE: Final = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]|\w+:[^\W\d_]+")  # "e.g", "a.m", "U.S"
_FIGURE: Final = re.compile(r"[-+±~<>≤≥=$€£¥₹]*[\d.,:]+")
_CALL: Final = re.compile(r"[\w.:>-]*\w\(\)")
_EDGES: Final = ".,;:!?\"'*”’“‘«»…()[]{}<>¿¡|"
_LEAD: Final = ",;:!?\"'*”’“‘«»…()[]{}<>¿¡|"


def figures_by_span(text: str, spans: Sequence[Span]) -> dict[int, tuple[str, ...]]:
    """By the index of a span, where it has any, its figures; the spans tile the text."""
    found: dict[int, tuple[str, ...]] = {}
    starts = [span.start for span in spans]
    at = 0
    while hint := _HINT.search(text, at):  # one scan of the text, not one of each span
        i = bisect_right(starts, hint.start()) - 1
        if held := figures(spans[i].of(text)):
            found[i] = held
        at = spans[i].end
    return found


def figures(piece: str) -> tuple[str, ...]:
    """What a piece of a text holds that may have to be copied, each once, in order.

    A bare number is listed with the word behind it: "3 retries" and "3 nodes" are two figures.
    """
    if not _HINT.search(piece):
        return ()
    found: dict[str, None] = {}
    bare = ""
    for raw in piece.split() if piece.isascii() and "`" not in piece else _PIECE.findall(piece):
        if not bare and raw[1:].islower() and raw.isalpha() and raw.isascii():  # most tokens
            continue
        token = raw.lstrip(_LEAD)
        call = _CALL.match(token) if "()" in token else None
        token = call[0] if call else token.rstrip(_EDGES)
        if bare:
            found[f"{bare} {token.lower()}"] = None
            bare = ""
        plain = token.isascii() and token.isalpha() and token[1:].islower()  # most tokens: told without the pattern
        if plain or not token or not _TELLS.search(token) or _NOT_ONE.fullmatch(token):
            continue
        if _FIGURE.fullmatch(token) and raw[-1] not in ".,;:!?)":
            bare = token
        else:
            found[token] = None
    if bare:
        found[bare] = None
    return tuple(found)

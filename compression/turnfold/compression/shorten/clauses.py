"""Clauses: parts of sentences, each of which can state a fact.

Lives here: cutting sentences where a reader would pause. Does not belong here: choosing among them (``coverage``).

A long sentence often has its facts in one half; choosing whole sentences would pay for both halves.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from turnfold.compression.text.protect import BLOCK_KINDS, protected_spans
from turnfold.compression.text.spans import Span

_PAUSE: Final = re.compile(
    r"(?<=[,;:])\s+(?=\S)|(?<=[，、；])|\s+(?=(?:and|but|because|while|with|after|before|so|then|when|if|which|that|for|to|from|in|on|by|at"
    r"|using|where|until|unless|during|und|aber|weil|mit|nach|vor|wenn|für|von|bei|et|mais|parce|avec|après|avant|quand|pour|y|pero|porque"
    r"|con|después|antes|cuando|para|desde|e|mas|com|depois|quando|и|но|потому|после|когда|для) )"
)
_WORD: Final = re.compile(r"\S+")
_WHOLE: Final = 11  # words: a shorter sentence stays whole, as its parts say little without each other
_SHORTEST: Final = 3  # words of a clause, on both sides of a cut
_SHORTEST_DENSE: Final = 6  # characters, where words are not told apart by blanks


class Clause(NamedTuple):
    """``text[start:end]``, a piece of the sentence with this index."""

    start: int
    end: int
    sentence: int


def clauses(text: str, spans: Sequence[Span]) -> list[Clause]:
    """The clauses of sentences (``sentences(text)``), tiling them; blocks stay whole, no cut falls inside a protected span."""
    inline = [span for span in protected_spans(text) if span.kind not in BLOCK_KINDS]
    out: list[Clause] = []
    at = 0
    for i, span in enumerate(spans):
        start = span.start
        if not span.kind:
            for cut in _cuts(text, span):
                while at < len(inline) and inline[at].end <= cut:
                    at += 1
                if at == len(inline) or inline[at].start >= cut:
                    out.append(Clause(start, cut, i))
                    start = cut
        out.append(Clause(start, span.end, i))
    return out


def _cuts(text: str, span: Span) -> list[int]:
    sentence = text[span.start : span.end]
    if sentence.isascii():
        words = [m.start() for m in _WORD.finditer(sentence)]
        if len(words) < _WHOLE:
            return []
        first, last = words[_SHORTEST], words[-_SHORTEST]
    else:
        first, last = _SHORTEST_DENSE, len(sentence.rstrip()) - _SHORTEST_DENSE
    cuts: list[int] = []
    for m in _PAUSE.finditer(sentence):
        cut = m.end()
        if first <= cut <= last:
            cuts.append(span.start + cut)
            first = _skip(sentence, cut)
    return cuts


def _skip(sentence: str, at: int) -> int:
    """Where the next cut may be: a number of words further on."""
    end = at
    for _ in range(_SHORTEST):
        word = _WORD.search(sentence, end)
        if not word:
            return len(sentence)
        end = word.end() if sentence.isascii() else min(word.end(), at + _SHORTEST_DENSE)
    return end

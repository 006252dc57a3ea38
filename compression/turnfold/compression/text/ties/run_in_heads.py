"""Heads in the line that they govern: "Conjecture (open). There are infinitely many.".

This module finds what follows such a head and needs it. Heads with a colon are in ``paragraph``, titles on lines of their own in
``farther`` and ``layout``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import all_words
from turnfold.compression.text.ties.pieces import StatementPiece

_WORDS: Final = 3  # of a head, what stands in brackets aside
_FEWEST: Final = 2  # of such heads in a text: one alone may be an exclamation
_ASIDE: Final = lazy.pattern(r"[ \u00a0]?\([^()\n]{1,60}\)")
_BLANK_LINE: Final = lazy.pattern(r"\n[ \t\r]*\n\s*\Z")
_FUNCTION_WORDS: Final = all_words("function_words")


def run_in_ties(pieces: Sequence[StatementPiece]) -> Iterator[tuple[int, int]]:
    """The sentences in the paragraph of such a head, up to the next head, and the head."""
    heads = {i for i in range(len(pieces) - 1) if _is_head(pieces, i)}
    if len(heads) < _FEWEST:
        return
    head = -1
    for i, piece in enumerate(pieces):
        if i in heads:
            head = i
            continue
        if piece.kind:
            head = -1
        if head >= 0:
            yield i, head
        if _BLANK_LINE.search(piece.tail(40)):
            head = -1


def _is_head(pieces: Sequence[StatementPiece], i: int) -> bool:
    """Whether a line begins with a few words and a full stop that do not make a sentence, and continues."""
    piece, behind = pieces[i], pieces[i + 1]
    if piece.kind or piece.item or not piece.starts_line or behind.kind or behind.starts_line or piece.dense:
        return False
    head = _ASIDE.sub("", piece.text.rstrip())
    return (
        head[-1:] == "."
        and head[:1].isupper()
        and len(head.split()) <= _WORDS
        and _FUNCTION_WORDS.isdisjoint(piece.said[:_WORDS] if head == piece.text.rstrip() else head[:-1].lower().split())
    )

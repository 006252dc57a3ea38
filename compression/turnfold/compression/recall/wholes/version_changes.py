"""Differences between versions of a text or of code that are too long to be quoted whole.

This module finds the lines that differ, or the sentences of long lines. Which versions are meant is decided in ``works``; edits
of code that were made in a chat are in ``code_changes``.

A question about what changed between two drafts needs the places where they differ, from both; the beginnings of their paragraphs
are the same in either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Final

from turnfold.compression.recall.fence import quote_tokens
from turnfold.compression.recall.wholes.spread_works import joined
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.places import lines
from turnfold.compression.text.quotes import Quotable, Quote
from turnfold.compression.text.sentences import rough_sentences

_LEAST_ALIKE: Final = 0.5  # share of the shorter version's lines that the other must have
_MOST_LINES: Final = 4_000
_LONG_LINE: Final = 300  # characters of a line whose sentences are compared individually
_LABEL: Final = 40  # characters of a label at the start of a line


def version_changes(
    messages: Sequence[Quotable], versions: Sequence[int], folded: int, room: int, count: Callable[[str], int]
) -> tuple[tuple[Quote, ...], int]:
    """The differences between versions, as quotes, and their tokens.

    Empty if the versions have little in common, or differ too much for the room.
    """
    quotes: list[Quote] = []
    for old, new in pairwise(versions):
        found = _differences(messages[old].text, messages[new].text)
        if found is None:
            return (), 0
        quotes += [Quote(n, *place) for n, places in zip((old, new), found, strict=True) for place in places]
    chosen = joined(messages, sorted({quote for quote in quotes if quote.source < folded}))
    tokens = quote_tokens(chosen, messages, count)
    return (chosen, tokens) if tokens <= room else ((), 0)


def _differences(old: str, new: str) -> tuple[list[Range], list[Range]] | None:
    """The ranges in which two texts differ, for each text; None if they are not versions of one text."""
    ours, theirs = lines(old), lines(new)
    if max(len(ours), len(theirs)) > _MOST_LINES:
        return None
    matcher = SequenceMatcher(None, [old[a:b] for a, b in ours], [new[a:b] for a, b in theirs], autojunk=False)
    alike = sum(block.size for block in matcher.get_matching_blocks())
    if alike < _LEAST_ALIKE * min(len(ours), len(theirs)):
        return None
    changed: tuple[list[Range], list[Range]] = ([], [])
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            continue
        some, others = _finer(old, ours[a:b], new, theirs[c:d])
        changed[0].extend(some)
        changed[1].extend(others)
    return changed


def _finer(old: str, ours: Sequence[Range], new: str, theirs: Sequence[Range]) -> tuple[Sequence[Range], Sequence[Range]]:
    """If both sides have the same number of long lines, the differing sentences with the lines' labels; else the lines."""
    if len(ours) != len(theirs) or all(b - a < _LONG_LINE for a, b in (*ours, *theirs)):
        return ours, theirs
    found: tuple[list[Range], list[Range]] = ([], [])
    for one, other in zip(ours, theirs, strict=True):
        some, others = _sentences(old, one), _sentences(new, other)
        matcher = SequenceMatcher(None, [old[a:b] for a, b in some], [new[a:b] for a, b in others], autojunk=False)
        for kind, a, b, c, d in matcher.get_opcodes():
            if kind != "equal":
                found[0].extend(some[a:b])
                found[1].extend(others[c:d])
        found[0].append((one[0], min(one[1], _label_end(old, one))))
        found[1].append((other[0], min(other[1], _label_end(new, other))))
    return found


def _sentences(text: str, line: Range) -> list[Range]:
    start, end = line
    return [(start + a, start + b) for a, b in rough_sentences(text[start:end]) if text[start + a : start + b].strip()]


def _label_end(text: str, line: Range) -> int:
    """The end of the label at the start of a line."""
    start, end = line
    blank = text.rfind(" ", start, min(end, start + _LABEL))
    return blank if blank > start else min(end, start + _LABEL)

"""Cutting the middle out of a text, or everything but its ends and the requested parts.

This module knows where a text may be cut, and writes the note in place of what is missing. ``cut`` chooses the text, ``asked``
what is wanted of it.

A cut is made at the end of a line, a sentence or a word near the wanted place, and never inside a protected span that is short
enough to be kept or dropped whole. A code fence that is open at a cut is closed there, or reopened, so that the rest keeps its
meaning.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from turnfold.compression import lazy, tokens
from turnfold.compression.text.protect import protected_spans
from turnfold.compression.text.spans import whole_character

_NEAR_LINE: Final = 240
_NEAR_WORD: Final = 80
_AROUND: Final = 600  # characters on both sides of a border in which protected spans are looked for; longer spans are split
_NOTE: Final = 12  # tokens of the note
_NAME: Final = 10  # tokens of the name in it
_GAP: Final = 3  # tokens of any other mark, and of tokens split there
_TRIES: Final = 6
_FULL: Final = 0.05  # share of the room that may stay unused
_LEFT_OUT: Final = "…"
_TINY: Final = 16  # tokens below which only a head is kept
_FENCE: Final = lazy.pattern(r"^[ \t]{0,3}(```+|~~~+)", re.MULTILINE)
_SENTENCE: Final = lazy.pattern(r"[.!?。！？…][\"')\]»”]?\s")


def cut_middle(text: str, cap: int, count: int, wanted: Sequence[tuple[int, int]] = (), name: str = "") -> str:
    """The head and tail of a text with the wanted ranges in between, and a note about the missing parts.

    Args:
        cap: most tokens of the result (o200k), at least about 16.
        count: tokens of `text`.
        wanted: ranges of the text, in order; head and tail get the remaining room.
        name: the section for restoring the whole text, for the note; "" for none.
    """
    if count <= cap:
        return text
    if wanted and (around := _cut_around(text, cap, count, wanted, name)):
        return around
    note = _note_tokens(name)
    room = max(1, cap - note)
    share, fences = room / count, _Fences(text)
    for _ in range(_TRIES):
        result = _keep(text, share, count, (), fences, name)
        taken = tokens.count(result)
        if taken <= cap:
            return result
        share *= 0.97 * room / max(room, taken - note)
    return result


def _note_tokens(name: str) -> int:
    return _NOTE + _NAME if name else _NOTE


def _cut_around(text: str, cap: int, count: int, wanted: Sequence[tuple[int, int]], name: str) -> str:
    """The wanted ranges, with as much of the ends as fits; "" if the room is too small for the ranges alone."""
    between = sum(tokens.count(text[start:end]) + _GAP for start, end in wanted)
    share, fences, best = max(0.0, cap - _note_tokens(name) - between) / count, _Fences(text), ""
    for n in range(_TRIES):
        result = _keep(text, share, count, wanted, fences, name)
        free = cap - tokens.count(result)
        if free >= 0:
            best = result
        if 0 <= free <= _FULL * cap or (free < 0 and not share):
            break
        gap = _GAP if free >= 0 else _GAP * 4**n  # ends are cut at lines, so a small step may change nothing
        share = max(0.0, share + (free - gap) / count)
    return best


def _keep(text: str, share: float, count: int, wanted: Sequence[tuple[int, int]], fences: _Fences, name: str) -> str:
    """The wanted ranges, and `share` of the text from its ends."""
    kept = int(len(text) * share)
    both = bool(wanted) or count * share > _TINY
    head = _outside(text, _border_before(text, kept // 2 if both else kept), -1) if kept else 0
    tail = _outside(text, _border_after(text, len(text) - kept // 2), 1) if both and kept else len(text)
    ends = (0, head), (tail, len(text))
    ranges = joined(text, sorted([*ends, *wanted])) if wanted else ends
    missing = count - round(count * sum(end - start for start, end in ranges) / max(1, len(text)))
    left_out = f"{max(1, missing)} tokens left out"
    note = f"[turnfold {name}: {left_out}]" if name else f"[... {left_out} ...]"
    out = [text[slice(*ranges[0])].rstrip()]
    for (_, left), (right, end) in pairwise(ranges if len(ranges) > 1 else [*ranges, (len(text), len(text))]):
        opened, closing = fences.open_at(left), fences.open_at(right)
        out += [opened] if opened and not closing else []
        out += [note if left == ranges[0][1] else _LEFT_OUT]
        kept_part = text[right:end].lstrip("\n") if end == len(text) else text[right:end].strip("\n")
        out += [f"{closing}\n{kept_part}" if closing and not opened else kept_part]
    return "\n".join(part for part in out if part)


def joined(text: str, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ranges in order, merged if they overlap or have only white space between them."""
    out = list(ranges[:1])
    for start, end in ranges[1:]:
        if start <= out[-1][1] or not text[out[-1][1] : start].strip():
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


class _Fences:
    """The places of a text where a code fence is open."""

    def __init__(self, text: str) -> None:
        self._at: list[int] = []
        self._marks: list[str] = []
        mark = ""
        for match in _FENCE.finditer(text):
            if not mark:
                mark = match[1]
            elif match[1].startswith(mark[:3]) and len(match[1]) >= len(mark):
                mark = ""
            self._at.append(match.end())
            self._marks.append(mark)

    def open_at(self, at: int) -> str:
        """The mark of the fence that is open at a place, or ""."""
        index = bisect_right(self._at, at) - 1
        return self._marks[index] if index >= 0 else ""


def _outside(text: str, at: int, step: int) -> int:
    """The cut, moved out of a protected span around it, to the side that keeps less of the text."""
    start = text.rfind("\n", 0, max(0, at - _AROUND)) + 1 if at > _AROUND else 0
    start = max(start, at - 2 * _AROUND)
    for span in protected_spans(text[start : at + _AROUND]):
        if span.start < at - start < span.end < at - start + _AROUND and span.end - span.start < _AROUND:
            return start + (span.start if step < 0 else span.end)
    return at


def _border_before(text: str, at: int) -> int:
    """A good place to stop reading, at `at` or shortly before."""
    line = text.rfind("\n", max(0, at - _NEAR_LINE), at)
    if line >= 0:
        return line + 1
    sentences = [m.end() for m in _SENTENCE.finditer(text, max(0, at - _NEAR_LINE), at)]
    if sentences:
        return sentences[-1]
    for i in range(at, max(0, at - _NEAR_WORD), -1):
        if text[i - 1].isspace():
            return i
    return whole_character(text, at, -1)


def _border_after(text: str, at: int) -> int:
    """A good place to continue reading, at `at` or shortly after."""
    line = text.find("\n", at, at + _NEAR_LINE)
    if line >= 0:
        return line + 1
    sentence = _SENTENCE.search(text, at, at + _NEAR_LINE)
    if sentence:
        return sentence.end()
    for i in range(at, min(len(text), at + _NEAR_WORD)):
        if text[i - 1 : i].isspace():
            return i
    return whole_character(text, at, 1)

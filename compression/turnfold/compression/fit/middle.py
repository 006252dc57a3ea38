"""Cutting the middle out of a text.

Lives here: where a text may be cut, and the note in place of what is missing. Does not belong here: choosing which text.

A cut is made at the end of a line, a sentence or a word near the wanted place, and never inside a protected span that is short
enough to be kept or dropped whole. A code fence that is open at a cut is closed there, or reopened, so that the rest keeps its
meaning.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from turnfold.compression import tokens
from turnfold.compression.text.protect import protected_spans

_NEAR_LINE: Final = 240
_NEAR_WORD: Final = 80
_AROUND: Final = 600  # characters on both sides of a border in which protected spans are looked for; longer ones are parted
_TINY: Final = 16  # tokens below which only a head is kept
_FENCE: Final = re.compile(r"^[ \t]{0,3}(```+|~~~+)", re.MULTILINE)
_SENTENCE: Final = re.compile(r"[.!?。！？…][\"')\]»”]?\s")


def cut_middle(text: str, cap: int, count: int) -> str:
    """Head and tail of a text, with a note between them about what is missing.

    Args:
        cap: tokens that the result may take (o200k), at least about 16.
        count: tokens of `text`.
    """
    if count <= cap:
        return text
    room = max(1, cap - 12)  # what the note takes
    share = room / count
    for _ in range(6):
        result = _keep_ends(text, share, count)
        taken = tokens.count(result)
        if taken <= cap:
            return result
        share *= 0.97 * room / max(room, taken - 12)
    return result


def _keep_ends(text: str, share: float, count: int) -> str:
    kept = int(len(text) * share)
    both = count * share > _TINY
    head = _outside(text, _border_before(text, kept // 2 if both else kept), -1)
    tail = _outside(text, _border_after(text, len(text) - kept // 2), 1) if both else len(text)
    missing = count - round(count * (head + len(text) - tail) / max(1, len(text)))
    front, back = text[:head].rstrip(), text[tail:].lstrip("\n")
    opened, closing = _open_fence(text[:head]), _open_fence(text[:tail])
    if opened and not closing:
        front += f"\n{opened}"
    elif closing and not opened:
        back = f"{closing}\n{back}"
    note = f"[... {max(1, missing)} tokens left out ...]"
    return "\n".join(part for part in (front, note, back) if part)


def _open_fence(text: str) -> str:
    """The mark of the code fence that is open at the end of a text, or ""."""
    mark = ""
    for match in _FENCE.finditer(text):
        if not mark:
            mark = match[1]
        elif match[1].startswith(mark[:3]) and len(match[1]) >= len(mark):
            mark = ""
    return mark


def _outside(text: str, at: int, step: int) -> int:
    """The cut itself, or the end of the protected span around it that keeps less of the text."""
    start = text.rfind("\n", 0, max(0, at - _AROUND)) + 1 if at > _AROUND else 0
    start = max(start, at - 2 * _AROUND)
    for span in protected_spans(text[start : at + _AROUND]):
        if span.start < at - start < span.end < at - start + _AROUND and span.end - span.start < _AROUND:
            return start + (span.start if step < 0 else span.end)
    return at


def _border_before(text: str, at: int) -> int:
    """A good place to stop reading, at or a little before `at`."""
    line = text.rfind("\n", max(0, at - _NEAR_LINE), at)
    if line >= 0:
        return line + 1
    sentences = [m.end() for m in _SENTENCE.finditer(text, max(0, at - _NEAR_LINE), at)]
    if sentences:
        return sentences[-1]
    for i in range(at, max(0, at - _NEAR_WORD), -1):
        if text[i - 1].isspace():
            return i
    return _whole_character(text, at, -1)


def _border_after(text: str, at: int) -> int:
    """A good place to go on reading, at or a little behind `at`."""
    line = text.find("\n", at, at + _NEAR_LINE)
    if line >= 0:
        return line + 1
    sentence = _SENTENCE.search(text, at, at + _NEAR_LINE)
    if sentence:
        return sentence.end()
    for i in range(at, min(len(text), at + _NEAR_WORD)):
        if text[i - 1 : i].isspace():
            return i
    return _whole_character(text, at, 1)


def _whole_character(text: str, at: int, step: int) -> int:
    """Not between a letter and its accents, nor inside a joined emoji."""
    for _ in range(16):
        if not 0 < at < len(text) or not (_joins(text[at]) or text[at - 1] == "\u200d"):
            return at
        at += step
    return at


def _joins(character: str) -> bool:
    return bool(unicodedata.combining(character)) or character in "\u200d\ufe0f" or "\U0001f3fb" <= character <= "\U0001f3ff"

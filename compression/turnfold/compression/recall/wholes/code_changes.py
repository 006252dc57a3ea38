"""Changes of a code block described in a line or two after it: "replace `listen 80;` by `listen 8080;`".

This module decides which messages describe such a change, and what is quoted of each. The block itself, its later versions and
parts of it are found in ``works``.

A configuration that grew line by line is whole only in its first form. Its changes are code within a sentence, or a small fence
of the same language right after it that names something in the block; or a fence, however far behind, that begins with a part of
the block.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.blocks import Range, fences
from turnfold.compression.text.dialogue.wanted.code_blocks import part_names
from turnfold.compression.text.quotes import Quotable
from turnfold.compression.text.spans import QUESTION_MARKS

_REQUEST: Final = 200  # characters of a message that asks for a change
_WHOLE: Final = 500  # characters of an answer that is quoted whole
_NEXT: Final = 2  # messages from a block or its last change to the next change
_SHARED: Final = 2  # names shared with the block, for a change that does not directly follow it
_INLINE: Final = lazy.pattern(r"(?<!`)`([^`\n]{2,120})`(?!`)")
_NAME: Final = lazy.pattern(r"\w{3,}")
_FENCE: Final = lazy.pattern(r"^[ \t]*(?:```|~~~)[ \t]*(\w*)", re.MULTILINE)
_GAP: Final = lazy.pattern(r"\n[ \t]*\n")


def code_changes(messages: Sequence[Quotable], at: int, ranges: Sequence[Range]) -> dict[int, tuple[Range, ...]]:
    """Later messages that change a block of code, with the ranges to quote of each.

    Args:
        at: number of the message that holds the block.
        ranges: the block's ranges in that message.
    """
    block = "\n".join(messages[at].text[start:end] for start, end in ranges)
    names, language, begun = set(_NAME.findall(block)), _language(block), frozenset(part_names(block))
    last, found = at, dict[int, tuple[Range, ...]]()
    for n in range(at + 1, len(messages)):
        if not _answers_briefly(messages, n):
            continue
        text = messages[n].text
        is_next = n - last <= _NEXT
        parts = [
            one
            for one in _code(text)
            if _begins_part(text[slice(*one)], begun, language) or _is_change(text[slice(*one)], names, language, is_next=is_next)
        ]
        if parts:
            found[n] = _quoted(text, parts)
            last = n
            names.update(*(_NAME.findall(text[slice(*one)]) for one in parts))
    return found


def _answers_briefly(messages: Sequence[Quotable], n: int) -> bool:
    """Whether a message with code answers one that may ask for a change."""
    asked = messages[n - 1]
    is_request = asked.role == "user" and len(asked.text) <= _REQUEST and not asked.text.rstrip().endswith(QUESTION_MARKS)
    return messages[n].role == "assistant" and "`" in messages[n].text and is_request


def _code(text: str) -> list[Range]:
    """The ranges of code in a text: fences and inline code."""
    blocks = [(max(0, start - 1), end - 1) for start, end in fences(f"\n{text}")]
    inline = (found.span() for found in _INLINE.finditer(text))
    return [*blocks, *(one for one in inline if not any(start <= one[0] < end for start, end in blocks))]


def _begins_part(code: str, begun: frozenset[str], language: str) -> bool:
    """Whether a fence in the block's language begins with a new version of one of its parts."""
    own = _language(code)
    return bool(own) and own == language and not begun.isdisjoint(part_names(code)[:1])


def _is_change(code: str, names: set[str], language: str, *, is_next: bool) -> bool:
    if (own := _language(code)) and own == language and is_next:
        return True
    shared = names.intersection(_NAME.findall(code))
    return not own and bool(shared) and (is_next or len(shared) >= _SHARED)


def _language(code: str) -> str:
    found = _FENCE.search(code)
    return found[1].lower() if found else ""


def _quoted(text: str, parts: Sequence[Range]) -> tuple[Range, ...]:
    """All of a short text; of a longer one, the paragraphs with the code, and the paragraph right before a block."""
    if len(text) <= _WHOLE:
        return ((0, len(text)),)
    borders = [0, *(gap.end() for gap in _GAP.finditer(text)), len(text)]
    found: list[Range] = []
    for start, end in parts:
        first = max(border for border in borders if border <= start)
        if text[start:].startswith(("```", "~~~")) and first == start:
            first = max((border for border in borders if border < start), default=start)
        last = min(border for border in borders if border >= end)
        found.append((first, first + len(text[first:last].rstrip())))
    return tuple(sorted(set(found)))

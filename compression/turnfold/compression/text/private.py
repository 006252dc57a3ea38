"""Text that a user marked as private: ``<private>...</private>``.

This module removes it from a text, from consecutive texts, and from a message's JSON. The shell decides what is stored,
and passes everything through here first.

Tags may nest, are case-insensitive and may have attributes. An unclosed tag extends to the end: in doubt, text is private. A lone
closing tag is plain text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from turnfold.compression import lazy

Range = tuple[int, int]

#: Stands where something private stood.
REDACTED: Final = "[private]"

# What this module has put somewhere is no part of a tag.
_TAG: Final = lazy.pattern(r"<\s{0,8}(/?)\s{0,8}private\b(?:(?!\[private\])[^<>]){0,200}>", re.IGNORECASE)
_HINT: Final = lazy.pattern("private", re.IGNORECASE)
_OTHER_I: Final = "\u0130\u0131"  # which the expression takes for an i, and `lower` does not
# Keys whose strings are names of things and no text: left alone even where an earlier part opened a tag.
_NAMES: Final = frozenset({"role", "type", "id", "tool_call_id", "call_id", "name", "status", "format", "detail", "object"})


def may_be_private(text: str) -> bool:
    """Whether the tag's name is in a text: a quick check before the expression, which blocks the interpreter for 10 ms per
    megabyte.
    """
    if "private" in text.lower():
        return True
    return not text.isascii() and any(letter in text for letter in _OTHER_I) and _HINT.search(text) is not None


class Redactor:
    """Removes private text from consecutive texts: a tag opened in one may be closed in another."""

    def __init__(self) -> None:
        self._depth = 0

    @property
    def is_inside(self) -> bool:
        """Whether the next text begins inside a private part."""
        return self._depth > 0

    def ranges(self, text: str) -> list[Range]:
        """Half-open ranges of the private parts of the next text, tags included, in order."""
        if not self._depth and not may_be_private(text):
            return []
        found: list[Range] = []
        start = 0
        for tag in _TAG.finditer(text):
            if not tag.group(1):
                start = start if self._depth else tag.start()
                self._depth += 1
            elif self._depth:
                self._depth -= 1
                if not self._depth:
                    found.append((start, tag.end()))
        return [*found, (start, len(text))] if self._depth and text else found

    def __call__(self, text: str) -> str:
        """The text with `REDACTED` in place of each private part."""
        return without(text, self.ranges(text), 0, len(text))


def without(text: str, ranges: Sequence[Range], start: int, end: int) -> str:
    """A part of a text, with `REDACTED` in place of what of each range lies in it."""
    out: list[str] = []
    at = start
    for first, last in ranges:
        if first < end and last > at:
            out += (text[at:first], REDACTED)
            at = last
    return "".join([*out, text[at:end]]) if out else text[start:end]


def redact(text: str) -> str:
    """A text without everything from ``<private>`` to ``</private>``; idempotent, linear."""
    return Redactor()(text)


def is_private(text: str) -> bool:
    """Whether a text contains private parts."""
    return redact(text) != text


def redact_json(raw: str) -> str:
    """A JSON object, or several with commas between them, without the private parts of its strings; unchanged, byte for byte, if
    it has none.

    Raises:
        ValueError: it is not JSON and may contain something private.
    """
    if not may_be_private(raw):
        return raw
    try:
        value = json.loads(f"[{raw}]")
        redacted = _redact(value, Redactor())
    except RecursionError:  # nested deeper than can be looked into
        return json.dumps({"content": REDACTED})
    return raw if redacted == value else json.dumps(redacted, separators=(",", ":"))[1:-1]


def _redact(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor(value)
    if isinstance(value, list):
        return [_redact(item, redactor) for item in value]
    if isinstance(value, dict):
        return {key: item if key in _NAMES and isinstance(item, str) else _redact(item, redactor) for key, item in value.items()}
    return value

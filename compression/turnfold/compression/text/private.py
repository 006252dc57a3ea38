"""What a user marked as private: ``<private>...</private>``.

Lives here: taking it out of a text, of texts that follow each other, and of a message's JSON. Does not belong here: deciding
where a text is stored (the shell does; whatever it stores goes through here first).

Tags nest, are of any case, may have attributes, and one that nobody closes holds to the end: what is in doubt is private. A lone
closing tag is text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final

#: Stands where something private stood.
REDACTED: Final = "[private]"

# What this module has put somewhere is no part of a tag.
_TAG: Final = re.compile(r"<\s{0,8}(/?)\s{0,8}private\b(?:(?!\[private\])[^<>]){0,200}>", re.IGNORECASE)
_HINT: Final = re.compile("private", re.IGNORECASE)
# Keys whose strings are names of things and no text: left alone even where an earlier part opened a tag.
_NAMES: Final = frozenset({"role", "type", "id", "tool_call_id", "call_id", "name", "status", "format", "detail", "object"})


class Redactor:
    """Takes private text out of texts that follow each other: a tag that one opens another may close."""

    def __init__(self) -> None:
        self._depth = 0

    def __call__(self, text: str) -> str:
        """The text with `REDACTED` for each private part."""
        if not self._depth and not _HINT.search(text):
            return text
        out: list[str] = [REDACTED] if self._depth and text else []
        at = 0
        for tag in _TAG.finditer(text):
            if tag.group(1):
                if self._depth:
                    self._depth -= 1
                    at = tag.end()
            else:
                if not self._depth:
                    out += (text[at : tag.start()], REDACTED)
                self._depth += 1
        if not self._depth:
            out.append(text[at:])
        return "".join(out)


def redact(text: str) -> str:
    """A text without what stands between ``<private>`` and ``</private>``, the tags included; idempotent, linear."""
    return Redactor()(text)


def is_private(text: str) -> bool:
    """Whether anything in a text is private."""
    return redact(text) != text


def redact_all(texts: Iterable[str]) -> list[str]:
    """Texts that follow each other, as parts of one."""
    redactor = Redactor()
    return [redactor(text) for text in texts]


def redact_json(raw: str) -> str:
    """A JSON object with the private parts of its strings taken out, in their order; as it is, byte for byte, if it has none.

    Raises:
        ValueError: it is no JSON and may hold something private.
    """
    if not _HINT.search(raw):
        return raw
    try:
        value = json.loads(raw)
        redacted = _redact(value, Redactor())
    except RecursionError:  # nested deeper than can be looked into
        return json.dumps({"content": REDACTED})
    return raw if redacted == value else json.dumps(redacted, separators=(",", ":"))


def _redact(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor(value)
    if isinstance(value, list):
        return [_redact(item, redactor) for item in value]
    if isinstance(value, dict):
        return {key: item if key in _NAMES and isinstance(item, str) else _redact(item, redactor) for key, item in value.items()}
    return value

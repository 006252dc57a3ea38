"""Decoding escapes of JSON strings and HTML to what a reader sees.

In a text, and in JSON inside a JSON string, line breaks and letters may be written as ``\\n``, ``\\u00fc``, ``\\/`` and
``&uuml;``. Records are in ``records``, escapes of the fence in ``recall.fence``; values are not read here.

A tool that returns text or JSON in a field sends line breaks that are none, and names spelled as nobody writes them.
"""

from __future__ import annotations

import html
import re
from typing import Final

from turnfold.compression import lazy

# Where JSON opens, be it a string of JSON itself.
_JSON_OPENS: Final = lazy.pattern(r'[\[{](?:\s|\\{1,4}[nrt]){0,99}\\{0,9}["\[{]')
_FAR: Final = 200  # characters in which it does: a tool may say first how much it has found
# A backslash stands twice in each string around its own, a quotation mark has one more for each.
# A break at the end of a string begins no line.
_LEVELS: Final = tuple(
    (
        "\\" * (2 * deep - 1) + '"' if deep > 1 else "",
        lazy.pattern(rf'(?<!\\)(?:\\{{{deep}}}r)?\\{{{deep}}}n(?!\\*+"[ \t]*+[,}}\]])'),
    )
    for deep in (1, 2, 4)
)
_LETTER: Final = lazy.pattern(r"(?<!\\)\\+u(?:(d[89ab][\da-f]{2})\\+u(d[c-f][\da-f]{2})|(?!d[89a-f])([\da-f]{4}))", re.IGNORECASE)

_ENTITY: Final = lazy.pattern(r"&(?:#\d{2,7}|#[xX][\da-fA-F]{2,6}|[a-zA-Z]{2,30}\d{0,2});")


def is_json(text: str) -> bool:
    """Whether JSON opens near the beginning of a text."""
    return _JSON_OPENS.search(text, 0, _FAR) is not None


def with_breaks(text: str) -> str:
    """A text of the same length in which the line breaks in strings of JSON are such."""
    if "\\n" not in text or not is_json(text):
        return text
    for within, pattern in _LEVELS:
        if within in text:
            text = pattern.sub(_break, text)
    return text


def _break(found: re.Match[str]) -> str:
    return "\n".rjust(len(found[0]))


def with_letters(text: str) -> str:
    """A text with letters in place of their numeric or named escapes."""
    if "\\" in text:
        text = _LETTER.sub(_letter, text).replace("\\/", "/")
    return _ENTITY.sub(_named, text) if "&" in text else text


def _named(found: re.Match[str]) -> str:
    letter = html.unescape(found[0])
    return letter if letter.isprintable() else " "


def _letter(found: re.Match[str]) -> str:
    high, low, alone = found.groups()
    if alone:
        return chr(int(alone, 16))
    return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)

"""Records that a tool sends, as JSON or as elements of XML.

Lives here: where one record ends and the next begins on a line, and the objects of lists in JSON. Does not belong here: reading
values, shortening them (``shorten.kinds.json_text``).

What a search returns is a list of texts. Each is a paragraph of its own: it neither limits nor introduces what the next one says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from turnfold.compression.text.escapes import is_json

# Between two objects or lists, and between two strings of which the second is no key. Each string is looked at once.
_JSON_JOINT: Final = re.compile(r'[}\]]\s{0,99},\s{0,99}(?=[{\[])|"\s{0,99},\s{0,99}(?="(?:[^"\\]++|\\.)*+"\s{0,99}[,\]])')
# Between two elements of one name, but not those of a line of text or of a row.
_XML_JOINT: Final = re.compile(
    r"</(?!(?:td|th|span|a|b|i|em|strong|code)>)([\w.:-]{1,60})>[^\S\n]{0,99}(?=<\1[\s>])", re.IGNORECASE
)

# Strings, each looked at once, and what opens and closes.
_JSON_PART: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]')


def record_starts(text: str) -> list[int]:
    """Where the second record and each later one begins, in order; none in a text that holds no records."""
    if is_json(text) and (starts := [joint.end() for joint in _JSON_JOINT.finditer(text)]):
        return starts
    return [joint.end() for joint in _XML_JOINT.finditer(text)] if "</" in text else []


def listed_objects(text: str) -> Iterator[tuple[int, int]]:
    """The objects that are elements of a list in JSON, those within others first."""
    opened: list[tuple[str, int]] = []
    for part in _JSON_PART.finditer(text):
        sign = part[0]
        if sign in ("{", "["):
            opened.append((sign, part.start()))
        elif sign in ("}", "]") and opened:
            begins, start = opened.pop()
            if begins == "{" and opened and opened[-1][0] == "[":
                yield start, part.end()

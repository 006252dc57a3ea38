"""Records: those that a tool sends, as JSON or as elements of XML, and lines of which each is one.

Lives here: where one record ends and the next begins on a line, and the objects of lists in JSON. Does not belong here: reading
values, shortening them (``shorten.kinds.json_text``).

What a search returns is a list of texts. Each is a paragraph of its own: it neither limits nor introduces what the next one says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from turnfold.compression.text.blocks import Range
from turnfold.compression.text.escapes import is_json
from turnfold.compression.text.kinds import parts

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


_ITEM: Final = re.compile(r"[ \t]{0,12}(?:[-*+•–]|\d{1,4}[.)])[ \t]+\S|[ \t]*\|")
_WORDS: Final = re.compile(r"[^\W\d_]+(?:[ .'’&/-]+[^\W\d_]+)*")
_FIGURES: Final = re.compile(r"\d+(?:[.,:/-]?\d+)*")
_DELIMITERS: Final = ("\t", "|", ";", ",")
_LONGEST_ROW: Final = 300  # characters
FEWEST_ROWS: Final = 8


def rows(text: str) -> list[Range]:
    """Where at least eight lines in a row are records of one form: items of a list, rows of a table, lines with figures; and JSON
    of as many objects."""
    found: list[Range] = []
    if text.count("{") >= FEWEST_ROWS:
        found += [(part.start, part.end) for part in parts(text) if part.kind in ("json", "jsonl")]
        found = [(a, b) for a, b in found if text.count("{", a, b) >= FEWEST_ROWS]
    if text.count("\n") < FEWEST_ROWS - 1:
        return found
    start = at = count = 0
    form = ""
    for line in text.splitlines(keepends=True):
        before, form = form, _row_form(line)
        if form and form == before:
            count += 1
        else:
            found += [(start, at)] * (count >= FEWEST_ROWS)
            start, count = at, int(bool(form))
        at += len(line)
    return [*found, (start, at)] if count >= FEWEST_ROWS else found


def _row_form(line: str) -> str:
    """What the lines of one table or list have in common: that they are items, the number of cells, or where figures stand; ""
    for a line that is none of these."""
    said = line.strip()
    if not said or len(said) > _LONGEST_ROW:
        return ""
    if _ITEM.match(line):
        return "item"
    for delimiter in _DELIMITERS:
        if (cells := said.count(delimiter)) > 1:
            return f"{delimiter}{cells}"
    if said[-1] in ".!?{}":
        return ""
    shape = _FIGURES.sub("9", _WORDS.sub("a", said))
    return shape if "9" in shape else ""

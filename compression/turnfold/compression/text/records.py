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
from turnfold.compression.text.dialogue.transcripts import is_transcript
from turnfold.compression.text.escapes import is_json
from turnfold.compression.text.kinds import parts
from turnfold.compression.text.writers import written_by

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
_FIGURE: Final = re.compile(r"\d")
_CELLS: Final = re.compile(r"[^,;\t|]*[,;\t|][^,;\t|]*[,;\t|]")
_SENTENCE_ENDS: Final = (".", "!", "?", "。", "！", "？", "{", "}")
_LONGEST_ROW: Final = 400  # characters
FEWEST_ROWS: Final = 8


def rows(text: str) -> list[Range]:
    """Where at least eight lines in a row are each a record: items of a list, rows of a table, lines with figures; and JSON of as
    many objects. Those of a fence count. Lines that end as sentences and code do, do not, nor does what people say to each other,
    whether their names stand in front of it or above."""
    found: list[Range] = []
    if text.count("{") >= FEWEST_ROWS:
        found += [(part.start, part.end) for part in parts(text) if part.kind in ("json", "jsonl")]
        found = [(a, b) for a, b in found if text.count("{", a, b) >= FEWEST_ROWS]
    if text.count("\n") >= FEWEST_ROWS - 1:
        found += _runs(text)
    if not found or is_transcript(text):
        return []
    heads = written_by(text).heads
    return [(start, end) for start, end in found if not any(start <= head < end for head, _ in heads)]


def _runs(text: str) -> Iterator[Range]:
    start = at = count = 0
    for line in text.splitlines(keepends=True):
        if _is_row(line):
            start, count = (at, 1) if not count else (start, count + 1)
        else:
            if count >= FEWEST_ROWS:
                yield start, at
            count = 0
        at += len(line)
    if count >= FEWEST_ROWS:
        yield start, at


def _is_row(line: str) -> bool:
    said = line.rstrip()
    if not said or len(said) > _LONGEST_ROW:
        return False
    if _ITEM.match(said):
        return True
    if said.endswith(_SENTENCE_ENDS):
        return False
    return _FIGURE.search(said) is not None or _CELLS.match(said) is not None

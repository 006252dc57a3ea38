"""Records that a tool returns, as JSON or XML, and lines that are one record each.

This module finds where one record ends and the next begins on a line, the objects of lists in JSON, and the rows of tables and
lists. Values are read and shortened in ``shorten.kinds.json_text``.

The result of a search is a list of texts, each a paragraph of its own: it neither limits nor introduces the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.memo import remembering
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.transcripts import is_transcript
from turnfold.compression.text.escapes import is_json
from turnfold.compression.text.kinds import parts
from turnfold.compression.text.writers import written_by

# Between two objects or lists, and between two strings of which the second is no key. Each string is looked at once.
_JSON_JOINT: Final = lazy.pattern(r'[}\]]\s{0,99},\s{0,99}(?=[{\[])|"\s{0,99},\s{0,99}(?="(?:[^"\\]++|\\.)*+"\s{0,99}[,\]])')
# Between two elements of one name, but not those of a line of text or of a row.
_XML_JOINT: Final = lazy.pattern(
    r"</(?!(?:td|th|span|a|b|i|em|strong|code)>)([\w.:-]{1,60})>[^\S\n]{0,99}(?=<\1[\s>])", re.IGNORECASE
)

# Strings, each looked at once, and what opens and closes.
_JSON_PART: Final = lazy.pattern(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]')


def record_starts(text: str) -> list[int]:
    """Where the second record and each later one begins, in order; none in a text without records."""
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


_ITEM: Final = lazy.pattern(r"[ \t]{0,12}(?:[-*+•–]|\d{1,4}[.)])[ \t]+\S|[ \t]*\|")
_FIGURE: Final = lazy.pattern(r"\d")
_KEY: Final = lazy.pattern(r"[ \t]*[^\W\d_][\w .-]{0,30}:[ \t]+\S.{0,60}$")
_OBJECT: Final = lazy.pattern(r'[ \t]*\{[^{}]*"[ \t]*:.*\}\Z')
_CELLS: Final = lazy.pattern(r"[^,;\t|]*[,;\t|][^,;\t|]*[,;\t|]")
# Behind its bullet or number.
_DATUM: Final = lazy.pattern(r"[ \t]*+(?:[-*+•–]|\d{1,4}[.)])?+[ \t]*+(?:[^\n]*\d|[^\n|\t]*[|\t][^\n|\t]*[|\t]|[^\n]*[}\]])")
_SENTENCE_ENDS: Final = (".", "!", "?", "。", "！", "？", "{", "}")
_LONGEST_ROW: Final = 400  # characters
_FEWEST_ROWS: Final = 8
_TABS: Final = 2  # in a line that is a row whatever it says


def rows(text: str) -> list[Range]:
    """Where at least eight lines in a row are records or parts of one: items of a list, rows of a table, "key: value", lines with
    figures, blank lines between them; or JSON with as many objects. Those in a fence count. Lines that end like sentences or code
    do not count, nor does a conversation, whether its speakers' names stand in front of the text or above.
    """
    objects: list[Range] = []
    if text.count("{") >= _FEWEST_ROWS:
        objects = [(part.start, part.end) for part in parts(text) if part.kind in ("json", "jsonl")]
        objects = [(a, b) for a, b in objects if _holds_rows(text, a, b)]
    others = (run for run in _runs_of_lines(text) if not any(a < run[1] and run[0] < b for a, b in objects))
    found = [*objects, *others]
    if not found or is_transcript(text):
        return []
    heads = written_by(text).heads
    return [(start, end) for start, end in found if not any(start <= head < end for head, _ in heads)]


def _holds_rows(text: str, start: int, end: int) -> bool:
    """Whether there are enough objects, which are no longer than a row may be: what a search finds are texts."""
    count = text.count("{", start, end)
    return count >= _FEWEST_ROWS and end - start <= _LONGEST_ROW * count


def _runs_of_lines(text: str) -> list[Range]:
    found: list[Range] = []
    if text.count("\n") < _FEWEST_ROWS - 1:
        return found
    start = end = at = count = indent = 0
    for line in text.splitlines(keepends=True):
        if _is_row(line):
            start, count, indent = (start, count + 1, min(indent, _indent(line))) if count else (at, 1, _indent(line))
            end = at + len(line)
        elif count and _goes_on(line, indent):
            end = at + len(line)
        elif not line.isspace():
            found += [(start, end)] * (count >= _FEWEST_ROWS)
            count = 0
        at += len(line)
    found += [(start, end)] * (count >= _FEWEST_ROWS)
    return found


def hold_data(text: str, runs: Sequence[Range]) -> bool:
    """Whether most lines of such runs hold figures or cells, as data do: points of advice are a list too."""
    lines = [line for start, end in runs for line in text[start:end].splitlines() if not line.isspace()]
    return 2 * sum(_DATUM.match(line) is not None for line in lines) > len(lines)


def records_of(text: str, run: Range) -> list[Range]:
    """The records of such a run, each of one line or more: an object, an item with what is indented below it, a row with a line
    break in quotes, a block of "key: value" lines."""
    start, end = run
    held = text[start:end]
    if held.count("{") >= _FEWEST_ROWS and (objects := _outer(listed_objects(held))):
        return [(start + a, start + b) for a, b in objects]
    lines = held.splitlines(keepends=True)
    said = [line for line in lines if not line.isspace()]
    least = min((_indent(line) for line in said), default=0)
    in_blocks = 2 * sum(_KEY.match(line) is not None for line in said) > len(said)
    found: list[Range] = []
    at, opens, quotes = start, True, 0
    for line in lines:
        size = len(line.rstrip())
        if size and (opens or not (in_blocks or quotes % 2 or _indent(line) > least)):
            found.append((at, at + size))
            opens, quotes = False, 0
        elif size:
            found[-1] = (found[-1][0], at + size)
        else:
            opens = opens or in_blocks
        quotes += line.count('"')
        at += len(line)
    return found


@remembering
def table_records(text: str) -> tuple[Range, ...]:
    """The records of the rows that make up most of a text, without heads and lines between; none if they are not data."""
    runs = main_rows(text)
    if not hold_data(text, runs):
        return ()
    said = [one for run in runs for one in records_of(text, run) if any(map(str.isalnum, text[slice(*one)]))]
    has_figures = [_FIGURE.search(text, *one) is not None for one in said]
    return tuple(said[1:] if 2 * sum(has_figures[1:]) > len(said) and not has_figures[0] else said)


def main_rows(text: str) -> list[Range]:
    """The rows of a text, if they are most of it."""
    runs = rows(text)
    return runs if 2 * sum(end - start for start, end in runs) > len(text) else []


def _outer(objects: Iterator[Range]) -> list[Range]:
    """Of ranges those that lie in no other."""
    found: list[Range] = []
    for start, end in sorted(objects, key=lambda one: (one[0], -one[1])):
        if not found or start >= found[-1][1]:
            found.append((start, end))
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _goes_on(line: str, indent: int) -> bool:
    """Whether a line is the end of a value that began above it: it is indented deeper than rows are, and no sentence or code."""
    said = line.rstrip()
    return _indent(line) > indent and len(said) <= _LONGEST_ROW and said[-1:].isalnum()


def _is_row(line: str) -> bool:
    said = line.rstrip()
    if not said or len(said) > _LONGEST_ROW:
        return False
    if _ITEM.match(said) or _OBJECT.match(said) or said.count("\t") >= _TABS:
        return True
    if said.endswith(_SENTENCE_ENDS):
        return False
    return _KEY.match(said) is not None or _FIGURE.search(said) is not None or _CELLS.match(said) is not None

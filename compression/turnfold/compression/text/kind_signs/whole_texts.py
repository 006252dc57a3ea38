"""The kind of a text that is of one kind from beginning to end: JSON, markup, encoded bytes, speech, reports, rows of cells.

A mixed text is read line by line in ``text.kinds``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

import orjson

from turnfold.compression import lazy
from turnfold.compression.text.beside import is_mail
from turnfold.compression.text.dialogue.transcripts import is_transcript
from turnfold.compression.text.kind_signs.line_marks import LABEL, LONGEST_LINE
from turnfold.compression.text.unmarked_speech import is_unmarked_speech
from turnfold.compression.text.wrapped_lines import is_latex
from turnfold.compression.text.writers import is_button, may_name_writers, writers

_DECODER: Final = json.JSONDecoder()
_BLANK_LINES: Final = lazy.pattern(r"[ \t]*\n\s*")
_QUOTED_CELL: Final = lazy.pattern(r'"(?:[^"]|"")*"')
_MOST_CELL_LINES: Final = 8
_FEWEST_SPEAKERS: Final = 2
_SAID_LINES: Final = 6  # lines, on average, that one says in a chat at most
_TEST_RUN: Final = lazy.pattern(
    r"\n(?:=+ (?:test session starts|FAILURES|ERRORS|short test summary)|Ran \d+ tests? in |(?:---|===) (?:RUN|PASS|FAIL)"
    r"|(?:ℹ|#) (?:tests|pass|fail) \d|[✔✖✓✗] [^\n]{0,200}ms\)"
    r"|test result: |running \d+ tests?\n|test \S{1,300} \.\.\. (?:ok|FAILED|ignored)|ok  \t|FAIL\t"
    r"|Tests?:? [^\n]{0,200}?\b(?:passed|failed)|(?:not )?ok \d+ - | {0,8}\d+ (?:passing|failing)\b|FAIL(?:ED)?[ (]"
    r"|=+ [^\n]{0,200}?\d (?:passed|failed)|\S{1,200} \([\w.]{1,300}\) \.\.\. | {0,4}tests? finished:|E   |>>>>> Run tests)"
)
#: Where a compiler or linter saw something: the source that it quotes is no file.
_PLACES: Final = lazy.pattern(r"\n *--> \S{1,300}:\d+:\d+")
_CODE_ENDS: Final = (";", "{", ",")
_ENCODED: Final = lazy.pattern(r"\s*+(?:data:[\w/;,+-]{1,100})?(?:[A-Za-z0-9+/=_-]{200}|(?:[A-Za-z0-9+/=_-]{60,80}\r?\n){2})")
_ALL_ENCODED: Final = lazy.pattern(r"\s*+(?:data:[\w/;,+-]{1,100})?[A-Za-z0-9+/=_\-\s]+")


def is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def _jsonish(text: str) -> str:
    """ "json" for JSON, truncated or not, "jsonl" for one value per line, else ""."""
    opening = text.lstrip()[:2]
    if not opening or opening[0] not in "[{":
        return ""
    lines = text.strip().split("\n", 3)
    if len(lines) > 1 and is_json(lines[0]) and is_json(lines[1]) and lines[0][0] == "{":
        return "jsonl"
    if is_json(text):
        return "json"
    compact = "".join(text.lstrip()[:200].split())
    if not re.match(r'\{"[^"]*":|\[\{"|\[\[|\["', compact) or text.count('"') * 30 <= len(text):
        return ""
    end = value_end(text)
    return "" if end and len(text[end:].split("\n", 1)[0].strip()) > end else "json"  # more is said behind it than it says


def value_end(text: str) -> int:
    """The end of the object or array that a text begins with; 0 if it is not closed."""
    try:
        return _DECODER.raw_decode(text, len(text) - len(text.lstrip()))[1]
    except (ValueError, RecursionError):
        return 0


def label_before_json(text: str) -> int:
    """The start of JSON that is all of the text after a label at its beginning ("Observation: {..."); 0 if there is none."""
    label = LABEL.match(text)
    return label.end() if label and _jsonish(text[label.end() :]) else 0


def json_before_more(text: str) -> int:
    """Where an object or array ends that a text of several lines begins with, the white space behind it included; 0 where the
    text ends with it, or breaks off inside of it."""
    if text.lstrip()[:1] not in ("{", "[") or _jsonish(text) != "json" or is_json(text):
        return 0
    end = value_end(text)
    if not end:
        return 0
    behind = _BLANK_LINES.match(text, end)
    return behind.end() if behind and behind.end() < len(text) else 0


def cell_rows(lines: Sequence[str]) -> list[str]:
    """Rows of cells as lines, with each quoted cell as `""`, since a delimiter or line break in it does not belong to the row."""
    if not any('"' in line for line in lines):
        return list(lines)
    rows: list[str] = []
    joined = 0
    for line in lines:
        if rows and joined < _MOST_CELL_LINES and rows[-1].count('"') % 2:
            rows[-1] += " " + line
            joined += 1
        else:
            rows.append(line)
            joined = 0
    return [_QUOTED_CELL.sub('""', row) for row in rows]


def _is_delimited(lines: Sequence[str]) -> bool:
    """Whether lines look like rows of equal width, separated by commas, tabs or semicolons."""
    sample = [line for line in cell_rows(lines[:40]) if line.strip()]
    if len(sample) < 4:
        return False
    for delimiter in "\t,;":
        widths = Counter(line.count(delimiter) for line in sample)
        width, rows = widths.most_common(1)[0]
        if width >= 2 and rows >= 0.8 * len(sample) and _ends_in_cells(sample, delimiter, width):
            return True
    return False


def _ends_in_cells(sample: Sequence[str], delimiter: str, width: int) -> bool:
    """Whether no line ends like code; rows may end with an empty cell if the first line is their header."""
    headed = sample[0].count(delimiter) == width and not sample[0].rstrip().endswith(_CODE_ENDS)
    empty = (delimiter,) if headed else ()
    return not any(line.rstrip().endswith(tuple(sign for sign in _CODE_ENDS if sign not in empty)) for line in sample)


def _markup(text: str) -> str:
    """ "html" or "xml" for a page or document, else ""."""
    head = text.lstrip()[:400].lower()
    if head.startswith(("<!doctype html", "<html")) or ("<body" in head and "<" in head[:1]):
        return "html"
    return "xml" if head.startswith("<?xml") else ""


def _binary_kind(text: str) -> str:
    return "binary" if len(text) > 200 and _ENCODED.match(text) and _ALL_ENCODED.fullmatch(text) else ""


def _report_kind(text: str) -> str:
    """ "tests" for output of a test runner, "plain" for that of a compiler or linter, else ""."""
    if len(_TEST_RUN.findall("\n" + text)) >= 2:
        return "tests"
    return "plain" if len(_PLACES.findall(text)) >= 2 else ""


def _tabular(text: str) -> str:
    return "csv" if _is_delimited(text.split("\n", 41)[:40]) else ""


def _has_speakers(text: str) -> bool:
    """Whether lines that say who wrote the text next to them, and when, are a good part of a text."""
    if not may_name_writers(text[: 2 * LONGEST_LINE]):
        return False
    named = writers(text)
    naming_lines = len(named.heads) + len(named.signatures)
    if naming_lines < _FEWEST_SPEAKERS:
        return False
    stretches = [*named.heads.items(), *((start, stop) for _, start, stop in named.signatures)]
    naming = {i for start, stop in stretches for i in range(start, stop)}
    lines = enumerate(text.split("\n"))
    return naming_lines * _SAID_LINES >= sum(i not in naming and bool(line.strip()) and not is_button(line) for i, line in lines)


def _spoken(text: str) -> str:
    """ "prose" for what people said one after the other, "markdown" for LaTeX, else ""."""
    if is_transcript(text) or _has_speakers(text) or is_mail(text) or is_unmarked_speech(text):
        return "prose"
    return "markdown" if is_latex(text) else ""


def whole(text: str) -> str:
    """The kind of a text that is uniform from first to last character; "" if it has to be read line by line."""
    return next(filter(None, (tell(text) for tell in (_jsonish, _markup, _binary_kind, _spoken, _report_kind, _tabular))), "")

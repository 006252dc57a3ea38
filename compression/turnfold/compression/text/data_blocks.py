"""Blocks of program output in a text, for stages that show a part of it.

This module finds the stretches that are data (logs, JSON, CSV, YAML, HTML, code) and the blocks within language. How a kind gets
shorter is up to ``shorten.registry``; which kind a line looks like, to ``kinds``.

``kinds.parts`` takes sixteen lines together and prefers code to prose, since little is lost where output is cut by lines. Here it
is the other way round: whatever reads as language is language, because only sentences can have their meaning reversed.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.kind_signs.line_marks import STAMP
from turnfold.compression.text.kind_signs.whole_texts import cell_rows, value_end
from turnfold.compression.text.kinds import parts
from turnfold.compression.text.lower import MARKS
from turnfold.compression.text.protect import uncut_spans
from turnfold.compression.text.spans import STOPS, Span, with_line_feeds

_CHUNK: Final = 1600  # characters of data that are one block, at a line's end
#: Kinds whose marks are so plain that nothing else looks like them.
_SURE: Final = frozenset({"json", "jsonl", "diff", "history", "trace", "tests", "table", "html", "xml", "binary", "fence"})
#: Of these what a line of theirs looks like: a short text with a small table in it is a table by its sixteen lines.
_OWN_LINES: Final = {
    "table": lazy.pattern(r"\s*[|+]"),
    **dict.fromkeys(("html", "xml"), lazy.pattern(r"[^\n]*[<>]")),
    "tests": lazy.pattern(
        r"\s|[=\-*#+.✓✔✗✘×●○]|(?:PASS|FAIL|XFAIL|XPASS|ERROR|SKIP|WARN|OK|ok|not ok|test|tests|Tests|Test|Ran|E)(?:ED|URES?)?\b"
        r"|[^\n]*(?:::|\.\w+:\d|\b\d+ (?:tests?|passed|failed|passing|failing|skipped)\b|\.\.\. ?(?:ok|FAIL|ERROR))"
    ),
}
#: Kinds of text that somebody wrote to be read.
SPOKEN: Final = frozenset({"prose", "markdown"})
_LISTS: Final = SPOKEN | {"plain", "yaml", "code"}  # kinds that lists in language may be taken for
_AMID_LANGUAGE: Final = _LISTS | {"fence", "table"}  # these and blocks that an answer in Markdown has
_LABEL: Final = lazy.pattern(r"\s*(?:[-*+•>#]+ |\d{1,3}[.)] )?(?:[\w .'-]{1,40}:\s)?")
# Four words in a row, two of a script that programs seldom write, four signs of one without blanks: somebody says something.
_SAYS: Final = lazy.pattern(
    rf"(?<![\w{MARKS}'’-])(?:[^\W\d_][\w{MARKS}'’-]*+[,;:]? [\"'“‘(*_`]{{0,3}}){{3}}[\w{MARKS}'’-]+"
    r"|[\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]{4}|[\u0600-\u06ff]{2} ?[\u0600-\u06ff]{2}"
    r"|[\u0530-\u058f\u10a0-\u10ff\u1200-\u137f\uac00-\ud7af]{2},? [\u0530-\u058f\u10a0-\u10ff\u1200-\u137f\uac00-\ud7af]{2}"
)
_STAMPED: Final = lazy.pattern(
    rf"\s*(?:{STAMP}"
    r"|\S+ \S+ \S+ \[\d\d/\w{3}/\d{4}:"
    r"|\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b|(?:time|ts|level)=)"
)
_CODE: Final = lazy.pattern(
    r"[{};=]|\(\w*\)|^\s*(?:def|class|import|from|return|func|fn|const|let|var|#include)\b|^\s*(?://|/\*)"
)
_CELL: Final = lazy.pattern(r"\s*\"?(?:[\w.:/+€$£%-]*\d[\w.:/+€$£% -]*|\w*)\"?\s*")
_RAISED: Final = lazy.pattern(r"\s*[A-Za-z_][\w.$]*(?::[^\n]*)?\s*")  # the error that a trace ends with, in one line
_QUOTED: Final = lazy.pattern(r"> |[\w./@+-]+\.\w+:\d+:?\s*\Z")  # what a review quotes, and the place that it speaks of
_MOSTLY: Final = 0.7
#: Characters without the end of a sentence after which a line is none, and how many of them one Chinese or Japanese
#: sign stands for.
_ENDLESS_LENGTH, _DENSITY = 2400, 3
_ENDLESS: Final = lazy.pattern(rf"[^\n.!?…。！？{STOPS}]{{{_ENDLESS_LENGTH // _DENSITY},}}+")
_DENSE: Final = lazy.pattern(r"[\u3040-\u30ff\u3400-\u9fff]")
_MOST_LINES: Final = 400  # of a stretch that are looked at


def data_blocks(text: str) -> list[Span]:
    """In order and apart: data in chunks at line ends, and what ``uncut_spans`` finds in the language between."""
    text = with_line_feeds(text)
    found: list[Span] = []
    at = 0
    inner = deque(span for span in uncut_spans(text) if span.kind != "inline-json" or "\n" in span.of(text))
    data = sorted([*(_without_said_ends(text, span) for span in _joined(text) if span.kind), *_endless(text)])
    for stretch in (span for span in data if span.start < span.end):
        start, end = stretch.start, stretch.end
        while inner and inner[0].start < end:
            block = inner.popleft()
            # A fence is one in whatever stands around it, a heading between lists too; any other block that begins or ends within
            # the stretch belongs to it.
            if block.start >= at and (block.kind == "fence" or block.end <= start or _heads_list(text, block, stretch)):
                found += _chunks(text, stretch._replace(start=max(at, start), end=block.start))
                found.append(block)
                at = block.end
            elif block.kind == stretch.kind:  # the first and last rows of a table may look like something else
                start, end = min(start, block.start), max(end, block.end)
        found += _chunks(text, stretch._replace(start=max(at, start), end=end))
        at = max(at, end)
    return found + [block for block in inner if block.start >= at]


def _heads_list(text: str, block: Span, stretch: Span) -> bool:
    """Whether a heading is between lists that look like settings; among settings, "# ..." is a remark."""
    return block.kind == "heading" and stretch.kind == "yaml" and text.startswith("##", block.start)


def is_listed_language(text: str, spans: Sequence[Span]) -> bool:
    """Whether most of a text is language although its lines look like output: lists, notes. `spans` are its ``kinds.parts``."""
    if not _AMID_LANGUAGE.issuperset(span.kind for span in spans):
        return False
    return sum(span.end - span.start for span in data_blocks(text) if span.kind != "inline-json") * 2 < len(text)


def _endless(text: str) -> Iterator[Span]:
    """Lines in which no sentence ends for so long that they are not language."""
    at = 0
    while m := _ENDLESS.search(text, at):
        at = m.end()
        if m.end() - m.start() + (_DENSITY - 1) * len(_DENSE.findall(m[0])) < _ENDLESS_LENGTH:
            continue
        at = text.find("\n", m.end()) + 1 or len(text)
        yield Span(text.rfind("\n", 0, m.start()) + 1, at, "plain")


def _joined(text: str) -> Iterator[Span]:
    """The stretches of a text, with kind "" for language; adjacent stretches of one kind are joined."""
    last: Span | None = None
    for part in parts(text):
        kind = "" if _reads(part, part.of(text)) else part.kind
        if last and (last.kind == kind or (last.kind == "trace" and _RAISED.fullmatch(part.of(text)))):
            last = last._replace(end=part.end)
            continue
        if last:
            yield last
        last = part._replace(kind=kind)
    if last:
        yield last


def _has_columns(text: str) -> bool:
    """Whether rows have a column that no sentence has: figures, dates, names, in most of them."""
    rows = [line for line in cell_rows(text.split("\n", 41)[:40]) if line.strip()]
    delimiter = max("\t,;", key=lambda sign: min(row.count(sign) for row in rows[:4]))
    columns = zip_longest(*(row.split(delimiter) for row in rows[1:]), fillvalue="")
    return any(sum(_CELL.fullmatch(cell) is not None for cell in column) >= _MOSTLY * len(column) for column in columns)


def _without_said_ends(text: str, stretch: Span) -> Span:
    """A stretch without lines of language at its ends: kinds are determined for sixteen lines at a time."""
    own = _OWN_LINES.get(stretch.kind)
    if (stretch.kind in _SURE and not own) or stretch.kind == "csv":
        return stretch
    start, end = stretch.start, stretch.end
    while start < end and _is_end(line := text[start : (text.find("\n", start, end) + 1) or end], own):
        start += len(line)
    while start < end and _is_end(line := text[text.rfind("\n", start, end - 1) + 1 or start : end], own):
        end -= len(line)
    return Span(start, end, stretch.kind)


def _is_end(line: str, own: re.Pattern[str] | None) -> bool:
    if not line.strip():
        return True
    return not own.match(line) if own else _says_something(line) and not line[:1].isspace()


def reads_as_language(kind: str, text: str) -> bool:
    """Whether a stretch that looks like lists, settings or code is language for the most part."""
    return kind in _LISTS and _reads(Span(0, len(text), kind), text)


def _reads(part: Span, text: str) -> bool:
    """Whether a stretch is to be read as language."""
    if part.kind in SPOKEN or part.kind == "fence":  # a fence is a block of the language around it
        return True
    if part.kind == "yaml" and text.rstrip().endswith(":") and "\n" not in text.strip():  # it leads to what comes next
        return True
    if part.kind in _SURE:
        return False
    lines = [line for line in text.split("\n") if line.strip() and not (part.kind == "plain" and _QUOTED.match(line))]
    lines = lines[:: max(1, len(lines) // _MOST_LINES)]
    if not lines or (part.kind == "csv" and _has_columns(text)):
        return False
    if not any(c.isspace() for c in text.strip()) and len(text) > _CHUNK:
        return _SAYS.search(text) is not None
    return sum(len(line) for line in lines if _says_something(line)) * 2 >= sum(map(len, lines))


def _says_something(line: str) -> bool:
    if line.lstrip()[:1] in ("{", "["):
        line = line[value_end(line) :]
    if _STAMPED.match(line) or len(_CODE.findall(line)) > max(1, len(line) // 80):
        return False
    return line.lstrip().startswith("#") or _SAYS.search(line, _LABEL.match(line).end()) is not None  # type: ignore[union-attr]


def _chunks(text: str, stretch: Span) -> Iterator[Span]:
    at = stretch.start
    while at < stretch.end:
        end = text.find("\n", min(at + _CHUNK, stretch.end), stretch.end) + 1
        end = end if end and stretch.end - end > _CHUNK // 4 else stretch.end
        yield Span(at, end, stretch.kind)
        at = end

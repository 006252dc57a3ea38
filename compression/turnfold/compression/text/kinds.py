"""The kind of a text, by its structure, and where a mixed text changes from one kind to another.

It has the patterns that mark lines, as data, and the vote over them. Nothing is shortened here. File names and tool names do not
count: only the text decides, so that equal bytes always have the same kind.

Kinds: see `KINDS`. `plain` is program output without a more specific kind, `commits` is a commit log.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, pairwise
from typing import Final

import orjson

from turnfold.compression import lazy
from turnfold.compression.memo import remembering
from turnfold.compression.text.beside import is_mail
from turnfold.compression.text.blocks import unclosed_end
from turnfold.compression.text.dialogue.transcripts import is_transcript
from turnfold.compression.text.lower import MARKS
from turnfold.compression.text.spans import Span, with_line_feeds
from turnfold.compression.text.unmarked_speech import is_unmarked_speech
from turnfold.compression.text.wrapped_lines import is_latex
from turnfold.compression.text.writers import is_button, may_name_writers, writers

_WINDOW: Final = 16  # lines that vote together
_DECODER: Final = json.JSONDecoder()
_BLANK_LINES: Final = lazy.pattern(r"[ \t]*\n\s*")
_QUOTED_CELL: Final = lazy.pattern(r'"(?:[^"]|"")*"')
_MOST_CELL_LINES: Final = 8
_FEWEST_SPEAKERS: Final = 2
_SAID_LINES: Final = 6  # lines, on average, that one says in a chat at most
_BLANK: Final = "blank"  # lines without anything, which go with what is before them
_MOST_WINDOWS: Final = 200  # in a long text windows grow, and sixteen lines of each vote
_FARTHEST: Final = 5  # windows between two of code that may be its docstring
_WEAK: Final = frozenset({"prose", "plain", "markdown", "yaml"})
#: Output that people put between sentences, and whose own lines are none.
_BESIDE_SPEECH: Final = frozenset({"table", "tests", "log", "search", "listing", "html", "xml", "binary"})
_LONGEST_LINE: Final = 300  # characters of a line that its mark is sought in
_LEAST_JSON: Final = 80  # characters of a value on one line that is more than a line
_LONGEST_JSON: Final = 5000  # lines of an indented one
_BRACKETS: Final = frozenset("{}[]")
_ENOUGH: Final = 0.3  # share of a window's lines that must carry a mark for it to decide

#: The time with which lines of logs begin: "2026-01-02 10:11", "Jan  2 10:11:12", "01-02 10:11:12.123", "10:11:12".
STAMP: Final = (
    r"\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\[?\w{3} [ \d]\d \d\d:\d\d:\d\d|\[?\d\d:\d\d:\d\d\b"
    r"|\[?(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]?\d|\d\d[-/. ](?:\d\d|[A-Z][a-z]{2})(?:[-/. ]\d{4})?|\d{8})[T ]\d\d:\d\d:\d\d"
)
#: What an opening line says about the lines behind it, tried in order. Every pattern is anchored and without nested repeats.
_MARKS: Final = lazy.pattern(
    "|".join(
        f"(?P<{kind}>{pattern})"
        for kind, pattern in (
            ("diff", r"diff --git |--- (?:a/|/dev/null|\S+\t)|\+\+\+ (?:b/|/dev/null|\S+\t)|@@ -\d+"),
            (
                "trace",
                r"Traceback \(most recent|\s+File \"[^\"]*\", line \d+|\s+at [\w.$<>/@-]+[ (]|\s+at .{1,200}:\d+:\d+\)?$"
                r"|goroutine \d+ \[|thread '[^']*' (?:\(\d+\) )?panicked|Caused by: |Exception in thread"
                r"|\s+\d+: (?:0x[\da-f]+ - )?\w+::"
                r"|stack backtrace:",
            ),
            (
                "binary",
                r"(?=[A-Za-z0-9+/=_-]{60,}$)(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])(?=\D*\d)."
                r"|(?:[0-9a-f]{2}){32,}$|[\da-f]{6,8}:? +(?:[\da-f]{2,4} ){4,}",
            ),
            (
                "tests",
                r"={3,} .{1,120} ={3,}$|_{3,} .{1,120} _{3,}$|(?:PASS|FAIL|FAILED|PASSED|XFAIL|SKIPPED|ERROR):? [\w./\\-]+"
                r"|--- (?:PASS|FAIL|SKIP): |=== (?:RUN|PAUSE|CONT) |(?:not )?ok \d+ |ok  \t|test \S+ \.\.\. "
                r"|\w+ \([\w.]+\)(?: \.\.\. |$)"
                r"|\S+::\S+ (?:PASSED|FAILED|ERROR|SKIPPED)|\S+\.py [.FEsxX]{2,}|Ran \d+ tests? |collected \d+ item"
                r"|\s+[✓✔✗✘×√] |[✓✔✗✘×√] [^\n]{0,200}(?:\d ?m?s\)|::|\.\w{1,4}\b)"
                r"|[\w\[\]\-]+ (?:ok|F|E|f|s)$|E   ",
            ),
            (
                "log",
                rf"{STAMP}"
                r"|\S+ \S+ \S+ \[\d\d/\w{3}/\d{4}:"
                r"|\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b|(?:time|ts|level)=|[DIWEF]\d{4} \d\d:",
            ),
            (
                "search",
                r"(?![\w./@+-]+:\d+:?\s*$)"
                r"(?:[\w.@+-]+:)?[\w./@+ -]{0,200}[\w]\.\w{1,8}[:-]\d+[:-]|[\w./@+-]*/[\w./@+-]+:.|\d+[:-](?:\s|\S)",
            ),
            (
                "listing",
                r"[-dlbcps][rwxsStT-]{9}[ +@.]|\d{6} (?:blob|tree|commit) |[│|├└ ]*[├└│|`+][─-]{2}|(?:total \d+)$"
                r"|\.{0,2}/?[\w.@+-]+(?:/[\w.@+-]+)+/?$|[\d.]+[KMGT]?\t[\w./@+-]+$",
            ),
            ("table", r"\s*\|.*\|\s*$|\s*[+|][-+=:| ]{6,}$"),
            (
                "html",
                r"\s*</?(?:div|span|p|a|ul|li|td|tr|table|head|body|html|script|style|meta|link|h[1-6]|img|input|button"
                r"|nav)\b|\s*<!DOCTYPE html",
            ),
            ("xml", r"\s*<\?xml |\s*</?[\w:.-]+(?: [\w:.-]+=\"[^\"]*\")*\s*/?>(?!:)"),
            (
                "code",
                r"\s*\d+(?:\t|→|\s*\| )|\s*(?:def|class|async|import|from|return|if|elif|else|for|while|try|except|finally"
                r"|with|raise|yield|assert|pass"
                r"|function|const|let|var|export|public|private|protected|static|func|fn|impl|struct|enum|interface|type"
                r"|package|use|mod|pub"
                r"|switch|case|break|continue|throw|catch|new|void|int|#include|#define|using|namespace|template|end|do|begin"
                r"|module)\b.*[:;{}(),]\s*(?://.*|#.*)?$"
                r"|\s*(?:from \S+ )?import (?:[\w.*]+(?:$|[,;]| as )|[\w{(*\"'].* from |[\"'({])"
                r"|(?!##{1,5} [^\W\d_])\s*(?:#|//|/\*|\*/|\"\"\"|''')|(?:  |\t)* \*(?:\s|/|$)|\s*@\w+"
                r"|.*[;{}(\[]\s*$|.*[)\]}],\s*$"
                r"|\s*[)}\]]+[;,:]?\s*$"
                r"|\s+[\w.\[\]'\"]+ [-+*/|&]?= .",
            ),
            ("plain", r"(?:make|g?cc|c\+\+|ld|sh|bash|npm|error|warning|note|fatal)(?:\[\d+\]|\[\w+\])?: "),
            (
                "yaml",
                r"\s*(?:- )?[\w./\"'-]+:(?: \S.*)?$|---$|\s*- [\w\"']|[\w.-]+ = \S|\[{1,2}[\w.\" -]+\]{1,2}$",
            ),
            ("markdown", r"#{1,6} |\s*[-*+] |\s*\d+\. |> |\*\*"),
            (
                "prose",
                rf"\s*[\"'“‘(*_]*[^\W\d_][\w{MARKS}'’-]*[,;:]?"
                rf"(?: [\"'“‘(*_]*(?:[^\W\d_][\w{MARKS}'’-]*|\d+|[-–—&])[.,;:!?)\"'”’*_]*){{5,}}",
            ),
        )
    )
)
#: Every kind that a text can be.
KINDS: Final = frozenset({*_MARKS.groupindex, "csv", "fence", "commits", "json", "jsonl"})
#: A label in front of what stands on its line: "Observation: ...", "**Result:** ...".
_LABEL: Final = lazy.pattern(r"\s*[*_]{0,4}[^\W\d_][\w ]{0,38}:[*_]{0,4}[ \t]+(?=\S)")
_LONG_VALUE: Final = 160  # characters of a line up to which it is read as a key with its value
_SENTENCE_ENDED: Final = lazy.pattern(r"[.!?]\s")
#: What opens a block, at the beginning of a line.
_OPENING: Final = lazy.pattern(
    r"\n(?:[ \t]{0,3}(?:```|~~~)|[{\[](?:[ \t]*\n|[{\"\[])|diff --git |--- a/|@@ -"
    r"|commit [\da-f]{7}|Traceback \(most recent|Exception in thread|goroutine |panic: |thread '|stack backtrace:)"
)
_FENCE: Final = lazy.pattern(r"\s{0,3}(`{3,}|~{3,})")
_DIFF_BODY: Final = lazy.pattern(
    r"[-+ \\@]|diff --git |index [\da-f]+\.\.|(?:new|deleted) file mode|old mode|new mode|rename |copy |similarity "
    r"|Binary files |commit \w+|$"
)
_COMMIT_BODY: Final = lazy.pattern(
    r"commit [\da-f]{7}|(?:Merge|Author|AuthorDate|Commit|CommitDate|Date|Reflog[\w ]*|gpg): "
    r"|    |$| \S.* \| +\S| \d+ files? changed"
    r"|[AMDRCT]\d*\t|\d+\t\d+\t| (?:create|delete|rename|mode|copy) "
)
_TRACE_BODY: Final = lazy.pattern(
    r"\s|[\w.]+(?:Error|Exception|Warning|Interrupt|Exit)\b|Caused by|goroutine |stack backtrace:|note: "
    r"|\S+\(.*\)$|\.\.\. \d+ more|\[Previous line"
)
_TEST_RUN: Final = lazy.pattern(
    r"\n(?:=+ (?:test session starts|FAILURES|ERRORS|short test summary)|Ran \d+ tests? in |(?:---|===) (?:RUN|PASS|FAIL)"
    r"|(?:ℹ|#) (?:tests|pass|fail) \d|[✔✖✓✗] [^\n]{0,200}ms\)"
    r"|test result: |running \d+ tests?\n|test \S{1,300} \.\.\. (?:ok|FAILED|ignored)|ok  \t|FAIL\t"
    r"|Tests?:? [^\n]{0,200}?\b(?:passed|failed)|(?:not )?ok \d+ - | {0,8}\d+ (?:passing|failing)\b|FAIL(?:ED)?[ (]"
    r"|=+ [^\n]{0,200}?\d (?:passed|failed)|\S{1,200} \([\w.]{1,300}\) \.\.\. | {0,4}tests? finished:|E   |>>>>> Run tests)"
)
#: Where a compiler or linter saw something: the source that it quotes is no file.
_PLACES: Final = lazy.pattern(r"\n *--> \S{1,300}:\d+:\d+")
_BEHIND_END: Final = " \t\r\"'”’»)*_"
_CODE_ENDS: Final = (";", "{", ",")
_SENTENCE_ENDS: Final = (*".!?…:。！？：",)
_ENCODED: Final = lazy.pattern(r"\s*+(?:data:[\w/;,+-]{1,100})?(?:[A-Za-z0-9+/=_-]{200}|(?:[A-Za-z0-9+/=_-]{60,80}\r?\n){2})")
_ALL_ENCODED: Final = lazy.pattern(r"\s*+(?:data:[\w/;,+-]{1,100})?[A-Za-z0-9+/=_\-\s]+")


@remembering  # lines vote, and are asked again one by one
def mark(line: str) -> str:
    """The kind that a single line looks like; "" for none."""
    found = _MARKS.match(line[:_LONGEST_LINE])
    kind = (found.lastgroup or "") if found else ""
    if kind in ("yaml", "code") and len(line) > _LONG_VALUE and (label := _LABEL.match(line)) and _says_more(line, label.end()):
        return "prose"
    return kind


def _says_more(line: str, start: int) -> bool:
    """Whether several sentences stand behind the label of a line: what a tool reports ("Observation: ..."), or a person."""
    found = _MARKS.match(line[start : start + _LONGEST_LINE])
    return (
        found is not None and found.lastgroup == "prose" and len(_SENTENCE_ENDED.findall(line, start, start + _LONGEST_LINE)) > 1
    )


def _vote(marks: Sequence[str]) -> str:
    if not marks:
        return _BLANK
    votes = Counter(marks)
    votes.pop("", None)
    if not votes:
        return "plain"
    kind, count = votes.most_common(1)[0]
    if kind == "yaml" and votes["prose"] == count:  # one label with what is said below it is no document of keys
        kind = "prose"
    total = sum(votes.values())
    return kind if count >= max(1, _ENOUGH * len(marks)) and count * 2 >= total else "plain"


def _is_json(text: str) -> bool:
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
    if len(lines) > 1 and _is_json(lines[0]) and _is_json(lines[1]) and lines[0][0] == "{":
        return "jsonl"
    if _is_json(text):
        return "json"
    compact = "".join(text.lstrip()[:200].split())
    if not re.match(r'\{"[^"]*":|\[\{"|\[\[|\["', compact) or text.count('"') * 30 <= len(text):
        return ""
    end = value_end(text)
    return "" if end and len(text[end:].split("\n", 1)[0].strip()) > end else "json"  # more is said behind it than it says


def value_end(text: str) -> int:
    """Where an object or array ends that a text begins with; 0 where it ends nowhere."""
    try:
        return _DECODER.raw_decode(text, len(text) - len(text.lstrip()))[1]
    except (ValueError, RecursionError):
        return 0


def _label_before_json(text: str) -> int:
    """Where JSON begins that is all that stands behind a label at a text's beginning ("Observation: {..."); 0 for none."""
    label = _LABEL.match(text)
    return label.end() if label and _jsonish(text[label.end() :]) else 0


def _json_before_more(text: str) -> int:
    """Where an object or array ends that a text of several lines begins with, the white space behind it included; 0 where the
    text ends with it, or breaks off inside of it."""
    if text.lstrip()[:1] not in ("{", "[") or _jsonish(text) != "json" or _is_json(text):
        return 0
    end = value_end(text)
    if not end:
        return 0
    behind = _BLANK_LINES.match(text, end)
    return behind.end() if behind and behind.end() < len(text) else 0


def cell_rows(lines: Sequence[str]) -> list[str]:
    """Rows of cells as lines, a quoted cell as `""`: a delimiter or a line break in it is none of the row's."""
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
    """Whether no line ends as those of code do; rows may end with an empty cell where the first line is their header."""
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
    """Whether lines that say who wrote what stands beside them, and when, are a good part of a text."""
    if not may_name_writers(text[: 2 * _LONGEST_LINE]):
        return False
    named = writers(text)
    told = len(named.heads) + len(named.signatures)
    if told < _FEWEST_SPEAKERS:
        return False
    stretches = [*named.heads.items(), *((start, stop) for _, start, stop in named.signatures)]
    naming = {i for start, stop in stretches for i in range(start, stop)}
    lines = enumerate(text.split("\n"))
    return told * _SAID_LINES >= sum(i not in naming and bool(line.strip()) and not is_button(line) for i, line in lines)


def _spoken(text: str) -> str:
    """ "prose" for what people said one after the other, "markdown" for LaTeX, else ""."""
    if is_transcript(text) or _has_speakers(text) or is_mail(text) or is_unmarked_speech(text):
        return "prose"
    return "markdown" if is_latex(text) else ""


def whole(text: str) -> str:
    """The kind of a text that is uniform from first to last character; "" if it has to be read line by line."""
    return next(filter(None, (tell(text) for tell in (_jsonish, _markup, _binary_kind, _spoken, _report_kind, _tabular))), "")


def _stretches(text: str, lines: Sequence[str], offsets: Sequence[int]) -> Iterator[tuple[int, int, str]]:
    """Runs of lines: blocks with a recognised opening line (fences, diffs, traces) with their kind, all others with ""."""
    start = 0
    for found in _OPENING.finditer("\n" + text):
        index = bisect_right(offsets, found.start()) - 1
        if index < start:
            continue
        end, kind = _opened_block(lines, index)
        if end == index:
            continue
        if start < index:
            yield start, index, ""
        yield index, end, kind
        start = end
    if start < len(lines):
        yield start, len(lines), ""


def _opened_block(lines: Sequence[str], index: int) -> tuple[int, str]:
    """The end of the block that line `index` opens, and its kind; `index` itself if it opens none."""
    line = lines[index]
    fence = _FENCE.match(line)
    if fence:
        closing = next((i for i in range(index + 1, len(lines)) if lines[i].strip() == fence[1]), -1)
        if closing < 0:
            rest = "\n" + "\n".join(lines[index:])
            closing = index + rest.count("\n", 1, unclosed_end(rest, 0) + 1)
        return closing + 1, "fence"
    if line.startswith("commit "):
        return _while(lines, index + 1, _COMMIT_BODY), "commits"
    if line[:1] in ("{", "["):
        return _json_end(lines, index), "json"
    if line.startswith(("diff --git ", "--- a/", "@@ -")):
        return _while(lines, index + 1, _DIFF_BODY), "diff"
    said = line.startswith("thread '")  # the next line is what the panic said
    return _while(lines, min(index + 1 + said, len(lines)), _TRACE_BODY), "trace"


def _json_end(lines: Sequence[str], index: int) -> int:
    """The line after a JSON value that begins here, on one line or indented; `index` if none begins."""
    line = lines[index]
    if len(line.rstrip()) > 1:
        return index + 1 if len(line) > _LEAST_JSON and _is_json(line) else index
    close = "}" if line[0] == "{" else "]"
    body = lines[index + 1 : index + _LONGEST_JSON]
    end = next((i for i, inner in enumerate(body, index + 1) if inner[:1] in _BRACKETS), index)
    return end + 1 if end > index and lines[end].rstrip() == close and _is_json("\n".join(lines[index : end + 1])) else index


def _while(lines: Sequence[str], index: int, body: re.Pattern[str]) -> int:
    while index < len(lines) and body.match(lines[index]):
        index += 1
    return index


def _windows(lines: Sequence[str], start: int, end: int) -> Iterator[tuple[int, int, str]]:
    size = max(_WINDOW, (end - start) // _MOST_WINDOWS)
    for at in range(start, end, size):
        upto = min(at + size, end)
        step = max(1, (upto - at) // _WINDOW)
        yield at, upto, _vote([mark(lines[i]) for i in range(at, upto, step) if lines[i].strip()])


def _smooth(windows: Sequence[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """Windows of a weak kind between two windows of code become code, because comments and docstrings read as prose."""
    code = [i for i, window in enumerate(windows) if window[2] == "code"]
    nearest = dict.fromkeys(i for one, other in pairwise(code) if other - one <= _FARTHEST for i in range(one, other))
    for i, (start, end, kind) in enumerate(windows):
        yield start, end, "code" if kind in _WEAK and i in nearest else kind


def parts(text: str) -> list[Span]:
    """The text cut into ranges of one kind each, without gaps; linear in the text.

    Lines vote in windows of sixteen; a block with a recognised opening line (a fence, a diff, a trace) is a range of its own.
    """
    return [*_read(text)]


@remembering
def _read(text: str) -> Sequence[Span]:
    text = with_line_feeds(text)
    for begun, kind in ((_label_before_json(text), "plain"), (_json_before_more(text), "json")):
        if begun:
            return [Span(0, begun, kind), *(Span(begun + s.start, begun + s.end, s.kind) for s in _parts(text[begun:]))]
    return _parts(text)


def _apart_from_speech(lines: Sequence[str], start: int, end: int, kind: str) -> Iterator[tuple[int, int, str]]:
    """A range of output without the paragraphs of it that are sentences, and without the sentences at its beginning and end.

    Lines vote together, so those of a small table outvote what a short message says around it.
    """
    if kind not in _BESIDE_SPEECH:
        yield start, end, kind
        return
    at = start
    for begin, upto in _spoken_runs(lines, start, end):
        if at < begin:
            yield at, begin, kind
        yield begin, upto, "prose"
        at = upto
    if at < end:
        yield at, end, kind


def _spoken_runs(lines: Sequence[str], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Lines that are sentences: whole paragraphs, with the blank lines behind them, and such lines at both ends."""
    at = start
    while at < end:
        stop = next((i for i in range(at, end) if not lines[i].strip()), end)
        behind = next((i for i in range(stop, end) if lines[i].strip()), end)
        first = next((i for i in range(at, stop) if mark(lines[i]) != "prose"), stop)
        if (first == stop or at == start) and first > at and _ends_sentence(lines[first - 1]):
            yield at, behind if first == stop else first
        elif behind == end:
            last = next((i for i in range(stop - 1, at - 1, -1) if mark(lines[i]) != "prose"), at - 1) + 1
            if last < stop and _ends_sentence(lines[stop - 1]):
                yield last, end
        at = behind


def _ends_sentence(line: str) -> bool:
    return line.rstrip(_BEHIND_END).endswith(_SENTENCE_ENDS)


def _parts(text: str) -> list[Span]:
    kind = whole(text)
    if not text or (kind and kind not in _BESIDE_SPEECH):
        return [Span(0, len(text), kind)] if text else []
    lines = text.split("\n")
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line) + 1)
    offsets[-1] = len(text)
    if kind:
        return [Span(offsets[a], offsets[b], found) for a, b, found in _apart_from_speech(lines, 0, len(lines), kind)]
    pieces: list[tuple[int, int, str]] = []
    for start, end, found in _stretches(text, lines, offsets):
        pieces.extend([(start, end, found)] if found else _smooth(list(_windows(lines, start, end))))
    for at, (start, end, found) in enumerate(pieces):
        if found == _BLANK:
            pieces[at] = (start, end, pieces[at - 1][2] if at else "plain")
    apart = chain.from_iterable(_apart_from_speech(lines, *run) for run in _runs(pieces))
    return [Span(offsets[start], offsets[end], found) for start, end, found in _runs(apart)]


def _runs(pieces: Iterable[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """Neighbours of one kind as one piece."""
    for found, run in groupby(pieces, key=lambda piece: piece[2]):
        group = list(run)
        yield group[0][0], group[-1][1], found


def kind_of(text: str) -> str:
    """The kind of most of a text's characters; "prose" for an empty text."""
    sizes: Counter[str] = Counter()
    for span in parts(text):
        sizes[span.kind] += span.end - span.start
    return sizes.most_common(1)[0][0] if sizes else "prose"

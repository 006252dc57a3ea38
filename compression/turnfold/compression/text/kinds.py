"""The kind of a text, by its structure, and where a mixed text changes from one kind to another.

This module cuts a text into blocks and windows of lines and lets the lines vote; the signs themselves are in ``kind_signs``.
Nothing is shortened here. File names and tool names do not count: only the text decides, so that equal bytes always have the same
kind.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, pairwise
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.memo import remembering
from turnfold.compression.text.blocks import unclosed_end
from turnfold.compression.text.kind_signs.line_marks import mark
from turnfold.compression.text.kind_signs.whole_texts import is_json, json_before_more, label_before_json, whole
from turnfold.compression.text.spans import Span, with_line_feeds

_WINDOW: Final = 16  # lines that vote together
_BLANK: Final = "blank"  # lines without anything, which go with what is before them
_MOST_WINDOWS: Final = 200  # in a long text windows grow, and sixteen lines of each vote
_FARTHEST: Final = 5  # windows between two of code that may be its docstring
_WEAK: Final = frozenset({"prose", "plain", "markdown", "yaml"})
#: Output that people put between sentences, and whose own lines are none.
_BESIDE_SPEECH: Final = frozenset({"table", "tests", "log", "search", "listing", "html", "xml", "binary"})
_LEAST_JSON: Final = 80  # characters of a value on one line that is more than a line
_LONGEST_JSON: Final = 5000  # lines of an indented one
_BRACKETS: Final = frozenset("{}[]")
_ENOUGH: Final = 0.3  # share of a window's lines that must carry a mark for it to decide
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
    r"|\S[^\s(]*\(.*\)$|\.\.\. \d+ more|\[Previous line"
)
_BEHIND_END: Final = " \t\r\"'”’»)*_"
_SENTENCE_ENDS: Final = (*".!?…:。！？：",)


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
        return index + 1 if len(line) > _LEAST_JSON and is_json(line) else index
    close = "}" if line[0] == "{" else "]"
    body = lines[index + 1 : index + _LONGEST_JSON]
    end = next((i for i, inner in enumerate(body, index + 1) if inner[:1] in _BRACKETS), index)
    return end + 1 if end > index and lines[end].rstrip() == close and is_json("\n".join(lines[index : end + 1])) else index


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
    for begun, kind in ((label_before_json(text), "plain"), (json_before_more(text), "json")):
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

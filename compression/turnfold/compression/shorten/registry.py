"""Which rule shortens which kind of content.

It is the table of kinds, and shortens a mixed text part by part. The rules themselves are in ``kinds``; lines are chosen in
``lines``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Container, Mapping, Sequence
from itertools import accumulate, chain, pairwise
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.shorten.arguments import facts_arguments
from turnfold.compression.shorten.asked_lines import with_asked
from turnfold.compression.shorten.evidence import is_outcome
from turnfold.compression.shorten.file_forms import UNCHANGED, Changed
from turnfold.compression.shorten.kinds import (
    binary,
    commits,
    diff,
    html_text,
    json_text,
    listing,
    logs,
    plain,
    search,
    source_code,
    stack_trace,
    table,
    test_output,
    yaml_text,
)
from turnfold.compression.shorten.kinds.call_frames import with_frames
from turnfold.compression.shorten.kinds.edit_blocks import with_edits
from turnfold.compression.shorten.kinds.wrapped_text import wrapped_text
from turnfold.compression.shorten.lines import FLOOR, RankedLines, WeighedLine, choose, is_longer
from turnfold.compression.text.data_blocks import SPOKEN, reads_as_language
from turnfold.compression.text.dialogue.own_words import own_words
from turnfold.compression.text.file_edits import bare_line, may_hold_blocks
from turnfold.compression.text.kinds import parts
from turnfold.compression.text.spans import Span
from turnfold.compression.text.statements import statements
from turnfold.compression.text.ties.reaching import telling_ends
from turnfold.compression.text.wrapped_lines import broken_lines
from turnfold.compression.tokens import Count

__all__ = ["Shortener", "facts", "facts_arguments", "within"]

RowMaker = Callable[[str, frozenset[str]], list[WeighedLine]]


#: Rules for texts that nearly fit.
ROOMY: Final[dict[str, RowMaker]] = {"listing": listing.whole_rows}
_ROOMY: Final = 1.6  # times the wanted tokens, up to which a text nearly fits
_ENDS: Final = 4  # lines at either end of a result in which a tool may report its outcome
_TRIES: Final = 6  # sizes to try for a hard limit
_SAID: Final = 30.0  # weight of a user's own line: above any line of a pasted text
_SHORT: Final = 120  # most characters of such a line


_LED: Final = frozenset({"fence", "code", "csv", "diff", "json", "jsonl", "sql", "table", "yaml"})
_MOST_LED: Final = 400  # lines of a block that depend on the line above it


def _under_lead(above: Sequence[WeighedLine], kind: str, rows: list[WeighedLine]) -> list[WeighedLine]:
    """The rows of a block, with a dependency on the line that introduces it: "Don't write:", "Wrong:"."""
    last = next((i for i in reversed(range(len(above))) if above[i].text.strip()), -1)
    if kind not in _LED or last < 0 or len(rows) > _MOST_LED or not above[last].text.rstrip().endswith((":", "：")):
        return rows
    return [row._replace(needs=(*row.needs, len(above) + i - last)) for i, row in enumerate(rows)]


_MOST_READ: Final = 20_000  # characters of prose lines whose sentences are read


def _with_ties(rows: list[WeighedLine], text: str) -> list[WeighedLine]:
    """Prose lines, each with the lines that its sentences depend on; unchanged if a row is not a line."""
    lines = text.rstrip("\n").split("\n")
    if len(lines) != len(rows):
        return rows
    read = statements(text)
    breaks = [i for i, sign in enumerate(text) if sign == "\n"]
    at = [range(bisect_left(breaks, s.start), bisect_left(breaks, s.end - 1) + 1) for s in read.spans]
    needs: dict[int, dict[int, None]] = {}
    for span, needed, found in zip(read.spans, read.needs, at, strict=True):
        several = len(span.of(text).strip().split("\n")) if not span.kind else 1
        for line in found:
            others = chain(found[:several] if several > 1 else (), *(at[n][:1] for n in needed))
            needs.setdefault(line, {}).update({line - other: None for other in others if other != line and lines[other].strip()})
    return [row._replace(needs=(*row.needs, *needs[i])) if needs.get(i) else row for i, row in enumerate(rows)]


_SENTENCE_END: Final = lazy.pattern(r"[^\W_][\"'”’)\]]*[.!?。！？](?:\s|\Z)")


def _with_wrapped_sentences(rows: list[WeighedLine], text: str) -> list[WeighedLine]:
    """The same if only some lines are prose and their sentences continue on the next line: a remark below a table."""
    lines = text.rstrip("\n").split("\n")
    broken = broken_lines(text, 0, len(text)) if len(lines) == len(rows) else set()
    if not broken:
        return rows
    ends = accumulate(len(line) + 1 for line in lines)
    begins = [0, *(i for i, end in enumerate(ends, start=1) if end - 1 not in broken)]
    out: list[WeighedLine] = []
    for first, last in pairwise(begins):
        said = "\n".join(lines[first:last])
        is_said = last - first > 1 and _SENTENCE_END.search(said) is not None and reads_as_language("plain", said)
        out += _with_ties(rows[first:last], said) if is_said else rows[first:last]
    return out


def _wordless(make: Callable[[str], list[WeighedLine]]) -> RowMaker:
    return lambda text, _words: make(text)


#: Kinds that are chosen line by line; neighbours among them share one limit.
ROWS: Final[dict[str, RowMaker]] = {
    "binary": _wordless(binary.rows),
    "code": source_code.rows,
    "commits": commits.rows,
    "csv": table.rows,
    "diff": diff.rows,
    "fence": source_code.rows,
    "html": html_text.rows,
    "json": json_text.rows,
    "jsonl": json_text.rows,
    "listing": listing.rows,
    "log": logs.rows,
    "markdown": _wordless(plain.sentence_rows),
    "plain": plain.rows,
    "prose": _wordless(plain.sentence_rows),
    "search": search.rows,
    "table": table.markdown_rows,
    "tests": test_output.rows,
    "trace": _wordless(stack_trace.rows),
    "xml": html_text.xml_rows,
    "yaml": yaml_text.rows,
}


def _with_outcome(rows: list[WeighedLine]) -> list[WeighedLine]:
    """Mark an exit code or total at the beginning or the end as evidence, for every kind of text."""
    for i in {*range(min(_ENDS, len(rows))), *range(max(0, len(rows) - _ENDS), len(rows))}:
        row = rows[i]
        if not row.evidence and row.weight > -9 and len(row.text) < _SHORT and is_outcome(row.text):
            rows[i] = row._replace(weight=max(row.weight, 1.0), evidence=2)
    return rows


#: Line-by-line output of programs, or tables of it.
_OUTPUTS: Final = frozenset({"log", "plain", "tests", "csv"})
_BEFORE_ALL: Final = 60.0  # worth of a line that comes before all others


def _with_verdict(rows: list[WeighedLine]) -> list[WeighedLine]:
    """Put a first or last line about the whole output before all others: "dry run", "exit status 1"."""
    filled = [i for i, row in enumerate(rows) if row.text.strip()]
    for end in telling_ends([rows[i].text for i in filled]):
        row = rows[filled[end]]
        rows[filled[end]] = row._replace(weight=_BEFORE_ALL, evidence=max(row.evidence, 2))
    return rows


def _discount_known(row: WeighedLine, known: Container[str]) -> WeighedLine:
    """A line that the reader has elsewhere, with a low worth."""
    return row._replace(weight=-1.0, scale=0.1 * row.scale, evidence=0) if row.text.strip() in known else row


#: Kinds that files contain; output of two runs of a program has no older and newer form.
_FILES: Final = frozenset({"code", "fence", "html", "xml", "yaml", "csv"})


_FRESH: Final = 3.0  # worth of a new line of a file


def _as_changed(row: WeighedLine, changed: Changed) -> WeighedLine:
    """A line that its file no longer has is never chosen; a new one comes before others."""
    line = bare_line(row.text)
    if line in changed.gone:
        return row._replace(weight=-99.0, scale=0.0, evidence=0, needs=())
    if line in changed.telling:
        return row._replace(weight=max(row.weight, _FRESH), evidence=max(row.evidence, 2))
    return row


def _with_own_words(rows: list[WeighedLine]) -> list[WeighedLine]:
    """Mark a user's own words next to a pasted text as evidence, before anything in that text."""
    for i in own_words([row.text for row in rows]):
        rows[i] = rows[i]._replace(weight=max(rows[i].weight, _SAID), evidence=3)
    return rows


class _Content:
    """Content that is read once and shortened to one or several lengths."""

    def __init__(
        self,
        text: str,
        words: frozenset[str],
        known: Container[str],
        count: Count,
        role: str = "tool",
        changed: Changed = UNCHANGED,
    ) -> None:
        self._changed = changed
        self._text, self._words, self._known, self._count, self._role = text, words, known, count, role
        self._spans = parts(text)
        self._lines: dict[bool, tuple[RankedLines, bool]] = {}
        is_json = len(self._spans) == 1 and self._spans[0].kind == "json"
        self._wrapped = wrapped_text(text) if is_json else None
        self._inner = _Content(self._wrapped.text, words, known, count, role, changed) if self._wrapped else None

    def facts(self, keep: int) -> str:
        """The lossy form in about `keep` tokens; the text itself if nothing shorter results."""
        short = self.shortened(max(keep, FLOOR))
        return short if is_longer(self._text, self._count(short), self._count) else self._text

    def shortened(self, keep: int) -> str:
        text, words, known, count = self._text, self._words, self._known, self._count
        if self._wrapped and self._inner:
            before, _, behind = self._wrapped
            return f"{before}{self._inner.shortened(max(1, keep - count(before + behind)))}{behind}"
        if len(self._spans) == 1 and self._spans[0].kind in ("json", "jsonl"):
            try:
                return json_text.facts(text, keep, words, count, known)
            except ValueError:  # it only looked like JSON
                self._spans = [Span(0, len(text), "plain")]
        is_roomy = len(text) <= 12 * keep and count(text) <= _ROOMY * keep
        if is_roomy not in self._lines:
            rows, spoken = self._read(ROWS | ROOMY if is_roomy else ROWS)
            self._lines[is_roomy] = RankedLines(rows, words, count, known), spoken
        lines, spoken = self._lines[is_roomy]
        return choose(lines, keep, spoken=spoken)

    def _read(self, table: Mapping[str, RowMaker]) -> tuple[list[WeighedLine], bool]:
        """Its lines, and whether all of them are prose."""
        rows: list[WeighedLine] = []
        spoken = True
        for span in self._spans:
            piece = span.of(self._text)
            said = len(piece) <= _MOST_READ and reads_as_language(span.kind, piece)
            spoken = spoken and said
            made = table[span.kind](piece, self._words)
            if span.kind in _FILES and self._changed is not UNCHANGED:
                made = [_as_changed(row, self._changed) for row in made]
            if span.kind not in SPOKEN:
                made = _with_ties(made, piece) if said else _with_wrapped_sentences(made, piece) if span.kind == "plain" else made
            rows += _under_lead(rows, span.kind, made)
        if self._known:
            rows = [_discount_known(row, self._known) for row in rows]
        if may_hold_blocks(self._text):
            rows = with_edits(rows)
        if self._role == "assistant" and "</" in self._text:
            rows = with_frames(rows)
        if not spoken and not _OUTPUTS.isdisjoint([span.kind for span in self._spans]):
            rows = _with_verdict(rows)
        rows = with_asked(rows, self._words)
        rows = _with_outcome(rows)  # last: two commands with equal endings are still two outcomes
        return (_with_own_words(rows) if self._role == "user" else rows), spoken


def facts(
    text: str,
    keep: int,
    words: frozenset[str],
    count: Count,
    *,
    role: str = "tool",
    known: Container[str] = frozenset(),
    changed: Changed = UNCHANGED,
) -> str:
    """The lossy form of a message's content in about `keep` tokens.

    Args:
        text: the content.
        keep: tokens wanted; texts of up to `FLOOR` stay unchanged.
        words: lower-case words of the task; lines with them are worth more.
        count: the token counter.
        role: the author; a user's own words next to a pasted text come before that text.
        known: lines and names that the reader has in another message (see `lines.visible_parts`), which are worth little here.
        changed: how it differs from other forms of the same file.

    Returns:
        the shorter text, or `text` itself if nothing shorter results. Lines that show a failure or an outcome may take it to
        1.6 times `keep`.
    """
    if not text.strip():
        return text
    return _Content(text, words, known, count, role, changed).facts(keep)


class Shortener:
    """Shortens texts for one task; each is read once, for any number of lengths."""

    def __init__(self, words: frozenset[str], count: Count) -> None:
        self._words, self._count = words, count
        self._contents: dict[str, _Content] = {}

    def within(self, text: str, limit: int) -> str:
        """The lossy form of a text in at most `limit` tokens, however few; "" if none is that short."""
        count = self._count
        if not is_longer(text, limit, count):
            return text
        content = self._content(text)
        keep = limit
        for _ in range(_TRIES):
            short = content.shortened(keep)
            size = count(short)
            if size <= limit:
                return short
            keep = int(keep * min(0.9, limit / size))
            if keep < 1:
                break
        return ""

    def facts(self, text: str, keep: int) -> str:
        """`facts` of a tool's text."""
        return self._content(text).facts(keep) if text.strip() else text

    def _content(self, text: str) -> _Content:
        content = self._contents.get(text)
        if content is None:
            content = self._contents[text] = _Content(text, self._words, frozenset(), self._count)
        return content


def within(text: str, limit: int, words: frozenset[str], count: Count) -> str:
    """The lossy form of a single text in at most `limit` tokens, however few; "" if none is that short."""
    return Shortener(words, count).within(text, limit)

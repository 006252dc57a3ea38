"""Which rule shortens which kind of content.

Lives here: the table of kinds, and how a mixed text is taken part by part. Must not: rules themselves, choosing lines.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Final

from turnfold.compression.shorten import (
    binary,
    code,
    diff,
    html,
    json,
    listing,
    logs,
    plain,
    search,
    table,
    tests,
    trace,
    yaml,
)
from turnfold.compression.shorten.arguments import facts_arguments
from turnfold.compression.shorten.lines import FLOOR, Count, Row, choose, is_longer
from turnfold.compression.text.kinds import parts
from turnfold.compression.text.spans import Span

__all__ = ["facts", "facts_arguments"]

RowMaker = Callable[[str, frozenset[str]], list[Row]]


def _wordless(make: Callable[[str], list[Row]]) -> RowMaker:
    return lambda text, _words: make(text)


#: Kinds that are chosen line by line; neighbours among them share one limit.
ROWS: Final[dict[str, RowMaker]] = {
    "binary": _wordless(binary.rows),
    "code": code.rows,
    "csv": table.rows,
    "diff": diff.rows,
    "fence": code.rows,
    "html": html.rows,
    "listing": listing.rows,
    "log": logs.rows,
    "markdown": _wordless(plain.sentence_rows),
    "plain": plain.rows,
    "prose": _wordless(plain.sentence_rows),
    "search": _wordless(search.rows),
    "table": table.markdown_rows,
    "tests": tests.rows,
    "trace": _wordless(trace.rows),
    "xml": html.xml_rows,
    "yaml": yaml.rows,
}


def _unless_known(row: Row, known: Container[str]) -> Row:
    """A line that the reader has elsewhere is worth little here."""
    return row._replace(weight=-1.0, scale=0.1 * row.scale, evidence=0) if row.text.strip() in known else row


def _shortened(text: str, keep: int, words: frozenset[str], known: Container[str], count: Count) -> str:
    spans = parts(text)
    if spans[0].kind in ("json", "jsonl"):
        try:
            return json.facts(text, keep, words, count, known)
        except ValueError:  # it only looked like JSON
            spans = [Span(0, len(text), "plain")]
    rows = [row for span in spans for row in ROWS[span.kind](span.of(text), words)]
    if known:
        rows = [_unless_known(row, known) for row in rows]
    return choose(rows, keep, words, count, known)


def facts(
    text: str,
    keep: int,
    words: frozenset[str],
    count: Count,
    *,
    role: str = "tool",
    known: Container[str] = frozenset(),
) -> str:
    """The lossy form of a message's content in about `keep` tokens.

    Args:
        text: the content.
        keep: tokens wanted; texts of up to `FLOOR` are left alone.
        words: lower-case words of the task; lines with them are worth more.
        count: the token counter.
        role: who wrote it; prose of users and assistants is cut by sentences.
        known: lines and names that the reader has in another message (see `lines.shown`); here they are worth little.

    Returns:
        the shorter text, or `text` itself where nothing shorter came out. Lines that show a failure or an outcome may take it to
        1.6 times `keep`.
    """
    del role
    if not text.strip():
        return text
    short = _shortened(text, max(keep, FLOOR), words, known, count)
    return short if is_longer(text, count(short), count) else text

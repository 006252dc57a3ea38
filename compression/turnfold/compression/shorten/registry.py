"""Which rule shortens which kind of content.

Lives here: the table of kinds, and how a mixed text is taken part by part. Must not: rules themselves, choosing lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
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
from turnfold.compression.shorten.lines import FLOOR, Count, Row, choose
from turnfold.compression.text.kinds import parts
from turnfold.compression.text.spans import Span

__all__ = ["facts", "facts_arguments"]

RowMaker = Callable[[str, frozenset[str]], list[Row]]


def _wordless(make: Callable[[str], list[Row]]) -> RowMaker:
    return lambda text, _words: make(text)


#: Kinds that are chosen line by line; neighbours among them share one limit.
ROWS: Final[dict[str, RowMaker]] = {
    "binary": _wordless(binary.rows),
    "code": _wordless(code.rows),
    "csv": _wordless(table.rows),
    "diff": _wordless(diff.rows),
    "fence": _wordless(code.rows),
    "html": _wordless(html.rows),
    "listing": listing.rows,
    "log": _wordless(logs.rows),
    "markdown": _wordless(plain.rows),
    "plain": _wordless(plain.rows),
    "prose": _wordless(plain.rows),
    "search": _wordless(search.rows),
    "table": _wordless(table.markdown_rows),
    "tests": _wordless(tests.rows),
    "trace": _wordless(trace.rows),
    "xml": _wordless(html.xml_rows),
    "yaml": _wordless(yaml.rows),
}


def _shortened(text: str, spans: Sequence[Span], keep: int, words: frozenset[str], count: Count) -> str:
    if spans[0].kind in ("json", "jsonl"):
        try:
            return json.facts(text[spans[0].start : spans[-1].end], keep, words, count)
        except ValueError:  # only looked like JSON
            return choose(plain.rows(text[spans[0].start : spans[-1].end]), keep, words, count)
    rows = [row for span in spans for row in ROWS[span.kind](span.of(text), words)]
    return choose(rows, keep, words, count)


def facts(text: str, keep: int, words: frozenset[str], count: Count, *, role: str = "tool") -> str:
    """The lossy form of a message's content in about `keep` tokens.

    Args:
        text: the content.
        keep: tokens wanted; texts of up to `FLOOR` are left alone.
        words: lower-case words of the task; lines with them are worth more.
        count: the token counter.
        role: who wrote it; prose of users and assistants is cut by sentences.

    Returns:
        the shorter text, or `text` itself where nothing shorter came out. Lines that show a failure or an outcome may take it to
        1.6 times `keep`.
    """
    keep = max(keep, FLOOR)
    short = _shortened(text, parts(text), keep, words, count) if text.strip() else text
    return short if count(short) < count(text) else text

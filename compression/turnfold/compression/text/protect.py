"""What no lossy stage may touch.

Lives here: the one tokenizer that finds protected spans, and the order in which it looks. Must not: the patterns themselves
(``blocks``, ``inline``), sentences, shortening, any judgement of importance.

The stages run in the order of tables; what a stage has found is masked before the next one looks, so spans never overlap.
Spans err on the side of protecting: a word too many costs a little space, a digit too few costs the truth.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from turnfold.compression.text import blocks, inline
from turnfold.compression.text.blocks import MASK, Range, disjoint
from turnfold.compression.text.spans import Span

#: Kinds that are made of whole lines and stay whole or are left out whole.
BLOCK_KINDS: Final = frozenset({"fence", "key", "json", "trace", "table", "sql", "code", "heading"})


def _of(*patterns: re.Pattern[str]) -> Callable[[str], list[Range]]:
    return lambda text: disjoint([m.span() for pattern in patterns for m in pattern.finditer(text)])


def _hinted(hint: re.Pattern[str], pattern: re.Pattern[str]) -> Callable[[str], list[Range]]:
    """A costly pattern that is tried only where a cheap one says it may match."""
    return lambda text: [m.span() for m in pattern.finditer(text)] if hint.search(text) else []


_Stages = tuple[tuple[str, Callable[[str], Iterable[Range]]], ...]

_BLOCKS_BEFORE_JSON: Final[_Stages] = (("fence", blocks.fences), ("key", blocks.keys), ("trace", blocks.traces))
_BLOCKS: Final[_Stages] = (
    ("table", blocks.tables),
    ("sql", blocks.sql),
    ("code", blocks.indented_code),
    ("heading", blocks.headings),
)
_INLINE: Final[_Stages] = (
    ("url", inline.urls),
    ("secret", _of(inline.SECRET_WORDS)),
    ("shell", _hinted(re.compile(r"[$%>] "), inline.PROMPT_LINE)),
    ("shell", _of(inline.SHELL)),
    ("inline-sql", _hinted(re.compile("SELECT|INSERT INTO|DELETE FROM|UPDATE|TABLE|INDEX|VIEW"), inline.INLINE_SQL)),
    ("pull", _of(inline.PULL_WORDS)),
    ("date", _hinted(re.compile(r"\d"), inline.DATE_WORDS)),
)


class _Scan:
    """A text of which found parts are masked, and what was found; `lined` has a newline in front."""

    def __init__(self, text: str) -> None:
        self.lined = "\n" + text
        self.spans: list[Span] = []

    @property
    def rest(self) -> str:
        return self.lined[1:]

    def take(self, kind: str, ranges: Iterable[Range]) -> None:
        found = [r for r in ranges if r[0] < r[1]]
        if not found:
            return
        self.spans += map(Span._make, [(start, end, kind) for start, end in found])
        pieces: list[str] = []
        at = 0
        for start, end in found:
            pieces += (self.lined[at : start + 1], MASK * (end - start))
            at = end + 1
        pieces.append(self.lined[at:])
        self.lined = "".join(pieces)

    def untouched(self, ranges: Iterable[Range]) -> list[Range]:
        return [r for r in ranges if MASK not in self.lined[r[0] + 1 : r[1] + 1]]


def protected_spans(text: str) -> list[Span]:
    """All that a lossy stage must leave byte for byte, in order, never overlapping; linear in the text's length.

    `Span.kind` is one of `BLOCK_KINDS` (whole lines, their last newline excluded) or an inline kind: ``inline-code``,
    ``inline-json``, ``inline-sql``, ``url``, ``secret``, ``shell``, ``pull``, ``date``, ``time``, ``number``, ``version``,
    ``email``, ``branch``, ``path``, ``flag``, ``row`` (ticket and spec ids), ``identifier``, ``token``.
    """
    scan = _Scan(text)
    for kind, find in _BLOCKS_BEFORE_JSON:
        scan.take(kind, find(scan.lined))
    values = list(blocks.json_values(scan.lined))
    scan.take("json", blocks.whole_lines(scan.lined, values))
    for kind, find in _BLOCKS:
        scan.take(kind, find(scan.lined))
    scan.take("inline-code", inline.inline_code(scan.rest))
    scan.take("inline-json", scan.untouched(values))
    for kind, find in _INLINE:
        scan.take(kind, find(scan.rest))
    spans = scan.spans + list(inline.tokens(scan.rest))
    spans.sort()
    return spans

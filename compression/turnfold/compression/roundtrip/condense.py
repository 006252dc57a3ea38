"""Shorter texts for old messages: one message by itself, or a run of them as one summary.

This module decides how much is kept at each level, and what a shortened text looks like. Which messages are old is decided in
``sketch``; sentences are shortened in ``shorten.sift``, other kinds in ``shorten.registry``.

Code, JSON, SQL, tables, traces and keys stay byte for byte, as do sentences and lines that contain something like a secret.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.shorten import registry
from turnfold.compression.shorten.exact_pieces import EXACT, holds_exact
from turnfold.compression.shorten.figure_lines import line_figures, with_figures
from turnfold.compression.shorten.reading import Read
from turnfold.compression.shorten.sift import sift
from turnfold.compression.text.data_blocks import is_listed_language
from turnfold.compression.text.kinds import parts
from turnfold.compression.text.lower import MARKS
from turnfold.compression.text.protect import block_spans


@dataclass(frozen=True, slots=True)
class CondenseLevel:
    """How much is kept.

    Attributes:
        prose: share of the characters of long prose by people and models (`share_of`).
        data: share of program output.
        messages: maximum number of messages of a run.
        characters: maximum number of characters of a run.
        figures: whether every figure, identifier, version, path and URL of a message stays, whatever the shares are.
    """

    prose: float
    data: float
    messages: int
    characters: int
    figures: bool = False

    def share_of(self, size: int) -> float:
        """The share for prose with this many characters: longer prose is more repetitive."""
        return self.prose * min(_MOST_MORE, max(1.0, math.sqrt(_LONG / max(1, size))))


_LONG: Final = 12000  # characters
_MOST_MORE: Final = 2.0
_ANY: Final = 1 << 60
#: The levels, mildest first. Only a budget requires more than the first.
LEVELS: Final = (
    CondenseLevel(0.11, 0.25, 48, 24_000, figures=True),
    CondenseLevel(0.03, 0.1, 128, 80_000, figures=True),
    CondenseLevel(0.02, 0.04, _ANY, _ANY),
    CondenseLevel(0.0, 0.0, _ANY, _ANY),
)
#: Messages of a run that are summarised together: their summary is the same for every longer run with the same beginning.
TOGETHER: Final = 128
#: Shorter texts are left unchanged, since the saving is little more than the mark of the gap.
SHORTEST: Final = 120
_DATA_SHORTEST: Final = 200
_FEW_LINES: Final = 4
_SPOKEN: Final = frozenset({"prose", "markdown", "fence"})
_MOSTLY: Final = 0.85  # share of letters and blanks in prose without other signs of language
_NOT_SAID: Final = lazy.pattern(rf"[\d_]|[^\w\s{MARKS}]")
_NO_WORDS: Final[frozenset[str]] = frozenset()
_SECRET: Final = lazy.pattern(r"\S{16}|(?i:pass|secret|token|key|bearer|authorization)")


def is_spoken(text: str) -> bool:
    """Whether a text is language, possibly with code, rather than program output."""
    if text.count("\n") < _FEW_LINES:
        return True
    spans = parts(text)
    spoken = sum(s.end - s.start for s in spans if s.kind in _SPOKEN or _reads(s.kind, s.of(text))) * 2 >= len(text)
    return spoken or is_listed_language(text, spans)


def _reads(kind: str, text: str) -> bool:
    """Whether lines of no recognised kind are language: mostly letters."""
    sample = text[:2000]
    return kind == "plain" and len(_NOT_SAID.findall(sample)) <= (1 - _MOSTLY) * len(sample)


def _count(text: str) -> int:
    """Approximate tokens of a text; precise enough for shares."""
    return (len(text) + 3) // 4


class OutputText:
    """Program output; what every level needs to know of it is computed once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._figures: dict[str, list[tuple[str, ...]]] = {}
        self._shortener = registry.Shortener(_NO_WORDS, _count)

    @cached_property
    def _pieces(self) -> list[tuple[str, bool]]:
        return list(pieces(self.text))

    def at(self, level: CondenseLevel) -> str:
        """The text at a level: blocks and lines with secrets are kept, the rest is shortened by its kind."""
        return "".join(piece if stays else self._between(piece, level) for piece, stays in self._pieces)

    def _between(self, text: str, level: CondenseLevel) -> str:
        if len(text) < _DATA_SHORTEST:
            return text
        body = text.strip("\n")
        short = self._shortener.facts(body, int(level.data * _count(body)))
        if level.figures:
            if body not in self._figures:
                self._figures[body] = line_figures(body)
            short = with_figures(body, short, self._figures[body])
        if len(short) >= len(body):
            return text
        start = text.index(body)
        return text[:start] + short + text[start + len(body) :]


def condense(known: Read | OutputText, level: CondenseLevel) -> str:
    """The text of one message at a level, never empty; the text itself if it cannot be shortened."""
    text = known.text
    if len(text) < SHORTEST:
        return text
    if isinstance(known, OutputText):
        new = known.at(level)
    else:
        new = sift([known], level.share_of(len(text)), at_least_one=True, keep_figures=level.figures)[0]
    return new if new.strip() and len(new) < len(text) else text


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """A text in pieces, and whether each must stay byte for byte."""
    at = 0
    for start, end in _fixed_ranges(text):
        if at < start:
            yield text[at:start], False
        yield text[start:end], True
        at = end
    if at < len(text):
        yield text[at:], False


def _fixed_ranges(text: str) -> Iterator[tuple[int, int]]:
    """Ranges to keep: blocks, and other lines with something like a secret."""
    at = 0
    for start, end in [*((s.start, s.end) for s in block_spans(text) if s.kind in EXACT), (len(text), len(text))]:
        yield from _secret_lines(text, at, start)
        if start < end:
            yield start, end
        at = end


def _secret_lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    if not _SECRET.search(text, start, end):
        return
    at = start
    for line in text[start:end].splitlines(keepends=True):
        if _SECRET.search(line) and holds_exact(line):
            yield at, at + len(line)
        at += len(line)


def merge(reads: Sequence[Read], names: Sequence[str], level: CondenseLevel) -> str:
    """The summary of a run of messages: the kept sentences of each, preceded by the speaker's name."""
    kept = sift(reads, level.share_of(sum(len(one.text) for one in reads)), keep_figures=level.figures)
    return "\n".join(f"{name}: {text.strip()}" for name, text in zip(names, kept, strict=True) if text)


def headline(messages: int, summary_id: str = "") -> str:
    """The line above a summary."""
    return f"[turnfold{' ' * bool(summary_id)}{summary_id}: {messages} messages, shortened]"

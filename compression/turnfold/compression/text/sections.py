"""Sections of a text: the content under one heading, or a few paragraphs.

This module finds where sections begin, which spans are headings, and which others only lead to what follows. Ids and summaries
are made in ``layers``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.spans import Span, with_line_feeds
from turnfold.compression.text.statements import Statements

# A label in brackets on a short line of its own, as retrieval puts before its chunks: "[Chunk 3] Source: ...".
# A time in brackets, or a sentence behind them, is what somebody said.
_LABEL: Final = lazy.pattern(r"\[(?![^\]\n]*\d[:/-]\d)[^\]\n]{1,40}\](?:(?! \w+: \w+ \w+ \w+ )[^\n]){0,160}(?<![.!?。！？])\n+")
_CLAUSE_NUMBER: Final = lazy.pattern(r"\(?\d{1,3}[.)] \w")
#: What captions are counted and timed by.
_COUNTER: Final = lazy.pattern(r"\d{1,5}|WEBVTT|[\d:.,]+ --> [\d:.,]+[^\n]*(?:\s*\d{1,5})?")
_TIMES: Final = 60  # characters within which the times of a caption stand behind its number
_ENDS: Final = (*".!?。！？",)
_LONGEST_LEAD: Final = 120  # characters
_TITLE_WORDS: Final = 4  # its number is one
_SALUTATION_WORDS: Final = 4
_LEAD_WORDS: Final = 6
# Characters: a paragraph ends a section that has this many, a line one of four times, a sentence one of eight times as many.
_ENOUGH: Final = 400
_MOST_TIED: Final = 8  # sections over which one need is looked at


def is_heading(text: str, span: Span) -> bool:
    """Whether a span of ``sentences(text)`` names what follows rather than saying something."""
    return span.kind in ("heading", "label") or (not span.kind and _LABEL.fullmatch(text, span.start, span.end) is not None)


def claims_nothing(text: str, span: Span, *, governs: bool) -> bool:
    """Whether a span is not a sentence: a heading, "On Sunday Ana wrote:", the title of a clause ("2. Fees."), a salutation; if
    other statements are under it (`governs`), any short line without an end ("Action items").
    """
    if span.kind:
        return is_heading(text, span)
    said = span.of(text)
    body = said.rstrip("> \t\r\n").lstrip()
    if len(body) > _LONGEST_LEAD:
        return False
    if not body or body.endswith((":", "：")) or is_heading(text, span) or _counts(text, span, body):
        return True
    words = len(body.split())
    if not said.endswith("\n"):
        return words <= _TITLE_WORDS and _CLAUSE_NUMBER.match(body) is not None and body.endswith(".") and span.end < len(text)
    return (words <= _SALUTATION_WORDS and body.endswith((",", "，"))) or (
        governs and words <= _LEAD_WORDS and not body.endswith(_ENDS)
    )


def _counts(text: str, span: Span, body: str) -> bool:
    """Whether a line counts or times a caption."""
    return _COUNTER.fullmatch(body) is not None and "-->" in text[span.start : span.end + _TIMES]


def leading_spans(text: str, read: Statements) -> frozenset[int]:
    """The statements of a text that claim nothing, and so are not shown for themselves."""
    text = with_line_feeds(text)
    governing = {needed for several in read.needs for needed in several}
    return frozenset(i for i, span in enumerate(read.spans) if claims_nothing(text, span, governs=i in governing))


def _begins(text: str, span: Span) -> bool:
    """Whether a span names a section; a speaker behind the time of a line does not, as what the next one says may correct it."""
    return is_heading(text, span) and not (span.kind == "label" and text[span.start].isdigit())


def section_starts(text: str, spans: Sequence[Span]) -> list[int]:
    """Indices of the spans that begin a section, 0 first; empty for no spans."""
    text = with_line_feeds(text)
    starts: list[int] = []
    begin = 0
    for i, span in enumerate(spans):
        size = span.start - begin
        behind = text[max(0, span.start - 2) : span.start]
        if (
            not i
            or (_begins(text, span) and not is_heading(text, spans[i - 1]))
            or (size > _ENOUGH and behind == "\n\n")
            or (size > 4 * _ENOUGH and behind.endswith("\n"))
            or size > 8 * _ENOUGH
        ):
            starts.append(i)
            begin = span.start
    return starts


def sections_of(text: str, read: Statements) -> list[int]:
    """Indices of the statements that begin a section. Small sections are joined if one must not be read without the other, since
    a part can be no shorter than what it needs.
    """
    starts = section_starts(text, read.spans)
    section = [0] * len(read.spans)
    for start in starts[1:]:
        section[start] = 1
    section = [*accumulate(section)]
    tied: set[int] = set()
    for i, needed in enumerate(read.needs):
        for j in needed:
            first, last = sorted((section[i], section[j]))
            if last - first <= _MOST_TIED:
                tied.update(starts[first + 1 : last + 1])
    kept = starts[:1]
    for start, end in pairwise([*starts[1:], len(read.spans)]):
        size = read.spans[end - 1].end - read.spans[kept[-1]].start
        if start not in tied or size > _ENOUGH or read.spans[start].kind == "heading":
            kept.append(start)
    return kept

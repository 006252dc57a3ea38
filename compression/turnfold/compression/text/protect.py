"""Spans that no lossy stage may change.

This is the tokenizer that finds protected spans, and the order of its stages. The patterns themselves are in ``blocks`` and
``inline``. Sentences are cut elsewhere, and importance is not judged here.

The stages run in the order of the tables. What one stage finds is masked for the next, so spans never overlap. In doubt, text is
protected: one word too many costs a little space, one digit too few falsifies a fact.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text import blocks, inline
from turnfold.compression.text.blocks import MASK, Range, disjoint
from turnfold.compression.text.spans import Span, spans_of

#: Kinds that are made of whole lines and stay whole or are left out whole.
BLOCK_KINDS: Final = frozenset({"fence", "key", "json", "trace", "math", "table", "sql", "code", "heading"})


def _guarded_finder(hint: re.Pattern[str], pattern: re.Pattern[str]) -> Callable[[str], list[Range]]:
    """A finder that tries a costly pattern only if a cheap one says that it may match."""
    return lambda text: [m.span() for m in pattern.finditer(text)] if hint.search(text) else []


_DIGITS: Final = lazy.pattern(r"\d++")
_NEAR: Final = 16  # "merge request #", "September. ", " de septiembre"


def _near_digits(pattern: re.Pattern[str]) -> Callable[[str], list[Range]]:
    """A pattern whose matches contain digits and extend at most `_NEAR` beyond them: few places of a text have any."""

    def find(text: str) -> list[Range]:
        around = ((m.start() - _NEAR, m.end() + _NEAR) for m in _DIGITS.finditer(text))
        places = disjoint([(max(0, start), end) for start, end in around])
        return [m.span() for start, end in places for m in pattern.finditer(text, start, end)]

    return find


_STEMS: Final = "passw passphrase secret token api access account private signing bearer authorization"
_SECRET_STEMS: Final = tuple(_STEMS.split())


def _secrets(text: str) -> Iterator[Range]:
    """What follows a word that announces a secret; the words are found faster than the pattern that begins with them."""
    low = text.lower()
    if len(low) != len(text):  # some capitals have longer small letters
        yield from (m.span() for m in inline.SECRET_WORDS.finditer(text))
        return
    done = 0
    for at in sorted(inline.places(low, _SECRET_STEMS)):
        found = inline.SECRET_WORDS.match(text, at) if at >= done else None
        if found:
            done = found.end()
            yield found.span()


_dates: Final = _near_digits(inline.DATE_WORDS)

_Stages = tuple[tuple[str, Callable[[str], Iterable[Range]]], ...]

_BLOCKS_BEFORE_JSON: Final[_Stages] = (("fence", blocks.fences), ("key", blocks.keys), ("trace", blocks.traces))
_BLOCKS: Final[_Stages] = (
    ("code", blocks.front_matter),
    ("math", blocks.formulas),
    ("table", blocks.tables),
    ("sql", blocks.sql),
    ("code", blocks.indented_code),
    ("heading", blocks.headings),
)
_INLINE: Final[_Stages] = (
    ("secret", _guarded_finder(lazy.pattern(r"://[^\s/@]{1,300}@"), inline.URL_WITH_PASSWORD)),
    ("url", inline.urls),
    ("secret", _secrets),
    ("shell", _guarded_finder(lazy.pattern(r"[$%>] "), inline.PROMPT_LINE)),
    ("shell", inline.shell_commands),
    ("inline-sql", _guarded_finder(lazy.pattern("SELECT|INSERT INTO|DELETE FROM|UPDATE|TABLE|INDEX|VIEW"), inline.INLINE_SQL)),
    ("pull", _near_digits(inline.PULL_WORDS)),
    ("date", _dates),
)


class _Scan:
    """A text whose found parts are masked, and the spans found so far; `lined` has a newline in front."""

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
        self.spans += spans_of([(start, end, kind) for start, end in found])
        pieces: list[str] = []
        at = 0
        for start, end in found:
            pieces += (self.lined[at : start + 1], MASK * (end - start))
            at = end + 1
        pieces.append(self.lined[at:])
        self.lined = "".join(pieces)

    def unmasked_ranges(self, ranges: Iterable[Range]) -> list[Range]:
        return [r for r in ranges if MASK not in self.lined[r[0] + 1 : r[1] + 1]]


# What a text of one line must begin with, or hold, to be a block; most messages of a chat need no more than this look.
_LONE_BLOCK: Final = lazy.pattern(
    r"[ \t>]*+(?:[#`~{\[]|(?i:select|insert|update|delete|create|alter|drop|with|truncate|grant|explain|merge)\b)|    |\t"
    r"|panic: |fatal error: |goroutine |thread '|#\d|File \"|Caused by|Suppressed"
)
# The same anywhere in it, each with a sign of its own: one sign is found ten times as fast as several.
_LONE_INSIDE: Final = (("-", "-----BEGIN "), ("(", "Traceback (most"))


def may_be_block(line: str) -> bool:
    """Whether a text of one line may be a block; False is certain."""
    return _LONE_BLOCK.match(line) is not None or _holds_signed(line, _LONE_INSIDE)


def _block_scan(text: str, known: Sequence[Range] | None = None) -> tuple[_Scan, list[Range]]:
    """The text with its blocks and multi-line JSON values masked; and its other JSON values, which are on one line.

    Args:
        known: where its JSON values stand, if that was told by a text of which this is a part.
    """
    scan = _Scan(text)
    if "\n" not in text and not may_be_block(text):
        return scan, list(blocks.json_values(scan.lined) if known is None else known)
    for kind, find in _BLOCKS_BEFORE_JSON:
        scan.take(kind, find(scan.lined))
    values = list(blocks.json_values(scan.lined)) if known is None else scan.unmasked_ranges(known)
    scan.take("json", blocks.whole_lines(scan.lined, values))
    values = scan.unmasked_ranges(values)
    scan.take("inline-json", [(start, end) for start, end in values if "\n" in text[start:end]])
    for kind, find in _BLOCKS:
        scan.take(kind, find(scan.lined))
    return scan, scan.unmasked_ranges(values)


def _holds_any(text: str, words: Iterable[str]) -> bool:
    for word in words:  # noqa: SIM110 - a generator takes twice as long, and every line is asked
        if word in text:
            return True
    return False


def _holds_signed(text: str, words: Iterable[tuple[str, str]]) -> bool:
    """`_holds_any`, of words that each have a sign which is looked for first."""
    for sign, word in words:  # noqa: SIM110 - as there
        if sign in text and word in text:
            return True
    return False


def block_spans(text: str) -> list[Span]:
    """The block spans among `protected_spans`, for a third of the price."""
    return [span for span in uncut_spans(text) if span.kind in BLOCK_KINDS]


def uncut_spans(text: str) -> list[Span]:
    """The blocks, and the JSON values in lines of prose (kind ``inline-json``): nothing is cut inside them."""
    scan, values = _block_scan(text)
    return sorted([*scan.spans, *(Span(start, end, "inline-json") for start, end in values)])


def protected_spans(text: str, json_values: Sequence[Range] | None = None) -> list[Span]:
    """All spans that a lossy stage must keep byte for byte, in order and without overlaps; linear in the text's length.

    `Span.kind` is one of `BLOCK_KINDS` (whole lines, their last newline excluded) or an inline kind: ``inline-code``,
    ``inline-json``, ``inline-sql``, ``url``, ``secret``, ``shell``, ``pull``, ``date``, ``time``, ``number``, ``version``,
    ``email``, ``branch``, ``path``, ``flag``, ``row`` (ticket and spec ids), ``identifier``, ``token``.

    Args:
        json_values: where its JSON values stand, if a text of which this is a part has told; else they are looked for.
    """
    scan = _scan(text, json_values)
    found = inline.tokens(scan.rest)
    return _outermost(scan.spans + found) if scan.spans else found


def _scan(text: str, known: Sequence[Range] | None = None) -> _Scan:
    """The text with all but single tokens masked."""
    scan, values = _block_scan(text, known)
    scan.take("inline-code", inline.inline_code(scan.rest))
    scan.take("inline-json", scan.unmasked_ranges(values))
    for kind, find in _INLINE:
        scan.take(kind, find(scan.rest))
    return scan


def _outermost(spans: list[Span]) -> list[Span]:
    """Spans in order, without those inside another one: a command's quoted argument may contain what an earlier stage found."""
    spans.sort(key=lambda span: (span.start, -span.end))
    out: list[Span] = []
    end = 0
    for span in spans:
        if span.start >= end:
            out.append(span)
            end = span.end
        elif span.end > end:
            out[-1] = out[-1]._replace(end=span.end)
            end = span.end
    return out


def inline_joints(line: str, json_values: Sequence[Range] | None = None) -> list[Span]:
    """The inline spans of one line of prose if one of them could contain the end of a sentence, else none; for an ASCII line,
    without single tokens: no sentence ends in one, since a blank would follow. `json_values` as for `protected_spans`; if one of
    them has several lines, these count as one.
    """
    if (
        json_values
        or _holds_signed(line, _HINTS)
        or (_holds_signed(low := line.lower(), _SECRET_SIGNS) and _holds_any(low, _SECRET_HINTS))
        or (_DAY_STOP.search(line) and (not line.isascii() or may_be_block(line) or _dates(line)))
        or _PROMPT.match(line)
        or (_holds_any(line, "\"'") and _QUOTED.search(line) and inline.SHELL.search(line))
    ):
        return _outermost(_scan(line, json_values).spans) if line.isascii() else protected_spans(line, json_values)
    return []


# What a span that holds the end of a sentence has: a mark of code or JSON, a word of SQL or one before a secret, the stop of a
# day or of a short month; or it is a command behind a prompt or with a quoted argument. Words are found faster than patterns.
_HINTS: Final = (
    *(("`", "`"), ("{", '{"'), ("[", '["'), ("{", "{ "), ("[", "[ "), ("P", "DROP")),
    *(("E", word) for word in ("SELECT", "INSERT", "DELETE", "UPDATE", "CREATE", "ALTER")),
)
_SECRET_SIGNS: Final = (("z", "authorization"), ("k", "key"), ("k", "token"), ("b", "bearer"), ("p", "pass"), ("c", "secret"))
_SECRET_HINTS: Final = ("bearer", "passw", "passp", "token", "secret", "key:", "key=", "key is", 'key"', "key ", "authorization")
_DAY_STOP: Final = lazy.pattern(r"\. ?(?:\d|(?<=\d\. )[^\W\d_])")
_PROMPT: Final = lazy.pattern(r"\s*(?:[$%>]|PS )")
_QUOTED: Final = lazy.pattern(r" [\"'][^\n]*[\"']")

"""Every regular expression of ours on texts that are hostile to it (``tests/support/patterns.py`` derives them).

None may take the square of a text's length, or more: not from one start, and not by searching from each. Time is compared
within a run, a text against one four times as long: 4 is linear, 16 quadratic, 64 cubic. What takes far too long is ended. All
time is processor time: what else the machine does is of no matter, and pytest's own alarm is left alone.
"""

from __future__ import annotations

import re
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, Final

import pytest

from tests.support.cases import each
from tests.support.patterns import Found, Hostile, hostile, patterns

#: Characters of the smaller text, and how much longer the longer one is.
_SIZE: Final = 600
_FACTOR: Final = 4
#: Times as long for the longer text, at most.
_MOST: Final = 9
#: Seconds in which any text is read that is not read again and again: half a microsecond for each character.
_QUICK: Final = 0.0012
_HANGS: Final = 0.06
#: Rounds in which a pattern may show that it does not grow. In one of them somebody else may have had the caches.
_ROUNDS: Final = 5
_ENDS: Final = ("\x00", "\n")

#: They are tried at the beginning of a line, by way of a table.
_TRIED_ONCE: Final = frozenset(
    f"turnfold.compression.{name}"
    for name in (
        *(
            f"shorten.kinds.test_output.{name}"
            for name in ("_FAILED", "_FRAME", "_HEADING", "_PASSED", "_PLACE", "_REASON", "_TOTALS")
        ),
        *("text.data_blocks._OWN_LINES", "text.kinds._COMMIT_BODY", "text.kinds._TRACE_BODY", "text.ties.pieces._SIGN"),
        *("text.dialogue.worked_examples._ELEMENT", "text.dialogue.worked_examples._FENCE", "wire.spans._EXPECTED"),
    )
)
#: They take the square of a text that is short, by what bounds it. Another one needs a bound that its module names.
_ON_SHORT_TEXTS: Final = {
    "an error's text, of which so much is read (SCANNED)": "compression.fit.overflow.TABLE compression.fit.overflow._OF_SOMEBODY",
    "a message of some hundred characters (_LONGEST, _MOST), or a sentence of one": """
        compression.recall.wholes.needed_rows._BETWEEN
        compression.text.dialogue.standing.constraints._BY_CUE
        compression.text.dialogue.echoes._OPENING
        compression.text.dialogue.overall.FORMS
        compression.text.dialogue.overall._OVERALL
        compression.text.dialogue.own_words.ASKS
        compression.text.dialogue.requests._ASKING
        compression.text.dialogue.requests._EMPTY_RUN_ON
        compression.text.dialogue.standings._COUNTED
        compression.text.dialogue.wanted.keyed_blocks._PAIR
        compression.text.dialogue.wanted.places._RUN_ON
        compression.text.dialogue.wanted.row_numbers._NUMBERS
        compression.text.dialogue.wanted.row_numbers._RANGE
        compression.text.dialogue.wanted.sections._ASKED
        compression.text.dialogue.wanted.works._CODE_NAME
    """,
    "a line of a file or above a text, or its blanks (_NAME_LINE, _LONGEST_LEAD, _LONGEST_HEAD)": """
        compression.text.dialogue.handed_files._NAME
        compression.text.dialogue.pasted_pieces._LABEL
        compression.text.dialogue.wanted.code_definitions._DEFINED
        compression.text.dialogue.wanted.keyed_blocks._MARKED
        compression.text.dialogue.wanted.keyed_blocks._NAMING
        compression.text.file_edits._FILE
        compression.text.file_edits._TAGGED
        compression.text.heads._SET
        compression.text.kind_signs.line_marks._MARKS
        compression.wire.reports._CHANGES
    """,
    "the end of a piece, or a piece, which is a sentence or part of one": """
        compression.shorten.summary._FACT
        compression.text.names.amounts._MONEY
        compression.text.names.entities._LINKS_BEHIND
        compression.text.statements._ENDED
        compression.text.ties.correcting._BLANK_LINE
        compression.text.ties.correcting._IN_BRACKETS
        compression.text.ties.framed._NOTE
        compression.text.ties.layout._BLANK_LINE
        compression.text.ties.layout._BOTH
        compression.text.ties.numbered._LAST_WORD
        compression.text.ties.pointing._TURKISH_NOT
        compression.text.ties.run_in_heads._BLANK_LINE
        compression.text.wrapped_lines._SHORT_FORM
    """,
    "what a model wrote as a summary": "compression.summary.claims._QUOTED",
}
_SHORT: Final = frozenset(f"turnfold.{name}" for names in _ON_SHORT_TEXTS.values() for name in names.split())


class _Late(Exception):
    """A text takes too long."""


def _too_late(_: int, __: FrameType | None) -> None:
    raise _Late


@contextmanager
def _alarm() -> Iterator[None]:
    before = signal.signal(signal.SIGPROF, _too_late)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _seconds(read: Callable[[Any], object], text: str | bytes) -> float:
    """Seconds of processor time; without end if it is ended."""
    signal.setitimer(signal.ITIMER_PROF, _HANGS)
    try:
        start = time.thread_time()
        read(text)
        return time.thread_time() - start
    except _Late:
        return float("inf")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _all(pattern: re.Pattern[Any], text: Any) -> None:
    deque(pattern.finditer(text), 0)


def _growth(found: Found, hostile_text: Hostile, end: str) -> float:
    """Times as long as for a text it takes for the longer one; 0 if that is quick anyway.

    Of each text the shortest time counts. It is taken again, in turn, until the two are in proportion or the rounds are over.
    """
    read = found.pattern.match if found.once or found.name in _TRIED_ONCE else partial(_all, found.pattern)
    texts: list[Any] = [hostile_text.text(size, end) for size in (_SIZE, _FACTOR * _SIZE)]
    if isinstance(found.pattern.pattern, bytes):
        texts = [text.encode("utf-8", "surrogatepass") for text in texts]
    small = large = float("inf")
    for _ in range(_ROUNDS):
        large = min(large, _seconds(read, texts[1]))
        if large <= _QUICK or large == float("inf"):
            break
        small = min(small, _seconds(read, texts[0]))
        if large <= _MOST * small:
            break
    return 0.0 if large <= _QUICK else large / max(min(small, _HANGS), 1e-5)


def _worst(found: Found) -> str:
    """How it reads the first text that takes it too long; empty if none does."""
    for text in hostile(found.pattern):
        for end in _ENDS:
            growth = _growth(found, text, end)
            if growth > _MOST:
                return f"{found.name}: {growth:.0f} times as long on {text.front!r}, {text.piece!r} again and again, {end!r}"
    return ""


@pytest.mark.timeout(300)
def test_no_pattern_is_quadratic() -> None:
    with _alarm():
        slow = [worst for found in patterns() if found.name not in _SHORT and (worst := _worst(found))]
    assert not slow, "\n".join(slow)


def test_all_patterns_are_looked_at() -> None:
    assert {found.name for found in patterns()} >= _SHORT | _TRIED_ONCE
    names = {found.name.rpartition(".")[2] for found in patterns()}
    # Held by a module, by a tuple, by a table of one compiled when a text first needs it.
    assert {"_CALLED", "_WAYS", "_LISTS", "FORMS", "_BY_CUE"} <= names
    assert len(patterns()) > 1100


@each(
    "bad",
    [
        r"(a+)+b",
        r"(\w+\s?)*:",
        r"(?:x|xx)+y",
        r"\d+\d+\d+\d+\d+z",
        # From each start to the end of the text.
        r"\w+:",
        # As they were once: a long line of code, a report of tests with a line without end.
        r"[^\s(:={<]+(?=\s*[(:={<])",
        r"(?m)^(?:FAILED|ERROR) \S+::\S[^\n]*|^\S+::\S+ (?:FAILED|ERROR)\b[^\n]*",
        r"<testcase\b[^>]*(?<!/)>\s*<(?:failure|error)\b[^>]{0,200}",
    ],
)
def test_what_is_quadratic_is_found(bad: str) -> None:
    with _alarm():
        assert _worst(Found("bad", re.compile(bad), once=False))


@each(
    "good",
    [
        r"(?<![^\s(:={<])[^\s(:={<]++(?=\s*+[(:={<])",
        r"(?m)^(?=\S++ (?:FAILED|ERROR)\b)[^\s:]\S*?::\S[^\n]*",
        r"<testcase\b[^<>]*+(?<!/)>\s*+<(?:failure|error)\b[^>]{0,200}",
        r"\b\w+:",
    ],
)
def test_what_is_linear_is_not(good: str) -> None:
    with _alarm():
        assert not _worst(Found("good", re.compile(good), once=False))

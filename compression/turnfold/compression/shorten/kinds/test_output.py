"""Test output: names of failed tests, reasons, and totals; passed tests are only counted.

This module has patterns of pytest, unittest, jest, mocha, go test, cargo and TAP. Whether a failure matters is not judged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.shorten.evidence import grade
from turnfold.compression.shorten.kinds.plain import template
from turnfold.compression.shorten.lines import MOST_ROWS, WeighedLine, rows_of, short_lines
from turnfold.compression.text.heads import heads

_BY_TEMPLATE: Final = "template"  # lines of one template are similar
_FAILED: Final = lazy.pattern(
    r"FAILED\b|FAIL\b|ERROR\b|--- FAIL|not ok \d|\s*[✗✘×✕●] |\s*\d+\) |test .* \.\.\. FAILED|.* \.\.\. (?:FAIL|ERROR)"
    r"|(?=\S++ (?:FAILED|ERROR))\S+?::\S"
    r"|[\w\[\]-]+ [FEf]$|\s+Failed:|panicked at|thread '.*' panicked"
)
_PASSED: Final = lazy.pattern(
    r"(?:PASS|PASSED|ok)\b|--- (?:PASS|SKIP)|=== (?:RUN|PAUSE|CONT)|\s*[✓✔√] |.* \.\.\. (?:ok|skipped|OK)|(?=\S++ (?:PASSED"
    r"|SKIPPED|XFAIL))\S+?::\S"
    r"|[\w\[\]-]+ (?:ok|s)$|\S+ [.sxX]+(?: +\[|$)"
)
_REASON: Final = lazy.pattern(
    r"E  |\s*(?:[\w.]+\.)?\w*(?:Error|Exception|Failure)\b|\s*(?:expected|received|got|want|left|right|actual)\b", re.IGNORECASE
)
_COMPARED: Final = lazy.pattern(r"\s*(?:E\s+)?(?:expected|received|got|want|left|right|actual)\b[^\n]{0,40}?[:=]", re.IGNORECASE)
_HEADING: Final = lazy.pattern(r"[_=]{3,} .* [_=]{3,}$|(?:FAIL|ERROR): ")
_PLACE: Final = lazy.pattern(r"\S+\.\w+:\d+: |  File \"")
_TOTALS: Final = lazy.pattern(
    r"=++ (?=.* =+$).*\d (?:passed|failed|error)|Ran \d+ tests?|Tests?:|test result:|Test Suites:|\s*\d+ (?:passing|failing)"
    r"|tests finished|(?:ℹ|#) (?:tests|suites|pass|fail|cancelled|skipped|todo) [1-9]"
)
_PANIC: Final = lazy.pattern(r"^thread '[^'\n]*'.* panicked at \S+:\d+:\d+:$")
_FRAME: Final = lazy.pattern(r"\s+at |\s+\d+: \w|stack backtrace:|note: |---- .* stdout ----")
_NEEDED: Final = lazy.pattern(f"{_TOTALS.pattern}|{_FAILED.pattern}|{_REASON.pattern}|{_HEADING.pattern}", re.IGNORECASE)

#: The rules for a line's beginning; the first match counts.
_RULES: Final = (
    (_TOTALS, WeighedLine("", weight=4, evidence=3)),
    (_FAILED, WeighedLine("", weight=3, evidence=3)),
    (_HEADING, WeighedLine("", weight=1.5, evidence=1)),
    (_PASSED, WeighedLine("", weight=-0.5, scale=0.1, like="passed")),
    (_FRAME, WeighedLine("", weight=-0.6, scale=0.2, like="frame")),
    (_REASON, WeighedLine("", weight=2, evidence=2, like=_BY_TEMPLATE)),
    (_PLACE, WeighedLine("", weight=1.0, like=_BY_TEMPLATE)),
)


def _row(line: str) -> WeighedLine:
    """The line as weighed by the first matching rule; otherwise by failures or outcomes in its words."""
    for pattern, rule in _RULES:
        if pattern.match(line):
            return WeighedLine(
                line, rule.weight, rule.evidence, rule.scale, template(line) if rule.like == _BY_TEMPLATE else rule.like
            )
    return WeighedLine(line, 0.0, evidence=min(grade(line), 1), scale=0.4, like=template(line))


def _with_messages(lines: Sequence[str]) -> list[str]:
    """Lines with a panic's message joined to the line with its location."""
    out: list[str] = []
    for line in lines:
        if out and line.strip() and _PANIC.search(out[-1]) and "\n" not in out[-1]:
            out[-1] += "\n" + line
        else:
            out.append(line)
    return out


def rows(text: str, words: frozenset[str]) -> list[WeighedLine]:
    """Every line; failures and totals before reasons, reasons before places, passes last."""
    lines = _with_messages(short_lines(text))
    small = len(lines) <= MOST_ROWS
    pairs = {i: _partner(lines, i) for i in range(len(lines))} if small else {}
    above = heads(lines, headings=False) if small else {}

    def row(i: int) -> WeighedLine:
        head = (above[i],) if i in above else ()
        return _row(lines[i])._replace(needs=(*pairs.get(i, ()), *head))

    return rows_of(lines, words, (i for i, line in enumerate(lines) if _NEEDED.match(line)), row)


def _partner(lines: Sequence[str], i: int) -> tuple[int, ...]:
    """The distance between "expected" and "received", one line at most: either means nothing alone."""
    if not _COMPARED.match(lines[i]):
        return ()
    return tuple(d for d in (1, -1) if 0 <= i - d < len(lines) and _COMPARED.match(lines[i - d]))

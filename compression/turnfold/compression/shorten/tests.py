"""Test output: names of what failed, why, and the totals; what passed is counted.

Lives here: marks of pytest, unittest, jest, mocha, go test, cargo and TAP. Must not: judging whether a failure matters.
"""

from __future__ import annotations

import re
from typing import Final

from turnfold.compression.shorten.evidence import grades
from turnfold.compression.shorten.lines import Row, short_lines
from turnfold.compression.shorten.plain import template

_FAILED: Final = re.compile(
    r"FAILED\b|FAIL\b|ERROR\b|--- FAIL|not ok \d|\s*[✗✘×✕●] |\s*\d+\) |test .* \.\.\. FAILED|.* \.\.\. (?:FAIL|ERROR)|\S+::\S+ (?:FAILED|ERROR)"
    r"|[\w\[\]-]+ [FEf]$|\s+Failed:|panicked at|thread '.*' panicked"
)
_PASSED: Final = re.compile(
    r"(?:PASS|PASSED|ok)\b|--- (?:PASS|SKIP)|=== (?:RUN|PAUSE|CONT)|\s*[✓✔√] |.* \.\.\. (?:ok|skipped|OK)|\S+::\S+ (?:PASSED|SKIPPED|XFAIL)"
    r"|[\w\[\]-]+ (?:ok|s)$|\S+ [.sxX]+(?: +\[|$)"
)
_REASON: Final = re.compile(
    r"E  |\s*(?:[\w.]+\.)?\w*(?:Error|Exception|Failure)\b|\s*(?:expected|received|got|want|left|right|actual)\b", re.IGNORECASE
)
_HEADING: Final = re.compile(r"[_=]{3,} .* [_=]{3,}$|(?:FAIL|ERROR): ")
_PLACE: Final = re.compile(r"\S+\.\w+:\d+: |  File \"")
_TOTALS: Final = re.compile(
    r"=+ .*\d+ (?:passed|failed|error).* =+$|Ran \d+ tests?|Tests?:|test result:|Test Suites:|\s*\d+ (?:passing|failing)|tests finished"
)


def _row(line: str, words: int) -> Row:
    if not line.strip():
        return Row(line, weight=0)
    if _TOTALS.match(line):
        return Row(line, weight=4, evidence=3)
    if _FAILED.match(line):
        return Row(line, weight=3, evidence=3)
    if _HEADING.match(line):
        return Row(line, weight=1.5, evidence=1)
    if _PASSED.match(line):
        return Row(line, weight=-0.5, scale=0.1, like="passed", unmarked=True)
    if _REASON.match(line):
        return Row(line, weight=2, evidence=2, like=template(line))
    if _PLACE.match(line):
        return Row(line, weight=1.0, like=template(line))
    return Row(line, weight=0, evidence=min(words, 1), like=template(line))


def rows(text: str) -> list[Row]:
    """Every line; failures and totals before reasons, reasons before places, passes last."""
    lines = short_lines(text)
    return [_row(line, words) for line, words in zip(lines, grades(lines), strict=True)]

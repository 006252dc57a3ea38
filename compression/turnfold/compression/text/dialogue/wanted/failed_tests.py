"""Reports of tests: "which tests failed?", and the lines that name them.

This module tells whether a message asks for the failed tests, and finds where a report names them. Which report is meant, and
what is quoted, is decided in ``recall.wholes.parts.failed_tests``. Reports are shortened in ``shorten.kinds.test_output``; single
words are in ``lexicon/failures.txt``.
"""

from __future__ import annotations

import re
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text import words
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.lexicon import lexicon

_LONGEST: Final = 160  # characters of a message that asks for a list
_LONGEST_LINE: Final = 240  # characters of a line to quote; reasons may follow for pages
_TABLE: Final = lexicon("failures")
_PARTS: Final = ("fail", "test", "list")
_RUN_ON: Final = {part: tuple(sorted(word for word in _TABLE[part] if not words.words(word))) for part in _PARTS}
#: How programs name a failed test.
_WAYS: Final = tuple(
    lazy.pattern(pattern, re.MULTILINE)
    for pattern in (
        r"^(?:FAILED|ERROR) \S+::\S[^\n]*|^(?=\S++ (?:FAILED|ERROR)\b)[^\s:]\S*?::\S[^\n]*",  # pytest
        r"^_{3,} \S[^\n]* _{3,}$",
        r"^[ \t]*--- FAIL: \S[^\n]*",  # go
        r"^test \S+ \.\.\. FAILED$",  # cargo
        r"<testcase\b[^<>]*+(?<!/)>\s*+<(?:failure|error)\b[^>]{0,200}",  # JUnit's XML
        r"^(?:FAIL|ERROR): \S+ \([^\n]*",  # unittest
        r"^[ \t]*FAIL[ \t]+\S[^\n]*",  # jest, vitest
        r"^[ \t]*● \S[^\n]*",
        r"^[ \t]*[✗✘✕×] \S[^\n]*",
        r"^not ok \d[^\n]*",  # TAP
        r"^\S+ > \S[^\n]* FAILED$",  # gradle
        r"^rspec \./\S[^\n]*",
        r"^[ \t]*Failed \S+ \[[^\n]*",  # dotnet
    )
)


def asks_for_failed_tests(message: str) -> bool:
    """Whether a message asks which tests failed."""
    folded = words.fold(message)
    if len(folded) > _LONGEST:
        return False
    said = frozenset(words.words(folded))
    return all(not said.isdisjoint(_TABLE[part]) or any(word in folded for word in _RUN_ON[part]) for part in _PARTS)


def failed_tests(text: str) -> dict[int, list[Range]]:
    """The places where a text names failed tests, by notation, without duplicates."""
    found: dict[int, list[Range]] = {}
    for number, way in enumerate(_WAYS):
        places = {one[0].strip(): (one.start(), min(one.end(), one.start() + _LONGEST_LINE)) for one in way.finditer(text)}
        if places:
            found[number] = sorted(places.values())
    return found

"""Patterns that wait for their first use, and repeats that the first releases of Python 3.11 get wrong."""

from __future__ import annotations

import re

import pytest

from tests.support.cases import each
from tests.support.natural_texts import natural_texts
from tests.support.odd_texts import text
from tests.support.patterns import expressions
from turnfold.compression import lazy


def test_a_pattern_is_compiled_at_its_first_use() -> None:
    faulty = lazy.pattern("(")
    with pytest.raises(re.error, match="missing"):
        faulty.search("")
    with pytest.raises(AttributeError, match="scan"):
        _ = lazy.pattern("a").scan  # type: ignore[attr-defined]


def test_it_is_what_re_makes_of_it() -> None:
    late, now = (compiled(r"(?P<one>a+)|b", re.IGNORECASE) for compiled in (lazy.pattern, re.compile))
    assert [m.span() for m in late.finditer("xAaB")] == [m.span() for m in now.finditer("xAaB")]
    assert (late.groups, dict(late.groupindex), late.flags) == (now.groups, dict(now.groupindex), now.flags)
    assert late.sub("-", "xAaB") == now.sub("-", "xAaB")
    assert re.compile(rf"{late.pattern}c").pattern == "(?P<one>a+)|bc"


# (expression, text, span): the first fails up to Python 3.11.4.
POSSESSIVE = [
    (r"(?:\w+\s)*+\d", "ab cd 1", (0, 7)),
    (r"(?:(?:ab?)+c)++d", "abacabcd", (0, 8)),
    (r"((?:\w+,)*+)\w", "a,b,c", (0, 5)),
    (r"(?:a|b(?=(?:\d+\s)*+x))++", "ab1 2 x", (0, 2)),
]


@each(("expression", "text", "span"), POSSESSIVE)
def test_possessive_repeats_of_groups_match(expression: str, text: str, span: tuple[int, int]) -> None:
    for compiled in (lazy.pattern, lazy.compile_without_possessive):
        found = compiled(expression).match(text)
        assert found is not None
        assert found.span() == span


def test_a_possessive_repeat_gives_nothing_back() -> None:
    for compiled in (lazy.pattern, lazy.compile_without_possessive):
        assert compiled(r"(?:ab?)*+ab").match("abab") is None


#: The others are the same to both.
_POSSESSIVE_REPEAT = re.compile(r"[*+?}]\+")


def test_every_pattern_matches_the_same_without_them() -> None:
    texts = [text(1), *[*natural_texts().values()][::90]]
    for (expression, flags), name in expressions().items():
        if _POSSESSIVE_REPEAT.search(expression):
            other, usual = lazy.compile_without_possessive(expression, flags), lazy.pattern(expression, flags)
            for said in texts:
                assert [m.span() for m in other.finditer(said)] == [m.span() for m in usual.finditer(said)], name

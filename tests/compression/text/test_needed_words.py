"""Words without which a form can't be found, which are declared beside it: whether each form needs one of its own.

Walks the parsed form with the word that is being spelled. What is not a letter of ASCII ends a word; a class that may be a letter
spells an unknown one; what looks around is left out. A walk ends where it has spelled a needed word, or needs a letter beyond
ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from re import _parser  # type: ignore[attr-defined]  # there is no public one
from typing import Any, Final

from turnfold.compression.text.dialogue import overall

_UNKNOWN: Final = "?"
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


def _ended(spelled: Iterable[str], needed: frozenset[str]) -> set[str]:
    return {""} if set(spelled) - needed else set()


def _spell(sign: str, spelled: set[str], needed: frozenset[str]) -> set[str]:
    if sign in _LETTERS:
        return {_UNKNOWN if word == _UNKNOWN else word + sign for word in spelled}
    return set() if sign.isalpha() else _ended(spelled, needed)


def _any_of(signs: Any, spelled: set[str], needed: frozenset[str]) -> set[str]:
    kinds = {str(kind) for kind, _ in signs}
    if kinds == {"LITERAL"}:
        return set().union(*(_spell(chr(code), spelled, needed) for _, code in signs))
    if kinds == {"LITERAL", "CATEGORY"} and all(isinstance(code, int) or "SPACE" in str(code) for _, code in signs):
        return _ended(spelled, needed)
    return _ended(spelled, needed) | ({_UNKNOWN} if spelled else set())


def _walk(parts: Any, spelled: set[str], needed: frozenset[str]) -> set[str]:
    """The words being spelled behind the parts, on the ways that need none of the words."""
    for operation, value in parts:
        name = str(operation)
        if name == "LITERAL":
            spelled = _spell(chr(value), spelled, needed)
        elif name in ("IN", "ANY", "NOT_LITERAL"):
            spelled = _any_of(value if name == "IN" else [], spelled, needed)
        elif name == "BRANCH":
            spelled = set().union(*(_walk(one, spelled, needed) for one in value[1]))
        elif name == "SUBPATTERN":
            spelled = _walk(value[3], spelled, needed)
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, most, repeated = value
            once = _walk(repeated, spelled, needed)
            spelled = once | (_walk(repeated, once, needed) if most > 1 else set()) | (set() if least else spelled)
        elif name == "AT" and str(value) in ("AT_BOUNDARY", "AT_END"):
            spelled = _ended(spelled, needed)
        elif name == "ATOMIC_GROUP":
            spelled = _walk(value, spelled, needed)
        else:
            assert name in ("ASSERT", "ASSERT_NOT", "AT"), name
    return spelled


def test_no_form_of_all_that_was_said_is_found_without_its_words() -> None:
    assert not [form for needed, form in overall.FORMS if _walk(_parser.parse(form.pattern), {""}, needed)]


def test_the_walk_sees_what_needs_no_word() -> None:
    def needs(form: str, *words: str) -> bool:
        return not _walk(_parser.parse(form), {""}, frozenset(words))

    assert needs(r"\ball (?:of )?it\b", "all")
    assert needs(r"\b(?:what|which)\b", "what", "which")
    assert not needs(r"\b(?:what|which)\b", "what")
    assert not needs(r"\b(?:all )?it", "all")
    assert not needs(r"\ball\w* it", "all")
    assert needs(r"qué ", "que")
    assert re.search(r"\ball\w* it", "allow it")

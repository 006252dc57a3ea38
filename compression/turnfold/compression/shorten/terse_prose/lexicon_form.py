"""The form of a user's lexicon: its fields and their types.

This module refuses values of the wrong type and names the field. What a rule means is up to ``rules``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from turnfold.compression.errors import InvalidInput


def _is_phrases(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item.strip() for item in value)


def _is_replacements(value: object) -> bool:
    return isinstance(value, Mapping) and all(phrase.strip() and isinstance(new, str) for phrase, new in value.items())


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_switch(value: object) -> bool:
    return isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


Check = tuple[Callable[[object], bool], str]
_PHRASES: Final[Check] = (_is_phrases, "must be a list of texts, none of them blank")
_TEXT: Final[Check] = (_is_text, "must be a text")
_SWITCH: Final[Check] = (_is_switch, "must be true or false")
_RULE: Final[Mapping[str, Check]] = {
    **dict.fromkeys(("drop", "keep", "after", "before", "then", "not_after", "not_before"), _PHRASES),
    **dict.fromkeys(("stage", "level", "at"), _TEXT),
    **dict.fromkeys(("comma", "needs_comma", "idiom"), _SWITCH),
    "replace": (_is_replacements, "must be a table of texts by phrase, no phrase blank"),
    "tail": (_is_number, "must be a whole number from 0"),
}


def check_form(data: Mapping[str, Any]) -> None:
    """Check the types of all values of a lexicon; unknown fields are not looked at.

    Raises:
        InvalidInput: a value has another type than its field; names the field.
    """
    _check(data, {"language": _TEXT, "remove": _PHRASES}, "lexicon")
    sets, rules = data.get("sets", {}), data.get("rule", [])
    if not isinstance(sets, Mapping):
        raise InvalidInput("lexicon.sets", "must be a table")
    _check(sets, dict.fromkeys(sets, _PHRASES), "lexicon.sets")
    if not isinstance(rules, list) or not all(isinstance(rule, Mapping) for rule in rules):
        raise InvalidInput("lexicon.rule", "must be a list of tables: write [[rule]]")
    for number, rule in enumerate(rules):
        _check(rule, _RULE, f"lexicon.rule[{number}]")


def _check(table: Mapping[str, Any], fields: Mapping[str, Check], where: str) -> None:
    for name, (holds, problem) in fields.items():
        if name in table and not holds(table[name]):
            raise InvalidInput(f"{where}.{name}", problem)


def check_circles(sets: Mapping[str, list[str]]) -> None:
    """Check that no set of words contains itself.

    Raises:
        InvalidInput: one does; names it.
    """
    for name in sets:
        reached, open_ = set[str](), [name]
        while open_:
            for word in sets.get(open_.pop(), []):
                if word == f"@{name}":
                    raise InvalidInput(f"lexicon.sets.{name}", "contains itself")
                if word.startswith("@") and word not in reached:
                    reached.add(word)
                    open_.append(word[1:])

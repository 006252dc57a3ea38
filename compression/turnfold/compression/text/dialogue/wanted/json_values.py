"""JSON that a chat answered with, and requests to change it: "add a field to the object", "change the third price".

This module finds such a value in a text, and the words of a message that say which one is meant. The choice is made in
``recall.wholes.json_values``; code that is asked for by its name is in ``works``.

Somebody who has a program read the answers names no work: what is to be changed is whatever has these keys.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import orjson

from turnfold.compression.text import words
from turnfold.compression.text.blocks import Range, fences
from turnfold.compression.text.dialogue.wanted.picks import PLACES
from turnfold.compression.text.lexicon import lexicon

_TABLES: Final = lexicon("works")
_OBJECTS: Final = _TABLES["objects"]
_VERBS: Final = _TABLES["changes"] | _TABLES["shows"] | _TABLES["again"] | _TABLES["edits of objects"]
_KNOWN: Final = _TABLES["definite"]
_PARTS: Final = _TABLES["parts of objects"]
_LONGEST: Final = 200  # characters of a message that wants a value changed
_SHORTEST: Final = 30  # characters of a value that somebody changes
_FIRST_WORDS: Final = 4  # first words of a message, which say what to do
_OPENING: Final = ("{", "[")


class ValueRequest(NamedTuple):
    """A message that wants a JSON value repeated or changed.

    Attributes:
        is_named: whether it mentions such a value.
        telling: its words that may be keys or values of it.
    """

    is_named: bool
    telling: frozenset[str]


def value_request(folded: str) -> ValueRequest | None:
    """The description of the wanted value in a short case-folded message; None if it wants none."""
    said = words.words(folded) if len(folded) <= _LONGEST else []
    if _VERBS.isdisjoint(said[:_FIRST_WORDS]):
        return None
    is_named = any(word in _OBJECTS and not _KNOWN.isdisjoint(said[max(0, at - 2) : at]) for at, word in enumerate(said))
    content = words.content(said, words.language(set(said)))
    empty = _VERBS | _OBJECTS | _KNOWN | PLACES.keys() | (_PARTS if is_named else frozenset())
    return ValueRequest(is_named, frozenset(content) - empty)


class JsonValue(NamedTuple):
    """The range of a JSON value in a text, and its top-level keys."""

    place: Range
    keys: frozenset[str]


def json_value(text: str) -> JsonValue | None:
    """The JSON value in a text: the whole text, or its first fence."""
    bare = text.strip()
    if not bare.startswith(_OPENING):
        place = next(fences(f"\n{text}"), None) if "```" in text else None
        return _read(text[slice(*place)].strip().strip("`~").partition("\n")[2].strip(), place) if place else None
    start = text.index(bare[0])
    return _read(bare, (start, start + len(bare)))


def _read(text: str, place: Range) -> JsonValue | None:
    if len(text) < _SHORTEST or not text.startswith(_OPENING):
        return None
    try:
        value = orjson.loads(text)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        return None
    return JsonValue(place, frozenset(value) if isinstance(value, dict) else frozenset())

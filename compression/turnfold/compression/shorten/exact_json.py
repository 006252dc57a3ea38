"""JSON that survives reading and writing without any change of value.

Numbers are kept as written and duplicate keys rejected. Nothing is shortened here.
"""

from __future__ import annotations

import json
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, Final

from turnfold.compression import lazy

#: Characters that end a line somewhere, or that a table's line may not contain.
_LINE_ENDS: Final = lazy.pattern("[\\x00-\\x1f\\x7f\\x85\\u2028\\u2029]")


class Number(str):
    """A number as written: `1.10` stays `1.10`."""

    __slots__ = ()


class Inexact(ValueError):
    """The text is not JSON, or could not be restored with the same values."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise Inexact("a key occurs twice")
    return made


def _constant(name: str) -> Any:
    raise Inexact(f"{name} is no JSON")


def read(text: str) -> Any:
    """The JSON value, with numbers as written.

    Raises:
        Inexact: it is not JSON, has a duplicate key, or is nested too deeply.
    """
    try:
        return json.loads(text, parse_float=Number, parse_int=Number, parse_constant=_constant, object_pairs_hook=_pairs)
    except (json.JSONDecodeError, RecursionError) as exc:
        raise Inexact(str(exc)) from exc


def write(value: Any) -> str:
    """Compact JSON, with numbers as written."""
    if isinstance(value, Number):
        return str.__str__(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{write_string(key)}:{write(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(write(inner) for inner in value) + "]"
    return write_string(value) if isinstance(value, str) else json.dumps(value)


def write_string(text: str) -> str:
    """A JSON string with only the necessary escapes, unless it contains line separators."""
    plain = encode_basestring(text)  # what `json.dumps` calls, which would make an encoder for each string
    if text.isascii() and text.isprintable():  # most are, and hold none of these
        return plain
    return plain if encodable(plain) and not _LINE_ENDS.search(plain) else encode_basestring_ascii(text)


def encodable(text: str) -> bool:
    """Whether the text has no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

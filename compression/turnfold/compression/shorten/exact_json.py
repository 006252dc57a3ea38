"""JSON that is read and written again without a value changing.

Lives here: numbers kept as they were written, keys that occur twice refused. Does not belong here: shortening.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

#: Characters that end a line somewhere, or that a line of a table may not hold.
_LINE_ENDS: Final = re.compile("[\\x00-\\x1f\\x7f\\x85\\u2028\\u2029]")


class Number(str):
    """A number as it was written: `1.10` stays `1.10`."""

    __slots__ = ()


class Inexact(ValueError):
    """The text is no JSON, or none that would come back with the same values."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise Inexact("a key occurs twice")
    return made


def _constant(name: str) -> Any:
    raise Inexact(f"{name} is no JSON")


def read(text: str) -> Any:
    """JSON with its numbers as written.

    Raises:
        Inexact: no JSON, a key twice, too deep.
    """
    try:
        return json.loads(text, parse_float=Number, parse_int=Number, parse_constant=_constant, object_pairs_hook=_pairs)
    except (json.JSONDecodeError, RecursionError) as exc:
        raise Inexact(str(exc)) from exc


def write(value: Any) -> str:
    """Compact JSON; numbers as they were written."""
    if isinstance(value, Number):
        return str.__str__(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{write_string(key)}:{write(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(write(inner) for inner in value) + "]"
    return write_string(value) if isinstance(value, str) else json.dumps(value)


def write_string(text: str) -> str:
    """A JSON string with few escapes: none but what must be, unless it holds what ends a line somewhere."""
    plain = json.dumps(text, ensure_ascii=False)
    return plain if encodable(plain) and not _LINE_ENDS.search(plain) else json.dumps(text)


def encodable(text: str) -> bool:
    """Whether the text has no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

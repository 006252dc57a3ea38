"""JSON scanning that records the positions of values.

This module gives the members and elements of a JSON text, each with its span, and the span of a path; and it says whether a text
is JSON. It gives no meaning to any key.

The scanner is the standard library's own (C where there is one), so what it accepts is what ``json.loads`` accepts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]  # the C scanner where there is one; undocumented
from typing import Any, Final

from turnfold.compression import lazy
from turnfold.compression.errors import FoldRejected

_SPACE: Final = lazy.pattern(r"[ \t\n\r]*")
_COMMA: Final = lazy.pattern(r"[ \t\n\r]*(,?)[ \t\n\r]*")
_EXPECTED: Final = {mark: lazy.pattern(rf"[ \t\n\r]*{re.escape(mark)}[ \t\n\r]*") for mark in "{}[]:,"}
_SCAN: Final = json.JSONDecoder().scan_once  # type: ignore[attr-defined]

#: A scanned value, its start and its end.
Value = tuple[Any, int, int]


def is_json(text: str) -> bool:
    """Whether a text is a JSON value by the standard library's rules."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def array(text: str, at: int, *, after: bool = False) -> tuple[list[Value], int]:
    """The elements of an array, and its end; only the remaining ones if one ends `after` `at`."""
    found = list(elements(text, at, after=after))
    last = found[-1][2] if found else at if after else skip(text, at, "[")
    return found, skip(text, _past_comma(text, last, "]") if found or after else last, "]")


def skip(text: str, at: int, expected: str = "") -> int:
    """Skip white space; then `expected`, if given, and the white space after it. Returns the new position."""
    found = (_EXPECTED[expected] if expected else _SPACE).match(text, at)
    if found is None:
        raise ValueError(f"expected {expected} at {at}")
    return found.end()


def value(_key: str, text: str, at: int) -> tuple[Any, int]:
    """The value that begins at `at`, and its end."""
    try:
        return _SCAN(text, at)  # type: ignore[no-any-return]
    except StopIteration as exc:  # generators must not raise it
        raise ValueError(f"expected a value at {at}") from exc


def members(
    text: str, at: int, *, after: bool = False, scan: Callable[[str, str, int], tuple[Any, int]] = value
) -> Iterator[tuple[str, Value]]:
    """The members of the object that begins at `at`: keys, and values with spans. Only the remaining ones if one ends `after`
    `at`.
    """
    at = _past_comma(text, at, "}") if after else skip(text, at, "{")
    while text[at : at + 1] != "}":
        if text[at : at + 1] != '"':
            raise ValueError(f"expected a key at {at}")
        key, at = scanstring(text, at + 1, True)
        at = skip(text, at, ":")
        found, end = scan(key, text, at)
        yield key, (found, at, end)
        at = _past_comma(text, end, "}")


def elements(text: str, at: int, *, after: bool = False) -> Iterator[Value]:
    """The elements of the array that begins at `at`, with spans. Only the remaining ones if one ends `after` `at`."""
    at = _past_comma(text, at, "]") if after else skip(text, at, "[")
    while text[at : at + 1] != "]":
        found, end = value("", text, at)
        yield found, at, end
        at = _past_comma(text, end, "]")


def _past_comma(text: str, at: int, closing: str) -> int:
    """The position after a member's comma, or the closing bracket."""
    found = _COMMA.match(text, at)
    assert found is not None  # noqa: S101 - it matches the empty string
    comma, at = found[1] == ",", found.end()
    if (text[at : at + 1] == closing) is comma:
        raise ValueError(f"expected {'more' if comma else f', or {closing}'} at {at}")
    return at


def unique(known: Iterable[str], named: Iterator[tuple[str, Value]]) -> Iterator[tuple[str, Value]]:
    """Yield the members unchanged. Raises ValueError for a duplicate or already known key."""
    seen = set(known)
    for key, found in named:
        if key in seen:
            raise ValueError(f"key {key!r} stands twice")
        seen.add(key)
        yield key, found


def value_span(raw: str, path: tuple[str | int, ...]) -> tuple[int, int]:
    """The range of the value at `path` in a message's JSON text. For a duplicate key the last one counts, as in parsers.

    Raises:
        FoldRejected: "unparsable" if there is no such path.
    """
    start, end = 0, len(raw)
    for step in path:
        found: Value | None = None
        if isinstance(step, str):
            for key, member in members(raw, start):
                found = member if key == step else found
        else:
            found = next((v for i, v in enumerate(elements(raw, start)) if i == step), None)
        if found is None:
            raise FoldRejected("unparsable")
        start, end = found[1], found[2]
    return start, end

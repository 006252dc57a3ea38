"""A text that a tool returns inside JSON: ``{"result": "..."}``.

This module recognises such JSON and the frame around the text. Each is shortened by its own kind.

Google's ADK and many MCP servers put what a tool printed or read into one string. It is that text which has a kind, not the JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from turnfold.compression.shorten.kinds.json_text import full, parse

_LEAST: Final = 320  # characters of a text; a shorter one is a value among others
_SHARE: Final = 0.6  # share of the JSON that the text must have
_MOST_AROUND: Final = 400  # characters around the text
_DEEPEST: Final = 6
_MARK: Final = "\0"


class WrappedText(NamedTuple):
    """A text, with what precedes and follows it in the loose notation of JSON."""

    before: str
    text: str
    behind: str


def wrapped_text(text: str) -> WrappedText | None:
    """The text that makes up most of some JSON; None if no string does, or if that string is JSON itself."""
    try:
        value = parse(text)
    except ValueError:
        return None
    inner = max(_strings(value, _DEEPEST), key=len, default="")
    if len(inner) < max(_LEAST, int(_SHARE * len(text))) or inner.lstrip()[:1] in ("{", "[") or _MARK in inner:
        return None
    try:
        around = full(_marked(value, inner)).split(_MARK)
    except RecursionError:
        return None
    return WrappedText(around[0], inner, around[1]) if len(around) == 2 and sum(map(len, around)) <= _MOST_AROUND else None


def _strings(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner, depth - 1)


def _marked(value: Any, inner: str) -> Any:
    """The value with a placeholder for the text."""
    if isinstance(value, dict):
        return {key: _marked(one, inner) for key, one in value.items()}
    if isinstance(value, list):
        return [_marked(one, inner) for one in value]
    return _MARK if value == inner else value

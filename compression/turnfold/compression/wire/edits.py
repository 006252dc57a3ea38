"""Edits of a text, and how to undo them.

This module replaces ranges of a text, inverts such edits, and writes a string as JSON. It knows nothing of messages.

A fold is a list of edits on the request's own text. What no edit touches keeps its bytes, odd white space and numbers included,
and the inverse edits restore the original byte for byte (law 3).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

import orjson

from turnfold.compression import lazy


class Edit(NamedTuple):
    """Replace ``text[start:end]`` by `new`; offsets are characters of the text before any edit.

    Insertions at one place are applied in the given order.
    """

    start: int
    end: int
    new: str


_PLACE: Final = itemgetter(0, 1)


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made. Edits must not overlap.

    Raises:
        ValueError: two edits overlap, or one lies outside the text.
    """
    out: list[str] = []
    at = 0
    for edit in sorted(edits, key=_PLACE):
        if not at <= edit.start <= edit.end <= len(text):
            raise ValueError(f"edit {edit.start}..{edit.end} overlaps another or leaves the text")
        out += (text[at : edit.start], edit.new)
        at = edit.end
    out.append(text[at:])
    return "".join(out)


def invert(text: str, edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """The edits that turn ``apply(text, edits)`` back into `text`."""
    out: list[Edit] = []
    shift = 0
    for edit in sorted(edits, key=_PLACE):
        start = edit.start + shift
        out.append(Edit(start, start + len(edit.new), text[edit.start : edit.end]))
        shift += len(edit.new) - (edit.end - edit.start)
    return tuple(out)


def shift(edits: Sequence[Edit], by: int) -> list[Edit]:
    """The same edits for a text that begins `by` characters earlier."""
    return [Edit(e.start + by, e.end + by, e.new) for e in edits]


_SURROGATE = lazy.pattern("[\ud800-\udfff]")


def json_string(text: str) -> str:
    """A text as a JSON string in as few bytes as UTF-8 allows; a lone surrogate, which UTF-8 cannot encode, is escaped."""
    try:
        return orjson.dumps(text).decode("utf-8")  # what json.dumps writes, ten times as fast
    except TypeError:  # a lone surrogate
        return _SURROGATE.sub(lambda m: f"\\u{ord(m[0]):04x}", json.dumps(text, ensure_ascii=False))

"""The parts of a message's content without cache marks, and the lifetimes that their marks ask for.

Both are read whatever a format calls its marks. The form of a whole message is up to each format; marks that move to other
messages are in ``cache_marks``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

import orjson

_MINUTES: Final = 300
_HOUR: Final = 3600


class BarePart(NamedTuple):
    """A part of a message.

    Attributes:
        written: the bytes that it adds after the previous part.
        life: lifetime of the prefix up to here requested by its mark, as in `lifetime`; None: it has no mark.
    """

    written: bytes
    life: int | None


def lifetime(marks: str) -> int:
    """Seconds for which marks, given as JSON, request a prefix to be cached (Anthropic, "Prompt caching"); 0 if unspecified."""
    return 0 if '"cache_control"' not in marks else _HOUR if '"1h"' in marks else _MINUTES


def bare_parts(opening: bytes, content: object, bare: Sequence[object], names: Collection[str]) -> Iterator[BarePart]:
    """The parts of a content: a list of them, or a text as the only one.

    Args:
        opening: the bytes before the first one.
        bare: the same parts without marks.
        names: the names of marks.
    """
    for part, written in zip(content if isinstance(content, list) else [content], bare, strict=False):
        marks = {name: part[name] for name in names if part.get(name)} if isinstance(part, dict) else None
        yield BarePart(opening + orjson.dumps(written), lifetime(orjson.dumps(marks).decode("utf-8")) if marks else None)
        opening = b","

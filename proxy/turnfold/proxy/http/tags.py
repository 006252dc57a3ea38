"""``x-turnfold-tag``: the names under which a client wants a request counted.

This module reads the header. How many tags get sums of their own is decided in ``learning.places``.
"""

from __future__ import annotations

from typing import Final

from turnfold.proxy.http.refusals import RawHeaders, Refused
from turnfold.proxy.http.shapes import looks_like_a_key

_NAME: Final = "x-turnfold-tag"
_MOST: Final = 3
_LONGEST: Final = 64


def tags_of(headers: RawHeaders) -> tuple[str, ...]:
    """The tags, each once, in the client's order. The header may be repeated, and hold several with commas between them.

    Raises:
        Refused: 400; a tag is too long, not printable or looks like a key, or there are too many.
    """
    parts = [part.strip() for key, value in headers if key == _NAME.encode() for part in value.split(b",")]
    tags = tuple(dict.fromkeys(_tag(part) for part in parts if part))
    if len(tags) > _MOST:
        raise _senseless(f"must name at most {_MOST} tags")
    return tags


def _tag(part: bytes) -> str:
    try:
        tag = part.decode("utf-8").strip()
    except UnicodeDecodeError:
        raise _senseless("must be UTF-8") from None
    if not 0 < len(tag) <= _LONGEST or not tag.isprintable():
        raise _senseless(f"must contain tags of 1 to {_LONGEST} printable characters")
    if looks_like_a_key(tag):
        raise _senseless("contains what looks like a key; tags are stored in receipts")
    return tag


def _senseless(problem: str) -> Refused:
    return Refused(400, "invalid_header", f"The header {_NAME} {problem}.", _NAME)

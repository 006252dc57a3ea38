"""Recognising dot segments in paths, and providers' keys.

The server, the client and the bodies that name paths all use these checks. They refuse nothing themselves.
"""

from __future__ import annotations

import re
from typing import Final

#: A segment of one or two dots, plain or encoded, between characters that some server may treat as separators.
_DOTS: Final = re.compile(r"(?:^|[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?:[/\\;]|%2f|%5c|%3b|$)", re.IGNORECASE)
_KEY: Final = re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|AIza)[-_][\w-]{8}|\beyJ[\w-]{6}|\bBearer\s", re.IGNORECASE)


def has_dot_segments(path: str) -> bool:
    """Whether a server on the way may resolve a path to another one."""
    return _DOTS.search(path) is not None


def looks_like_a_key(text: str) -> bool:
    """Whether a text may contain a key, and so must not be stored or logged."""
    return _KEY.search(text) is not None

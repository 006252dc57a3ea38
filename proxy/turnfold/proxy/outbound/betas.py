"""Anthropic's beta header.

This module names the features that a forwarded request uses in addition to those that its client named. Each wire format reads
them from a body.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

_BETA: Final = b"anthropic-beta"


def with_betas(headers: Sequence[tuple[bytes, bytes]], names: Iterable[str]) -> list[tuple[bytes, bytes]]:
    """The headers with these features named; the client's own values stay, in their order, and none is named twice."""
    named = {name.strip() for key, value in headers if key == _BETA for name in value.split(b",")}
    missing = b",".join(name for name in map(str.encode, names) if name not in named)
    out = list(headers)
    if not missing:
        return out
    last = max((i for i, (key, _) in enumerate(out) if key == _BETA), default=None)
    if last is None:
        return [*out, (_BETA, missing)]
    value = out[last][1]
    out[last] = (_BETA, value + b"," + missing if value.strip() else missing)
    return out

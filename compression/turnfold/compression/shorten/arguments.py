"""Arguments of old tool calls: valid JSON with long strings cut to their beginning and a count.

Lives here: the lossy form of a call's `arguments`. Does not belong here: the call's name and id, results.
"""

from __future__ import annotations

from typing import Any, Final

from turnfold.compression.shorten.exact_json import Inexact, Number, read, write
from turnfold.compression.shorten.lines import Count

_HEADS: Final = (2000, 1000, 600, 400, 250, 160, 100, 60)  # characters of a string that stay, mildest first


def _cut(text: str, head: int) -> str:
    if len(text) <= head + 40:
        return text
    at = text.rfind("\n", head // 2, head)
    kept = text[: at if at > 0 else head]
    return f"{kept}… [{len(text) - len(kept)} more characters of this call are left out here]"


def _shrunk(value: Any, head: int) -> Any:
    """The value with its strings cut; keys and everything else are unchanged."""
    if isinstance(value, str) and not isinstance(value, Number):
        return _cut(value, head)
    if isinstance(value, dict):
        return {key: _shrunk(inner, head) for key, inner in value.items()}
    if isinstance(value, list):
        return [_shrunk(inner, head) for inner in value]
    return value


def facts_arguments(arguments: str, keep: int, count: Count) -> str:
    """A call's `arguments` in about `keep` tokens, still valid JSON with the same keys.

    Only strings are shortened, by the mildest cut that fits. Arguments that are not JSON, or would not get smaller, are returned
    unchanged.
    """
    before = count(arguments)
    if before <= keep:
        return arguments
    try:
        return _mildest(arguments, read(arguments), before, keep, count)
    except (Inexact, RecursionError):
        return arguments


def _mildest(arguments: str, value: Any, before: int, keep: int, count: Count) -> str:
    best = arguments
    for head in _HEADS:
        cut = _shrunk(value, head)
        if cut == value:
            continue
        shorter = write(cut)
        after = count(shorter)
        if after < before:
            best, before = shorter, after
        if after <= keep:
            break
    return best

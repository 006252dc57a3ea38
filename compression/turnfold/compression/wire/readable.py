"""Readable text of JSON without a known form: results of hosted tools, clear reasoning, future kinds.

This module tells texts from names of things and from media data, and values from empty ones, without knowing any format's kinds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from turnfold.compression import lazy, tokens

#: Keys whose values mean nothing to a reader: ids, states, media data.
_SILENT: Final = frozenset(
    {"type", "id", "call_id", "status", "role", "encrypted_content", "approval_request_id", "server_label", "caller", "env"}
    | {"image_url", "file_id", "file_data", "container_id", "created_by", "annotations", "logprobs", "fingerprint"}
    | {"tool_use_id", "signature", "media_type", "cache_control", "prompt_cache_breakpoint", "encrypted_stdout"}
)
_KINDS: Final = frozenset({"type", "format", "index"})
# Base64 and hexadecimal from a length that no word has; JSON without blanks and Chinese are texts.
_DATA: Final = lazy.pattern(r"data:|[\w+/=-]{512}", re.ASCII)


def readable_texts(value: Any, silent: frozenset[str] = frozenset()) -> Iterator[str]:
    """The texts in a value, without names and media data.

    Args:
        silent: further keys whose values are skipped.
    """
    if isinstance(value, str):
        if value and not _DATA.match(value):
            yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in _SILENT and key not in silent:
                yield from readable_texts(inner, silent)
    elif isinstance(value, list):
        for inner in value:
            yield from readable_texts(inner, silent)


def holds_something(value: Any) -> bool:
    """Whether a value is more than null, or empty texts under the names of kinds: what clients write that store an answer."""
    left = [value]
    while left:  # a client's value may be nested deeper than Python recurses
        match left.pop():
            case dict() as found:
                left += [inner for key, inner in found.items() if key not in _KINDS]
            case list() as found:
                left += found
            case found if found is not None and found != "":
                return True
    return False


def readable_tokens(value: Any) -> int:
    """Tokens of the texts in a value, by the border counter."""
    return sum(map(tokens.count, readable_texts(value)))


def sealed_tokens(value: str, around: int = 0) -> int:
    """Approximate tokens of sealed text in base64: four bytes each.

    Args:
        around: bytes of the seal.
    """
    return max(0, len(value) * 3 // 4 - around) // 4

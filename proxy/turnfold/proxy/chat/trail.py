"""How far one request repeats another, told without keeping either.

Lives here: fingerprints of a body's beginnings. Does not belong here: tokens, dollars, text.

A trail holds a checksum of everything up to each whole kilobyte of the messages' JSON. Two trails are equal as far as the
texts are, so the longest common prefix is found to a kilobyte, from some bytes for each that may lie in the store. CRC-32 is
enough: it is a statistic's fingerprint, and nobody gains by a false one in his own figures.

Where a message carries a cache mark the messages are written anew first, without marks and with content as a list of texts:
marks move on from request to request, and a string becomes a list of parts to carry one, which no cache takes for a change.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import orjson

_STEP: Final = 1024
_WIDTH: Final = 4
_MOST: Final = 4096  # steps, or 4 MB of text; what lies behind counts as equal when all before it is
_SLACK: Final = _STEP + 64  # the last step is not whole, and a list's end gives way to what is appended
_MARKS: Final = ("cache_control", "prompt_cache_breakpoint")
_MARKED: Final = re.compile(rb'"(?:cache_control|prompt_cache_breakpoint)"')
_MESSAGES: Final = re.compile(rb'"messages"\s{0,8}:')


@dataclass(frozen=True, slots=True)
class Trail:
    """The fingerprints of one request's messages.

    Attributes:
        size: bytes of the messages' JSON.
        sums: four bytes for each whole kilobyte of it, each over everything from the beginning.
    """

    size: int
    sums: bytes

    def to_json(self) -> dict[str, Any]:
        """As a JSON value."""
        return {"size": self.size, "sums": base64.b85encode(self.sums).decode("ascii")}

    @classmethod
    def from_json(cls, value: Any) -> Trail:
        """From `to_json`, or from the first release's list.

        Raises:
            ValueError, LookupError, TypeError: it is neither.
        """
        size, sums = value if isinstance(value, list) else (value["size"], value["sums"])
        return cls(size, base64.b85decode(sums))

    def repeats(self, earlier: Trail) -> float:
        """Share of an earlier request's messages with which this one begins, 0 to 1; to a kilobyte, and 1 when it is all."""
        low, high = 0, min(len(self.sums), len(earlier.sums)) // _WIDTH
        while low < high:
            middle = (low + high + 1) // 2
            at = slice((middle - 1) * _WIDTH, middle * _WIDTH)
            low, high = (middle, high) if self.sums[at] == earlier.sums[at] else (low, middle - 1)
        whole = low == _MOST or low * _STEP + _SLACK >= earlier.size
        return 1.0 if whole else low * _STEP / earlier.size


@dataclass(frozen=True, slots=True)
class Trails:
    """Of one request: as it came in, and as it went out."""

    received: Trail
    sent: Trail

    def to_json(self) -> dict[str, Any]:
        """As a JSON value; `sent` is null where it equals `received`."""
        return {"received": self.received.to_json(), "sent": None if self.sent == self.received else self.sent.to_json()}

    @classmethod
    def from_json(cls, value: Any) -> Trails:
        """From `to_json`, or from the first release's list.

        Raises:
            ValueError, LookupError, TypeError: it is neither.
        """
        first, second = value if isinstance(value, list) else (value["received"], value["sent"])
        received = Trail.from_json(first)
        return cls(received, Trail.from_json(second) if second else received)


def trail_of(body: bytes, keys: Iterable[str]) -> Trail:
    """The trail of a chat-completions body.

    Args:
        keys: its top-level keys in their order; what stands behind the messages is no part of the prompt's beginning.
    """
    if _MARKED.search(body):
        return _trail(memoryview(b"".join(map(_unmarked, orjson.loads(body)["messages"]))))
    start = found.end() if (found := _MESSAGES.search(body)) else 0
    behind = next((after for key, after in pairwise(keys) if key == "messages"), None)
    end = len(body) if behind is None else max(start, body.rfind(f'"{behind}"'.encode()))
    return _trail(memoryview(body)[start:end])


def _trail(text: memoryview) -> Trail:
    sums, total = bytearray(), 0
    for at in range(0, min(len(text) - _STEP + 1, _MOST * _STEP), _STEP):
        total = zlib.crc32(text[at : at + _STEP], total)
        sums += total.to_bytes(_WIDTH, "little")
    return Trail(len(text), bytes(sums))


def _unmarked(message: dict[str, Any]) -> bytes:
    """A message with its content in front, in a form that no mark changes."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [_bare(part) for part in parts]
    rest = {key: value for key, value in message.items() if key not in ("content", *_MARKS)}
    return orjson.dumps([message.get("role"), texts, rest])


def _bare(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    return part["text"] if "text" in part else {key: value for key, value in part.items() if key not in _MARKS}

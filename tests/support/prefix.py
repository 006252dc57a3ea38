"""Whether one forwarded request repeats the one before it (law 4: a stable prefix).

It compares two consecutive requests as forwarded. ``replay.py`` sends them.

A prompt is rendered in order: tools, then messages. What counts is how much of the earlier prompt the later one repeats.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from itertools import takewhile
from typing import Any, Final

from tests.support.bodies import Message, last_user, messages_of, raw_messages

#: Keys beside the messages that change the prompt, or the cache that it is looked up in.
_HEAD: Final = ("model", "tools", "functions")


class Kind(Enum):
    """What the later request does with the earlier one."""

    IDENTICAL = "identical"
    EXTENSION = "extension"
    REWRITE = "rewrite"


@dataclass(frozen=True, slots=True)
class Step:
    """From one forwarded request to the next.

    Attributes:
        kind: IDENTICAL; EXTENSION: all is repeated byte for byte up to the last user message, and that one through the user's own
            text; REWRITE: anything else, so a fold event.
        at: index of the first message of the earlier request that is not repeated byte for byte.
        lost: characters of the earlier request's messages that the later one does not repeat: none in a plain extension, the
            recall where an extension drops it, the whole rest in a rewrite.
        why: half a sentence for a failing test.
    """

    kind: Kind
    at: int
    lost: int
    why: str


def classify(received: bytes, before: bytes, after: bytes) -> Step:
    """Compare the request `after` with the one `before` it, both as forwarded; `received` is `before` as the client sent it."""
    earlier, later = raw_messages(before), raw_messages(after)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(earlier, later, strict=False)))
    if _head(before) != _head(after):
        return Step(Kind.REWRITE, 0, len(",".join(earlier)), "the model or the tools changed")
    lost = _beyond_common(",".join(earlier[same:]), ",".join(later[same:]))
    if same == len(earlier):
        kind = Kind.IDENTICAL if same == len(later) else Kind.EXTENSION
        return Step(kind, same, lost, "all is repeated")
    user = last_user(messages_of(before))
    if user is None or same < user:
        return Step(Kind.REWRITE, same, lost, f"message {same} changed before the last user message")
    if same == user and not (same < len(later) and _repeats_own_text(received, before, after, user)):
        return Step(Kind.REWRITE, same, lost, "the user's own text, or what stands in front of it, changed")
    return Step(Kind.EXTENSION, same, lost, "repeated through the user's own text")


def _beyond_common(old: str, new: str) -> int:
    """Characters of `old` behind the prefix that both share; by halving, as requests are long."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if old[:middle] == new[:middle] else (low, middle - 1)
    return len(old) - low


def _head(body: bytes) -> dict[str, Any]:
    parsed = json.loads(body)
    return {key: parsed[key] for key in _HEAD if key in parsed}


def _repeats_own_text(received: bytes, before: bytes, after: bytes, user: int) -> bool:
    asked = messages_of(received)
    own = last_user(asked)
    if own is None:
        return False
    old, new = messages_of(before)[user], messages_of(after)[user]
    if _without_content(old) != _without_content(new):
        return False
    return _opening(asked[own].get("content"), old.get("content"), new.get("content"))


def _without_content(message: Message) -> Message:
    return {key: value for key, value in message.items() if key != "content"}


def _opening(own: Any, old: Any, new: Any) -> bool:
    """Whether `new` opens as `old` does, through the end of `own`, which stands in `old`."""
    if isinstance(old, str) and isinstance(own, str):
        end = _end_of(own, old)
        return isinstance(new, str) and end is not None and new.startswith(old[:end])
    if isinstance(old, list):
        count = _parts_through(own if isinstance(own, list) else [{"type": "text", "text": own}], old)
        return isinstance(new, list) and count is not None and new[:count] == old[:count]
    return bool(old == new)


def _end_of(own: str, text: str) -> int | None:
    """Where `own` ends in `text`, as a paragraph of its own if it is one anywhere."""
    starts = (0, *(i + 1 for i, char in enumerate(text) if char == "\n"))
    for start in starts:
        end = start + len(own)
        if text.startswith(own, start) and text[end : end + 1] in {"", "\n"}:
            return end
    start = text.find(own)
    return None if start < 0 else start + len(own)


def _parts_through(own: list[Any], parts: list[Any]) -> int | None:
    """How many of `parts` it takes to hold all of `own`, in order; None when they do not."""
    at = 0
    for wanted in own:
        while at < len(parts) and not _holds(parts[at], wanted):
            at += 1
        if at == len(parts):
            return None
        at += 1
    return at


def _holds(part: Any, wanted: Any) -> bool:
    if isinstance(part, dict) and isinstance(wanted, dict) and isinstance(wanted.get("text"), str):
        return wanted["text"] in str(part.get("text") or "")
    return bool(part == wanted)

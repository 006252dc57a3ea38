"""The common parts of Turnfold's own answers in all formats.

Content types, and JSON as bytes, streamed or not. The form of an answer is up to each format.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from turnfold.compression.wire.conversation import Conversation, OwnReply

T = TypeVar("T")


def own_reply(
    conversation: Conversation, answer: T, whole: Callable[[T], bytes], events: Callable[[T], Iterable[bytes]]
) -> OwnReply:
    """An answer in its wire's form: as events if the client asks for a stream."""
    if conversation.streams:
        return OwnReply("text/event-stream; charset=utf-8", tuple(events(answer)))
    return OwnReply("application/json", (whole(answer),))


def to_json(value: dict[str, Any]) -> bytes:
    """A value as JSON. Uses the standard library, which escapes lone surrogates; a user's item may contain some."""
    return json.dumps(value, separators=(",", ":")).encode("ascii")

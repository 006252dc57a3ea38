"""Turnfold's own answers as messages of Anthropic's API, in the same form as a provider's.

This module forms the body or the stream events of a text with which the proxy answers itself (a clarifying question, an
acknowledgement). The text comes from the caller. Nothing was spent upstream, so every count is zero.

The events and their order are those of Anthropic's "Streaming messages".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from turnfold.compression.memo import digest
from turnfold.compression.wire.conversation import Conversation, OwnReply
from turnfold.compression.wire.own_replies import own_reply, to_json


@dataclass(frozen=True, slots=True)
class MessageReply:
    """An answer written by Turnfold.

    Attributes:
        text: the assistant's text.
        model: the model's name in the request.
        seed: input of the id besides the text (the conversation's digest), so that equal requests get equal ids.
    """

    text: str
    model: str
    seed: str = ""

    @property
    def id(self) -> str:
        """The message's id: a content hash with Turnfold's prefix."""
        return f"msg_turnfold_{digest(self.model, self.seed, self.text).hex()}"


def reply(conversation: Conversation, text: str, created: int) -> OwnReply:
    """A message written by Turnfold, streamed if the client asks for that. Answers of this API have no time."""
    del created
    return own_reply(conversation, MessageReply(text, conversation.model, digest(conversation.text).hex()), whole, stream)


def whole(reply: MessageReply) -> bytes:
    """The body of an answer that is not streamed."""
    return to_json(_message(reply, [{"type": "text", "text": reply.text}], "end_turn"))


def stream(reply: MessageReply) -> Iterator[bytes]:
    """The events of a streamed answer, in order, each ready to be written."""
    yield _event("message_start", message=_message(reply, [], None))
    yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    yield _event("content_block_delta", index=0, delta={"type": "text_delta", "text": reply.text})
    yield _event("content_block_stop", index=0)
    yield _event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": 0})
    yield _event("message_stop")


def _message(reply: MessageReply, content: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
    return {
        "id": reply.id,
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 0,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 0,
        },
    }


def _event(kind: str, **fields: Any) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + to_json({"type": kind, **fields}) + b"\n\n"

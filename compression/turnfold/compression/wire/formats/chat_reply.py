"""Turnfold's own answers as chat completions, in the same form as a provider's.

This module forms the body or the stream events of a text with which the proxy answers itself (a clarifying question, an
acknowledgement). The text and the time (`created`) come from the caller. A stream that Turnfold writes ends with ``[DONE]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from turnfold.compression.memo import digest
from turnfold.compression.wire.conversation import Conversation, OwnReply
from turnfold.compression.wire.own_replies import own_reply, to_json

#: OpenAI allows 1 to 128 choices.
MAX_CHOICES: Final = 128
#: No tokens are used upstream.
_USAGE: Final = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


@dataclass(frozen=True, slots=True)
class ChatReply:
    """An answer written by Turnfold.

    Attributes:
        text: the assistant's content, the same in every choice.
        model: the model's name in the request.
        created: Unix time in seconds.
        seed: input of the id besides the text (the conversation's digest), so that equal requests get equal ids.
        choices: the request's ``n``.
        include_usage: the request's ``stream_options.include_usage``.
    """

    text: str
    model: str
    created: int
    seed: str = ""
    choices: int = 1
    include_usage: bool = False

    @property
    def id(self) -> str:
        """The completion's id: a content hash with Turnfold's prefix."""
        return f"chatcmpl-turnfold-{digest(self.model, self.seed, self.text).hex()}"


def reply(conversation: Conversation, text: str, created: int) -> OwnReply:
    """A chat completion written by Turnfold, streamed if the client asks for that."""
    answer = reply_to(conversation.settings, text, created=created, seed=digest(conversation.text).hex())
    return own_reply(conversation, answer, completion, stream)


def reply_to(request: Mapping[str, Any], text: str, *, created: int, seed: str = "") -> ChatReply:
    """A reply for a parsed request; fields of a wrong type count as absent."""
    wanted, options, model = request.get("n"), request.get("stream_options"), request.get("model")
    return ChatReply(
        text,
        model if isinstance(model, str) else "",
        created,
        seed,
        min(max(wanted, 1), MAX_CHOICES) if isinstance(wanted, int) else 1,
        isinstance(options, dict) and options.get("include_usage") is True,
    )


def completion(reply: ChatReply) -> bytes:
    """The body of an answer that is not streamed."""
    message = {"role": "assistant", "content": reply.text, "refusal": None}
    return to_json(
        {
            **_head(reply, "chat.completion"),
            "choices": [_choice(index, "message", message, "stop") for index in range(reply.choices)],
            "usage": _USAGE,
        }
    )


def stream(reply: ChatReply) -> list[bytes]:
    """The events of a streamed answer, in order, each ready to be written."""
    deltas: tuple[tuple[dict[str, Any], str | None], ...] = (
        ({"role": "assistant", "content": "", "refusal": None}, None),
        ({"content": reply.text}, None),
        ({}, "stop"),
    )
    chunks = [[_choice(index, "delta", delta, end)] for delta, end in deltas for index in range(reply.choices)]
    usage = {"usage": None} if reply.include_usage else {}
    events = [{**_head(reply, "chat.completion.chunk"), "choices": choices, **usage} for choices in chunks]
    if reply.include_usage:
        events.append({**_head(reply, "chat.completion.chunk"), "choices": [], "usage": _USAGE})
    return [*(b"data: " + to_json(event) + b"\n\n" for event in events), b"data: [DONE]\n\n"]


def _head(reply: ChatReply, kind: str) -> dict[str, Any]:
    return {"id": reply.id, "object": kind, "created": reply.created, "model": reply.model, "system_fingerprint": None}


def _choice(index: int, field: str, value: dict[str, Any], end: str | None) -> dict[str, Any]:
    return {"index": index, field: value, "logprobs": None, "finish_reason": end}

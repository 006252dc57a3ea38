"""Turnfold's own answers as responses, in the same form as a provider's.

This module forms the body or the stream events of a text with which the proxy answers itself (a clarifying question, an
acknowledgement). The text and the time (`created`) come from the caller. A stream of this format ends with its last event,
without a ``[DONE]``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from turnfold.compression.memo import digest
from turnfold.compression.wire.conversation import Conversation, OwnReply
from turnfold.compression.wire.own_replies import own_reply, to_json

#: The settings in a response, as the API reports them for a request without settings.
_DEFAULTS: Final[Mapping[str, Any]] = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}
_ECHOED: Final[Mapping[str, type | tuple[type, ...]]] = {
    "max_output_tokens": int,
    "metadata": dict,
    "parallel_tool_calls": bool,
    "previous_response_id": str,
    "store": bool,
    "temperature": (int, float),
    "top_p": (int, float),
    "truncation": str,
}


@dataclass(frozen=True, slots=True)
class ResponseReply:
    """An answer written by Turnfold.

    Attributes:
        text: the assistant's text.
        model: the model's name in the request.
        created: Unix time in seconds.
        seed: input of the ids besides the text (the conversation's digest), so that equal requests get equal ids.
        settings: the request's own settings, which the response repeats.
    """

    text: str
    model: str
    created: int
    seed: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """The suffix of its ids: a content hash."""
        return digest(self.model, self.seed, self.text).hex()


def reply(conversation: Conversation, text: str, created: int) -> OwnReply:
    """A response written by Turnfold, streamed if the client asks for that."""
    answer = reply_to(conversation.settings, text, created=created, seed=digest(conversation.text).hex())
    return own_reply(conversation, answer, response, stream)


def reply_to(request: Mapping[str, Any], text: str, *, created: int, seed: str = "") -> ResponseReply:
    """A reply for a request's settings; those of a wrong type count as absent."""
    model = request.get("model")
    settings = {key: request[key] for key, kind in _ECHOED.items() if isinstance(request.get(key), kind)}
    return ResponseReply(text, model if isinstance(model, str) else "", created, seed, settings)


def response(reply: ResponseReply) -> bytes:
    """The body of an answer that is not streamed."""
    return to_json(_whole(reply))


def stream(reply: ResponseReply) -> list[bytes]:
    """The events of a streamed answer, in order, each ready to be written."""
    events = enumerate(_events(reply))
    return [
        f"event: {kind}\ndata: ".encode() + to_json({"type": kind, "sequence_number": number, **data}) + b"\n\n"
        for number, (kind, data) in events
    ]


def _events(reply: ResponseReply) -> Iterator[tuple[str, dict[str, Any]]]:
    item = {"output_index": 0}
    part = {"item_id": _item_id(reply), "output_index": 0, "content_index": 0}
    yield "response.created", {"response": _begun(reply)}
    yield "response.in_progress", {"response": _begun(reply)}
    yield "response.output_item.added", {**item, "item": {**_item(reply), "status": "in_progress", "content": []}}
    yield "response.content_part.added", {**part, "part": _part("")}
    yield "response.output_text.delta", {**part, "delta": reply.text, "logprobs": []}
    yield "response.output_text.done", {**part, "text": reply.text, "logprobs": []}
    yield "response.content_part.done", {**part, "part": _part(reply.text)}
    yield "response.output_item.done", {**item, "item": _item(reply)}
    yield "response.completed", {"response": _whole(reply)}


def _begun(reply: ResponseReply) -> dict[str, Any]:
    return {**_whole(reply), "status": "in_progress", "completed_at": None, "output": [], "usage": None}


def _whole(reply: ResponseReply) -> dict[str, Any]:
    return {
        "id": f"resp_turnfold_{reply.digest}",
        "object": "response",
        "created_at": reply.created,
        "completed_at": reply.created,
        "status": "completed",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "model": reply.model,
        "output": [_item(reply)],
        **_DEFAULTS,
        **reply.settings,
        "usage": {
            "input_tokens": 0,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 0,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 0,
        },
    }


def _item_id(reply: ResponseReply) -> str:
    return f"msg_turnfold_{reply.digest}"


def _item(reply: ResponseReply) -> dict[str, Any]:
    return {
        "id": _item_id(reply),
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": [_part(reply.text)],
    }


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}

"""Our own answers read as any other response.

These tests cover bodies and streams checked by the SDK's own types. They leave out sockets.
"""

from __future__ import annotations

import json

import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from turnfold.compression.memo import Memo
from turnfold.compression.wire.formats.responses import RESPONSES
from turnfold.compression.wire.formats.responses_reply import ResponseReply, reply_to, response, stream

TEXT = 'Did you mean to use "podman" instead?\nSay so.'
KINDS = (
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
)
EVENTS: TypeAdapter[ResponseStreamEvent] = TypeAdapter(ResponseStreamEvent)


def test_a_whole_answer() -> None:
    body = Response.model_validate_json(response(ResponseReply(TEXT, "gpt-x", 7)), strict=False)
    assert (body.output_text, body.status, body.model, body.created_at) == (TEXT, "completed", "gpt-x", 7)
    assert body.usage is not None
    assert body.usage.total_tokens == 0


def test_a_streamed_answer() -> None:
    raw = b"".join(stream(ResponseReply(TEXT, "gpt-x", 7))).decode()
    assert raw.endswith("\n\n")
    assert "[DONE]" not in raw
    pairs = [event.split("\n", 1) for event in raw.split("\n\n")[:-1]]
    events = [EVENTS.validate_json(data.removeprefix("data: "), strict=False) for _, data in pairs]
    assert [head.removeprefix("event: ") for head, _ in pairs] == [event.type for event in events] == list(KINDS)
    assert [event.sequence_number for event in events] == list(range(len(KINDS)))
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == TEXT
    last = events[-1]
    assert last.type == "response.completed"
    assert last.response.model_dump() == Response.model_validate_json(response(ResponseReply(TEXT, "gpt-x", 7))).model_dump()


def test_the_ids_are_ours_and_follow_the_content() -> None:
    one = json.loads(response(ResponseReply(TEXT, "m", 1, seed="a")))
    assert one["id"].startswith("resp_turnfold_")
    others = [ResponseReply(TEXT, "m", 1, "b"), ResponseReply("x", "m", 1, "a"), ResponseReply(TEXT, "n", 1, "a")]
    assert len({one["id"], *(json.loads(response(other))["id"] for other in others)}) == 4
    assert json.loads(response(ResponseReply(TEXT, "m", 2, "a")))["id"] == one["id"]


def test_a_reply_repeats_the_settings_of_the_request() -> None:
    given = {"model": "m", "store": False, "metadata": {"a": "b"}, "temperature": "hot", "truncation": "auto"}
    found = json.loads(response(reply_to(given, TEXT, created=1)))
    assert (found["store"], found["metadata"], found["temperature"], found["truncation"]) == (False, {"a": "b"}, 1.0, "auto")


@pytest.mark.parametrize("streams", [False, True])
def test_the_wire_answers_in_the_form_that_was_asked_for(streams: bool) -> None:
    body = json.dumps({"model": "m", "input": "hi", "stream": streams}).encode()
    reply = RESPONSES.reply(RESPONSES.read(body, Memo()), TEXT, 5)
    assert (len(reply.pieces), reply.content_type.split(";")[0]) == (
        (len(KINDS), "text/event-stream") if streams else (1, "application/json")
    )


def test_lone_surrogates_are_written_as_escapes() -> None:
    found = json.loads(response(ResponseReply("\ud800 ü", "m", 1)))
    assert found["output"][0]["content"][0]["text"] == "\ud800 ü"

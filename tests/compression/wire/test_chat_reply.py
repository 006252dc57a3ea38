"""Our own answers read as any other completion.

These tests cover bodies and streams checked by the SDK's own types. They leave out sockets.
"""

from __future__ import annotations

import json
from itertools import product

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from tests.support.cases import each
from turnfold.compression.wire.formats.chat_reply import ChatReply, completion, reply_to, stream

TEXT = 'Did you mean to use "podman" instead?\nSay so.'


def events(reply: ChatReply) -> list[ChatCompletionChunk]:
    raw = b"".join(stream(reply)).decode()
    assert raw.endswith("data: [DONE]\n\n")
    data = [event.removeprefix("data: ") for event in raw.split("\n\n") if event]
    return [ChatCompletionChunk.model_validate_json(one, strict=False) for one in data[:-1]]


@pytest.mark.parametrize("n", [1, 3])
def test_a_whole_answer(n: int) -> None:
    body = ChatCompletion.model_validate_json(completion(ChatReply(TEXT, "gpt-x", 7, choices=n)))
    assert [(choice.index, choice.message.content, choice.finish_reason) for choice in body.choices] == [
        (index, TEXT, "stop") for index in range(n)
    ]
    assert (body.model, body.created, body.object) == ("gpt-x", 7, "chat.completion")
    assert body.usage is not None
    assert body.usage.total_tokens == 0


@each(("n", "include_usage"), product([1, 2], [False, True]))
def test_a_streamed_answer(n: int, include_usage: bool) -> None:
    reply = ChatReply(TEXT, "gpt-x", 7, choices=n, include_usage=include_usage)
    chunks = events(reply)
    for index in range(n):
        mine = [choice for chunk in chunks for choice in chunk.choices if choice.index == index]
        assert "".join(choice.delta.content or "" for choice in mine) == TEXT
        assert mine[0].delta.role == "assistant"
        assert [choice.finish_reason for choice in mine] == [None] * (len(mine) - 1) + ["stop"]
    assert {(chunk.id, chunk.model, chunk.created) for chunk in chunks} == {(reply.id, "gpt-x", 7)}
    usages = [chunk.usage.total_tokens for chunk in chunks if chunk.usage is not None]
    assert usages == ([0] if include_usage else [])
    assert (chunks[-1].choices == []) is include_usage


def test_the_id_is_ours_and_follows_the_content() -> None:
    one = ChatReply(TEXT, "m", 1, seed="a")
    assert one.id.startswith("chatcmpl-turnfold-")
    assert one.id == ChatReply(TEXT, "m", 2, seed="a").id
    assert (
        len(
            {
                one.id,
                ChatReply(TEXT, "m", 1, seed="b").id,
                ChatReply("x", "m", 1, seed="a").id,
                ChatReply(TEXT, "n", 1, seed="a").id,
            }
        )
        == 4
    )


def test_a_reply_fits_the_request() -> None:
    reply = reply_to({"model": "m", "n": 2, "stream_options": {"include_usage": True}}, TEXT, created=1)
    assert (reply.model, reply.choices, reply.include_usage) == ("m", 2, True)
    for n, choices in ((None, 1), (0, 1), (10**9, 128), ("3", 1), (-1, 1)):
        assert reply_to({"model": 5, "n": n, "stream_options": []}, TEXT, created=1).choices == choices


def test_lone_surrogates_are_written_as_escapes() -> None:
    assert json.loads(completion(ChatReply("\ud800 ü", "m", 1)))["choices"][0]["message"]["content"] == "\ud800 ü"

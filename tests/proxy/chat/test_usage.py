"""Usage is read from whatever passes by, cut wherever it is cut."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from turnfold.proxy.chat import usage
from turnfold.proxy.chat.receipts import Usage
from turnfold.proxy.chat.usage import UsageReader

OPENAI = {
    "prompt_tokens": 90,
    "completion_tokens": 5,
    "total_tokens": 95,
    "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 26, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 0},
}
SAID = Usage(90, 5, 64, 26, audio_prompt_tokens=0)
CASES: dict[str, tuple[dict[str, Any], Usage]] = {
    "openai": (OPENAI, SAID),
    "deepseek": (
        {"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 8, "prompt_cache_miss_tokens": 1},
        Usage(9, 1, 8, None),
    ),
    "anthropic": (
        {"input_tokens": 9, "output_tokens": 1, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 2},
        Usage(18, 1, 7, 2),  # its input tokens are those behind the cache
    ),
    "anthropic, an hour": (
        {
            "input_tokens": 9,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 5,
            "cache_creation": {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 3},
            "output_tokens": 1,
        },
        Usage(14, 1, 0, 5, 3),
    ),
    "responses": (
        {"input_tokens": 90, "input_tokens_details": {"cached_tokens": 64}, "output_tokens": 5},
        Usage(90, 5, 64, None),
    ),
    "moonshot": ({"prompt_tokens": 9, "completion_tokens": 1, "cached_tokens": 3}, Usage(9, 1, 3, None)),
    "mistral": (
        {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10, "num_cached_tokens": 3},
        Usage(9, 1, 3, None),
    ),
    "mistral, vllm": (
        {"prompt_tokens": 9, "completion_tokens": 1, "prompt_token_details": {"cached_tokens": 3}},
        Usage(9, 1, 3, None),
    ),
    "bedrock's converse in chat": (
        {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 10, "cacheReadInputTokens": 4, "cacheWriteInputTokens": 3},
        Usage(9, 1, 4, 3),
    ),
    "details null": ({"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": None}, Usage(9, 1, None, None)),
    "nonsense": ({"prompt_tokens": "9", "completion_tokens": True, "cached_tokens": -1, "input_tokens": 1.5}, Usage()),
    "whole floats": (
        {"prompt_tokens": 9.0, "completion_tokens": 1.0, "prompt_tokens_details": {"cached_tokens": 3.0}},
        Usage(9, 1, 3),
    ),
    "broken floats": ({"prompt_tokens": 9.5, "completion_tokens": 1}, Usage()),
    "litellm": (
        {
            "prompt_tokens": 90,
            "completion_tokens": 5,
            "prompt_tokens_details": {
                "cached_tokens": 64,
                "cache_creation_tokens": 20,
                "cache_creation_token_details": {"ephemeral_5m_input_tokens": 8, "ephemeral_1h_input_tokens": 12},
            },
        },
        Usage(90, 5, 64, 20, 12),
    ),
    "qwen": (
        {"prompt_tokens": 90, "prompt_tokens_details": {"cached_tokens": 0, "cache_creation_input_tokens": 80}},
        Usage(90, None, 0, 80),
    ),
    "anthropic, nothing": ({"input_tokens": 0, "output_tokens": 1}, Usage(0, 1, None, None)),
    "empty": ({}, Usage()),
    "xai": (  # xAI, "Consumption and rate limits": thinking is in the total alone
        {
            "prompt_tokens": 32,
            "completion_tokens": 9,
            "total_tokens": 135,
            "prompt_tokens_details": {"cached_tokens": 6, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 94, "audio_tokens": 0},
        },
        Usage(32, 103, 6, audio_prompt_tokens=0, audio_completion_tokens=0),
    ),
    "google": ({"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 623}, Usage(20, 603)),
    "google, no words": (
        {"prompt_tokens": 21, "completion_tokens": 0, "total_tokens": 81, "completion_tokens_details": {"reasoning_tokens": 60}},
        Usage(21, 60),
    ),
    "thinking inside": (
        {"prompt_tokens": 9, "completion_tokens": 70, "total_tokens": 79, "completion_tokens_details": {"reasoning_tokens": 64}},
        Usage(9, 70),
    ),
    "a relay's prompt without what was cached": (
        {"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 116, "prompt_tokens_details": {"cached_tokens": 100}},
        Usage(109, 7, 100),
    ),
    "a relay's prompt with more in the cache than in it": (
        {"prompt_tokens": 9, "completion_tokens": 7, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20},
        Usage(129, 7, 100, 20),
    ),
    "a total of something else": (
        {"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 50, "completion_tokens_details": {"reasoning_tokens": 3}},
        Usage(9, 7),
    ),
    "a total that is none": ({"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": "50"}, Usage(9, 7)),
    "sound": (
        {
            "prompt_tokens": 50,
            "completion_tokens": 80,
            "total_tokens": 130,
            "prompt_tokens_details": {"audio_tokens": 40},
            "completion_tokens_details": {"audio_tokens": 60},
        },
        Usage(50, 80, audio_prompt_tokens=40, audio_completion_tokens=60),
    ),
    "anthropic, a tier": (
        {"input_tokens": 9, "output_tokens": 1, "service_tier": "priority"},
        Usage(9, 1, service_tier="priority"),
    ),
    "anthropic, fast": (
        {"input_tokens": 9, "output_tokens": 1, "service_tier": "standard", "speed": "fast"},
        Usage(9, 1, service_tier="fast"),
    ),
}


def _read(data: bytes, cuts: list[int], coding: str = "") -> UsageReader:
    reader = UsageReader(coding)
    edges = [0, *sorted(cuts), len(data)]
    for start, end in pairwise(edges):
        reader.feed(data[start:end])
    return reader


@each("name", CASES)
def test_what_providers_say(name: str) -> None:
    reported, usage = CASES[name]
    for body in (
        json.dumps({"id": "x", "model": "m1", "choices": [], "usage": reported}).encode(),
        json.dumps({"model": "m1", "usage": reported, "choices": [{"message": {"content": "z" * 300_000}}]}, indent=2).encode(),
        b'data: {"model":"m1","usage":null}\n\ndata: ' + json.dumps({"choices": [], "usage": reported}).encode() + b"\n\n",
    ):
        reader = _read(body, [])
        assert (reader.usage, reader.model) == (usage, "m1")


STREAM = (
    b'data: {"model":"gpt-x","choices":[{"delta":{"content":"say \\"usage\\": {\\"prompt_tokens\\": 1}"}}],"usage":null}\n\n'
    b'data: {"choices":[],"usage":' + json.dumps(OPENAI).encode() + b"}\r\n\r\ndata: [DONE]\n\n"
)


@given(st.lists(st.integers(0, len(STREAM)), max_size=40), st.sampled_from(["", "gzip", "deflate"]))
def test_cuts_anywhere(cuts: list[int], coding: str) -> None:
    coded = {"": STREAM, "gzip": gzip.compress(STREAM), "deflate": zlib.compress(STREAM)}[coding]
    reader = _read(coded, [min(cut, len(coded)) for cut in cuts], coding)
    assert (reader.usage, reader.model) == (SAID, "gpt-x")


def test_byte_by_byte() -> None:
    for coding, data in (("", STREAM), ("gzip", gzip.compress(STREAM)), ("deflate", zlib.compress(STREAM))):
        assert _read(data, list(range(len(data))), coding).usage == SAID


def test_the_tier_is_what_the_end_of_the_answer_says() -> None:
    begun = b'data: {"response":{"model":"m1","service_tier":"auto","usage":null}}\n\n'
    ended = b'data: {"response":{"service_tier": "flex","usage":{"input_tokens":9,"output_tokens":1}}}\n\n'
    late = b'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1},"service_tier":"Flex"}\n\n'
    for data, cuts in ((begun + ended, []), (begun + ended, list(range(len(begun + ended)))), (begun + late, [])):
        assert _read(data, cuts).usage == Usage(9, 1, service_tier="flex")
    assert _read(b'{"service_tier":null,"usage":{"prompt_tokens":9}}', []).usage == Usage(9)
    said = json.dumps({"choices": [{"message": {"content": '"service_tier":"flex"'}}], "service_tier": "default"}).encode()
    assert _read(said, []).usage.service_tier == "default"


def test_tools_of_the_providers_own_are_noticed() -> None:
    """In whatever pieces they come; not those that the client runs, and not in a text."""
    hosted = ("server_tool_use", "mcp_tool_use", "web_search_call", "mcp_call", "shell_call_output", "program")
    own = ("tool_use", "function_call", "custom_tool_call", "local_shell_call", "shell_call", "computer_call", "web_search")
    for kind in (*hosted, *own):
        data = json.dumps({"item": {"id": "i", "type": kind}, "text": '"type": "mcp_call"'}).encode()
        for cuts in ([], [*range(len(data))]):
            assert _read(data, cuts).has_hosted_calls is (kind in hosted), kind


def test_a_tools_arguments_are_no_report() -> None:
    """Anthropic sends them as an object: here of an agent that keeps books itself."""
    asked = {"type": "tool_use", "id": "t", "name": "book", "input": {"usage": {"prompt_tokens": 5_000_000, "cached_tokens": 8}}}
    body = json.dumps({"model": "m1", "content": [asked], "usage": {"input_tokens": 9, "output_tokens": 1}}).encode()
    for pieces in ([body], [bytes([byte]) for byte in body]):
        reader = UsageReader(streamed=False)
        for piece in pieces:
            reader.feed(piece)
        assert reader.usage == Usage(9, 1)


def test_the_latest_report_counts_and_keeps_what_it_does_not_repeat() -> None:
    reader = UsageReader()
    reader.feed(b'data: {"usage":{"prompt_tokens":9,"completion_tokens":1,"cached_tokens":4}}\n\n')
    reader.feed(b'data: {"usage":{"prompt_tokens":9,"completion_tokens":2}}\n\n')
    assert reader.usage == Usage(9, 2, 4, None)


def test_what_follows_a_coded_answer_that_is_too_large_or_broken_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnfold.proxy.chat.usage._MOST_INFLATED", 1000)
    late = b'{"usage":{"prompt_tokens":3}}'
    for first in (b"x" * 900, b"x" * 1001):
        coder = zlib.compressobj(wbits=31)
        reader = UsageReader("gzip")
        reader.feed(coder.compress(first) + coder.flush(zlib.Z_FULL_FLUSH))
        reader.feed(coder.compress(late) + coder.flush())
        assert reader.usage.prompt_tokens == (3 if len(first) < 1000 else None)


def test_text_that_looks_like_usage_is_text() -> None:
    content = json.dumps({"choices": [{"message": {"content": '"usage": {"prompt_tokens": 5}'}}]}).encode()
    assert _read(content, []).usage == Usage()


@given(
    st.lists(
        st.binary(max_size=300) | st.sampled_from([b'"usage":{', b'"usage": {"prompt_tokens":', b"}", b"[" * 300]), max_size=20
    )
)
def test_nothing_raises(chunks: list[bytes]) -> None:
    for coding in ("", "gzip", "deflate", "br"):
        reader = UsageReader(coding)
        for chunk in chunks:
            reader.feed(chunk)


def test_a_damaged_object_does_not_hide_a_later_one() -> None:
    reader = _read(b'"usage": {' + b"x" * 40_000 + b'{"usage":{"prompt_tokens":3}}', [10_000, 20_000, 30_000])
    assert reader.usage.prompt_tokens == 3


def test_memory_stays_the_same_however_long_the_stream() -> None:
    reader = UsageReader()
    event = b'data: {"choices":[{"delta":{"content":"' + b"x" * 1000 + b'"}}],"usage":null}\n\n'
    reader.feed(event)
    tracemalloc.start(8)
    try:
        for _ in range(4_000):
            reader.feed(event)
        # Of the reader alone: a server that an earlier test left loads beside it.
        own = tracemalloc.Filter(inclusive=True, filename_pattern=usage.__file__, all_frames=True)
        assert sum(one.size for one in tracemalloc.take_snapshot().filter_traces([own]).traces) < 10_000
    finally:
        tracemalloc.stop()


_OVERLOADED = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
_CREATED = b'{"type":"response.created","response":{"model":"m"}}'
_FILTER = b'{"choices":[],"model":"","prompt_filter_results":[{"content_filter_results":{"error":{"code":"x"}}}]}'


@each(
    ("streamed", "events", "expected"),
    [
        (True, [_OVERLOADED], True),
        (True, [b'{"type": "ping"}', _OVERLOADED], True),
        (True, [b'{"error":{"message":"The server is busy"}}', b"[DONE]"], True),
        (True, [_CREATED, b'{"type":"response.failed","response":{"error":{}}}'], True),
        (True, [b'{"model":"m","choices":[{"delta":{"content":"He"}}]}', b'{"error":{"message":"lost"}}'], False),
        (True, [b'{"type":"message_start","message":{"model":"m","usage":{"input_tokens":9}}}', _OVERLOADED], False),
        (True, [_FILTER, b'{"model":"m","choices":[{"delta":{"content":"Hello"}}]}', b"[DONE]"], False),
        (True, [b'{"type":"response.failed","response":{"error":{},"usage":{"input_tokens":9}}}'], False),
        (False, [b'{"error":{"message":"The server is busy","code":502}}'], True),
        (False, [b' [ {"error" : "busy"} ]'], True),
        (False, [b'{"error":null,"model":"m","choices":[]}'], False),
        (False, [b'{"model":"m","choices":[{"message":{"content":"{\\"error\\":{}}"}}]}'], False),
    ],
)
def test_an_error_instead_of_an_answer(events: list[bytes], expected: bool, *, streamed: bool) -> None:
    reader = UsageReader(streamed=streamed)
    for event in events:
        reader.feed(b"data: %b\n\n" % event if streamed else event)
    assert reader.is_refused is expected


def test_a_stream_of_anthropic_reports_twice() -> None:
    begin = {"type": "message_start", "message": {"model": "m1", "usage": {**CASES["anthropic"][0], "output_tokens": 1}}}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 40}}
    body = b"".join(b"event: %s\ndata: %s\n\n" % (str(e["type"]).encode(), json.dumps(e).encode()) for e in (begin, end))
    assert _read(body, []).usage == Usage(18, 40, 7, 2)


@pytest.mark.parametrize(
    ("told", "last", "found"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 5}, {"prompt_tokens": 0, "completion_tokens": 0}, Usage(9, 5)),
        (
            {"input_tokens": 9, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 2, "output_tokens": 1},
            {"input_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 5},
            Usage(18, 5, 7, 2),
        ),
    ],
)
def test_a_stream_takes_no_figure_back_by_saying_0(told: dict[str, Any], last: dict[str, Any], found: Usage) -> None:
    reader = UsageReader()
    for one in (told, last):
        reader.feed(b"data: %b\n\n" % json.dumps({"usage": one}).encode())
    assert reader.usage == found


def test_bytes_that_are_no_text_hide_no_later_figures() -> None:
    first = b'{"usage": {"prompt_tokens": 1, "x": "' + b"\xff" * 300 + b'"}, "usage": {"completion_tokens": 7}}'
    whole, pieces = UsageReader(), UsageReader()
    whole.feed(first)
    for start in range(len(first)):
        pieces.feed(first[start : start + 1])
    assert whole.usage == pieces.usage
    assert whole.usage.completion_tokens == 7


@pytest.mark.parametrize("text", ['{"', '}"}', "\\\\", '\\"}', "\\\\\\", "{{{", "é}"])
@pytest.mark.parametrize("broken", [False, True])
def test_braces_and_quotes_in_strings_close_nothing(text: str, *, broken: bool) -> None:
    usage = json.dumps({"x": {"y": text}, "prompt_tokens": 7})
    data = f'{{"usage": {usage[:-1] if broken else usage}, "usage": {{"completion_tokens": 3}}}}'.encode()
    whole = _read(data, [])
    assert all(_read(data, list(range(0, len(data), size))).usage == whole.usage for size in (1, 2, 3, 7))
    assert broken or whole.usage == Usage(7, 3)


def test_an_object_that_is_too_long_is_given_up_with_its_last_byte_and_searched_inside() -> None:
    begin, inside = b'{"usage":', b'{"usage":{"prompt_tokens":3},"x":"'
    reader = UsageReader()
    reader.feed(begin + inside + b"x" * (16_383 - len(inside)))
    assert reader.usage.prompt_tokens is None
    reader.feed(b"x")
    assert reader.usage.prompt_tokens == 3


FULL = {"message": "prompt is too long: 9000 tokens > 8000 maximum", "type": "invalid_request_error"}
FLAT = {"type": "error", "code": "context_length_exceeded", "message": "Your input is too long.", "param": None}


@each(
    ("last", "told"),
    [
        ({"type": "error", "error": FULL}, FULL),
        ({"error": FULL}, FULL),
        (FLAT, FLAT),
        ({"type": "error", "sequence_number": 3, "error": FULL}, {"type": "error", "sequence_number": 3, "error": FULL}),
        ({"type": "response.output_text.delta", "delta": json.dumps(FLAT)}, None),
        ({"error": {**FULL, "metadata": {"error": {"message": "inner"}}}}, {**FULL, "metadata": {"error": {"message": "inner"}}}),
        ({"type": "response.failed", "response": {"error": FULL, "usage": None}}, FULL),
        ({"type": "response.completed", "response": {"error": None, "output": [{"type": "mcp_call", "error": FULL}]}}, None),
        ({"choices": [{"delta": {"content": json.dumps({"error": FULL})}}]}, None),
    ],
)
def test_the_error_that_ends_a_stream_is_told(last: dict[str, Any], told: dict[str, Any] | None) -> None:
    events = [{"choices": [{"delta": {"content": "It lifts"}}]}, last]
    stream = b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events)
    for size in (1, 7, len(stream)):
        reader = UsageReader()
        for at in range(0, len(stream), size):
            reader.feed(stream[at : at + size])
        assert (json.loads(reader.broke_off) if reader.broke_off else None) == (told and {"error": told})


def test_an_error_in_a_whole_body_ended_no_stream() -> None:
    """It may be a tool's arguments, which Anthropic sends as an object."""
    reader = UsageReader(streamed=False)
    reader.feed(json.dumps({"content": [{"type": "tool_use", "input": {"error": FULL}}], "usage": OPENAI}).encode())
    assert (reader.broke_off, reader.usage) == (b"", SAID)

"""A full context is known, its figures are read, and nothing else is taken for one."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.support.data import shared_root
from tests.support.cases import each
from tests.support.growth import FACTOR, assert_linear, repeated
from turnfold.compression.fit.overflow import SCANNED, Overflow, detect

OWN: list[dict[str, Any]] = json.loads((Path(__file__).parent / "cases" / "overflow.json").read_text(encoding="utf-8"))
_FIXTURES = shared_root() / "data" / "overflow_fixtures.json"


def shared_fixtures() -> list[dict[str, Any]]:
    return json.loads(_FIXTURES.read_text(encoding="utf-8")) if _FIXTURES.exists() else []


@each("case", OWN)
def test_own_cases(case: dict[str, Any]) -> None:
    found = detect(case["status"], case["body"].encode(), in_stream=case["in_stream"])
    if case["expect"] == "no":
        assert found is None
        return
    assert found is not None
    assert (found.limit, found.kind, found.lower_bound) == (case["limit"], case["kind"], case["lower_bound"])
    if case["requested"]:
        assert found.requested == case["requested"]


@pytest.mark.parametrize(
    "said", [r"C:\work: prompt is too long: 9000 tokens > 8000 maximum", r"it\'s prompt is too long: 9000 tokens > 8000 maximum"]
)
@pytest.mark.parametrize("end", ['"}}', '", "typ', '"'])
def test_an_error_with_a_wrong_escape_is_read(said: str, end: str) -> None:
    found = detect(400, f'{{"error": {{"message": "{said}{end}'.encode())
    assert found is not None
    assert (found.limit, found.requested) == (8000, 9000)


def test_an_error_inside_the_text_of_an_error_is_read() -> None:
    told = json.dumps({"error": {"code": "context_length_exceeded", "message": "Too much."}})
    for message in (told, f"the upstream said {told}"):
        found = detect(400, json.dumps({"detail": {"error": {"message": message}}}).encode())
        assert found is not None
        assert found.kind == "prompt"


@each("case", [case for case in OWN if not case["in_stream"] and case["status"] == 400])
def test_own_cases_inside_a_stream(case: dict[str, Any]) -> None:
    """An error says the same whether it comes before the stream or as its first event."""
    before = detect(case["status"], case["body"].encode())
    assert detect(200, f"event: error\ndata: {' '.join(case['body'].splitlines())}\n\n".encode(), in_stream=True) == before


@pytest.mark.skipif(not _FIXTURES.exists(), reason="the shared fixtures are not beside this repository")
def test_shared_fixtures_before_and_inside_a_stream() -> None:
    wrong = []
    for case in shared_fixtures():
        framed = f"data: {case['body']}\n\n" if not case["body"].startswith("<") else case["body"]
        before = detect(case["status"], case["body"].encode(), in_stream=case["status"] == 200)
        inside = detect(200, framed.encode(), in_stream=True)
        for where, found in (("before", before), ("inside", inside)):
            want = (case["limit"], case["requested"]) if case["expect"] == "overflow" else None
            if (found and (found.limit, found.requested)) != want:
                wrong.append((case["name"], where, found))
    assert not wrong


def test_only_the_beginning_of_a_body_is_read() -> None:
    late = b'{"padding": "' + b"x" * SCANNED + b'", "error": {"code": "context_length_exceeded"}}'
    early = b'{"error": {"code": "context_length_exceeded"}, "padding": "' + b"x" * 100 * SCANNED
    assert detect(400, late) is None
    assert detect(400, early) == Overflow("prompt")


def test_a_lower_bound_is_not_taken_for_a_size() -> None:
    body = b'{"error": {"message": "maximum context length is 262144 tokens, your prompt contains at least 262145 input tokens"}}'
    found = detect(400, body)
    assert found is not None
    assert found.lower_bound
    assert found.limit == 262144


@given(st.binary(max_size=300), st.sampled_from([200, 400, 413, 422, 500]), st.booleans())
def test_any_bytes_are_read_without_an_error(body: bytes, status: int, in_stream: bool) -> None:
    detect(status, body, in_stream=in_stream)
    assert detect(429, body, in_stream=in_stream) is None


def _behind(opening: bytes, piece: str) -> Callable[[int], bytes]:
    made = repeated(piece)
    return lambda size: opening + made(size).encode()


@each(
    "piece",
    [
        "context ",
        "prompt 1 ",
        "exceed ",
        "max_tokens ",
        "<",
        "[",
        "{",
        '{"error":',
        "1 + 1 > ",
        "image ",
        "1,",
        '\\"',
        "input was ",
        "token ",
    ],
)
def test_reading_takes_linear_time(piece: str) -> None:
    for opening in (b"", b'{"error": {"message": "'):
        assert_linear(partial(detect, 400), _behind(opening, piece), SCANNED // FACTOR)


def error(message: object, **more: object) -> bytes:
    return json.dumps({"error": {"message": message, **more}}).encode()


@each(
    ("status", "body", "limit", "prompt"),
    [
        (413, error("Request body too large for gpt-4o model. Max size: 8000 tokens.", code="tokens_limit_reached"), 8000, None),
        (413, error("Max size: 16000 tokens.", code="tokens_limit_reached"), 16000, None),
        (
            500,
            error("the request exceeds the available context size, try increasing it", code=500, type="server_error"),
            None,
            None,
        ),
        (500, error("the request exceeds the available context size. try increasing the context size", code=500), None, None),
        (500, error("Context size has been exceeded.", code=500), None, None),
        (500, error("prompt too long; exceeded max context length by 3310 tokens", type="api_error"), None, None),
        (500, error("Your prompt exceeds the maximum context length"), None, None),
        (500, b'{"error": "exceeded max context length"}', None, None),
        (400, b'{"error": "Input is too big (9001 tokens)"}', None, 9001),
        (500, error("The number of tokens to keep from the initial prompt is greater than the context length."), None, None),
        (500, b'{"error": "Prompt tokens (9001) exceed model context window (8192)"}', 8192, 9001),
        (400, error({"detail": "This model's maximum context length is 4096 tokens, however you requested 5000"}), 4096, None),
        (400, error(["maximum context length is 4096 tokens", "please shorten the prompt"]), 4096, None),
        (400, error({"errors": [{"msg": "prompt is too long: 9000 tokens > 8000 maximum"}]}), 8000, 9000),
        (422, b'{"message": ["input: prompt is too long: 9000 tokens > 8000 maximum"]}', 8000, 9000),
        (400, error({"lang": "en", "value": "The maximum context length is 4096 tokens, you requested 5000"}), 4096, None),
        (413, error({"text": "Prompt exceeds the context window of 16384 tokens"}), 16384, None),
        (400, b'{"message": "#/inputText: expected maxLength: 50000, actual: 63000"}', 50000, 63000),
        (400, error("max tokens of 8192 exceeded"), 8192, None),
        (400, error("Maximum tokens of 32768 was exceeded by your prompt"), 32768, None),
        (400, error("Malformed input request: expected maxLength: 8192, actual: 9001, please reformat your input"), 8192, 9001),
        (400, error("The number of tokens in the messages and tools must be at most 8192, but 9001 were given"), 8192, 9001),
    ],
)
def test_further_wordings(status: int, body: bytes, limit: int | None, prompt: int | None) -> None:
    found = detect(status, body)
    assert found is not None
    assert (found.limit, found.prompt) == (limit, prompt) or (prompt is None and found.limit == limit)


@pytest.mark.parametrize(
    "said",
    [
        "The maximum context length of {} is 8192. However, answering your request will take 9001 tokens.",
        "Context window of {} exceeded: limit 8192 tokens, prompt 9001 tokens",
        "Input tokens (9001) exceed the context length of {} (8192)",
        "Prompt too long for {}: 9001 tokens > 8192 maximum",
    ],
)
@pytest.mark.parametrize(
    "model", ["Meta-Llama-3.3-70B-Instruct", "Qwen2.5-72B", "phi-3.5-mini-128k", "claude-opus-4-20250514", "gemma3:27b", "m"]
)
def test_figures_of_a_models_name_are_no_window(said: str, model: str) -> None:
    found = detect(400, error(said.format(model)))
    assert found is not None
    assert found.limit == 8192


@pytest.mark.parametrize(
    "message",
    [
        "Could not parse 'prompt is too long: 9000 tokens > 8000 maximum' as JSON",
        'Invalid message content "prompt is too long: 9000 tokens > 8000 maximum"',
        "messages[3].content: 'maximum context length is 4096 tokens' is not of type array",
        "Unexpected text near “context length exceeded” at line 3",
        'User message could not be parsed: "my prompt is too long: 9000 tokens > 8000 maximum, what can I do?"',
        "Tool arguments are no JSON; they say 'why does it tell me that the context length is exceeded?'",
        "Field metadata.note: “prompt is too long, says the server to me: 9000 tokens > 8000 maximum” has a wrong type",
        "Could not moderate the message 'prompt is too long: 9000 tokens > 8000 maximum'. Try again.",
        "The tool result `error: context length exceeded (4096 tokens)` has no matching tool call.",
        'Unsupported value: the user message starting with "prompt is too long: 12 tokens > 9 maximum" has no role',
    ],
)
def test_the_users_own_words_are_no_overflow(message: str) -> None:
    assert detect(400, error(message)) is None


def test_a_message_that_is_an_echo_is_no_overflow() -> None:
    said = "prompt is too long: 9000 tokens > 8000 maximum"
    assert detect(400, error({"role": "user", "text": said})) is None
    assert detect(400, error({"type": "text", "text": said})) is None


@pytest.mark.parametrize(
    "message",
    [
        "metadata.user_id: expected maxLength: 256, actual: 300",
        "name: expected maxLength: 64, actual: 80",
        "#/tools/0/description: expected maxLength: 1024, actual: 1500",
        "#/stop_sequences/0: expected maxLength: 1000, actual: 1200",
        "user: expected maxLength: 512, actual: 700",
    ],
)
def test_a_field_that_is_too_long_is_no_overflow(message: str) -> None:
    assert detect(400, error(message)) is None


FIGURES = {"n_prompt_tokens": 9001, "n_ctx": 4096}


@pytest.mark.parametrize(
    "more",
    [
        {"details": [{"type": "x"}]},
        {"details": [{"reason": "too long"}, {"loc": ["body", 0]}]},
        {"input": [{"role": "user", "content": "short"}]},
    ],
)
@pytest.mark.parametrize("front", ["", "upstream said: "])
def test_figures_beside_an_array_of_objects_are_read(more: dict[str, Any], front: str) -> None:
    """The array may stand before the figures, behind them, and around the whole."""
    words = {"message": "the request exceeds the available context size"}
    for inner in (words | FIGURES | more, more | words | FIGURES, words | more | FIGURES):
        for whole in ({"error": inner}, [{"error": inner}], {"error": inner, "trace": [{"at": 1}]}):
            found = detect(400, (front + json.dumps(whole)).encode())
            assert found is not None
            assert (found.limit, found.prompt) == (4096, 9001)


def test_figures_in_a_later_object_of_an_array_are_read() -> None:
    words = {"message": "the request exceeds the available context size"}
    found = detect(400, json.dumps([{"code": 400}, {"error": words | FIGURES}]).encode())
    assert found is not None
    assert (found.limit, found.prompt) == (4096, 9001)


_FULL = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."


def test_which_statuses_may_tell_of_a_full_context() -> None:
    body = json.dumps({"error": {"message": _FULL}}).encode()
    assert [status for status in range(200, 600) if detect(status, body) is None] == [
        *range(200, 400),
        *(401, 402, 403, 404, 408, 409, 429),
    ]
    told = [json.dumps({"error": {"message": _FULL, "code": status}}).encode() for status in range(400, 500)]
    assert [400 + i for i, one in enumerate(told) if detect(500, one) is None] == [401, 402, 403, 404, 408, 409, 429]


@pytest.mark.parametrize(("holds", "deepest"), [("object", 8), ("list", 7)])
def test_how_deep_an_error_is_read(holds: str, deepest: int) -> None:
    """An error within errors, and a list within lists: enough for every gateway, and an end for what nests without one."""

    def nested(depth: int) -> bytes:
        value: Any = {"message": _FULL} if holds == "object" else _FULL
        for _ in range(depth):
            value = {"error": value} if holds == "object" else [value]
        return json.dumps(value if holds == "object" else {"error": value}).encode()

    assert [detect(400, nested(depth)) is not None for depth in (0, deepest, deepest + 1)] == [True, True, False]

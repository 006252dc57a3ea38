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
from tests.support.growth import FACTOR, assert_linear, repeated
from turnfold.compression.fit.overflow import SCANNED, Overflow, detect

OWN: list[dict[str, Any]] = json.loads((Path(__file__).parent / "cases" / "overflow.json").read_text(encoding="utf-8"))
_FIXTURES = shared_root() / "data" / "overflow_fixtures.json"


def shared_fixtures() -> list[dict[str, Any]]:
    return json.loads(_FIXTURES.read_text(encoding="utf-8")) if _FIXTURES.exists() else []


@pytest.mark.parametrize("case", OWN, ids=lambda c: c["name"])
def test_own_cases(case: dict[str, Any]) -> None:
    found = detect(case["status"], case["body"].encode(), in_stream=case["in_stream"])
    if case["expect"] == "no":
        assert found is None
        return
    assert found is not None
    assert (found.limit, found.kind, found.lower_bound) == (case["limit"], case["kind"], case["lower_bound"])
    if case["requested"]:
        assert found.requested == case["requested"]


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


@pytest.mark.parametrize(
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

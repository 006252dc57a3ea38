"""Parsing a body: what was read of an earlier request of the conversation saves time and changes nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnfold.compression.errors import FoldRejected
from turnfold.compression.memo import Memo
from turnfold.compression.wire.chat import parse_request

TEXTS = st.text(max_size=30).map(lambda text: text * 400)
TURNS = st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), TEXTS), min_size=1, max_size=40)


def _body(turns: list[tuple[str, str]], *, ascii_only: bool, model_last: bool, spaced: bool) -> bytes:
    messages = [{"role": role, "content": text} for role, text in turns]
    members = {"model": "gpt-4o", "stream": True, "messages": messages, "tools": [{"type": "function"}]}
    if model_last:
        members["model"] = members.pop("model")
    text = json.dumps(members, ensure_ascii=ascii_only, separators=(" ,\n", " : ") if spaced else None)
    return text.encode("utf-8", "surrogatepass")


@settings(max_examples=40)
@given(TURNS, st.integers(1, 40), st.booleans(), st.booleans(), st.booleans())
def test_what_is_known_of_the_beginning_changes_nothing(
    turns: list[tuple[str, str]], grown: int, ascii_only: bool, model_last: bool, spaced: bool
) -> None:
    memo = Memo()
    for end in sorted({*range(0, len(turns), grown), len(turns)}):
        body = _body(turns[:end], ascii_only=ascii_only, model_last=model_last, spaced=spaced)
        assert parse_request(body, memo) == parse_request(body, Memo())


@pytest.mark.parametrize(
    "tail", [b"", b"]", b",]}", b"}", b"]}]", b'], "messages": []}', b'], "a": 1, "a": 2}', b'], "model": "other"}', b",1]}"]
)
def test_what_is_known_hides_no_fault(tail: bytes) -> None:
    memo = Memo()
    start = _body([("user", "word " * 2000)] * 40, ascii_only=True, model_last=False, spaced=False)
    whole = start[: start.rindex(b"]", 0, start.rindex(b'"tools"'))]
    assert parse_request(whole + b"]}", memo).messages
    with pytest.raises(FoldRejected):
        parse_request(whole + tail, memo)


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages":[',
        b'{"messages":',
        b'{"a":,"messages":[]}',
        b'{"messages":[,]}',
        b'{"messages":[{"role":"user"},]}',
        b'{"messages":[],}',
        b'{"messages":{}}',
        b'{"messages":[1]}',
        b'{"messages":[{"content":"x"}]}',
        b"[]",
        b"",
    ],
)
def test_what_is_no_request_is_refused_by_name(body: bytes) -> None:
    with pytest.raises(FoldRejected, match="unparsable"):
        parse_request(body, Memo())

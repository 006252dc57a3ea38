"""What stands in private tags is found and taken out, in texts and in JSON, whatever the tags look like."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from turnfold.compression.text.private import REDACTED, Redactor, is_private, redact, redact_json


@each(
    ("text", "public"),
    [
        ("no tags", "no tags"),
        ("a <private>x</private> b", f"a {REDACTED} b"),
        ("a <PRIVATE reason='x'>x\ny</Private > b", f"a {REDACTED} b"),
        ("a <private>x", f"a {REDACTED}"),
        ("a <private>x<private>y</private>z</private> b", f"a {REDACTED} b"),
        ("a </private> b", "a </private> b"),
        ("<private>x</private><private>y</private>", REDACTED * 2),
        ("<privateer> sails", "<privateer> sails"),
        ("<private <private>x</private>> y", f"<private {REDACTED}> y"),
        ("private matters", "private matters"),
    ],
)
def test_private_text_is_removed(text: str, public: str) -> None:
    assert redact(text) == public
    assert is_private(text) == (text != public)


def test_parts_that_follow_each_other_are_one_text() -> None:
    assert list(map(Redactor(), ["a <private>b", "c", "d</private> e", "f"])) == [f"a {REDACTED}", REDACTED, f"{REDACTED} e", "f"]


PIECES = ["<private>", "</private>", "x", "secret ", "\n", "<", "private", ">"]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_nothing_private_is_left(text: str) -> None:
    public = redact(text)
    assert redact(public) == public
    depth = 0
    for piece in text.replace("</private>", "\0").replace("<private>", "\1"):
        depth += piece == "\1"
        depth -= piece == "\0" and depth > 0
    assert public.endswith(REDACTED) if depth else True


def test_json_keeps_its_form() -> None:
    raw = '{"role": "user", "content": [{"type": "text", "text": "a <private>b"}, {"type": "text", "text": "c</private> d"}]}'
    value = json.loads(redact_json(raw))
    assert value["role"] == "user"
    assert [part["text"] for part in value["content"]] == [f"a {REDACTED}", f"{REDACTED} d"]
    assert all(part["type"] == "text" for part in value["content"])
    escaped = r'{"content": "\u003cprivate\u003ex"}'
    assert json.loads(redact_json(escaped)) == {"content": REDACTED}
    plain = '{ "content":  "a private matter" }'
    assert redact_json(plain) == plain


def test_several_objects_are_one_text() -> None:
    """A message of the Responses format is a call with its result, or reasoning with what follows it."""
    raw = '{"type": "function_call", "arguments": "<private>x"}, {"type": "function_call_output", "output": "y</private> z"}'
    call, output = json.loads(f"[{redact_json(raw)}]")
    assert (call["arguments"], output["output"]) == (REDACTED, f"{REDACTED} z")
    plain = '{"output": "<Privates>True</Privates>"} ,\n{"output": 1e400}'
    assert redact_json(plain) == plain
    with pytest.raises(json.JSONDecodeError):
        redact_json('{"output": "<private>x"')


def test_json_that_is_too_deep_is_private_altogether() -> None:
    raw = '{"content": ' + "[" * 100_000 + '"<private>x"' + "]" * 100_000 + "}"
    assert "x" not in redact_json(raw)

"""What clients call their sessions: where it is found, and what is never written down.

These tests cover headers and bodies of all formats, and the receipt behind the proxy. They leave out reports over sessions.
"""

from __future__ import annotations

import json
from typing import Any

from tests.proxy.harness import ProxyServer, UpstreamServer, call, until
from tests.support.cases import each
from turnfold.compression.memo import Memo
from turnfold.compression.wire.wires import read_any
from turnfold.proxy.chat.labels import may_name_a_session, session_of

HI = [{"role": "user", "content": "hi"}]
KEY = ("authorization", "Bearer sk-proj-abcdefgh12345")


def session(*headers: tuple[str, str], **body: Any) -> str:
    return session_of(headers, read_any(json.dumps({"model": "m", **body}).encode(), Memo()))


@each("name", ["x-claude-code-session-id", "session-id", "session_id", "conversation_id"])
def test_a_header_names_it(name: str) -> None:
    assert session((name, "a1b2"), messages=HI, prompt_cache_key="other") == "a1b2"
    assert session_of([(name, "a1b2")], None) == "a1b2"


def test_a_body_names_it_in_every_format() -> None:
    assert session(messages=HI, prompt_cache_key="thread 7") == "thread 7"
    assert session(input=HI, prompt_cache_key="thread 7") == "thread 7"
    assert session(messages=HI, system="x", metadata={"user_id": "user_a_session_b"}) == "user_a_session_b"
    assert session(messages=HI) == session(messages=HI, metadata={"team": "blue"}) == ""


def test_most_requests_are_not_looked_through() -> None:
    def read(**body: Any) -> Any:
        return read_any(json.dumps({"model": "m", "messages": HI, **body}).encode(), Memo())

    cases: list[tuple[Any, dict[str, Any], bool]] = [
        ((), {}, False),
        ((), {"prompt_cache_key": "k"}, True),
        ((), {"metadata": {}}, True),
        ([(b"session_id", b"k")], {}, True),
        ([(b"session-identity", b"k")], {"user": "k"}, False),
    ]
    for headers, body, may in cases:
        assert may_name_a_session(headers, read(**body)) is may
    assert may_name_a_session([(b"session_id", b"k")], None)
    assert not may_name_a_session([], None)


@each("value", [7, None, ["a"], {"a": 1}, "", "  ", "\t\n"])
def test_what_is_no_name_is_none(value: Any) -> None:
    assert session(messages=HI, prompt_cache_key=value, metadata=value) == ""
    assert session(messages=HI, metadata={"user_id": value}) == ""


def test_a_name_is_short_and_printable() -> None:
    assert session(messages=HI, prompt_cache_key="a\x1b[2J\u202eb\ud800\nc" + "x" * 900) == "a[2Jbc" + "x" * 194
    assert session(messages=HI, prompt_cache_key="\0" * 799 + "ab") == "a"
    assert session(messages=HI, prompt_cache_key="\0" * 800 + "ab") == ""  # nor is a long one looked through for more


@each(
    "value",
    ["sk-ant-api03-abcdefgh", "user sk-proj-12345678", "gsk_12345678abc", "AIza-12345678", "eyJhbGciOi.x.y", "Bearer abc", "tok"],
)
def test_a_key_is_never_a_name(value: str) -> None:
    own = ("x-api-key", "tok")
    assert session(own, ("session_id", value), messages=HI, prompt_cache_key="fine") == "fine"
    assert session(KEY, own, messages=HI, prompt_cache_key=value) == ""


def test_a_receipt_names_wire_and_session_and_neither_decides(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    bodies = {
        "/v1/chat/completions": {"model": "m", "messages": HI, "prompt_cache_key": "k"},
        "/v1/responses": {"model": "m", "input": HI, "prompt_cache_key": "k"},
        "/v1/messages": {"model": "m", "max_tokens": 9, "messages": HI, "metadata": {"user_id": "k"}},
    }
    for path, body in bodies.items():
        sent = json.dumps(body).encode()
        assert call(proxy.origin, "POST", path, sent, [("content-type", "application/json")]).status == 200
        assert upstream.seen[-1].body == sent
    found = proxy.recorder.so_far
    until(lambda: len(found) == 3)
    assert [(one.wire, one.session) for one in found] == [("chat", "k"), ("responses", "k"), ("messages", "k")]
    call(proxy.origin, "POST", "/v1/chat/completions", json.dumps({"model": "m", "messages": HI}).encode(), [("session_id", "z")])
    until(lambda: len(found) == 4)
    assert (found[3].session, found[3].conversation) == ("z", found[0].conversation)

"""Odd sessions over HTTP: what goes up is valid, what comes back is as it came, and every figure and original is kept.

These tests cover laws over the sessions that ``wild_sessions`` draws, with a server of ours between; any body for a route of
ours. They leave out the engine alone (``test_wild_sessions``), breaking streams (``test_streams``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.proxy.harness import Answer, UpstreamServer, api_server, call, reply, until
from tests.support.effort import costly
from tests.support.provider_rules import faults, refusals
from tests.support.warm import warm_fold
from tests.support.wild_sessions import requests, session
from turnfold.config.settings import AuthSettings

_PATHS: Final = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
_USAGE: Final[dict[str, dict[str, Any]]] = {
    "chat": {"prompt_tokens": 90, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 64}},
    "messages": {"input_tokens": 26, "output_tokens": 5, "cache_read_input_tokens": 64},
    "responses": {"input_tokens": 90, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 64}},
}
_SAID: Final = 'Grüße 😀 漢字 \\" {"usage": {"prompt_tokens": 1}} \u2028'
_ADMIN: Final = [("x-turnfold-admin-token", "adm")]


@pytest.fixture(scope="module")
def origin(shared_upstream: Any) -> Iterator[str]:
    auth = AuthSettings.model_validate({"admin_token": "adm"})
    with api_server("memory://", f"{shared_upstream[0].origin}/v1", engine=warm_fold, auth=auth) as served:
        yield served


def _answer(wire: str, streamed: bool, end: str) -> bytes:
    """What an upstream says; a text in it looks like usage, and is none."""
    whole = json.dumps({"said": _SAID, "usage": _USAGE[wire]}, ensure_ascii=False)
    if not streamed:
        return whole.encode()
    delta = json.dumps({"delta": {"content": _SAID}, "usage": None}, ensure_ascii=False)
    return "".join(f"event: x{end}data: {one}{end}{end}" for one in (delta, ": ping", whole, "[DONE]")).encode()


def _cut(data: bytes, sizes: Sequence[int]) -> list[bytes]:
    """The bytes in pieces, inside characters and line ends too."""
    at, pieces = 0, []
    for size in sizes:
        pieces.append(data[at : at + size])
        at += size
    return [piece for piece in (*pieces, data[at:]) if piece]


@settings(costly(3), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**20),
    wire=st.sampled_from(sorted(_PATHS)),
    streamed=st.booleans(),
    budget=st.sampled_from([None, 400, 1500]),
    sizes=st.lists(st.integers(1, 90), max_size=12),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_a_session_goes_through(
    upstream: UpstreamServer,
    origin: str,
    seed: int,
    wire: str,
    streamed: bool,
    budget: int | None,
    sizes: list[int],
    end: str,
) -> None:
    data = _answer(wire, streamed, end)
    kind = b"text/event-stream" if streamed else b"application/json"
    own = [("authorization", f"Bearer {seed}"), *([("x-turnfold-budget", str(budget))] if budget else [])]
    for _, body in list(requests(session(wire, seed, 4)))[::3]:
        asked = body[:-1] + b',"stream":true}' if streamed else body
        upstream.handler = reply(*_cut(data, sizes), headers=((b"content-type", kind),))
        answer = call(origin, "POST", _PATHS[wire], asked, [("content-type", "application/json"), *own])
        assert (answer.status, answer.body) == (200, data)
        _check_sent(wire, asked, upstream.seen[-1].body, answer)
        _check_kept(origin, own[:1], asked, answer, streamed=streamed)


def _check_sent(wire: str, asked: bytes, sent: bytes, answer: Answer) -> None:
    status = answer.header("x-turnfold-status")
    assert status in ("folded", "shaped") if sent != asked else status == "passthrough"
    before, after = (int(answer.header(f"x-turnfold-tokens-{name}") or -1) for name in ("before", "after"))
    assert 0 <= after < before if sent != asked else after == before
    if sent != asked:
        assert [*refusals(wire, sent), *faults(wire, asked, sent)] == []


def _check_kept(origin: str, own: list[tuple[str, str]], asked: bytes, answer: Answer, *, streamed: bool) -> None:
    """The receipt says what the headers said and the upstream reported; each section comes back as it was sent."""
    where = f"/admin/requests/{answer.header('x-turnfold-request-id')}"
    until(lambda: call(origin, "GET", where, None, _ADMIN).status == 200)
    told = call(origin, "GET", where, None, _ADMIN).json()
    receipt = told["receipt"]
    figures = [receipt[name] for name in ("tokens_before", "tokens_after")]
    assert figures == [int(answer.header(f"x-turnfold-tokens-{name}") or -1) for name in ("before", "after")]
    assert (receipt["status"], receipt["streamed"]) == (answer.header("x-turnfold-status"), streamed)
    usage = receipt.get("usage", receipt)
    assert [usage[name] for name in ("prompt_tokens", "completion_tokens", "cached_tokens")] == [90, 5, 64]
    for section in told["sections"]:
        wanted = json.dumps({"section_id": section["id"], "target_layer": 0}).encode()
        text = call(origin, "POST", "/v1/drill-down", wanted, own).json()["text"]
        assert text == "\n".join(section["messages"])
        assert all(_is_in(line, asked) for line in section["messages"])


def _is_in(line: str, asked: bytes) -> bool:
    """Whether an original is in the request as it came; a mark of the cache may have stood on it in an earlier one."""
    return "cache_control" in line or line.encode("utf-8", "surrogatepass") in asked


def _value(random: Random, depth: int = 0) -> Any:
    """Any JSON, and what Python takes for some."""
    kind = random.randrange(7 if depth < 3 else 4)
    if kind == 0:
        return random.choice((None, True, 0, -1, 2.5, 10**30, float("nan"), float("inf")))
    if kind < 4:
        return random.choice(("", " ", "user", "a\ud800b", "\x00", "\ufeff", "../x", "[turnfold 0123456789ab: ...]", "x" * 3000))
    if kind < 6:
        names = ("text", "messages", "role", "content", "conversation_id", "message", "section_id", "export", "policies", "é", "")
        return {random.choice(names): _value(random, depth + 1) for _ in range(random.randrange(4))}
    return [_value(random, depth + 1) for _ in range(random.randrange(4))]


_OWN: Final = (
    *(("POST", f"/v1/{name}") for name in ("compress", "drill-down", "conversation", "exchange", "cache/clear", "state/preview")),
    *(("POST", f"/v1/messages/{name}") for name in ("compress", "uncompress")),
    *(("PUT", "/v1/conversation/c"), ("PUT", "/v1/state/c")),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**20), route=st.sampled_from(_OWN), front=st.sampled_from([b"", b"", b"\xef\xbb\xbf", b"["]))
def test_any_body_is_served_or_refused_by_name(
    upstream: UpstreamServer, origin: str, seed: int, route: tuple[str, str], front: bytes
) -> None:
    body = front + json.dumps(_value(Random(seed)), ensure_ascii=seed % 2 == 0).encode("utf-8", "surrogatepass")
    answer = call(origin, *route, body, [("content-type", "application/json")])
    assert answer.status < 500
    if answer.status >= 400:
        error = answer.json()["error"]
        assert error["code"]
        assert error["message"]
        assert error["param"] or answer.status not in (400, 422)
    assert upstream.seen == []

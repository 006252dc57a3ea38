"""Full contexts caused by files, audio and video, whose tokens only the upstream knows.

These tests show what is removed and what is learned, against an upstream that weighs files in its own way. They leave out
overflows of text (``test_recovery``), how weights are spread (``tests/compression/fit/test_unpriced``).
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from tests.proxy.harness import Answer, ProxyServer, StartProxy, UpstreamServer, call, reply, until
from tests.support.effort import crosswise
from tests.support.overflow_upstream import DIALECTS, count_text
from tests.support.overfull import overfull
from tests.support.warm import warm_fold

WINDOW = 6_000
PER_BYTE = 0.25  # tokens of this upstream
PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
DIALECT_OF = {"chat": "openai", "responses": "cerebras", "messages": "anthropic"}
Part = dict[str, Any]
_UNREAD = frozenset({"type", "role", "format", "filename", "title", "media_type"})


def by_id(wire: str, number: int, weight: int) -> Part:
    name = f"file-{number}-weighs-{weight}"
    parts: dict[str, Part] = {
        "chat": {"type": "file", "file": {"file_id": name}},
        "responses": {"type": "input_file", "file_id": name},
        "messages": {"type": "document", "source": {"type": "file", "file_id": name}},
    }
    return parts[wire]


def by_data(wire: str, number: int, weight: int) -> Part:
    data = base64.b64encode(bytes([number + 1]) * int(weight / PER_BYTE)).decode()
    url, name = f"data:application/pdf;base64,{data}", f"report-{number}.pdf"
    parts: dict[str, Part] = {
        "chat": {"type": "file", "file": {"filename": name, "file_data": url}},
        "responses": {"type": "input_file", "filename": name, "file_data": url},
        "messages": {
            "type": "document",
            "title": name,
            "source": {"type": "base64", "media_type": "application/pdf", "data": data},
        },
    }
    return parts[wire]


def aloud(wire: str, number: int, weight: int) -> Part:
    del wire
    data = base64.b64encode(bytes([number + 1]) * int(weight / PER_BYTE)).decode()
    return {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}


def film(wire: str, number: int, weight: int) -> Part:
    del wire
    return {"type": "video_url", "video_url": {"url": f"https://films.example/file-{number}-weighs-{weight}.mp4"}}


def weigh(value: Any) -> int:
    """Tokens of this upstream."""
    if isinstance(value, str):
        named = re.search(r"file-\d+-weighs-(\d+)(?:\.mp4)?\Z", value)
        if named:
            return int(named[1])
        data = value.removeprefix("data:application/pdf;base64,")
        is_data = len(data) > 1000 and re.fullmatch(r"[\w+/=]+", data)
        return int(len(data) * 3 / 4 * PER_BYTE) if is_data else count_text(value)
    read = [v for k, v in value.items() if k not in _UNREAD] if isinstance(value, dict) else []
    inside = value if isinstance(value, list) else read
    return sum(map(weigh, inside))


def conversation(wire: str, text: int, attached: dict[int, Part], **more: Any) -> dict[str, Any]:
    """A chat of so many tokens of text; `attached` are parts by the number of the user's message."""
    said = [one for one in overfull("long chat", text, model="any")["messages"] if one["role"] in ("user", "assistant")]
    users = [one for one in said if one["role"] == "user"]
    for number, part in attached.items():
        kind = "input_text" if wire == "responses" else "text"
        one = users[number]
        before = one["content"] if isinstance(one["content"], list) else [{"type": kind, "text": one["content"]}]
        one["content"] = [part, *before]
    return {"model": "gpt-4o", "input" if wire == "responses" else "messages": said, "max_tokens": 300, **more}


def kept(body: bytes) -> list[int]:
    """What the attachments of a request weigh, in order."""
    value = json.loads(body)
    said = value.get("messages") or value["input"]
    parts = (part for one in said if isinstance(one["content"], list) for part in one["content"])
    return [weigh(part) for part in parts if part["type"] not in ("text", "input_text")]


def limited(upstream: UpstreamServer, dialect: str, *, told: bool = True) -> None:
    """Let an upstream refuse what is more than its window; `told`: and name its total."""
    speaks = DIALECTS[dialect]

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        body = json.loads(upstream.seen[-1].body)
        count = weigh(body.get("messages") or body["input"])
        if count + 300 <= WINDOW:
            usage = {"prompt_tokens": count, "completion_tokens": 1}
            await reply(json.dumps({"choices": [{"message": {"content": "ok"}}], "usage": usage}).encode())(scope, receive, send)
            return
        error = json.dumps(speaks.render(WINDOW, count, 300) if told else {"error": {"code": "context_length_exceeded"}}).encode()
        if body.get("stream"):
            kind = ((b"content-type", b"text/event-stream"),)
            await reply(b"data: " + error + b"\n\n", headers=kind)(scope, receive, send)
            return
        await reply(error, status=400)(scope, receive, send)

    upstream.handler = handler


def post(proxy: ProxyServer, wire: str, body: dict[str, Any]) -> Answer:
    headers = [("content-type", "application/json"), ("authorization", "Bearer k")]
    return call(proxy.origin, "POST", PATHS[wire], json.dumps(body).encode(), headers)


@pytest.mark.parametrize(("wire", "write"), crosswise(product(PATHS, [by_id, by_data]), 2))
def test_text_goes_first(wire: str, write: Any, upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    limited(upstream, DIALECT_OF[wire])
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    body = conversation(wire, 3300, {1: write(wire, 0, 1300), 4: write(wire, 1, 1800)})
    answer = post(proxy, wire, body)
    assert (answer.status, answer.header("x-turnfold-status")) == (200, "recovered")
    assert answer.header("x-turnfold-reason") in ("overflow-prompt", "overflow-sum")
    assert len(upstream.seen) == 2
    assert kept(upstream.seen[1].body) == kept(upstream.seen[0].body)


@pytest.mark.parametrize(("wire", "write"), [*crosswise(product(PATHS, [by_data, by_id]), 2), ("chat", aloud), ("chat", film)])
def test_the_oldest_go_where_text_is_not_enough(wire: str, write: Any, upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    """Each leaves a marker; header and receipt say so."""
    limited(upstream, DIALECT_OF[wire])
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    body = conversation(wire, 2500, {n: write(wire, n, 2500) for n in (0, 3, 5)})
    answer = post(proxy, wire, body)
    assert (answer.status, answer.header("x-turnfold-reason")) == (200, "attachments-left-out")
    assert proxy.recorder.one().reason == "attachments-left-out"
    sent = upstream.seen[1].body
    before, after = kept(upstream.seen[0].body), kept(sent)
    assert 0 < len(after) < len(before)
    assert after == before[-len(after) :]
    marked = re.findall(r"\[turnfold \w+: (?:(\d) × )?(?:file|document|audio|video)\b[^]]* left out\]", sent.decode())
    assert sum(int(alike or 1) for alike in marked) == len(before) - len(after)


@pytest.mark.parametrize("newest", [2500, 4500])
def test_those_of_the_question_stay(newest: int, upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    limited(upstream, "openai")
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    body = conversation("chat", 2500, {1: by_id("chat", 0, 3000), -1: by_id("chat", 1, newest)})
    assert post(proxy, "chat", body).status == 200
    assert kept(upstream.seen[1].body)[-1] == newest


def test_an_error_inside_a_stream_is_seen_beside_little_text(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    limited(upstream, "openrouter")
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    body = conversation("chat", 1200, {1: by_id("chat", 0, 4500), 2: by_id("chat", 1, 1500)}, stream=True)
    answer = post(proxy, "chat", body)
    assert (answer.header("x-turnfold-status"), b"error" in answer.body) == ("recovered", False)
    assert len(kept(upstream.seen[1].body)) < 2


def test_without_a_total_none_is_taken(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    limited(upstream, "openai", told=False)
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    answer = post(proxy, "chat", conversation("chat", 3000, {n: by_id("chat", n, 4000) for n in (0, 3)}))
    assert answer.status == 400
    assert [kept(seen.body) for seen in upstream.seen] == [[4000, 4000]] * 2


def test_where_the_question_alone_is_too_large_the_first_error_stands(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    limited(upstream, "openai")
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    body = conversation("chat", 3000, {-1: by_id("chat", 0, 10_000)})
    answer = post(proxy, "chat", body)
    first = weigh(json.loads(upstream.seen[0].body)["messages"])
    assert (answer.status, json.loads(answer.body)) == (400, DIALECTS["openai"].render(WINDOW, first, 300))


@pytest.mark.parametrize("attached", [True, False])
def test_files_are_not_learned_as_a_ratio_of_text(attached: bool, upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    """A text that fits is sent as it came after any number of answers to files; after text that counted as much, it is not."""
    parts: Sequence[Part] = [by_id("chat", 0, 1)] if attached else []
    upstream.handler = reply(json.dumps({"choices": [], "usage": {"prompt_tokens": 7000, "completion_tokens": 1}}).encode())
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    for number in range(3):
        text = {"type": "text", "text": f"{number} " + "pump " * 1500}
        post(proxy, "chat", {"model": "gpt-4", "messages": [{"role": "user", "content": [*parts, text]}]})
    until(lambda: len(proxy.recorder.so_far) == 3)
    said = [{"role": role, "content": f"{role} " + "pump " * 400} for role in ("user", "assistant") * 4]
    post(proxy, "chat", {"model": "gpt-4", "messages": [*said, {"role": "user", "content": "And now?"}]})
    assert (json.loads(upstream.seen[-1].body)["messages"][:-1] == said) is attached

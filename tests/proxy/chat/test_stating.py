"""Conversation state in the request path, end to end: a client, the proxy, an upstream that records.

These tests show what is forwarded and what is answered under each setting. They leave out rules of the engine, where blocks stand
in a fold (``tests/compression/fold/test_state_blocks.py``).
"""

from __future__ import annotations

import contextlib
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai import OpenAI

from tests.proxy.harness import (
    NO_LOGGING,
    Answer,
    ProxyServer,
    Receipts,
    Running,
    StartProxy,
    UpstreamServer,
    call,
    reply,
    running,
    settings_for,
)
from tests.support.prefix import Kind, classify
from tests.support.warm import warm_fold
from turnfold.compression.fold import fold_request
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.state import State, render_block
from turnfold.compression.state.block import OPENING
from turnfold.proxy.books.rollups import UNPRICED, measures
from turnfold.proxy.client import Client
from turnfold.proxy.server import configuration

ENFORCE: dict[str, Any] = {"state": "enforce"}
SAID = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Certainly. use emojis"}, "finish_reason": "stop"}],
    }
).encode()
TAKEN = '"docker" is currently in use.\nRemove or replace it before prohibiting it.'
DOCKER = render_block(State(policies={"docker": "use"}))


class Chat:
    """A client that sends its whole history each time, and keeps what was forwarded."""

    def __init__(self, proxy: ProxyServer, upstream: UpstreamServer, *headers: tuple[str, str], **fields: Any) -> None:
        self.proxy, self.upstream, self.headers, self.fields = proxy, upstream, headers, fields
        self.messages: list[dict[str, Any]] = []
        upstream.handler = reply(SAID)

    def body(self) -> bytes:
        return json.dumps({"model": "gpt-4o", **self.fields, "messages": self.messages}).encode()

    def say(self, text: str) -> Answer:
        self.messages.append({"role": "user", "content": text})
        answer = self.proxy.chat(self.body(), *self.headers)
        assert answer.status == 200, answer.body
        self.messages.append(answer.json()["choices"][0]["message"] | {"role": "assistant"})
        return answer

    def forwarded(self) -> list[str]:
        """Contents of the messages that the upstream got last."""
        return [message["content"] for message in json.loads(self.upstream.seen[-1].body)["messages"]]


def told(answer: Answer) -> str:
    return str(answer.json()["choices"][0]["message"]["content"])


@pytest.fixture
def enforcing(upstream: UpstreamServer, start_proxy: StartProxy) -> Chat:
    return Chat(start_proxy(upstream.origin + "/v1", fold=warm_fold, folding=ENFORCE), upstream)


def test_off_changes_no_byte(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    body = b'{ "model":"gpt-4o", "messages" : [{"role":"user","content":"use \\u0064ocker"}] }'
    answer = proxy.chat(body)
    assert upstream.seen[0].body == body
    assert answer.header("x-turnfold-state") is None
    assert proxy.recorder.one().state == ""


@pytest.mark.parametrize(("text", "verdict"), [("use docker", "acknowledge"), ("set premise", "clarify"), ("hi", "forward")])
def test_observe_forwards_unchanged_and_reports(upstream: UpstreamServer, proxy: ProxyServer, text: str, verdict: str) -> None:
    chat = Chat(proxy, upstream, ("x-turnfold-state", "Observe"))
    answer = chat.say(text)
    assert json.loads(upstream.seen[0].body)["messages"] == chat.messages[:1]
    assert upstream.seen[0].header("x-turnfold-state") is None
    assert answer.header("x-turnfold-state") == f"would-{verdict}" == proxy.recorder.one().state


def test_a_senseless_header_is_named(proxy: ProxyServer) -> None:
    answer = proxy.chat({"model": "m", "messages": []}, ("x-turnfold-state", "on"))
    assert (answer.status, answer.json()["error"]["param"]) == (400, "x-turnfold-state")
    assert "off, observe, enforce" in answer.json()["error"]["message"]


def test_what_is_laid_down_persists(enforcing: Chat) -> None:
    answer = enforcing.say("use docker")
    assert told(answer) == "State updated.\nuse: docker"
    assert (answer.header("x-turnfold-status"), answer.header("x-turnfold-reason")) == ("answered", "state-acknowledge")
    assert answer.header("content-length") == str(len(answer.body))
    assert not enforcing.upstream.seen
    enforcing.say("how do I start it?")
    assert enforcing.forwarded() == [f"{DOCKER}\n\nuse docker", "State updated.\nuse: docker", "how do I start it?"]
    enforcing.say("and stop it?")
    assert enforcing.forwarded()[0] == f"{DOCKER}\n\nuse docker"
    assert "emojis: use" not in " ".join(enforcing.forwarded())  # the model's own words lay nothing down
    assert [receipt.status for receipt in enforcing.proxy.recorder.receipts] == ["answered", "passthrough", "passthrough"]
    assert [receipt.state for receipt in enforcing.proxy.recorder.receipts] == ["acknowledge", "forward", "forward"]


def test_a_local_answer_counts_as_nothing_paid_and_nothing_saved(enforcing: Chat) -> None:
    enforcing.say("use docker")
    receipt = enforcing.proxy.recorder.one()
    assert (receipt.upstream_status, receipt.tokens_before, receipt.tokens_after) == (None, 0, 0)
    assert receipt.usage.prompt_tokens is None
    assert receipt.model == "gpt-4o"
    assert receipt.complete
    assert dict(measures(receipt, UNPRICED)) == {"requests": 1, "overhead_us": 0}


def test_a_contradiction_is_asked_about(upstream: UpstreamServer, enforcing: Chat) -> None:
    enforcing.say("use docker")
    messages: list[Any] = [*enforcing.messages, {"role": "user", "content": "prohibit docker"}]
    with OpenAI(base_url=enforcing.proxy.origin + "/v1", api_key="sk-user", max_retries=0) as client:
        whole = client.chat.completions.create(model="gpt-4o", messages=messages, n=2)
        assert [choice.message.content for choice in whole.choices] == [TAKEN, TAKEN]
        assert whole.choices[0].finish_reason == "stop"
        chunks = list(
            client.chat.completions.create(model="gpt-4o", messages=messages, stream=True, stream_options={"include_usage": True})
        )
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == TAKEN
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 0
    assert {chunk.id for chunk in chunks} == {chunks[0].id}
    assert chunks[0].id.startswith("chatcmpl-turnfold-")
    assert not upstream.seen
    states = [(receipt.reason, receipt.streamed) for receipt in enforcing.proxy.recorder.receipts[1:]]
    assert states == [("state-clarify", False), ("state-clarify", True)]


def test_a_replacement_is_confirmed(enforcing: Chat) -> None:
    assert told(enforcing.say("use podman instead of docker")) == 'Did you mean to use "podman" instead?'
    assert told(enforcing.say("yes")) == "State updated.\nuse: podman"
    enforcing.say("go on")
    assert render_block(State(policies={"podman": "use"})) in enforcing.forwarded()[2]


def test_a_conversation_is_never_stuck(enforcing: Chat) -> None:
    enforcing.say("use podman instead of docker")
    asked = 'Did you mean to use "podman" instead?'
    assert told(enforcing.say("hm")) == asked
    enforcing.say("no, I mean the weather")
    assert enforcing.forwarded()[-1] == "no, I mean the weather"
    enforcing.say("yes")
    assert enforcing.forwarded()[-1] == "yes"


def test_ordinary_sentences_go_through(enforcing: Chat) -> None:
    enforcing.say("use the attached file to write a summary of Q3")
    assert enforcing.forwarded() == ["use the attached file to write a summary of Q3"]


def test_what_may_be_a_request_goes_out_under_its_state(enforcing: Chat) -> None:
    answer = enforcing.say("use formal tone")
    assert answer.header("x-turnfold-state") == "forward"
    assert enforcing.forwarded() == [f"{render_block(State(policies={'formal tone': 'use'}))}\n\nuse formal tone"]
    enforcing.say("use the blue one")
    enforcing.say("use red instead of blue")
    assert enforcing.forwarded()[2::2] == ["use the blue one", "use red instead of blue"]


def test_an_acknowledgement_may_be_left_to_the_model(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold, folding=ENFORCE | {"state_acknowledge": "forward"})
    chat = Chat(proxy, upstream)
    chat.say("use docker")
    assert chat.forwarded() == [f"{DOCKER}\n\nuse docker"]


@pytest.mark.parametrize("mode", ["off", "observe"])
def test_the_state_holds_where_nothing_is_folded(enforcing: Chat, mode: str) -> None:
    enforcing.headers = (("x-turnfold-mode", mode),)
    enforcing.say("use docker")
    answer = enforcing.say("go")
    assert enforcing.forwarded()[0] == f"{DOCKER}\n\nuse docker"
    assert answer.header("x-turnfold-status") == {"off": "bypassed", "observe": "observed"}[mode]


def test_a_coded_body_is_read(enforcing: Chat) -> None:
    enforcing.say("use docker")
    enforcing.messages.append({"role": "user", "content": "go"})
    answer = enforcing.proxy.chat(gzip.compress(enforcing.body()), ("content-encoding", "gzip"))
    assert answer.status == 200
    assert enforcing.forwarded()[0] == f"{DOCKER}\n\nuse docker"
    assert enforcing.upstream.seen[-1].header("content-encoding") is None


@pytest.mark.parametrize(
    "body", [b"{", b'{"model":"m","messages":3}', b'{"messages":[{"role":"user","content":"use x"}],"messages":[]}']
)
def test_what_cannot_be_read_goes_as_it_came(enforcing: Chat, body: bytes) -> None:
    answer = enforcing.proxy.chat(body)
    assert enforcing.upstream.seen[0].body == body
    assert answer.header("x-turnfold-state") is None


def test_a_failure_of_the_station_costs_no_request(enforcing: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("turnfold.proxy.chat.stating.place", broken)
    answer = enforcing.say("use docker")
    assert enforcing.forwarded() == ["use docker"]
    assert (answer.header("x-turnfold-status"), answer.header("x-turnfold-reason")) == ("failed-open", "ZeroDivisionError")


def test_a_recovered_request_keeps_its_state(enforcing: Chat) -> None:
    enforcing.say("use docker")
    for n in range(12):
        enforcing.messages += [
            {"role": "user", "content": f"question {n}: " + "why does the crane stop at berth nine? " * 20},
            {"role": "assistant", "content": f"answer {n}: " + "because the tide table says so, as ever. " * 40},
        ]
    full = {"message": "This model's maximum context length is 1000 tokens. However, your messages resulted in 9000 tokens."}
    refusal = json.dumps({"error": full | {"type": "invalid_request_error", "code": "context_length_exceeded"}}).encode()

    async def handler(*asgi: Any) -> None:
        await (reply(refusal, status=400) if len(enforcing.upstream.seen) == 1 else reply(SAID))(*asgi)

    enforcing.upstream.handler = handler
    answer = enforcing.say("and what now?")
    assert answer.header("x-turnfold-status") == "recovered"
    assert [text.count(DOCKER) for text in enforcing.forwarded() if OPENING in text] == [1]
    assert f"{DOCKER}\n\nand what now?" in enforcing.forwarded()[-1]


LAID: dict[int, str] = {
    3: "set premise the project uses uv",
    20: "prohibit global variables",
    41: "use type hints",
    60: "use pytest",
    77: "prohibit emojis",
    101: "use hypothesis instead of pytest",
    130: "remove policy emojis",
    160: "change premise to the project uses uv and ruff",
    161: "use ruff",
}
LEFT = State(
    "the project uses uv and ruff", {"global variables": "prohibit", "hypothesis": "use", "ruff": "use", "type hints": "use"}
)


def test_two_hundred_turns_folded_to_a_fifth_hold_all_that_is_in_force(enforcing: Chat) -> None:
    """With every directive in force in the last block, none that was revoked, and a stable prefix between fold events."""
    rewrites = 0
    before: tuple[bytes, bytes] | None = None
    for turn in range(200):
        if turn in LAID:
            enforcing.say(LAID[turn])
            continue
        if turn == 100:
            enforcing.say("what is on the list")
        enforcing.messages += [
            {
                "role": "user",
                "content": f"note {turn}: crane {turn * 7 % 31} moved to berth {turn * 5 % 13} on the tide of day {turn}",
            },
        ]
        received = enforcing.body()
        if turn % 4 == 0 or turn > 190:
            assert enforcing.proxy.chat(received).status == 200
            forwarded = enforcing.upstream.seen[-1].body
            if before is not None:
                rewrites += classify(*before, forwarded).kind is Kind.REWRITE
            before = received, forwarded
        enforcing.messages.append(
            {"role": "assistant", "content": f"Noted {turn}. " + "The tide table of the month says so. " * 6}
        )
    enforcing.messages.append({"role": "user", "content": "and what now?"})
    whole = fold_request(enforcing.body(), FoldOptions(), Memo()).tokens_before
    answer = enforcing.proxy.chat(enforcing.body(), ("x-turnfold-budget", str(whole // 5)))
    assert int(answer.header("x-turnfold-tokens-after") or 0) <= whole // 5
    text = "\n".join(enforcing.forwarded())
    assert text[text.rindex(OPENING) :].startswith(render_block(LEFT))
    assert 0 < rewrites <= 8


@contextlib.contextmanager
def whole_proxy(upstream: UpstreamServer, path: Path) -> Iterator[tuple[ProxyServer, Running]]:
    """The proxy as it is served, with a SQLite store."""
    store = {"url": f"sqlite:///{path}/store.db"}
    auth = {"admin_token": "admin"}
    settings = settings_for(upstream.origin + "/v1", folding=ENFORCE, store=store, auth=auth)
    patient = settings.store.model_copy(update={"timeout": 10.0})  # this machine may be busy with other tests
    settings = settings.model_copy(update={"store": patient})
    config = configuration(settings, **NO_LOGGING, workers=1, timeout_graceful_shutdown=5)
    with running(config) as server:
        yield ProxyServer(server.origin, Receipts()), server


def test_a_pending_question_survives_a_restart(upstream: UpstreamServer, tmp_path: Path) -> None:
    headers = (("authorization", "Bearer sk-user"), ("x-turnfold-conversation", "c1"))
    with whole_proxy(upstream, tmp_path) as (proxy, _):
        chat = Chat(proxy, upstream, *headers)
        with httpx.Client(base_url=proxy.origin, headers={"authorization": "Bearer sk-user"}, timeout=60) as http:
            Client(http=http).set_state("c1", {"premise": "p", "policies": {"docker": "prohibit"}, "version": 2})
        question = told(chat.say("use podman instead of docker"))
        assert question.startswith('"docker" is currently prohibited.')
    with whole_proxy(upstream, tmp_path) as (proxy, _):
        chat.proxy = proxy
        with httpx.Client(base_url=proxy.origin, headers={"authorization": "Bearer sk-user"}, timeout=60) as http:
            assert Client(http=http).state("c1")["pending"] == question
        assert told(chat.say("yes")) == "State updated.\npremise: p\nuse: podman"
        chat.say("go on")
        assert render_block(State("p", {"podman": "use"})) in "\n".join(chat.forwarded())


def test_states_are_kept_by_tenant(upstream: UpstreamServer, tmp_path: Path) -> None:
    state = {"premise": None, "policies": {"docker": "use"}, "version": 2}
    with whole_proxy(upstream, tmp_path) as (proxy, _), httpx.Client(base_url=proxy.origin, timeout=60) as http:
        mine, theirs = {"authorization": "Bearer sk-a"}, {"authorization": "Bearer sk-b"}
        assert http.put("/v1/state/c", json=state, headers=mine).status_code == 200
        assert http.get("/v1/state/c", headers=mine).json()["state"] == state
        assert http.get("/v1/state/c", headers=theirs).status_code == 404
        assert http.delete("/v1/state/c", headers=theirs).status_code == 404
        chat = Chat(proxy, upstream, *mine.items(), ("x-turnfold-conversation", "c"))
        chat.say("hello")
        assert chat.forwarded() == [f"{DOCKER}\n\nhello"]
        stranger = Chat(proxy, upstream, *theirs.items(), ("x-turnfold-conversation", "c"))
        stranger.say("hello")
        assert stranger.forwarded() == ["hello"]
        seen = http.get("/v1/state/c", headers=mine).json()
        assert (seen["state"], seen["messages_seen"]) == (state, 1)
        assert http.get("/v1/state/c", headers=mine | {"x-turnfold-tenant": "x"}).status_code == 200  # no admin: it says nothing
        admin = {"x-turnfold-admin-token": "admin", "x-turnfold-tenant": "x"}
        assert http.get("/v1/state/c", headers=admin).status_code == 404
        assert http.delete("/v1/state/c", headers=mine).json()["deleted"] is True
        assert http.get("/v1/state/c", headers=mine).status_code == 404
        preview = http.post("/v1/state/preview", json={"input": "prohibit docker", "state": state}, headers=mine).json()
        assert preview["decision"]["kind"] == "clarify"
        assert not [one for one in upstream.seen if "/state" in one.target]


def test_messages_after_a_state_was_set_go_on_from_it(upstream: UpstreamServer, tmp_path: Path) -> None:
    headers = (("authorization", "Bearer sk-a"), ("x-turnfold-conversation", "c"))
    with whole_proxy(upstream, tmp_path) as (proxy, _):
        chat = Chat(proxy, upstream, *headers)
        chat.say("use tabs")
        chat.say("hello")
        with httpx.Client(base_url=proxy.origin, headers={"authorization": "Bearer sk-a"}, timeout=60) as http:
            Client(http=http).set_state("c", {"premise": "p", "policies": {}, "version": 2})
        chat.say("use spaces")
        chat.say("go on")
        text = "\n".join(chat.forwarded())
        assert text[text.rindex(OPENING) :].startswith(render_block(State("p", {"spaces": "use"})))


@pytest.mark.parametrize("place", [{"store": True}, {"previous_response_id": "resp_1"}, {"conversation": "conv_1"}])
def test_where_the_history_lies_upstream_each_change_is_told_there(
    upstream: UpstreamServer, start_proxy: StartProxy, place: dict[str, Any]
) -> None:
    """The provider keeps the blocks that it got: what is not told with its message may never be, a revocation neither."""
    headers = [("authorization", "Bearer sk-a"), ("x-turnfold-conversation", "c")]
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold, folding=ENFORCE)
    sent = []
    for text in ("use docker", "How do I build it?", "remove policy docker"):
        body = json.dumps({"model": "gpt-4o", "input": [{"role": "user", "content": text}], **place}).encode()
        assert call(proxy.origin, "POST", "/v1/responses", body, headers).header("x-turnfold-state") == "forward"
        sent.append(json.loads(upstream.seen[-1].body)["input"][0]["content"])
    nothing = render_block(State())
    assert sent == [f"{DOCKER}\n\nuse docker", f"{DOCKER}\n\nHow do I build it?", f"{nothing}\n\nremove policy docker"]


@pytest.mark.parametrize("whole", [False, True])
def test_a_label_keeps_its_state_whatever_the_client_sends(upstream: UpstreamServer, tmp_path: Path, whole: bool) -> None:
    headers = (("authorization", "Bearer sk-a"), ("x-turnfold-conversation", "c"))

    def say(chat: Chat, text: str) -> Answer:
        chat.messages = chat.messages if whole else []
        return chat.say(text)

    with whole_proxy(upstream, tmp_path) as (proxy, _):
        chat = Chat(proxy, upstream, *headers)
        assert told(say(chat, "use docker")) == "State updated.\nuse: docker"
        say(chat, "What is 2+2?")
        assert DOCKER in "\n".join(chat.forwarded())
        assert told(say(chat, "use ruff instead of pylint")) == 'Did you mean to use "ruff" instead?'
    with whole_proxy(upstream, tmp_path) as (proxy, _):
        chat.proxy = proxy
        assert told(say(chat, "yes")) == "State updated.\nuse: docker\nuse: ruff"
        say(chat, "set premise p")
        again = json.dumps({"model": "gpt-4o", "messages": chat.messages[:-1]}).encode()
        assert told(proxy.chat(again, *headers)) == "State updated.\npremise: p\nuse: docker\nuse: ruff"  # it asks nothing
        say(chat, "hello")
        text = "\n".join(chat.forwarded())
        assert text[text.rindex(OPENING) :].startswith(render_block(State("p", {"docker": "use", "ruff": "use"})))


def test_private_text_is_in_force_and_not_in_the_store(upstream: UpstreamServer, tmp_path: Path) -> None:
    headers = (("authorization", "Bearer sk-a"), ("x-turnfold-conversation", "c"))
    with whole_proxy(upstream, tmp_path) as (proxy, _):
        chat = Chat(proxy, upstream, *headers)
        chat.say("set premise I am <private>Zed</private>")
        chat.say("use docker")
        chat.say("hello")
        before = chat.forwarded()
        chat.say("and now")
        assert chat.forwarded()[: len(before)] == before
        assert "premise: I am <private>Zed</private>\nuse: docker" in before[2]
        with httpx.Client(base_url=proxy.origin, headers={"authorization": "Bearer sk-a"}, timeout=60) as http:
            assert Client(http=http).state("c")["state"]["premise"] == "I am [private]"


def test_what_is_only_observed_leaves_no_question(upstream: UpstreamServer, tmp_path: Path) -> None:
    headers = (("authorization", "Bearer sk-a"), ("x-turnfold-conversation", "c"))
    with whole_proxy(upstream, tmp_path) as (proxy, _):
        chat = Chat(proxy, upstream, *headers, ("x-turnfold-state", "observe"))
        chat.say("use podman instead of docker")
        chat.messages, chat.headers = [], headers
        assert chat.say("yes").header("x-turnfold-state") == "forward"

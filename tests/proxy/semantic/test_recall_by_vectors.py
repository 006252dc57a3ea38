"""Vectors have a say in recall, once: real proxies that share a store, a real model file, a conversation whose answer shares no
word with its question."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.harness import Answer, ProxyServer, UpstreamServer, proxy_server, reply, until
from tests.proxy.processes import COMPLETION
from tests.support.recall_history import ANSWER, BUDGET, UNCOUNTED, Messages, history, question, tool_loop
from tests.support.tiny_encoder import write_model
from turnfold.compression.fold import fold


@dataclass
class Replicas:
    """Two proxies that share a store and an upstream; `plain` has another store, and no model."""

    upstream: UpstreamServer
    first: ProxyServer
    second: ProxyServer
    plain: ProxyServer

    def send(self, proxy: ProxyServer, messages: Messages) -> tuple[Answer, str]:
        """The answer, and the body as the upstream got it."""
        self.upstream.handler = reply(UNCOUNTED)
        answer = proxy.chat({"model": "gpt-4o", "messages": messages})
        assert answer.status == 200
        return answer, self.upstream.seen[-1].body.decode()

    def ask(self, proxy: ProxyServer, messages: Messages) -> tuple[str | None, str]:
        """What chose, and the last user message as the upstream got it, with what is recalled behind it."""
        answer, body = self.send(proxy, messages)
        last = [m for m in json.loads(body)["messages"] if m["role"] == "user"][-1]
        return answer.header("x-turnfold-recall"), json.dumps(last)

    def ask_for(self, proxy: ProxyServer, messages: Messages, chosen: str) -> str:
        """What is sent once a replica knows what another decided: on a busy machine it may miss the store, and asks again."""
        for _ in range(20):
            found, sent = self.ask(proxy, messages)
            if found == chosen:
                return sent
        raise AssertionError(f"{chosen} never chose")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def replicas(upstream: UpstreamServer, model: Path, tmp_path: Path) -> Iterator[Replicas]:
    with opened_replicas(upstream, model, tmp_path) as found:
        yield found


@contextmanager
def opened_replicas(upstream: UpstreamServer, model: Path, folder: Path) -> Iterator[Replicas]:
    url, folding = upstream.origin + "/v1", {"budget": BUDGET}
    semantic = {"model": str(model), "timeout": 5.0, "cpu_share": 1.0}
    shared = {"url": f"sqlite:///{folder / 'shared.db'}"}
    with ExitStack() as opened:
        extra: dict[str, Any] = {"semantic": semantic, "store": shared, "folding": folding}
        one, two = (opened.enter_context(proxy_server(url, fold, **extra))[0] for _ in range(2))
        plain, _ = opened.enter_context(proxy_server(url, fold, folding=folding))
        yield Replicas(upstream, one, two, plain)


def warmed(replicas: Replicas) -> tuple[int, str]:
    """Ask until the vectors are there: the number of the question that they had a say in, and what was sent for it."""
    for number in itertools.count():
        chosen, sent = replicas.ask(replicas.first, [*history(), question(number)])
        if chosen == "vectors" and ANSWER in sent:
            return number, sent
        assert number < 200, "the vectors were never made"
        until(lambda: True)
    raise AssertionError


def test_vectors_find_what_shares_no_word_with_the_question(replicas: Replicas) -> None:
    number, _ = warmed(replicas)
    chosen, sent = replicas.ask(replicas.plain, [*history(), question(number)])
    assert chosen is None
    assert ANSWER not in sent
    assert replicas.first.recorder.receipts[-1].recall == "vectors"


def test_what_was_recalled_is_repeated_by_every_replica_and_in_the_tool_loop(
    upstream: UpstreamServer, model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "turnfold.proxy.semantic.likenesses")
    messages = [*history(), question(0)]
    for attempt in range(5):
        (folder := tmp_path / str(attempt)).mkdir()
        caplog.clear()
        with opened_replicas(upstream, model, folder) as replicas:
            chosen, by_words = replicas.ask(replicas.first, messages)
            if "decided alone" not in caplog.text:  # a busy machine misses the store, and keeps no decision
                _is_repeated(replicas, messages, chosen, by_words)
                return
    raise AssertionError("the store was never there in time")


def _is_repeated(replicas: Replicas, messages: Messages, chosen: str | None, by_words: str) -> None:
    assert chosen != "vectors"
    number, by_vectors = warmed(replicas)
    for proxy in (replicas.second, replicas.first):
        assert replicas.ask(proxy, messages) == (chosen, by_words)
        assert replicas.ask_for(proxy, [*history(), question(number)], "vectors") == by_vectors
    loop = tool_loop([*history(), question(number)])
    sent = {replicas.send(proxy, loop)[1] for proxy in (replicas.second, replicas.first)}
    assert len(sent) == 1
    assert ANSWER in sent.pop()


def test_a_replica_uses_the_vectors_that_another_made(replicas: Replicas) -> None:
    warmed(replicas)
    sent = ""
    for number in range(1000, 1020):  # what is not read from the store in time is not waited for
        chosen, sent = replicas.ask(replicas.second, [*history(), question(number)])
        if chosen == "vectors":
            break
    assert ANSWER in sent


def test_a_question_whose_words_were_forwarded_before_is_answered_by_them_for_good(replicas: Replicas) -> None:
    """The model was set in the middle of a tool loop: its recall stays as it was."""
    warmed(replicas)
    loop = tool_loop([*history(), question(2000)])
    _, plain = replicas.send(replicas.plain, loop)
    chosen, sent = replicas.send(replicas.first, loop)
    assert chosen.header("x-turnfold-recall") != "vectors"
    assert sent == plain


@pytest.mark.parametrize(
    "text",
    ["<private>Which hobbies has the driver?</private>", "¿Qué aficiones tiene el conductor que dejó la pallet en el depot?"],
)
def test_what_is_private_or_in_another_language_goes_by_words(replicas: Replicas, text: str) -> None:
    warmed(replicas)
    messages = [*history(), {"role": "user", "content": text}]
    chosen, sent = replicas.ask(replicas.first, messages)
    assert chosen in (None, "words")
    assert sent == replicas.ask(replicas.plain, messages)[1]


def test_a_model_that_cannot_be_loaded_costs_nothing(upstream: UpstreamServer, tmp_path: Path) -> None:
    semantic = {"model": str(tmp_path / "none.onnx")}
    folding = {"budget": BUDGET}
    upstream.handler = reply(COMPLETION)
    body = {"model": "gpt-4o", "messages": [*history(), {"role": "user", "content": "Which driver signed for pallet 7?"}]}
    with proxy_server(upstream.origin + "/v1", fold, semantic=semantic, folding=folding) as (proxy, _):
        assert proxy.chat(body).header("x-turnfold-recall") == "words"
    with proxy_server(upstream.origin + "/v1", fold, folding=folding) as (proxy, _):
        assert proxy.chat(body).header("x-turnfold-recall") is None
    assert upstream.seen[0].body == upstream.seen[1].body

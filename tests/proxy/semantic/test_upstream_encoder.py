"""The wire of embeddings, the settings of the encoder that speaks it, and what the doctor says of one."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError
from yarl import URL

from tests.proxy.harness import UpstreamServer, settings_for, until
from tests.support.cases import each
from tests.support.embeddings_upstream import DIMENSION, EmbeddingsUpstream
from turnfold.compression.errors import InvalidInput
from turnfold.config.prices import prices_of
from turnfold.config.semantic import SemanticSettings
from turnfold.config.settings import Settings
from turnfold.config.sources import LoadedSettings
from turnfold.proxy.asking.breaker import Breaker
from turnfold.proxy.asking.own_upstream import Caller, OwnAccess, OwnUpstream, host_of
from turnfold.proxy.asking.spending import Payer, SpendingCaps
from turnfold.proxy.checkup import Finding, examine
from turnfold.proxy.semantic.embeddings_wire import (
    MOST_INPUT_TOKENS,
    MOST_INPUTS,
    MOST_TOKENS,
    batches,
    input_of,
    read_answer,
    write_request,
)
from turnfold.proxy.semantic.encoder import quantised
from turnfold.proxy.semantic.upstream_encoder import UpstreamEncoder

MODEL = "text-embedding-3-small"


@given(st.lists(st.text(max_size=40), max_size=60), st.integers(1, 4000))
def test_batches_keep_the_order_and_the_limits(texts: list[str], most: int) -> None:
    inputs = [input_of(text) for text in texts]
    found = list(batches(inputs, most))
    assert [one for part in found for one in part] == inputs
    assert all(0 < len(part) <= min(most, MOST_INPUTS) for part in found)


def test_batches_are_bounded_in_tokens_and_count() -> None:
    long = [input_of("wörter " * 2000)] * 100
    parts = list(batches(long, MOST_INPUTS))
    assert all(len(one.encode()) <= MOST_INPUT_TOKENS for one in long)
    assert len(parts) == 3
    assert all(sum(len(one.encode()) for one in part) <= MOST_TOKENS for part in parts)
    assert [len(part) for part in batches(["a"] * 5000, 9999)] == [2048, 2048, 904]
    full = [*["a" * 8000] * 37, "a" * 4000]
    assert [len(part) for part in batches([*full, *full], 9999)] == [38, 38]
    assert [len(part) for part in batches([*full, "a"], 9999)] == [38, 1]


def test_a_lone_surrogate_is_sent_as_something_valid() -> None:
    assert json.loads(write_request("m", [input_of("\ud800 lone")], None, base64_form=False)) == {
        "model": "m",
        "input": ["? lone"],
    }


def answer(rows: Sequence[Any], **more: Any) -> bytes:
    data = [{"index": i, "embedding": row} for i, row in enumerate(rows)]
    return json.dumps({"data": data, "usage": {"prompt_tokens": 7, "total_tokens": 7}, **more}).encode()


def test_both_forms_of_a_number_give_one_vector() -> None:
    numbers = [0.25, -0.5, 0.125]
    packed = base64.b64encode(struct.pack("<3f", *numbers)).decode()
    decimals, floats = read_answer(answer([numbers]), 1), read_answer(answer([packed]), 1)
    assert decimals.vectors == floats.vectors == [quantised(np.array(numbers))]
    assert decimals.usage.prompt_tokens == 7


def test_vectors_stand_in_the_order_of_their_texts() -> None:
    rows = json.dumps({"data": [{"index": 1, "embedding": [0.0, 1.0]}, {"index": 0, "embedding": [1.0, 0.0]}]})
    assert read_answer(rows.encode(), 2).vectors == [bytes([127, 0]), bytes([0, 127])]


@each(
    "data",
    [
        b"",
        b"[]",
        b'{"data": 1}',
        answer([]),
        answer([[1.0], [1.0, 2.0]]),
        answer([["a"], ["b"]]),
        answer([[1.0], [[1.0]]]),
        answer([[1.0], []]),
        answer([[1.0], None]),
        answer(["AAAA", "!"]),
        answer(["AACAPw==", "AACA!Pw=="]),
        answer([[1.0], [1.0] * 16_385]),
        answer([[1.0], [2.0], [3.0]]),
        answer([[1.0], {"a": 1}]),
        b'{"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]}',
    ],
)
def test_an_answer_without_a_vector_for_each_text_has_none(data: bytes) -> None:
    assert read_answer(data, 2).vectors is None


def test_vectors_have_from_one_number_to_16384() -> None:
    for numbers in ([1.0], [1.0] * 16_384):
        vectors = read_answer(answer([numbers, numbers]), 2).vectors
        assert vectors is not None
        assert [len(one) for one in vectors] == [len(numbers)] * 2


@given(st.binary(max_size=200), st.integers(1, 3))
def test_no_answer_is_a_surprise(data: bytes, inputs: int) -> None:
    assert read_answer(data, inputs).vectors is None


# ---------------------------------------------------------------- settings


@each(
    ("given_", "said"),
    [
        ({"model": "minilm", "embedding_model": MODEL}, "both set"),
        ({"tokenizer": "tokenizer.json"}, "TURNFOLD_SEMANTIC_TOKENIZER is set: it needs TURNFOLD_SEMANTIC_MODEL"),
        ({"tokenizer": "tokenizer.json", "embedding_model": MODEL}, "it needs TURNFOLD_SEMANTIC_MODEL"),
        ({"embedding_model": MODEL, "dimensions": 3000}, "at most 1536"),
        ({"embedding_model": "text-embedding-ada-002", "dimensions": 512}, "cannot be chosen"),
    ],
)
def test_what_cannot_be_is_refused(given_: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        SemanticSettings.model_validate(given_)


def test_what_is_not_set_depends_on_the_kind() -> None:
    local, remote = SemanticSettings(model="minilm"), SemanticSettings(embedding_model=MODEL, dimensions=512)
    assert (local.knows, remote.knows) == (frozenset({"english"}), None)
    assert (local.patience, remote.patience) == (0.2, 0.5)
    assert not SemanticSettings().is_on


def test_a_model_of_unknown_price_stops_the_start() -> None:
    own = {"semantic": {"embedding_model": "house-embedder"}}
    with pytest.raises(InvalidInput, match="no known price"):
        UpstreamEncoder(settings_for("http://127.0.0.1:9/v1", **own), None)
    free = {"house-embedder": {"input": 0.0}}
    assert UpstreamEncoder(settings_for("http://127.0.0.1:9/v1", **own, models=free), None).name.startswith("upstream-")


def test_a_gateway_has_openais_models_at_openais_price() -> None:
    for url in ("", "http://127.0.0.1:9/v1", "https://api.openai.com/v1"):
        found = prices_of(MODEL, url)
        assert (found.input, found.guessed) == (0.02, False)
    assert prices_of("text-embedding-no-such").input is None


def test_others_cannot_spend_the_key_for_vectors() -> None:
    with pytest.raises(ValueError, match="TURNFOLD_SEMANTIC_API_KEY is set"):
        Settings.model_validate({"semantic": {"api_key": "sk-vectors"}, "server": {"host": "turnfold.example"}})


@each(
    ("sent_to", "is_used"),
    [
        ("https://api.openai.com/v1/chat/completions", True),
        ("https://api.openai.com:443/v1/chat/completions", True),
        ("http://api.openai.com/v1/chat/completions", False),
        ("https://api.openai.com.evil.example/v1/chat/completions", False),
        ("https://api.openai.com:8443/v1/chat/completions", False),
    ],
)
def test_a_clients_key_goes_where_it_was_sent(sent_to: str, is_used: bool) -> None:
    access = OwnAccess("https://api.openai.com/v1", None, needs_key=True, use_client_key=True, timeout=1.0)
    caller = Caller(host_of(URL(sent_to, encoded=True)), ((b"authorization", b"Bearer sk"), (b"cookie", b"c")))
    found = OwnUpstream(Settings(), access).credential(caller)
    assert found == (((b"authorization", b"Bearer sk"),) if is_used else None)


def test_an_operators_key_is_no_clients() -> None:
    access = OwnAccess("https://api.openai.com/v1", SecretStr("sk-own"), needs_key=True, use_client_key=True, timeout=1.0)
    upstream = OwnUpstream(Settings(), access)
    assert not upstream.only_while_served
    assert upstream.credential(Caller("elsewhere:443", ((b"authorization", b"Bearer sk"),))) == (
        (b"authorization", b"Bearer sk-own"),
    )


# ---------------------------------------------------------------- what is shared with summaries


def test_a_breaker_rests_as_long_as_it_is_told() -> None:
    now = [0.0]
    breaker = Breaker(3, 10.0, 100.0, lambda: now[0])
    breaker.rest(5.0)
    assert breaker.is_open
    now[0] = 5.0
    assert not breaker.is_open
    breaker.fail(for_good=True)
    assert breaker.is_open
    breaker.rest(1e9)
    now[0] = 105.0
    assert not breaker.is_open


async def test_purposes_have_caps_of_their_own() -> None:
    store = None
    summaries, vectors = SpendingCaps(store, 1.0, None, 0.0), SpendingCaps(store, 1.0, None, 0.0, "vectors")
    assert await summaries.reserve(Payer("t", "c"), 0.9)
    assert not await summaries.reserve(Payer("t", "c"), 0.9)
    assert await vectors.reserve(Payer("t", "c"), 0.9)


# ---------------------------------------------------------------- the doctor


def semantic(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(one.verdict, one.found) for one in findings if one.part == "semantic"]


def look(url: str, tmp_path: Path, **groups: Any) -> list[tuple[str, str]]:
    groups.setdefault("store", {"url": f"sqlite:///{tmp_path / 'doctor.db'}"})
    own = {"embedding_model": MODEL, "api_key": "sk-vectors", "timeout": 5.0} | groups.pop("semantic", {})
    settings = settings_for(url, semantic=own, server={"port": 0}, **groups)
    return semantic(asyncio.run(examine(LoadedSettings(settings))))


def test_the_doctor_says_what_recall_uses(upstream: UpstreamServer, tmp_path: Path) -> None:
    made = EmbeddingsUpstream(upstream)
    ((verdict, found),) = look(made.url, tmp_path)
    assert (verdict, len(made.calls)) == ("ok", 1)
    assert f"recall uses {MODEL} at 127.0.0.1" in found
    assert f"{DIMENSION} dimensions; texts in all languages; at most $1.00 a day" in found
    _, (verdict, found) = look(made.url, tmp_path, store={"url": "memory://"})
    assert (verdict, "may recall something else" in found) == ("note", True)


def test_the_doctor_says_what_is_in_the_way(upstream: UpstreamServer, tmp_path: Path) -> None:
    made = EmbeddingsUpstream(upstream)
    made.status = 401
    ((verdict, found),) = look(made.url, tmp_path)
    assert verdict == "fault"
    assert found == f"recall uses only words: {MODEL} at 127.0.0.1: it refused the call (401)"
    asked = len(made.calls)
    for change, verdict, words in (
        ({"semantic": {"api_key": None}}, "fault", "there is no key"),
        ({"semantic": {"api_key": None, "use_client_key": True}}, "note", "each client's own key"),
        ({"semantic": {"embedding_model": "house-embedder"}}, "fault", "no known price"),
        ({"store": {"url": "none://"}}, "note", "the store keeps no text"),
        ({"folding": {"recall": False}}, "note", "recall is off"),
    ):
        ((told, found),) = look(made.url, tmp_path, **change)
        assert (told, words in found) == (verdict, True)
    assert len(made.calls) == asked


def test_the_doctor_says_when_questions_would_be_late(upstream: UpstreamServer, tmp_path: Path) -> None:
    made = EmbeddingsUpstream(upstream)
    made.delay = 0.3
    ((verdict, found),) = look(made.url, tmp_path, semantic={"timeout": 0.1})
    assert (verdict, "too slow" in found) == ("note", True)


async def test_an_upstream_of_ones_own_for_vectors_needs_no_key(upstream: UpstreamServer) -> None:
    made = EmbeddingsUpstream(upstream)
    own = {"embedding_model": MODEL, "dimensions": DIMENSION, "url": made.url}
    encoder = UpstreamEncoder(settings_for("http://127.0.0.1:9/v1", semantic=own), None)
    async with encoder.running():
        assert len((await encoder.encode(["first"], encoder.trial())).vectors) == 1
    assert [seen.header("authorization") for seen in upstream.seen] == [None]


async def test_a_call_that_began_before_another_learned_that_base64_is_not_known(upstream: UpstreamServer) -> None:
    made = EmbeddingsUpstream(upstream)
    made.takes_base64, made.delay = False, 0.05
    own = {"embedding_model": MODEL, "dimensions": DIMENSION, "api_key": SecretStr("sk-own")}
    encoder = UpstreamEncoder(settings_for(made.url, semantic=own), None)
    async with encoder.running():
        first = asyncio.create_task(encoder.encode(["first"], encoder.trial()))
        await asyncio.to_thread(until, lambda: len(made.bodies) == 2)
        made.delay = 0.15  # it is refused after the first has its decimals
        second = await encoder.encode(["second"], encoder.trial())
        assert len(second.vectors) == len((await first).vectors) == 1
    assert [body.get("encoding_format") for body in made.bodies] == ["base64", None, "base64", None]
    assert not encoder.failures

"""``/v1/messages/compress`` and ``/v1/messages/uncompress`` over real HTTP, by hand and by the client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from tests.proxy.harness import api_server
from tests.support.small_talk import talk
from turnfold.compression import compress
from turnfold.config.settings import AuthSettings
from turnfold.proxy.client import AsyncClient, Client
from turnfold.proxy.http.tenancy import Gate

MESSAGES = talk(30)
ANNA = {"authorization": "Bearer anna"}


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with api_server("memory://") as served:
        yield served


def post(origin: str, call: str, **body: Any) -> httpx.Response:
    return httpx.post(f"{origin}/v1/messages/{call}", json=body, headers=ANNA, timeout=60)


def test_there_and_back(origin: str) -> None:
    made = post(origin, "compress", messages=MESSAGES, source_version=3, trace=True).json()
    local = compress(MESSAGES, {"source_version": 3, "trace": True}).as_dict()
    assert {name: made[name] for name in local} == local
    assert (made["stored"], made["fits"]) == (True, None)
    kept = post(origin, "uncompress", messages=made["messages"]).json()
    assert kept == {
        "messages": MESSAGES,
        "messages_expanded": local["compression"]["messages_compressed"] - 24,
        "messages_passthrough": 4,
        "missing_ids": [],
        "edited_ids": [],
        "deleted_ids": [],
    }
    assert post(origin, "uncompress", messages=made["messages"], verbatim=made["verbatim"]).json() == kept


def test_messages_are_brought_within_a_budget(origin: str) -> None:
    made = post(origin, "compress", messages=MESSAGES, token_budget=400, token_counter="o200k_base").json()
    assert made["fits"]
    assert made["token_count"] <= 400
    assert made["recency_window"] < 30


def test_originals_go_with_their_conversation() -> None:
    admin = {"x-turnfold-admin-token": "adm", "x-turnfold-tenant": ""}
    with api_server("memory://", auth=AuthSettings(admin_token=SecretStr("adm"))) as served:
        trip = {**ANNA, "x-turnfold-conversation": "trip"}
        labelled = httpx.post(f"{served}/v1/messages/compress", json={"messages": MESSAGES}, headers=trip, timeout=60).json()
        assert post(served, "uncompress", messages=labelled["messages"]).json()["missing_ids"] == []
        admin["x-turnfold-tenant"] = Gate(None, AuthSettings()).admit([(b"authorization", b"Bearer anna")]).tenant
        for label, left in (("another", True), ("trip", False)):
            gone = httpx.delete(f"{served}/admin/data", params={"conversation": label}, headers=admin, timeout=60)
            assert gone.status_code == 200, gone.text
            assert (post(served, "uncompress", messages=labelled["messages"]).json()["missing_ids"] == []) is left


def test_missing_originals_are_named(origin: str) -> None:
    made = compress(MESSAGES, {"recency_window": 1})
    body = post(origin, "uncompress", messages=made.messages).json()
    assert body["messages"] == made.messages
    assert set(body["missing_ids"]) == set(made.verbatim)


def test_edited_and_deleted_messages_are_told(origin: str) -> None:
    made = post(origin, "compress", messages=MESSAGES).json()
    stands_for = [message["metadata"]["turnfold"]["ids"] for message in made["messages"] if "metadata" in message]
    edited = [{**made["messages"][0], "content": "Mine."}, *made["messages"][1:]]
    body = post(origin, "uncompress", messages=edited).json()
    assert body["messages"][0] == edited[0]
    assert (body["edited_ids"], body["deleted_ids"], body["missing_ids"]) == (stands_for[0], [], [])
    left = post(origin, "uncompress", messages=made["messages"][1:], verbatim=made["verbatim"]).json()
    assert (left["edited_ids"], left["deleted_ids"]) == ([], sorted(stands_for[0]))


@pytest.mark.parametrize(
    ("call", "body", "field"),
    [
        ("compress", {}, "messages"),
        ("compress", {"messages": "hi"}, "messages"),
        ("compress", {"messages": ["hi"]}, "messages.0"),
        ("compress", {"messages": [], "recency_window": -1}, "recency_window"),
        ("compress", {"messages": [], "recency_window": "4"}, "recency_window"),
        ("compress", {"messages": [], "fuzzy_threshold": 2}, "fuzzy_threshold"),
        ("compress", {"messages": [], "preserve": ["system", 1]}, "preserve.1"),
        ("compress", {"messages": [], "token_counter": "words"}, "token_counter"),
        ("compress", {"messages": [], "summarizer": "gpt"}, "summarizer"),
        ("uncompress", {"messages": {}}, "messages"),
        ("uncompress", {"messages": [], "verbatim": []}, "verbatim"),
    ],
)
def test_a_malformed_body_is_422_and_names_the_field(origin: str, call: str, body: dict[str, Any], field: str) -> None:
    response = post(origin, call, **body)
    assert (response.status_code, response.json()["error"]["param"]) == (422, field)


def test_restoring_without_end_is_400(origin: str) -> None:
    store = {
        f"k{n}": {"metadata": {"turnfold": {"ids": [f"k{n + 1}"] * 100, "summary_id": f"s{n}", "version": 0}}} for n in range(5)
    }
    response = post(origin, "uncompress", messages=[store["k0"]], verbatim=store, recursive=True)
    assert (response.status_code, response.json()["error"]["param"]) == (400, "messages")


def test_originals_outlive_a_restart_and_belong_to_a_tenant(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 't.db'}"
    with api_server(url) as origin:
        made = post(origin, "compress", messages=MESSAGES).json()
    with api_server(url) as origin:
        assert post(origin, "uncompress", messages=made["messages"]).json()["messages"] == MESSAGES
        with Client(origin, "bert") as client:
            assert client.uncompress_messages(made["messages"]).messages == made["messages"]


def test_the_client_compresses_messages_and_restores_them(origin: str) -> None:
    with Client(origin, "anna") as client:
        made = client.compress_messages(MESSAGES, token_budget=400)
        assert made.fits
        assert made.compression.ratio > 2
        assert client.uncompress_messages(made.messages).messages == MESSAGES
        assert client.uncompress_messages(made.messages, made.verbatim, recursive=True).messages == MESSAGES


async def test_the_client_asynchronously(origin: str) -> None:
    async with AsyncClient(origin, "anna") as client:
        made = await client.compress_messages(MESSAGES, recency_window=2)
        assert (await client.uncompress_messages(made.messages)).messages == MESSAGES

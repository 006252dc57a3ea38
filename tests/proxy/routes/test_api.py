"""The API over real HTTP: bodies, errors, tenants, what outlives a restart."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.proxy.harness import UpstreamServer, api_server
from turnfold.config.settings import Settings, StoreSettings
from turnfold.proxy.api.conversations import Conversations
from turnfold.proxy.app import build

TEXT = (
    "Anna Berg leads the Turnfold project at Nordlicht GmbH. The budget is $4.2 million. "
    + "".join(f"Week {n} went by without any news worth telling to anybody. " for n in range(30))
    + "\n\n## Decision\n\nWe decided to ship version 2.1.0 on 2025-10-09. Bert Holm will sign it.\n"
    + "\n```python\nprint('kept whole')\n```\n"
)
ANNA = {"authorization": "Bearer anna"}


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with api_server("memory://") as served:
        yield served


@pytest.fixture
def http(origin: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=origin, headers=ANNA, timeout=60) as client:
        yield client


def error_of(response: httpx.Response) -> tuple[int, str | None, str]:
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return response.status_code, error["param"], error["code"]


def drill(http: httpx.Client, section: str, layer: int = 0, headers: dict[str, str] | None = None) -> httpx.Response:
    return http.post("/v1/drill-down", json={"section_id": section, "target_layer": layer}, headers=headers)


def add(http: httpx.Client, name: str, content: str, **more: Any) -> dict[str, Any]:
    body = {"conversation_id": name, "message": {"role": "user", "content": content}, **more}
    answer = http.post("/v1/conversation", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_compress(http: httpx.Client) -> None:
    body = http.post("/v1/compress", json={"text": TEXT}).json()
    assert set(body) == {"layers", "entities", "sections", "metadata"}
    raw, facts, summary = (body["layers"][name] for name in "012")
    assert raw["text"] == TEXT
    assert 0 < summary["tokens"] <= facts["tokens"] <= 0.3 * raw["tokens"]
    assert {"id", "summary", "tokens", "importance"} == set(body["sections"][0])
    assert {"compression_ms", "scorer", "result_id"} <= set(body["metadata"])
    assert any(entity["text"] == "Nordlicht GmbH" for entity in body["entities"])
    assert http.post("/v1/compress", json={"text": TEXT, "sections": False}).json()["sections"] == []


def test_head_asks_for_what_get_answers(http: httpx.Client) -> None:
    got, head = http.get("/v1/cache/stats"), http.head("/v1/cache/stats")
    assert (head.status_code, head.content) == (got.status_code, b"") == (200, b"")
    assert head.headers["content-length"] == got.headers["content-length"]
    refused = http.head("/v1/compress")
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")


def test_every_section_is_drilled_into_at_every_layer(http: httpx.Client) -> None:
    one = http.post("/v1/compress", json={"text": TEXT}).json()
    two = http.post("/v1/compress", json={"text": TEXT + "The end."}).json()
    ids = [section["id"] for body in (one, two) for section in body["sections"]]
    assert len(set(ids)) == len(ids)
    raw = "".join(drill(http, section["id"]).json()["text"] for section in one["sections"])
    assert raw == TEXT
    for section in one["sections"]:
        sizes = [drill(http, section["id"], layer).json()["tokens"] for layer in (0, 1, 2)]
        assert sizes == sorted(sizes, reverse=True)
        assert drill(http, section["id"], 2).json()["text"] == section["summary"]


@pytest.mark.parametrize(
    ("path", "body", "status", "param"),
    [
        ("/v1/compress", '{"text": " \\n"}', 400, "text"),
        ("/v1/compress", '{"text": ""}', 400, "text"),
        ("/v1/compress", "{}", 422, "text"),
        ("/v1/compress", '{"text": 3}', 422, "text"),
        ("/v1/compress", "{", 422, "body"),
        ("/v1/compress", "", 422, "body"),
        ("/v1/compress", "[]", 422, "body"),
        ("/v1/compress", '{"text": "a", "layer": 3}', 422, "layer"),
        ("/v1/compress", '{"text": "a", "layer": true}', 422, "layer"),
        ("/v1/compress", '{"text": "a", "l1_ratio": 0}', 422, "l1_ratio"),
        ("/v1/compress", '{"text": "a", "l2_max_sentences": 0}', 422, "l2_max_sentences"),
        ("/v1/compress", '{"text": "a", "scorer": "best"}', 422, "scorer"),
        ("/v1/compress", '{"text": "a", "sections": "yes"}', 422, "sections"),
        ("/v1/compress", '{"text": "a", "ratio": 1}', 422, "ratio"),
        ("/v1/compress", '{"text": "\\ud800"}', 422, "body"),
        ("/v1/drill-down", '{"section_id": "s"}', 404, "section_id"),
        ("/v1/drill-down", '{"section_id": "s", "target_layer": 3}', 422, "target_layer"),
        ("/v1/conversation", '{"conversation_id": "c", "message": {"role": "user"}}', 422, "message.content"),
        ("/v1/conversation", '{"conversation_id": "c", "message": {"role": "user", "content": " "}}', 400, "message.content"),
        ("/v1/conversation", '{"conversation_id": "", "message": {"role": "u", "content": "a"}}', 422, "conversation_id"),
        ("/v1/conversation", '{"conversation_id": "../a", "message": {"role": "u", "content": "a"}}', 422, "conversation_id"),
        ("/v1/conversation", '{"conversation_id": "c", "message": {"role": "u:\\nv", "content": "a"}}', 422, "message.role"),
        ("/v1/exchange", '{"text": " "}', 400, "text"),
        ("/v1/exchange", '{"text": "a", "format": "xml"}', 422, "format"),
    ],
)
def test_what_is_wrong_is_named(http: httpx.Client, path: str, body: str, status: int, param: str) -> None:
    assert error_of(http.post(path, content=body))[:2] == (status, param)


@pytest.mark.parametrize("query", ["=", "=1", "&="])
def test_a_parameter_without_a_name_is_named(http: httpx.Client, query: str) -> None:
    for path in ("/v1/windows", "/v1/cache/stats", "/v1/conversation/c", "/healthz", "/readyz"):
        assert error_of(http.get(f"{path}?{query}"))[:2] == (400, '""')


def test_our_paths_never_go_upstream(upstream: UpstreamServer) -> None:
    with api_server("memory://", upstream.origin + "/v1") as origin, httpx.Client(base_url=origin, timeout=60) as http:
        for method, path in [("GET", "/v1/compress"), ("DELETE", "/v1/drill-down"), ("PATCH", "/v1/conversation/c")]:
            refused = http.request(method, path)
            assert error_of(refused)[0] == 405
            assert refused.headers["allow"]
        for path in ("/v1/conversation/a%0Ab", "/v1/conversation/%0A", "/admin/%0A"):
            assert error_of(http.get(path))[0] == 404
        assert http.get("/openapi.json").json()["openapi"] == "3.1.0"
        assert not upstream.seen
        assert http.get("/v1/models").status_code == 200
        assert [seen.target for seen in upstream.seen] == ["/v1/models"]


def test_tenants_do_not_meet(http: httpx.Client) -> None:
    section = http.post("/v1/compress", json={"text": TEXT}).json()["sections"][0]["id"]
    add(http, "ours", "The word is heliotrope.")
    bert = {"authorization": "Bearer bert"}
    assert error_of(drill(http, section, headers=bert)) == (404, "section_id", "section_unknown")
    assert error_of(http.get("/v1/conversation/ours", headers=bert))[0] == 404
    assert error_of(http.delete("/v1/conversation/ours", headers=bert))[0] == 404
    assert http.get("/v1/cache/stats", headers=bert).json()["entries"] == 0
    assert http.post("/v1/compress", json={"text": TEXT}, headers=bert).json()["metadata"]["cached"] is False


def test_with_tokens_of_ours_strangers_are_turned_away() -> None:
    auth = {"client_tokens": ("ours",)}
    with (
        api_server("memory://", upstream_settings={"api_key": "key"}, auth=auth) as origin,
        httpx.Client(base_url=origin, timeout=60) as http,
    ):
        assert error_of(http.post("/v1/compress", json={"text": "a"}))[0] == 401
        assert http.post("/v1/compress", json={"text": "a"}, headers={"authorization": "Bearer ours"}).status_code == 200


def test_a_conversation(http: httpx.Client) -> None:
    http.delete("/v1/conversation/talk")
    first = add(http, "talk", "The launch code is MARIGOLD-77, keep it safe.", compress_threshold=300, keep_recent=3)
    assert (first["action"], first["context"]) == ("appended", "user: The launch code is MARIGOLD-77, keep it safe.")
    actions = []
    for n in range(40):
        body = add(
            http,
            "talk",
            f"Note {n}: the harbour was quiet and nothing of note happened today.",
            compress_threshold=300,
            keep_recent=3,
        )
        actions.append(body["action"])
        assert body["context_tokens"] <= 300
    assert "compressed" in actions
    assert body["context"].startswith("[Prior context summary]")
    assert "Note 39" in body["context"].split("[Recent messages]")[1]
    assert body["total_raw_tokens"] > 300
    assert body["compression_ratio"] == pytest.approx(body["total_raw_tokens"] / body["context_tokens"], abs=0.001)
    assert add(http, "talk", "Note 39: the harbour was quiet and nothing of note happened today.")["action"] == "duplicate"
    view = http.get("/v1/conversation/talk").json()
    raw = "\n".join(drill(http, section["id"]).json()["text"] for section in view["sections"])
    assert "MARIGOLD-77" in raw
    told = raw.splitlines() + [f"{m['role']}: {m['content']}" for m in view["recent"]]
    assert [line.split(":")[1] for line in told[1:]] == [f" Note {n}" for n in range(40)]
    assert drill(http, view["sections"][0]["id"], 2).json()["tokens"] <= view["sections"][0]["tokens"]


def test_export_import_delete(http: httpx.Client) -> None:
    for n in range(12):
        add(
            http,
            "from/here",
            f"Item {n}: " + "the pump was serviced and works again. " * 4,
            compress_threshold=200,
            keep_recent=2,
        )
    export = http.get("/v1/conversation/from/here", params={"export": "true"}).json()["export"]
    there = http.put("/v1/conversation/to", json={"export": export}).json()
    here = http.get("/v1/conversation/from%2Fhere").json()
    assert there["recent"] == here["recent"]
    assert there["sections"] == here["sections"]
    assert http.delete("/v1/conversation/from/here").json() == {"conversation_id": "from/here", "deleted": True}
    assert error_of(http.get("/v1/conversation/from/here")) == (404, "conversation_id", "conversation_unknown")
    assert error_of(http.delete("/v1/conversation/from/here"))[0] == 404
    # The two share content and ids; the other one is still whole.
    assert add(http, "to", "One more thing that was never said before.")["stats"]["messages"] == 13
    assert error_of(http.put("/v1/conversation/to", json={"export": "{}"}))[:2] == (422, "export.format")
    assert error_of(http.get("/v1/conversation/to?export=1"))[:2] == (400, "export")


def test_an_add_that_is_sent_again_is_done_once(http: httpx.Client) -> None:
    http.delete("/v1/conversation/once")
    for key in ("a", "b", "a"):
        body = {"conversation_id": "once", "message": {"role": "user", "content": f"said {key}"}}
        answer = http.post("/v1/conversation", json=body, headers={"idempotency-key": key}).json()
        assert answer["action"] == "appended"
    assert answer["stats"]["messages"] == 2
    wrong = http.post("/v1/conversation", json=body, headers={"idempotency-key": "a b"})
    assert error_of(wrong)[:2] == (400, "idempotency-key")


@pytest.mark.parametrize("by_header", [True, False])
def test_an_idempotency_key_names_one_message(http: httpx.Client, by_header: bool) -> None:
    name = f"keyed {by_header}"

    def send(key: str, content: str, role: str = "user") -> httpx.Response:
        body = {"conversation_id": name, "message": {"role": role, "content": content}}
        if by_header:
            return http.post("/v1/conversation", json=body, headers={"idempotency-key": key})
        return http.post("/v1/conversation", json=body | {"idempotency_key": key})

    asked = "How do I rotate the keys of the signing service, step by step?"
    assert send("k1", asked).json()["action"] == "appended"
    assert send("k2", "Like this.", "assistant").json()["stats"]["messages"] == 2
    assert send("k1", asked).json()["stats"]["messages"] == 2  # sent again
    assert send("k3", asked).json()["stats"]["messages"] == 3  # asked again
    for content, role in (("Something else.", "user"), (asked, "assistant")):
        assert error_of(send("k1", content, role)) == (409, "idempotency-key", "idempotency_key_taken")
    assert http.get(f"/v1/conversation/{name}").json()["stats"]["messages"] == 3


def test_the_two_places_of_an_idempotency_key_agree(http: httpx.Client) -> None:
    body = {"conversation_id": "both", "message": {"role": "user", "content": "x"}, "idempotency_key": "a"}
    assert http.post("/v1/conversation", json=body, headers={"idempotency-key": "a"}).status_code == 200
    refused = error_of(http.post("/v1/conversation", json=body, headers={"idempotency-key": "b"}))
    assert refused == (409, "idempotency_key", "idempotency_keys_differ")


def test_an_import_is_whole_or_refused_by_field_and_brings_its_settings(http: httpx.Client) -> None:
    for n in range(8):
        add(http, "origin", f"Pump {n} runs at {n + 40} bar.", compress_threshold=60, keep_recent=2)
    kept = http.get("/v1/conversation/origin", params={"export": "true"}).json()
    export = json.loads(kept["export"])
    assert export["settings"] == {"compress_threshold": 60, "keep_recent": 2}
    wrong = export | {"recent_tokens": export["recent_tokens"] * 2}
    answer = http.put("/v1/conversation/landed", json={"export": json.dumps(wrong)})
    assert error_of(answer) == (422, "export.recent_tokens", "invalid_export")
    assert error_of(http.get("/v1/conversation/landed"))[0] == 404
    assert http.put("/v1/conversation/landed", json={"export": kept["export"]}).status_code == 200
    assert http.get("/v1/conversation/landed").json()["context"] == kept["context"]
    without = {name: value for name, value in export.items() if name != "settings"}
    assert http.put("/v1/conversation/landed", json={"export": json.dumps(without)}).json()["context"] == kept["context"]


def test_the_cache(http: httpx.Client) -> None:
    carl = {"authorization": "Bearer carl"}
    first, again, other = (
        http.post("/v1/compress", json={"text": TEXT, **options}, headers=carl).json()
        for options in ({}, {"layer": 2}, {"l1_ratio": 0.5})
    )
    assert [body["metadata"]["cached"] for body in (first, again, other)] == [False, True, False]
    assert first["layers"] == again["layers"]
    assert first["sections"] == again["sections"]
    stats = http.get("/v1/cache/stats", headers=carl).json()
    assert (stats["entries"], stats["hits"], stats["misses"], stats["hit_rate"]) == (2, 1, 2, 0.3333)
    assert http.post("/v1/cache/clear", headers=carl).json() == {"cleared": 2}
    assert http.get("/v1/cache/stats", headers=carl).json()["entries"] == 0
    assert http.post("/v1/compress", json={"text": TEXT}, headers=carl).json()["metadata"]["cached"] is False
    assert drill(http, first["sections"][0]["id"], headers=carl).status_code == 200


def test_exchange(http: httpx.Client) -> None:
    layers = {name: layer["tokens"] for name, layer in http.post("/v1/compress", json={"text": TEXT}).json()["layers"].items()}

    def ask(headers: dict[str, str], **more: str) -> httpx.Response:
        return http.post("/v1/exchange", json={"text": TEXT, **more}, headers=headers)

    whole = ask({})
    assert (whole.json()["encoding"], whole.json()["text"]) == ("raw", TEXT)
    facts = ask({"x-turnfold-accept": "raw, facts", "x-turnfold-budget": str(layers["1"])}, format="a2a")
    assert facts.headers["x-turnfold-encoding"] == "facts"
    assert facts.headers["x-turnfold-fits"] == "true"
    assert facts.json()["part"]["kind"] == "text"
    none = ask({"x-turnfold-accept": "raw", "x-turnfold-budget": "1"}, format="mcp").json()
    assert (none["encoding"], none["fits"], none["resource"]["text"]) == ("summary", False, none["text"])
    ids = facts.headers["x-turnfold-drill-down"].split(", ")
    with_section = ask({"x-turnfold-accept": "summary", "x-turnfold-drill-down": ids[0]}).json()
    assert with_section["drilled"][0]["text"] == drill(http, ids[0]).json()["text"]
    for headers, status in [
        ({"x-turnfold-accept": "gzip"}, 400),
        ({"x-turnfold-budget": "0"}, 400),
        ({"x-turnfold-drill-down": "s-none"}, 404),
    ]:
        refused = ask(headers)
        assert refused.status_code == status
        assert error_of(refused)[1] in headers
    named = [f"s-{n}" for n in range(101)]
    for count, status in [(100, 404), (101, 400)]:
        assert ask({"x-turnfold-drill-down": ", ".join([*named[:count], named[0]])}).status_code == status


def test_what_is_kept_outlives_a_restart(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/t.db"
    with api_server(url) as origin, httpx.Client(base_url=origin, headers=ANNA, timeout=60) as http:
        made = http.post("/v1/compress", json={"text": TEXT}).json()
        for n in range(12):
            before = add(
                http, "c", f"Item {n}: " + "the pump was serviced and works again. " * 4, compress_threshold=200, keep_recent=2
            )
    with api_server(url) as origin, httpx.Client(base_url=origin, headers=ANNA, timeout=60) as http:
        assert [drill(http, made["sections"][0]["id"], layer).status_code for layer in (0, 1, 2)] == [200] * 3
        view = http.get("/v1/conversation/c").json()
        assert (view["context"], view["stats"]) == (before["context"], before["stats"])
        assert "Item 0" in drill(http, view["sections"][0]["id"]).json()["text"]
        assert http.post("/v1/compress", json={"text": TEXT}).json()["metadata"]["cached"] is True
        assert http.get("/v1/cache/stats").json()["hits"] == 1


def test_a_store_that_is_away_costs_drill_down_and_not_the_result() -> None:
    with api_server("redis://127.0.0.1:9/0") as origin, httpx.Client(base_url=origin, timeout=60) as http:
        made = http.post("/v1/compress", json={"text": TEXT})
        assert made.status_code == 200
        assert made.json()["metadata"]["sections_stored"] is False
        assert error_of(drill(http, made.json()["sections"][0]["id"]))[0] == 503
        assert error_of(http.get("/v1/cache/stats"))[0] == 503


def test_a_file_that_another_program_has_locked_hardly_delays_a_result(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": f"{TEXT} {n % 3}"} for n in range(12)]
    bodies: list[tuple[str, dict[str, Any]]] = [
        (f"/v1/{path}", {"text": TEXT + str(n)}) for n in range(3) for path in ("compress", "exchange")
    ]
    bodies.append(("/v1/messages/compress", {"messages": messages}))
    with (
        api_server(f"sqlite:///{tmp_path}/t.db") as origin,
        httpx.Client(base_url=origin, headers=ANNA, timeout=60) as http,
        contextlib.closing(sqlite3.connect(tmp_path / "t.db", isolation_level=None)) as other,
    ):
        for path, body in bodies:  # otherwise what they load at first would count
            assert http.post(path, json={**body, "text": "Warm."} if "text" in body else body).status_code == 200
        kept = http.post("/v1/compress", json={"text": TEXT}).json()
        other.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        answers = [http.post(path, json=body) for path, body in bodies]
        took = time.monotonic() - started
        again = http.post("/v1/compress", json={"text": TEXT}).json()
    assert [one.status_code for one in answers] == [200] * len(bodies)
    assert took < 15, took  # five seconds each, if each waited for the file
    assert again == {**kept, "metadata": {**again["metadata"], "cached": True}}


def test_bodies_are_bounded() -> None:
    with api_server("memory://", limits={"max_text_bytes": 1000}) as origin, httpx.Client(base_url=origin, timeout=60) as http:
        assert error_of(http.post("/v1/compress", json={"text": "a" * 2000}))[0] == 413
        frame = len(json.dumps({"text": ""}))
        for size, status in ((1000, 200), (1001, 413)):
            body = json.dumps({"text": "a" * (size - frame)}).encode()
            assert http.post("/v1/compress", content=body).status_code == status
            coded = http.post("/v1/compress", content=gzip.compress(body), headers={"content-encoding": "gzip"})
            assert coded.status_code == status
        assert error_of(http.post("/v1/compress", content=b"x", headers={"content-encoding": "x"}))[0] == 415


def test_the_document_names_every_body(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    text = json.dumps(document)
    names = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert names <= set(document["components"]["schemas"])
    assert document["components"]["schemas"]["CompressBody"]["properties"]["l1_ratio"]["default"] == 0.3


async def test_many_at_once_are_all_answered_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"), api_server(f"sqlite:///{tmp_path}/t.db") as origin:
        async with httpx.AsyncClient(base_url=origin, timeout=60) as http:
            calls = (http.post("/v1/compress", json={"text": f"{TEXT} {n % 8}"}) for n in range(24))
            assert {answer.status_code for answer in await asyncio.gather(*calls)} == {200}
            stats = (await http.get("/v1/cache/stats")).json()
    assert stats["entries"] == 8
    # An answer does not wait long for a busy disk; what is not counted is said.
    assert stats["hits"] + stats["misses"] + caplog.text.count("the compression cache was not told") == 24


async def test_a_bug_of_ours_is_answered_in_json(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("a secret of the code")

    monkeypatch.setattr(Conversations, "read", broken)
    app = build(Settings(store=StoreSettings(url="memory://")), warm=lambda _: None)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://turnfold") as client:
        answer = await client.get("/v1/conversation/c")
    assert error_of(answer) == (500, None, "internal_error")
    assert "secret" not in answer.text

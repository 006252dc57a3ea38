"""``/v1/state`` over real HTTP, driven by the client.

These tests cover the four calls, their errors, tenants. They leave out rules of the engine.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request

from tests.proxy.harness import NO_LOGGING, Receipts, running
from turnfold.compression.state import Record, create_engine, read_record
from turnfold.config.settings import Settings
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.asking.asker import ModelAsker
from turnfold.proxy.asking.operations import OperationModels
from turnfold.proxy.client import Client, errors
from turnfold.proxy.routes.state import state_routes
from turnfold.proxy.store.records import left_out

EMPTY: dict[str, Any] = {"premise": None, "policies": {}, "version": 2}
STATE = {"premise": "p", "policies": {"docker": "use"}, "version": 2}


NO_MODEL = OperationModels(ModelAsker(Settings(), None), Receipts(), Settings())


class Records:
    """A store in memory."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], bytes] = {}

    async def get(self, tenant: str, conversation: str) -> bytes | None:
        return self.kept.get((tenant, conversation))

    async def update(self, tenant: str, conversation: str, change: Callable[[Record], Record]) -> Record:
        held = self.kept.get((tenant, conversation))
        record = change(Record() if held is None else read_record(held))
        self.kept[tenant, conversation] = record.to_bytes()
        return record

    async def delete(self, tenant: str, conversation: str) -> bool:
        return self.kept.pop((tenant, conversation), None) is not None


def authorise(request: Request) -> str:
    if request.headers.get("x-turnfold-admin-token") != "t":
        raise HTTPException(401)
    return request.headers.get("x-turnfold-tenant", "mine")


@pytest.fixture(scope="module")
def records() -> Records:
    return Records()


@pytest.fixture(scope="module")
def url(records: Records) -> Iterator[str]:
    app = Starlette(routes=list(state_routes(records, authorise, NO_MODEL, Workshop(1))))
    with running(uvicorn.Config(app, **NO_LOGGING, lifespan="off")) as server:
        yield server.origin


@pytest.fixture
def http(url: str, records: Records) -> Iterator[httpx.Client]:
    records.kept.clear()
    with httpx.Client(base_url=url, headers={"x-turnfold-admin-token": "t"}, timeout=60) as client:
        yield client


@pytest.fixture
def client(http: httpx.Client) -> Client:
    return Client(http=http, retries=0)


def error(caught: pytest.ExceptionInfo[errors.ApiError]) -> tuple[int, str | None, str | None]:
    return caught.value.status, caught.value.param, caught.value.code


def test_set_read_forget(client: Client) -> None:
    put = client.set_state("chat/1 ü", STATE)
    assert put["state"] == STATE
    assert client.state("chat/1 ü") == put
    assert "use: docker" in put["block"]
    client.delete_state("chat/1 ü")
    with pytest.raises(errors.NotFound) as caught:
        client.state("chat/1 ü")
    assert error(caught) == (404, "conversation", "conversation_not_found")
    with pytest.raises(errors.NotFound):
        client.delete_state("chat/1 ü")
    with pytest.raises(errors.BadRequest) as wrong:
        client.set_state("c", {})
    assert error(wrong) == (422, "state", "invalid_value")


def test_a_checkpoint_keeps_its_question(client: Client) -> None:
    engine = create_engine()
    engine.step("use b instead of c")
    put = client.set_state("c", engine.export_checkpoint())
    assert put["pending"] == 'Did you mean to use "b" instead?'
    assert put["checkpoint"] == engine.export_checkpoint()
    assert client.preview_state("yes", conversation="c")["state_after"]["policies"] == {"b": "use"}
    assert client.state("c") == put


def test_what_is_set_stands_behind_the_messages_seen(client: Client, records: Records) -> None:
    records.kept["mine", "c"] = Record(create_engine().machine, 6).to_bytes()
    assert client.set_state("c", STATE)["messages_seen"] == 6


def test_tenants_do_not_meet(client: Client, http: httpx.Client) -> None:
    client.set_state("c", STATE)
    other = {"x-turnfold-tenant": "other"}
    assert http.get("/v1/state/c", headers=other).status_code == 404
    assert http.delete("/v1/state/c", headers=other).status_code == 404
    assert http.get("/v1/state/c", headers={"x-turnfold-admin-token": "wrong"}).status_code == 401
    assert client.state("c")["state"] == STATE


def test_previews(client: Client) -> None:
    fresh = client.preview_state("use docker")
    assert (fresh["would_mutate"], fresh["state_before"], fresh["guard"]) == (True, EMPTY, "")
    assert client.preview_state("prohibit docker", state=STATE)["decision"]["kind"] == "clarify"
    assert client.preview_state("clear state", checkpoint=create_engine().export_checkpoint())["would_mutate"] is False
    replayed = client.preview_state("clear premise", messages=[{"role": "user", "content": "set premise p"}])
    assert replayed["state_before"]["premise"] == "p"
    assert client.preview_state("Use Docker.", with_preprocessor=True)["input"] == "use docker"
    assert client.preview_state("use the attached file to write a summary")["guard"] == "long"
    sure = {text: client.preview_state(text)["certainty"] for text in ("use docker", "use formal tone", "use option 2")}
    assert sure == {"use docker": "certain", "use formal tone": "doubtful", "use option 2": "ordinary"}


BAD: list[tuple[dict[str, Any], str]] = [
    ({}, "input"),
    ({"input": 3}, "input"),
    ({"input": "x", "state": STATE, "messages": []}, "messages"),
    ({"input": "x", "state": {}}, "state"),
    ({"input": "x", "checkpoint": []}, "checkpoint"),
    ({"input": "x", "messages": [3]}, "messages"),
    ({"input": "x", "messages": {}}, "messages"),
    ({"input": "x", "conversation": 3}, "conversation"),
    ({"input": "x", "stat": STATE}, "stat"),
    ({"input": "x", "with_preprocessor": "yes"}, "with_preprocessor"),
    ({"input": "x", "state": {**EMPTY, "policies": {"\ud83d": 1}}}, "state.policies.\ud83d"),
]


@pytest.mark.parametrize(("body", "field"), BAD)
def test_a_bad_preview_names_the_field(http: httpx.Client, body: dict[str, Any], field: str) -> None:
    answer = http.post("/v1/state/preview", content=json.dumps(body))
    assert (answer.status_code, answer.json()["error"]["param"]) == (422, field)


def test_half_a_surrogate_pair_comes_back_as_it_came(http: httpx.Client) -> None:
    said = {"premise": "half \ud83d", "policies": {"\ud83d": "use"}, "version": 2}
    assert http.put("/v1/state/half", content=json.dumps(said)).json()["state"] == said
    assert http.get("/v1/state/half").json()["state"] == said
    asked = {"input": "use \ud83d", "conversation": "half"}
    assert http.post("/v1/state/preview", content=json.dumps(asked)).json()["state_after"] == said


@pytest.mark.parametrize(
    ("content", "status", "field"),
    [
        (b"{", 422, "body"),
        (b"[]", 422, "body"),
        (b"\xff", 422, "body"),
        (b'{"premise":"\xff","policies":{},"version":2}', 422, "body"),
        (b"{}", 422, "state"),
        (b'{"premise":null,"policies":{},"version":3}', 422, "state.version"),
        (b'{"checkpoint_version":1}', 422, "checkpoint"),
        (b" " * 8 * 2**20, 422, "body"),
        (b" " * (8 * 2**20 + 1), 413, None),
    ],
)
def test_a_bad_state_is_refused_and_changes_nothing(http: httpx.Client, content: bytes, status: int, field: str | None) -> None:
    http.put("/v1/state/c", json=STATE)
    answer = http.put("/v1/state/c", content=content)
    assert (answer.status_code, answer.json()["error"]["param"]) == (status, field)
    assert http.get("/v1/state/c").json()["state"] == STATE


def test_a_state_may_come_compressed(http: httpx.Client) -> None:
    coded = {"content-encoding": "gzip"}
    assert http.put("/v1/state/c", content=gzip.compress(json.dumps(STATE).encode()), headers=coded).json()["state"] == STATE
    asked = gzip.compress(b'{"input":"use docker"}')
    assert http.post("/v1/state/preview", content=asked, headers=coded).json()["would_mutate"]
    for content, coding, status in ((b"{}", "gzip", 415), (b"{}", "x-own", 415), (gzip.compress(b" " * 2**24), "gzip", 413)):
        assert http.put("/v1/state/c", content=content, headers={"content-encoding": coding}).status_code == status
    assert http.get("/v1/state/c").json()["state"] == STATE


def test_names_are_bounded(http: httpx.Client) -> None:
    assert http.put(f"/v1/state/{'x' * 600}", json=STATE).status_code == 422


@pytest.mark.parametrize("kept", [b'{"record_version":2}', b'{"record_version":1,"machine":[]}', b"\xff"])
def test_a_state_of_a_newer_release_is_left_alone(http: httpx.Client, records: Records, kept: bytes) -> None:
    records.kept["mine", "c"] = kept
    before = left_out["conversation state"]
    assert http.get("/v1/state/c").status_code == 404
    assert http.post("/v1/state/preview", json={"input": "x", "conversation": "c"}).status_code == 404
    assert left_out["conversation state"] == before + 2
    answer = http.put("/v1/state/c", json=STATE)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "state_unreadable")
    assert records.kept["mine", "c"] == kept
    assert http.delete("/v1/state/c").status_code == 200

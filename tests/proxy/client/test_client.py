"""The Python client against a real Turnfold, and against servers that fail."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Coroutine, Iterator
from types import SimpleNamespace
from typing import Any, assert_type

import httpx
import pytest
import respx
from pydantic import SecretStr

from tests.proxy.harness import UpstreamServer, api_server, reply
from turnfold.proxy.api.bodies import CompressAnswer
from turnfold.proxy.client import AsyncClient, Client, errors
from turnfold.proxy.client import client as client_module

URL = "http://turnfold"
ANSWER = httpx.Response(200, json={"section_id": "s", "layer": 0, "text": "t", "tokens": 1})
STATE = {"premise": "p", "policies": {"docker": "use"}, "version": 2}
TEXT = "Anna Berg signed for $4.2 million. " + "".join(f"Day {n} passed by without any news at all. " for n in range(40))


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with api_server("memory://", auth={"admin_token": SecretStr("admin")}) as served:
        yield served


@pytest.fixture
def client(origin: str) -> Iterator[Client]:
    with Client(origin, "anna") as made:
        yield made


async def test_a_client_that_was_closed_asks_nothing(origin: str) -> None:
    with Client(origin) as plain:
        assert plain.clear_cache() == 0
    async with AsyncClient(origin) as other:
        assert await other.clear_cache() == 0
    with pytest.raises(RuntimeError, match="closed"):
        plain.clear_cache()
    with pytest.raises(RuntimeError, match="closed"):
        await other.clear_cache()


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_the_methods_can_be_read_about(kind: type[Client | AsyncClient]) -> None:
    method = kind.forget_windows
    assert str(inspect.signature(method)) == "(self, /, *, upstream: 'str | None' = None, model: 'str | None' = None) -> 'int'"
    assert (method.__name__, (method.__doc__ or "")[:22]) == ("forget_windows", "Forget learned windows")


def types_of_both(client: Client, other: AsyncClient) -> None:
    """For mypy alone: one declaration serves both clients, and each has its own type of result."""
    assert_type(client.clear_cache(), int)
    assert_type(client.compress("text", layer=1), CompressAnswer)
    client.compress("text", layers=1)  # type: ignore[call-arg]
    returned: Coroutine[Any, Any, int] = other.clear_cache()
    returned.close()
    other.drill_down("s", "1")  # type: ignore[arg-type, unused-coroutine]


def test_every_call(client: Client, origin: str) -> None:
    made = client.compress(TEXT, layer=2, l1_ratio=0.4)
    assert made.text == made.layers["2"].text
    assert client.drill_down(made.sections[0].id, 1).tokens <= made.sections[0].tokens
    whole = client.drill_down(made.sections[0].id)
    assert (whole.layer, whole.text) == (0, client.drill_down(made.sections[0].id, 0).text)
    assert client.exchange(TEXT, accept=["facts"], budget=1, format="mcp").encoding == "summary"
    assert client.cache_stats().entries >= 1
    assert client.clear_cache() >= 1
    assert (client.windows(), client.forget_windows(model="m")) == ([], 0)
    for n in range(8):
        text = f"Message {n}: " + "all is well in the harbour. " * 5
        added = client.add_message("c/1", "user", text, compress_threshold=150, keep_recent=2)
    assert added.action == "compressed"
    view = client.conversation("c/1", export=True)
    assert view.export is not None
    assert client.conversation("c/1").export is None
    assert client.import_conversation("c/2", view.export).sections == view.sections
    with Client(origin, "bert") as other, pytest.raises(errors.NotFound):
        other.conversation("c/1")
    client.delete_conversation("c/1")
    with pytest.raises(errors.NotFound):
        client.conversation("c/1")
    assert client.report("admin", group_by="model")["group_by"] == "model"
    state = client.set_state("talk/1", STATE)
    assert client.state("talk/1") == state
    assert client.preview_state("prohibit docker", conversation="talk/1")["decision"]["kind"] == "clarify"
    client.delete_state("talk/1")
    with pytest.raises(errors.NotFound):
        client.state("talk/1")


async def test_every_call_asynchronously(origin: str) -> None:
    async with AsyncClient(origin, "bert") as client:
        made = await client.compress(TEXT, query="Who signed?")
        assert "Anna Berg" in made.text
        assert (await client.drill_down(made.sections[0].id)).layer == 0
        assert (await client.exchange(TEXT)).encoding == "raw"
        assert (await client.cache_stats()).entries >= 1
        await asyncio.gather(*(client.add_message("c", "user", f"hello {n}") for n in range(10)))
        view = await client.conversation("c", export=True)
        assert view.stats.messages == 10
        assert (await client.import_conversation("d", view.export or "")).stats.messages == 10
        await client.delete_conversation("c")
        assert (await client.report("admin"))["totals"]["requests"] == 0
        assert await client.clear_cache() >= 1
        assert (await client.windows(), await client.forget_windows()) == ([], 0)
        assert (await client.set_state("talk", STATE))["state"] == STATE
        assert (await client.state("talk"))["state"] == STATE
        preview = await client.preview_state("use docker", messages=[{"role": "user", "content": "prohibit docker"}])
        assert preview["decision"]["kind"] == "clarify"
        await client.delete_state("talk")
        with pytest.raises(errors.NotFound):
            await client.state("talk")
        with pytest.raises(errors.NotFound):
            await client.conversation("c")


def test_errors_are_told_apart(client: Client, origin: str) -> None:
    with pytest.raises(errors.BadRequest) as blank:
        client.compress(" ")
    assert (blank.value.status, blank.value.param, blank.value.code) == (400, "text", "invalid_value")
    with pytest.raises(errors.BadRequest) as wrong:
        client.compress(TEXT, layer=7)
    assert (wrong.value.status, wrong.value.param) == (422, "layer")
    with pytest.raises(errors.NotFound):
        client.drill_down("s-none")
    with pytest.raises(errors.NotAllowed):
        client.report("guess")
    with Client("http://127.0.0.1:9", retries=0) as nobody, pytest.raises(errors.ConnectionFailed):
        nobody.compress(TEXT)
    assert issubclass(errors.TimedOut, errors.ConnectionFailed)


def test_every_status_has_its_error() -> None:
    wanted = {errors.BadRequest: (400, 402, 405, 409, 413, 422, 428, 430, 499), errors.NotAllowed: (401, 403)}
    wanted |= {errors.NotFound: (404,), errors.NoLongerKept: (410,), errors.RateLimited: (429,), errors.ServerFailed: (500, 503)}
    for kind, statuses in wanted.items():
        for status in statuses:
            found = errors.error_of(status, {"error": {"message": "no", "code": "c", "param": "p"}})
            assert (type(found), found.status, found.code, found.param, str(found)) == (kind, status, "c", "p", f"{status}: no")
    for body, said in (("x" * 300, "x" * 200), ({"error": "no"}, "{'error': 'no'}"), ([1], "[1]")):
        found = errors.error_of(500, body)
        assert (str(found), found.code, found.param) == (f"500: {said}", None, None)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    # The modules' names in this one module: the servers in other threads go on sleeping.
    monkeypatch.setattr(client_module, "time", SimpleNamespace(sleep=waited.append))
    monkeypatch.setattr(client_module, "asyncio", SimpleNamespace(sleep=sleep))
    return waited


@pytest.fixture
def server(waits: list[float]) -> Iterator[respx.MockRouter]:
    """A Turnfold whose answers and failures a test writes down; nothing is waited for."""
    del waits
    with respx.mock(base_url=URL) as router:
        yield router


@pytest.fixture
def section(server: respx.MockRouter) -> respx.Route:
    """Where a section is asked for."""
    return server.post("/v1/drill-down")


@pytest.fixture
def patient(server: respx.MockRouter) -> Iterator[Client]:
    """A client of it that tries again as often as clients do."""
    del server
    with Client(URL) as made:
        yield made


def test_what_can_pass_is_tried_again(patient: Client, section: respx.Route, waits: list[float]) -> None:
    busy = httpx.Response(429, headers={"retry-after": "2"})
    section.side_effect = [httpx.ConnectError("refused"), httpx.Response(503), busy, ANSWER]
    assert patient.drill_down("s").text == "t"
    assert waits == [0, 0.25, 0.5, 2]
    assert section.call_count == 4


async def test_what_can_pass_is_tried_again_asynchronously(section: respx.Route, waits: list[float]) -> None:
    section.side_effect = [httpx.ReadTimeout("slow"), httpx.Response(500), ANSWER]
    async with AsyncClient(URL) as client:
        assert (await client.drill_down("s")).text == "t"
    assert waits == [0, 0.25, 0.5]


def test_no_wait_is_long_whatever_the_server_says(patient: Client, section: respx.Route, waits: list[float]) -> None:
    said = ["86400", "Wed, 21 Oct 2026 07:28:00 GMT", "-1"]
    section.side_effect = [*(httpx.Response(503, headers={"retry-after": one}) for one in said), ANSWER]
    assert patient.drill_down("s").text == "t"
    assert waits == [0, 8, 0.5, 1]


def test_a_wait_in_digits_that_are_no_number_is_none(patient: Client, section: respx.Route, waits: list[float]) -> None:
    section.side_effect = [httpx.Response(503, headers=[(b"retry-after", b"\xb2")]), ANSWER]
    assert patient.drill_down("s").text == "t"
    assert waits == [0, 0.25]


@pytest.mark.parametrize("call", ["state", "set_state", "delete_state", "preview_state"])
def test_calls_about_a_state_are_tried_again(patient: Client, server: respx.MockRouter, waits: list[float], call: str) -> None:
    route = server.route(path__startswith="/v1/state")
    route.side_effect = [httpx.ConnectError("refused"), httpx.Response(503), httpx.Response(404)]
    arguments = ("c", STATE) if call == "set_state" else ("c",)
    with pytest.raises(errors.NotFound):
        getattr(patient, call)(*arguments)
    assert waits == [0, 0.25, 0.5]
    assert len({(one.request.method, one.request.url, one.request.content) for one in route.calls}) == 1


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (httpx.Response(503), errors.ServerFailed),
        (httpx.Response(429, json={"error": {"message": "m", "code": "c", "param": None}}), errors.RateLimited),
        (httpx.ConnectError("refused"), errors.ConnectionFailed),
        (httpx.ReadTimeout("slow"), errors.TimedOut),
        (httpx.RemoteProtocolError("gone"), errors.ConnectionFailed),
    ],
)
def test_a_call_gives_up_after_its_retries(
    section: respx.Route, failure: httpx.Response | Exception, kind: type[errors.ClientError]
) -> None:
    section.side_effect = [failure] * 9
    with Client(URL, retries=2) as client, pytest.raises(kind) as raised:
        client.drill_down("s")
    assert type(raised.value) is kind
    assert section.call_count == 3


def test_an_attempt_takes_as_long_as_was_said(section: respx.Route) -> None:
    section.side_effect = [httpx.ReadTimeout("slow"), ANSWER]
    with Client(URL, timeout=1.5) as client:
        client.drill_down("s")
    assert [set(one.request.extensions["timeout"].values()) for one in section.calls] == [{1.5}] * 2


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (httpx.Response(404, text="<html>"), errors.NotFound),
        (httpx.Response(410, json={}), errors.NoLongerKept),
        (httpx.Response(418, json=[]), errors.BadRequest),
        (httpx.Response(200, text="<html>"), errors.UnexpectedAnswer),
        (httpx.Response(200, json={"a": 1}), errors.UnexpectedAnswer),
        (httpx.Response(200, content=b"[" * 100_000), errors.UnexpectedAnswer),
    ],
)
def test_what_cannot_pass_is_not_tried_again(
    patient: Client, server: respx.MockRouter, section: respx.Route, answer: httpx.Response, kind: type[errors.ClientError]
) -> None:
    section.return_value = answer
    conversation = server.delete("/v1/conversation/c").mock(answer)
    with pytest.raises(kind):
        patient.drill_down("s")
    with pytest.raises(kind):
        patient.delete_conversation("c")
    assert (section.call_count, conversation.call_count) == (1, 1)


@pytest.mark.parametrize("status", [200, 503])
async def test_an_answer_that_is_not_coded_as_it_says_is_none_of_turnfolds(upstream: UpstreamServer, status: int) -> None:
    upstream.handler = reply(b"no gzip", status=status, headers=((b"content-encoding", b"gzip"),))
    with Client(upstream.origin) as client, pytest.raises(errors.UnexpectedAnswer, match="content encoding is wrong"):
        client.drill_down("s")
    async with AsyncClient(upstream.origin) as asynchronous:
        with pytest.raises(errors.UnexpectedAnswer, match="content encoding is wrong"):
            await asynchronous.drill_down("s")


def test_a_negative_number_of_retries_is_refused() -> None:
    with Client(URL, retries=-1) as client, pytest.raises(ValueError, match="retries"):
        client.drill_down("s")


def test_an_add_that_is_tried_again_keeps_its_key(patient: Client, server: respx.MockRouter) -> None:
    adding = server.post("/v1/conversation")
    adding.side_effect = [httpx.ReadError("gone"), httpx.Response(418)] * 2
    for _ in range(2):
        with pytest.raises(errors.BadRequest):
            patient.add_message("c", "user", "hello")
    keys = [one.request.headers["idempotency-key"] for one in adding.calls]
    assert keys[0] == keys[1] != keys[2] == keys[3]


async def test_what_was_restored_is_restored_once_unless_told_otherwise(patient: Client, server: respx.MockRouter) -> None:
    restoring = server.post("/v1/messages/uncompress")
    restoring.side_effect = [httpx.Response(418)] * 4
    async with AsyncClient(URL) as other:
        with pytest.raises(errors.BadRequest):
            patient.uncompress_messages([])
        with pytest.raises(errors.BadRequest):
            await other.uncompress_messages([])
        with pytest.raises(errors.BadRequest):
            patient.uncompress_messages([], recursive=True)
        with pytest.raises(errors.BadRequest):
            await other.uncompress_messages([], recursive=True)
    assert [json.loads(one.request.content)["recursive"] for one in restoring.calls] == [False, False, True, True]


async def test_a_preview_takes_only_exact_directives_unless_told_otherwise(patient: Client, server: respx.MockRouter) -> None:
    looking = server.post("/v1/state/preview")
    looking.side_effect = [httpx.Response(418)] * 2
    async with AsyncClient(URL) as other:
        with pytest.raises(errors.BadRequest):
            patient.preview_state("use docker")
        with pytest.raises(errors.BadRequest):
            await other.preview_state("use docker")
    assert [json.loads(one.request.content)["with_preprocessor"] for one in looking.calls] == [False, False]


HALF = "half of \ud83d a pair"
CANNOT_BE_SENT: dict[str, Callable[[Any], Any]] = {
    "text": lambda client: client.compress(HALF),
    "query": lambda client: client.compress("text", query=HALF),
    "message.content": lambda client: client.add_message("c", "user", HALF),
    "conversation_id": lambda client: client.conversation(HALF),
    "conversation": lambda client: client.state(HALF),
    "section_id": lambda client: client.drill_down(HALF),
    "messages[1].content[0].text": lambda client: client.compress_messages(
        [{"role": "user", "content": "a"}, {"role": "user", "content": [{"type": "text", "text": HALF}]}]
    ),
    "messages[0]": lambda client: client.uncompress_messages((HALF,)),
    "verbatim.half of \\ud83d a pair": lambda client: client.uncompress_messages([], {HALF: {}}),
    "accept": lambda client: client.exchange("text", accept=[HALF]),
    "drill_down": lambda client: client.exchange("text", drill_down=["sección"]),
    "admin_token": lambda client: client.report("пароль"),
    "group_by": lambda client: client.report("admin", group_by=HALF),
    "policies.docker": lambda client: client.set_state("talk", {"policies": {"docker": HALF}}),
    "model": lambda client: client.forget_windows(model=HALF),
    "l1_ratio": lambda client: client.compress("text", l1_ratio=float("nan")),
    "message.role": lambda client: client.add_message("talk", b"user", "text"),
    "messages[0].tags": lambda client: client.compress_messages([{"role": "user", "content": "a", "tags": {1}}]),
    "conversation_id has dot": lambda client: client.delete_conversation(".."),
    "conversation has dot": lambda client: client.state("../report"),
}


@pytest.mark.parametrize("param", CANNOT_BE_SENT)
async def test_text_that_cannot_be_sent_is_named(param: str, origin: str) -> None:
    call = CANNOT_BE_SENT[param]
    with Client(origin, "anna") as client, pytest.raises(errors.InvalidArgument) as raised:
        call(client)
    assert raised.value.param == param.removesuffix(" has dot")
    assert str(raised.value).startswith(param)
    assert isinstance(raised.value, errors.ClientError)
    str(raised.value).encode()  # it can be logged
    async with AsyncClient(origin, "anna") as other:
        with pytest.raises(errors.InvalidArgument):
            await call(other)


@pytest.mark.parametrize(
    ("url", "key", "param"),
    [
        ("http://a", "ключ", "api_key"),
        ("http://a\ud83d.b", "key", "base_url"),
        ("127.0.0.1:8420", "key", "base_url"),
        ("localhost:8420", "key", "base_url"),
        ("http://", "key", "base_url"),
    ],
)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_client_that_could_never_send_is_not_made(kind: type[Client | AsyncClient], url: str, key: str, param: str) -> None:
    with pytest.raises(errors.InvalidArgument, match=param):
        kind(url, key)


async def test_the_environments_proxy_is_not_asked_for_this_machine(
    origin: str, upstream: UpstreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy that is asked for an address of its own machine finds nothing there, or something else."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, upstream.origin)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with Client(origin, "anna", retries=0) as client:
        assert client.compress("Not now.", layer=0).text == "Not now."
    async with AsyncClient(origin, "anna", retries=0) as other:
        assert (await other.compress("Not now.", layer=0)).text == "Not now."
    assert upstream.seen == []
    upstream.handler = reply(ANSWER.content)
    with Client("http://turnfold.example", "anna", retries=0) as client:
        assert client.drill_down("s").text == "t"
    assert [one.header("host") for one in upstream.seen] == ["turnfold.example"]


def test_an_address_as_openai_clients_have_it(origin: str) -> None:
    with Client(f"{origin}/v1/", "anna") as client:
        assert client.exchange("Not now.", accept="summary").encoding == "summary"


@pytest.mark.parametrize("given", ["/gateway", "/gateway/", "/gateway/v1", "/gateway/v1/"])
def test_an_address_behind_a_gateway(given: str, server: respx.MockRouter) -> None:
    asked = server.post("/gateway/v1/drill-down").mock(return_value=ANSWER)
    with Client(URL + given, "anna") as client:
        assert client.drill_down("s").text == "t"
    assert asked.calls.last.request.headers["authorization"] == "Bearer anna"


@pytest.mark.parametrize("host", ["a" * 70, "a..b"])
async def test_a_host_name_that_no_lookup_can_encode(host: str) -> None:
    with Client(f"http://{host}.example", retries=0) as client, pytest.raises(errors.ClientError):
        client.cache_stats()
    async with AsyncClient(f"http://{host}.example", retries=0) as other:
        with pytest.raises(errors.ClientError):
            await other.cache_stats()


def test_text_of_every_script_is_sent(client: Client) -> None:
    text = "naïve 漢字 😀 \u0000 end"
    assert client.compress(text, layer=0).text == text

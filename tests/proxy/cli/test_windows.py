"""Learned windows over HTTP and on the command line: what a tenant sees, what an administrator sees, and forgetting."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from tests.proxy.harness import ProxyServer, RunCommand, UpstreamServer, proxy_server, reply, unhurried
from turnfold.compression.calibration import Learned
from turnfold.compression.options import FoldOptions
from turnfold.config.settings import StoreSettings
from turnfold.proxy.books.learned import learned_rows
from turnfold.proxy.cli.windows import _duration
from turnfold.proxy.learning.window_records import UpstreamModel
from turnfold.proxy.learning.windows import Windows
from turnfold.proxy.store.memory import MemoryStore
from turnfold.proxy.store.opening import open_store

ADMIN = {"x-turnfold-admin-token": "admin"}
OVERFLOW = b'{"error":{"message":"This model\'s maximum context length is 5000 tokens.","code":"context_length_exceeded"}}'
ANSWER = b'{"choices":[],"usage":{"prompt_tokens":321,"completion_tokens":1}}'


def bearer(name: str) -> dict[str, str]:
    return {"authorization": f"Bearer {name}"}


def overflow(proxy: ProxyServer, upstream: UpstreamServer, model: str, key: str) -> None:
    """One request that was taken, and one that overflowed."""
    for handler in (reply(ANSWER), reply(OVERFLOW, status=400)):
        upstream.handler = handler
        body = {"model": model, "messages": [{"role": "user", "content": "word " * 300}]}
        proxy.chat(body, ("authorization", f"Bearer {key}"))


@pytest.fixture
def proxy(upstream: UpstreamServer) -> Iterator[ProxyServer]:
    with proxy_server(upstream.origin + "/v1", auth={"admin_token": SecretStr("admin")}) as (made, _):
        overflow(made, upstream, "own-1", "anna")
        overflow(made, upstream, "own-2", "anna")
        overflow(made, upstream, "own-1", "bert")
        yield made


@pytest.fixture
def http(proxy: ProxyServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=proxy.origin, timeout=60) as client:
        yield client


def listed(http: httpx.Client, headers: dict[str, str], path: str = "/v1/windows") -> list[str]:
    return [row["model"] for row in http.get(path, headers=headers).json()["windows"]]


def test_a_tenant_sees_and_forgets_its_own(http: httpx.Client, upstream: UpstreamServer) -> None:
    row = http.get("/v1/windows", headers=bearer("anna")).json()["windows"][0]
    assert (row["model"], row["upstream"]) == ("own-1", upstream.origin)
    assert (row["window"], row["source"], row["how"], row["in_force"]) == (5000, "error", "named by an error once", True)
    assert (row["largest_prompt"], row["retry_at"] - row["learned_at"]) == (321, pytest.approx(300, abs=1))
    assert time.time() - row["learned_at"] < 60
    assert "tenant" not in row
    gone = http.delete("/v1/windows", params={"model": "own-1"}, headers=bearer("anna"))
    assert gone.json() == {"forgotten": 1}
    assert (listed(http, bearer("anna")), listed(http, bearer("bert")), listed(http, bearer("carl"))) == (
        ["own-2"],
        ["own-1"],
        [],
    )
    assert http.delete("/v1/windows", headers=bearer("anna")).json() == {"forgotten": 1}
    assert (listed(http, bearer("anna")), listed(http, bearer("bert"))) == ([], ["own-1"])


def test_an_unknown_parameter_forgets_nothing(http: httpx.Client) -> None:
    refused = http.delete("/v1/windows", params={"modell": "own-1"}, headers=bearer("anna"))
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "modell")
    assert http.delete("/admin/windows?all=1", headers=ADMIN).status_code == 400
    assert listed(http, bearer("anna")) == ["own-1", "own-2"]


def test_an_administrator_sees_all_or_one_tenant(http: httpx.Client) -> None:
    assert sorted(listed(http, ADMIN, "/admin/windows")) == ["own-1", "own-1", "own-2"]
    rows = http.get("/admin/windows", headers=ADMIN).json()["windows"]
    bert = next(row["tenant"] for row in rows if [r["tenant"] for r in rows].count(row["tenant"]) == 1)
    assert listed(http, {**ADMIN, "x-turnfold-tenant": bert}, "/admin/windows") == ["own-1"]
    assert http.delete("/admin/windows?model=own-1", headers={**ADMIN, "x-turnfold-tenant": bert}).json() == {"forgotten": 1}
    assert http.delete("/admin/windows?model=own-1", headers=ADMIN).json() == {"forgotten": 1}
    assert listed(http, ADMIN, "/admin/windows") == ["own-2"]
    for method in ("GET", "DELETE"):
        assert http.request(method, "/admin/windows", headers=bearer("anna")).status_code == 401
    assert listed(http, bearer("anna")) == ["own-2"]


def test_the_report_shows_them(http: httpx.Client) -> None:
    shown = http.get("/admin/report", headers=ADMIN).json()["windows"]
    assert sorted((row["model"], row["window"]) for row in shown) == [("own-1", 5000), ("own-1", 5000), ("own-2", 5000)]
    assert [row["model"] for row in http.get("/admin/report?model=own-2", headers=ADMIN).json()["windows"]] == ["own-2"]


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["forget"], "MODEL"),
        (["forget", "m", "--all"], "--all"),
        (["--all"], "--all"),
        (["list", "m"], "model"),
        (["--upstream", "http://u"], "--upstream"),
        (["forget", "m", "--key", "k", "--tenant", "t"], "--key"),
        (["remember"], "remember"),
    ],
)
def test_options_that_do_not_apply_are_refused(run: RunCommand, arguments: list[str], options: str) -> None:
    code, _, err = run("windows", *arguments)
    assert code == 2
    assert options in err


def test_the_command_lists_and_forgets(
    run: RunCommand, proxy: ProxyServer, monkeypatch: pytest.MonkeyPatch, upstream: UpstreamServer
) -> None:
    at = ("--url", proxy.origin)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "TURNFOLD_ADMIN_TOKEN" in run("windows", *at)[2]
    monkeypatch.setenv("OPENAI_API_KEY", "bert")
    assert [row["model"] for row in json.loads(run("windows", "--json", *at)[1])] == ["own-1"]
    monkeypatch.setenv("TURNFOLD_ADMIN_TOKEN", "admin")
    code, out, _ = run("windows", *at)
    assert (code, out.count("own-1"), out.count("5,000")) == (0, 2, 3)
    assert "named by an error once" in out
    assert "in 4 min" in out
    rows = json.loads(run("windows", "--json", *at, "--key", "anna")[1])
    assert [row["model"] for row in rows] == ["own-1", "own-2"]
    assert run("windows", "forget", "own-1", *at, "--key", "anna")[:2] == (0, "1 forgotten.\n")
    code, _, err = run("windows", "forget", "own-1", *at, "--key", "anna")
    assert (code, "own-1" in err) == (1, True)
    assert json.loads(run("windows", "forget", "--upstream", upstream.origin, "--json", *at)[1]) == {"forgotten": 2}
    assert run("windows", "forget", "--all", *at)[:2] == (0, "0 forgotten.\n")
    assert "Nothing" in run("windows", *at)[1]


def test_report_and_doctor_show_them_from_the_store(run: RunCommand, tmp_path: Path) -> None:
    async def learn() -> None:
        store = open_store(unhurried(StoreSettings(url=f"sqlite:///{tmp_path}/turnfold.db")))
        windows = Windows(store)
        await windows.learn_from_refusal(UpstreamModel("t", "http://u", "own-1"), 5000, 6000)
        await windows.learn_from_usage(UpstreamModel("t", "http://u", "own-2"), 1000, 1200)
        await store.close()

    assert not [f for f in json.loads(run("doctor", "--json")[1]) if f["part"] == "windows"]
    asyncio.run(learn())
    (found,) = [f for f in json.loads(run("doctor", "--json")[1]) if f["part"] == "windows"]
    assert "own-1 5,000 (named by an error once)" in found["found"]
    assert "own-2" not in found["found"]
    assert [row["model"] for row in json.loads(run("report", "--json")[1])["windows"]] == ["own-1"]
    assert json.loads(run("report", "--json", "--only", "model=own-2")[1])["windows"] == []


@pytest.mark.parametrize(("learned", "end"), [(3, "own-3 5,000 (named by an error once)"), (4, " and 1 more")])
def test_doctor_names_three_windows(run: RunCommand, tmp_path: Path, learned: int, end: str) -> None:
    async def learn() -> None:
        store = open_store(unhurried(StoreSettings(url=f"sqlite:///{tmp_path}/turnfold.db")))
        for number in range(learned):
            await Windows(store).learn_from_refusal(UpstreamModel("t", "http://u", f"own-{number + 1}"), 5000, 6000)
        await store.close()

    asyncio.run(learn())
    (found,) = [f for f in json.loads(run("doctor", "--json")[1]) if f["part"] == "windows"]
    assert found["found"].endswith(end)
    assert [f"own-{number}" in found["found"] for number in (1, 2, 3, 4)] == [True, True, True, False]


async def rows_of(windows: Windows, window: int | None = None, now: float | None = None) -> list[dict[str, Any]]:
    options = None if window is None else lambda model: FoldOptions(model=model, window=window)
    return learned_rows(await windows.records("t"), time.time() if now is None else now, options)


async def test_each_way_of_learning_is_said() -> None:
    windows = Windows(MemoryStore())
    spots = {name: UpstreamModel("t", "http://u", name) for name in ("claimed", "refused", "silent", "counted")}
    for _ in range(3):
        await windows.learn_from_refusal(spots["claimed"], 5000, 6000)
    await windows.learn_from_usage(spots["refused"], 4000, 4000)
    await windows.learn_from_refusal(spots["refused"], None, 9000)
    for ours in (2000, 4000, 8000, 12_000, 16_000):
        await windows.learn_from_usage(spots["silent"], ours, min(ours, 4096))
    await windows.learn_from_usage(spots["counted"], 1000, 1100)
    rows = {row["model"]: row for row in await rows_of(windows)}
    assert (rows["claimed"]["window"], rows["claimed"]["how"]) == (5000, "named by an error 3 times")
    assert (rows["refused"]["window"], rows["refused"]["how"]) == (4500, "a guess: refused at 9,000")
    assert (rows["silent"]["window"], rows["silent"]["source"]) == (4096, "cut-off")
    assert (rows["counted"]["window"], rows["counted"]["how"], rows["counted"]["in_force"]) == (None, "", False)
    assert [rows[name]["in_force"] for name in ("claimed", "refused", "silent")] == [True] * 3
    later = await rows_of(windows, now=time.time() + 90_000)
    assert not any(row["in_force"] for row in later)


async def test_of_a_name_that_a_client_chose_two_hundred_characters_are_listed() -> None:
    windows = Windows(MemoryStore())
    await windows.learn_from_refusal(UpstreamModel("t", "http://u", "m" * 300), 5000, 6000)
    assert [row["model"] for row in await rows_of(windows)] == ["m" * 200]


async def test_one_claim_below_the_published_window_is_listed_but_not_in_force() -> None:
    windows, spot = Windows(MemoryStore()), UpstreamModel("t", "http://u", "m")
    await windows.learn_from_refusal(spot, 5000, 6000)
    (row,) = await rows_of(windows, 128_000)
    assert (row["window"], row["in_force"]) == (5000, False)
    await windows.learn_from_refusal(spot, 5000, 6000)
    (row,) = await rows_of(windows, 128_000)
    assert row["in_force"]


def test_nothing_learned_is_no_belief() -> None:
    assert Learned().belief is None


def test_durations() -> None:
    seconds = (-5, 0.9, 1, 59.9, 60, 3599, 3600, 86_399, 86_400, 200_000)
    assert list(map(_duration, seconds)) == ["0 s", "0 s", "1 s", "59 s", "1 min", "59 min", "1 h", "23 h", "1 d", "2 d"]

"""The books of a real ``turnfold serve``: what a crash costs, what several workers add up to, what is known of one request."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.harness import Answer, Running, UpstreamServer, call, reply, until
from tests.support.words import prose
from turnfold.config.settings import StoreSettings
from turnfold.proxy import cli
from turnfold.proxy.books.ledger import receipts_between
from turnfold.proxy.store import open_store

ADMIN = ("x-turnfold-admin-token", "adm")
USAGE = {"prompt_tokens": 1000, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 0}}
COMPLETION = json.dumps({"id": "c", "model": "gpt-4o", "choices": [], "usage": USAGE}).encode()
SHORT = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}).encode()


def chat(turns: int) -> list[dict[str, str]]:
    """A chat of so many turns of some 200 tokens each, its last message the user's."""
    roles = ("user", "assistant")
    return [{"role": roles[i % 2], "content": prose(i, "en", 8)} for i in range(2 * turns + 1)]


LONG = json.dumps({"model": "gpt-4o", "messages": chat(60)}).encode()


class Served:
    """A running process."""

    def __init__(self, origin: str, process: subprocess.Popen[bytes]) -> None:
        self.origin = origin
        self.process = process

    def post(self, body: bytes, key: str = "sk-anna") -> Answer:
        headers = [("content-type", "application/json"), ("authorization", f"Bearer {key}")]
        return call(self.origin, "POST", "/v1/chat/completions", body, headers)

    def get(self, path: str, *headers: tuple[str, str]) -> Answer:
        return call(self.origin, "GET", path, None, [ADMIN, *headers])

    def ready(self) -> bool:
        assert self.process.poll() is None, "it ended"
        with contextlib.suppress(OSError):
            return call(self.origin, "GET", "/readyz").status == 200
        return False


Serve = Callable[..., Served]
Run = Callable[..., tuple[int, str, str]]


@contextlib.contextmanager
def serving(upstream: UpstreamServer, directory: Path, **settings: str) -> Iterator[Served]:
    """``turnfold serve`` in front of `upstream`, gone with all its workers afterwards."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    own = {"UPSTREAM_URL": upstream.origin + "/v1", "PORT": str(port), "ADMIN_TOKEN": "adm", "STORE_URL": "memory://"}
    others = {name: value for name, value in os.environ.items() if not name.startswith("TURNFOLD_")}
    mine = {f"TURNFOLD_{name}": value for name, value in (own | settings).items()}
    environment = {**others, **mine, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}
    command = [sys.executable, "-m", "turnfold.proxy.cli", "serve"]
    process = subprocess.Popen(command, env=environment, cwd=directory, start_new_session=True)  # noqa: S603 - ours
    try:
        served = Served(f"http://127.0.0.1:{port}", process)
        until(served.ready, timeout=90)
        yield served
        process.terminate()
        process.wait(20)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def serve(upstream: UpstreamServer, tmp_path: Path) -> Iterator[Serve]:
    """Starts processes that end with the test."""
    upstream.handler = reply(COMPLETION)
    with contextlib.ExitStack() as stack:
        yield lambda **settings: stack.enter_context(serving(upstream, tmp_path, **settings))


@pytest.fixture(scope="module")
def shared_served(shared_upstream: tuple[UpstreamServer, Running], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One process for all tests that want no other settings."""
    with serving(shared_upstream[0], tmp_path_factory.mktemp("served")) as served:
        yield served


@pytest.fixture
def served(upstream: UpstreamServer, shared_served: Served) -> Served:
    """It, in front of an upstream that answers."""
    upstream.handler = reply(COMPLETION)
    return shared_served


async def _stored(url: str) -> set[str]:
    store = open_store(StoreSettings(url=url))
    try:
        return {line["request_id"] async for line in receipts_between(store, time.time() - 600, time.time() + 60)}
    finally:
        await store.close()


async def test_a_crash_costs_less_than_the_last_second(serve: Serve, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/t.db"
    served = serve(STORE_URL=url)
    ends: dict[str, float] = {}
    begin = time.monotonic()
    while time.monotonic() < begin + 2.2 or len(ends) < 60:
        answer = served.post(SHORT)
        ends[answer.header("x-turnfold-request-id") or ""] = time.monotonic()
    served.process.kill()
    killed = time.monotonic()
    served.process.wait(10)
    held = await _stored(url)
    old = {name for name, end in ends.items() if end < killed - 1}
    assert len(old) > 5
    assert old <= held <= set(ends)


async def test_an_orderly_stop_loses_nothing(serve: Serve, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/t.db"
    served = serve(STORE_URL=url)
    sent = {served.post(SHORT).header("x-turnfold-request-id") for _ in range(40)}
    served.process.terminate()
    served.process.wait(20)
    assert await _stored(url) == sent


def _sums(text: str, name: str) -> float:
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if re.match(rf"{name}[{{ ]", line))


def test_two_workers_give_one_set_of_figures(serve: Serve, tmp_path: Path) -> None:
    served = serve(WORKERS="2", STORE_URL=f"sqlite:///{tmp_path}/t.db")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(served.post, [SHORT] * 58 + [LONG, LONG]))
    assert {answer.status for answer in answers} == {200}
    paid = 60 * (1000 * 2.5 + 10 * 10) / 1e6

    def scraped() -> list[dict[str, float]]:
        texts = [served.get("/metrics").body.decode() for _ in range(12)]  # each on a connection of its own: either worker
        names = ("requests_total", "folds_total", "dollars_paid_total", "overhead_seconds_count", "first_byte_seconds_count")
        return [{name: round(_sums(text, f"turnfold_{name}"), 9) for name in names} for text in texts]

    expected = {"requests_total": 60, "folds_total": 2, "dollars_paid_total": round(paid, 9)}
    expected |= {"overhead_seconds_count": 60, "first_byte_seconds_count": 60}
    until(lambda: scraped() == [expected] * 12, timeout=20)
    totals = served.get("/admin/report?group_by=status").json()["totals"]
    assert totals["requests"] == 60
    assert totals["dollars"]["paid"] == pytest.approx(paid)


def test_what_is_known_of_one_request(served: Served, upstream: UpstreamServer) -> None:
    answer = served.post(LONG)
    name = answer.header("x-turnfold-request-id")
    found = served.get(f"/admin/requests/{name}").json()
    receipt = found["receipt"]
    assert receipt["request_id"] == name
    assert (receipt["status"], str(receipt["tokens_before"])) == ("folded", answer.header("x-turnfold-tokens-before"))
    assert found["why"].startswith("Folded")
    assert receipt["paid"] > 0
    originals = {json.dumps(message) for message in chat(60)}
    for section in found["sections"]:
        assert section["kept"]
        assert {json.dumps(json.loads(raw)) for raw in section["messages"]} <= originals
    assert sum(len(section["messages"]) for section in found["sections"]) > 50
    instead = [text for section in found["sections"] for text in section["instead"] if text]
    sent = json.loads(upstream.seen[-1].body)["messages"]
    everything = "\n".join(str(message["content"]) for message in sent)
    assert instead
    assert all(text in everything for text in instead)


def test_a_request_is_known_to_its_tenant_only(served: Served) -> None:
    name = served.post(SHORT).header("x-turnfold-request-id")
    tenant = served.get(f"/admin/requests/{name}").json()["receipt"]["tenant"]
    assert served.get(f"/admin/requests/{name}", ("x-turnfold-tenant", tenant)).status == 200
    missing = served.get(f"/admin/requests/{name}", ("x-turnfold-tenant", "another")).json()
    unknown = served.get("/admin/requests/tf-0", ("x-turnfold-tenant", tenant)).json()
    assert missing["error"]["code"] == unknown["error"]["code"] == "request_unknown"
    assert call(served.origin, "GET", f"/admin/requests/{name}").status == 401
    assert served.get(f"/admin/requests/{name}?colour=red").json()["error"]["param"] == "colour"
    assert served.get(f"/admin/requests/{name}?from=never").json()["error"]["param"] == "from"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs a command in an empty directory and environment: exit code, standard output, standard error."""
    for name in [name for name in os.environ if name.startswith("TURNFOLD_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TURNFOLD_ADMIN_TOKEN", "adm")

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["turnfold", *arguments])
        code: Any = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code or 0
        out, err = capsys.readouterr()
        return code, out, err

    return command


def test_inspect_asks_the_server(served: Served, run: Run) -> None:
    name = served.post(LONG).header("x-turnfold-request-id") or ""
    code, out, err = run("inspect", name, "--url", served.origin)
    assert (code, err) == (0, "")
    assert name in out
    assert "Folded" in out
    assert "Section" in out
    assert json.loads(run("inspect", name, "--url", served.origin, "--json")[1])["receipt"]["request_id"] == name
    code, out, err = run("inspect", name, "--url", served.origin, "--tenant", "another")
    assert (code, out, err.count("\n")) == (1, "", 1)
    deleted = call(served.origin, "DELETE", "/admin/data", None, [ADMIN, ("x-turnfold-tenant", _tenant(served, name))])
    assert deleted.status == 200
    assert "never kept" in run("inspect", name, "--url", served.origin)[1]


def _tenant(served: Served, name: str) -> str:
    tenant: str = served.get(f"/admin/requests/{name}").json()["receipt"]["tenant"]
    return tenant


def test_inspect_folds_a_file_here(run: Run, tmp_path: Path) -> None:
    (tmp_path / "request.json").write_bytes(LONG)
    found = json.loads(run("inspect", "request.json", "--json")[1])
    messages = found["messages"]
    assert [row["before"] for row in messages] == [message["content"] for message in chat(60)]
    assert found["tokens"]["after"] < found["tokens"]["before"]
    assert found["tokens"]["after"] == pytest.approx(sum(row["tokens_after"] for row in messages) + 3)
    assert {row["what"] for row in messages} >= {"left out", "verbatim"}
    assert all((row["after"] is None) == (row["what"] == "left out") for row in messages)
    assert all(row["section"] for row in messages if row["what"] in ("left out", "shortened"))
    assert found["fold_events"] > 0
    assert (found["prices"]["dollars_per_million"], found["prices"]["cache_read"]) == (2.5, 0.5)
    assert "at these prices" in found["thresholds"]["words"]
    recalled = [passage for row in messages for passage in row["recall"]]
    assert all(any(passage["text"].split(" … ")[0] in row["before"] for row in messages) for passage in recalled)
    code, out, _ = run("inspect", "request.json", "--full")
    assert code == 0
    assert "(left out)" in out
    assert "so old" in out or "too old" in out


def test_inspect_tells_a_shaped_result(run: Run, tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "list_cranes", "arguments": "{}"}}
    cranes = json.dumps([{"crane": f"c-{n}", "berth": n, "open": True} for n in range(20)], indent=2)
    messages = [
        {"role": "user", "content": "Which cranes are open?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": cranes},
    ]
    (tmp_path / "request.json").write_text(json.dumps({"model": "gpt-4o", "messages": messages}))
    found = json.loads(run("inspect", "request.json", "--json")[1])
    row = found["messages"][-1]
    assert (row["what"], row["section"]) == ("shortened", "")
    assert "same values" in row["why"]
    assert row["after"].startswith("@1: 20 rows of crane|berth|open")


def test_inspect_says_why_nothing_is_folded(run: Run, tmp_path: Path) -> None:
    (tmp_path / "short.json").write_bytes(SHORT.replace(b"gpt-4o", b"my-local-model"))
    code, out, _ = run("inspect", "short.json")
    assert code == 0
    assert "too short" in out
    assert "price unknown" in out
    found = json.loads(run("inspect", "short.json", "--json")[1])
    assert found["prices"]["dollars_per_million"] is None
    assert [row["what"] for row in found["messages"]] == ["verbatim"]


@pytest.mark.parametrize(("text", "words"), [("[]", "body"), ("{}", "body"), ("{", "body"), ("", "blank")])
def test_inspect_of_no_request(run: Run, tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "odd.json").write_text(text)
    code, out, err = run("inspect", "odd.json")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert words in err


def test_inspect_of_no_file(run: Run) -> None:
    code, out, err = run("inspect", "nowhere.json")
    assert (code, out) == (1, "")
    assert "nowhere.json" in err

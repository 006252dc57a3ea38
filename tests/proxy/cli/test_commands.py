"""The command line, in this process: what it prints and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import inspect
import io
import json
import pwd
import re
import sqlite3
import sys
import threading
import time
import types
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.proxy.harness import RunCommand, unhurried
from tests.proxy.receipts import SECTION, receipt
from turnfold.config.settings import Settings, StoreSettings
from turnfold.proxy import cli
from turnfold.proxy.app import Parts
from turnfold.proxy.chat.receipts import OwnCall, Usage
from turnfold.proxy.identity import read_key

#: The frame that the help stands in.
BORDERS = str.maketrans("│", " ")


async def _fill(path: Path) -> None:
    parts = Parts(Settings(store=unhurried(StoreSettings(url=f"sqlite:///{path}/turnfold.db"))))
    async with parts.running():
        now = time.time()
        parts.ledger.record(receipt(at=now), (SECTION,))
        parts.ledger.record(receipt(at=now, model="[red]\x1b[2J", usage=()), ())
        parts.ledger.record(receipt(at=now, status="observed"), ())


@pytest.fixture
def filled(tmp_path: Path, run: RunCommand) -> RunCommand:
    asyncio.run(_fill(tmp_path))
    return run


@pytest.fixture
def server() -> Iterator[tuple[str, list[Any]]]:
    """A Turnfold that gives two answers: an original, and an error."""
    seen: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            return

        def do_GET(self) -> None:
            self.send_response(401)
            self.send_header("content-length", "0")
            self.end_headers()

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            seen.append((self.path, dict(self.headers), body))
            known = body["section_id"] == "s-1"
            error = {"error": {"message": "There is no section 's-2'.", "code": "section_unknown"}}
            answer = json.dumps({"text": "the original"} if known else error).encode()
            self.send_response(200 if known else 404)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{made.server_port}", seen
        made.shutdown()
        thread.join()


def test_help_names_every_command(run: RunCommand) -> None:
    code, out, _ = run("--help")
    assert code == 0
    assert all(name in out for name in cli.COMMANDS)
    for name, command in cli.COMMANDS.items():
        assert command.says in " ".join(out.translate(BORDERS).split())
        assert (inspect.getdoc(command.load(name).callback) or "").partition("\n")[0] == command.says
        assert run(name, "--help")[0] == 0


def test_help_is_broken_by_the_terminal_alone(run: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert "The exit status is 1 if a check fails." in run("doctor", "--help")[1]


def test_version(run: RunCommand) -> None:
    code, out, _ = run("version")
    assert (code, out.split()[0]) == (0, "turnfold")
    assert run("--version") == (0, out, "")


def test_config_shows_values_origins_and_no_secret(run: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNFOLD_ADMIN_TOKEN", "hunter2")
    monkeypatch.setenv("TURNFOLD_CLIENT_TOKENS", "hunter3")
    rows = {row["variable"]: row for row in json.loads(run("config", "--json")[1])}
    assert rows["TURNFOLD_STORE_URL"]["value"] == "sqlite:///turnfold.db"
    assert rows["TURNFOLD_STORE_URL"]["origin"] == "TURNFOLD_STORE_URL (the environment)"
    _, out, _ = run("config")
    assert "TURNFOLD_PORT" in out
    assert "8420" in out
    shown = {cells[1].strip(): cells[2].strip() for line in out.splitlines() if len(cells := re.split("[│┃]", line)) > 3}
    assert (shown["TURNFOLD_SUMMARY_MODEL"], shown["TURNFOLD_MODELS"], shown["TURNFOLD_HOST"]) == ("-", "-", "127.0.0.1")
    assert "hunter" not in out + json.dumps(rows)


def test_wrong_settings_are_one_line_and_exit_code_2(run: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNFOLD_PROT", "1")
    for command in ("config", "serve", "report", "doctor"):
        code, out, err = run(command)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "TURNFOLD_PORT" in err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("compres",), "no such command 'compres'"),
        (("report", "--sinse", "7d"), "no such option: --sinse"),
        (("drill-down",), "missing argument 'section'"),
        (("compress", "a.txt", "--layer", "seven"), "invalid value for '--layer'"),
        (("report", "--group-by"), "requires an argument"),
        (("version", "now"), "unexpected extra argument"),
    ],
)
def test_a_command_line_that_cannot_be_read_is_one_line_and_exit_code_2(
    run: RunCommand, arguments: tuple[str, ...], problem: str
) -> None:
    code, out, err = run(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("turnfold: ")
    assert problem in err
    assert err.endswith(" --help)\n")


def test_serve_prints_a_link_to_the_dashboard_where_there_is_one(run: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[str] = []
    server = types.SimpleNamespace(serve=lambda settings, dashboard: served.append(dashboard("http://here/admin/")))
    monkeypatch.setitem(sys.modules, "turnfold.proxy.server", server)
    run("serve", "--store", "memory://")
    run("serve", "--store", "memory://", "--host", "0.0.0.0")  # noqa: S104 - nothing listens
    assert served[0].startswith("http://127.0.0.1:8420/admin/#link=")
    assert served[1] == "http://here/admin/ (closed: set TURNFOLD_ADMIN_TOKEN to open it)"
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    code, out, err = run("dashboard", "--port", "9")
    assert (code, opened) == (0, [])
    assert [run("dashboard", "--port", "9", "--open")[1].strip()] == opened
    assert out.startswith("http://127.0.0.1:9/admin/#link=")
    assert "no Turnfold answers at http://127.0.0.1:9 now" in err
    monkeypatch.setenv("TURNFOLD_HOST", "0.0.0.0")  # noqa: S104
    code, out, err = run("dashboard")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "TURNFOLD_ADMIN_TOKEN" in err


def test_serve_hands_its_flags_on(run: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Settings] = []
    server = types.SimpleNamespace(serve=lambda settings, **_: served.append(settings))
    monkeypatch.setitem(sys.modules, "turnfold.proxy.server", server)
    flags = [
        "--upstream",
        "http://u/v1/",
        "--host",
        "::1",
        "--port",
        "0",
        "--store",
        "memory://",
        "--mode",
        "off",
        "--workers",
        "3",
    ]
    assert run("serve", *flags)[0] == 0
    (settings,) = served
    assert (settings.upstream.url, settings.server.host, settings.server.port) == ("http://u/v1", "::1", 0)
    assert (settings.store.url, settings.folding.mode, settings.server.workers) == ("memory://", "off", 3)
    code, _, err = run("serve", "--mode", "sometimes")
    assert code == 2
    assert "--mode (from the command line)" in err


def test_report_as_table_json_and_csv(filled: RunCommand) -> None:
    code, out, _ = filled("report")
    assert code == 0
    assert "gpt-4o" in out
    assert "[red]\ufffd[2J" in out
    assert "\x1b[2J" not in out
    assert "without usage" in out
    assert "Only observed" in out
    result = json.loads(filled("report", "--json", "--group-by", "status")[1])
    assert result["totals"]["requests"] == 3
    rows = list(csv.DictReader(io.StringIO(filled("report", "--csv", "--group-by", "day", "--since", "2d")[1])))
    assert [row["requests"] for row in rows] == ["3"]


def test_report_may_be_narrowed(filled: RunCommand) -> None:
    assert json.loads(filled("report", "--json", "--only", "status=observed")[1])["totals"]["requests"] == 1
    both = ("--only", "status=folded", "--only", "model=gpt-4o")
    assert json.loads(filled("report", "--json", *both)[1])["totals"]["requests"] == 1
    for wrong in ("status", "colour=red"):
        code, out, err = filled("report", "--only", wrong)
        assert (code, out, err.count("\n")) == (2, "", 1)


def test_report_by_conversation_says_why(run: RunCommand, tmp_path: Path) -> None:
    async def fill() -> None:
        parts = Parts(Settings(store=unhurried(StoreSettings(url=f"sqlite:///{tmp_path}/turnfold.db"))))
        async with parts.running():
            for number in range(3):
                parts.ledger.record(receipt(at=time.time(), tokens_before=9000 + 500 * number), ())
            parts.ledger.record(receipt(at=time.time(), conversation="new"), ())

    asyncio.run(fill())
    out = " ".join(run("report", "--group-by", "conversation")[1].split())
    assert "Folds" in out
    assert "at these prices" in out
    grown, new = json.loads(run("report", "--group-by", "conversation", "--json")[1])["groups"]
    assert grown["pacing"]["words"].startswith("Above ")
    assert " 500 tokens a turn" in grown["pacing"]["words"]
    assert (new["pacing"]["words"], new["pacing"]["why"]) == (None, "Folded: a smaller request was sent.")


def test_report_shows_the_hold_out(run: RunCommand, tmp_path: Path) -> None:
    async def fill() -> None:
        parts = Parts(Settings(store=unhurried(StoreSettings(url=f"sqlite:///{tmp_path}/turnfold.db"))))
        async with parts.running():
            for number in range(6):
                held = {"status": "bypassed", "reason": "held-out"} if number % 2 else {}
                calls = () if number else (OwnCall("summary", "gpt-4o", Usage(1000, 10)),)
                parts.ledger.record(receipt(at=time.time(), conversation=f"c{number}", calls=calls, **held), ())

    asyncio.run(fill())
    out = " ".join(run("report")[1].split())
    assert "Hold-out" in out
    assert "prompt tokens" in out
    assert "±" in out
    assert "Paid includes 1 call that Turnfold made itself ($0.0026)." in out


def test_export_writes_every_receipt(filled: RunCommand) -> None:
    lines = [json.loads(line) for line in filled("export")[1].splitlines()]
    assert [line["status"] for line in lines] == ["folded", "folded", "observed"]
    assert lines[0]["paid"] > 0
    rows = list(csv.DictReader(io.StringIO(filled("export", "--csv", "--since", "1h")[1])))
    assert [row["usage.prompt_tokens"] for row in rows] == ["400", "", "400"]
    nothing = ("export", "--until", "2025-01-01", "--since", "2024-12-01")
    assert filled(*nothing)[:2] == (0, "")
    assert filled(*nothing, "--csv")[1].splitlines() == filled("export", "--csv")[1].splitlines()[:1], "the header line"


def test_report_of_nothing(run: RunCommand) -> None:
    code, out, _ = run("report", "--since", "1h")
    assert code == 0
    assert "No requests" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["report", "--url", "http://127.0.0.1:9"], "TURNFOLD_ADMIN_TOKEN"),
        (["drill-down", "s", "--tenant", "anna"], "TURNFOLD_ADMIN_TOKEN"),
        (["drill-down", "s", "--url", "http://127.0.0.1:9"], "Connection refused; is Turnfold running there?"),
        (["drill-down", "s", "--url", "nonsense"], "no answer"),
    ],
)
def test_failures_are_one_line_and_exit_code_1(run: RunCommand, arguments: list[str], words: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert words in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["report", "--since", "yesterday"], "--since"),
        (["report", "--group-by", "colour"], "--group-by:"),
        (["report", "--only", "colour=red"], "--only colour: is not a filter"),
        (["report", "--since", "1h", "--until", "2h"], "--since: must lie before --until"),
        (["export", "--since", "1h", "--until", "2h"], "--since: must lie before --until"),
        (["compress", "text.md", "--ratio", "2"], "--ratio: must be above 0"),
        (["compress", "text.md", "--scorer", "best"], "--scorer: must be one of"),
        (["compress", "--messages", "m.json", "--token-budget", "-1"], "--token-budget: must be"),
        (["prose", "text.md", "--intensity", "loud"], "--intensity: must be one of"),
    ],
)
def test_a_wrong_value_is_named_by_its_option(run: RunCommand, arguments: list[str], words: str) -> None:
    Path("text.md").write_text("One sentence. Another one.", "utf-8")
    Path("m.json").write_text("[]", "utf-8")
    code, out, err = run(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"turnfold: {words}")


def test_an_address_of_something_else_is_told_in_a_line(run: RunCommand, server: tuple[str, list[Any]]) -> None:
    code, out, err = run("windows", "--key", "sk-1", "--url", f"{server[0]}/nothing")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "check the address" in err


def test_a_model_without_a_price_is_named_by_its_setting(run: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNFOLD_SUMMARY_MODEL", "house-writer")
    code, out, err = run("serve", "--port", "0")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("turnfold: TURNFOLD_SUMMARY_MODEL: 'house-writer' has no known price")


@pytest.mark.parametrize("url", ["redis://h/0?colour=red", "rediss://h?ssl_cert_reqs=perhaps"])
def test_a_redis_url_that_is_not_understood(run: RunCommand, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("TURNFOLD_STORE_URL", url)
    code, out, err = run("report")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "not understood" in err


@pytest.mark.parametrize("command", ["report", "export"])
def test_a_store_that_is_away_is_named(run: RunCommand, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("TURNFOLD_STORE_URL", "redis://:secret@127.0.0.1:9/0")
    code, out, err = run(command)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "The store (redis://" in err
    assert "127.0.0.1:9/0) does not answer" in err
    assert "secret" not in err


@pytest.mark.parametrize("command", ["report", "export"])
@pytest.mark.parametrize(("store", "said"), [("memory://", "--url"), ("none://", "nothing is stored")])
def test_a_store_that_keeps_nothing_for_others_is_named(
    run: RunCommand, monkeypatch: pytest.MonkeyPatch, command: str, store: str, said: str
) -> None:
    monkeypatch.setenv("TURNFOLD_STORE_URL", store)
    code, out, err = run(command)
    assert (code, out) == (1, "")
    assert said in err


def test_drill_down_asks_the_server(run: RunCommand, server: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    url, seen = server
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    assert run("drill-down", "s-1", "--url", url)[:2] == (0, "the original\n")
    code, _, err = run("drill-down", "s-2", "--url", url)
    assert code == 1
    assert "There is no section" in err
    monkeypatch.setenv("TURNFOLD_ADMIN_TOKEN", "t")
    run("drill-down", "s-1", "--url", url, "--tenant", "anna")
    headers = [{name.lower(): value for name, value in headers.items()} for _, headers, _ in seen]
    assert headers[0]["authorization"] == "Bearer sk-1"
    assert (headers[2]["x-turnfold-admin-token"], headers[2]["x-turnfold-tenant"]) == ("t", "anna")


@pytest.mark.parametrize("command", [["drill-down", "s-1"], ["windows", "--key"], ["forget", "--yes", "--key"]])
@pytest.mark.parametrize("key", ["sk-hunter2\r\nx: y", "sk-hünter2", " "])
def test_a_key_that_is_no_header_is_refused_and_not_shown(
    run: RunCommand, server: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch, command: list[str], key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    code, out, err = run(*command, *([key] if command[-1] == "--key" else []), "--url", server[0])
    assert code == 1
    assert "printable ASCII" in err
    assert "nter2" not in out + err
    assert not server[1]


def test_without_a_key_no_credential_is_sent_and_a_files_newline_is_no_part_of_one(
    run: RunCommand, server: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("", "sk-1\n"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        assert run("drill-down", "s-1", "--url", server[0])[:2] == (0, "the original\n")
    sent = [{name.lower(): value for name, value in headers.items()}.get("authorization") for _, headers, _ in server[1]]
    assert sent == [None, "Bearer sk-1"]


def test_doctor_says_what_is_kept_without_originals(
    run: RunCommand, server: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNFOLD_UPSTREAM_URL", server[0] + "/v1")
    for kept, parts in (("true", []), ("false", ["originals"])):
        monkeypatch.setenv("TURNFOLD_STORE_SAVE_ORIGINALS", kept)
        found = [one for one in json.loads(run("doctor", "--json")[1]) if one["part"] == "originals"]
        assert [one["part"] for one in found] == parts
        assert all("receipts" in one["found"] and "/v1/conversation" in one["found"] for one in found)


def test_doctor_finds_damage_that_nothing_has_read_yet(
    run: RunCommand, server: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TURNFOLD_UPSTREAM_URL", server[0] + "/v1")
    monkeypatch.setenv("TURNFOLD_PORT", "0")
    path = tmp_path / "t #1.db"
    monkeypatch.setenv("TURNFOLD_STORE_URL", f"sqlite:///{path}")
    assert run("doctor", "--json")[0] == 0
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        rows = [(b"x", b"log", b"y" * 3000, 4e9)] * 200
        connection.executemany("INSERT INTO logs (name, line, expires) SELECT ?1 || ?2, ?3, ?4", rows)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 2)
        file.write(b"\xff" * 20_000)
    code, out, _ = run("doctor", "--json")
    assert code == 1
    assert [one["found"] for one in json.loads(out) if one["verdict"] == "fault" and "is damaged" in one["found"]], out


def test_doctor_looks_at_every_part(
    run: RunCommand, server: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TURNFOLD_UPSTREAM_URL", server[0] + "/v1")
    monkeypatch.setenv("TURNFOLD_PORT", "0")  # 8420 may be taken on this machine
    code, out, _ = run("doctor", "--json")
    findings = json.loads(out)
    assert code == 0, out
    assert [one["part"] for one in findings if one["verdict"] == "ok"] == [
        "settings", "address", "upstream", "clock", "store", "tokens", "prices", "versions"
    ]  # fmt: skip
    assert server[1] == []
    (tmp_path / "blocked").touch()
    monkeypatch.setenv("TURNFOLD_STORE_URL", "sqlite:///blocked/t.db")
    monkeypatch.setenv("TURNFOLD_UPSTREAM_URL", "http://127.0.0.1:9/v1")
    code, out, _ = run("doctor")
    assert code == 1
    said = [line.split() for line in out.splitlines()]
    assert [part for verdict, part, *_ in said if verdict == "fault"] == ["upstream", "store"]
    assert ["ok", "tokens"] in [words[:2] for words in said]
    assert all("->" in words for words in said if words[0] == "fault")
    assert "TURNFOLD_STORE_URL" in out


def test_doctor_looks_at_both_upstreams(run: RunCommand, server: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNFOLD_UPSTREAM_URL", server[0] + "/v1")
    monkeypatch.setenv("TURNFOLD_ANTHROPIC_URL", server[0])
    monkeypatch.setenv("TURNFOLD_PORT", "0")
    code, out, _ = run("doctor", "--json")
    found = [one["found"] for one in json.loads(out) if one["part"] == "upstream"]
    assert (code, len(found)) == (0, 2), out
    assert all(server[0] + "/v1 answers" in text for text in found)
    assert [text.partition("it gets ")[2] for text in found] == ["chat completions and responses", "messages"]
    monkeypatch.setenv("TURNFOLD_ANTHROPIC_URL", "http://127.0.0.1:9")
    code, out, _ = run("doctor")
    assert code == 1
    assert "TURNFOLD_ANTHROPIC_URL" in out


def test_a_deletion_may_take_half_an_hour_and_other_calls_a_minute(run: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    def request(*_: Any, timeout: float, **__: Any) -> httpx.Response:
        waits.append(timeout)
        raise httpx.ReadTimeout("too late")

    monkeypatch.setattr(httpx.Client, "request", request)
    monkeypatch.setenv("TURNFOLD_ADMIN_TOKEN", "adm")
    for command in (("forget", "--yes", "--tenant", "anna"), ("windows", "--key", "k")):
        code, out, err = run(*command)
        assert (code, out) == (1, "")
        assert "too late" in err
    assert waits == [1800, 60]


@pytest.mark.parametrize("whose", [("--tenant", "anna"), ("--key", "sk-1")])
@pytest.mark.parametrize("name", ["", " ", "\t"])
def test_a_blank_conversation_does_not_delete_the_tenant(
    run: RunCommand, server: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch, whose: tuple[str, str], name: str
) -> None:
    monkeypatch.setenv("TURNFOLD_ADMIN_TOKEN", "adm")
    code, out, err = run("forget", "--yes", *whose, "--conversation", name, "--url", server[0])
    assert (code, out) == (2, "")
    assert "--conversation" in err
    assert not server[1]


@pytest.mark.parametrize(("typed", "said"), [("", "aborted"), ("n\n", "nothing was deleted")])
def test_a_question_that_nobody_affirms_deletes_nothing_and_says_so(
    run: RunCommand, monkeypatch: pytest.MonkeyPatch, typed: str, said: str
) -> None:
    """The input of a job of cron ends before there is an answer."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    code, _, err = run("forget", "--key", "k", "--url", "http://127.0.0.1:9")
    assert (code, err.splitlines()[-1].rpartition("turnfold: ")[2]) == (1, said)


def test_a_user_without_a_home_directory_is_told_what_to_set(run: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs under any number."""
    for name in ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "TURNFOLD_STORE_URL"):
        monkeypatch.delenv(name, raising=False)

    def nobody(number: int) -> None:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    missing = "this user has no home directory: set HOME or XDG_DATA_HOME instead"
    said = f"turnfold: TURNFOLD_STORE_URL: must be set, because {missing}\n"
    assert run("report") == (2, "", said)
    monkeypatch.setenv("TURNFOLD_STORE_URL", "sqlite:///~/t.db")
    assert "TURNFOLD_STORE_URL: there is no home directory for the '~' in ~/t.db" in run("report")[2]
    assert read_key(create=True) is None


def test_commands_run_without_docstrings(run: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which ``PYTHONOPTIMIZE=2`` leaves out."""
    monkeypatch.setattr("turnfold.proxy.cli.version.version.__doc__", None)
    assert run("version", "--help")[0] == run("version")[0] == 0

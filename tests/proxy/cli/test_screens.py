"""What commands print, whole (``tests.support.golden`` says when to write the file anew).

These tests cover fixed answers of a server, and fixed files, through the commands onto the screen. They leave out whether the
figures are right (``books``), what depends on the time of day or on the machine.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.harness import RunCommand
from tests.proxy.receipts import NOON, SECTION, price, requests
from tests.support import golden
from tests.support.block_conversations import Kind, conversation
from tests.support.three_wires import WIRES
from turnfold.config.settings import StoreSettings
from turnfold.proxy.books.ledger import Ledger
from turnfold.proxy.books.report import GROUPINGS, Query, report
from turnfold.proxy.store.memory import MemoryStore

FILES = Path(__file__).parent / "golden"
KNOWN = {"tenant": "anna", "model": "own-1", "upstream": "http://u", "window": 8192, "source": "error", "how": "a guess"}
WINDOWS = [
    {**KNOWN, "in_force": True, "largest_prompt": 8100, "tokens_per_token": 1.04, "retry_at": None},
    {**KNOWN, "model": None, "window": None, "how": "", "in_force": False, "largest_prompt": None, "retry_at": 0.0},
    {**KNOWN, "upstream": "", "tenant": "b\x1b[2J", "in_force": False, "largest_prompt": None, "retry_at": 4e9},
]
RECEIPT = {
    "request_id": "tf-1",
    "model": "gpt-4o",
    "wire": "chat",
    "conversation": "c",
    "session": "s",
    "tenant": "anna",
    "tags": ["night", "team-a"],
    "tokens_before": 12_345,
    "tokens_after": 6_789,
    "paid": 0.0161,
    "without": None,
    "overhead_ms": 1.26,
    "total_ms": 899.6,
    "upstream_status": 200,
    "usage": {"prompt_tokens": 6_800, "cached_tokens": None, "completion_tokens": None},
}
SAID = [json.dumps({"role": "user", "content": text}) for text in ("Grüße [bold]", "a " * 200)]
CALL = json.dumps({"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]})
PARTS = json.dumps({"content": [{"type": "text", "text": "ö"}]})
SECTIONS = [
    {"id": "s1", "kept": True, "level": "facts", "tokens": 1_200, "messages": [*SAID, CALL], "instead": ["short", None, "x\ny"]},
    {"id": "s2", "kept": True, "level": "summary", "tokens": 999, "messages": [*SAID, PARTS], "instead": ["a summary"]},
    {"id": "s3", "kept": True, "level": "facts", "tokens": 1, "messages": [CALL], "instead": []},
    {"id": "s4", "kept": False, "problem": "no longer kept"},
]


class Answers:
    """A server that answers each path with a fixed value, and what it was asked."""

    def __init__(self) -> None:
        self.of: dict[str, Any] = {}
        self.asked: list[str] = []
        self.origin = ""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, run: RunCommand) -> Iterator[Answers]:
    del run  # it empties the environment first
    monkeypatch.setenv("TURNFOLD_ADMIN_TOKEN", "adm")
    found = Answers()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            return

        def do_GET(self) -> None:
            own = {name.lower(): value for name, value in self.headers.items()}
            names = ("authorization", "x-turnfold-admin-token", "x-turnfold-tenant")
            found.asked.append(f"{self.command} {self.path} {[f'{name}: {own[name]}' for name in names if name in own]}")
            body = json.dumps(found.of[self.path.partition("?")[0]]).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_DELETE = do_GET  # noqa: N815 - the name that the library calls

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        found.origin = f"http://127.0.0.1:{made.server_port}"
        yield found
        made.shutdown()
        thread.join()


def shown(arguments: tuple[str, ...], result: tuple[int, str, str]) -> list[str]:
    """A command and its screen."""
    code, out, err = result
    said = [
        f"! {line}" for line in re.sub(r"\(see .* --help\)", "(see --help)", err).splitlines()
    ]  # runners name programs otherwise
    return [f"$ {' '.join(arguments)}: {code}", *(line.rstrip() for line in out.splitlines()), *said]


async def test_reports(run: RunCommand, server: Answers) -> None:
    memory, lines = MemoryStore(), list[str]()
    book = Ledger(memory, StoreSettings(), price)
    for seed in range(8):
        for one, sections in requests(seed):
            book.record(one, (SECTION,) if sections else ())
    await book.flush()
    rows = [{"model": name, "window": 4096 * (n + 1), "how": "a guess"} for n, name in enumerate(["m", None, "x\x1b", *"abcd"])]
    caches = [{"model": name, "words": f"warm for {n} turns"} for n, name in enumerate(["m", None, *"abcde"])]
    for n, group in enumerate(GROUPINGS):
        made = await report(memory, Query(NOON - 3600, NOON + 90_000, group_by=group))
        server.of["/admin/report"] = made | ({"windows": rows[: 5 + n], "caches": caches} if n < 3 else {})
        arguments = ("report", "--group-by", group, "--since", "2025-10-09", "--until", "2025-10-11", "--url")
        lines += shown(arguments, run(*arguments, server.origin + "/"))
    asked: tuple[str, ...] = (
        "report",
        "--csv",
        "--only",
        "tenant=anna",
        "--since",
        "2025-10-09",
        "--until",
        "2025-10-10",
        "--url",
    )
    lines += shown(asked, run(*asked, server.origin))
    made["totals"]["own_calls"]["requests"], made["totals"]["dollars"]["unknown_requests"] = 1, 0
    made["totals"]["dollars"] |= {"paid": None, "paid_for_own_calls": 0.25}
    figure = {"mean": 1234.5678, "plus_minus": 0.25}
    known = dict.fromkeys(("prompt_tokens", "completion_tokens", "dollars", "first_byte_ms", "total_ms", "failed_share"), figure)
    sides = {"held_out": {"conversations": 1_200, "requests": 7, **known}}
    sides["others"] = {"conversations": 0, "requests": 0, **dict.fromkeys(known)}
    made["held_out"] = sides
    server.of["/admin/report"] = {**made, "groups": [{**made["totals"], made["group_by"]: ""}]}
    lines += shown(("report", "one own call"), run(*asked[:1], *asked[4:], server.origin))
    golden.agrees(FILES / "report.txt", [*lines, *server.asked])


def test_requests_that_a_server_knows(run: RunCommand, server: Answers) -> None:
    lines = []
    bare = {**RECEIPT, "wire": "", "session": "", "tags": [], "paid": None, "without": 0.5, "upstream_status": None}
    counted = {"prompt_tokens": 6_800, "cached_tokens": 512, "completion_tokens": 1_000}
    for arguments, value in {
        (): {"receipt": RECEIPT, "why": "Folded: a smaller request went out.", "sections": SECTIONS},
        ("--full", "--since", "24h"): {"receipt": {**RECEIPT, "usage": counted}, "why": "Folded.", "sections": SECTIONS[:2]},
        ("--tenant", "anna"): {"receipt": bare, "why": "The conversation is short.", "sections": []},
        ("--json",): {
            "receipt": {**RECEIPT, "usage": {"prompt_tokens": None}, "upstream_status": 500},
            "why": "",
            "sections": [],
        },
    }.items():
        server.of["/admin/requests/tf-1%2F2"] = value
        lines += shown(("inspect", *arguments), run("inspect", "tf-1/2", *arguments, "--url", server.origin + "/"))
    server.of["/admin/requests/tf-1%2F2"] = value
    lines += shown(("inspect", "no usage"), run("inspect", "tf-1/2", "--url", server.origin))
    golden.agrees(FILES / "inspect.txt", [*lines, *server.asked])


def test_requests_in_files(run: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = []
    for seed, wire in enumerate(WIRES):
        body = WIRES[wire].encode(conversation(60 + seed, Kind(turns=5, loops=1, sentences=6)))
        (tmp_path / f"{wire}.json").write_bytes(body)
    monkeypatch.setenv("TURNFOLD_CACHE_HIT_SHARE", "0.2")
    for arguments in (
        ("chat.json", "--budget", "400"),
        ("messages.json", "--full", "--budget", "1"),
        ("responses.json",),
        ("chat.json", "--json"),
        ("tf-none.json", "--budget", "7"),
        ("chat.json", "--tenant", "t"),
        ("chat.json", "--json", "--full"),
    ):
        screen = shown(("inspect", *arguments), run("inspect", *arguments))
        lines += screen if len(screen) < 60 else [*screen[:12], f"{len(screen)} lines {golden.name_of(screen)}"]
    golden.agrees(FILES / "inspect_files.txt", lines)


def test_learned_windows_are_printed_as_a_table(run: RunCommand, server: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    ages = (3 * 86_400 + 4_000, 7_300, 150)  # half a unit away from the next: as much may pass until they are printed
    rows = [{**row, "learned_at": time.time() - age} for row, age in zip(WINDOWS, ages, strict=True)]
    rows[1]["retry_at"], rows[2]["retry_at"] = time.time() + 2.5 * 3600, time.time() + 6.5 * 60
    lines = []
    for found in (rows, rows[:1] * 2, []):
        server.of = {"/admin/windows": {"windows": found}}
        lines += shown(("windows",), run("windows", "--url", server.origin + "/"))
    server.of = {"/admin/windows": {"forgotten": 2}, "/v1/windows": {"forgotten": 0}}
    for arguments in (
        ("forget", "--all"),
        ("forget", "m", "--upstream", "http://u", "--tenant", "anna"),
        ("forget", "m", "--key", "k"),
        ("forget", "--all", "--key", "k", "--json"),
    ):
        lines += shown(("windows", *arguments), run("windows", *arguments, "--url", server.origin))
    golden.agrees(FILES / "windows.txt", [*lines, *server.asked])


def test_forgetting(run: RunCommand, server: Answers) -> None:
    lines = []
    server.of = {
        "/v1/data": {"deleted": 1_234},
        "/admin/tenants/a%2Fb": {"deleted": 5, "receipts": 1_001, "sums": 0},
        "/admin/tenants/a%2Fb/conversations/c%201": {"deleted": 0, "receipts": 0, "sums": 2},
    }
    for arguments in (
        ("--key", "k"),
        ("--key", "k", "--conversation", "c 1", "--json"),
        ("--tenant", "a/b"),
        ("--tenant", "a/b", "--conversation", "c 1"),
    ):
        lines += shown(("forget", *arguments), run("forget", *arguments, "--yes", "--url", server.origin + "/"))
    for refused in (["--tenant", "a", "--key", "k"], []):
        lines += shown(("forget", *refused), run("forget", *refused))
    golden.agrees(FILES / "forget.txt", [*lines, *server.asked])


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, run: RunCommand) -> RunCommand:
    """Runs commands on a terminal of 78 columns with 256 colors."""
    for name in ("NO_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": "78"}.items():
        monkeypatch.setenv(name, value)

    def command(*arguments: str) -> tuple[int, str, str]:
        code, out, err = run(*arguments)
        return code, *(text.replace("\x1b", "\N{SYMBOL FOR ESCAPE}") for text in (out, err))  # type: ignore[return-value]

    return command


async def test_colors_and_widths(terminal: RunCommand, server: Answers, tmp_path: Path) -> None:
    memory = MemoryStore()
    book = Ledger(memory, StoreSettings(), price)
    for one, sections in requests(3):
        book.record(one, (SECTION,) if sections else ())
    await book.flush()
    made = await report(memory, Query(NOON - 3600, NOON + 90_000, group_by="conversation"))
    paces = (
        {"events": 3, "model": "m", "words": "from 1,000 tokens on"},
        {"events": 0, "model": "", "words": "", "why": "Short."},
    )
    groups = [{**made["groups"][0], "pacing": pace} for pace in paces]
    names = ("prompt_tokens", "completion_tokens", "dollars", "first_byte_ms", "total_ms", "failed_share")
    side = {"conversations": 1_200, "requests": 7, **{name: {"mean": 1234.5678, "plus_minus": 0.25} for name in names}}
    notes = {
        "windows": [{"model": "m[bold]", "window": 4096, "how": "a guess of 1,000"}],
        "caches": [{"model": "m[bold]", "words": "9 turns"}],
    }
    made["totals"]["own_calls"]["requests"] = 2
    server.of["/admin/report"] = {**made, "groups": groups, "held_out": {"held_out": side, "others": side}, **notes}
    server.of["/admin/windows"] = {"windows": [{**WINDOWS[0], "learned_at": time.time() - 7_300}]}
    long = {**SECTIONS[1], "instead": ["-" * 240, "-" * 241]}  # as long as is shown, and longer
    server.of["/admin/requests/tf-1"] = {"receipt": RECEIPT, "why": "Folded: 12 messages.", "sections": [*SECTIONS[1:], long]}
    (tmp_path / "m.json").write_text(json.dumps([{"role": "user", "content": f"Message 12 of {n}. " * 40} for n in range(9)]))
    lines = []
    for arguments in (
        ("report", "--group-by", "conversation"),
        ("windows",),
        ("inspect", "tf-1"),
    ):
        lines += shown(arguments, terminal(*arguments, "--url", server.origin))
    server.of["/admin/report"] = {**made, "groups": []}
    lines += shown(("report", "nothing"), terminal("report", "--url", server.origin))
    for arguments in (
        ("uncompress", "m.json"),
        ("compress", "none-of-this-name-or-of-any-other-name-in-this-folder-of-mine.txt"),
    ):
        lines += shown(arguments, terminal(*arguments))
    told = shown(("compress",), terminal("compress", "--messages", "m.json", "--output", "o.json"))
    lines += [re.sub(r"\d+\.\d+ s$", "# s", line) for line in told]
    golden.agrees(FILES / "terminal.txt", lines)

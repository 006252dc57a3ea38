"""``turnfold run`` as a user meets it: a process in front of a command that calls both providers' APIs.

These tests cover whole runs. They leave out their parts (``test_child``, ``test_environment``, ``test_plan``).
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvicorn

from tests.proxy.harness import running, unhurried
from tests.proxy.processes import chat
from tests.support.answering_upstream import AnsweringUpstream
from turnfold.config.settings import FoldingSettings, Settings, StoreSettings
from turnfold.config.sources import SettingsError
from turnfold.proxy import cli
from turnfold.proxy.books.receipt_log import receipts_between
from turnfold.proxy.loading import Loading
from turnfold.proxy.running.plan import RunPlan
from turnfold.proxy.running.session import run_session
from turnfold.proxy.store import open_store

Run = Callable[..., "subprocess.CompletedProcess[str]"]

#: Sends a body to a path below a variable's address, with the key that it has, and prints the answer's status header.
CALL = """
import json, os, sys, urllib.request
variable, path, file = sys.argv[1:4]
request = urllib.request.Request(os.environ[variable] + path, open(file, "rb").read(), {
    "content-type": "application/json", "x-api-key": os.environ.get("OPENAI_API_KEY", "sk-own"), "session_id": "s-1"})
print(urllib.request.urlopen(request).headers["x-turnfold-status"])
"""


@pytest.fixture
def upstream_origin(tmp_path: Path) -> Iterator[str]:
    app = AnsweringUpstream(log=tmp_path / "upstream.log")
    with running(uvicorn.Config(app, log_config=None, log_level="critical", ws="none")) as server:
        yield server.origin


def own_environment(home: Path, upstream_origin: str) -> dict[str, str]:
    others = {name: value for name, value in os.environ.items() if not name.startswith(("TURNFOLD_", "OPENAI_", "ANTHROPIC_"))}
    own = dict.fromkeys(("HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"), str(home))
    bases = {"OPENAI_BASE_URL": f"{upstream_origin}/v1", "ANTHROPIC_BASE_URL": upstream_origin}
    return {**others, **own, **bases, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}


@pytest.fixture
def run_here(tmp_path: Path, upstream_origin: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """`turnfold run`, in a home of its own, with both variables pointing at the upstream. The command is a process of its own;
    one for `turnfold run` would take a second to start: runs inside a run have theirs."""

    def start(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = own_environment(tmp_path, upstream_origin) | variables
        monkeypatch.chdir(tmp_path)
        logging.getLogger("turnfold").setLevel(logging.NOTSET)  # as in a process of its own; `log_lines` sets it back
        with monkeypatch.context() as patch:
            for name in set(os.environ) - set(environment):
                patch.delenv(name)
            for name, value in environment.items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["turnfold", "run", *arguments])
            with pytest.raises(SystemExit) as end:
                cli.main()
        said = capfd.readouterr()
        assert isinstance(end.value.code, int)
        return subprocess.CompletedProcess([*arguments], end.value.code, said.out, said.err)

    return start


def body(tmp_path: Path, name: str, value: object) -> str:
    path = tmp_path / name
    path.write_text(json.dumps(value))
    return str(path)


def asked(tmp_path: Path) -> list[str]:
    """Paths on which the upstream was asked for a turn."""
    lines = [json.loads(line) for line in (tmp_path / "upstream.log").read_text().splitlines()]
    return [line["path"] for line in lines if line["wire"]]


async def receipts(tmp_path: Path) -> list[dict[str, object]]:
    store = open_store(unhurried(StoreSettings(url=f"sqlite:///{tmp_path}/turnfold/turnfold.db")))
    try:
        return [one async for one in receipts_between(store, time.time() - 3600, time.time() + 60)]
    finally:
        await store.close()


def test_a_command_is_folded_and_counted_and_its_receipts_stay(tmp_path: Path, run_here: Run) -> None:
    long = body(tmp_path, "long.json", {"model": "gpt-4o", "messages": chat(60)})
    short = body(tmp_path, "short.json", {"model": "claude-sonnet-4-6", "max_tokens": 9, "messages": chat(1)})
    script = f'{sys.executable} -c "$0" OPENAI_BASE_URL /chat/completions {long}; \
        {sys.executable} -c "$0" ANTHROPIC_BASE_URL /v1/messages {short}; echo to stderr >&2; exit 9'
    ended = run_here("--", "sh", "-c", script, CALL)
    assert (ended.returncode, ended.stdout.split()) == (9, ["folded", "passthrough"])
    said, tokens, dollars = ended.stderr.splitlines()
    assert said == "to stderr"
    assert re.fullmatch(
        r"turnfold: 2 requests \(1 on chat, 1 on messages\): [\d,]+ tokens in, [\d,]+ out \([\d.]+% saved\)", tokens
    )
    assert re.fullmatch(r"turnfold: \$[\d.]+ paid, \$[\d.]+ without Turnfold: .*", dollars)
    assert asked(tmp_path) == ["/v1/chat/completions", "/v1/messages"]
    kept = asyncio.run(receipts(tmp_path))
    assert [(one["wire"], one["session"], one["status"]) for one in kept] == [
        ("chat", "s-1", "folded"),
        ("messages", "s-1", "passthrough"),
    ]
    assert not list((tmp_path / "turnfold").glob("*.log"))


def test_a_run_inside_a_run_shares_its_proxy_and_two_at_once_share_a_store(tmp_path: Path, run_here: Run) -> None:
    short = body(tmp_path, "short.json", {"model": "gpt-4o", "messages": chat(1)})
    turnfold = f"{sys.executable} -m turnfold.proxy.cli run"
    script = f'{turnfold} -- {sys.executable} -c "$0" OPENAI_BASE_URL /chat/completions {short} & \
        {turnfold} --mode off {sys.executable} -c "$0" OPENAI_BASE_URL /chat/completions {short}; wait'
    ended = run_here("--", "sh", "-c", script, CALL, OPENAI_API_KEY="sk-very-secret")
    assert sorted(ended.stdout.split()) == ["bypassed", "passthrough"]
    assert asked(tmp_path) == ["/v1/chat/completions"] * 2
    lines = ended.stderr.splitlines()
    assert sum(line.startswith("turnfold: 1 request (1 on chat)") for line in lines) == 2  # the other proxy's, and the outer's
    assert sum("went through the Turnfold at http://127.0.0.1:" in line for line in lines) == 1
    assert "sk-very-secret" not in ended.stderr
    assert sorted(str(one["status"]) for one in asyncio.run(receipts(tmp_path))) == ["bypassed", "passthrough"]


def test_exports_of_a_running_turnfold_and_arguments_that_look_like_ours(run_here: Run) -> None:
    script = f'test "$1 $2" = "--mode --" && eval "$({sys.executable} -m turnfold.proxy.cli run --print-env)"; \
        echo $OPENAI_BASE_URL $ANTHROPIC_BASE_URL'
    ended = run_here("sh", "-c", script, "x", "--mode", "--")
    assert re.fullmatch(r"(http://127\.0\.0\.1:\d+)/v1 \1\n", ended.stdout)
    assert ended.stderr.startswith("turnfold: no requests to a model came through")


def test_a_proxy_that_dies_at_its_start_names_its_reason_and_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def fail(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Loading, "start", fail)
    plan = RunPlan(Settings(store=StoreSettings(url="memory://")))
    ended = run_session(plan, ["touch", str(tmp_path / "ran")], os.environ, {})
    assert ended.status == 1
    found = re.fullmatch(r"the proxy did not start: (.+); the log is (\S+)", ended.lines[0])
    assert found, ended.lines
    assert found[2].startswith(str(tmp_path))
    assert found[1] in Path(found[2]).read_text()
    assert not (tmp_path / "ran").exists()


def test_a_lexicon_that_is_none_is_named_before_anything_runs(tmp_path: Path) -> None:
    lexicon = tmp_path / "rules.toml"
    lexicon.write_text("[[rule]]\nstage = 1\n")
    plan = RunPlan(Settings(folding=FoldingSettings(prose_lexicon=lexicon), store=StoreSettings(url="memory://")))
    with pytest.raises(SettingsError, match="TURNFOLD_PROSE_LEXICON"):
        run_session(plan, ["touch", str(tmp_path / "ran")], os.environ, {})
    assert not (tmp_path / "ran").exists()

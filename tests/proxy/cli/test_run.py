"""``turnfold run`` where it starts nothing: what it says, and how it ends."""

from __future__ import annotations

import pytest

from benchmarks.support.ports import free_port
from tests.proxy.harness import RunCommand, api_server


@pytest.fixture(autouse=True)
def no_base_urls(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TURNFOLD_PORT", str(free_port()))


def test_a_command_that_is_not_there(run: RunCommand) -> None:
    assert run("run", "no-such-command", "--help") == (127, "", "turnfold: no-such-command: command not found\n")


def test_neither_a_command_nor_print_env_and_both(run: RunCommand) -> None:
    assert run("run")[0] == run("run", "--mode", "on")[0] == run("run", "--print-env", "true")[0] == 2


def test_a_wrong_value_is_named(run: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = run("run", "--mode", "sometimes", "--", "true")
    assert (code, out) == (2, "")
    assert "--mode (from the command line)" in err
    monkeypatch.setenv("OPENAI_BASE_URL", "gateway/v1")
    code, _, err = run("run", "true")
    assert code == 2
    assert "OPENAI_BASE_URL (from the environment)" in err


def test_exports_need_a_turnfold_that_runs(run: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = run("run", "--print-env")
    assert (code, out) == (1, "")
    assert "start one with turnfold serve" in err
    with api_server("memory://") as origin:
        monkeypatch.setenv("TURNFOLD_PORT", origin.rpartition(":")[2])
        code, out, err = run("run", "--print-env")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == f"export OPENAI_BASE_URL={origin}/v1"
    assert f"export ANTHROPIC_BASE_URL={origin}" in out.splitlines()
    monkeypatch.setenv("TURNFOLD_UDS", "/run/turnfold.sock")
    code, out, err = run("run", "--print-env")
    assert (code, out) == (1, "")
    assert "clients cannot use a Unix socket" in err

"""The command line, in this process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.proxy.harness import RunCommand
from turnfold.proxy import cli


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RunCommand:
    """Runs a command in an empty directory and environment."""
    for name in [name for name in os.environ if name.startswith("TURNFOLD_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TURNFOLD_STORE_URL", "sqlite:///turnfold.db")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["turnfold", *arguments])
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        out, err = capsys.readouterr()
        return code, out, err

    return command

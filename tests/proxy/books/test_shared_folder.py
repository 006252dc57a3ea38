"""Folders that workers share go with their server, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from turnfold.proxy.telemetry.shared_folder import shared_folder

#: Makes a folder, says which, and waits to be killed.
OWNER = """
import sys
from turnfold.proxy.telemetry.shared_folder import shared_folder
with shared_folder("turnfold-test-") as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""


def age(folder: str | Path) -> None:
    os.utime(folder, (1, 1))


def test_what_a_killed_process_left_goes_at_the_next_start_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    owners = [
        subprocess.Popen([sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603
        for _ in range(2)
    ]
    try:
        killed, alive = (Path(owner.stdout.readline().strip()) for owner in owners if owner.stdout)
        owners[0].send_signal(signal.SIGKILL)
        owners[0].wait(60)
        others = [tmp_path / "turnfold-test-of-another", tmp_path / "unlike-test"]
        for other in others:  # nobody's by our lock
            other.mkdir()
        for folder in (killed, alive, *others):
            age(folder)
        with shared_folder("turnfold-test-") as young:
            assert sorted(tmp_path.iterdir()) == sorted((alive, *others, Path(young)))
            age(young)
            with shared_folder("turnfold-test-"):
                assert Path(young).exists()
        assert sorted(tmp_path.iterdir()) == sorted((alive, *others))
        owners[1].communicate("", timeout=60)
        assert sorted(tmp_path.iterdir()) == sorted(others)
    finally:
        for owner in owners:
            owner.kill()
            owner.communicate(timeout=60)


def test_a_folder_without_an_owner_goes_when_it_is_a_minute_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name, seconds in (("young", 55), ("old", 65), ("old-link", 65)):
        folder = tmp_path / f"turnfold-test-{name}"
        folder.mkdir()
        if name == "old-link":  # another user's trap
            (folder / "owner.lock").symlink_to(tmp_path / "elsewhere")
            (tmp_path / "elsewhere").touch()
        else:
            (folder / "owner.lock").touch()
        os.utime(folder, (time.time() - seconds,) * 2)
    with shared_folder("turnfold-test-") as mine:
        assert (Path(mine) / "owner.lock").stat().st_mode & 0o777 == 0o600
        left = {path.name for path in tmp_path.iterdir()} - {Path(mine).name, "elsewhere"}
        assert left == {"turnfold-test-young", "turnfold-test-old-link"}

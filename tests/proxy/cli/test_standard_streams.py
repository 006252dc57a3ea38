"""Standard input, output and error that are closed, or take nothing.

Lives here: commands as processes of their own. Does not belong here: what commands say otherwise.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

#: Runs the commands of its arguments as processes of their own, one after the other, each with one descriptor closed or none.
#: What they import is imported once. Python has no stream for a descriptor that is closed as it starts.
FORKS = """
import json, os, sys
from turnfold.proxy import cli
from turnfold.proxy.cli import compress, inspect_request, report
codes = []
for line, closed in json.loads(sys.argv[1]):
    if child := os.fork():
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        continue
    if closed is not None:
        os.close(closed)
        setattr(sys, ("stdin", "stdout", "stderr")[closed], None)
    sys.argv = ["turnfold", *line.split()]
    cli.main()
print(*codes, file=sys.stderr)
"""


def run_forked(tmp_path: Path, commands: list[tuple[str, int | None]], stdout: str) -> tuple[list[str], list[int]]:
    """What commands say on standard error, and how they end."""
    environment = os.environ | {"TURNFOLD_STORE_URL": f"sqlite:///{tmp_path}/t.db"}
    environment["PYTHONPATH"] = os.pathsep.join([os.getcwd(), *sys.path])
    with Path(stdout).open("wb") as out:
        command = [sys.executable, "-c", FORKS, json.dumps(commands)]
        done = subprocess.run(command, env=environment, stdout=out, stderr=subprocess.PIPE, check=True)  # noqa: S603 - ours
    *said, codes = done.stderr.decode().splitlines()
    return said, [int(code) for code in codes.split()]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's full device")
def test_an_output_that_takes_nothing_is_told_in_a_line(tmp_path: Path) -> None:
    said, codes = run_forked(tmp_path, [("report", None), ("report --json", None), ("version", None)], "/dev/full")
    assert codes == [1] * 3
    assert said == ["turnfold: what was to be written is not whole: no space left on device"] * 3


@pytest.mark.parametrize(
    ("line", "code", "said"), [("compress - <&-", 1, "turnfold: standard input: is blank\n"), ("version >&-", 0, "")]
)
def test_streams_that_are_closed_are_empty(line: str, code: int, said: str) -> None:
    """As cron and some process managers start programs."""
    ran = subprocess.run(  # noqa: S603 - ours
        ["/bin/sh", "-c", f'exec "$0" -m turnfold.proxy.cli {line}', sys.executable], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (code, said)


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_streams_of_other_commands_that_are_closed_are_empty(tmp_path: Path) -> None:
    said, codes = run_forked(tmp_path, [("inspect -", 0), ("state", 0), ("compress /nonexistent/a.txt", 2)], os.devnull)
    assert (said, codes) == (["turnfold: standard input: is blank"], [1, 0, 1])

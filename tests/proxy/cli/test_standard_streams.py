"""Standard input, output and error that are closed, or take nothing.

These tests cover commands as processes of their own. They leave out what commands say otherwise.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from turnfold.proxy import cli

#: Runs the commands of its arguments as processes of their own, one after the other, each with one descriptor closed or with its
#: output in a file. What they import is imported once. Python has no stream for a descriptor that is closed as it starts.
FORKS = """
import json, os, sys
from turnfold.proxy import cli
from turnfold.proxy.cli import compress, inspect_request, report
codes = []
for line, stream in json.loads(sys.argv[1]):
    if child := os.fork():
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        print("--", file=sys.stderr)
        continue
    if isinstance(stream, str):
        os.dup2(os.open(stream, os.O_WRONLY), 1)
    else:
        os.close(stream)
        setattr(sys, ("stdin", "stdout", "stderr")[stream], None)
    sys.argv = ["turnfold", *line.split()]
    cli.main()
print(*codes, file=sys.stderr)
"""


def run_forked(tmp_path: Path, commands: list[tuple[str, int | str]]) -> list[tuple[int, list[str]]]:
    """How commands end, and what each says on standard error."""
    environment = os.environ | {"TURNFOLD_STORE_URL": f"sqlite:///{tmp_path}/t.db"}
    environment["PYTHONPATH"] = os.pathsep.join([os.getcwd(), *sys.path])
    command = [sys.executable, "-c", FORKS, json.dumps(commands)]
    done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)  # noqa: S603 - ours
    *_, codes = lines = done.stderr.decode().splitlines()
    ends = [place for place, line in enumerate(lines) if line == "--"]
    said = [lines[begin:end] for begin, end in zip([0, *(end + 1 for end in ends)], ends, strict=False)]
    return list(zip(map(int, codes.split()), said, strict=True))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's full device, and forks")
def test_an_output_that_takes_nothing_is_told_in_a_line_and_a_stream_that_is_closed_is_empty(tmp_path: Path) -> None:
    full = ["turnfold: the output is incomplete: no space left on device"]
    blank = ["turnfold: standard input: is blank"]
    commands: dict[tuple[str, int | str], tuple[int, list[str]]] = {
        ("report", "/dev/full"): (1, full),
        ("report --json", "/dev/full"): (1, full),
        ("version", "/dev/full"): (1, full),
        ("inspect -", 0): (1, blank),
        ("state", 0): (0, []),
        ("compress /nonexistent/a.txt", 2): (1, []),
    }
    assert dict(zip(commands, run_forked(tmp_path, [*commands]), strict=True)) == commands


@pytest.mark.parametrize(
    ("line", "code", "said"), [("compress - <&-", 1, "turnfold: standard input: is blank\n"), ("version >&-", 0, "")]
)
def test_streams_that_are_closed_are_empty(line: str, code: int, said: str) -> None:
    """As cron and some process managers start programs."""
    ran = subprocess.run(  # noqa: S603 - ours
        ["/bin/sh", "-c", f'exec "$0" -m turnfold.proxy.cli {line}', sys.executable], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (code, said)


def test_a_pipe_gets_utf_8_whatever_the_locale_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A console's code page on Windows has few letters, and so has a locale of Latin-1."""
    (tmp_path / "notes.txt").write_text("Café 会議室. Nobody came.", encoding="utf-8")
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="latin-1", write_through=True))
    monkeypatch.setattr(sys, "argv", ["turnfold", "prose", str(tmp_path / "notes.txt")])
    with pytest.raises(SystemExit, match="0"):
        cli.main()
    assert written.getvalue() == "Café 会議室. Nobody came.\n".encode()

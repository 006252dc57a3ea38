"""The command of ``turnfold run`` as a process: exit statuses and signals, with a terminal and without one.

These tests cover real processes. They leave out the proxy beside them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.proxy.harness import until

RUN = """
import os, sys
from turnfold.proxy.running.child import CommandNotStarted, run_command
try:
    sys.exit(run_command(sys.argv[1:], os.environ))
except CommandNotStarted as exc:
    print(exc)
    sys.exit(exc.status)
"""
#: Counts what reaches it, writes it to a file, and ends at SIGTERM with 40 + the number of interrupts.
COUNT = """
import signal, sys, time
seen = []
def note(number, frame):
    seen.append(signal.Signals(number).name)
    open(sys.argv[1], "a").write(seen[-1] + "\\n")
    if number == signal.SIGTERM:
        sys.exit(40 + seen.count("SIGINT"))
for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT"):
    if signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN:
        signal.signal(getattr(signal, name), note)
open(sys.argv[1], "a").write("ready\\n")
while True:
    time.sleep(30)
"""
#: Has the run stop where its command is "sought" or "started", until Ctrl-C has reached it; it names what it waits at in a file.
LINGER = (
    """
import shutil, signal, subprocess, sys, time
where, named = sys.argv.pop(1), sys.argv[-1] + ".waits"
noted, set_handler, start, which = [], signal.signal, subprocess.Popen.__init__, shutil.which
def linger(at):
    if at == where:
        open(named, "w").close()
        while not noted:
            time.sleep(0.01)
def noting(number, handler):
    def both(number, frame):
        handler(number, frame)
        noted.append(number)
    return set_handler(number, both if callable(handler) else handler)
def started(*given, **options):
    start(*given, **options)
    linger("started")
def sought(*given, **options):
    linger("sought")
    return which(*given, **options)
signal.signal, subprocess.Popen.__init__, shutil.which = noting, started, sought
"""
    + RUN
)
#: Makes a terminal the controlling one of a new session, and runs the rest there.
ON_TERMINAL = """
import os, sys
os.setsid()
terminal = os.open(sys.argv[1], os.O_RDWR)
for number in range(3):
    os.dup2(terminal, number)
os.execv(sys.argv[2], sys.argv[2:])
"""
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


@pytest.fixture(autouse=True)
def heeded_signals() -> Iterator[None]:
    """What ran these tests may ignore signals (nohup, a shell's background), and whoever it starts would ignore them too."""
    ignored = [number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT) if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


def run(*command_line: str, **options: str) -> tuple[int, str]:
    command = [sys.executable, "-c", RUN, *command_line]
    environment = {**ENVIRONMENT, **options}
    ended = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=60)  # noqa: S603
    assert not ended.stderr
    return ended.returncode, ended.stdout.strip()


def test_output_and_exit_status_are_the_commands() -> None:
    assert run("sh", "-c", "echo said; exit 37") == (37, "said")
    assert run("true") == (0, "")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL", "SIGSEGV"])
def test_a_command_that_a_signal_ends(name: str) -> None:
    number = getattr(signal, name)
    assert run("sh", "-c", f"ulimit -c 0; kill -{number} $$") == (128 + number, "")


def test_a_command_that_does_not_start(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("text")
    assert run("no-such-command") == (127, "no-such-command: command not found")
    assert run(str(plain)) == (126, f"{plain}: not executable")
    assert run(str(tmp_path)) == (126, f"{tmp_path}: not executable")
    plain.write_text("#!/no/such/interpreter\n")
    plain.chmod(0o755)
    assert run(str(plain)) == (127, f"{plain}: no such file or directory")


def test_a_script_without_an_interpreter_runs_as_in_a_shell(tmp_path: Path) -> None:
    script = tmp_path / "bare"
    script.write_text("echo $1; exit 5\n")
    script.chmod(0o755)
    assert run("bare", "first", PATH=f"{tmp_path}:{os.environ['PATH']}") == (5, "first")


def test_an_environment_too_large_to_pass_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from turnfold.proxy.running.child import CommandNotStarted, run_command  # noqa: PLC0415 - in this process, on purpose

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(CommandNotStarted, match="argument list too long") as caught:
        run_command(["true"], {**os.environ, **{f"V{i}": "x" * 100_000 for i in range(60)}})
    assert caught.value.status == 126
    assert signal.getsignal(signal.SIGTERM) is before


@contextlib.contextmanager
def counting(tmp_path: Path, *before: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A run whose command counts signals; it is ready."""
    seen = tmp_path / "seen"
    seen.touch()
    command = [*before, sys.executable, "-c", RUN, sys.executable, "-c", COUNT, str(seen)]
    with subprocess.Popen(command, env=ENVIRONMENT, start_new_session=not before) as process:  # noqa: S603
        try:
            until(lambda: "ready" in seen.read_text())
            yield process, seen
        finally:
            process.kill()


def opened(pid: int) -> list[str]:
    """What a process has open; what it closes meanwhile may be left out."""
    found = []
    for number in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/{pid}/fd/{number}"))
    return found


def names(seen: Path) -> list[str]:
    return seen.read_text().split()[1:]


def test_signals_are_passed_on(tmp_path: Path) -> None:
    with counting(tmp_path) as (process, seen):
        sent = ["SIGUSR1", "SIGINT", "SIGHUP", "SIGUSR2", "SIGQUIT", "SIGTERM"]
        for name in sent:
            process.send_signal(getattr(signal, name))
            until(lambda name=name: name in names(seen))  # type: ignore[misc]
        assert process.wait(60) == 41
        assert names(seen) == sent


def test_what_is_ignored_stays_ignored(tmp_path: Path) -> None:
    nohup = ("sh", "-c", 'trap "" HUP; exec "$0" "$@"')
    with counting(tmp_path, *nohup) as (process, seen):
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGUSR1)
        until(lambda: names(seen) == ["SIGUSR1"])
        process.terminate()
        assert process.wait(60) == 40


def test_what_is_typed_at_a_terminal_arrives_once(tmp_path: Path) -> None:
    master, slave = os.openpty()
    with contextlib.closing(os.fdopen(master, "r+b", buffering=0)) as terminal:
        with counting(tmp_path, sys.executable, "-c", ON_TERMINAL, os.ttyname(slave)) as (process, seen):
            os.close(slave)
            process.send_signal(signal.SIGUSR1)  # once it has arrived, the run knows of its command, which is ready before that
            until(lambda: names(seen) == ["SIGUSR1"])
            terminal.write(b"\x03")
            until(lambda: names(seen) == ["SIGUSR1", "SIGINT"])
            terminal.write(b"\x1c")
            until(lambda: names(seen) == ["SIGUSR1", "SIGINT", "SIGQUIT"])
            until(lambda: "/dev/tty" not in opened(process.pid))  # it looked at both whose the terminal is
            process.send_signal(signal.SIGTERM)  # this one is for the run alone, and passed on
            assert process.wait(60) == 41
        assert names(seen) == ["SIGUSR1", "SIGINT", "SIGQUIT", "SIGTERM"]


@pytest.mark.parametrize(("where", "status"), [("sought", 130), ("started", 41)])
def test_what_is_typed_while_a_command_starts_arrives_once(tmp_path: Path, where: str, status: int) -> None:
    """One that is not there yet gets it as soon as it is, which ends it; one that is there has it from the terminal."""
    master, slave = os.openpty()
    seen = tmp_path / "seen"
    seen.touch()
    command = [sys.executable, "-c", ON_TERMINAL, os.ttyname(slave), sys.executable, "-c", LINGER, where]
    command += [sys.executable, "-c", COUNT, str(seen)]
    with (
        contextlib.closing(os.fdopen(master, "r+b", buffering=0)) as terminal,
        subprocess.Popen(command, env=ENVIRONMENT) as process,  # noqa: S603
    ):
        try:
            until(lambda: (tmp_path / "seen.waits").exists() and ("ready" in seen.read_text() or where == "sought"))
            os.close(slave)
            terminal.write(b"\x03")
            if where == "started":
                until(lambda: names(seen) == ["SIGINT"])
                process.terminate()
            assert process.wait(60) == status
        finally:
            process.kill()

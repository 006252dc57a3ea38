"""What signals do to a process that serves: how they reach the server."""

from __future__ import annotations

import ctypes
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from tests.proxy.harness import until
from turnfold.proxy.stopping import end_with_parent, leave_gently, told_to_stop


@pytest.fixture
def reached() -> Iterator[list[int]]:
    """The signals that reached the server."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}
    found: list[int] = []

    def server(number: int, frame: FrameType | None) -> None:
        del frame
        found.append(number)

    signal.signal(signal.SIGTERM, server)
    signal.signal(signal.SIGINT, server)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield found
    for number, handler in before.items():
        signal.signal(number, handler)
    told_to_stop.clear()


def test_a_terminal_that_closes_is_an_order_to_stop(reached: list[int]) -> None:
    leave_gently(0)
    signal.raise_signal(signal.SIGHUP)
    assert reached == [signal.SIGTERM]
    assert told_to_stop.is_set()


def test_the_log_says_what_a_server_stops_for_once(reached: list[int], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "turnfold")
    leave_gently(0)
    signal.raise_signal(signal.SIGHUP)
    signal.raise_signal(signal.SIGTERM)
    assert reached == [signal.SIGTERM] * 2
    assert [line.partition(";")[0] for line in caplog.messages] == ["stopping on SIGHUP"]


def test_ctrl_c_is_said_too_and_each_reaches_the_server_at_once(reached: list[int], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "turnfold")
    leave_gently(600)
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)
    assert reached == [signal.SIGINT] * 2
    assert told_to_stop.is_set()
    assert [line.partition(";")[0] for line in caplog.messages] == ["stopping on SIGINT"]


@pytest.mark.parametrize("alive", [True, False])
def test_a_worker_leaves_it_to_its_parent_to_say_so(
    reached: list[int], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, alive: bool
) -> None:
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: SimpleNamespace(is_alive=lambda: alive))
    caplog.set_level(logging.INFO, "turnfold")
    leave_gently(0)
    signal.raise_signal(signal.SIGTERM)
    assert (reached, len(caplog.messages)) == ([signal.SIGTERM], not alive)


def test_signals_before_the_start_are_answered(capfd: pytest.CaptureFixture[str]) -> None:
    program = """
import os, signal
from turnfold.proxy.early_signals import early_signals_answered
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
with early_signals_answered():
    for name in {names}:
        os.kill(os.getpid(), getattr(signal, name))
    print("goes on")
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
"""
    for names, code, out, err in (
        (("SIGUSR1", "SIGUSR2"), 0, "goes on\n", ""),
        (("SIGHUP", "SIGTERM"), 0, "", "turnfold: SIGHUP came before the server had started; stopping\n"),
        (("SIGTERM",), 0, "", "turnfold: SIGTERM came before the server had started; stopping\n"),
    ):
        assert subprocess.run([sys.executable, "-c", program.format(names=names)], check=False).returncode == code  # noqa: S603
        assert capfd.readouterr() == (out, err)


def test_a_signal_whose_exception_a_library_drops_stops_the_start() -> None:
    """One process imports the server, and one of its own starts for each signal."""
    program = """
import contextlib, os, signal, sys
from turnfold.config.settings import Settings
from turnfold.proxy.early_signals import early_signals_answered
from turnfold.proxy.server import serve
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
def build(settings):
    if built:
        sys.exit("it goes on")
    built.append(settings)
    with contextlib.suppress(BaseException):  # as a library does that catches everything
        signal.raise_signal(number)
def start():
    with early_signals_answered():
        try:
            serve(Settings(server={"port": 0}), build)
        except KeyboardInterrupt:
            sys.exit(130)
built = []
for number in (signal.SIGINT, signal.SIGTERM):
    child = os.fork()
    if not child:
        start()
        sys.exit("it came back")
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), "--", file=sys.stderr, flush=True)
"""
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=60, text=True)  # noqa: S603
    interrupted, terminated, _ = ran.stderr.split(" --\n")
    assert (interrupted.splitlines()[-1], interrupted.count("came before")) == ("130", 0), ran.stderr
    assert (terminated.splitlines()[-1], terminated.count("came before")) == ("0", 1), ran.stderr


def test_what_ignores_hangups_goes_on_ignoring_them(reached: list[int]) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    leave_gently(0)
    signal.raise_signal(signal.SIGHUP)
    assert reached == []
    assert not told_to_stop.is_set()


def test_readiness_fails_before_the_server_stops_and_who_asks_again_does_not_wait(reached: list[int]) -> None:
    told_to_stop.set()
    leave_gently(60)
    assert not told_to_stop.is_set()
    signal.raise_signal(signal.SIGTERM)
    assert (reached, told_to_stop.is_set()) == ([], True)
    (waiting,) = [one for one in threading.enumerate() if isinstance(one, threading.Timer)]
    assert (waiting.daemon, waiting.interval) == (True, 60)  # it keeps no process
    waiting.cancel()
    leave_gently(0.01)
    signal.raise_signal(signal.SIGTERM)
    until(lambda: reached, pause=0.01)
    leave_gently(60)
    signal.raise_signal(signal.SIGTERM)
    (waiting,) = [one for one in threading.enumerate() if isinstance(one, threading.Timer) and one.interval == 60]
    waiting.cancel()
    waiting.join(60)
    assert reached == [signal.SIGTERM]
    signal.raise_signal(signal.SIGHUP)
    assert reached == [signal.SIGTERM] * 2


def test_handlers_stay_where_no_server_has_set_any_and_in_other_threads(reached: list[int]) -> None:
    told_to_stop.set()
    other = threading.Thread(target=leave_gently, args=(0,))
    other.start()
    other.join()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    leave_gently(0)
    assert signal.getsignal(signal.SIGTERM) is signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
    assert (reached, told_to_stop.is_set()) == ([], True)


@pytest.mark.parametrize("died", [False, True])
def test_a_worker_ends_with_its_parent(reached: list[int], monkeypatch: pytest.MonkeyPatch, died: bool) -> None:
    asked: list[tuple[int, ...]] = []
    library: Any = SimpleNamespace(prctl=lambda *args: asked.append(args))
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    end_with_parent()  # this process is no worker
    assert (asked, reached) == ([], [])
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: SimpleNamespace(pid=os.getppid() + died))
    monkeypatch.setattr("sys.platform", "linux")
    end_with_parent()
    assert (asked, reached) == ([(1, signal.SIGTERM)], [signal.SIGTERM] * died)  # 1: PR_SET_PDEATHSIG

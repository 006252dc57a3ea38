"""What signals do to a process that serves: how they reach the server."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from types import FrameType

import pytest

from turnfold.proxy.stopping import leave_gently, told_to_stop


@pytest.fixture
def reached() -> Iterator[list[int]]:
    """The signals that reached the server."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    found: list[int] = []

    def server(number: int, frame: FrameType | None) -> None:
        del frame
        found.append(number)

    signal.signal(signal.SIGTERM, server)
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


def test_what_ignores_hangups_goes_on_ignoring_them(reached: list[int]) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    leave_gently(0)
    signal.raise_signal(signal.SIGHUP)
    assert reached == []
    assert not told_to_stop.is_set()

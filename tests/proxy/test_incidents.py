"""Work in the background: what is remembered of its failures, and when a loop is started again."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace

import pytest

from turnfold.proxy import incidents as module
from turnfold.proxy.incidents import Incidents, Panicked, attempt, catchable_panics, outcome, supervise


async def test_a_loop_is_started_again_and_later_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    found, now, waits, runs = Incidents(), [0.0], list[float](), iter([0.0] * 11 + [60.0, 60.1, 0.0])
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0], time=lambda: 1e9))

    async def loop() -> None:
        took = next(runs, None)
        if took is None:
            return
        now[0] += took
        raise OSError("text of a message")

    async def sleep(seconds: float) -> None:
        assert found.waiting == {"a-loop"}
        waits.append(seconds)

    await supervise("a-loop", loop, found, sleep)
    assert waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0, 0.1, 0.2]
    assert (found.counts, found.waiting) == ({"a-loop": 14}, set())
    (first, *_) = found.listed()
    assert first.pop("problem").startswith("OSError at test_incidents.py:")
    assert first == {"at": 1e9, "part": "a-loop", "subject": "", "kept": "nothing"}


async def test_a_loop_that_is_cancelled_ends() -> None:
    async def loop() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await supervise("a-loop", loop, Incidents())


def test_what_is_listed_is_bounded_and_everything_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    found = Incidents()
    for number in range(102):
        found.add("part", ValueError("text of a message"), f"{number}-" + "x" * 300, "a copy")
    assert found.counts == {"part": 102}
    listed = found.listed()
    assert [one["subject"][:3] for one in (listed[0], listed[-1])] == ["2-x", "101"]
    assert {len(one["subject"]) for one in listed} == {200}
    assert {(one["part"], one["problem"], one["kept"]) for one in listed} == {("part", "ValueError", "a copy")}
    found.add("other", KeyError(), kept="nothing")
    assert caplog.records[-1].levelno == logging.ERROR
    assert caplog.messages[-1] == "other: one step set aside, kept of it: nothing: KeyError"
    assert caplog.messages[0].startswith("part: 0-xx")


async def test_a_task_that_nobody_waits_for_tells_of_its_failure() -> None:
    found = Incidents()

    async def fails() -> None:
        raise ValueError

    async def ends() -> None:
        return

    async def stays() -> None:
        await asyncio.sleep(60)

    tasks = [asyncio.create_task(work()) for work in (fails, ends, stays)]
    for task in tasks:
        found.watch(task, task.get_coro().__name__, "tf-1")  # type: ignore[union-attr]
    await asyncio.sleep(0)
    tasks[-1].cancel()
    await asyncio.wait(tasks)
    await asyncio.sleep(0)
    assert [(one["part"], one["subject"]) for one in found.listed()] == [("fails", "tf-1")]


class PanicException(BaseException):
    """As PyO3 raises it."""

    __module__ = "pyo3_runtime"


async def test_a_failure_and_a_panic_are_values() -> None:
    def panics() -> None:
        raise PanicException("out of range")

    async def panics_later() -> None:
        panics()

    async def one() -> int:
        return 1

    assert (attempt(lambda: 1), await outcome(one())) == (1, 1)
    assert isinstance(attempt(lambda: 1 // 0), ZeroDivisionError)
    for found in (attempt(panics), await outcome(panics_later())):
        assert isinstance(found, Panicked)
        assert str(found) == "out of range"
    with pytest.raises(KeyError), catchable_panics():
        raise KeyError
    with pytest.raises(KeyboardInterrupt), catchable_panics():
        raise KeyboardInterrupt

"""Which process works for whom, and what becomes of one that is left: with processes that are made up (real ones are in
``chat/test_process_folding.py``)."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any, cast

import pytest

from turnfold.proxy.lanes.processes import FoldProcess, FoldProcesses, ProcessFailed


class MadeUp(FoldProcess):
    """A process that notes its end."""

    def __init__(self, number: int) -> None:
        super().__init__(cast("Any", None))
        self.number = number
        self.killed = False

    async def kill(self) -> None:
        await asyncio.sleep(0)
        self.killed = True


class Processes(FoldProcesses):
    """At most so many of them; starting one may fail."""

    def __init__(self, number: int) -> None:
        super().__init__(number, None)
        self.started: list[MadeUp] = []
        self.fails = False
        self._numbers = count()

    async def _start(self) -> FoldProcess:
        if self.fails:
            raise ProcessFailed
        self.started.append(MadeUp(next(self._numbers)))
        return self.started[-1]

    async def work(self, conversation: str, tenant: str = "anna", gate: asyncio.Event | None = None) -> int:
        """The number of the process that was taken."""
        async with self.session(tenant, conversation.encode()) as process:
            if gate is not None:
                await gate.wait()
            return cast("MadeUp", process).number

    async def settled(self) -> None:
        while self._ending:
            await asyncio.gather(*self._ending)

    @property
    def killed(self) -> list[int]:
        return [one.number for one in self.started if one.killed]


async def together(processes: Processes, *works: tuple[str, str]) -> list[int]:
    gate = asyncio.Event()
    tasks = [asyncio.create_task(processes.work(conversation, tenant, gate)) for conversation, tenant in works]
    await asyncio.sleep(0.001)
    gate.set()
    return await asyncio.gather(*tasks)


async def test_the_process_that_knows_a_conversation_is_taken_else_the_last_that_worked() -> None:
    processes = Processes(3)
    assert await together(processes, ("a", "anna"), ("b", "anna"), ("c", "bert")) == [0, 1, 2]
    assert [await processes.work(name) for name in ("a", "b", "c", "d", "d", "b", "e")] == [0, 1, 2, 2, 2, 1, 1]
    assert len(processes.started) == 3
    await processes.close()
    assert processes.killed == [0, 1, 2]


async def test_a_process_is_remembered_to_know_its_last_256_conversations() -> None:
    process = MadeUp(0)
    for number in (*range(256), 0, 256):
        process.remember(b"%d" % number)
    assert list(process.known) == [b"%d" % number for number in (*range(2, 256), 0, 256)]


async def test_whoever_leaves_by_an_exception_has_its_process_killed_and_another_one_started() -> None:
    processes = Processes(1)
    with pytest.raises(ZeroDivisionError):
        async with processes.session("anna", b"a"):
            raise ZeroDivisionError
    await processes.settled()
    assert (processes.killed, len(processes.started)) == ([0], 2)
    assert await processes.work("a") == 1
    processes.fails = True
    with pytest.raises(ZeroDivisionError):
        async with processes.session("anna", b"a"):
            raise ZeroDivisionError
    await processes.settled()
    with pytest.raises(ProcessFailed):
        await processes.work("a")
    processes.fails = False
    assert await processes.work("a") == 2, "the place was given back"


async def test_those_that_work_are_renewed_once_they_are_done() -> None:
    processes = Processes(3)
    await together(processes, ("a", "anna"), ("b", "anna"))
    gate = asyncio.Event()
    working = asyncio.create_task(processes.work("a", gate=gate))
    await asyncio.sleep(0)
    processes.renew()
    await processes.settled()
    assert processes.killed == [1]
    gate.set()
    assert await working == 0
    await processes.settled()
    assert (processes.killed, len(processes.started)) == ([0, 1], 3)
    assert await processes.work("a") == 2
    processes.renew()
    await processes.settled()
    assert (processes.killed, len(processes.started)) == ([0, 1, 2], 3)


async def test_a_process_that_cannot_be_killed_holds_up_no_stop() -> None:
    processes = Processes(3)
    await together(processes, ("a", "anna"), ("b", "anna"))

    async def fail() -> None:
        raise OSError

    processes.started[0].kill = fail  # type: ignore[method-assign]
    processes.renew()
    await processes.close()
    await together(processes, ("a", "anna"), ("b", "anna"))
    processes.started[2].kill = fail  # type: ignore[method-assign]
    await processes.close()
    assert processes.killed == [1, 3]


async def test_nothing_is_started_any_more_when_all_are_ended() -> None:
    processes = Processes(1)
    with pytest.raises(ZeroDivisionError):
        async with processes.session("anna", b"a"):
            raise ZeroDivisionError
    await processes.close()
    assert processes.killed == [0]
    assert len(processes.started) == 1
    assert not processes._ending

"""Large work of the API goes to a process, in its tenant's turn."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from turnfold.compression.budgeted import History, HistoryMessage
from turnfold.config.settings import StoreSettings
from turnfold.proxy.api.conversations import Conversations
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.http.refusals import Refused
from turnfold.proxy.lanes.processes import FoldProcesses
from turnfold.proxy.store.memory import MemoryStore


class Failing:
    """A process that gives up on every job, and whose turns it took."""

    def __init__(self) -> None:
        self.turns: list[tuple[str, bytes]] = []

    @asynccontextmanager
    async def session(self, tenant: str, conversation: bytes) -> AsyncIterator[Failing]:
        self.turns.append((tenant, conversation))
        yield self

    async def send(self, *_: object) -> None:
        """Take the job."""

    async def receive(self) -> tuple[Any, bytes, bytes]:
        return "no result", b"", b""


async def test_large_work_that_fails_in_its_process_is_refused() -> None:
    processes = Failing()
    workshop = Workshop(1, cast(FoldProcesses, processes))
    try:
        assert await workshop.run_sized("anna", 199_999, len, "four") == 4
        with pytest.raises(Refused) as refused:
            await workshop.run_sized("anna", 200_000, len, "four")
    finally:
        workshop.close()
    assert (refused.value.status, refused.value.code) == (503, "too_slow")
    assert processes.turns == [("anna", b"")]


async def test_a_context_that_reads_much_text_is_made_in_a_process_however_few_tokens_it_has() -> None:
    processes = Failing()
    workshop = Workshop(1, cast(FoldProcesses, processes))
    conversations = Conversations(MemoryStore(), StoreSettings(), workshop)
    try:
        await conversations.replace("anna", "short", _said(199_000))
        assert processes.turns == []
        with pytest.raises(Refused):
            await conversations.replace("anna", "long", _said(200_000))
    finally:
        workshop.close()
    assert processes.turns == [("anna", b"")]


def _said(size: int) -> History:
    return History(recent=(HistoryMessage("user", "one two " * (size // 8)),), recent_tokens=(9,), raw_tokens=9, messages=1)

"""Large conversations that another process folded first, as after a restart, taken over by the one that serves.

This module chooses the conversation that is due and reads it bit by bit while nobody waits for it. What a bit is and how it is
folded is up to ``chat.folding``; the other process is in ``processes``.

A process folds a large body itself only if it already knows nearly all of it (``chat.folding``). Otherwise the body goes to the
other process with every turn, and nothing of it ever becomes known here. So from a conversation's second such request on, it is
also read and folded here, behind its answer and step by step from its beginning; a step takes no longer than a turn of a smaller
conversation. A request that arrives meanwhile goes to the other process once more.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final

from turnfold.proxy.incidents import Incidents

#: Folds a beginning of a conversation.
Step = Callable[[], None]

#: Characters of a conversation that one step has more than the one before, about.
BIT: Final = 64 * 2**10
#: And of a message at most: single calls on larger ones would hold the interpreter for long.
LARGEST_BIT: Final = 128 * 2**10
_DUE: Final = 2  # requests after which a conversation is due; most are never continued
_MOST_TRIES: Final = 2  # of a conversation: one that the memory does not hold is not read for ever
_MOST_REMEMBERED: Final = 1000  # conversations
_PAUSE: Final = 0.02  # seconds between two steps, in which others have the interpreter to themselves


@dataclass(slots=True)
class _Seen:
    """How often a conversation was folded elsewhere, and taken over."""

    requests: int = 0
    tries: int = 0


class TakingOver:
    """What is taken over; belongs to one event loop. One conversation at a time: others are due again with their next request.

    Args:
        run: does a step of a tenant's in a thread, when it is its turn.
    """

    def __init__(self, run: Callable[[str, Step], Awaitable[None]], incidents: Incidents) -> None:
        self._run = run
        self._incidents = incidents
        self._seen: OrderedDict[tuple[str, bytes], _Seen] = OrderedDict()
        self._task: asyncio.Task[None] | None = None

    def is_due(self, tenant: str, conversation: bytes) -> bool:
        """Whether a conversation is to be taken over after this request."""
        seen = self._seen.setdefault((tenant, conversation), _Seen())
        self._seen.move_to_end((tenant, conversation))
        if len(self._seen) > _MOST_REMEMBERED:
            self._seen.popitem(last=False)
        seen.requests += 1
        if self._task is not None or seen.requests < _DUE or seen.tries == _MOST_TRIES:
            return False
        seen.tries += 1
        return True

    def begin(self, tenant: str, steps: Iterable[Step]) -> None:
        """Take it over, step after step."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work(tenant, steps), name="take-over")
            self._task.add_done_callback(self._ended)
            self._incidents.watch(self._task, "take-over")

    async def _work(self, tenant: str, steps: Iterable[Step]) -> None:
        for step in steps:
            await self._run(tenant, step)
            await asyncio.sleep(_PAUSE)

    def _ended(self, _: asyncio.Task[None]) -> None:
        self._task = None

    def stop(self) -> None:
        """Stop reading it."""
        if self._task is not None:
            self._task.cancel()
        self._seen.clear()

    async def close(self) -> None:
        """Stop, for good."""
        task = self._task
        self.stop()
        if task is not None:
            await asyncio.gather(task, return_exceptions=True)

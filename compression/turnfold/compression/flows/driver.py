"""Driving a generator by a function of the caller's that answers now or later.

Lives here: one awaitable. Does not belong here: what is asked, any event loop: it runs under whichever the caller has.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class DrivenFlow(Awaitable[T], Generic[T]):
    """Awaiting it runs the generator to its end; each awaiting runs a new one.

    Args:
        start: makes the generator, which yields questions and is sent answers.
        answer: answers a question, or gives something that can be awaited for the answer.
        failures: exceptions of `answer` for which the generator is sent None.
    """

    def __init__(
        self,
        start: Callable[[], Generator[Any, Any, T]],
        answer: Callable[[Any], Any],
        failures: tuple[type[Exception], ...] = (),
    ) -> None:
        self._start = start
        self._answer = answer
        self._failures = failures

    def __await__(self) -> Generator[Any, Any, T]:
        flow = self._start()
        try:
            question = next(flow)
        except StopIteration as done:
            ended: T = done.value
            return ended
        while True:
            try:
                reply = self._answer(question)
                if isinstance(reply, Awaitable):
                    reply = yield from reply.__await__()
            except self._failures:
                reply = None
            try:
                question = flow.send(reply)
            except StopIteration as done:
                result: T = done.value
                return result

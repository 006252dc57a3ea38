"""Driving a generator by a caller's function that answers immediately or asynchronously.

Lives here: one awaitable. Does not belong here: the questions, any event loop (it runs under the caller's).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class DrivenFlow(Awaitable[T], Generic[T]):
    """Awaiting it runs the generator to its end; each await runs a new generator.

    Args:
        start: creates the generator, which yields questions and is sent answers.
        answer: answers a question, or returns an awaitable for the answer.
        failures: exceptions of `answer` that count as no answer: the generator is sent None.
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

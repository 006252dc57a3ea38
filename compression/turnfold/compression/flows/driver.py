"""Driving a generator that yields questions and is sent answers.

The answers come from another generator, or from a caller's function, now or later. What is asked is up to the generator. There is
no event loop here: a driver runs under the caller's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def answered(flow: Generator[Any, Any, T], answer: Callable[[Any], Generator[Any, Any, Any]]) -> Generator[Any, Any, T]:
    """Run a generator to its end, and answer each of its questions with another generator."""
    try:
        question = next(flow)
        while True:
            question = flow.send((yield from answer(question)))
    except StopIteration as done:
        result: T = done.value
        return result


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
        return answered(self._start(), self._reply)

    def _reply(self, question: Any) -> Generator[Any, Any, Any]:
        try:
            reply = self._answer(question)
            return (yield from reply.__await__()) if isinstance(reply, Awaitable) else reply
        except self._failures:
            return None

"""The next part of a text that is gone through part by part: "next", after "translate this, one paragraph at a time".

This module decides which text that is, and what is quoted of it. Such a message, the parts of a text and how far an answer has
come are read in ``text.dialogue.wanted.steps``; parts by their number or place are found in ``placed_parts``.

A message that says "next" shares no word with what comes next. Meant is the newest long text after which users have said so, or
which says itself that it is to be gone through; the answers since show how far. As much is quoted as the last answer covered, and
somewhat more, since nobody knows how much it will be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from turnfold.compression.memo import Memo, of_each
from turnfold.compression.recall.fence import fence_tokens, quote_tokens
from turnfold.compression.recall.question import Question
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.spread_works import fitting_spread, joined
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.steps import (
    done_step,
    goes_on,
    is_done,
    is_one_by_one,
    lists_steps,
    progress,
    says_part,
    step_parts,
)
from turnfold.compression.text.passages import estimate
from turnfold.compression.text.quotes import Quotable, Quote

_SPEAKERS: Final = ("user", "assistant")
_LONG: Final = 500  # tokens of a text that people work through in steps
_LONGEST: Final = 400  # characters of a reply to a question of a text that is worked through one by one
_SOON: Final = 3  # messages after a text within which somebody says to go through it
_OFTEN: Final = 2  # requests for the next part from which a text counts as worked through without that
_MORE: Final = 2  # parts after the next one
_MOST: Final = 2_000  # tokens
_BESIDE: Final = 200  # tokens of other passages


class _Stepping(NamedTuple):
    """What a message says about working through a text: that it wants the next part, that a step is done, or to go one by one."""

    goes_on: bool
    is_done: bool
    one_by_one: bool


_NOTHING: Final = _Stepping(goes_on=False, is_done=False, one_by_one=False)


def find_next_parts(sources: Sequence[Quotable], question: Question, count: Callable[[str], int], memo: Memo) -> FoundWork:
    """The next parts of a folded text that is being worked through; empty if there is none."""
    room = min(_MOST, question.whole_room - fence_tokens(count))
    if room <= 0 or question.request or len(question.text) > _LONGEST:
        return FoundWork()
    if not any(map(_may_be_gone_through, sources)):  # as in a chat of short messages
        return FoundWork()
    messages = [*sources, *question.behind]
    said = of_each(memo, "steps", messages, _stepping)
    asked = _stepping_in(question.text)
    if not (asked.is_done or asked.goes_on or any(one.one_by_one for one in said)):
        return FoundWork()
    at = _text_in_progress(sources, said, asked)
    parts = () if at is None else step_parts(sources[at].text)
    if at is None or not parts:
        return FoundWork()
    answers = _answers(messages, said, at)
    text = sources[at].text
    first, last = _next(text, parts, answers, question.text) if asked.is_done else _after_question(text, parts, answers[-1:])
    quotes = [Quote(at, *part) for part in parts[first : last + 1]]
    if not quotes:
        return FoundWork()
    sizes = range(len(quotes), 1, -1)
    fitting = next((quotes[:n] for n in sizes if quote_tokens(quotes[:n], sources, count) <= room), quotes[:1])
    chosen, tokens = fitting_spread(sources, joined(sources, fitting), room, count)
    return FoundWork(tuple(chosen), (), tokens, beside=_BESIDE)


def _stepping(message: Quotable) -> _Stepping:
    return _stepping_in(message.text) if message.role == "user" else _NOTHING


def _stepping_in(text: str) -> _Stepping:
    return _Stepping(goes_on(text), is_done(text), is_one_by_one(text))


def _may_be_gone_through(source: Quotable) -> bool:
    return len(source.text) > _LONG and source.role in _SPEAKERS and estimate(source.text) >= _LONG


def _text_in_progress(sources: Sequence[Quotable], said: Sequence[_Stepping], asked: _Stepping) -> int | None:
    """The newest folded text that is being worked through: one of a user, or steps that the other side has listed."""
    for n in range(len(sources) - 1, -1, -1):
        role, text = sources[n].role, sources[n].text
        if not _may_be_gone_through(sources[n]):
            continue
        since = said[n + 1 :]
        if any(one.one_by_one for one in said[n : n + _SOON]) and (asked.is_done or sum(one.is_done for one in since) < _OFTEN):
            return n
        if role == "user":
            return n if asked.goes_on and sum(one.goes_on for one in since) >= _OFTEN else None
        if asked.is_done and sum(one.is_done for one in since) >= _OFTEN and lists_steps(text):
            return n
    return None


def _answers(messages: Sequence[Quotable], said: Sequence[_Stepping], at: int) -> list[str]:
    """The answers that continue with a text: those to messages that ask for the next part, if there are any."""
    behind = [n for n in range(at + 1, len(messages)) if messages[n].role == "assistant"]
    asked = [n for n in behind if said[n - 1].is_done]
    begun = [n for n in behind[:1] if n not in asked]
    return [messages[n].text for n in ([*begun, *asked] if asked else behind)]


def _next(text: str, parts: Sequence[Range], answers: Sequence[str], asked: str) -> Range:
    """The numbers of the first and last part that may come next.

    They follow the part that was reported as done, or the parts that the answers have covered.
    """
    if (done := done_step(asked)) is not None:
        return done, done + _MORE
    at, size = progress(text, parts, answers)
    return at, at + size - 1 + _MORE


def _after_question(text: str, parts: Sequence[Range], answer: Sequence[str]) -> Range:
    """Like `_next`, for a quiz, in which nobody says "next": the parts after the question asked by the last answer.

    Empty if that answer asks none of the questions.
    """
    asked = [n for n, part in enumerate(parts) if any(says_part(text[slice(*part)], one) for one in answer)]
    return (asked[-1] + 1, asked[-1] + 1 + _MORE) if asked else (len(parts), 0)

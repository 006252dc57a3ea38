"""The next part of a text that is gone through part by part: "next", after "translate this, one paragraph at a time".

Lives here: which text that is, and what is quoted of it. Does not belong here: telling such a message, the parts of a text and
how far an answer has come (``text.dialogue.wanted.steps``), parts by their number or place (``placed_parts``).

A message that says "next" shares no word with what is to come. Meant is the newest long text behind which others have said so, or
which says itself that it is to be gone through; the answers since tell how far. Quoted is as much as the last answer covered, and
some more, since nobody knows how much it will be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from turnfold.compression.recall.fence import fence_tokens
from turnfold.compression.recall.question import Question
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.spread_works import fitting_spread, joined
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.steps import goes_on, is_one_by_one, progress, step_parts
from turnfold.compression.text.passages import estimate
from turnfold.compression.text.quotes import Quotable, Quote

_SPEAKERS: Final = ("user", "assistant")
_LONG: Final = 500  # tokens of a text through which somebody goes
_LONGEST: Final = 400  # characters of a message that answers a question of a text which is gone through one by one
_LOOK_BACK: Final = 3  # messages of the user in which the same was asked
_MORE: Final = 2  # parts behind the next one
_MOST: Final = 2_000  # tokens
_BESIDE: Final = 200  # tokens of other passages


def find_next_parts(sources: Sequence[Quotable], question: Question, count: Callable[[str], int]) -> FoundWork:
    """What comes next of a folded text that is gone through; nothing where none is."""
    room = min(_MOST, question.whole_room - fence_tokens(count))
    if room <= 0 or question.request or len(question.text) > _LONGEST:
        return FoundWork()
    messages = [*sources, *question.behind]
    asked = [one.text for one in messages if one.role == "user"][-_LOOK_BACK:]
    at = _gone_through(sources, question.text, is_asked_again=any(map(goes_on, asked)))
    parts = () if at is None else step_parts(sources[at].text)
    if at is None or not parts:
        return FoundWork()
    first, last = _next(sources[at].text, parts, _answers(messages, at))
    quotes = [Quote(at, *part) for part in parts[first : last + 1]]
    if not quotes:
        return FoundWork()
    fitting = next((quotes[:n] for n in range(len(quotes), 1, -1) if _size(sources, quotes[:n]) <= room), quotes[:1])
    chosen, tokens = fitting_spread(sources, joined(sources, fitting), room, count)
    return FoundWork(tuple(chosen), (), tokens, beside=_BESIDE)


def _gone_through(sources: Sequence[Quotable], asked: str, *, is_asked_again: bool) -> int | None:
    """The newest text that is gone through."""
    is_next = goes_on(asked)
    for n in range(len(sources) - 1, -1, -1):
        text = sources[n].text
        if sources[n].role not in _SPEAKERS or len(text) <= _LONG or estimate(text) < _LONG:
            continue
        one_by_one = any(is_one_by_one(one.text) for one in sources[n : n + _LOOK_BACK] if one.role == "user")
        if one_by_one or (is_next and is_asked_again and sources[n].role == "user"):
            return n
        if sources[n].role == "user":
            return None
    return None


def _answers(messages: Sequence[Quotable], at: int) -> list[str]:
    """The answers that go on with a text: those to messages that ask for the next part, where any does."""
    behind = [n for n in range(at + 1, len(messages)) if messages[n].role == "assistant"]
    asked = [n for n in behind if goes_on(messages[n - 1].text)]
    begun = [n for n in behind[:1] if n not in asked]
    return [messages[n].text for n in ([*begun, *asked] if asked else behind)]


def _next(text: str, parts: Sequence[Range], answers: Sequence[str]) -> Range:
    """The numbers of the first and the last part that may come next."""
    at, size = progress(text, parts, answers)
    return at, at + size - 1 + _MORE


def _size(sources: Sequence[Quotable], quotes: Sequence[Quote]) -> float:
    return sum(estimate(sources[n].text[start:end]) for n, start, end in quotes)

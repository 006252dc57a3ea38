"""Earlier suggestions, for a request for one more: "another name", "what else?", "ask me something that I haven't had yet".

This module decides which exchanges gave them, and what is quoted of each. Such a request is recognised in
``text.dialogue.wanted.series``; a thing that was offered and is meant now is found in ``offers``, exchanges of one kind in
``series``.

Without them the chat would give again what it has already given. Earlier requests for one more show which exchanges these are. Of
an answer, its first sentence names the thing, or the items of its list do; of a quiz, the questions are needed, which end the
answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.memo import Memo, of_each
from turnfold.compression.recall.fence import quote_tokens
from turnfold.compression.recall.wholes.exchanges.answer_series import short_opening
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.request import WholeRequest
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.turns import several_speak
from turnfold.compression.text.dialogue.wanted.series import asks_for_others, asks_for_questions
from turnfold.compression.text.quotes import Quotable, Quote
from turnfold.compression.text.sentences import rough_sentences
from turnfold.compression.text.spans import QUESTION_MARKS

_MOST: Final = 800  # tokens
_FEWEST: Final = 4  # fewer exchanges or questions may be chance
_ENDING: Final = 300  # characters at the end of an answer that contain its question
_ITEM: Final = lazy.pattern(r"^[ \t]*(?:[-*•]|\d{1,3}[.)])[ \t]+([^\n:–—]{1,60})", re.MULTILINE)
_FEWEST_ITEMS: Final = 3


def find_given(asked: WholeRequest) -> FoundWork:
    """The items that the chat gave in reply to requests for one more, or the questions that it asked; the newest that fit."""
    sources, _, asks, room, count, memo = asked
    room = min(_MOST, room)
    if not asks_for_others(asks) or several_speak(sources, memo):
        return FoundWork()
    given = of_each(memo, "asked-questions", sources, _questions) if asks_for_questions(asks) else _suggestions(sources, memo)
    every = [[Quote(n, *one) for one in ranges] for n, ranges in enumerate(given) if ranges]
    if len(every) < _FEWEST:
        return FoundWork()
    found, tokens = tuple[Quote, ...](), 0
    for quotes in reversed(every):
        more = quote_tokens(tuple(quotes), sources, count)
        if tokens + more > room:
            break
        found, tokens = (*quotes, *found), tokens + more
    return FoundWork(found, (), tokens)


def _suggestions(sources: Sequence[Quotable], memo: Memo) -> list[tuple[Range, ...]]:
    """What each answer gave in reply to a request for one more, and the answer before the first of them."""
    asked = of_each(memo, "asks-for-others", sources, _asks_for_more)
    named = of_each(memo, "given-things", sources, _things)
    users = [n for n, one in enumerate(sources) if one.role == "user"]
    begun = {before for before, n in pairwise(users) if asked[n]}
    return [things if n and (asked[n - 1] or n - 1 in begun) else () for n, things in enumerate(named)]


def _asks_for_more(source: Quotable) -> bool:
    return source.role == "user" and asks_for_others(source.text)


def _things(source: Quotable) -> tuple[Range, ...]:
    """The first lines of an answer's list items, or its first sentence."""
    if source.role != "assistant":
        return ()
    items = tuple(found.span(1) for found in _ITEM.finditer(source.text))
    if len(items) >= _FEWEST_ITEMS:
        return items
    first = short_opening(source.text)
    return (first,) if first[1] else ()


def _questions(source: Quotable) -> tuple[Range, ...]:
    """The questions that an answer ends with."""
    if source.role != "assistant" or not source.text.rstrip().endswith(QUESTION_MARKS):
        return ()
    return tuple(_questions_in(source.text))


def _questions_in(text: str) -> Iterator[Range]:
    begin = max(0, len(text) - _ENDING)
    ending = text[begin:]
    for start, end in rough_sentences(ending):
        if ending[start:end].rstrip().endswith(QUESTION_MARKS):
            yield begin + start, begin + end

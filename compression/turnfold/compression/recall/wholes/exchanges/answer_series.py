"""Answers of one form to one message after another, for a question over all of them: "how many students passed?".

This module decides which answers make up such a series, and what is quoted of each. Such a question is recognised in
``text.dialogue.wanted.entry_requests``; short messages that users have kept are in ``entries``.

Marks, labels, records extracted from letters: each answers a message of its own, and none shares words with the question. Of an
answer, its first line is quoted, together with what its message is called by, or its first sentence. A part of them would give a
wrong total.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.memo import of_each
from turnfold.compression.recall.fence import quote_tokens
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.request import WholeRequest
from turnfold.compression.shorten.answers import merely_agrees
from turnfold.compression.shorten.steps import is_brief, kept_steps
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.turns import several_speak
from turnfold.compression.text.quotes import Quotable, Quote
from turnfold.compression.text.sentences import rough_sentences

_FEWEST: Final = 5  # fewer answers of one form may be chance
_SHORT: Final = 240  # characters of an answer that is quoted whole
_LONGEST: Final = 160  # characters of the beginning of any other
_LABEL: Final = 30  # characters of an answer that is only a label
_HEAD: Final = lazy.pattern(
    r"\s{0,8}(?:`{3}\w{0,12}\s{1,4})?"
    r"(?:([{\[|])|[*_#\s]{0,6}([^\W\d_][\w -]{0,24})[*_]{0,3}[:：]|\d{1,4}(?:[.,]\d{1,4})?\s?(?:/|%|\Z|\n))"
)
_NAME: Final = lazy.pattern(r"[^\n:：]{1,60}[:：]")


def find_answer_series(asked: WholeRequest) -> FoundWork:
    """All answers of the largest series; empty if they don't fit."""
    sources, _, _text, room, count, memo = asked
    if several_speak(sources, memo):  # a speaker's label is not a form
        return FoundWork()
    forms = of_each(memo, "answer-forms", sources, _form)
    kept = {step.source for step in kept_steps(sources, memo) if is_brief(sources, step)}
    answers = [
        n for (_, before), (n, one) in pairwise(enumerate(sources)) if forms[n] and before.role == "user" and n - 1 not in kept
    ]
    sizes = Counter(forms[n] for n in answers)
    form, size = max(sizes.items(), key=lambda one: one[1], default=("", 0))
    if size < _FEWEST:
        return FoundWork()
    series = [n for n in answers if forms[n] == form]
    for whole in (_SHORT, 0):
        quotes = tuple([quote for n in series for quote in _quotes(sources, n, whole)])
        tokens = quote_tokens(quotes, sources, count)
        if tokens <= room:
            parts = frozenset(quote for quote in quotes if quote.end - quote.start < len(sources[quote.source].text))
            return FoundWork(quotes, (), tokens, counted=frozenset(quotes), listed=parts)
    return FoundWork()


def short_opening(text: str) -> Range:
    """The first sentence of a text, or its first line, if that is short; otherwise an empty range."""
    start, end = next(iter(rough_sentences(text[: 2 * _LONGEST])), (0, 0))
    return (start, end) if end <= _LONGEST else (0, 0)


def _form(answer: Quotable) -> str:
    """The beginning of an answer, if it reveals the answer's form; otherwise ""."""
    if answer.role != "assistant":
        return ""
    text = answer.text
    if len(text.strip()) <= _LABEL and text.count(" ") < _LABEL // 10:
        return "" if merely_agrees(text) else "label"
    found = _HEAD.match(text)
    return "" if found is None else found[1] or (found[2] or "#").lower()


def _quotes(sources: Sequence[Quotable], at: int, whole: int) -> list[Quote]:
    """The message that an answer replies to, and the answer: whole if it is short enough, else its beginning."""
    asked, answer = sources[at - 1].text, sources[at].text
    named = _NAME.match(asked)
    told = short_opening(answer) if len(answer) > whole and answer[:1].isalpha() else (0, len(answer))
    return [Quote(n, *place) for n, place in ((at - 1, named.span() if named else short_opening(asked)), (at, told)) if place[1]]

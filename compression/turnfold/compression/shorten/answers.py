"""Answers that mean nothing without their question ("Which city do you live in?", "Porto."), or without their list.

This module tells whether a message answers the previous one in this way, and what that one asks. Whether either is quoted is
decided in ``told``; what is picked, in ``text.dialogue.wanted.picks``.

An answer is told by its place alone: a short message that asks nothing, behind one that ends with a question.
"""

from __future__ import annotations

import re
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.requests import EMPTY
from turnfold.compression.text.dialogue.wanted.picks import picked, place_named
from turnfold.compression.text.lower import lower_text, words
from turnfold.compression.text.quotes import Quotable
from turnfold.compression.text.sentences import rough_sentences

_LONGEST: Final = 80  # characters of an answer; a longer one is clear without its question
_END: Final = 600  # characters at the end of a message that may contain a question
_LAST: Final = 3  # last sentences that may contain the question; "You will find it in your mail." may follow
_FIGURE: Final = lazy.pattern(r"\d")
_QUESTION: Final = lazy.pattern(r"[?？؟]")
#: A question without a question mark: "Please tell me your order number."
_PLEASE: Final = lazy.pattern(
    r"\b(?:please|bitte|s'il (?:te|vous)|por favor|per favore|alstublieft|proszę|lütfen|пожалуйста|vui lòng)\b"
    r"|请|請|ください|下さい|주세요|من فضلك|कृपया",
    re.IGNORECASE,
)


def asked(before: Quotable, answer: Quotable) -> Range | None:
    """The range of the assistant's question that a user's very short answer depends on, or of the list item that the answer
    picks.
    """
    if item := picked(before, answer):
        return item
    if before.role != "assistant" or not 0 < len(answer.text) <= _LONGEST or _QUESTION.search(answer.text):
        return None
    text = before.text
    first = max(0, len(text) - _END)
    said = rough_sentences(text[first:])[1 if first else 0 :][-_LAST:]
    asking = [i for i, (start, end) in enumerate(said) if _asks(text[first + start : first + end])]
    if not asking:
        return None
    begin = next(i for i in range(asking[-1], -1, -1) if i == 0 or i - 1 not in asking)
    return first + said[begin][0], first + said[asking[-1]][1]


def merely_agrees(text: str) -> bool:
    """Whether an answer is "Yes, please" or similar, so that the next messages show its result."""
    return EMPTY.issuperset(words(lower_text(text))) and not _FIGURE.search(text) and place_named(text) is None


def _asks(sentence: str) -> bool:
    return bool(_QUESTION.search(sentence[-3:]) or _PLEASE.search(sentence))

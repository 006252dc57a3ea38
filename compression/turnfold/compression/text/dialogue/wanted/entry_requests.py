"""Requests over all entries that users log: "what's the damage so far?", "was fehlt noch auf dem Zettel?".

This module tells whether a message makes such a request, and whether something was done that was asked for. Requests over the
rows of tables are in ``row_requests``; what stands at the end of a conversation is asked for in ``overall``. What is quoted is
decided in ``recall.wholes.exchanges.entries``; single words are in ``lexicon/entries.txt``.

Words alone say little: whoever asks "how much was it?" without having logged anything gets no quotes.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from turnfold.compression.memo import remembering
from turnfold.compression.text import lower, words
from turnfold.compression.text.dialogue.overall import asks_for_overall
from turnfold.compression.text.dialogue.wanted.row_requests import asks_over_rows, names_data
from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.spans import QUESTION_MARKS

_LONGEST: Final = 160  # characters; a longer message says what it is about
_ASIDE: Final = "ok|okay|so|now|and|please|pls|bitte|also|por favor|per favore|s'il te plaît|пожалуйста"
_CAN_YOU: Final = lexicon("manner")["asks"]
_FIRST: Final = 3  # words of a request in which one of these stands
_NOD: Final = 40  # characters of an answer that only confirms: "Sure, it's on."
_MOST_DONE: Final = 120  # characters of an answer that says no more than that


class _Patterns(NamedTuple):
    asked: re.Pattern[str]  # of a question
    commanded: re.Pattern[str]  # at the beginning of a message
    run_on: re.Pattern[str]  # anywhere in a message that is not ASCII
    done: re.Pattern[str]  # of an answer


@cache  # compiled on first use, since that takes a while
def _patterns() -> _Patterns:
    asked, commanded, done = (words.fold(one_of("entries", section)) for section in ("asked", "commanded", "done"))
    asks_run_on, done_run_on = (words.fold(one_of("entries", section)) for section in ("run-on", "done run-on"))
    return _Patterns(
        re.compile(rf"(?<!\w)(?:{asked})(?!\w)"),
        re.compile(rf"\A\W{{0,3}}(?:(?:{_ASIDE})\W{{1,3}}){{0,2}}(?:{commanded})(?!\w)"),
        re.compile(asks_run_on),
        re.compile(rf"(?<!\w)(?:{done})(?!\w)|{done_run_on}"),
    )


@remembering
def asks_over_entries(folded: str) -> bool:
    """Whether a case-folded message asks about all entries that users have kept."""
    if asks_over_rows(folded) or names_data(folded) or asks_for_overall(folded):
        return True
    if len(folded) > _LONGEST:
        return False
    is_question = folded.rstrip().endswith(QUESTION_MARKS)
    patterns = _patterns()
    if (is_question and patterns.asked.search(folded)) or patterns.commanded.match(folded):
        return True
    return not folded.isascii() and patterns.run_on.search(folded) is not None


@remembering
def says_done(answer: str) -> bool:
    """Whether a short answer says explicitly that something was done: "Sure, changed."."""
    if len(answer) > _MOST_DONE or answer.rstrip().endswith(QUESTION_MARKS):
        return False
    return _patterns().done.search(words.fold(answer)) is not None


def asks_to_do(text: str, answer: str) -> bool:
    """Whether a question asks the chat to do something, and the answer says little about it: "Can you put tea on it?"."""
    if len(answer) > _NOD or answer.rstrip().endswith(QUESTION_MARKS):
        return False
    return not _CAN_YOU.isdisjoint(lower.words(lower.lower_text(text))[:_FIRST])

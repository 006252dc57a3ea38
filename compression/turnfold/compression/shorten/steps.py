"""Entries that users log in a chat, step by step: "coffee 4.20", "Logged."; "could you make that 12?", "Sure, changed."

This module finds these messages, and what each needs of the previous answer. How much of it is quoted is decided in ``told``,
``recall.ledger`` and ``recall.wholes.exchanges.entries``.

A step is short and tells something, or is a list of such; what asks is one where the answer says that something was done, or if
it tells something before it asks over all: "coffee 4.20. What's my total?". Whoever answers a question in a word ("the second",
"yes") has that kept together with the question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.memo import Memo, continued_by_key
from turnfold.compression.shorten.answers import asked, merely_agrees
from turnfold.compression.text import words
from turnfold.compression.text.dialogue.echoes import echoes
from turnfold.compression.text.dialogue.short_exchanges import is_short
from turnfold.compression.text.dialogue.standing.orders import begins_with_command
from turnfold.compression.text.dialogue.turns import several_speak
from turnfold.compression.text.dialogue.wanted.entry_requests import asks_over_entries, asks_to_do, says_done
from turnfold.compression.text.quotes import Quotable, Quote

_LONGEST: Final = 100  # characters of a step
_TERSE: Final = 60  # characters of an answer that gives only the result, or the next move of a game
_LONGEST_LIST: Final = 600  # characters of several steps in one message
_FEWEST: Final = 3  # lines or figures of such a message
_PER_FIGURE: Final = 60  # characters for each figure; half of it if the words are long
_LONG_WORDS: Final = 12  # characters, on average
_LONGEST_REPLY: Final = 20  # characters of a reply that means little without its question
_OFTEN: Final = 2  # times that the same is asked, above which it is a mannerism: "Anything else?"
_ASKS: Final = lazy.pattern(r"[?？؟]")
_ENDS: Final = lazy.pattern(r"[.!;](?=\s)\s+|\n+|[。！；]")  # of what is told in front of a question
_FIGURE: Final = lazy.pattern(r"\d+(?:[.,:/]\d+)*")
_MARKED: Final = lazy.pattern(r"(?<![^\W\d])[^\W\d]*+\d\w*(?:[.,:/]\d+)*")  # a figure with what it is joined to: "cxd4"
_NO_LIST: Final = lazy.pattern(r"```|[{}<>;]|://")


class KeptStep(NamedTuple):
    """A message with which a user has something recorded.

    Attributes:
        source: the message's index.
        answer: the index of its answer.
        question: the question that it answers, if it means little without it.
    """

    source: int
    answer: int
    question: Quote | None = None


def kept_steps(sources: Sequence[Quotable], memo: Memo) -> list[KeptStep]:
    """The steps that users have recorded, in order; empty if several speakers are named."""
    if several_speak(sources, memo):
        return []

    def run(known: list[KeptStep] | None, same: int) -> list[KeptStep]:
        before = [step for step in known or () if step.answer < same]
        return [*before, *_steps(sources, max(0, same - 1), before[-1].answer if before else None, memo)]

    steps = continued_by_key(memo, "kept steps", sources, run, lambda found: 100 * len(found))
    often = Counter(_text(sources, step.question) for step in steps if step.question)
    return [s._replace(question=None) if s.question and often[_text(sources, s.question)] > _OFTEN else s for s in steps]


def terse_answers(sources: Sequence[Quotable], memo: Memo) -> list[int]:
    """Users' messages whose short answer adds information: "1. e4", "1... c5"; a question, "391".

    Empty if several speakers are named.
    """
    if several_speak(sources, memo):
        return []
    repeated = frozenset(echoes(sources, memo))
    return [at for at in range(len(sources) - 1) if at + 1 not in repeated and _is_terse(sources[at], sources[at + 1])]


def _is_terse(said: Quotable, answer: Quotable) -> bool:
    if (said.role, answer.role) != ("user", "assistant") or not (said.text.strip() and answer.text.strip()):
        return False
    if len(said.text) > _LONGEST or len(answer.text) > _TERSE:
        return False
    if _ASKS.search(said.text):
        return not _ASKS.search(answer.text)
    return not set(_MARKED.findall(answer.text)) <= set(_MARKED.findall(said.text))


def is_brief(sources: Sequence[Quotable], step: KeptStep) -> bool:
    """Whether a step and its answer are short."""
    return is_short(sources[step.answer]) and len(sources[step.source].text) <= _LONGEST


def _steps(sources: Sequence[Quotable], first: int, answered: int | None, memo: Memo) -> Iterator[KeptStep]:
    """The steps from a message on; `answered` is the answer to the newest earlier step."""
    for at in range(first, len(sources) - 1):
        message, answer = sources[at], sources[at + 1]
        if (message.role, answer.role) != ("user", "assistant") or not answer.text.strip():
            continue
        agrees = merely_agrees(message.text) if len(message.text) <= _LONGEST_REPLY else False
        question = None
        if at and answered == at - 1 and (agrees or (len(message.text) <= _LONGEST_REPLY and not _ASKS.search(message.text))):
            place = memo.get(("asked", sources[at - 1].key, message.key), partial(asked, sources[at - 1], message))
            question = Quote(at - 1, *place) if place else None
        if question or (not agrees and _is_step(message.text, answer)):
            yield KeptStep(at, at + 1, question)
            answered = at + 1


def _is_step(message: str, answer: Quotable) -> bool:
    if not (0 < len(message) <= _LONGEST or (is_short(answer) and _is_list(message))) or merely_agrees(message):
        return False
    if _ASKS.search(message):
        return tells_and_asks(message) or says_done(answer.text) or asks_to_do(message, answer.text)
    return is_short(answer) or not begins_with_command(message)


def tells_and_asks(text: str) -> bool:
    """Whether a short message states something before it asks about all recorded entries."""
    asking = _ASKS.search(text)
    ends = [m.end() for m in _ENDS.finditer(text, 0, asking.start())] if asking and len(text) <= _LONGEST_LIST else []
    if not ends or not asks_over_entries(words.fold(text[ends[-1] :])):
        return False
    said = text[: ends[-1]].strip()
    return _FIGURE.search(said) is not None or not (merely_agrees(said) or begins_with_command(said))


def _is_list(text: str) -> bool:
    """Whether a longer message states several things in a few words each."""
    if len(text) > _LONGEST_LIST or _NO_LIST.search(text):
        return False
    lines = [line for line in text.splitlines() if line.strip()]
    figures = len(_FIGURE.findall(text))
    is_lines = len(lines) >= _FEWEST and max(map(len, lines)) <= _LONGEST
    most = _PER_FIGURE // 2 if len(text) > _LONG_WORDS * len(text.split()) else _PER_FIGURE
    return is_lines or (figures >= _FEWEST and len(text) <= most * figures)


def _text(sources: Sequence[Quotable], quote: Quote | None) -> str:
    return sources[quote.source].text[quote.start : quote.end] if quote else ""

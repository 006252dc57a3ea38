"""The exchanges of one kind that a request goes over: "quiz me on the words we learned", "make exercises for my mistakes".

This module decides which exchanges these are, and what is quoted of each. Such a request and its kind are recognised in
``text.dialogue.wanted.series``; what users have the chat keep is in ``entries``, works of one kind are in ``several_works``.

A short answer is quoted whole; a longer one with its opening, which gives the word or the correction, and what that needs. If
there is no room for all, the newest are quoted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from turnfold.compression.memo import Memo, of_each
from turnfold.compression.recall.fence import FRAME
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.request import WholeRequest
from turnfold.compression.shorten.told import parts_with_needs
from turnfold.compression.text.dialogue.short_exchanges import is_short
from turnfold.compression.text.dialogue.turns import several_speak
from turnfold.compression.text.dialogue.wanted.series import (
    OPENING,
    SeriesKind,
    asks_for_word,
    corrects,
    kinds_asked_over,
    names_label,
    series_label,
)
from turnfold.compression.text.quotes import Quotable, Quote

_FEWEST: Final = 3  # exchanges of a series
_TERSE: Final = 60  # characters of an answer that consists of one word
_BRIEF: Final = 40  # characters of a message that continues: "and drizzle?"


def find_series(asked: WholeRequest) -> FoundWork:
    """The exchanges that a request covers."""
    sources, _, folded, room, count, memo = asked
    if room <= 0 or several_speak(sources, memo):
        return FoundWork()
    found = sorted({at for kind in kinds_asked_over(folded) for at in _of_kind(kind, sources, memo)})
    found = found if len(found) >= _FEWEST else _of_label(sources, folded, memo)
    quotes: list[Quote] = []
    spent = 0
    for at in reversed(found if len(found) >= _FEWEST else []):
        new = [*_quoted(sources, at, memo)]
        cost = sum(count(sources[one.source].text[one.start : one.end]) + FRAME for one in new)
        if spent + cost > room:
            break
        spent += cost
        quotes += new
    return FoundWork(tuple(sorted(quotes)), (), spent)


def _of_kind(kind: SeriesKind, sources: Sequence[Quotable], memo: Memo) -> list[int]:
    """The users' messages that begin exchanges of a kind."""
    return _of_words(sources, memo) if kind == "words" else _of_mistakes(sources, memo)


def _of_words(sources: Sequence[Quotable], memo: Memo) -> list[int]:
    asks = of_each(memo, "asks for words", sources, _asks_for_word)
    found: list[int] = []
    for at in _exchanges(sources):
        said, answer = sources[at].text, sources[at + 1].text
        goes_on = len(said) <= _BRIEF and "\n" not in said and (at - 2 in found[-1:] or len(answer) <= _TERSE)
        if asks[at] or goes_on:
            found.append(at)
    return found if sum(asks[at] for at in found) > 1 else []


def _of_mistakes(sources: Sequence[Quotable], memo: Memo) -> list[int]:
    def is_corrected(at: int) -> bool:
        said, answer = sources[at], sources[at + 1]
        return memo.get(("corrects", said.key, answer.key), lambda: corrects(answer.text, said.text), lambda _: 40)

    return [at for at in _exchanges(sources) if is_corrected(at)]


def _of_label(sources: Sequence[Quotable], folded: str, memo: Memo) -> list[int]:
    """The users' messages with a common label that the request names: "Translate: ..." for the translations."""
    labels = of_each(memo, "labels of series", sources, _label)
    named = {label for label in {*labels} if label and names_label(folded, label)}
    return [at for at in _exchanges(sources) if labels[at] in named] if named else []


def _exchanges(sources: Sequence[Quotable]) -> Iterator[int]:
    roles = [source.role for source in sources]
    return (at for at in range(len(sources) - 1) if roles[at : at + 2] == ["user", "assistant"])


def _quoted(sources: Sequence[Quotable], at: int, memo: Memo) -> Iterator[Quote]:
    yield Quote(at, 0, len(sources[at].text))
    answer = sources[at + 1]
    parts = [(0, len(answer.text))] if is_short(answer) else parts_with_needs(answer, 0, OPENING, memo)
    yield from (Quote(at + 1, *part) for part in parts)


def _asks_for_word(source: Quotable) -> bool:
    return source.role == "user" and asks_for_word(source.text)


def _label(source: Quotable) -> str:
    return series_label(source.text) if source.role == "user" else ""

"""Parts of a pasted transcript, log or chat by time: "what is said at 12:30?", "the first five minutes".

This module decides which text is meant, and what is quoted of it. Times, in texts and in questions, are read in
``text.dialogue.wanted.moments``.
"""

from __future__ import annotations

from typing import Final

from turnfold.compression.memo import of_each
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.request import BESIDE, WholeRequest
from turnfold.compression.recall.wholes.spread_works import fitting_spread, joined
from turnfold.compression.text.dialogue.wanted.moments import TimedLine, lines_at, named_moment, timed_lines
from turnfold.compression.text.passages import estimate
from turnfold.compression.text.quotes import Quotable, Quote

_LONG: Final = 600  # tokens of a text from which a part is quoted alone
_MOST: Final = 3_000  # tokens


def find_moment(asked: WholeRequest) -> FoundWork:
    """The lines of the time that a question names, from the newest text that has it."""
    sources, behind, question, room, count, memo = asked
    moment = named_moment(question)
    if moment is None:
        return FoundWork()
    every = [*sources, *behind]
    held = of_each(memo, "timed", every, _timed)
    for n in reversed(range(len(every))):
        lines = lines_at(held[n], moment) if held[n] else []
        if lines:
            quotes = joined(sources, [Quote(n, *line.place) for line in lines]) if n < len(sources) else ()
            chosen, tokens = fitting_spread(sources, quotes, min(room, _MOST), count)
            cut = n if quotes and list(quotes) != chosen else None  # marked as a part, so that it isn't taken for the whole log
            return FoundWork(tuple(chosen), (), tokens, cut, beside=BESIDE)
    return FoundWork()


def _timed(source: Quotable) -> tuple[TimedLine, ...]:
    is_long = len(source.text) > _LONG and estimate(source.text) >= _LONG
    return tuple(timed_lines(source.text)) if is_long else ()

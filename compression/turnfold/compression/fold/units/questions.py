"""Units that belong to a question: the words that a picture goes with, and the files that a client hands over for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turnfold.compression.fold.units.unit import Unit

_BETWEEN: Final = 6  # units at most between a question and its picture, for example if the picture was asked for
_MOST_BETWEEN: Final = 500  # and their tokens
_SINCE: Final = 8  # units after handed-over material up to which it belongs to the question
_ACKNOWLEDGED: Final = 40  # tokens of "Ok, any changes I propose will be to those files."


def question_start(units: Sequence[Unit], index: int) -> int:
    """Index of the unit with the words of the question at `index`.

    That is the unit itself unless it has no words, such as a picture; then it is the user's last unit with words before it, if
    near. Pictures in between don't count.
    """
    passed = tokens = 0
    for i in range(index - 1, -1, -1) if units[index].wordless else ():
        unit = units[i]
        if unit.pinned or unit.wordless:
            continue
        if unit.is_user:
            return i
        passed, tokens = passed + 1, tokens + unit.tokens
        if passed > _BETWEEN or tokens > _MOST_BETWEEN:
            break
    return index


def handed_over(units: Sequence[Unit], index: int) -> range:
    """The units in which a client supplies files for the question at the unit `index`; empty if there are none.

    Clients send them anew with each request, just before the question: files and an outline of others, each briefly acknowledged.
        The conversation continues after them for a few steps. Such a message is first treated as a question, since a request
        might end with it.
    """
    near = range(index, max(0, index - _SINCE) - 1, -1)
    newest = next((i for i in near if _is_handed_over(units, i, index)), None)
    if newest is None:
        return range(index, index)
    start = newest
    while start > 1 and _acknowledges(units[start - 1]) and units[start - 2].hands_over:
        start -= 2
    return range(start, newest + 1)


def _is_handed_over(units: Sequence[Unit], index: int, last: int) -> bool:
    """Whether a unit supplies files and, up to the unit `last`, only continuations by the user follow, directly or after a word
    about it.
    """
    if not units[index].hands_over:
        return False
    behind = units[index + 1 : min(index + 3, last + 1)]
    return not behind or behind[0].is_user or (_acknowledges(behind[0]) and len(behind) > 1 and behind[1].is_user)


def _acknowledges(unit: Unit) -> bool:
    return not (unit.asks or unit.pinned or unit.reasons) and unit.tokens <= _ACKNOWLEDGED

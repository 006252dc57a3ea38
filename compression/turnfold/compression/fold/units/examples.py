"""Units that are worked examples, at the head of a conversation.

What makes an input and its answer an example is known to ``text.dialogue.worked_examples``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from turnfold.compression.fold.units.unit import Unit
from turnfold.compression.text.dialogue.worked_examples import BRIEF, FREE, SHORT, allows_free

_FEWEST_EXAMPLES: Final = 4
_MOST_EXAMPLES: Final = 128  # more than this come one by one, such as tickets that a program labels
_MOST_FREE_EXAMPLES: Final = 24  # the same if answers are free text, as in a conversation with a translator


def examples_end(units: Sequence[Unit], start: int, most: int | None = None) -> int:
    """Index of the first unit after the worked examples that begin at the unit `start`; `start` if there are none.

    Units are read in order, so that later messages never reduce the examples.

    Args:
        most: most tokens for the examples and everything before them; examples that don't fit are left out in pairs.
    """
    first, second = units[start : start + 2], units[start + 2 : start + 4]
    if not (_are_pair(first) and _are_pair(second)):
        return start
    template = next((form for form in second[0].forms[:1] if form in first[0].forms), None)
    is_free = template is not None and allows_free(template)
    form = first[1].forms[0]
    if form == FREE and not is_free:
        return start
    alike = {form, FREE, SHORT} if is_free and form in (FREE, SHORT) else {form}
    most_pairs = _MOST_FREE_EXAMPLES if is_free else _MOST_EXAMPLES
    end = start
    while end < start + 2 * most_pairs and _are_pair(pair := units[end : end + 2]) and pair[1].forms[0] in alike:
        asked, answered = pair[0].forms, pair[1].forms
        if template not in asked if template is not None else BRIEF not in answered:
            break
        end += 2
    least = start + 2 * _FEWEST_EXAMPLES
    if end >= least and most is not None:
        sums = list(accumulate(unit.tokens for unit in units[:end]))
        while end >= least and sums[end - 1] > most:
            end -= 2
    return end if end >= least else start


def _are_pair(pair: Sequence[Unit]) -> bool:
    """Whether two units are an input and an answer in a machine-readable form."""
    return len(pair) == 2 and pair[0].is_user and not (pair[1].asks or pair[1].pinned) and bool(pair[1].forms)

"""What a question needs all of: a work, the rows of a table, a part, and what it takes for granted.

Lives here: in which order these are looked for, and what is joined. Does not belong here: finding each (the modules beside it).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from turnfold.compression.memo import Memo
from turnfold.compression.recall.passage_index import PassageIndex
from turnfold.compression.recall.question import Question, normal_text
from turnfold.compression.recall.wholes.all_rows import find_rows
from turnfold.compression.recall.wholes.definitions import find_definitions
from turnfold.compression.recall.wholes.entries import find_entries
from turnfold.compression.recall.wholes.mails import find_mails
from turnfold.compression.recall.wholes.materials import find_materials
from turnfold.compression.recall.wholes.named_rows import find_named_rows
from turnfold.compression.recall.wholes.placed_parts import find_parts
from turnfold.compression.recall.wholes.series import find_series
from turnfold.compression.recall.wholes.works import FoundWork, find_work
from turnfold.compression.text.quotes import Quotable


def find_whole(
    sources: Sequence[Quotable], index: PassageIndex, question: Question, count: Callable[[str], int], memo: Memo
) -> FoundWork:
    """What a question needs all of: the rows of a table, a work, or a part or rows that it names."""
    asks = normal_text(question)
    is_text = question.work is not None and question.work.is_whole and question.work.asked.is_long
    rows = partial(find_rows, sources, index, question, asks, count, memo)
    work = partial(find_work, sources, question, asks, count, memo)
    parts = partial(find_parts, sources, question, asks, count)
    named = partial(find_named_rows, sources, question, asks, count, memo)
    mails = partial(find_mails, sources, question, asks, count, memo)
    found = FoundWork()
    for find in (mails, work, rows, parts, named) if is_text else (mails, rows, work, parts, named):
        one = find()
        if one.quotes:
            found = one
            break
        # A work that the request holds has older forms that are not to be quoted; a table may be too long.
        found = one if one.outdated or one.cut is not None else found
    if index.is_talk:
        found = found.joined(find_definitions(sources, question, count, memo))
        found = found if is_text else found.joined(find_materials(sources, question, asks, found.tokens, count, memo))
    if not is_text and not found.quotes and (series := find_series(sources, question, asks, found.tokens, count, memo)).quotes:
        return found.joined(series)
    return found if is_text else found.joined(find_entries(sources, index, question, asks, found.tokens, count, memo))

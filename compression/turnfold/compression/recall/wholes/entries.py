"""What users have the chat keep, entry by entry, for a question that all of it goes into: "how much did I spend in total?".

Lives here: which short exchanges are such entries, and which of them a question is about. Does not belong here: telling such a
question (``text.dialogue.wanted.row_requests``), tables (``all_rows``), what the text of a fold holds of them (``shorten.told``).

An entry is a short message that tells something, with a short answer, or one with an answer of a few words. Hardly one shares
words with the question, and a part of them gives a wrong total. Where all of them have no room, those are meant whose figures
are written as those are of which the question says most: amounts, kilometres, calories.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from turnfold.compression.memo import Memo
from turnfold.compression.recall.fence import FRAME, fence_tokens
from turnfold.compression.recall.passage_index import PassageIndex
from turnfold.compression.recall.question import Question
from turnfold.compression.recall.wholes.all_rows import AskedRows
from turnfold.compression.recall.wholes.works import FoundWork
from turnfold.compression.shorten.told import kept_steps, terse_answers
from turnfold.compression.text import words
from turnfold.compression.text.dialogue.echoes import echoes
from turnfold.compression.text.dialogue.overall import asks_for_overall
from turnfold.compression.text.dialogue.wanted.row_requests import asks_over_rows, names_data
from turnfold.compression.text.dialogue.wanted.series import asks_for_moves
from turnfold.compression.text.quotes import Quotable, Quote

_FEWEST: Final = 3  # entries that are more than things told in passing
_FIGURES: Final = re.compile(r"\d+(?:[.,:/]\d+)*")
#: How figures are written, without what they are, and the sign or the unit beside the first.
_WRITTEN: Final = re.compile(
    r"([$€£¥₹₽]?)\s?\d+(?:([.,:/])\d+)?\s?([$€£¥₹₽%]|(?:k?cal|kj|km|mi|m|k?g|mg|lbs?|ml|l|oz|min|h|hrs?|s|pages?|steps|reps)\b)?"
)
_MONEY: Final = frozenset("$€£¥₹₽")


class _KeptEntry(NamedTuple):
    """A short exchange: its message, how its figures are written, and whether the answer tells something of its own."""

    source: int
    family: str
    is_answered: bool


def find_entries(
    sources: Sequence[Quotable],
    index: PassageIndex,
    question: Question,
    folded: str,
    taken: int,
    count: Callable[[str], int],
    memo: Memo,
) -> FoundWork:
    """The entries that a question goes over, all of them; none where it asks for no such thing, or they have no room.

    Args:
        sources: what may be quoted.
        folded: the question, case-folded.
        taken: tokens that something else takes that it needs all of.
    """
    room = question.whole_room - fence_tokens(count) - taken
    if room <= 0 or not any(asks(folded) for asks in (asks_over_rows, names_data, asks_for_overall, asks_for_moves)):
        return FoundWork()
    entries = _entries(sources, memo)
    if len(entries) < _FEWEST:
        return FoundWork()
    every = _quoted(sources, entries, count)
    if every.tokens <= room:
        return every
    some = _quoted(sources, _meant(sources, entries, AskedRows(folded, index)), count)
    return some if some.tokens <= room else FoundWork()


def _entries(sources: Sequence[Quotable], memo: Memo) -> list[_KeptEntry]:
    repeated = frozenset(echoes(sources, memo))
    terse = frozenset(terse_answers(sources, memo))
    return [_entry(sources, at, terse, repeated) for at in sorted(terse.union(kept_steps(sources, memo)))]


def _entry(sources: Sequence[Quotable], at: int, terse: frozenset[int], repeated: frozenset[int]) -> _KeptEntry:
    text, answer = sources[at].text, sources[at + 1].text
    own = set(_FIGURES.findall(answer)) - set(_FIGURES.findall(text))
    return _KeptEntry(at, _family(text), at in terse or (bool(own) and at + 1 not in repeated))


def _family(text: str) -> str:
    """How the first figure of an entry is written; "" without one."""
    found = _WRITTEN.search(words.fold(text))
    if found is None:
        return ""
    sign, point, unit = found[1], found[2] or "", found[3] or ""
    return "$" if sign or unit in _MONEY else unit or point


def _meant(sources: Sequence[Quotable], entries: Sequence[_KeptEntry], asked: AskedRows) -> list[_KeptEntry]:
    """The entries of the family of which the question says most, and those without figures, which may change them."""
    size = Counter(one.family for one in entries)
    says = Counter[str]()
    for one in entries:
        says[one.family] += asked.fits(sources[one.source].text)
    best = max(size, key=lambda family: (says[family] / size[family], size[family]))
    return [one for one in entries if one.family in (best, "")]


def _quoted(sources: Sequence[Quotable], entries: Sequence[_KeptEntry], count: Callable[[str], int]) -> FoundWork:
    at = [n for one in entries for n in ((one.source, one.source + 1) if one.is_answered else (one.source,))]
    quotes = tuple([Quote(n, 0, len(sources[n].text)) for n in at])
    return FoundWork(quotes, (), sum(count(sources[n].text) + FRAME for n in at))

"""Entries that users log in a chat, for a question over all of them: "how much did I spend in total?".

This module decides which short exchanges are such entries, and which of them a question is about. Such a question is recognised
in ``text.dialogue.wanted.entry_requests``; tables are handled in ``all_rows``, and what the text of a fold keeps of entries in
``shorten.told``.

An entry is a short message that tells something, with a short answer, or one with an answer of a few words. Hardly any shares
words with the question, and a part of them gives a wrong total. If there is no room for all, those are quoted whose figures are
of the kind that the question asks about: amounts, kilometres, calories.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.memo import Memo, of_each
from turnfold.compression.recall.fence import quote_tokens
from turnfold.compression.recall.passage_index import PassageIndex
from turnfold.compression.recall.wholes.all_rows import AskedRows
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.request import WholeRequest
from turnfold.compression.shorten.steps import KeptStep, kept_steps, terse_answers
from turnfold.compression.text import words
from turnfold.compression.text.dialogue.echoes import echoes
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.quotes import Quotable, Quote

_LONGEST_ANSWER: Final = 400  # characters of an answer that gives a running total: "You're at 550 ml"
_FEWEST: Final = 3  # fewer entries may be casual remarks
_FIGURES: Final = lazy.pattern(r"\d+(?:[.,:/]\d+)*")
#: How figures are written, without what they measure, and the sign or unit beside the first.
_WRITTEN: Final = lazy.pattern(
    r"([$€£¥₹₽]?)\s?\d+(?:([.,:/])\d+)?\s?([$€£¥₹₽%]|(?:k?cal|kj|km|mi|m|k?g|mg|lbs?|ml|l|oz|min|h|hrs?|s|pages?|steps|reps)\b)?"
)
_MONEY: Final = frozenset("$€£¥₹₽")
_DAYS: Final = lexicon("updates")["days"]


class _KeptEntry(NamedTuple):
    """An entry that somebody keeps, the notation of its figures, and whether the answer states figures or a day of its own."""

    step: KeptStep
    family: str
    is_answered: bool


def find_entries(asked: WholeRequest, index: PassageIndex) -> FoundWork:
    """All entries that a question covers; empty if they don't fit."""
    sources, _, folded, room, count, memo = asked
    entries = _entries(sources, memo)
    if len(entries) < _FEWEST:
        return FoundWork()
    every = _quoted(sources, entries, count)
    if every.tokens <= room:
        return every
    some = _quoted(sources, _requested(sources, entries, AskedRows(folded, index)), count)
    return some if some.tokens <= room else FoundWork()


def _entries(sources: Sequence[Quotable], memo: Memo) -> list[_KeptEntry]:
    repeated = frozenset(echoes(sources, memo))
    telling = of_each(memo, "entries tell", sources, _telling)
    terse = frozenset(terse_answers(sources, memo))
    steps = kept_steps(sources, memo)
    others = terse.difference(step.source for step in steps)
    return [
        _KeptEntry(
            step,
            _family(sources[step.source].text),
            step.source in terse or (step.answer not in repeated and not telling[step.answer] <= telling[step.source]),
        )
        for step in sorted([*steps, *(KeptStep(at, at + 1) for at in others)], key=lambda step: step.source)
    ]


def _telling(source: Quotable) -> frozenset[str]:
    """The figures and days in a message, if it is short."""
    if len(source.text) > _LONGEST_ANSWER:
        return frozenset()
    return frozenset((*_FIGURES.findall(source.text), *_DAYS.intersection(words.words(words.fold(source.text)))))


def _family(text: str) -> str:
    """The notation of an entry's first figure; "" if it has none."""
    found = _WRITTEN.search(words.fold(text))
    if found is None:
        return ""
    sign, point, unit = found[1], found[2] or "", found[3] or ""
    return "$" if sign or unit in _MONEY else unit or point


def _requested(sources: Sequence[Quotable], entries: Sequence[_KeptEntry], asked: AskedRows) -> list[_KeptEntry]:
    """The entries of the family that fits the question best, and entries without figures, which may change them."""
    size = Counter(one.family for one in entries)
    says = Counter[str]()
    for one in entries:
        says[one.family] += asked.fits(sources[one.step.source].text)
    best = max(size, key=lambda family: (says[family] / size[family], size[family]))
    return [one for one in entries if one.family in (best, "")]


def _quoted(sources: Sequence[Quotable], entries: Sequence[_KeptEntry], count: Callable[[str], int]) -> FoundWork:
    whole = {n for one in entries for n in ((one.step.source, one.step.answer) if one.is_answered else (one.step.source,))}
    questions = {one.step.question for one in entries if one.step.question and one.step.question.source not in whole}
    quotes = tuple(sorted({*questions, *(Quote(n, 0, len(sources[n].text)) for n in whole)}))
    tokens = quote_tokens(quotes, sources, count)
    return FoundWork(quotes, (), tokens, counted=frozenset(quotes))

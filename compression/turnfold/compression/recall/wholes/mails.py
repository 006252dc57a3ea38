"""Emails that were pasted, one by one or as a thread, for a request that means one of them or all: "summarise the thread".

This module decides which of them are quoted. An email and such a request are recognised in ``text.dialogue.wanted.mails``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from turnfold.compression.memo import Memo, of_each
from turnfold.compression.recall.fence import fence_tokens
from turnfold.compression.recall.question import Question
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.spread_works import fitting_spread
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.mails import NamedMails, mail_names, mail_places, named_mails
from turnfold.compression.text.quotes import Quotable, Quote

_FEWEST: Final = 2  # emails, from which a number may single one out


def find_mails(
    sources: Sequence[Quotable], question: Question, folded: str, count: Callable[[str], int], memo: Memo
) -> FoundWork:
    """The emails that a request refers to; empty if they don't all fit.

    Args:
        sources: messages that may be quoted.
        folded: the request, case-folded.
    """
    room = question.whole_room - fence_tokens(count)
    named = named_mails(folded) if room > 0 else None
    if named is None:
        return FoundWork()
    every = [*sources, *question.behind]
    mails = [Quote(at, *place) for at, places in enumerate(of_each(memo, "mails", every, _mails)) for place in places]
    meant = [one for one in _requested(every, mails, named) if one.source < len(sources)] if len(mails) >= _FEWEST else []
    chosen, tokens = fitting_spread(sources, meant, room, count)
    return FoundWork(tuple(chosen), (), tokens)


def _requested(every: Sequence[Quotable], mails: Sequence[Quote], named: NamedMails) -> list[Quote]:
    """The emails that the request refers to: those of one writer, if it names one."""
    names = [mail_names(every[n].text[start:end]) for n, start, end in mails]
    shared = frozenset.intersection(*names)
    some = [one for one, said in zip(mails, names, strict=True) if not named.said.isdisjoint(said - shared)] or [*mails]
    if named.place is None:
        return some
    at = named.place - 1 if named.place > 0 else named.place
    return [some[at]] if -len(some) <= at < len(some) else []


def _mails(source: Quotable) -> Sequence[Range]:
    return mail_places(source.text) if source.role == "user" else ()

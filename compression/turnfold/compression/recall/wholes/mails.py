"""Emails that were pasted one by one, for a request that means one of them or all: "summarise the thread".

Lives here: which of them are quoted. Does not belong here: telling an email and such a request
(``text.dialogue.wanted.mails``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from turnfold.compression.memo import Memo, of_each
from turnfold.compression.recall.fence import FRAME, fence_tokens
from turnfold.compression.recall.question import Question
from turnfold.compression.recall.wholes.works import FoundWork
from turnfold.compression.text.dialogue.wanted.mails import NamedMails, is_mail, mail_names, named_mails
from turnfold.compression.text.quotes import Quotable, Quote

_FEWEST: Final = 2  # emails of which a place may name one


def find_mails(
    sources: Sequence[Quotable], question: Question, folded: str, count: Callable[[str], int], memo: Memo
) -> FoundWork:
    """The emails that a request means; none where all of them have no room.

    Args:
        sources: what may be quoted.
        folded: the request, case-folded.
    """
    room = question.whole_room - fence_tokens(count)
    named = named_mails(folded) if room > 0 else None
    if named is None:
        return FoundWork()
    every = [*sources, *question.behind]
    mails = [at for at, found in enumerate(of_each(memo, "mails", every, _is_mail)) if found]
    meant = [at for at in _meant(every, mails, named) if at < len(sources)] if len(mails) >= _FEWEST else []
    tokens = sum(count(sources[at].text) + FRAME for at in meant)
    quotes = tuple([Quote(at, 0, len(sources[at].text)) for at in meant])
    return FoundWork(quotes, (), tokens) if tokens <= room else FoundWork()


def _meant(every: Sequence[Quotable], mails: Sequence[int], named: NamedMails) -> list[int]:
    """Those that the request means: of one writer, where it names one."""
    shared = frozenset.intersection(*(mail_names(every[at].text) for at in mails))
    by_name = [at for at in mails if not named.said.isdisjoint(mail_names(every[at].text) - shared)]
    some = by_name or [*mails]
    if named.place is None:
        return some
    at = named.place - 1 if named.place > 0 else named.place
    return [some[at]] if -len(some) <= at < len(some) else []


def _is_mail(source: Quotable) -> bool:
    return source.role == "user" and is_mail(source.text)

"""A work that is asked for as a whole: the script, the letter, the table that the conversation made before.

This module decides what is quoted of it, and what has room. Which messages hold works is known to ``held_works``, their versions
to ``work_forms``; whether a message asks for one, to ``text.dialogue.wanted.works``. Passages that bear on a question are ranked
in ``ranking``.

Among the works that share most words with the question, the newest whole version is meant, unless an older one is asked for;
later changes to it are quoted with it. A work that the request contains anyway, since its turn is not folded, needs no quote, and
neither do unwanted versions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Final

from turnfold.compression.memo import Memo
from turnfold.compression.recall.fence import FRAME, fence_tokens
from turnfold.compression.recall.passage_index import PassageIndex
from turnfold.compression.recall.question import Question, WantedWork
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.revisions import find_revisions
from turnfold.compression.recall.wholes.several_works import several_works
from turnfold.compression.recall.wholes.spread_works import fitting_spread
from turnfold.compression.recall.wholes.version_changes import version_changes
from turnfold.compression.recall.wholes.works.held_work import HeldWork, held_work
from turnfold.compression.recall.wholes.works.held_works import works_for
from turnfold.compression.recall.wholes.works.told_apart import told_apart
from turnfold.compression.recall.wholes.works.work_forms import (
    LIKE_BEST,
    WorkForms,
    naming_words,
    newest_of_each,
    with_changes,
    with_revisions,
    work_forms,
)
from turnfold.compression.text.dialogue.pasted_pieces import pieces_with
from turnfold.compression.text.dialogue.wanted.versions import WITH_OLDER
from turnfold.compression.text.dialogue.wanted.works import AskedWork
from turnfold.compression.text.quotes import Quotable, Quote

_RIVAL: Final = 0.9  # share of the best score from which another work may be meant instead
_ASKED_ABOUT: Final = 500  # tokens of a work that is quoted whole for a question about it


def find_work(
    sources: Sequence[Quotable], index: PassageIndex, question: Question, folded: str, count: Callable[[str], int], memo: Memo
) -> FoundWork:
    """The requested work, with its later changes.

    Args:
        sources: messages that may be quoted.
        folded: the question, case-folded.
    """
    wanted = question.work
    if wanted is None:
        return FoundWork()
    room = question.whole_room - fence_tokens(count)
    if wanted.asked.is_several:
        quotes, tokens = several_works(sources, wanted.asked.telling, index, room, count, memo)
        if quotes or not wanted.asked.is_long:
            return FoundWork(quotes, (), tokens)
    messages = [*sources, *question.behind]
    revised, tokens = find_revisions(messages, len(sources), wanted, folded, room, count, memo)
    found = [] if revised else works_for(messages, index, wanted, folded, memo)
    forms = work_forms(found, wanted.asked, naming_words(folded, wanted.asked)) if found else None
    if forms is None or _compares_one(forms, wanted.asked):
        return FoundWork(revised, (), tokens)
    if not wanted.is_whole:  # only if it is short: the answer may share no word with the question
        return _fitting(forms.wanted[:1], sources, min(room, _ASKED_ABOUT), count) or FoundWork()
    several = _together(messages, index, found, forms, wanted, folded, memo)
    changes = _changes_between(messages, several or forms.wanted, sources, room, count)
    if changes.quotes or several:
        return changes if changes.quotes else _all_of(several, sources, room, count)
    forms = with_changes(messages, with_revisions(messages, forms, wanted.asked, memo), wanted.asked, memo)
    return _one(found, forms, wanted.asked, sources, room, count)


def _compares_one(forms: WorkForms, asked: AskedWork) -> bool:
    """Whether the question compares versions without naming a work, while the chat has only one version.

    Example: "what's different in the new version of Python?".
    """
    return len(asked.versions) > 1 and not (asked.telling or asked.alike or asked.labels) and len(forms.wanted) == 1


def _changes_between(
    messages: Sequence[Quotable],
    works: Sequence[HeldWork],
    sources: Sequence[Quotable],
    room: int,
    count: Callable[[str], int],
) -> FoundWork:
    """The differences between several versions that don't fit in full."""
    versions = sorted({work.source for work in works})
    if len(versions) <= 1 or _cost(works, sources, count) <= room:
        return FoundWork()
    changes, tokens = version_changes(messages, versions, len(sources), room, count)
    return FoundWork(changes, (), tokens)


def _one(
    found: Sequence[HeldWork],
    forms: WorkForms,
    asked: AskedWork,
    sources: Sequence[Quotable],
    room: int,
    count: Callable[[str], int],
) -> FoundWork:
    """The requested version of a work, with its later changes."""
    apart = tuple(chain.from_iterable(work.quotes for work in forms.others))
    if forms.wanted[0].source >= len(sources) and len(asked.versions) == 1:
        return FoundWork((), apart)
    likely = _RIVAL * max(work.fits for work in found)
    known = {work.source for work in (*forms.wanted, *forms.changed, *forms.others)}
    rivals = [work for work in found if work.fits >= likely and work.source not in known]
    fitting = _fitting((*forms.wanted, *reversed(forms.changed), *rivals[-1:]), sources, room, count)
    if fitting is None and asked.is_long:
        fitting = _all_of(forms.wanted[:1], sources, room, count)
    return fitting._replace(outdated=apart) if fitting else FoundWork()


def _together(
    messages: Sequence[Quotable],
    index: PassageIndex,
    found: Sequence[HeldWork],
    forms: WorkForms,
    wanted: WantedWork,
    folded: str,
    memo: Memo,
) -> list[HeldWork]:
    """The works that a message requests together, in order: of one kind, by several names, or the pieces of one.

    Empty if it requests a single work.
    """
    asked = wanted.asked
    if asked.is_long and (pieces := pieces_with(messages, forms.wanted[0].source, memo)):
        return [held_work(n, messages[n], ((0, len(messages[n].text)),), 0.0, memo) for n in pieces]
    if meant := told_apart(messages, found, forms, asked, folded):
        return meant
    if asked.beside:
        works = {forms.wanted[0].source: forms.wanted[0]}
        for one in asked.beside:
            others = works_for(messages, index, WantedWork(one, True), folded, memo, frozenset(works))
            if others:
                best = work_forms(others, one, frozenset()).wanted[0]
                works[best.source] = best
        return [works[source] for source in sorted(works)]
    number = asked.number if asked.is_several else max(asked.versions) + 1
    is_other = asked.is_long and len(forms.wanted) + len(forms.others) == 1 and asked.versions != WITH_OLDER
    if not (asked.is_several or (number > 0 and is_other)):
        return []
    return newest_of_each([work for work in found if work.fits >= LIKE_BEST * max(work.fits for work in found)], number)


def _all_of(works: Sequence[HeldWork], sources: Sequence[Quotable], room: int, count: Callable[[str], int]) -> FoundWork:
    """The folded works in full or, if they don't fit, quotes spread over each."""
    folded = [work for work in works if work.source < len(sources)]
    quotes, tokens = fitting_spread(sources, list(chain.from_iterable(work.quotes for work in folded)), room, count)
    return FoundWork(tuple(quotes), (), tokens)


def _fitting(works: Sequence[HeldWork], sources: Sequence[Quotable], room: int, count: Callable[[str], int]) -> FoundWork | None:
    """As many of the folded works as fit; None if the first is folded and does not fit."""
    quotes: list[Quote] = []
    spent = 0
    for work in works:
        if work.source >= len(sources):
            continue
        cost = _cost([work], sources, count)
        if spent + cost <= room:
            spent += cost
            quotes += work.quotes
        elif work is works[0]:
            return None
    return FoundWork(tuple(quotes), (), spent)


def _cost(works: Sequence[HeldWork], sources: Sequence[Quotable], count: Callable[[str], int]) -> int:
    """The tokens of the folded works, as quotes."""
    quotes = (quote for work in works if work.source < len(sources) for quote in work.quotes)
    return sum(count(sources[n].text[start:end]) + FRAME for n, start, end in quotes)

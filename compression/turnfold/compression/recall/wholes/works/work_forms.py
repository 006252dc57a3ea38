"""The versions of the requested work.

This module decides which of the works that fit are versions of one, which of them is wanted, and what changed that later. Which
messages hold works is known to ``held_works``; which versions a message asks for, to ``text.dialogue.wanted.versions``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.memo import Memo
from turnfold.compression.recall.question import content_words
from turnfold.compression.recall.wholes.code_changes import code_changes
from turnfold.compression.recall.wholes.revisions import newest_revision
from turnfold.compression.recall.wholes.works.held_work import HeldWork, held_work
from turnfold.compression.recall.wholes.works.held_works import NO_NAMES
from turnfold.compression.text.dialogue.wanted.versions import NEWEST, WITH_OLDER
from turnfold.compression.text.dialogue.wanted.works import AskedWork
from turnfold.compression.text.quotes import Quotable

#: Share of the best score from which another work may be meant too.
LIKE_BEST: Final = 0.8
_SHARED_LINES: Final = 0.3  # share of the shorter one's lines that forms of one work have in common
_MOST_LINES: Final = 0.5  # the same for a work that fits the question less
_NEXT: Final = 2  # messages between a work and the version that the next request asked for
_MOST_WORDS: Final = 0.5  # share of the shorter text's words that versions have in common
_EDITED_WORDS: Final = 0.8  # the same for texts that were not rewritten: pages on one subject may share half of their words
_WHOLE: Final = 0.6  # share of the longest form's lines from which a form is complete
_BEFORE: Final = lazy.pattern(r"\b(?:before|bevor|vor|avant|antes|prima)\b")  # behind it stands what a version has not


class WorkForms(NamedTuple):
    """The versions of the requested work: the wanted ones, later changes of the newest, and the other versions."""

    wanted: tuple[HeldWork, ...]
    changed: tuple[HeldWork, ...]
    others: tuple[HeldWork, ...]


def work_forms(found: Sequence[HeldWork], asked: AskedWork, names: frozenset[str]) -> WorkForms:
    """The versions of the work that fits best; among equals, of the newest."""
    likely = max(found, key=lambda work: (work.fits, work.source))
    pattern = [work for work in found if work is likely or _share(work.words, likely.words) >= _MOST_WORDS]
    best = max(pattern, key=lambda work: (len(names & work.words), work.fits, work.source))
    meant = _versions(found, best, names)
    longest = max(map(_length, meant))
    versions = [work for work in meant if _length(work) >= _WHOLE * longest]
    newest = versions[-1]
    numbers = dict.fromkeys(n % len(versions) for n in asked.versions if -len(versions) <= n < len(versions))
    wanted = tuple([versions[n] for n in numbers]) or (newest,)
    if newest not in wanted:
        return WorkForms(wanted, (), tuple([work for work in meant if work not in wanted]))
    later = [work for work in found if work.source > newest.source and (work in meant or _changes(work, newest))]
    return WorkForms(wanted, tuple(later), tuple([work for work in meant if work not in wanted and work not in later]))


def naming_words(folded: str, asked: AskedWork) -> frozenset[str]:
    """The words of a question that describe the work, in any version."""
    if asked.versions == WITH_OLDER:  # the question names text that was removed
        return frozenset()
    return frozenset(content_words(_BEFORE.split(folded)[0])) - NO_NAMES - asked.telling


def with_changes(messages: Sequence[Quotable], forms: WorkForms, asked: AskedWork, memo: Memo) -> WorkForms:
    """The forms, with changes of code since the newest version."""
    newest = forms.wanted[0]
    if newest.is_prose or asked.versions != NEWEST:
        return forms
    known = {work.source: work for work in forms.changed}
    for n, ranges in code_changes(messages, newest.source, newest.ranges).items():
        known.setdefault(n, held_work(n, messages[n], ranges, newest.fits, memo))
    return forms._replace(changed=tuple([known[n] for n in sorted(known)]))


def with_revisions(messages: Sequence[Quotable], forms: WorkForms, asked: AskedWork, memo: Memo) -> WorkForms:
    """The forms, with the step-by-step revisions of a text in place of the version that fits best."""
    number = forms.wanted[0].source
    chain = () if asked.versions != NEWEST or asked.kind == "code" else newest_revision(messages, number, memo)
    if not chain or chain[-1] <= number:
        return forms
    held = [held_work(n, messages[n], ((0, len(messages[n].text)),), forms.wanted[0].fits, memo) for n in chain]
    others = [work for work in (*forms.wanted, *forms.others) if work.source not in chain]
    return WorkForms((held[0],), tuple(held[1:]), tuple(others))


def newest_of_each(works: Sequence[HeldWork], number: int) -> list[HeldWork]:
    """The newest `number` works in order, or all of them if it is 0.

    Two texts count as versions of one only if there are too few otherwise: two leases may share most of their words.
    """
    apart = _newest(works, _is_version)[: number or None]
    versions = [work for work in reversed(works) if work not in apart]
    return sorted([*apart, *versions[: max(0, number - len(apart))]], key=lambda work: work.source)


def newest_pasted(works: Sequence[HeldWork]) -> list[HeldWork]:
    """The texts that a user pasted, in order, except those pasted again later with changes."""
    return _newest(works, is_edited)[::-1]


def is_edited(work: HeldWork, other: HeldWork) -> bool:
    """Whether one is an edited copy of the other, with line or word changes, rather than a rewritten text."""
    return _share(work.lines, other.lines) >= _SHARED_LINES or _share(work.words, other.words) >= _EDITED_WORDS


def _newest(works: Sequence[HeldWork], is_version: Callable[[HeldWork, HeldWork], bool]) -> list[HeldWork]:
    """The newest version of each work, newest first."""
    apart: list[HeldWork] = []
    for work in reversed(works):
        if not any(is_version(work, other) for other in apart):
            apart.append(work)
    return apart


def _versions(found: Sequence[HeldWork], best: HeldWork, names: frozenset[str]) -> list[HeldWork]:
    """The versions of the work that fits best, and parts of it, in order.

    Texts from one template may be about different things.
    """
    named = names & best.words if best.is_prose else frozenset()
    alike = [work for work in found if work.is_prose == best.is_prose and named <= work.words]
    meant = {work.source: work for work in alike if work is best or _is_version(work, best)}
    for step, ordered in ((_NEXT, alike), (-_NEXT, alike[::-1])):  # each revised right after it was made
        for work in ordered:
            before = meant.get(work.source - step)
            if before is not None and _share(work.words, before.words) >= _MOST_WORDS:
                meant[work.source] = work
    return [meant[source] for source in sorted(meant)]


def _is_version(work: HeldWork, best: HeldWork) -> bool:
    if best.is_prose:
        return _share(work.words, best.words) >= _MOST_WORDS
    least = _SHARED_LINES if work.fits >= LIKE_BEST * best.fits else _MOST_LINES
    return _share(work.lines, best.lines) >= least


def _length(work: HeldWork) -> int:
    return len(work.words if work.is_prose else work.lines)


def _share(some: frozenset[str], others: frozenset[str]) -> float:
    """The share of the smaller set that both have in common."""
    return len(some & others) / max(1, min(len(some), len(others)))


def _changes(work: HeldWork, whole: HeldWork) -> bool:
    """Whether a later, smaller work begins with a part of the complete one: "def total(self):"."""
    return len(work.lines) < _WHOLE * len(whole.lines) and bool(work.parts) and work.parts[0] in whole.parts

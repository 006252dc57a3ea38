"""Works made part by part, for a request for all of it: "put everything together", "the whole story, please".

This module decides which answers are the parts of one work, and which work is meant. Such a request is recognised in
``text.dialogue.wanted.several_works``; a work of one answer is found in ``named_work``, several works of one kind in
``several_works``.

A part is an answer with code, or a long one, to a short request. It belongs to the work whose parts share its distinctive words
if its request asks for a next part ("now the CSS"), or, in prose, says so ("chapter 2"); otherwise it begins a work of its own.
Parts are quoted in their newest version, with what changed them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from turnfold.compression.memo import Memo, of_each
from turnfold.compression.recall.question import content_words
from turnfold.compression.recall.wholes.code_changes import code_changes
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.request import WholeRequest
from turnfold.compression.recall.wholes.revisions import newest_revision
from turnfold.compression.recall.wholes.spread_works import fitting_spread, joined
from turnfold.compression.recall.wholes.works.held_work import HeldWork, held_work
from turnfold.compression.recall.wholes.works.held_works import NO_NAMES
from turnfold.compression.recall.wholes.works.work_forms import is_edited
from turnfold.compression.text import words
from turnfold.compression.text.blocks import Range, fences
from turnfold.compression.text.dialogue.wanted.code_blocks import code_ranges
from turnfold.compression.text.dialogue.wanted.materials import needs_code
from turnfold.compression.text.dialogue.wanted.several_works import asks_for_next_part, assembly_request, names_part
from turnfold.compression.text.dialogue.wanted.works import begins_making, work_named
from turnfold.compression.text.passages import estimate
from turnfold.compression.text.quotes import Quotable, Quote

_REQUEST: Final = 400  # characters of a request for a part
_PROSE_TOKENS: Final = 12  # tokens of an answer that may be a part
_WHOLE: Final = 0.6  # share of a part's lines that a later complete version has
_PREFIX: Final = 4  # letters by which "weeks" match "week"
_IN_ANSWER: Final = 0.3  # weight of a word of the question in an answer, relative to one in the request for it


@dataclass(slots=True)
class _PartedWork:
    """A work in progress: the words of its first request, its parts in order, the words of all requests for them, and the parts'
    words.
    """

    is_code: bool
    begun: frozenset[str]
    parts: list[HeldWork] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    said: set[str] = field(default_factory=set)

    def add(self, part: HeldWork, request: str) -> None:
        self.parts.append(part)
        self.asked.update(words.words(request))
        self.said.update(part.words)


def find_assembled(asked: WholeRequest) -> FoundWork:
    """The parts of the work that is requested as a whole, in order; empty if it has fewer than two."""
    sources, behind, asks, room, count, memo = asked
    wanted = assembly_request(asks) if room > 0 else None
    if wanted is None:
        return FoundWork()
    messages = [*sources, *behind]
    made = _works(messages, memo)
    likely = [one for one in made if len(one.parts) > 1 and (wanted.is_sure or wanted.things & one.begun)]
    code = [one for one in likely if one.is_code] if needs_code(asks) else []
    work = _requested(code or likely, asks)
    if work is None:
        return FoundWork()
    every = [part for one in made if one.is_code == work.is_code for part in one.parts]
    newest = {one.source: one for one in (_newest(part, every) for part in work.parts)}
    ranges = _with_changes(messages, newest, memo)
    folded = [Quote(n, *one) for n in sorted(ranges) if n < len(sources) for one in ranges[n]]
    quotes, tokens = fitting_spread(sources, joined(sources, folded), room, count)
    return FoundWork(tuple(quotes), (), tokens)


def _works(messages: Sequence[Quotable], memo: Memo) -> list[_PartedWork]:
    """The works that the chat made, in the order in which they were begun."""
    found = [(part, words.fold(messages[part.source - 1].text)) for part in _parts(messages, memo)]
    often = Counter(chain.from_iterable(part.words for part, _ in found))
    works: list[_PartedWork] = []
    for part, request in found:
        own = [one for one in works if one.is_code != part.is_prose]
        is_next = names_part(request) if part.is_prose else asks_for_next_part(request)
        if own and is_next:
            said = part.words.union(words.words(request))
            max(own, key=lambda one: (_weight(said & (one.said | one.asked), often), one.parts[-1].source)).add(part, request)
        elif not part.is_prose or begins_making(request) or names_part(request):
            works.append(work := _PartedWork(not part.is_prose, frozenset(words.words(request))))
            work.add(part, request)
    return works


def _weight(shared: Iterable[str], often: Counter[str]) -> float:
    return sum(1 / often[word] for word in shared if word in often)


def _parts(messages: Sequence[Quotable], memo: Memo) -> Iterable[HeldWork]:
    """The answers to short requests that contain code or are long."""
    for n, ranges in enumerate(of_each(memo, "made", messages, _part_ranges)):
        if n and ranges and messages[n - 1].role == "user" and len(messages[n - 1].text) <= _REQUEST:
            yield held_work(n, messages[n], ranges, 0.0, memo)


def _part_ranges(message: Quotable) -> tuple[Range, ...]:
    """The code in an answer, or all of a long answer without code."""
    text = message.text
    if message.role != "assistant":
        return ()
    if any(fences(f"\n{text}")):
        return tuple(code_ranges(text, is_bare=False, fewest=1))
    return ((0, len(text)),) if estimate(text) >= _PROSE_TOKENS else ()


def _requested(works: Sequence[_PartedWork], asks: str) -> _PartedWork | None:
    """The work that the question describes best; among equals, the one extended last. None if the question names a kind of work,
    but has no word of the best one, which is not code.
    """
    told = {word for word in content_words(asks) if word not in NO_NAMES}
    named = [one for one in map(work_named, sorted(told)) if one is not None]
    begins = {word[:_PREFIX] for word in told.union(*(one.alike for one in named))}

    def fits(work: _PartedWork) -> float:
        return len(begins & {word[:_PREFIX] for word in work.asked}) + _IN_ANSWER * len(told & work.said)

    best = max(works, key=lambda one: (fits(one), one.parts[-1].source), default=None)
    is_told = best is not None and (best.is_code or not named or fits(best) > 0)
    return best if is_told else None


def _newest(part: HeldWork, every: Sequence[HeldWork]) -> HeldWork:
    """The newest complete version of a part."""
    versions = (
        one
        for one in reversed(every)
        if one.source > part.source and len(one.lines) >= _WHOLE * len(part.lines) and is_edited(one, part)
    )
    return next(versions, part)


def _with_changes(messages: Sequence[Quotable], parts: dict[int, HeldWork], memo: Memo) -> dict[int, tuple[Range, ...]]:
    """The ranges of the parts and of their later changes, by message number."""
    found: dict[int, tuple[Range, ...]] = {n: part.ranges for n, part in parts.items()}
    for n, part in parts.items():
        if part.is_prose:
            revised = newest_revision(messages, n, memo)
            if revised and revised[0] > n:
                del found[n]
            changes: dict[int, tuple[Range, ...]] = {at: ((0, len(messages[at].text)),) for at in revised if at > n}
        else:
            changes = code_changes(messages, n, part.ranges)
        found = changes | found
    return found

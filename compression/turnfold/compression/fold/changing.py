"""From a draft to the changes that make it.

This module places a draft and its recalls in a request, keeps them out of the way of caches, and translates an earlier request's
changes for a later one. ``write`` writes the pieces and ``ask`` chooses recall; no format is known here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from turnfold.compression.fold.endings import trim_endings
from turnfold.compression.fold.fold_task import FoldTask
from turnfold.compression.fold.marks import move_marks
from turnfold.compression.fold.plan import Plan
from turnfold.compression.fold.thinking import without_thinking
from turnfold.compression.fold.writing.drafts import FoldDraft, Surroundings
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.changes import Beside, Changes, kept_indices
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.message import Message


@dataclass(frozen=True, slots=True)
class Caching:
    """How to place inserted text so that caches that hit only at marks still hit.

    Attributes:
        apart: whether it is a separate part even if the message's content was a string (see ``Changes.apart``).
        marked: index of the user message whose own text gets a breakpoint if recall follows it.
        since: index of the first message after the first fold event. From there on, every user message is written as parts, so
            that its own text is the same with and without recall.
    """

    apart: bool
    marked: int | None = None
    since: int = 0


#: For caches that hit on any repeated prefix.
NOT_APART: Final = Caching(apart=False)


def caching(given: FoldTask, plan: Plan) -> Caching:
    """How to place inserted text: as a separate part if the cache hits only at marks."""
    messages, cut = given.conversation.messages, given.cut
    theirs = bool(messages.marked)
    if not (theirs or given.options.cache_breakpoints):
        return NOT_APART
    marked = None if theirs or not plan.askers else cut[plan.askers[-1].unit].start
    since = cut[plan.since].start if plan.events else len(messages)
    return Caching(apart=True, marked=marked, since=since)


def changes(messages: Sequence[Message], draft: FoldDraft, recalls: Mapping[int, str], caching: Caching) -> Changes:
    """All changes of a fold: messages left out, texts shortened, and texts added to user messages.

    Args:
        recalls: by index of a user message, the text directly after its own.
        caching: whether that text is a separate part, and where to set a breakpoint.
    """
    touched = {*draft.shortened, *draft.shaped, *draft.beside, *recalls} - draft.gone
    apart: set[int] = set()
    if caching.apart:
        apart = {i for i in touched if messages[i].role == "user"}
        sent = kept_indices(draft.dropped, caching.since, len(messages))
        apart |= {i for i in sent if messages[i].role == "user" and messages[i].holds}
    beside = {}
    for index in sorted({*draft.beside, *recalls} - draft.gone):
        one = draft.beside.get(index, Surroundings())
        front = (*one.front, *([one.state] if one.state else []))
        behind = tuple(t for t in (recalls.get(index, ""), *one.behind) if t)
        if front or behind:
            beside[index] = Beside(front, behind)
    return Changes(
        dropped=draft.dropped,
        texts={i: new for i in sorted(touched) if (new := draft.shortened.get(i) or draft.shaped.get(i))},
        beside=beside,
        apart=frozenset(apart),
        breakpoint=caching.marked if caching.marked is not None and recalls.get(caching.marked) else None,
    )


def settle(made: Changes, messages: Sequence[Message], options: FoldOptions, thoughts: frozenset[int]) -> Changes:
    """The changes, adapted to the upstream.

    The thinking of the messages at `thoughts` is removed, and white space at the end of an assistant's text if the upstream
    refuses it.
    """
    trimmed = trim_endings(messages, made) if options.refuses_trailing_space else made
    return without_thinking(trimmed, messages, thoughts)


def carry_on_changes(changes: Changes, keys: tuple[bytes, ...], conversation: Conversation) -> Changes | None:
    """An earlier request's changes, for a request that extends it. None if it does not, or the user has spoken since.

    Args:
        keys: keys of the earlier request's messages.
    """
    messages = conversation.messages
    if len(messages) <= len(keys) or messages.keys[: len(keys)] != keys:
        return None
    if any(m.speaker == "user" and m.holds and not m.bound for m in messages[len(keys) :]):
        return None
    return move_marks(messages, replace(changes, marks=()), changes.beside)

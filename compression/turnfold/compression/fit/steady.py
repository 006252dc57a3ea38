"""Fitting a conversation so that its next requests only append.

This module decides at which of its requests a growing conversation is made smaller, and what that means for the requests that
follow. The ways of making it smaller are in ``fit``, ``older`` and ``cut``.

A conversation beyond its window is not fitted anew with every request: all of its prefix would be written to the cache again each
time. It is made smaller than it has to be at one request, its border, and the same changes hold until it has grown by the room
that this left. Borders are found by sizes from the first message on, so they depend on the prefix alone (laws 4 and 5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise
from typing import Final

from turnfold.compression import tokens
from turnfold.compression.fit.bound_fold import BoundFold
from turnfold.compression.fit.cut import WAIVED
from turnfold.compression.fit.older import SmallRequest, recall_older
from turnfold.compression.fold.account import Account
from turnfold.compression.fold.ask import Recall
from turnfold.compression.fold.changing import settle
from turnfold.compression.fold.check import check
from turnfold.compression.fold.counts import message_tokens, schema_tokens
from turnfold.compression.fold.marks import move_marks
from turnfold.compression.fold.policy import GROWTH, newest_outgrown
from turnfold.compression.fold.thinking import all_thinking
from turnfold.compression.fold.units.grouping import units
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.cache_marks import cut_marks
from turnfold.compression.wire.changes import Beside, Changes
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.edits import Edit, apply

_QUOTES: Final = 0.08  # share of the room left free at a border for quotes after later questions
_MUCH: Final = 1 / 8  # share of the room left free: text that must be sent again to remove a quote
_TRIES: Final = 4
_STRICTER: Final = 1.5  # a fold into less room leaves recall a larger share of it


@dataclass(frozen=True, slots=True)
class Border:
    """The newest request of a conversation at which the conversation is made smaller.

    Attributes:
        end: number of messages in it.
        room: most tokens for these messages.
        growth: most tokens for later messages.
        quotes: tokens for quotes after later questions.
    """

    end: int
    room: int
    growth: int
    quotes: int


def border(conversation: Conversation, room: int, most: int, model: str, memo: Memo) -> Border | None:
    """The newest border of a conversation that has to fit into `room`; None if it has none or may not be split.

    Args:
        most: most tokens of a conversation that is sent unchanged.
    """
    messages = conversation.messages
    if conversation.held or conversation.state.pins:
        return None
    sums = list(accumulate([message_tokens(m, model, memo) for m in messages], initial=0))
    extra = 3 + schema_tokens(conversation, model, memo)
    free = room - extra - sum([message_tokens(messages[i], model, memo) for i in messages.pinned])
    growth, quotes = int(GROWTH * free), int(_QUOTES * free)
    if quotes <= 0:
        return None
    ends = _request_ends(conversation, memo)
    found = newest_outgrown([sums[end] for end in ends], most - extra, growth)
    return None if found is None else Border(ends[found], room - growth - quotes, growth, quotes)


def _request_ends(conversation: Conversation, memo: Memo) -> Sequence[int]:
    """The ends of all requests of the conversation, including this one."""
    messages, cut = conversation.messages, units(conversation.messages, memo=memo)
    ends = [u.end for u in cut if u.asks and u.end < len(messages) and messages[u.end].role == "assistant"]
    return [*ends, len(messages)]


def head(conversation: Conversation, end: int, memo: Memo) -> Conversation:
    """The conversation's first `end` messages, without the client's cache marks, which have moved since."""
    start, stop = conversation.history
    places = zip(conversation.messages[:end], conversation.spans[:end], strict=True)
    marked = [(m, at) for m, at in places if m.marked and start <= at[0] < stop]
    edits = [Edit(*at, cut_marks(conversation.text[slice(*at)], conversation.wire.marks)) for _, at in marked]
    dropped = Changes(dropped=((end, len(conversation.messages)),)) if end < len(conversation.messages) else Changes()
    if edits:
        conversation = conversation.wire.read(apply(conversation.text, edits).encode("utf-8"), memo.passing())
    return conversation.with_changes(dropped, memo) if dropped.dropped else conversation


def go_on(conversation: Conversation, since: Border, small: SmallRequest, room: int, fold: BoundFold) -> SmallRequest | None:
    """The conversation with the changes made at a border, and recall for a later question; None if that does not fit.

    Args:
        small: the result for its first messages there.

    Raises:
        FoldRejected: our own output failed a check.
    """
    if small.changes is None:
        return None
    messages, options = conversation.messages, fold.options
    recalls = _recalls(conversation, since, small, fold)
    for kept in (recalls, {}):
        made = _with_parts(conversation, _quoting(small, kept), options)
        made = settle(made, messages, options, all_thinking(messages, options.model, options.preserved_thinking))
        made = move_marks(messages, replace(made, marks=()), made.beside, convert=True)
        forwarded = conversation.with_changes(made, fold.memo)
        check(conversation, forwarded, waived=WAIVED)
        size = fold.tokens(forwarded)
        if size <= room:
            everything = Account(tuple(range(len(messages))), frozenset(), small.account.section_of, kept)
            return SmallRequest(forwarded, size, small.sections, everything.after(made, conversation), made, small.older)
    return None


def _recalls(conversation: Conversation, since: Border, small: SmallRequest, fold: BoundFold) -> dict[int, Recall]:
    """The quotes after users' messages: after the folded one if none came later, and after the newest.

    An earlier message keeps its quotes if removing them would rewrite much text, as long as there is room for all.
    """
    messages, count = conversation.messages, tokens.counter_for_model(fold.options.model)
    asked = [i for i in range(small.older, len(messages)) if messages[i].speaker == "user"] if small.older else []
    is_asked_again = bool(asked) and asked[0] < since.end
    folded = {} if is_asked_again else {i: one for i, one in small.account.recalls.items() if i < small.older}
    begun = {i: one for i, one in small.account.recalls.items() if i not in folded}
    sums = list(accumulate([message_tokens(m, fold.options.model, fold.memo) for m in messages], initial=0))
    bare = head(conversation, len(messages), fold.memo)
    room = since.room + since.quotes - small.tokens + sum([count(one.text) for one in begun.values()])
    kept: dict[int, Recall] = {}
    for index, following in pairwise((*asked, len(messages))):
        if following < len(messages) and sums[following] - sums[index + 1] < _MUCH * since.growth:
            continue
        found = begun.get(index) or _recall(bare, index, room, since, small, fold)
        if found is not None:
            fits = sum([count(one.text) for one in (*kept.values(), found)]) <= room
            kept = {**(kept if fits else {}), index: found}
    return folded | kept


def _recall(bare: Conversation, question: int, room: int, since: Border, small: SmallRequest, fold: BoundFold) -> Recall | None:
    """The quotes after a question in at most `room` tokens."""
    options, memo = fold.options, fold.memo
    if not options.recall:
        return None

    def make(most: int) -> tuple[Recall | None]:  # None would mean "not cached" to a memo
        return (recall_older(bare, small.older, question, most, fold),)

    count, asked = tokens.counter_for_model(options.model), b"".join(bare.messages.keys[: question + 1])
    budget = since.room - sum([message_tokens(m, options.model, memo) for m in bare.messages[small.older : since.end]])
    for _ in range(_TRIES):
        found = memo.get(("beyond a window", asked, small.older, budget, options), partial(make, budget), _weight)[0]
        size = count(found.text) if found is not None else 0
        if size <= room:
            return found if size else None
        budget -= int(_STRICTER * (size - room))
    return None


def _weight(found: tuple[Recall | None]) -> int:
    return 500 + sum(4 * len(one.text) for one in found if one is not None)


def _quoting(small: SmallRequest, recalls: Mapping[int, Recall]) -> Changes:
    """The changes of a border with other quotes after users' messages."""
    made = small.changes or Changes()
    beside = dict(made.beside)
    for index, found in small.account.recalls.items():
        if index not in recalls and index in beside:
            beside[index] = replace(beside[index], behind=tuple([t for t in beside[index].behind if t != found.text]))
    for index, recall in recalls.items():
        if index not in small.account.recalls:
            beside[index] = Beside((), (recall.text,))
    return replace(made, beside={i: one for i, one in beside.items() if one.front or one.behind}, breakpoint=None)


def _with_parts(conversation: Conversation, made: Changes, options: FoldOptions) -> Changes:
    """The changes with users' messages written as parts, if caches are only hit at marks.

    With a mark, a client writes a message as parts anyway, and a message that loses its recall must stay the same.
    """
    messages = conversation.messages
    if not (messages.marked or options.cache_breakpoints):
        return made
    users = frozenset(i for i in messages.users if i not in made.gone and messages[i].holds and not messages[i].fixed)
    newest = max((i for i in made.beside if made.beside[i].behind), default=None)
    return replace(made, apart=made.apart | users, breakpoint=None if messages.marked else newest)

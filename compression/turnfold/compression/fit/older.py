"""Folding everything older than the most recent fifth of a conversation.

This module takes the recent messages off a conversation, has the rest folded, and makes the same changes to the whole of it. The
result of every way to make a request fit is defined here too. Folding itself and the choice of budgets happen elsewhere.

A fold under a budget keeps as little raw as its prices say; after an overflow the recent messages are worth more than that,
since the model was in the middle of something. The question at hand goes along with what is folded, so that recall looks for
what it needs; of the recent messages it is the only one that can come back longer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from turnfold.compression.fit.bound_fold import BoundFold
from turnfold.compression.fit.cut import recent_start
from turnfold.compression.fold.account import Account
from turnfold.compression.fold.ask import Recall
from turnfold.compression.fold.changing import settle
from turnfold.compression.fold.check import TURN_BROKEN, check
from turnfold.compression.fold.engine import LEFT_OUT, Folded
from turnfold.compression.fold.thinking import all_thinking
from turnfold.compression.fold.units.grouping import units
from turnfold.compression.fold.units.unit import Unit
from turnfold.compression.fold.writing.drafts import Section
from turnfold.compression.memo import Memo
from turnfold.compression.wire.changes import Changes
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.message import Message, Messages

T = TypeVar("T")

_MOST_RECENT: Final = 0.95  # share of the room for recent messages; a twentieth holds the summary of all older ones
_NARROW: Final = 0.6  # the same if the older messages need enough room for a fold


@dataclass(frozen=True, slots=True)
class SmallRequest:
    """A request that was made to fit.

    Attributes:
        tokens: by our own count for its model.
        sections: originals of the folded text, for drill-down.
        account: what was done to each message.
        changes: the changes to the request; None if they were made in several steps.
        older: number of its first messages that were folded.
        reason: why it was made to fit.
    """

    forwarded: Conversation
    tokens: int
    sections: tuple[Section, ...]
    account: Account
    changes: Changes | None = None
    older: int = 0
    reason: str = "window"


def fold_older(conversation: Conversation, room: int, fold: BoundFold, *, narrow: bool = False) -> SmallRequest | None:
    """Fold all but the most recent fifth into the remaining `room`; None if too little remains, or the fold does not fit.

    Args:
        narrow: whether fewer messages count as recent if a fifth would take most of the room.

    Raises:
        FoldRejected: our own output failed a check.
    """
    messages = conversation.messages
    cut = units(messages, memo=fold.memo)
    start = recent_start(messages, cut)
    if narrow:
        start = max(start, _newest_within(conversation, cut, int(_NARROW * room), fold))
    recent = _tokens(conversation, messages[start:], fold)
    if not 0 < start < len(messages) or recent > _MOST_RECENT * room:
        return None
    asked = max((i for i in range(start, len(messages)) if messages[i].speaker == "user"), default=None)
    for question in (asked, None) if asked is not None else (None,):
        length = 0 if question is None else _tokens(conversation, messages[question : question + 1], fold)
        budget = room - recent + length
        head = _head(conversation, start, question, fold.memo)
        if question is not None and head.messages[-1].key != messages[question].key:
            continue  # followed by instructions
        folded = fold.within(head, budget)
        if not folded.folded or folded.tokens_after > budget or folded.reason == LEFT_OUT:
            continue
        if question is None or _is_only_longer(messages[question], folded.forwarded):
            return _change_whole(conversation, start, question, folded, room, fold)
    return None


def _newest_within(conversation: Conversation, cut: Sequence[Unit], room: int, fold: BoundFold) -> int:
    """The index of the first of the newest messages that fit into `room` tokens, at a border of units."""
    for unit in reversed(cut):
        room -= _tokens(conversation, conversation.messages[unit.start : unit.end], fold)
        if room < 0:
            return unit.end
    return 0


def recall_older(conversation: Conversation, older: int, question: int, room: int, fold: BoundFold) -> Recall | None:
    """The quotes after a question from the first `older` messages; None if there are none.

    Args:
        room: most tokens for these messages with the quotes.
    """
    messages = conversation.messages
    length = _tokens(conversation, messages[question : question + 1], fold)
    asking = _head(conversation, older, question, fold.memo)
    if asking.messages[-1].key != messages[question].key:
        return None
    return fold.within(asking, room + length).recalls.get(older)


def _is_only_longer(question: Message, head: Conversation) -> bool:
    """Whether the question still has its original beginning.

    Otherwise a summary in front of it would come after newer messages.
    """
    return len(head.messages) > 1 and head.messages[-1].own.startswith(question.own)


def _tokens(conversation: Conversation, messages: tuple[Message, ...], fold: BoundFold) -> int:
    return fold.tokens(replace(conversation, messages=Messages(messages), schema=""))


def _head(conversation: Conversation, start: int, question: int | None, memo: Memo) -> Conversation:
    """The conversation without its recent messages, except the question."""
    end = len(conversation.messages)
    runs = ((start, end),) if question is None else ((start, question), (question + 1, end))
    return conversation.with_changes(Changes(dropped=tuple((a, b) for a, b in runs if a < b)), memo)


def _change_whole(
    conversation: Conversation, start: int, question: int | None, folded: Folded, room: int, fold: BoundFold
) -> SmallRequest | None:
    """The conversation with the changes made to its head, including the question's."""
    made = folded.changes
    moved = {} if question is None else {start: question}
    changes = Changes(
        dropped=made.dropped,
        texts=_move(made.texts, moved),
        beside=_move(made.beside, moved),
        apart=frozenset(moved.get(i, i) for i in made.apart),
        marks=tuple(replace(move, target=moved.get(move.target, move.target)) for move in made.marks),
        breakpoint=None if made.breakpoint is None else moved.get(made.breakpoint, made.breakpoint),
    )
    thinking = all_thinking(conversation.messages, fold.options.model, fold.options.preserved_thinking)
    changes = settle(changes, conversation.messages, fold.options, thinking)
    forwarded = conversation.with_changes(changes, fold.memo)
    check(conversation, forwarded, waived=frozenset({TURN_BROKEN}))
    tokens = fold.tokens(forwarded)
    if tokens > room:
        return None
    everything = Account(tuple(range(len(conversation.messages))), frozenset(), folded.section_of, _move(folded.recalls, moved))
    return SmallRequest(forwarded, tokens, folded.sections, everything.after(changes, conversation), changes, start)


def _move(by_index: Mapping[int, T], moved: Mapping[int, int]) -> dict[int, T]:
    return {moved.get(index, index): value for index, value in by_index.items()}

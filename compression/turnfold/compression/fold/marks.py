"""The client's cache marks on messages that are left out.

This module decides where a mark goes when its message leaves. Each format knows the form of a mark; marks of Turnfold's own are
set in ``changing``.

A mark says that everything up to it is to be cached. So the mark of a run that is left out goes to the last thing that is sent of
that run: the text that stands for it, else the last part of what is sent in front of it. No mark is invented, and where
everything in front is marked already, that is enough.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

from turnfold.compression.wire.cache_marks import lasts_an_hour, mark_value
from turnfold.compression.wire.changes import Changes, MarkMove
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.message import Message, Messages


def move_marks(messages: Messages, changes: Changes, recalled: Container[int] = frozenset(), *, convert: bool = False) -> Changes:
    """The changes, with the marks of left-out messages moved to messages that are sent.

    Args:
        recalled: messages with recall after their text. No mark may follow it, since it may be gone in the next request.
        convert: whether a user's message may be turned into a list of parts for a mark.
    """
    if not messages.marked:
        return changes
    gone = changes.gone
    lost = [i for i in messages.marked if i in gone]
    if not lost:
        return changes
    moves: dict[tuple[int, str], MarkMove] = {}
    for source in reversed(lost):  # of two marks in one run, the earlier one gets a place further ahead
        places = _places(messages, changes, gone, source, recalled, convert)
        move = next((one for one in places if (one.target, one.place) not in moves), None)
        if move is not None:
            moves[move.target, move.place] = move
    own = {move.target for move in moves.values() if move.place == "own"}
    apart = changes.apart | {i for i in own if messages[i].role == "user" and not messages[i].is_list}
    return replace(changes, apart=apart, marks=tuple(moves.values()))


def writes_for_an_hour(conversation: Conversation) -> bool:
    """Whether the cache keeps for an hour what a fold changes: the newest mark on the messages decides.

    Marks on instructions do not count, nor do those on a document that stays in its place: nothing before them is written again.
    """
    messages, names = conversation.messages, conversation.wire.marks
    if conversation.marked_at_end:
        return any(lasts_an_hour(conversation.settings.get(name)) for name in names)
    newest = next((i for i in reversed(messages.marked) if not messages[i].pinned), None)
    return newest is not None and lasts_an_hour(mark_value(messages[newest].raw, names))


def _places(
    messages: Sequence[Message], changes: Changes, gone: Container[int], source: int, recalled: Container[int], convert: bool
) -> Iterator[MarkMove]:
    """Places for the mark of a message that is left out, best first."""
    behind = next((i for i in range(source + 1, len(messages)) if i not in gone), None)
    if behind is not None and _has_parts(messages, changes, behind) and _beside(changes, behind)[0]:
        yield MarkMove(source, behind, "front")
    for index in range(source - 1, -1, -1):
        if index in gone:
            continue
        parted = _has_parts(messages, changes, index)
        if parted and index not in recalled and _beside(changes, index)[1]:
            yield MarkMove(source, index, "behind")
        if _takes_mark(messages[index], changes, index, convert=convert):
            yield MarkMove(source, index, "own")
        if messages[index].marked:  # everything before it is cached by this mark
            return


def _has_parts(messages: Sequence[Message], changes: Changes, index: int) -> bool:
    """Whether texts inserted into a message are separate parts."""
    return messages[index].is_list or index in changes.apart


def _beside(changes: Changes, index: int) -> tuple[bool, bool]:
    """Whether texts are inserted before a message's content, and after it."""
    one = changes.beside.get(index)
    return (bool(one.front), bool(one.behind)) if one is not None else (False, False)


def _takes_mark(message: Message, changes: Changes, index: int, *, convert: bool) -> bool:
    if message.pinned or message.sealed:
        return False
    if any(isinstance(path[-1], int) for path in changes.texts.get(index, {})):  # a part that becomes a string
        return False
    as_part = message.role == "user" and message.holds and not message.is_list and (convert or index in changes.apart)
    return message.takes_mark or as_part

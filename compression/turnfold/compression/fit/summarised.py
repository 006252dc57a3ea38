"""A model's summary of what a recovery leaves out.

This module decides which messages the summary covers, and where it goes. Making a request smaller is up to ``fit``, checking a
summary to ``summary``.

The deterministic form is made first, and is used if there is no usable summary. A summary goes into the first user message
that is kept: behind its own text where what is missing came later, in front of it where that came before. It is fenced like any
quote.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from turnfold.compression import tokens
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.bound_fold import BoundFold
from turnfold.compression.fit.cut import WAIVED, recent_start
from turnfold.compression.fit.fit import shrink
from turnfold.compression.fit.middle import cut_middle
from turnfold.compression.fit.older import SmallRequest
from turnfold.compression.fold import attachments_lost
from turnfold.compression.fold.check import check
from turnfold.compression.fold.units.grouping import units
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.recall.call_labels import answered_calls, source
from turnfold.compression.recall.fence import render_written
from turnfold.compression.summary.asking import write_anchored
from turnfold.compression.summary.calls import ModelCall, ModelReply
from turnfold.compression.text.quotes import Source
from turnfold.compression.wire.changes import Beside, Changes
from turnfold.compression.wire.conversation import Conversation

_FRAME: Final = 40  # tokens of the fence
_MOST_READ: Final = 24_000  # most tokens sent to the model
_LONGEST: Final = 1_500  # and of one of these messages
_SMALLEST_SHARE: Final = 6  # a summary takes at most one in this many of the room


def with_summary(
    conversation: Conversation, room: int, fold: BoundFold, plain: SmallRequest, most: int
) -> Generator[ModelCall, ModelReply | None, SmallRequest]:
    """The small request with a summary of what it lacks; `plain` unchanged if none can be used."""
    most = min(most, room // _SMALLEST_SHARE)
    tighter = shrink(conversation, room - most - most // 4 - _FRAME, fold)
    lost = [] if tighter is None else _lost(conversation, tighter.forwarded, fold.options)
    if tighter is None or not lost or attachments_lost(plain.forwarded.messages, tighter.forwarded.messages):
        return plain
    result = yield from write_anchored(lost, most, tokens.count, "recovery")
    if not result.text:
        return plain
    placed = _placed(conversation, tighter.forwarded, result.text, fold.memo)
    if placed is None:
        return plain
    size = fold.tokens(placed)
    return plain if size > room else SmallRequest(placed, size, tighter.sections, tighter.account)


def _lost(conversation: Conversation, forwarded: Conversation, options: FoldOptions) -> list[Source]:
    """The older messages that were not forwarded unchanged, limited to the newest that the model may read."""
    kept = {message.raw for message in forwarded.messages}
    end = recent_start(conversation.messages, units(conversation.messages))
    messages = conversation.messages[:end]
    older = [i for i, m in enumerate(messages) if not m.pinned and m.raw not in kept and m.text.strip()]
    readable = [i for i in older if options.recall_tool_text or messages[i].role != "tool"]
    calls = answered_calls(messages)
    found: list[Source] = []
    left = _MOST_READ
    for index in reversed(readable):
        message = messages[index]
        count = tokens.count(message.text)
        text = message.text if count <= _LONGEST else cut_middle(message.text, _LONGEST, count)
        left -= min(count, _LONGEST)
        if left < 0:
            break
        found.append(source(message)._replace(text=text, answered_call=calls.get(index, "")))
    return found[::-1]


def _placed(conversation: Conversation, forwarded: Conversation, text: str, memo: Memo) -> Conversation | None:
    messages = forwarded.messages
    index = next((i for i, m in enumerate(messages) if m.role == "user" and m.holds and not m.fixed), None)
    if index is None:
        return None
    first = next((m for m in conversation.messages if not m.pinned), None)
    came_first = first is not None and bool(first.own) and messages[index].own[:80] == first.own[:80]
    written = render_written((), (), text)
    beside = Beside((), (written,)) if came_first else Beside((written,), ())
    try:
        placed = forwarded.with_changes(Changes(beside={index: beside}), memo)
        check(conversation, placed, waived=WAIVED)
    except FoldRejected:
        return None
    return placed

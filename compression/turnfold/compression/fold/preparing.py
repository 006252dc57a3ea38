"""What a fold of a long conversation needs whatever is counted, made while a thread still counts its tokens.

Lives here: which messages are read ahead. Does not belong here: what is read of them (``recall.leaves``), counting (``tokens``).

All of it is memoised by message, so the fold comes to the same without it. What is raw yet is left out: it is read when it is
folded.
"""

from __future__ import annotations

from typing import Final

from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.recall.leaves import leaves_of
from turnfold.compression.wire.conversation import Messages

_TAIL: Final = 32_000  # characters at the end that hardly any plan folds, about 8,000 tokens


def prepare(messages: Messages, options: FoldOptions, memo: Memo) -> None:
    """Read what recall will choose from, where most of the messages are being counted."""
    if not (options.recall and messages.users) or messages[len(messages) // 2].is_counted:
        return
    left, end = _TAIL, messages.users[-1]
    while end and left > 0:
        end -= 1
        left -= len(messages[end].text)
    folded = [m for m in messages[:end] if not m.pinned and (options.recall_tool_text or not m.is_result)]
    if folded:
        leaves_of(folded, memo)

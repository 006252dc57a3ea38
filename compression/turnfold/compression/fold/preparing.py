"""What a fold of a long conversation needs whatever is counted, made while a thread still counts its tokens.

Lives here: which messages are read ahead. Does not belong here: what is read of them (``leaves``, ``shorten.summary``), counting
(``tokens``).

All of it is memoised by message, so the fold comes to the same without it. What is raw yet is left out: it is read when it is
folded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turnfold.compression.fold.write import source
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.recall.leaves import leaves_of
from turnfold.compression.shorten.summary import read_words
from turnfold.compression.wire.conversation import Message, Messages

_TAIL: Final = 32_000  # characters at the end that hardly any plan folds, about 8,000 tokens
_SUMMARISED: Final = 0.6  # of what stands before: the newest of it stands at FACTS


def prepare(messages: Messages, options: FoldOptions, memo: Memo) -> None:
    """Read what will be folded, where most of the messages are being counted."""
    if not messages or messages[len(messages) // 2].is_counted:
        return
    older = _without_tail([m for m in messages if not m.pinned], _TAIL)
    spoken = _without_tail(older, int((1 - _SUMMARISED) * sum(len(m.text) for m in older)))
    read_words([source(m) for m in spoken], memo)


def _without_tail(messages: Sequence[Message], characters: int) -> Sequence[Message]:
    """The messages without so many characters at their end."""
    end = len(messages)
    while end and characters > 0:
        end -= 1
        characters -= len(messages[end].text)
    return messages[:end]

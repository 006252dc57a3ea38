"""The parts of a text that the newest question needs, for texts that have to be cut.

This module gives the ranges of a text that bear on the question. ``cut`` chooses the texts, ``middle`` cuts them, and ``recall``
knows what bears on a question.

A result that is too large for its window or budget is all that a model will ever see of it in this turn. Its head and tail hold
what was asked for by chance only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turnfold.compression import tokens
from turnfold.compression.fit.middle import joined
from turnfold.compression.memo import Memo, digest
from turnfold.compression.recall.choosing import recall
from turnfold.compression.recall.question import Question
from turnfold.compression.text.blocks import line_end
from turnfold.compression.text.quotes import Source
from turnfold.compression.wire.message import Message

_SHARE: Final = 0.75  # of the room; the ends of a text show what kind of text it is
_LINE: Final = 400  # characters of a line that is kept whole
_LEAST: Final = 24  # fewest tokens for a useful range


def question_before(messages: Sequence[Message], index: int, newest: str = "") -> str:
    """The last thing that the user asked before a message; "" if the message is the user's own.

    Later questions are ignored: otherwise each question would cut the message's texts differently.

    Args:
        newest: the user's last text, if the message also contains quotes.
    """
    if messages[index].speaker == "user":
        return ""
    asked = next((i for i in reversed(range(index)) if messages[i].speaker == "user"), -1)
    if asked < 0:
        return ""
    is_newest = newest and all(message.speaker != "user" for message in messages[index:])
    return newest if is_newest else messages[asked].own


def asked_ranges(text: str, question: str, cap: int, memo: Memo) -> list[tuple[int, int]]:
    """The ranges of a text that bear on a question, in order, in whole lines.

    Args:
        cap: most tokens for the text.
    """
    room = int(_SHARE * cap)
    if not question.strip() or room < _LEAST:
        return []
    source = Source("tool", text, digest(text))
    found = recall((source,), Question(question, whole_room=room), room, (), tokens.BORDER_COUNTER, memo)
    return joined(text, [_in_lines(text, quote.start, quote.end) for quote in sorted(found.quotes)])


def _in_lines(text: str, start: int, end: int) -> tuple[int, int]:
    """A range extended to whole lines at both ends, unless these lines are long."""
    first, last = text.rfind("\n", 0, start) + 1, line_end(text, end)
    return (first if start - first <= _LINE else start), (last if last - end <= _LINE else end)

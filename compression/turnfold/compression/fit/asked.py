"""What the newest question needs of a text that has to be cut.

Lives here: the ranges of a text that bear on the question. Does not belong here: cutting (``middle``), which texts are cut
(``cut``), what bears on a question (``recall``).

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
from turnfold.compression.wire.conversation import Message

_SHARE: Final = 0.75  # of the room; the ends say what kind of text it is
_LINE: Final = 400  # characters of a line that is kept whole
_LEAST: Final = 24  # tokens in which something may be told


def asked_ranges(text: str, messages: Sequence[Message], index: int, cap: int, memo: Memo) -> list[tuple[int, int]]:
    """Ranges of a text that bear on what the user asked last in front of it, in order, in whole lines.

    What is asked behind it has no say: the text would be cut in another way with each question.

    Args:
        index: of its message.
        cap: tokens that the text may take.
    """
    room = int(_SHARE * cap)
    question = next((m.own for m in reversed(messages[:index]) if m.speaker == "user"), "")
    if messages[index].speaker == "user" or not question.strip() or room < _LEAST:
        return []
    source = Source("tool", text, digest(text))
    found = recall((source,), Question(question), room, (), tokens.BORDER_COUNTER, memo)
    return joined(text, [_in_lines(text, quote.start, quote.end) for quote in sorted(found.quotes)])


def _in_lines(text: str, start: int, end: int) -> tuple[int, int]:
    """A range with the rest of the lines in which it begins and ends, unless these are long."""
    first, last = text.rfind("\n", 0, start) + 1, line_end(text, end)
    return (first if start - first <= _LINE else start), (last if last - end <= _LINE else end)

"""Messages that say what to do with each later one: "classify every message that I send by these rules".

This module recognises such a message. What is done with it is decided in ``fold.course``. Examples of such inputs with their
answers are in ``worked_examples``, orders in single sentences in ``standing.orders``, single words in ``lexicon/inputs.txt``.

Such a message is the program for everything that follows, as worked examples are: no input shares words with the rule that
applies to it.
"""

from __future__ import annotations

from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text import words
from turnfold.compression.text.lexicon import one_of

_ENDS: Final = 2_000  # characters at either end, where people say so
_EACH: Final = one_of("inputs", "each")
_SENDS: Final = one_of("inputs", "sends")
_ANNOUNCES: Final = lazy.pattern(
    rf"(?<![\w'’])(?:(?:{_EACH})(?!\w)[^.!?\n]{{1,60}}?(?<![\w'’])(?:{_SENDS})"
    rf"|(?:{_SENDS})(?!\w)[^.!?\n]{{1,60}}?(?<![\w'’])(?:{one_of('steps', 'one by one')})"
    rf"|{one_of('inputs', 'announces')})(?!\w)|{one_of('inputs', 'announces run-on')}"
)


def announces_inputs(text: str) -> bool:
    """Whether a message says, at one of its ends, what to do with each later message."""
    ends = text if len(text) <= 2 * _ENDS else f"{text[:_ENDS]}\n{text[-_ENDS:]}"
    return _ANNOUNCES.search(words.fold(ends).replace("’", "'")) is not None

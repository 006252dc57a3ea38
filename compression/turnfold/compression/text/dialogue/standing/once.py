"""Orders for one thing or one time: "for this letter only", "just this once".

This module tells whether a sentence confines itself in this way. What makes it an order is decided in ``orders``; the words are
in ``lexicon/once.txt``.

The words before "this" and the kind of work after it decide: "in this letter". People keep working in a chat, a project or a
file, so an order for one of these stays in force.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import one_of
from turnfold.compression.text.lower import lower_text

_one_of: Final = partial(one_of, "once")
_THIS_WORK: Final = rf"(?:{_one_of('for')}) (?:{_one_of('this')}) ?(?:{_one_of('works')})"
_ONCE: Final = lazy.pattern(rf"(?<!\w)(?:{_one_of('once')}|{_THIS_WORK})(?!\w)|{_one_of('run-on once')}")


def is_for_once(sentence: str) -> bool:
    """Whether a sentence says that its request applies to one thing or one time only."""
    return _ONCE.search(lower_text(sentence)) is not None

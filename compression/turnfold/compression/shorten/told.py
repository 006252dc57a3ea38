"""What users told in short messages of their own: "I am vegetarian", "We moved it to the 21st".

Lives here: choosing such messages of a block, whole, for the text that stands for it. Does not belong here: what speaks for a
statement (``text.self_statements``), standing orders and the best sentences of a block (``summary``).

A later question may need them without sharing a word with them ("what could I cook tonight?"), or need the newest of several
that contradict each other. A message that asks something is no such statement: its words come back when it is asked again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from turnfold.compression.memo import Memo
from turnfold.compression.text.lower import lower_text, words
from turnfold.compression.text.quotes import Quote, Source
from turnfold.compression.text.self_statements import changes, statement_weight
from turnfold.compression.text.statements import statements

_LONGEST: Final = 240  # characters: what is longer is more than a statement
_LEAST: Final = 0.25
_CHANGED: Final = 0.3  # what a message is worth more that takes an earlier one back
_NODDED: Final = 0.25  # and one that got no more than a nod: it was to be kept, not to be worked on
_NOD: Final = 120  # characters of one, at most
_NEWEST: Final = 0.1  # and the newest of a block
_PER_QUOTE: Final = 3  # tokens of a quote's mark
_ASKS: Final = re.compile(r"[?？؟]")


def told(sources: Sequence[Source], room: int, count: Callable[[str], int], memo: Memo) -> list[Quote]:
    """The most telling of the users' short statements, in order, as many as fit into so many tokens with their marks; of equal
    ones the last."""
    latest: Mapping[str, int] = {source.text: i for i, source in enumerate(sources) if source.role == "user"}
    weighed = ((_weight(sources[i], memo) + _NODDED * _is_nodded(sources, i), i) for i in latest.values())
    ranked = sorted(((weight + _NEWEST * i / len(sources), i) for weight, i in weighed if weight >= _LEAST), reverse=True)
    found: list[Quote] = []
    for _, i in ranked:
        text = sources[i].text
        cost = count(text) + _PER_QUOTE
        if cost <= room:
            room -= cost
            found.append(Quote(i, 0, len(text)))
    return sorted(found)


def _is_nodded(sources: Sequence[Source], index: int) -> bool:
    """Whether a user's message that asks nothing is answered by hardly anything."""
    text, answer = sources[index].text, sources[index + 1] if index + 1 < len(sources) else None
    if answer is None or answer.role != "assistant" or not 0 < len(text) <= _LONGEST or _ASKS.search(text):
        return False
    return len(answer.text) <= _NOD and not _ASKS.search(answer.text)


def _weight(source: Source, memo: Memo) -> float:
    """How much a message speaks for being such a statement; 0 for one that asks."""
    text = source.text
    if source.role != "user" or len(text) > _LONGEST or _ASKS.search(text) or not text.strip():
        return 0.0
    return memo.get(("told", source.key), lambda: _weigh(text))


def _weigh(text: str) -> float:
    best = max((statement_weight(span.of(text)) for span in statements(text).spans), default=0.0)
    return best + _CHANGED * changes(words(lower_text(text)))

"""The sentences of old messages that a context can tell, and what each is worth.

Lives here: finding and weighing them, message by message. Does not belong here: which of them a context tells (``telling``), the
signs by which a statement is known (``text.statements``).

They follow from the messages alone, so they are never stored; and they are whole sentences of the message, so nothing that is
told says more or less than its speaker did.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from turnfold.compression.text.lower import lower_text, words
from turnfold.compression.text.orders import is_standing_order
from turnfold.compression.text.self_statements import fact_weight, statement_weight
from turnfold.compression.text.sentences import sentences
from turnfold.compression.text.signals import signal_weight
from turnfold.compression.text.spans import Span
from turnfold.compression.text.words import fold, run_on_terms, term

Count = Callable[[str], int]

_PER_MESSAGE: Final = 24  # sentences of one message that can be told
_LARGEST: Final = 400  # tokens of a fence or table that can be told; such blocks go whole or not at all
_BLOCK_WORTH: Final = 0.1
_SIGNALS, _FACTS = 0.3, 0.5  # what signals and facts count for in what an assistant says
_ROLES: Final = {"user": 1.0, "assistant": 0.6}
_OTHER_ROLE: Final = 0.4
_SHORT: Final = 3  # letters of a word that says nothing of what a sentence is about


class ToldSentence(NamedTuple):
    """A sentence that can be told.

    Attributes:
        message: index of its message in the block.
        start, end: its place in the message's content.
        tokens: of its text.
        worth: 0 to about 1.
        is_order: a standing order of a user.
        terms: its longer words, hashed.
    """

    message: int
    start: int
    end: int
    tokens: int
    worth: float
    is_order: bool
    terms: tuple[int, ...]


def told_sentences(messages: Sequence[tuple[str, str]], count: Count) -> tuple[ToldSentence, ...]:
    """The sentences of messages (role, content) that can be told, in order."""
    found: list[ToldSentence] = []
    for number, (role, content) in enumerate(messages):
        weighed = [_weigh(role, content, span) for span in sentences(content)]
        kept = sorted(range(len(weighed)), key=lambda i: (-weighed[i][1], i))[:_PER_MESSAGE]
        for i in sorted(kept):
            (start, end), worth, is_order, terms = weighed[i]
            size = count(content[start:end])
            if start < end and (terms is not None or size <= _LARGEST):
                found.append(ToldSentence(number, start, end, size, worth, is_order, terms or ()))
    return tuple(found)


def _weigh(role: str, content: str, span: Span) -> tuple[tuple[int, int], float, bool, tuple[int, ...] | None]:
    """Place without the white space around it, worth, whether it is an order, and terms (None of a fence or table)."""
    piece = span.of(content)
    start = span.start + len(piece) - len(piece.lstrip())
    piece = piece.strip()
    place = (start, start + len(piece))
    if span.kind:
        return place, _BLOCK_WORTH, False, None
    said = words(lower_text(piece))
    is_order = role == "user" and is_standing_order(piece, said)
    if role == "user":
        worth = statement_weight(piece, said)
    else:
        worth = _SIGNALS * signal_weight(piece, said) + _FACTS * fact_weight(piece)
    return place, worth * _ROLES.get(role, _OTHER_ROLE), is_order, _terms(piece, said)


def _terms(piece: str, said: Sequence[str]) -> tuple[int, ...]:
    longer = {term(word) for word in said if len(word) > _SHORT}
    return tuple(sorted(longer.union(map(int, run_on_terms(fold(piece))))))

"""The statements of old messages that a context can include, and the worth of each.

This module finds and weighs them, message by message. ``telling`` chooses which of them a context includes; the signs of a
statement are in ``text.statements``.

They follow from the messages alone, so they are never stored; and they are whole statements of the message, each with what it
needs, so nothing that is told says more or less than its speaker did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from turnfold.compression.shorten.prose import has_order
from turnfold.compression.text.dialogue.self_statements import changes, fact_weight, statement_weight
from turnfold.compression.text.dialogue.signals import signal_weight
from turnfold.compression.text.lower import lower_text, words
from turnfold.compression.text.spans import Span
from turnfold.compression.text.statements import objects, statements
from turnfold.compression.text.words import fold, run_on_terms, term
from turnfold.compression.tokens import Count

_PER_MESSAGE: Final = 24  # statements of one message that can be told, those that they need aside
_LARGEST: Final = 400  # tokens of a fence or table that can be told; such blocks go whole or not at all
_BLOCK_WORTH: Final = 0.1
_SIGNALS, _FACTS = 0.3, 0.5  # what signals and facts count for in what an assistant says
_ROLES: Final = {"user": 1.0, "assistant": 0.6}
_OTHER_ROLE: Final = 0.4
_CHANGED: Final = 0.2  # what a user's correction with a figure or name in it is worth more
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
        needs: indices of those without which it would say something else, in the same block.
        objects: whether it begins its message and takes back or narrows what the messages before it say.
        leads: whether it only names what follows (a speaker), and is told for that alone.
    """

    message: int
    start: int
    end: int
    tokens: int
    worth: float
    is_order: bool
    terms: tuple[int, ...]
    needs: tuple[int, ...] = ()
    objects: bool = False
    leads: bool = False


def told_sentences(messages: Sequence[tuple[str, str]], count: Count) -> tuple[ToldSentence, ...]:
    """The statements of messages (role, content) that can be told, in order."""
    found: list[ToldSentence] = []
    for number, (role, content) in enumerate(messages):
        read = statements(content)
        weighed = [_weigh(role, content, span, size) for span, size in zip(read.spans, read.sizes, strict=True)]
        best = sorted(range(len(weighed)), key=lambda i: (-weighed[i][1], i))[:_PER_MESSAGE]
        objecting = role != "tool" and objects(content)
        sizes: dict[int, int] = {}
        for i in sorted(read.complete({*best, 0} if objecting else set(best))):
            (start, end), _, _, terms = weighed[i]
            size = count(content[start:end])
            if start < end and (terms is not None or size <= _LARGEST):
                sizes[i] = size
        complete = {i: read.missing(i) for i in sizes}
        tellable = {i: all_of for i, all_of in complete.items() if all_of and all_of <= sizes.keys()}
        at = {i: len(found) + n for n, i in enumerate(tellable)}
        for i, all_of in tellable.items():
            (start, end), worth, is_order, terms = weighed[i]
            needs = tuple(at[k] for k in sorted(all_of) if k != i)
            leads = read.spans[i].kind == "label"
            found.append(
                ToldSentence(number, start, end, sizes[i], worth, is_order, terms or (), needs, objecting and i == 0, leads)
            )
    return tuple(found)


def _weigh(role: str, content: str, span: Span, size: int) -> tuple[tuple[int, int], float, bool, tuple[int, ...] | None]:
    """Place without the white space around it, worth, whether it is an order, and terms (None of a fence or table)."""
    piece = span.of(content)
    start = span.start + len(piece) - len(piece.lstrip())
    piece = piece.strip()
    place = (start, start + len(piece))
    if span.kind:
        return place, _BLOCK_WORTH, False, None
    said = words(lower_text(piece))
    is_order = role == "user" and has_order(piece, said, size)
    if role == "user":
        worth = statement_weight(piece, said) + _CHANGED * (changes(said) and fact_weight(piece) > 0)
    else:
        worth = _SIGNALS * signal_weight(piece, said) + _FACTS * fact_weight(piece)
    return place, worth * _ROLES.get(role, _OTHER_ROLE), is_order, _terms(piece, said)


def _terms(piece: str, said: Sequence[str]) -> tuple[int, ...]:
    longer = {term(word) for word in said if len(word) > _SHORT}
    return tuple(sorted(longer.union(map(int, run_on_terms(fold(piece))))))

"""What happened to each message of a conversation, for `turnfold inspect`.

This module accounts for changes, and for changes to already changed requests, but makes none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from turnfold.compression.fold.ask import Recall
from turnfold.compression.fold.writing.drafts import Section
from turnfold.compression.wire.changes import Changes
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.standing import order


@dataclass(frozen=True, slots=True)
class Account:
    """What was done to a conversation's messages, by their indices in the request as received.

    Attributes:
        kept: the forwarded messages, in order, with or without changed texts.
        beside: messages with inserted text next to their own.
        section_of: the folded section of a message.
        recalls: the quotes after a user message.
        breakpoint: the message on which Turnfold set a cache breakpoint.
    """

    kept: tuple[int, ...]
    beside: frozenset[int] = frozenset()
    section_of: Mapping[int, Section] = field(default_factory=dict)
    recalls: Mapping[int, Recall] = field(default_factory=dict)
    breakpoint: int | None = None

    def after(self, changes: Changes, made_in: Conversation) -> Account:
        """The account after these changes to the request forwarded so far."""
        gone = {i for a, b in changes.dropped for i in range(a, b)}
        return replace(
            self,
            kept=tuple([self.kept[place] for place in order(made_in, gone)]),
            beside=self.beside | {self.kept[place] for place in changes.beside},
            breakpoint=self.breakpoint if changes.breakpoint is None else self.kept[changes.breakpoint],
        )

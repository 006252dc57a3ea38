"""Passages quoted word for word from earlier messages.

These are the values that recall and summaries pass to whatever renders them. Passages are chosen in ``recall`` and
``shorten.summary``.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Quotable(Protocol):
    """What can be quoted: a `Source`, or a message itself."""

    @property
    def role(self) -> str:
        """As of `Source`."""

    @property
    def text(self) -> str:
        """As of `Source`."""

    @property
    def key(self) -> bytes:
        """As of `Source`."""

    @property
    def name(self) -> str:
        """As of `Source`."""

    @property
    def text_tokens(self) -> int | None:
        """Tokens of the text by the border counter, where they are known already."""

    @property
    def answered_call(self) -> str:
        """As of `Source`."""


class Source(NamedTuple):
    """A folded message as a text that can be quoted.

    Attributes:
        role: the message's role ("user", "assistant", "tool", ...).
        text: its text content, parts joined by a newline, tool-call arguments behind it.
        key: content digest of role and text, for memoising what is derived from it.
        name: who speaks in that role, where the message says so beside its text; "" where it doesn't.
        answered_call: of a tool's result the call that it answers, in short (``recall.call_labels``); "" where that is not known.
    """

    role: str
    text: str
    key: bytes
    name: str = ""
    answered_call: str = ""

    @property
    def text_tokens(self) -> int | None:
        """As of `Quotable`: nobody has counted it."""
        return None


class Quote(NamedTuple):
    """A verbatim range ``sources[source].text[start:end]``; ordered as the conversation is."""

    source: int
    start: int
    end: int

    def overlaps(self, other: Quote) -> bool:
        """Whether it shares characters with another one of its source."""
        return self.source == other.source and self.start < other.end and other.start < self.end

    def is_in(self, other: Quote) -> bool:
        """Whether another quote of the same source contains all of it."""
        return self.source == other.source and other.start <= self.start and self.end <= other.end

"""The unit: what a fold knows of a run of messages that are kept or folded together."""

from __future__ import annotations

from typing import Final, NamedTuple

from turnfold.compression.text.dialogue.wanted.row_requests import NEEDS_OTHERS, are_about, names_rows

#: No words for rows, or about them.
NO_TERMS: Final = frozenset[str]()


class Unit(NamedTuple):
    """Messages ``start..end`` that are kept or folded together: one message, and the tool results after it.

    Attributes:
        tokens: tokens of all of them by the border counter.
        facts: approximate tokens at FACTS, estimated from roles and sizes.
        is_user: whether it is a user message to whose content text can be added.
        pinned: whether it is a system or developer message.
        asks: whether a request may end here: a user message, or an answered tool call.
        marked: whether the client set a cache mark in it.
        attached: whether a user's or assistant's message in it has a part that is not text, or one of its messages must stay
            unchanged; such a unit is never folded.
        reasons: whether it has signed reasoning.
        kept: whether it must stay unchanged, even under a budget.
        lines: tokens of its results from which lines are copied, such as files; from records, values are copied.
        interrupted: whether it has a user's message between a call and its late result.
        wordless: whether it is a user message without words, such as a picture: the question precedes it.
        reports: whether a user's message in it contains program output.
        in_doubt: whether a later message may tell, or has told, that it does.
        hands_over: whether it is a user's message in which a client supplies the current contents of files.
        wants_all: whether it is a user's message that requests a summary to replace the conversation.
        goes_over: whether it is a user's message about all entries that users have kept.
        entry: approximate tokens as a quote, if it is a user's short message that states something; otherwise 0.
        forms: for a single message of a user or the assistant, the forms that worked examples share.
        announces: whether it is the user's first message and gives instructions for each later message, or for all answers.
        rows: words that may describe the rows of a table or list, if that is most of it; otherwise empty.
        tallies: words that a user's message about all rows uses for them; empty for other messages, or if no message up to it has
            rows.
    """

    start: int
    end: int
    tokens: int
    facts: int
    is_user: bool
    pinned: bool
    asks: bool
    marked: bool
    attached: bool
    reasons: bool = False
    kept: bool = False
    lines: int = 0
    interrupted: bool = False
    wordless: bool = False
    reports: bool = False
    in_doubt: bool = False
    hands_over: bool = False
    wants_all: bool = False
    goes_over: bool = False
    entry: int = 0
    forms: tuple[str, ...] = ()
    announces: bool = False
    rows: frozenset[str] = NO_TERMS
    tallies: frozenset[str] = NO_TERMS

    def works_on(self, other: Unit) -> bool:
        """Whether it asks for something that may need all rows of another unit, and probably nothing else."""
        return not self.tallies.isdisjoint(other.rows) and are_about(self.tallies, other.rows)

    def tells_rows_of(self, other: Unit) -> bool:
        """Whether it names values of some rows of another unit and needs no others: "the average in Berlin"."""
        return NEEDS_OTHERS not in self.tallies and names_rows(self.tallies, other.rows)


def without_rows(units: tuple[Unit, ...]) -> tuple[Unit, ...]:
    """The units as if none had a table: a budget has no room for rows that nobody needs now."""
    return tuple([u._replace(rows=NO_TERMS) if u.rows else u for u in units]) if any(u.rows for u in units) else units

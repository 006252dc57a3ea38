"""Reading a unit from its messages: their sizes, and what their texts mean for a fold.

Which messages belong together is decided in ``grouping``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.fold.shape import ShapedResult
from turnfold.compression.fold.units.unit import NO_TERMS, Unit
from turnfold.compression.shorten.facts import facts_tokens
from turnfold.compression.shorten.steps import tells_and_asks
from turnfold.compression.text import words
from turnfold.compression.text.dialogue.announced_inputs import announces_inputs
from turnfold.compression.text.dialogue.handed_files import hands_over_files
from turnfold.compression.text.dialogue.requests import asks_for_compaction
from turnfold.compression.text.dialogue.standing.orders import standing_orders
from turnfold.compression.text.dialogue.wanted.entry_requests import asks_over_entries
from turnfold.compression.text.dialogue.wanted.row_requests import row_terms, tally_terms
from turnfold.compression.text.dialogue.worked_examples import answer_forms, input_forms
from turnfold.compression.text.records import hold_data, main_rows, rows
from turnfold.compression.wire.message import Message

_LOOKED_AT: Final = 4000  # characters of a result from which its kind is determined
_LONGEST_REQUEST: Final = 20_000  # characters of a request for a summary; those of agents have up to 6,000
_LEAST_ROWS: Final = 300  # tokens of a message whose rows are examined
_LONGEST_OVER_ALL: Final = 300  # characters of a question about all kept entries
_LONGEST_ENTRY: Final = 100  # characters of an entry
_ASKS: Final = lazy.pattern(r"[?？؟]")
_LEAST_RULES: Final = 60  # tokens of a message with instructions for each later message
_MOST_RULES: Final = 4_000
_MOST_TASK: Final = 400  # tokens of a message with instructions for all answers, and of the answer to it
_FEWEST_RULES: Final = 2  # rules for all messages, from which the first message is a task for the whole conversation
_MOST_EXAMPLE: Final = 1500  # tokens of an example's input or answer


def read_unit(
    messages: Sequence[Message],
    results: Mapping[int, ShapedResult],
    kept: frozenset[int],
    start: int,
    end: int,
    *,
    has_rows: bool,
) -> Unit:
    """The unit of these messages; `has_rows` says whether an earlier one has rows."""
    first = messages[start]
    if end > start + 1 or first.is_result or first.attached or start in kept:
        return _joined(messages[start:end], [results.get(i, messages[i]).tokens for i in range(start, end)], kept, start)
    held = _rows(first)
    return Unit(
        start,
        end,
        tokens=first.tokens,
        facts=_facts(first, first.tokens),
        is_user=_takes_text(first),
        pinned=first.pinned,
        asks=first.role == "user",
        marked=first.marked,
        attached=False,
        reasons=first.reasoning is not None,
        interrupted=_interrupts(first),
        in_doubt=first.in_doubt,
        hands_over=first.role == "user" and hands_over_files(first.text),
        wants_all=_wants_all(first),
        goes_over=_goes_over(first),
        entry=_entry(first),
        forms=_forms(first),
        announces=_announces(messages, start),
        rows=held,
        tallies=_tallies(first) if has_rows or held else NO_TERMS,
    )


def _joined(messages: Sequence[Message], sizes: Sequence[int], kept: frozenset[int], start: int) -> Unit:
    """The unit of messages that must stay together or are not only text, from the index `start` on.

    It is no entry, example or set of rules, since these are single messages of text.
    """
    first, last, end = messages[0], messages[-1], start + len(messages)
    stays = not kept.isdisjoint(range(start, end))
    return Unit(
        start,
        end,
        tokens=sum(sizes),
        facts=sum(map(_facts, messages, sizes)),
        is_user=_takes_text(first),
        pinned=first.pinned,
        marked=any(m.marked for m in messages),
        attached=stays or any(m.attached and not m.is_result for m in messages),
        asks=last.role == "user" or last.is_result,
        reasons=any(m.reasoning is not None for m in messages),
        kept=stays,
        interrupted=any(map(_interrupts, messages)),
        lines=sum(size for m, size in zip(messages, sizes, strict=True) if m.is_output and not _holds_records(m.text)),
        wordless=first.role == "user" and bool(first.attached) and not first.own.strip(),
        reports=any(m.reports for m in messages),
        in_doubt=any(m.in_doubt for m in messages),
        hands_over=len(messages) == 1 and first.role == "user" and not first.reports and hands_over_files(first.text),
        wants_all=_wants_all(last),
        rows=next((said for m in messages if m.is_result and (said := _rows(m))), NO_TERMS),
    )


def _takes_text(message: Message) -> bool:
    """Whether it is a user's message to whose content text can be added."""
    return message.role == "user" and message.holds and not message.fixed


def _interrupts(message: Message) -> bool:
    """Whether it is a user's message between a call and its late result."""
    return message.bound and message.speaker == "user" and message.holds


def _wants_all(message: Message) -> bool:
    """Whether a message requests a summary that replaces the conversation."""
    if message.role != "user" or message.reports or len(message.own) > _LONGEST_REQUEST:
        return False
    return asks_for_compaction(words.fold(message.own))


def _goes_over(message: Message) -> bool:
    """Whether a message asks about all entries that users have kept. Long messages don't count."""
    if message.role != "user" or message.reports or len(message.own) > _LONGEST_OVER_ALL:
        return False
    return asks_over_entries(words.fold(message.own))


def _entry(message: Message) -> int:
    """Tokens of a user's short message that states something; 0 for other messages."""
    if message.role != "user" or not 0 < len(message.own) <= _LONGEST_ENTRY:
        return 0
    return message.tokens if not _ASKS.search(message.own) or tells_and_asks(message.own) else 0


def _forms(message: Message) -> tuple[str, ...]:
    """The forms of a message that may be part of a worked example."""
    if message.has_calls or message.sealed or message.attached or message.tokens > _MOST_EXAMPLE:
        return ()
    return input_forms(message.own) if message.role == "user" else answer_forms(message.own)


def _announces(messages: Sequence[Message], at: int) -> bool:
    """Whether a message is the user's first, and gives instructions for each later one or for all answers."""
    message = messages[at]
    if message.role != "user" or message.reports or not _LEAST_RULES <= message.tokens <= _MOST_RULES:
        return False
    if next((i for i, one in enumerate(messages) if one.role == "user"), at) != at:
        return False
    is_short = all(one.tokens <= _MOST_TASK for one in messages[at : at + 2])
    return announces_inputs(message.own) or (is_short and len(standing_orders(message.own)) >= _FEWEST_RULES)


def _rows(message: Message) -> frozenset[str]:
    """Words that may describe the rows of a table or list, if a message is mostly that; a short one is kept anyway."""
    if message.pinned or message.reports or message.tokens < _LEAST_ROWS:
        return NO_TERMS
    runs = main_rows(message.own)
    if not runs or (message.role != "user" and not hold_data(message.own, runs)):
        return NO_TERMS
    return row_terms(message.own, runs)


def _tallies(message: Message) -> frozenset[str]:
    """Words for all rows in a user's message about them, if it has no rows of its own."""
    if message.role != "user" or message.reports:
        return NO_TERMS
    text = message.own
    for start, end in reversed(rows(text) if message.tokens >= _LEAST_ROWS else ()):
        text = text[:start] + text[end:]
    return tally_terms(text)


def _facts(message: Message, size: int) -> int:
    """Approximate tokens at FACTS of a message with `size` tokens. A sealed message is not shortened, except for removed
    reasoning.
    """
    if message.sealed and message.reasoning is None:
        return size
    return min(size, facts_tokens(message.speaker, message.tokens, message.own, calls=message.has_calls))


def _holds_records(text: str) -> bool:
    """Whether a result is JSON with values. JSON with line breaks in its strings is the wrapped text of a file."""
    beginning = text[:_LOOKED_AT].lstrip()
    return beginning[:1] in ("{", "[") and "\\n" not in beginning

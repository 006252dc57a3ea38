"""Units: what a conversation may be cut into.

Lives here: grouping messages so that a tool call and its results stay together. Must not: where borders fall (see ``plan``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from turnfold.compression.conversation.messages import Message
from turnfold.compression.shorten.facts import facts_tokens


@dataclass(frozen=True, slots=True)
class Unit:
    """Messages ``start..end`` that are kept or folded together: one message, and the tool results that follow it.

    Attributes:
        tokens: tokens of all of them by the border counter.
        facts: about the tokens that they take at FACTS, from roles and sizes alone.
        is_user: whether it is a user message beside whose content text can stand.
        pinned: whether it is a system or developer message.
        asks: whether a request may end here: a user message, or an answered tool call.
        marked: whether the client set a cache mark in it.
    """

    start: int
    end: int
    tokens: int
    facts: int
    is_user: bool
    pinned: bool
    asks: bool
    marked: bool


def units(messages: Sequence[Message]) -> tuple[Unit, ...]:
    """Group messages into units; every message is in exactly one, in order.

    A system message that somebody put between a call and its results does not part them. A user message without content, which
    has no room for text of ours and does not answer for what was folded before it, goes with the message before it.
    """
    starts = [i for i, m in enumerate(messages) if i == 0 or not (m.is_result or _inside(messages, i) or _is_blank(m))]
    return tuple(_unit(messages, a, b) for a, b in zip(starts, [*starts[1:], len(messages)], strict=True))


def _is_blank(message: Message) -> bool:
    return message.role == "user" and not message.holds


def _inside(messages: Sequence[Message], index: int) -> bool:
    return messages[index].pinned and index + 1 < len(messages) and messages[index + 1].is_result


def _unit(messages: Sequence[Message], start: int, end: int) -> Unit:
    first, last = messages[start], messages[end - 1]
    inside = messages[start:end]
    return Unit(
        start,
        end,
        tokens=sum([m.tokens for m in inside]),
        facts=sum([facts_tokens(m.role, m.tokens, calls=m.has_calls) for m in inside]),
        is_user=first.role == "user" and first.holds,
        pinned=first.pinned,
        marked=any([m.marked for m in inside]),
        asks=last.role == "user" or last.is_result,
    )

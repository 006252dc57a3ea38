"""Signed thinking, and the limits that it sets for a fold.

This module knows which models bind a thinking block to the text before it, and decides which messages lose their thinking. When a
fold event may fall is up to ``replay``; removing the blocks from the JSON is up to the format.

"Preserved thinking" (Anthropic): a block that is sent back is valid only while everything in front of it is what was sent when it
was produced, other thinking included. So a fold event takes all earlier thinking out, and in between requests only append.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.claude_names import claude_name
from turnfold.compression.fold.plan import Plan
from turnfold.compression.fold.units.unit import Unit
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.changes import Changes
from turnfold.compression.wire.message import Message, Messages


@dataclass(frozen=True, slots=True)
class _Bound:
    """Models that bind thinking: families that all do, and the version from which every family does."""

    families: frozenset[str]
    since: tuple[int, int]


# Anthropic, "Preserved thinking": Fable, Opus 5.5, Sonnet 5.5, Haiku 5.5; Claude 5.1 and later.
_CLAUDE: Final = _Bound(frozenset({"fable"}), (5, 1))
# The API's answer in this case.
_REFUSED: Final = lazy.pattern(rb"Invalid `signature` in `thinking` block")
_MISSED: Final = lazy.pattern(rb"must start with a thinking block")


def binds_thinking(model: str) -> bool:
    """Whether a model accepts a thinking block only after the messages it was produced from."""
    name = claude_name(model)
    return name is not None and (name.family in _CLAUDE.families or name.version >= _CLAUDE.since)


def refuses_thinking(status: int, body: bytes) -> bool:
    """Whether an upstream's answer says that a thinking block does not fit the messages before it ("Preserved thinking")."""
    return status == 400 and _REFUSED.search(body) is not None


def misses_thinking(status: int, body: bytes) -> bool:
    """Whether an upstream's answer says that a running turn lacks its thinking, as it may not where thinking is `enabled`."""
    return status == 400 and _MISSED.search(body) is not None


def decided(units: Sequence[Unit], plan: Plan, options: FoldOptions) -> int:
    """Number of messages when the current fold was decided: through its newest event.

    Under a budget a fold may change with every user message, so that is through the last of these.
    """
    if not plan.events:
        return 0
    unit = plan.moved
    if options.budget is not None:
        unit = max(unit, max((i for i, u in enumerate(units) if u.is_user), default=0))
    return units[unit].end


def unsigned(messages: Messages, units: Sequence[Unit], plan: Plan, options: FoldOptions) -> frozenset[int]:
    """Messages whose thinking is removed: all up to the fold's decision.

    The thinking of a tool loop in progress then is left to the provider, which drops it.
    """
    if not options.preserved_thinking:
        return frozenset()
    end = decided(units, plan, options)
    if options.drops_thinking:
        end = max((u.start for u in units if u.is_user and u.end <= end), default=0)
    return frozenset(i for i in messages.reasoning if i < end)


def dropping(changes: Changes, messages: Sequence[Message], end: int) -> Changes:
    """The changes, asking the provider to drop thinking if messages before `end` still have some."""
    gone = changes.gone | changes.unsigned
    asks = any(m.reasoning is not None for i, m in enumerate(messages[:end]) if i not in gone)
    return replace(changes, drops_thinking=True) if asks else changes


def without_thinking(changes: Changes, messages: Sequence[Message], indices: frozenset[int]) -> Changes:
    """The changes with the thinking of these messages removed; a message without other content is removed."""
    if not indices:
        return replace(changes, unsigned=indices)
    empty = (i for i in sorted(indices - changes.gone) if (found := messages[i].reasoning) is not None and not found.bare)
    return replace(changes, dropped=(*changes.dropped, *((i, i + 1) for i in empty)), unsigned=indices)


def all_thinking(messages: Sequence[Message], model: str, bound: bool | None = None) -> frozenset[int]:
    """Messages that lose their thinking if anything before it may change: all that have some.

    Args:
        bound: whether the model binds thinking; None: decided by its name.
    """
    if not (binds_thinking(model) if bound is None else bound):
        return frozenset()
    return frozenset(i for i, m in enumerate(messages) if m.reasoning is not None)


def first_thought(units: Sequence[Unit]) -> int | None:
    """Index of the first unit with thinking in the latest turn; None if there is none."""
    last = next((i for i in range(len(units) - 1, -1, -1) if units[i].is_user), len(units))
    return next((i for i in range(last + 1, len(units)) if units[i].reasons), None)

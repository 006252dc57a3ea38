"""Where the blocks of the conversation's state go.

This module decides which user messages get a block when some of them are folded, and counts the tokens of blocks. The state, and
what a block says, are in ``turnfold.compression.state``.

A block stands in front of the user message that brought the change. When that message is folded, its block goes with it, and the
state up to there is carried in front of the first user message that is kept behind the fold. It depends on the messages up to the
border alone, so it keeps its bytes until the next fold event. The last block of a request is in force.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence

from turnfold.compression import tokens
from turnfold.compression.fold.plan import Plan
from turnfold.compression.fold.units.unit import Unit
from turnfold.compression.memo import Memo, digest
from turnfold.compression.options import StateBlocks


def place_blocks(units: Sequence[Unit], plan: Plan, state: StateBlocks) -> Mapping[int, str]:
    """Blocks by the index of the user message that they precede."""
    out: dict[int, str] = {}
    if not state.pins:
        return out
    users = [u.start for u in units if u.is_user]
    pins = _block_places(users, state)
    for start, end, behind_fold in _raw_runs(plan, len(units)):
        first = _first_message(units, start)
        if behind_fold and (at := bisect_right(users, first)):  # the message there, or the kept one that it answers
            first = users[at - 1]
            if carried := state.carried(first):
                out[first] = carried
        last = _first_message(units, end)
        out |= {index: block for index, block in pins.items() if first <= index < last}
    return out


def add_block_tokens(units: tuple[Unit, ...], state: StateBlocks, memo: Memo) -> tuple[Unit, ...]:
    """The units with their blocks' tokens counted, so that a budget covers these too."""
    if not state.pins:
        return units
    pins = _block_places([u.start for u in units if u.is_user], state)
    return tuple(
        u._replace(tokens=u.tokens + _tokens(pins[u.start], memo)) if u.start in pins and u.is_user else u for u in units
    )


def _tokens(block: str, memo: Memo) -> int:
    return memo.get(("block", digest(block)), lambda: tokens.count(block))


def _block_places(users: Sequence[int], state: StateBlocks) -> dict[int, str]:
    """Pins at user messages that can hold a block; a pin whose message cannot moves to the next that can."""
    out: dict[int, str] = {}
    for index, block in state.pins:
        at = bisect_left(users, index)
        if at < len(users):
            out[users[at]] = block
    return out


def _raw_runs(plan: Plan, count: int) -> Iterator[tuple[int, int, bool]]:
    """Runs of raw units, and whether folded units precede them."""
    at = 0
    for piece in plan.pieces:
        if piece.start > at:
            yield at, piece.start, at > 0
        at = piece.end
    yield at, count, at > 0


def _first_message(units: Sequence[Unit], unit: int) -> int:
    return units[unit].start if unit < len(units) else units[-1].end if units else 0

"""The shared state of all attempts at a fold of one conversation.

This module holds a conversation with the forms of its results and its units, and what its fold depends on. Plans are made in
``plan``; whatever differs between attempts is in ``attempts``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from turnfold.compression.fold.counts import schema_tokens
from turnfold.compression.fold.keeping import kept_messages
from turnfold.compression.fold.shape import LargeEnough, ShapedResult, large_enough, shape_results
from turnfold.compression.fold.state_blocks import add_block_tokens
from turnfold.compression.fold.units.grouping import units
from turnfold.compression.fold.units.unit import Unit, without_rows
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.conversation import Conversation


class FoldTask(NamedTuple):
    """A conversation that is being folded.

    Attributes:
        cut: the conversation's units.
        results: the forms of its tool results.
        repeats: the first message that may be replaced by a reference to an equal one.
        free: tokens of the budget to leave free for later messages.
    """

    conversation: Conversation
    cut: Sequence[Unit]
    results: Mapping[int, ShapedResult]
    options: FoldOptions
    memo: Memo
    repeats: int = 0
    free: int = 0


def fold_task(conversation: Conversation, options: FoldOptions, memo: Memo) -> FoldTask:
    """A conversation with shaped results, in units whose tokens include the state blocks."""
    messages = conversation.messages
    kept = kept_messages(messages, options)
    shaped, repeats = _shape(conversation, options, memo, kept) if options.shape_results and messages.results else ({}, 0)
    cut = add_block_tokens(units(messages, shaped, memo, kept), conversation.state, memo)
    if options.budget is not None:
        cut = without_rows(cut)
    return FoldTask(conversation, cut, shaped, options, memo, repeats)


def _shape(conversation: Conversation, options: FoldOptions, memo: Memo, kept: frozenset[int]) -> LargeEnough:
    forms = shape_results(conversation.messages, memo, kept)
    return large_enough(conversation.messages, forms, _enough(options), schema_tokens(conversation, options.model, memo))


def _enough(options: FoldOptions) -> int:
    """Tokens of the shortest prompt that the provider caches; 0 if caching makes none cheaper, or a budget is about as small."""
    enough = (options.prices_if_cached or options.prices).cached_from
    return enough if options.budget is None or options.budget > 2 * enough else 0

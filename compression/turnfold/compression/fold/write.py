"""From a plan to a draft of the fold.

The pieces are written by ``writing.piece_writer``, or reused from an earlier request. Borders come from ``replay``; changes to
the request are made in ``changing``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import NamedTuple

from turnfold.compression import tokens
from turnfold.compression.fold import policy
from turnfold.compression.fold.adoption import WantedSummary, message_range
from turnfold.compression.fold.decisions import prefixes
from turnfold.compression.fold.fold_task import FoldTask
from turnfold.compression.fold.keeping import kept_messages
from turnfold.compression.fold.pieces import Piece
from turnfold.compression.fold.plan import Plan
from turnfold.compression.fold.shape import ShapedResult, references
from turnfold.compression.fold.state_blocks import place_blocks
from turnfold.compression.fold.thinking import unsigned
from turnfold.compression.fold.units.unit import Unit
from turnfold.compression.fold.writing.drafts import PICTURES, FoldDraft
from turnfold.compression.fold.writing.piece_writer import PieceWriter, WrittenPieces
from turnfold.compression.memo import begin_alike
from turnfold.compression.options import FoldOptions, Prose, WrittenSummary
from turnfold.compression.wire.message import Message, Messages, family


def draft(given: FoldTask, stays: frozenset[int], plan: Plan, pictures: int = PICTURES) -> FoldDraft:
    """Write the pieces of a plan. Deterministic; pieces written before come from the memo.

    Args:
        stays: indices of units that are forwarded although they are in a piece (``units.staying``).
        pictures: the most folded tool results whose pictures stay.
    """
    conversation, units, results, options, memo = given[:5]
    loose = unsigned(conversation.messages, units, plan, options)
    messages = [m.unsigned if i in loose else m for i, m in enumerate(conversation.messages)] if loose else conversation.messages
    writer = PieceWriter(messages, units, stays, results, options.prose, memo)
    writer.pictures = _newest_pictures(conversation.messages, units[plan.moved].end if plan.events else 0, pictures)
    writer.told = plan.told
    writer.written = {(one.start, one.end): one.text for one in plan.summaries}
    _write_pieces(writer, plan)
    writer.settle(plan.tail, len(units))
    for index, block in place_blocks(units, plan, conversation.state).items():
        writer.beside[index].state = block
    if options.shape_results and plan.tail < len(units):
        seen = units[plan.moved].end if plan.events else 0
        kept = kept_messages(conversation.messages, options).union(range(given.repeats))
        writer.shaped |= references(messages, units[plan.tail].start, seen, kept)
    drafted = FoldDraft(
        tuple(writer.dropped),
        writer.gone,
        writer.shortened,
        writer.shaped,
        dict(writer.beside),
        tuple([section for section, _ in writer.sections]),
        writer.section_of,
        loose,
        pictures=pictures,
    )
    return replace(drafted, wanted=tuple(_wanted(writer, plan, options))) if plan.uses else drafted


def _write_pieces(writer: PieceWriter, plan: Plan) -> None:
    """Write the pieces, or reuse what was written for the same ones, which stay the same between two fold events."""
    if not plan.pieces:
        return
    end = writer.units[plan.tail - 1].end
    given = _GivenPieces(
        writer.messages,
        writer.units,
        plan.tail,
        end,
        plan.pieces,
        plan.summaries,
        writer.prose,
        writer.told,
        writer.pictures,
        {index: form for index, form in writer.results.items() if index < end},
        {unit for unit in writer.stays if unit < plan.tail},
    )
    key = ("pieces", family(writer.messages))
    known: tuple[_GivenPieces, WrittenPieces] | None = writer.memo.find(key)
    if known is not None and known[0].is_same(given):
        writer.take_over(known[1])
        return
    for piece in plan.pieces:
        writer.write(piece)
    writer.gone = frozenset(chain.from_iterable(range(a, b) for a, b in writer.dropped))
    writer.section_of = {index: section for section, indices in writer.sections for index in indices}
    writer.memo.put(key, (given, writer.written_pieces()), lambda kept: 2000 + 220 * end + kept[1].size)


class _GivenPieces(NamedTuple):
    """The input for writing pieces: the first `end` messages, the first `tail` units and the next, and everything else that
    matters.
    """

    messages: Sequence[Message]
    units: Sequence[Unit]
    tail: int
    end: int
    pieces: tuple[Piece, ...]
    summaries: tuple[WrittenSummary, ...]
    prose: Prose
    told: policy.Telling
    pictures: frozenset[int]
    results: Mapping[int, ShapedResult]
    stays: set[int]

    def is_same(self, other: _GivenPieces) -> bool:
        """Whether the same text would be written."""
        if self[2:] != other[2:]:
            return False
        return begin_alike(self.messages, other.messages, self.end) and begin_alike(self.units, other.units, self.tail + 1)


def _wanted(writer: PieceWriter, plan: Plan, options: FoldOptions) -> Iterator[WantedSummary]:
    """Blocks whose quotes contain more than the users' standing orders."""
    adopted = {(one.start, one.end) for one in plan.summaries}
    blocks = {message_range(piece, writer.units): (piece, uses) for piece, uses in plan.uses.items() if piece.anchor is None}
    named = prefixes([m.key for m in writer.messages], [end for _, end in blocks])
    for (start, end), (piece, uses) in blocks.items():
        indices = writer.foldable_indices(piece.start, piece.end)
        if not indices or (start, end) in adopted or any(writer.messages[i].attached for i in indices):
            continue
        quoted, bare = (tokens.count(writer.quotes(indices, orders_only=only)) for only in (False, True))
        raw = sum(writer.messages[i].tokens for i in indices)
        yield WantedSummary(start, end, named[end], tuple(indices), raw, quoted - bare, uses, plan.price, options.prices.write)


def _newest_pictures(messages: Messages, seen: int, most: int) -> frozenset[int]:
    """Results with the newest attachments at the last fold event: of an agent's screenshots, only the last few matter."""
    results = (i for i in reversed(messages.attached) if i < seen and messages[i].is_result)
    return frozenset(islice(results, most))

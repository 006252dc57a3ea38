"""Attachments whose tokens Turnfold cannot count: files, audio, video, and images that an upstream counts in its own way.

This module estimates their weight, and gives a conversation that counts it. Making a request smaller is up to ``fit``; prices of
images are in ``wire.media``, what was learned of weights is in ``calibration``.

Everywhere else they count 0 tokens, and images their documented price. If an upstream names the number of tokens it counted, the
part that the text does not explain is spread over them: those of known weight first, the others by size if known, otherwise
equally.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from turnfold.compression import tokens
from turnfold.compression.calibration import Hidden, Learned
from turnfold.compression.memo import Memo
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.message import Attachment, Message, Messages

_NOTABLE: Final = 0.1  # share of the text's tokens: a smaller difference may be one of vocabularies
_LEAST: Final = 50  # tokens, for the same reason
UNKNOWN_VOCABULARY: Final = 1.5  # upstream tokens / our tokens for most text at worst, if the upstream's counting is unknown


class Attached(NamedTuple):
    """An attachment that may weigh more than we count; as in ``wire.message.Attachment``."""

    source: str
    size: int
    is_unpriced: bool


@dataclass(frozen=True, slots=True)
class Weights:
    """Estimated tokens of attachments, by our own count.

    Attributes:
        per_byte: tokens per byte, of unpriced ones.
        usual: size in bytes assumed for an attachment of unknown size.
        by_source: of those whose weight is known.
    """

    per_byte: float
    usual: float
    by_source: Mapping[str, float] = field(default_factory=dict)

    def of_one(self, one: Attached | Attachment) -> float:
        """Tokens of an attachment."""
        if one.source in self.by_source:
            return self.by_source[one.source]
        return self.per_byte * (one.size or self.usual) if one.is_unpriced else 0.0

    def of(self, message: Message) -> int:
        """Tokens of a message's attachments."""
        return round(sum([self.of_one(one) for one in message.attached]))


def has_unpriced(conversation: Conversation) -> bool:
    """Whether a conversation has attachments that Turnfold cannot count."""
    messages = conversation.messages
    return any(one.is_unpriced for i in messages.attached for one in messages[i].attached)


def attached_in(messages: Messages) -> tuple[Attached, ...]:
    """The attachments of messages that may weigh more than we count: those without a price, or else the images."""
    every = [one for i in messages.attached for one in messages[i].attached]
    found = [one for one in every if one.is_unpriced] or [one for one in every if one.kind == "image" and one.source]
    return tuple(Attached(one.source, one.size, one.is_unpriced) for one in found)


def text_ratio(known: Learned, model: str) -> float:
    """Upstream tokens / our tokens of the text beside attachments.

    If the upstream's vocabulary is unknown, a third of the largest usual difference is assumed: with less, the text might not fit
    after the attachments are removed; with more, the attachments that stay might not.
    """
    if known.ratios or tokens.encoding_for_model(model):
        return known.ratio
    return 1 + (UNKNOWN_VOCABULARY - 1) / 3


def is_notable(excess: float, ours: int) -> bool:
    """Whether an excess is more than vocabularies differ by."""
    return excess > _LEAST and excess > _NOTABLE * ours


def outweighs(attached: Sequence[Attached], ours: int, reported: int, known: Learned, model: str) -> bool:
    """Whether images take clearly more than their price, as far as it is known how the upstream counts text."""
    if not attached or not (known.ratios or tokens.encoding_for_model(model)):
        return False
    return is_notable(reported / known.ratio - ours, ours)


def spread(excess: float, attached: Sequence[Attached], held: Mapping[str, float] | None = None) -> Weights | None:
    """Weights that give attachments `excess` tokens in total; None without attachments or excess.

    Args:
        held: weights that are known, by source.
    """
    if excess <= 0 or not attached:
        return None
    held = held or {}
    known = {one.source: held[one.source] for one in attached if one.source in held}
    total = sum(known.get(one.source, 0.0) for one in attached)
    others = [one for one in attached if one.source not in known]
    if not others and total > 0:
        return Weights(0.0, 1.0, {source: weight * excess / total for source, weight in known.items()})
    if total >= excess or not others:  # what is known is too much, or nothing at all
        known, total, others = {}, 0.0, list(attached)
    usual = _usual_size(others)
    per_byte = (excess - total) / sum([one.size or usual for one in others])
    priced = {one.source: per_byte * (one.size or usual) for one in others if not one.is_unpriced}
    return Weights(per_byte, usual, {**known, **priced})


def _usual_size(attached: Iterable[Attached]) -> float:
    sizes = [one.size for one in attached if one.size]
    return sum(sizes) / len(sizes) if sizes else 1.0


def held_weights(known: Learned, ratio: float) -> dict[str, float]:
    """The weights that were learned, by our own count, where the upstream's text takes `ratio` times ours."""
    return {one.source: one.tokens / ratio for one in known.hidden}


def hidden_in(attached: Iterable[Attached], known: Learned) -> int:
    """Tokens of attachments beyond our own count, by the upstream's, as far as they were learned."""
    if not known.hidden:
        return 0
    held = {one.source: one.tokens for one in known.hidden}
    return sum(held.get(one.source, 0) for one in attached)


def explain(excess: float, attached: Sequence[Attached], known: Learned, ratio: float) -> tuple[Hidden, ...]:
    """What each attachment weighs where all of them take `excess` tokens more than we count, by our own count."""
    held = held_weights(known, ratio)
    weights = spread(excess, attached, held) or Weights(0.0, 1.0)
    return tuple({one.source: Hidden(one.source, round(ratio * weights.of_one(one))) for one in attached if one.source}.values())


def weighed(conversation: Conversation, weights: Weights) -> Conversation:
    """The same conversation with the weights counted, also after changes to it."""

    def read(body: bytes, memo: Memo) -> Conversation:
        return weighed(wire.read(body, memo), weights)

    wire = conversation.wire
    messages = Messages([_weighed_message(message, weights) for message in conversation.messages])
    return replace(conversation, wire=replace(wire, read=read), messages=messages)


def _weighed_message(message: Message, weights: Weights) -> Message:
    weight = weights.of(message) if message.attached else 0
    if not weight:
        return message
    key = message.key + b"weighed" + str(weight).encode()  # memos of the plain message must not be used for it
    return replace(message, key=key, tokens=message.tokens + weight, other_tokens=message.other_tokens + weight)

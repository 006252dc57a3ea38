"""Attachments whose tokens Turnfold cannot count: files, audio, video.

This module estimates their weight, and gives a conversation that counts it. Making a request smaller is up to ``fit``; prices of
images are in ``wire.media``.

Everywhere else they count 0 tokens. If an upstream's error names the number of tokens it counted, the part that the text does
not explain is spread over them: by size if known, otherwise equally.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from turnfold.compression.memo import Memo
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.message import Attachment, Message, Messages


@dataclass(frozen=True, slots=True)
class Weights:
    """Estimated tokens of unpriced attachments.

    Attributes:
        per_byte: tokens per byte.
        usual: size in bytes assumed for an attachment of unknown size.
    """

    per_byte: float
    usual: float

    def of(self, message: Message) -> int:
        """Tokens of a message's unpriced attachments."""
        return round(self.per_byte * sum([one.size or self.usual for one in message.attached if one.is_unpriced]))


def has_unpriced(conversation: Conversation) -> bool:
    """Whether a conversation has attachments that Turnfold cannot count."""
    return bool(_unpriced(conversation.messages))


def spread(excess: float, messages: Messages) -> Weights | None:
    """Weights that give the unpriced attachments of messages `excess` tokens in total; None without attachments or excess."""
    sizes = [one.size for one in _unpriced(messages)]
    if excess <= 0 or not sizes:
        return None
    known = [size for size in sizes if size]
    usual = sum(known) / len(known) if known else 1.0
    return Weights(excess / sum([size or usual for size in sizes]), usual)


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


def _unpriced(messages: Messages) -> Sequence[Attachment]:
    return [one for i in messages.attached for one in messages[i].attached if one.is_unpriced]

"""Tokens of messages and conversations, by a model's own count.

Lives here: sums over messages, each counted once. Does not belong here: vocabularies (``tokens``).
"""

from __future__ import annotations

from turnfold.compression import tokens
from turnfold.compression.memo import Memo, digest
from turnfold.compression.wire.conversation import Conversation, Message


def conversation_tokens(conversation: Conversation, model: str, memo: Memo) -> int:
    """Tokens of a request for a model: messages, 3 for the reply, and the JSON text of tool schemas."""
    schema = conversation.schema
    extra = memo.get(("schema", digest(schema), model), lambda: tokens.count_for_model(schema, model)) if schema else 0
    if tokens.encoding_for_model(model) == tokens.BORDER_ENCODING:
        return 3 + extra + sum([m.tokens for m in conversation.messages])
    return 3 + extra + sum(message_tokens(m, model, memo) for m in conversation.messages)


def message_tokens(message: Message, model: str, memo: Memo) -> int:
    """Tokens of a message, its overhead included."""
    if tokens.encoding_for_model(model) == tokens.BORDER_ENCODING:
        return message.tokens
    family = tokens.encoding_for_model(model) or "unknown"
    return message.other_tokens + memo.get(("count", family, message.key), lambda: tokens.count_for_model(message.text, model))

"""Tokens of messages and conversations, by a model's own count.

Lives here: sums over messages, each counted once. Does not belong here: vocabularies (``tokens``).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from turnfold.compression import tokens
from turnfold.compression.memo import Memo, continued, digest
from turnfold.compression.wire.conversation import Conversation, Message, family


def conversation_tokens(conversation: Conversation, model: str, memo: Memo) -> int:
    """Tokens of a request for a model: messages, 3 for the reply, and the JSON text of tool schemas."""
    schema, messages = conversation.schema, conversation.messages
    extra = memo.get(("schema", digest(schema), model), lambda: tokens.count_for_model(schema, model)) if schema else 0

    def run(known: _TokenSum | None, same: int) -> _TokenSum:
        at, total = known if known is not None and known.messages == same else _NOTHING
        return _TokenSum(len(messages), total + sum([message_tokens(m, model, memo) for m in messages[at:]]))

    key = ("tokens", family(messages), tokens.encoding_for_model(model))
    return 3 + extra + continued(memo, key, messages, run, lambda _: 100, kept=2).tokens


class _TokenSum(NamedTuple):
    """So many messages, and their tokens."""

    messages: int
    tokens: int


_NOTHING: Final = _TokenSum(0, 0)


def message_tokens(message: Message, model: str, memo: Memo) -> int:
    """Tokens of a message, its overhead included."""
    if tokens.encoding_for_model(model) == tokens.BORDER_ENCODING:
        return message.tokens
    vocabulary = tokens.encoding_for_model(model) or "unknown"
    return message.other_tokens + memo.get(
        ("count", vocabulary, message.key), lambda: tokens.counter_for_model(model).with_tail(message.text, memo)
    )

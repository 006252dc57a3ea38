"""Tokens of messages and conversations, by a model's own count.

This module sums over messages, and counts each only once. The vocabularies are in ``tokens``.
"""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import Final

from turnfold.compression import tokens
from turnfold.compression.memo import Memo, continued, digest
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.message import Message, family


def conversation_tokens(conversation: Conversation, model: str, memo: Memo) -> int:
    """Tokens of a request for a model: messages, 3 for the reply, and the JSON text of tool schemas."""
    messages, extra = conversation.messages, schema_tokens(conversation, model, memo)

    def run(known: array[int] | None, same: int) -> array[int]:
        sums = _NOTHING[:] if known is None else known[: same + 1]
        sums.extend(accumulate([message_tokens(m, model, memo) for m in messages[same:]], initial=sums.pop()))
        return sums

    key = ("tokens", family(messages), tokens.encoding_for_model(model))
    return 3 + extra + continued(memo, key, messages, run, lambda sums: 100 + 8 * len(sums), kept=2)[-1]


def schema_tokens(conversation: Conversation, model: str, memo: Memo) -> int:
    """Tokens of the JSON text of its tool schemas for a model."""
    schema = conversation.schema
    return memo.get(("schema", digest(schema), model), lambda: tokens.count_for_model(schema, model)) if schema else 0


#: Running sums of the messages' tokens, initially of none. Sums over the beginning stay valid when the end changes.
_NOTHING: Final = array("q", [0])


def message_tokens(message: Message, model: str, memo: Memo) -> int:
    """Tokens of a message, including its overhead."""
    encoding = tokens.encoding_for_model(model)
    if encoding == tokens.BORDER_ENCODING:
        return message.tokens
    vocabulary = encoding or "unknown"
    return message.other_tokens + memo.get(
        ("count", vocabulary, message.key), lambda: tokens.counter_for_model(model).with_tail(message.text, memo)
    )

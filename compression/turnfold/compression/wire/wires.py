"""Telling the wire formats apart.

This module determines the format of a body when there is no path to tell. Each format is a module of ``wire.formats``.
"""

from __future__ import annotations

from typing import Final

from turnfold.compression import lazy
from turnfold.compression.memo import Memo
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES

#: The type of a tool's block; within a text, the quotes would be escaped.
_TOOL_BLOCK: Final = lazy.pattern(r'"type"\s*:\s*"tool_(?:use|result)"')
#: Top-level keys that only one of two formats with the same array of messages has.
_ANTHROPIC: Final = frozenset({"system", "anthropic_version", "anthropic_beta", "stop_sequences", "thinking"})


def read_any(body: bytes, memo: Memo) -> Conversation:
    """Read a body of any known format.

    Raises:
        FoldRejected: "unparsable" if it has none of them.
    """
    if b'"messages"' not in body and b'"input"' in body:
        return RESPONSES.read(body, memo)
    chat = CHAT.read(body, memo)
    return MESSAGES.read(body, memo) if _is_anthropic(chat) else chat


def _is_anthropic(chat: Conversation) -> bool:
    return not _ANTHROPIC.isdisjoint(chat.keys) or any(_TOOL_BLOCK.search(m.raw) for m in chat.messages if m.is_list)

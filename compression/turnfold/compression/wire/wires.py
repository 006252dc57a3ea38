"""Telling the wire formats apart.

Lives here: which format a body is in where no path says so. Does not belong here: what a format looks like.
"""

from __future__ import annotations

import re
from typing import Final

from turnfold.compression.memo import Memo
from turnfold.compression.wire.chat import CHAT
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.messages import MESSAGES
from turnfold.compression.wire.responses import RESPONSES

#: Where a block says that it is a tool's; inside of a text its quotes would be escaped.
_TOOL_BLOCK: Final = re.compile(r'"type"\s*:\s*"tool_(?:use|result)"')
#: Top-level keys that one format has and the other with the same array of messages has not.
_ANTHROPIC: Final = frozenset({"system", "anthropic_version", "anthropic_beta", "stop_sequences", "thinking"})


def read_any(body: bytes, memo: Memo) -> Conversation:
    """Read a body in whichever format it is.

    Raises:
        FoldRejected: "unparsable" when it is in none.
    """
    if b'"messages"' not in body and b'"input"' in body:
        return RESPONSES.read(body, memo)
    chat = CHAT.read(body, memo)
    return MESSAGES.read(body, memo) if _is_anthropic(chat) else chat


def _is_anthropic(chat: Conversation) -> bool:
    return not _ANTHROPIC.isdisjoint(chat.keys) or any(_TOOL_BLOCK.search(m.raw) for m in chat.messages if m.is_list)

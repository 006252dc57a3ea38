"""One memory of pure results for many tests, as a server has one for all its requests.

It has the memory, and the engine with it. A test of the memory itself, one that compares replicas, and one that gives the engine
keys that are not hashes of the content, needs a memory of its own.

Tests fold the same made-up conversations again and again. A result that depended on what was folded before would fail the laws of
`fold` (a warm memory changes nothing) and each test that compares with a memory of its own.
"""

from __future__ import annotations

from typing import Final

from turnfold.compression.fold import Folded, fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.conversation import Conversation

WARM: Final = Memo(128_000_000)


def warm_fold(conversation: Conversation, options: FoldOptions, memo: Memo) -> Folded:
    """`fold` with this memory, for servers that end with a test."""
    del memo
    return fold(conversation, options, WARM)

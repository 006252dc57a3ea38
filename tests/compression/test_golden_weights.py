"""What each kind of remembered result weighs (``tests.support.golden`` says when to write the file anew).

These tests cover the weights that fill a memo as conversations are folded, shortened and summarised. They leave out what a memo
does with them (``test_memo.py``), whether a body's are about its size (``wire/test_weights.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.compression.fold.test_golden import CLAUDE, HALF, chat_body, tool_run
from tests.support import golden
from tests.support.three_wires import WIRES
from tests.support.weighed_memo import Scales
from turnfold.compression.fit.bound_fold import BoundFold
from turnfold.compression.fit.fit import shrink
from turnfold.compression.fold import fold
from turnfold.compression.memo import Memo, digest
from turnfold.compression.options import FoldOptions
from turnfold.compression.shorten.summary import summarise
from turnfold.compression.text.quotes import Source
from turnfold.compression.tokens import count

# What is known of whole bodies weighs what Python says of their texts, another figure in another version.
LEFT_OUT = "chat"
FILE = Path(__file__).parent / "golden" / "weights.txt"


def _fold(body: bytes, options: FoldOptions, memo: Memo) -> None:
    conversation = WIRES["chat"].wire.read(body, memo)
    fold(conversation, options, memo)
    shrink(conversation, sum(one.tokens for one in conversation.messages) // 3, BoundFold(options, memo))


def test_weights_of_what_is_remembered() -> None:
    chat, tools = golden.conversations()["oncall_en"], tool_run(3)
    quoted = [Source(one["role"], one["content"], digest(one["content"])) for one in chat if isinstance(one["content"], str)]
    lines = []
    fills: dict[str, Callable[[Memo], object]] = {
        "chat": lambda memo: _fold(chat_body(chat), FoldOptions(prices=HALF), memo),
        "budget": lambda memo: _fold(chat_body(chat), FoldOptions(prices=CLAUDE, budget=2000), memo),
        "tools": lambda memo: _fold(chat_body(tools), FoldOptions(prices=HALF), memo),
        "summary": lambda memo: summarise(quoted, 200, count, memo),
    }
    for name, fill in fills.items():
        memo = Scales()
        fill(memo)
        lines += [
            f"{name} {kind}: {len(found)} of {sum(found)}" for kind, found in sorted(memo.weights.items()) if kind != LEFT_OUT
        ]
    golden.agrees(FILE, lines)

"""A request that goes out unfolded although it exceeds its budget says so.

These tests show what a fold says of a budget that it could not meet. They leave out how it meets one (``test_golden.py``).
"""

from __future__ import annotations

from tests.support.overfull import Writer
from tests.support.three_wires import WIRES
from turnfold.compression.fold import fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.formats.messages import MESSAGES


def test_a_turn_whose_thinking_binds_it_says_that_it_exceeds_its_budget() -> None:
    w, messages = Writer(3), [{"role": "user", "content": [{"type": "text", "text": "Find the error."}]}]
    for number in range(8):
        thought = {"type": "thinking", "thinking": w.prose(30), "signature": "c2ln"}
        call = {"type": "tool_use", "id": f"call_{number}", "name": "Read", "input": {"path": f"/src/{number}.py"}}
        result = {"type": "tool_result", "tool_use_id": f"call_{number}", "content": w.prose(600)}
        messages += [{"role": "assistant", "content": [thought, call]}, {"role": "user", "content": [result]}]
    conversation = MESSAGES.read(WIRES["messages"].encode(messages), Memo())
    folded = fold(conversation, FoldOptions(model="claude-sonnet-5-5", budget=3_000), Memo())
    assert not folded.folded
    assert folded.tokens_after > 3_000
    assert folded.reason == "over-budget"

"""One memo for all wires, as in a process that serves them all: what it remembers of one is never taken for another's."""

from __future__ import annotations

import json

import pytest

from turnfold.compression.fold import fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.conversation import Wire
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES

_KEYS: dict[Wire, str] = {CHAT: "messages", RESPONSES: "input", MESSAGES: "messages"}


def _body(wire: Wire, turns: int = 24) -> bytes:
    """The same bytes for each message, on every wire."""
    said = [
        {"role": ("user", "assistant")[i % 2], "content": f"Day {i}: crane {i % 5} lifted {40 + i} crates at pier {i % 3}. " * 8}
        for i in range(2 * turns)
    ]
    asked = {"role": "user", "content": "What did crane 3 lift on day 8?"}
    return json.dumps({"model": "gpt-4o", "max_tokens": 99, _KEYS[wire]: [*said, asked]}).encode()


@pytest.mark.parametrize("budget", [None, 900])
def test_equal_messages_of_other_wires_are_not_mixed_up(budget: int | None) -> None:
    options, shared = FoldOptions(model="gpt-4o", budget=budget), Memo()
    for wire in (*_KEYS, *reversed(_KEYS)):
        alone = Memo()
        expected = fold(wire.read(_body(wire), alone), options, alone)
        assert expected.folded
        assert fold(wire.read(_body(wire), shared), options, shared).body == expected.body

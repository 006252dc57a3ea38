"""What reading a body leaves in memory is counted for about what it takes, on every wire.

These tests show what is put into a memo, held against the body's size. They leave out what a memo does with it.
"""

from __future__ import annotations

import json
from itertools import product
from typing import Any

from tests.support.cases import each
from tests.support.weighed_memo import Weighed
from tests.support.words import prose
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES

FIELDS: dict[str, Any] = {"chat": "messages", "messages": "messages", "responses": "input"}


@each(("wire", "size"), product([CHAT, MESSAGES, RESPONSES], [10, 200]))
def test_a_body_weighs_at_least_its_text_and_not_many_times_that(wire: Any, size: int) -> None:
    said = [{"role": ("user", "assistant")[i % 2], "content": prose(i, "en", size)} for i in range(41)]
    body = json.dumps({"model": "m", "max_tokens": 9, FIELDS[wire.name]: said}).encode()
    memo = Weighed()
    wire.read(body, memo)
    assert min(memo.weights) > 0
    # The body's text, its messages' own, and about as much again around each; a digest and a few numbers where it is short.
    assert 2 * len(body) < sum(memo.weights) < 14 * len(body) + 41 * 4000
    assert max(memo.weights) > 2 * len(body)  # what is kept of the whole body holds each message's text and its value

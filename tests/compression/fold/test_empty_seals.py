"""What seals a message is what a provider signed: null, empty and absent are one, on every wire."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.fold import fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.conversation import Wire
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES

Item = dict[str, Any]

TURNS = 50
FREE = FoldOptions(model="local", prices=CachePrices(1.0, 1.0))


def forwarded(wire: Wire, keys: Item, *blocks: Item) -> tuple[int, list[Item]]:
    """Tokens and messages of a folded chat whose answers have these keys, and these blocks in front of their text."""
    messages: list[Item] = []
    for turn in range(TURNS):
        answer = {"type": "text", "text": prose(1000 + turn, "en", 8)}
        said = {"role": "assistant", "content": [*blocks, answer]} | keys
        messages += [{"role": "user", "content": prose(turn, "en", 8)}, said]
    body = {"model": "local", "max_tokens": 99, "messages": [*messages, {"role": "user", "content": "And now?"}]}
    folded = fold(wire.read(json.dumps(body).encode(), WARM), FREE, WARM)
    assert folded.folded, folded.reason
    return folded.tokens_after, json.loads(folded.body)["messages"]


THOUGHT = "The crane first."
UNSIGNED: list[Item] = [
    {"type": "thinking", "thinking": "", "signature": ""},
    {"type": "thinking", "thinking": THOUGHT, "signature": None},
    {"type": "thinking", "thinking": THOUGHT},
    {"type": "redacted_thinking", "data": ""},
]


@pytest.mark.parametrize("block", UNSIGNED)
def test_thinking_that_nobody_signed_costs_no_savings(block: Item) -> None:
    without, _ = forwarded(MESSAGES, {})
    signed, _ = forwarded(MESSAGES, {}, {"type": "thinking", "thinking": THOUGHT, "signature": "QUJD" * 20})
    unsigned, messages = forwarded(MESSAGES, {}, block)
    assert unsigned < (without + signed) / 2
    assert all(block in message["content"] for message in messages if message["role"] == "assistant")


@pytest.mark.parametrize(
    "keys",
    [
        {"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": ""}]},
        {"reasoning_details": [{"type": "reasoning.text", "text": "", "signature": None, "format": "unknown", "index": 0}]},
        {"extra_content": {"google": {"thought_signature": ""}}},
        {"audio": {"id": None, "data": ""}},
        {"images": [], "annotations": []},
    ],
)
def test_seals_that_hold_nothing_cost_no_savings(keys: Item) -> None:
    without, _ = forwarded(CHAT, {})
    empty, _ = forwarded(CHAT, keys)
    assert abs(empty - without) < 0.1 * without


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "QUJD" * 300}}


@pytest.mark.parametrize(
    "keys",
    [
        {"images": [PICTURE]},
        {"annotations": [{"type": "file", "file": {"hash": "9f3", "content": [{"type": "text", "text": "clause 4.2"}]}}]},
        {"attachments": [{"type": "file", "file": {"file_id": "file-31"}}]},
    ],
)
def test_what_a_message_carries_beside_its_content_stays_with_it(keys: Item) -> None:
    messages: list[Item] = []
    for turn in range(TURNS):
        answer = {"role": "assistant", "content": prose(1000 + turn, "en", 8)}
        messages += [{"role": "user", "content": prose(turn, "en", 8)}, answer | keys if turn == 3 else answer]
    body = {"model": "local", "messages": [*messages, {"role": "user", "content": "And now?"}]}
    folded = fold(CHAT.read(json.dumps(body).encode(), WARM), FREE, WARM)
    assert folded.folded, folded.reason
    assert messages[7] in json.loads(folded.body)["messages"]


def test_a_deeply_nested_value_is_read() -> None:
    nested = "[" * 900 + "]" * 900
    user, answer = '{"role":"user","content":"a"}', f'{{"role":"assistant","content":"b","thinking_blocks":{nested}}}'
    body = f'{{"model":"m","messages":[{user},{answer}]}}'
    assert len(CHAT.read(body.encode(), Memo()).messages) == 2


def test_attachments_beside_the_content_keep_their_order() -> None:
    part = {"type": "image_url", "image_url": {"url": "https://x/a.png"}}
    names = [f"part_{n}" for n in range(12)]
    message = {"role": "assistant", "content": "b", **{name: [part] for name in names}}
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "a"}, message]}).encode()
    assert [one.path[0] for one in CHAT.read(body, Memo()).messages[1].attached] == names

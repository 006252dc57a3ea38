"""What the check of our own output says of pairs that the engine never makes.

``tests.support.golden`` says when to write the files anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any, Final

from tests.support import golden, odd_bodies
from tests.support.block_conversations import Kind, conversation
from tests.support.cases import each
from tests.support.three_wires import WIRES, with_marks
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fold.check import check
from turnfold.compression.fold.thinking import refuses_thinking
from turnfold.compression.memo import Memo
from turnfold.compression.wire.conversation import Conversation

FILES = Path(__file__).parent / "golden"
MEMO = Memo()
LAWS: Final = (
    *(
        "system-changed",
        "last-user-broken",
        "roles-broken",
        "calls-broken",
        "arguments-broken",
        "keys-invented",
        "message-emptied",
    ),
    *("seal-broken", "turn-broken", "message-invented", "marks-invented", "attachment-lost"),
)


def broken(received: Conversation, forwarded: Conversation) -> str:
    """The laws that a pair breaks, each asked alone; the first that is named where all are asked."""
    found = []
    for law in (*LAWS, None):
        try:
            check(received, forwarded, waived=frozenset(LAWS) - {law} if law else frozenset())
        except FoldRejected as rejected:
            found.append(rejected.reason if law else f"({rejected.reason})")
    return " ".join(found) or "-"


def _changed(random: Random, items: list[Any]) -> None:
    """One message gone, twice, moved, with another role, emptied, with a key more, or something else in it."""
    at, other = random.randrange(len(items)), random.randrange(len(items))
    one = items[at] if isinstance(items[at], dict) else {}
    match random.randrange(9):
        case 0:
            del items[at : at + random.randrange(1, 3)]
        case 1:
            items.insert(other, deepcopy(items[at]))
        case 2:
            items[at], items[other] = items[other], items[at]
        case 3:
            one["role"] = random.choice(("user", "assistant", "system", "tool"))
        case 4:
            one["content"] = random.choice(("", [], "Something else.", None))
        case 5:
            one[random.choice(("name", "id", "extra"))] = "x"
        case 6:
            items[at] = odd_bodies.spoiled(one, random.randrange(999))
        case 7:
            one["cache_control"] = {"type": "ephemeral"}
        case _:
            text = json.dumps(one)
            items[at] = json.loads(text.replace("signature", "signed").replace(': \\"', '; \\"').replace("call_1", "call_9"))


def _pairs(wire: str) -> Iterator[tuple[int, bytes, bytes]]:
    key = "input" if wire == "responses" else "messages"
    for seed in golden.some(range(130), 2):
        random = Random(f"{wire} {seed}")
        if seed % 3 == 0:
            body = odd_bodies.body(wire, 4 * seed, 12)
        else:
            messages = conversation(seed % 7, Kind(turns=3, loops=1, sentences=2, thinks=0.9 * (seed % 2), odd=seed % 5 > 1))
            body = WIRES[wire].encode(with_marks(messages, [3]) if seed % 4 == 0 else messages)
        value = json.loads(body)
        if isinstance(value[key], list):
            for _ in range(1 + seed % 2):
                _changed(random, value[key] or [{}])
        yield seed, body, json.dumps(value).encode()


@each("wire", sorted(WIRES))
def test_pairs_of_requests(wire: str) -> None:
    lines = []
    for number, received, forwarded in _pairs(wire):
        try:
            pair = [WIRES[wire].wire.read(one, MEMO) for one in (received, forwarded)]
        except FoldRejected as rejected:
            lines.append(f"{number} can't be read: {rejected.reason}")
            continue
        lines.append(f"{number} {broken(pair[0], pair[1])} | {broken(pair[1], pair[0])}")
    golden.agrees_in(FILES / f"check.{wire}.txt", lines)


def test_refused_thinking() -> None:
    """As an upstream says it, with another status, and with other words."""
    said = b'{"error":{"message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}'
    assert refuses_thinking(400, said)
    assert not any(refuses_thinking(status, said) for status in (200, 401, 399, 500))
    assert not refuses_thinking(400, b'{"error":{"message":"Invalid `signature` in `text` block"}}')

"""Ids of calls as servers write them: some use the same id in every turn, some none.

These tests cover folds of such conversations. They leave out what is shortened in them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise, product
from typing import Final

from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.known_folds import fold_request
from tests.support.provider_rules import faults, refusals
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.fold import unfold
from turnfold.compression.options import CachePrices, FoldOptions

_IDS: Final[dict[str, Callable[[int], str]]] = {
    "the same in every turn": lambda turn: "call_0",
    "empty": lambda turn: "",
    "two in turn": lambda turn: f"call_{turn % 2}",
    "nine characters": lambda turn: f"aB{turn:07d}",
    "by name and number": lambda turn: f"functions.look:{turn}",
}


def _conversation(name: Callable[[int], str]) -> list[Message]:
    messages: list[Message] = [{"role": "system", "content": "You run the desk."}]
    for turn in range(40):
        call = {"id": name(turn), "type": "function", "function": {"name": "look", "arguments": json.dumps({"hangar": turn})}}
        found = f"{prose(turn, 'en', 6)} The permit of hangar {turn} is HG-{7000 + 13 * turn}. {prose(900 + turn, 'en', 6)}"
        messages += [
            {"role": "user", "content": f"Look at hangar {turn}. {prose(300 + turn, 'en', 3)}"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": name(turn), "content": found},
            {"role": "assistant", "content": prose(500 + turn, "en", 5)},
        ]
    return messages


@each(("budget", "ids"), every(2, crosswise(product([None, 3000], sorted(_IDS)), 5), 1))
def test_calls_keep_their_results(ids: str, budget: int | None) -> None:
    body = encode([*_conversation(_IDS[ids]), {"role": "user", "content": "What is the permit of hangar 11?"}])
    folded = fold_request(body, FoldOptions(model="gpt-4o", budget=budget, prices=CachePrices(1.0, 1.0)), WARM)
    assert len(folded.body) < len(body)
    assert refusals("chat", folded.body) == []
    assert faults("chat", body, folded.body) == []
    assert unfold(folded) == body
    assert "HG-7143" in folded.body.decode()
    sent = folded.forwarded.messages
    for call, result in pairwise(sent):
        for hangar in (json.loads(one.arguments)["hangar"] for one in call.calls):
            others = (f"HG-{7000 + 13 * turn}" for turn in range(40) if turn != hangar)
            assert not any(permit in result.text for permit in others)

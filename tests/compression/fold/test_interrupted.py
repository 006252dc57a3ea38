"""What a user says between a call and its late result (Responses) is the question, as long as no other one comes."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

from tests.support.cases import each
from tests.support.effort import crosswise
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.fold import fold
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.formats.responses import RESPONSES

Item = dict[str, Any]
SAID = "Stop: which bay is free for the ferry from Aarhus?"


def call(number: int, *between: Item) -> list[Item]:
    asked = {"type": "function_call", "call_id": f"c{number}", "name": "look", "arguments": "{}"}
    return [asked, *between, {"type": "function_call_output", "call_id": f"c{number}", "output": prose(number, "en", 13)}]


@each(("loops", "budget"), crosswise(product([0, 3, 12], [400, 1500]), 2))
def test_a_question_inside_a_call_is_never_folded_away(loops: int, budget: int) -> None:
    items: list[Item] = []
    for turn in range(12):
        items += [{"role": "user", "content": prose(turn, "en", 5)}, {"role": "assistant", "content": prose(90 + turn, "en", 5)}]
    items += call(0, {"role": "user", "content": SAID})
    items += [item for number in range(1, loops + 1) for item in call(number)]
    body = json.dumps({"model": "gpt-4o", "input": items}).encode()
    folded = fold(RESPONSES.read(body, WARM), FoldOptions(budget=budget), WARM)
    assert folded.folded
    assert SAID in [one.get("content") for one in json.loads(folded.body)["input"]]
    later = [*items, {"role": "assistant", "content": "Bay 7."}, *[{"role": "user", "content": prose(7, "en", 30)}] * 2]
    again = fold(RESPONSES.read(json.dumps({"model": "gpt-4o", "input": later}).encode(), WARM), FoldOptions(budget=400), WARM)
    assert SAID not in [one.get("content") for one in json.loads(again.body)["input"]]

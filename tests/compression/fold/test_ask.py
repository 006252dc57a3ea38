"""Who gets recall, and from what: results of tools are quoted like anything else, unless they may not be."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.support.bodies import Message, encode
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.fold import Folded
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.recall.tuning import TUNING, UNCACHED

FREE = FoldOptions(model="gpt-4o", prices=CachePrices(1.0, 1.0))
PLATE = "Compressor plate: serial number KX-88213-Q, built in Tampere."


def call(number: int, name: str) -> Message:
    function = {"name": name, "arguments": json.dumps({"unit": number})}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}]}


def inspection(question: str) -> list[Message]:
    """An old look-up among many turns of talk, and a question at the end."""
    messages: list[Message] = [{"role": "user", "content": "Look at unit 4, please."}, call(4, "inspect")]
    messages.append({"role": "tool", "tool_call_id": "c4", "content": f"{PLATE}\n{prose(4, 'en', 20)}"})
    messages.append({"role": "assistant", "content": "I had a look at it; all is in order."})
    for turn in range(40):
        messages += [
            {"role": "user", "content": prose(100 + turn, "en", 6)},
            {"role": "assistant", "content": prose(200 + turn, "en", 7)},
        ]
    return [*messages, {"role": "user", "content": question}]


def last_text(folded: Folded) -> str:
    return folded.forwarded.messages[-1].text


@pytest.mark.parametrize("budget", [900, 1500])
def test_a_serial_number_of_an_old_tool_result_is_recalled(budget: int | None) -> None:
    body = encode(inspection("What is the serial number on the compressor plate?"))
    folded = fold_request(body, replace(FREE, budget=budget), WARM)
    assert f"tool (inspect 4): {PLATE}" in last_text(folded)


@pytest.mark.parametrize("budget", [900, None])
def test_tool_text_that_may_not_be_quoted_is_not(budget: int | None) -> None:
    body = encode(inspection("What is the serial number on the compressor plate?"))
    folded = fold_request(body, replace(FREE, budget=budget, recall_tool_text=False), WARM)
    assert folded.folded
    assert "KX-88213-Q" not in last_text(folded)
    assert "\ntool: " not in last_text(folded)
    assert "\ntool (" not in last_text(folded)


def test_a_question_without_content_is_read_with_what_was_said_before_not_with_tool_results() -> None:
    messages = inspection("Let us speak of the compressor plate and its serial number.")
    messages += [call(9, "wait"), {"role": "tool", "tool_call_id": "c9", "content": "Which of the chants of the abbey?"}]
    messages += [{"role": "assistant", "content": "Gladly."}, {"role": "user", "content": "ok, go on"}]
    folded = fold_request(encode(messages), replace(FREE, budget=1200), WARM)
    assert PLATE in last_text(folded)


def test_recall_is_choosier_where_nothing_is_cached() -> None:
    words = ("berth", "flooded", "gales", "October", "north")
    messages: list[Message] = []
    for day in range(300):
        seen = " and ".join(words[: 1 + day // 20 % 5]) if day % 20 == 3 else "nothing"
        messages += [
            {"role": "user", "content": f"The watch saw {seen}. {prose(1000 + day, 'en', 3)}"},
            {"role": "assistant", "content": prose(day, "en", 3)},
        ]
    body = encode([*messages, {"role": "user", "content": "Was the north berth flooded by gales in October?"}])
    nearly = CachePrices(0.999, 1.0)  # thresholds and budget are the same but for the last digit
    free, cached = (fold_request(body, replace(FREE, prices=prices), WARM) for prices in (CachePrices(1.0, 1.0), nearly))
    texts = [folded.recalls[len(messages)].text for folded in (free, cached)]
    assert UNCACHED.bearing > TUNING.bearing
    assert 0 < len(texts[0]) < len(texts[1])

"""What messages are compressed to under many options, byte for byte (``tests.support.golden`` says when to write anew)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import golden, small_talk
from turnfold.compression import CompressOptions, compress, uncompress

FILES = Path(__file__).parent / "golden"

#: Options, and how many of the newest messages are given: each shows another way of compressing.
OPTIONS: dict[str, dict[str, Any]] = {
    "usual": {},
    "window 0": {"recency_window": 0, "embed_summary_id": True, "source_version": 3},
    "near": {"recency_window": 2, "fuzzy_dedup": True, "fuzzy_threshold": 0.5, "preserve": ["assistant"]},
    "no references": {"recency_window": 6, "dedup": False},
    "half": {"token_budget": 3000, "min_recency_window": 2},
    "tight": {"token_budget": 900, "force_converge": True, "preserve": []},
    "tightest": {"token_budget": 150, "force_converge": True, "embed_summary_id": True},
    "out of reach": {"token_budget": 40, "fuzzy_dedup": True},
}


def with_repeats(messages: list[golden.Message]) -> list[golden.Message]:
    """Some texts said again, word for word or nearly so, names and ids on some messages, parts in one, a call in another."""
    found = [dict(one) for one in messages]
    said = sorted(found[1:], key=lambda one: -len(one["content"]))
    nearly = said[3]["content"].replace("\n", "\n\n", 1) + "\nOne line more."
    again = [{**said[2]}, {**said[3], "content": nearly}, {**said[0], "name": "ines"}]
    parts = {"role": "user", "content": [{"type": "text", "text": said[1]["content"]}, {"type": "text", "text": "Both?"}]}
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    call = {"role": "assistant", "content": said[4]["content"], "tool_calls": calls}
    found[5:5] = [{**again[0], "id": "m-7"}, parts]
    found[9:9] = [again[1], call, {"role": "tool", "tool_call_id": "c", "content": small_talk.FENCE}]
    return [*found, again[2], {"role": "user", "content": "And now?", "index": 4}]


def inputs() -> dict[str, list[golden.Message]]:
    found = {name: with_repeats(messages) for name, messages in golden.conversations().items() if name != "radio_en"}
    found["radio_en"] = golden.conversations()["radio_en"][:44]
    found["chat"] = [*small_talk.talk(12, "Never call the night desk. The code is R-0417.", 4), *small_talk.chat(6)]
    return found


@pytest.mark.parametrize("name", OPTIONS)
def test_options(name: str) -> None:
    lines = []
    for number, (key, messages) in enumerate(inputs().items()):
        if name == "usual" or number % 2 == list(OPTIONS).index(name) % 2:
            made = compress(messages, CompressOptions(**OPTIONS[name], trace=True))
            actions = " ".join(f"{one.action[:2]}{one.after}" for one in made.trace or ())
            lines.append(f"{key}: {golden.name_of(json.dumps(made.as_dict(), ensure_ascii=False))} {made.fits} {actions}")
            assert uncompress(made).messages == messages
    golden.agrees(FILES / f"{name.replace(' ', '_')}.txt", lines)


@pytest.mark.parametrize("name", ["oncall_en", "tenants_de"])
def test_in_full(name: str) -> None:
    made = compress(inputs()[name], {"recency_window": 4, "fuzzy_dedup": True})
    golden.agrees(FILES / f"{name}.txt", [json.dumps(one, ensure_ascii=False) for one in made.messages])

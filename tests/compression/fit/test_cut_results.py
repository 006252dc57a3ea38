"""What is cut of a result beside a folded past: the question is the user's, and the whole text can be had again by its name.

These tests cover results that are too large behind a folded conversation. They leave out a result alone (``test_asked``).
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import pytest

from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression import tokens
from turnfold.compression.fit.fit import fit
from turnfold.compression.fit.middle import cut_middle
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.formats.chat import CHAT

_NOTE: Final = re.compile(r"\[turnfold ([0-9a-f]{12}): \d+ tokens left out\]")
_UNITS: Final = [f"unit-{n}: serial SN-{7919 * (n + 3)}, {prose(n, 'en', 1)[:40]}" for n in range(110)]
_RESULTS: Final = {
    "lines": "\n".join(_UNITS),
    "records": json.dumps({"content": [{"text": json.dumps([{"unit": one} for one in _UNITS])}]}),
    "blocks": "units:\n"
    + "\n".join(f"  unit-{n}:\n    note: {prose(n, 'en', 1)[:60]}\n    serial: SN-{7919 * (n + 3)}" for n in range(110)),
}


@pytest.mark.parametrize("kind", _RESULTS)
@pytest.mark.parametrize("limit", [{"budget": 1500}, {"window": 2400}], ids=["budget", "window"])
def test_a_result_behind_a_folded_past_keeps_what_is_asked_for_and_names_the_rest(kind: str, limit: dict[str, Any]) -> None:
    said: list[dict[str, Any]] = []
    for n in range(14):
        said += [{"role": "user", "content": prose(n, "en", 3)}, {"role": "assistant", "content": prose(90 + n, "en", 8)}]
    call = {"id": "c1", "type": "function", "function": {"name": "fetch", "arguments": "{}"}}
    said += [
        {"role": "user", "content": "Which serial does unit-77 have?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": _RESULTS[kind]},
    ]
    body = json.dumps({"model": "gpt-4o", "max_tokens": 100, "messages": said}).encode()
    made = fit(CHAT.read(body, WARM), FoldOptions(prices=CachePrices(0.5, 1.0), **limit), WARM)
    result = json.loads(made.forwarded.body)["messages"][-1]["content"]
    assert f"SN-{7919 * 80}" in result
    named = _NOTE.search(result)
    assert named
    section = next(one for one in made.sections if one.id == named[1])
    assert json.loads(section.messages[0])["content"] == _RESULTS[kind]


def test_what_is_wanted_is_kept_however_the_lines_fall() -> None:
    lines = [prose(n, "en", 1 + n % 5).replace("\n", " ") for n in range(40)]
    text = "\n".join(lines)
    start = text.index(lines[23])
    count = tokens.count(text)
    for cap in range(150, count, 11):
        assert lines[23] in cut_middle(text, cap, count, [(start, start + len(lines[23]))])

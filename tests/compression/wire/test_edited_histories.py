"""Histories that are cut, edited, or put behind another beginning are read as if nothing had been remembered.

These tests cover one memory for many requests that share parts. They leave out histories that only grow (each wire's own tests).
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.block_conversations import SEEDS, Kind, conversation, kinds
from tests.support.effort import costly
from tests.support.three_wires import WIRES
from turnfold.compression.memo import Memo

#: What a request does with the history of the last one: where, and how.
STEPS = st.lists(
    st.tuples(st.integers(0, 40), st.sampled_from(["cut", "grow", "leave out", "edit", "spread", "before"])), max_size=8
)
HISTORY = {"chat": "messages", "messages": "messages", "responses": "input"}


def written(body: dict[str, Any], history: str, spread: int | None) -> bytes:
    """The body; `spread`: the element with blanks in front."""
    elements = [json.dumps(one) for one in body[history]]
    if spread is not None and elements:
        elements[spread % len(elements)] = "  \n" + elements[spread % len(elements)]
    rest = {key: value for key, value in body.items() if key != history}
    front = json.dumps(rest)[1:-1]
    return f'{{{front}{", " if front else ""}"{history}": [{", ".join(elements)}]}}'.encode()


def changed(element: dict[str, Any]) -> dict[str, Any]:
    """An element with another text where it has a plain one."""
    return {**element, "content": element["content"] + " Again."} if isinstance(element.get("content"), str) else element


@pytest.mark.parametrize("wire", sorted(WIRES))
@costly(4)
@given(SEEDS, kinds(), STEPS)
def test_what_is_known_of_another_history_changes_nothing(wire: str, seed: int, kind: Kind, steps: list[tuple[int, str]]) -> None:
    own = WIRES[wire]
    body = json.loads(own.encode(conversation(seed, kind)))
    history, memo = HISTORY[wire], Memo()
    whole = body[history]
    sent, spread, extra = whole, None, ""
    for at, step in [(0, "grow"), *steps, (0, "grow")]:
        index = at % max(1, len(sent))
        if step == "cut":
            sent = sent[: index + 1]
        elif step == "grow":
            sent = [*sent, *whole[len(sent) :]]
        elif step == "leave out":
            sent = [*sent[:index], *sent[index + 1 :]]
        elif step == "edit":
            sent = [*sent[:index], changed(sent[index]), *sent[index + 1 :]] if sent else sent
        elif step == "spread":
            spread = at
        else:
            extra += "x"
        request = written({"user": extra, **body, history: sent}, history, spread)
        assert own.wire.read(request, memo) == own.wire.read(request, Memo())

"""Preserved thinking as the tests' upstream keeps it.

These tests show what counts as a change in front of a thinking block. There are no folds here.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.cases import each
from tests.support.messages_api import Bindings

_MARK = {"cache_control": {"type": "ephemeral"}}
_THOUGHT = {
    "role": "assistant",
    "content": [{"type": "thinking", "thinking": "", "signature": "s1"}, {"type": "text", "text": "Yes."}],
}


def _body(system: Any, told: Any, *more: dict[str, Any]) -> bytes:
    messages = [{"role": "user", "content": "Is it open?"}, {"role": "system", "content": told}, *more]
    return json.dumps({"system": system, "messages": messages}).encode()


@each(
    "case",
    [
        ("Be brief.", [{"type": "text", "text": "It is Monday."} | _MARK], []),
        ([{"type": "text", "text": "Be brief."} | _MARK], "It is Monday.", []),
        ("Be brief.", "It is Tuesday.", ["s1"]),
        ([{"type": "text", "text": "Be "}, {"type": "text", "text": "brief."}], "It is Monday.", ["s1"]),
    ],
)
def test_instructions_may_be_a_string_or_a_block(case: tuple[Any, Any, list[str]]) -> None:
    system, told, refused = case
    api = Bindings()
    api.answered(_body("Be brief.", "It is Monday."), _THOUGHT)
    assert api.violations(_body(system, told, _THOUGHT, {"role": "user", "content": "And now?"})) == refused

"""Layers of what the proxy folded."""

from __future__ import annotations

import json

from tests.support.cases import each
from turnfold.compression.fold import Section
from turnfold.compression.layers import SectionLayer
from turnfold.proxy.api.section_layers import section_layer

SAID = [
    {"role": "user", "content": "The launch code is MARIGOLD-77. " + "We also talked about the weather for a while. " * 20},
    {"role": "assistant", "content": [{"type": "text", "text": "Noted: MARIGOLD-77."}, {"type": "image_url", "image_url": {}}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "function": {"name": "look_up", "arguments": '{"q": "tide"}'}}],
    },
    {"role": "tool", "content": "high at 14:20 \ud800"},
]
SECTION = Section("s-1", "facts", tuple(json.dumps(message) for message in SAID), 300)


def test_layer_0_is_what_was_sent() -> None:
    whole = section_layer(SECTION, 0)
    assert [json.loads(line) for line in whole.text.split("\n")] == SAID
    assert (whole.section_id, whole.layer, whole.tokens) == ("s-1", 0, 300)


def test_layers_1_and_2_are_made_from_what_was_said() -> None:
    facts, summary = section_layer(SECTION, 1), section_layer(SECTION, 2)
    assert (facts.layer, summary.layer) == (1, 2)
    assert "MARIGOLD-77" in facts.text
    assert 0 < summary.tokens <= facts.tokens < 150
    facts.text.encode()


def test_a_section_without_text_is_empty() -> None:
    image = Section("s-2", "facts", (json.dumps({"role": "user", "content": [{"type": "image_url", "image_url": {}}]}),), 9)
    assert [section_layer(image, layer) for layer in (1, 2)] == [SectionLayer("s-2", 1, "", 0), SectionLayer("s-2", 2, "", 0)]


_REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA" * 40}
_CALL = {"type": "function_call", "call_id": "c1", "name": "tide", "arguments": '{"pier": 9}'}
_CUSTOM = {"type": "custom_tool_call", "call_id": "c2", "name": "chart", "input": "bay 4"}


@each(
    ("raw", "said"),
    [
        (f"{json.dumps(_REASONING)}, {json.dumps(_CALL)}", 'function_call: tide({"pier": 9})'),  # one message, as it came
        (f"{json.dumps(_CUSTOM)},\n{json.dumps(_REASONING)}", "custom_tool_call: chart(bay 4)"),
        (json.dumps({"type": "function_call_output", "output": "High at 14:20."}), "function_call_output: High at 14:20."),
        (json.dumps({"type": "function_call_output", "output": [{"type": "input_text", "text": "Low."}]}), "Low."),
        (
            json.dumps({"role": "assistant", "content": [{"type": "tool_use", "name": "depth", "input": {"bay": "Grüße"}}]}),
            'assistant: depth({"bay": "Grüße"})',
        ),
        (
            json.dumps({"role": "user", "content": [{"type": "tool_result", "content": "It is 8 m wide."}]}),
            "user: It is 8 m wide.",
        ),
        (
            json.dumps({"role": "assistant", "tool_calls": [None, {"function": None}, {"custom": _CUSTOM}]}),
            "assistant: chart(bay 4)",
        ),
    ],
)
def test_what_each_format_says(raw: str, said: str) -> None:
    for layer in (1, 2):
        assert said in section_layer(Section("s-3", "facts", (raw,), 90), layer).text

"""A fold is a bet that may be lost at once: it puts at risk what earlier ones have saved, and a fiftieth of the bill so far."""

from __future__ import annotations

import random
from base64 import b64encode

from benchmarks.bills import Tenant
from benchmarks.support.caches import COLUMNS
from tests.support.bodies import Message
from tests.support.cases import each
from tests.support.effort import every
from tests.support.words import prose
from turnfold.proxy.learning.warming import WarmthMemory


def agent(steps: int, lines: int, manual: int = 400) -> list[Message]:
    """A task that takes many calls, under a manual of so many words."""
    messages: list[Message] = [
        {"role": "system", "content": "Follow the rule. " * manual},
        {"role": "user", "content": "Find it."},
    ]
    for step in range(steps):
        draw = random.Random(step)
        output = "\n".join(f"{k}: crate {draw.randrange(10**6)} stands in bay {draw.randrange(90)}" for k in range(lines))
        call = {"id": f"c{step}", "type": "function", "function": {"name": "look", "arguments": f'{{"bay": {step}}}'}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{step}", "content": output})
    return [*messages, {"role": "assistant", "content": "Found."}]


def chat(turns: int, sentences: int) -> list[Message]:
    messages: list[Message] = [{"role": "system", "content": "Follow the manual. " * 300}]
    for turn in range(turns):
        messages.append({"role": "user", "content": f"What stands in berth {turn}?"})
        messages.append({"role": "assistant", "content": prose(turn, "en", sentences)})
    return messages


KINDS = {"steps": agent(20, 60), "large results": agent(8, 260), "chat": chat(26, 10)}


@each(
    ("kind", "column", "miss"),
    every(
        3,
        [
            ("steps", "gpt-4o", 0.3),
            ("steps", "claude", 0.0),
            ("large results", "gpt-4o", 0.0),
            ("large results", "claude", 0.3),
            ("chat", "gpt-4o", 0.3),
            ("chat", "claude", 0.0),
        ],
    ),
)
def test_a_conversation_that_ends_at_any_request_has_cost_little_more(kind: str, column: str, miss: float) -> None:
    tenant = Tenant("one", COLUMNS[column], WarmthMemory(), miss)
    *_, done = tenant.play(KINDS[kind], 0, 400)
    assert max(done.ends) <= 1.02
    assert done.ratio <= 1.0


def test_what_is_saved_may_be_put_at_risk_again() -> None:
    tenant = Tenant("one", COLUMNS["gpt-4o"], WarmthMemory(), 0.3)
    *_, done = tenant.play(agent(50, 60), 0, 400)
    assert done.ratio < 0.6


def test_pictures_that_stay_are_written_again_by_a_fold_and_count_as_its_stake() -> None:
    png = b64encode(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x02\x00\x00\x00\x02\x00" + bytes(60)).decode()
    messages = chat(26, 12)
    for turn, message in enumerate(messages[1::2]):
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png}", "detail": f"{turn}"}}
        message["content"] = [{"type": "text", "text": message["content"]}, picture]
    tenant = Tenant("one", COLUMNS["gpt-4o"], WarmthMemory(), 0.0)
    *_, done = tenant.play(messages, 0, 400)
    assert max(done.ends) <= 1.02

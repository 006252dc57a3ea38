"""A provider caches no prompt under a least size, so a prompt that would be cached is never made smaller than that."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import pytest

from benchmarks.support.billing_upstream import KeyCache
from benchmarks.support.caches import COLUMNS, render_body
from tests.support.effort import every
from tests.support.words import prose
from turnfold.compression.fold import fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.conversation import Wire
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES
from turnfold.config.fold import fold_options
from turnfold.config.settings import FoldingSettings, Settings

Body = dict[str, Any]
_MOST: Final = 1.016


def records(draw: random.Random, rows: int) -> str:
    """What a lookup returns, sometimes indented."""
    found = [
        {"id": draw.randrange(10**6), "amount": draw.randrange(900), "note": prose(draw.randrange(999), "en", 1)}
        for _ in range(rows)
    ]
    return json.dumps(found, indent=draw.choice([None, 2]))


def log(draw: random.Random, rows: int) -> str:
    """Lines of which many repeat the one before."""
    lines = [f"12:0{draw.randrange(9)} bay {draw.randrange(40)} waits" for _ in range(rows)]
    return "\n".join(line for line in lines for _ in range(draw.choice([1, 1, 5])))


def results(draw: random.Random, rows: int, calls: int) -> Iterator[str]:
    """Results of calls, some of them once more."""
    made: list[str] = []
    for _ in range(calls):
        made.append(draw.choice(made) if made and draw.random() < 0.3 else draw.choice([records, log])(draw, rows))
        yield made[-1]


def tools(count: int) -> Iterator[tuple[str, str, Body]]:
    for number in range(count):
        yield f"lookup_{number}", prose(number, "en", 2), {"type": "object", "properties": {"q": {"type": "string"}}}


def by_chat(model: str, system: str, offered: int, task: str, found: list[str]) -> Iterator[Body]:
    history: list[Body] = [{"role": "system", "content": system}, {"role": "user", "content": task}]
    given = [{"type": "function", "function": {"name": n, "description": d, "parameters": p}} for n, d, p in tools(offered)]
    yield {"model": model, "tools": given, "messages": [*history]}
    for at, text in enumerate(found):
        call = {"id": f"c{at}", "type": "function", "function": {"name": "lookup_0", "arguments": f'{{"q": "{at}"}}'}}
        history += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{at}", "content": text},
        ]
        yield {"model": model, "tools": given, "messages": [*history]}


def by_responses(model: str, system: str, offered: int, task: str, found: list[str]) -> Iterator[Body]:
    """As an agent that hands over to another: its instructions and its tools change."""
    items: list[Body] = [{"role": "user", "content": task}]
    given = [{"type": "function", "name": n, "description": d, "parameters": p} for n, d, p in tools(offered)]
    yield {"model": model, "instructions": f"You triage. {system}", "tools": given[:1], "input": [*items]}
    for at, text in enumerate(found):
        items += [
            {"type": "function_call", "call_id": f"c{at}", "name": "lookup_0", "arguments": f'{{"q": "{at}"}}'},
            {"type": "function_call_output", "call_id": f"c{at}", "output": text},
        ]
        yield {"model": model, "instructions": f"You repair. {system}", "tools": given, "input": [*items]}


def by_messages(model: str, system: str, offered: int, task: str, found: list[str]) -> Iterator[Body]:
    """With a cache mark at the end, as its clients set them."""
    history: list[Body] = [{"role": "user", "content": [{"type": "text", "text": task}]}]
    given = [{"name": n, "description": d, "input_schema": p} for n, d, p in tools(offered)]
    for at, text in enumerate(["", *found]):
        if at:
            use = {"type": "tool_use", "id": f"c{at}", "name": "lookup_0", "input": {"q": f"{at}"}}
            history += [
                {"role": "assistant", "content": [use]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{at}", "content": text}]},
            ]
        end = {**history[-1]["content"][-1], "cache_control": {"type": "ephemeral"}}
        marked = [*history[:-1], {**history[-1], "content": [*history[-1]["content"][:-1], end]}]
        yield {"model": model, "system": system, "tools": given, "messages": marked, "max_tokens": 100}


WIRES = {"chat": (CHAT, by_chat), "responses": (RESPONSES, by_responses), "messages": (MESSAGES, by_messages)}


def worst_end(name: str, wire: Wire, bodies: Iterator[Body]) -> float:
    """The highest bill, relative to that of the same requests without us, if the conversation had ended at any of them."""
    column, memo = COLUMNS[name], Memo(2**24)
    options = fold_options(Settings(folding=FoldingSettings()), column.model)
    tills, bills, ends = (KeyCache(column), KeyCache(column)), [0.0, 0.0], []
    for number, body in enumerate(bodies):
        raw = json.dumps(body).encode()
        for side, sent in enumerate((fold(wire.read(raw, memo), options, memo).body, raw)):
            use = tills[side].take(json.loads(sent), render_body(sent), 30.0 * number)
            prices = column.prices
            bills[side] += prices.read * use.cached + prices.write * use.written + (use.prompt - use.cached - use.written)
        ends.append(bills[0] / bills[1])
    return max(ends)


def conversation(name: str, seed: int) -> tuple[Wire, Iterator[Body]]:
    draw = random.Random(f"{name}/{seed}")
    kinds = ["messages"] if COLUMNS[name].kind == "marks" else ["chat", "responses"]
    wire, made = WIRES[draw.choice(kinds)]
    found = list(results(draw, draw.randrange(4, 40), draw.randrange(1, 12)))
    system = prose(draw.randrange(999), "en", draw.choice([1, 5, 15, 40]))
    return wire, made(COLUMNS[name].model, system, draw.choice([1, 3, 12]), prose(seed, "en", 1), found)


@pytest.mark.parametrize(
    ("name", "seeds"),
    every(
        2,
        [
            ("gpt-4o", range(39, 46)),
            ("gpt-5", range(12)),
            ("gpt-5.6", range(12)),
            ("claude", range(36, 46)),
            ("haiku", range(29, 40)),
        ],
        1,
    ),
)
def test_no_short_tool_conversation_costs_more_wherever_it_ends(name: str, seeds: range) -> None:
    ends = {seed: worst_end(name, *conversation(name, seed)) for seed in every(2, seeds)}
    assert {seed: end for seed, end in ends.items() if end > _MOST} == {}


def test_where_no_cache_is_cheaper_or_a_budget_is_small_results_take_their_small_form_at_once() -> None:
    body = list(by_chat("gpt-4o", "Look it up.", 1, "What is open?", [records(random.Random(1), 12)]))[-1]
    read, memo = CHAT.read(json.dumps(body).encode(), Memo()), Memo()
    cached, free = FoldOptions(prices=CachePrices(0.5, 1.0)), FoldOptions(prices=CachePrices(1.0, 1.0))
    assert fold(read, cached, memo).folded is False
    assert fold(read, free, memo).only_shaped
    assert fold(read, replace(cached, budget=900), memo).only_shaped


def test_tools_in_front_that_are_long_enough_leave_results_free_to_shrink() -> None:
    found = [records(random.Random(1), 12)]
    few, many = (list(by_chat("gpt-4o", "Look it up.", offered, "What is open?", found))[-1] for offered in (1, 60))
    options, memo = FoldOptions(prices=CachePrices(0.5, 1.0)), Memo()
    assert fold(CHAT.read(json.dumps(few).encode(), memo), options, memo).folded is False
    assert fold(CHAT.read(json.dumps(many).encode(), memo), options, memo).only_shaped

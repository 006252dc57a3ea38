"""When has a fold paid for itself, and how often does one happen?

    python -m benchmarks.payback                              # cases of our own
    python -m benchmarks.payback --sets NC_locomo --miss 0.3   # evaluation data, with a cache that is cold at times

Conversations are replayed through the engine (without HTTP); the rest is arithmetic. The cache model is in ``support.caches``.

A fold event is a request that does not repeat more than EVENT tokens of the one before it. Against it stands what would have
been sent without this one fold: the request before, and since then the client's messages as they came. The fold has paid for
itself at the first request at which both have cost the same since the event, itself included; 1 is the event's own request.
A later event, or the end of the conversation, ends the comparison; then the fold counts as not paid.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import median
from typing import Any, Final

from benchmarks.support.caches import COLUMNS, Cache, Column, Prompt, common, render, with_mark
from benchmarks.support.data import conversations, own_cases
from tests.support.bodies import cuts, encode, messages_of
from turnfold.compression.fold import fold_request
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions

Message = dict[str, Any]
Fold = Callable[[bytes], bytes]

EVENT: Final = 2000


@dataclass(frozen=True, slots=True)
class ConversationReplay:
    """One conversation, request by request; `cold` says which requests find the cache cold."""

    received: list[list[Message]]
    forwarded: list[list[Message]]
    prompts: list[Prompt]
    cold: list[bool]


@dataclass(frozen=True, slots=True)
class Event:
    """A fold event: its request, and after how many requests it had paid (None: not before the next event or the end)."""

    at: int
    paid_after: int | None


@dataclass(frozen=True, slots=True)
class PaybackFigures:
    """A column's figures.

    Attributes:
        cost: input cost relative to sending everything, all requests together.
        events_per_100: fold events in a hundred requests.
        paid: share of the events that paid for themselves before the next one or the end.
        median_payback: requests until a fold had paid, over those that did; None when none did.
        slowest_payback: the same, at the ninetieth percentile.
    """

    column: str
    conversations: int
    requests: int
    cost: float
    events_per_100: float
    paid: float | None
    median_payback: float | None
    slowest_payback: float | None


def replay(messages: Sequence[Message], column: Column, fold: Fold, miss: float, seed: str) -> ConversationReplay:
    """Send every request of a conversation through `fold`."""
    draw = random.Random(seed)
    received, forwarded, cold = [], [], []
    for end in cuts(messages):
        request = with_mark(messages[:end]) if column.kind == "marks" else list(messages[:end])
        received.append(request)
        forwarded.append(messages_of(fold(encode(request, model=column.model))))
        cold.append(draw.random() < miss)
    return ConversationReplay(received, forwarded, [render(one) for one in forwarded], cold)


def event_indices(prompts: Sequence[Prompt]) -> list[int]:
    """The requests that do not repeat more than EVENT tokens of the one before them."""
    return [i for i, (old, new) in enumerate(pairwise(prompts), 1) if len(old.tokens) - common(old.tokens, new.tokens) > EVENT]


def _costs(
    column: Column, prompts: Sequence[Prompt], cold: Sequence[bool], cache: Cache | None = None
) -> tuple[list[float], list[Cache]]:
    """The cost of each request, and the cache before each."""
    now = cache or Cache(column)
    costs, before = [], []
    for prompt, is_cold in zip(prompts, cold, strict=True):
        before.append(now)
        cost, now = now.ask(prompt, is_cold)
        costs.append(cost)
    return costs, before


def events_of(column: Column, run: ConversationReplay) -> list[Event]:
    """Every fold event of a replay with its payback."""
    costs, caches = _costs(column, run.prompts, run.cold)
    starts = event_indices(run.prompts)
    found = []
    for start, end in pairwise([*starts, len(run.prompts)]):
        otherwise = [_without_fold(run, start, i) for i in range(start, end)]
        other_costs, _ = _costs(column, otherwise, run.cold[start:end], caches[start])
        found.append(Event(start, _payback(costs[start:end], other_costs)))
    return found


def _without_fold(run: ConversationReplay, start: int, at: int) -> Prompt:
    """What request `at` would have been without the fold at `start`: the request before that, and all that came since."""
    since = run.received[at][len(run.received[start - 1]) :]
    return render([*run.forwarded[start - 1], *since])


def _payback(costs: Sequence[float], otherwise: Sequence[float]) -> int | None:
    balance = 0.0
    for number, (cost, other) in enumerate(zip(costs, otherwise, strict=True), 1):
        balance += other - cost
        if balance >= 0:
            return number
    return None


def measure(column: Column, data: Sequence[Sequence[Message]], fold: Fold, miss: float = 0.0, seed: int = 7) -> PaybackFigures:
    """A column's figures over conversations."""
    spent = plain = 0.0
    events: list[Event] = []
    requests = 0
    for number, messages in enumerate(data):
        run = replay(messages, column, fold, miss, f"{seed}/{number}")
        events += events_of(column, run)
        requests += len(run.prompts)
        spent += sum(_costs(column, run.prompts, run.cold)[0])
        plain += sum(_costs(column, [render(one) for one in run.received], run.cold)[0])
    paid = sorted(event.paid_after for event in events if event.paid_after is not None)
    return PaybackFigures(
        column=column.name,
        conversations=len(data),
        requests=requests,
        cost=round(spent / plain, 4) if plain else 1.0,
        events_per_100=round(100 * len(events) / requests, 2) if requests else 0.0,
        paid=round(len(paid) / len(events), 3) if events else None,
        median_payback=median(paid) if paid else None,
        slowest_payback=paid[min(len(paid) - 1, int(0.9 * len(paid)))] if paid else None,
    )


def engine(column: Column, hit_share: float) -> Fold:
    """The product's fold under a column's prices."""
    options = FoldOptions(
        model=column.model,
        prices=column.prices,
        cache_hit_share=hit_share,
        cache_breakpoints=column.kind == "breakpoint",
    )
    memo = Memo()
    return lambda body: fold_request(body, options, memo).body


def _load(sets: Sequence[str], limit: int, least: int) -> list[list[Message]]:
    found: list[list[Message]] = []
    for name in sets or ["orders"]:
        data = [case["messages"] for case in own_cases(name)] or conversations(name)
        found += [messages for messages in data if len(render(messages).tokens) >= least][: limit or None]
    return found


def main() -> None:
    """Measure and print a line of JSON per column."""
    parser = argparse.ArgumentParser(description="When a fold has paid for itself, by price column.")
    parser.add_argument("--sets", nargs="*", default=[], help="folders of cases, or evaluation sets; default: our own")
    parser.add_argument("--columns", nargs="*", default=list(COLUMNS), choices=list(COLUMNS))
    parser.add_argument("--limit", type=int, default=0, help="conversations per set")
    parser.add_argument("--min-tokens", type=int, default=0)
    parser.add_argument("--miss", type=float, default=0.0, help="share of requests that find the cache cold")
    parser.add_argument("--hit-share", type=float, default=0.7, help="share of cache hits that the fold reckons with")
    args = parser.parse_args()
    data = _load(args.sets, args.limit, args.min_tokens)
    for name in args.columns:
        print(json.dumps(asdict(measure(COLUMNS[name], data, engine(COLUMNS[name], args.hit_share), args.miss))), flush=True)


if __name__ == "__main__":
    main()

"""Sets of our own, sent through a running proxy.

    python -m benchmarks.own_sets                                    # starts a proxy and a recording upstream
    python -m benchmarks.own_sets --base http://127.0.0.1:8420/v1 --upstream-port 9100   # one that forwards to that port

It counts how many of the standing orders planted in old turns are in what is forwarded under a tight budget. ``support.upstream``
records; the cases are in ``cases/orders``, one file per conversation.

An order counts as kept when its whole sentence is forwarded, white space aside: an order that was reworded may have lost the
one word that matters.
"""

from __future__ import annotations

import argparse
import json
import re
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.support.caches import render
from benchmarks.support.data import own_cases
from benchmarks.support.proxy import turnfold
from benchmarks.support.upstream import RecordingUpstream, record_requests
from tests.support.bodies import encode, text_of
from tests.support.structure import structure_faults

Send = Callable[[bytes, dict[str, str]], None]


@dataclass(frozen=True, slots=True)
class FoldedSet:
    """One conversation: tokens that came in and went out, orders planted and kept, faults of structure."""

    name: str
    tokens: int
    budget: int
    forwarded: int
    orders: int
    kept: int
    lost: tuple[str, ...]
    faults: tuple[str, ...]


def prompt_tokens(messages: Sequence[dict[str, Any]]) -> int:
    """Tokens of a prompt: its texts, 3 a message, 3 for the reply."""
    return len(render(messages).tokens) + len(messages) + 3


def kept_orders(orders: Sequence[str], messages: Sequence[dict[str, Any]]) -> list[str]:
    """Those of the orders that stand in the messages, white space aside."""
    there = _flat("\n".join(map(text_of, messages)))
    return [order for order in orders if _flat(order) in there]


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def try_case(case: dict[str, Any], send: Send, recorder: RecordingUpstream, ratio: float, model: str) -> FoldedSet:
    """Send a conversation with a budget of `ratio` of its tokens, and look at what arrived."""
    received = encode(case["messages"], model=model)
    tokens = prompt_tokens(case["messages"])
    budget = int(ratio * tokens)
    send(received, {"x-turnfold-budget": str(budget)})
    body = recorder.bodies[-1]
    orders = [order["text"] for order in case["orders"]]
    kept = kept_orders(orders, body["messages"])
    return FoldedSet(
        name=case["name"],
        tokens=tokens,
        budget=budget,
        forwarded=prompt_tokens(body["messages"]),
        orders=len(orders),
        kept=len(kept),
        lost=tuple(order for order in orders if order not in kept),
        faults=tuple(structure_faults(received, json.dumps(body).encode())),
    )


def sender(base: str) -> Send:
    """Posts chat completions to a proxy."""

    def send(body: bytes, headers: dict[str, str]) -> None:
        every = {"content-type": "application/json", "authorization": "Bearer sk-benchmark"} | headers
        with urllib.request.urlopen(urllib.request.Request(f"{base}/chat/completions", body, every), timeout=120) as answer:
            answer.read()

    return send


def main() -> None:
    """Measure and print a line of JSON per conversation, and the sum."""
    parser = argparse.ArgumentParser(description="Standing orders kept under a tight budget.")
    parser.add_argument("--base", help="a running proxy's base URL; default: one is started")
    parser.add_argument("--upstream-port", type=int, default=0, help="where the recording upstream listens")
    parser.add_argument("--ratio", type=float, default=0.10, help="budget, as a share of the conversation's tokens")
    parser.add_argument("--model", default="gpt-4o")
    args = parser.parse_args()
    with ExitStack() as stack:
        recorder = stack.enter_context(record_requests(args.upstream_port))
        base = args.base or stack.enter_context(turnfold(recorder.url))
        results = [try_case(case, sender(base), recorder, args.ratio, args.model) for case in own_cases("orders")]
    for result in results:
        print(json.dumps(asdict(result), ensure_ascii=False))
    kept, orders = sum(one.kept for one in results), sum(one.orders for one in results)
    ratio = sum(one.forwarded / one.tokens for one in results) / len(results)
    print(json.dumps({"orders": orders, "kept": kept, "mean_ratio": round(ratio, 4)}))


if __name__ == "__main__":
    main()

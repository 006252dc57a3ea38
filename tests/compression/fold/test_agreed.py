"""What an agent and a user have agreed on outlives the tool calls that carry it out.

These tests cover long tool loops under a short "yes", loops over records and over files. They leave out where borders fall.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.compression.fold.test_allowance import agent
from tests.support.bodies import encode, messages_of
from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.known_folds import fold_request
from tests.support.structure import structure_faults
from tests.support.warm import WARM
from turnfold.compression.fold import Folded
from turnfold.compression.fold import fold as run_fold
from turnfold.compression.fold.pieces import answered
from turnfold.compression.fold.units.unit import Unit
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.formats.responses import RESPONSES

Message = dict[str, Any]
HALF = CachePrices(0.5)

PROPOSAL = (
    "I can offer this. First, cancel R2XK27 and refund 312 dollars to the card ending 4417. Second, book HAT588 on 2024-05-19 at "
    "07:40 in seat 14C. Third, waive the change fee because of your gold status. Shall I go ahead with all of it?"
)


def call(name: str, number: int, result: str) -> list[Message]:
    made = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps({"n": number})}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


def flights(seed: int) -> str:
    rng = random.Random(seed)
    rows = (
        {"flight": f"HAT{rng.randint(100, 999)}", "seats": rng.randint(1, 99), "price": rng.randint(10, 999)} for _ in range(6)
    )
    return json.dumps([row | {"origin": "MSP", "destination": "EWR"} for row in rows])


def under_a_yes(proposal: str, calls: int, reply: str) -> list[Message]:
    before = [
        one for n in range(6) for one in [{"role": "user", "content": f"What is the fee of R{n}?"}, *call("fee", n, flights(n))]
    ]
    asked = [
        {"role": "user", "content": "I want to go home earlier. What can you do?"},
        {"role": "assistant", "content": proposal},
        {"role": "user", "content": reply},
    ]
    return [*before, *asked, *(one for n in range(100, 100 + calls) for one in call("search", n, flights(n)))]


def fold(messages: list[Message], prices: CachePrices = HALF, memo: Memo | None = None) -> Folded:
    body = encode(messages, model="gpt-4o")
    found = fold_request(body, FoldOptions(model="gpt-4o", prices=prices, cache_hit_share=0.7), memo or WARM)
    assert structure_faults(body, found.body) == []
    return found


def text(found: Folded) -> str:
    return "\n".join(str(m.get("content")) for m in messages_of(found.body))


@each(
    ("reply", "calls", "prices"),
    every(
        2,
        crosswise(
            [
                (*row, prices)
                for row in [("Yes, go ahead with all of it.", 60), ("yes please", 60), ("好的", 60), ("yes please", 160)]
                for prices in [CachePrices(1.0), HALF]
            ],
            2,
        ),
    ),
)
def test_what_a_yes_agreed_to_stands_while_its_calls_go_on(reply: str, calls: int, prices: CachePrices) -> None:
    found = fold(under_a_yes(PROPOSAL, calls, reply), prices)
    assert found.events
    assert found.tokens_after < 0.6 * found.tokens_before
    assert PROPOSAL in text(found)
    assert reply in text(found)


def test_what_was_answered_stands_in_the_same_piece_right_before_the_answer() -> None:
    """System messages between the two do not count."""
    said = Unit(0, 1, 9, 9, is_user=False, pinned=False, asks=False, marked=False, attached=False)
    asked, pinned = said._replace(is_user=True, asks=True), said._replace(pinned=True)
    assert answered([said, asked], 0, 1) == 0
    assert answered([said, pinned, asked], 0, 2) == 0
    assert answered([asked, said, pinned, pinned, asked], 1, 4) == 1
    assert answered([said, asked], 1, 1) is None, "it lies in the piece before"
    assert answered([said, asked, asked], 0, 2) is None
    assert answered([said._replace(asks=True), asked], 0, 1) is None, "a call"
    assert answered([said._replace(attached=True), asked], 0, 1) is None, "it stands as it is"
    assert answered([said, asked], 0, None) is None


def test_of_a_long_proposal_its_end_stands() -> None:
    long = " ".join(f"Leg {n} leaves from gate {n + 7} of hall {n % 5}." for n in range(120)) + " " + PROPOSAL
    assert PROPOSAL in text(fold(under_a_yes(long, 160, "yes")))


def test_it_moves_nothing_between_two_fold_events() -> None:
    """Each request's messages begin with those of the request before, unless something was folded in between."""
    messages, memo = under_a_yes(PROPOSAL, 60, "yes"), WARM
    before, events = fold(messages[:25], CachePrices(1.0), memo), 0
    for end in range(27, len(messages) + 1, 2):
        now = fold(messages[:end], CachePrices(1.0), memo)
        if now.events == before.events and before.events:
            sent = messages_of(before.body)
            assert messages_of(now.body)[: len(sent)] == sent
        events += now.events > before.events
        before = now
    assert events >= 2


def test_a_loop_over_small_records_keeps_their_values_and_less_raw_text_than_one_over_files() -> None:
    def session(result: Any) -> list[Message]:
        opening = [
            {"role": "system", "content": "You serve travellers."},
            {"role": "user", "content": "Look at all of my bookings."},
        ]
        talk = {
            n: [{"role": "user", "content": said}] for n, said in ((4, "Go on."), (8, "And the others?"), (12, "Next, please."))
        }
        turns = (talk.get(n, []) + call("get", n, result(n)) for n in range(30))
        return [*opening, *(one for turn in turns for one in turn)]

    def record(n: int) -> str:
        names = {"id": f"BK{n:03}", "user": "mara_lind_7557", "status": "confirmed", "cabin": "economy", "seat": f"{n}C"}
        return json.dumps(
            names | {"legs": [{"flight": f"HAT{n}{leg}", "date": f"2024-05-{leg + 10}"} for leg in range(6)]}, indent=2
        )

    def file(n: int) -> str:
        return "\n".join(f"    total_{n} += rate_{n}_{k} * handler_{k}(request.args[{k}], limit={n + k})" for k in range(14))

    records, files = fold(session(record), CachePrices(1.0)), fold(session(file), CachePrices(1.0))
    assert records.events
    assert records.tokens_after < 0.75 * records.tokens_before
    assert all(f"BK{n:03}" in text(records) and f"HAT{n}3" in text(records) for n in range(30))
    assert files.tokens_after / files.tokens_before > records.tokens_after / records.tokens_before


@pytest.mark.parametrize("calls", [30, 160])
def test_it_stands_on_the_wire_of_responses_too_where_reasoning_comes_before_it(calls: int) -> None:
    """There an answer is several items: reasoning, then what is said."""
    items: list[Message] = [{"role": "user", "content": "I want to go home earlier. What can you do?"}]
    items += [{"type": "reasoning", "id": "rs_1", "summary": []}]
    items += [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": PROPOSAL}]}]
    items += [{"role": "user", "content": "yes"}]
    for n in range(calls):
        items += [{"type": "function_call", "call_id": f"c{n}", "name": "search", "arguments": "{}"}]
        items += [{"type": "function_call_output", "call_id": f"c{n}", "output": flights(n)}]
    body = json.dumps({"model": "gpt-4o", "input": items}).encode()
    memo = WARM
    found = run_fold(RESPONSES.read(body, memo), FoldOptions(model="gpt-4o", prices=CachePrices(1.0), cache_hit_share=0.7), memo)
    assert found.events
    assert PROPOSAL in found.body.decode()


@pytest.mark.parametrize("breakpoints", every(2, [False, True]))
def test_the_first_fold_of_a_long_loop_leaves_more_than_its_summary(breakpoints: bool) -> None:
    """Where reading is cheap it comes late, and all that it folds would be more than may stand at FACTS."""
    messages, memo = agent(160, 30), WARM
    options = FoldOptions(model="gpt-4o", prices=CachePrices(0.1, 1.25), cache_hit_share=0.4, cache_breakpoints=breakpoints)
    folds = (fold_request(encode(messages[:end], model="gpt-4o"), options, memo) for end in range(2, len(messages), 4))
    first = next(found for found in folds if found.events)
    assert 0.3 * first.tokens_before < first.tokens_after < 0.7 * first.tokens_before

"""Tool results at birth: their form, references to equal ones, and what a fold event does to both."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.effort import costly
from tests.support.known_folds import fold_request
from tests.support.prefix import Kind, classify
from tests.support.replay import requests_of
from tests.support.warm import WARM
from turnfold.compression.fold import unfold
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.formats.chat import CHAT

FREE = FoldOptions(prices=CachePrices(1.0, 1.0))
ORDER = json.dumps(
    {
        "order": "W-1",
        "lines": [{"sku": f"sku-{i}", "amount": 3.5 + i, "berth": {"row": i, "open": True}} for i in range(4)],
        "note": "fragile",
    }
)
STOCK = json.dumps([{"sku": f"sku-{i}", "berth": i % 7, "left": i * 31 % 97, "open": True} for i in range(12)], indent=2)
SAID = "The same sentence about berth {0}, crane {1} and the tide stands here, and is long enough to count. " * 4


def step(number: int, name: str, arguments: dict[str, Any], result: str) -> list[Message]:
    call = {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{number}", "content": result},
    ]


def sent(messages: list[Message], options: FoldOptions = FREE) -> list[Message]:
    body = encode(messages, model="gpt-4o")
    folded = fold_request(body, options, WARM)
    assert unfold(folded) == body
    return list(json.loads(folded.body)["messages"])


TASK: Message = {"role": "user", "content": "Look after the orders of the day."}


def test_a_fresh_result_is_shaped_in_its_first_request() -> None:
    messages = [TASK, *step(1, "get_order", {"id": "W-1"}, ORDER), *step(2, "list_stock", {}, STOCK)]
    first, second = sent(messages[:3]), sent(messages)
    assert json.loads(first[-1]["content"]) == json.loads(ORDER)
    assert len(first[-1]["content"]) < len(ORDER)
    assert second[:3] == first
    assert second[-1]["content"].splitlines()[:2] == ["@1: 12 rows of sku|berth|left|open", "sku-0|0|0|true"]


@each(
    ("name", "arguments"),
    [
        ("read_file", {"path": "x"}),
        ("view", {"what": "x"}),
        ("bash", {"command": "cat stock"}),
        ("shell", {"cmd": "sed -n 1,20p a"}),
        ("load", {"name": "stock.json"}),
    ],
)
def test_what_may_be_a_file_keeps_its_bytes(name: str, arguments: dict[str, Any]) -> None:
    messages = [TASK, *step(1, name, arguments, STOCK)]
    assert sent(messages) == messages


def test_a_result_is_shaped_from_a_hundred_tokens_on() -> None:
    """Counted is the whole message; words behind the JSON's border make it just as long as is needed."""
    rows = [{"sku": f"sku-{i}", "berth": i, "open": True} for i in range(3)]

    def message(note: int) -> Message:
        return {**step(1, "list_stock", {}, json.dumps([*rows, {"sku": "a" + " a" * note, "berth": 9, "open": True}]))[1]}

    def size(note: int) -> int:
        return CHAT.read(encode([message(note)]), WARM).messages[0].tokens

    exact = next(note for note in range(100) if size(note) == 100)
    for note, shaped in ((exact - 1, False), (exact, True)):
        messages = [TASK, step(1, "list_stock", {}, "")[0], message(note)]
        assert (sent(messages)[-1] != messages[-1]) is shaped


def test_the_setting_turns_it_off() -> None:
    messages = [TASK, *step(1, "get_order", {}, ORDER), *step(2, "get_order", {}, ORDER)]
    assert sent(messages, FoldOptions(shape_results=False)) == messages


def test_an_equal_result_is_a_reference_to_the_first() -> None:
    file = SAID.format(1, 2)
    messages = [TASK, *step(1, "read_file", {"path": "a"}, file), *step(2, "read_file", {"path": "b"}, file)]
    messages += step(3, "read_file", {"path": "a"}, file)
    contents = [m["content"] for m in sent(messages) if m["role"] == "tool"]
    assert contents == [
        file,
        '[turnfold: the same text as the result of read_file {"path": "a"} above]',
        "[turnfold: the same text as the result of the same call above]",
    ]


def test_a_reference_shows_sixty_characters_of_its_call() -> None:
    text = SAID.format(1, 2)
    room = 60 - len(json.dumps({"at": ""}))
    for length, shown in ((room, ""), (room + 1, "...")):
        messages = [TASK, *step(1, "tide", {"at": "x" * length}, text), *step(2, "tide", {"at": "noon"}, text)]
        said = json.dumps({"at": "x" * length})[:60] + shown
        assert sent(messages)[-1]["content"] == f"[turnfold: the same text as the result of tide {said} above]"


def test_equal_results_without_their_calls_are_references_too() -> None:
    """Clients that cut their history leave results whose call is gone."""
    text = SAID.format(4, 5)
    loose: list[Message] = [{"role": "tool", "tool_call_id": f"gone_{i}", "content": text} for i in range(2)]
    answered = step(7, "tide", {"at": "noon"}, text)
    assert [m["content"] for m in sent([TASK, *loose]) if m["role"] == "tool"] == [
        text,
        "[turnfold: the same text as another result above]",
    ]
    assert [m["content"] for m in sent([TASK, loose[0], *answered]) if m["role"] == "tool"] == [
        text,
        "[turnfold: the same text as another result above]",
    ]
    assert [m["content"] for m in sent([TASK, *answered, loose[0]]) if m["role"] == "tool"] == [
        text,
        '[turnfold: the same text as the result of tide {"at": "noon"} above]',
    ]


def test_short_results_are_never_references() -> None:
    messages = [TASK, *step(1, "poll", {}, "still waiting"), *step(2, "poll", {}, "still waiting")]
    assert sent(messages) == messages


def text_of_file(number: int) -> str:
    return SAID.format(number, number) * 3


numbers = st.lists(st.integers(0, 5), min_size=20, max_size=60)


@costly(4)
@given(numbers, st.sampled_from([CachePrices(1.0, 1.0), CachePrices(0.5, 1.0), CachePrices(0.1, 1.25)]))
def test_a_reference_points_to_what_is_there_and_moves_at_fold_events_only(texts: list[int], prices: CachePrices) -> None:
    messages = [TASK]
    for number, text in enumerate(texts):
        messages += step(number, "read_file", {"path": f"p{text}"}, text_of_file(text))
    options = FoldOptions(prices=prices, cache_hit_share=0.0)
    memo, before, events = WARM, (b"", b""), 0
    for request in requests_of(messages):
        body = encode(request, model="gpt-4o")
        folded = fold_request(body, options, memo)
        assert unfold(folded) == body
        if before[0] and folded.events == events:
            assert classify(*before, folded.body).kind is not Kind.REWRITE
        before, events = (body, folded.body), folded.events
        _every_reference_is_met(json.loads(folded.body)["messages"])


def _every_reference_is_met(messages: list[Message]) -> int:
    """What is above is there in full; what is further down is there, at least at FACTS. The number of references."""
    paths = {c["id"]: json.loads(c["function"]["arguments"])["path"] for m in messages for c in m.get("tool_calls") or ()}
    results = [(paths[m["tool_call_id"]], m["content"]) for m in messages if m["role"] == "tool"]
    found = 0
    for place, (path, content) in enumerate(results):
        if "the same text as" in content:
            found += 1
            if content.endswith("above]"):
                assert (path, text_of_file(int(path[1:]))) in results[:place]
            else:
                assert any(p == path and "the same text as" not in c for p, c in results[place + 1 :])
    return found


def test_a_fold_event_writes_the_text_out_in_its_newest_reference() -> None:
    messages = [TASK]
    for number in range(40):
        messages += step(number, "read_file", {"path": f"p{number % 8}"}, text_of_file(number % 8))
    assert fold_request(encode(messages, model="gpt-4o"), FREE, WARM).events > 0
    assert _every_reference_is_met(sent(messages)) > 3

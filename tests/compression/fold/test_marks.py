"""The client's cache marks on every wire: none is lost, none is invented, and a mark that moves on makes no other request."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.block_conversations import SEEDS, Kind, conversation, kinds
from tests.support.cases import each
from tests.support.effort import costly, every
from tests.support.three_wires import WIRES, OnWire, mark_count, with_marks
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.fit.cut import cut
from turnfold.compression.fold import Folded, fold, unfold
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions

FREE, CLAUDE = CachePrices(1.0, 1.0), CachePrices(0.1, 1.25)
wires = st.sampled_from(sorted(WIRES)).map(WIRES.__getitem__)


def ends(messages: list[Any]) -> list[int]:
    return [*(i for i, m in enumerate(messages) if m["role"] == "assistant"), len(messages)]


def forward(on: OnWire, messages: list[Any], options: FoldOptions, memo: Memo) -> tuple[bytes, Folded]:
    body = on.encode(messages)
    folded = fold(on.wire.read(body, memo), options, memo)
    assert unfold(folded) == body
    assert on.faults(body, folded.body) == []
    return body, folded


def marks(body: bytes) -> int:
    return mark_count(json.loads(body))


@costly(6)
@given(SEEDS, kinds(), wires, st.one_of(st.none(), st.integers(500, 6000)), st.sampled_from([FREE, CLAUDE]), st.data())
def test_marks_stay_as_many_wherever_they_stand(
    seed: int, kind: Kind, on: OnWire, budget: int | None, prices: CachePrices, data: st.DataObject
) -> None:
    messages = conversation(seed, kind)
    places = data.draw(st.sets(st.integers(0, len(messages) - 1), max_size=3)) | {len(messages) - 1}
    body, folded = forward(on, with_marks(messages, sorted(places)), FoldOptions(prices=prices, budget=budget), WARM)
    assert 1 <= marks(folded.body) <= marks(body)


@pytest.mark.parametrize(
    ("name", "budget"), every(2, [*((name, None) for name in sorted(WIRES)), ("messages", 3000), ("responses", 900)], 1)
)
def test_the_marks_of_a_client_that_marks_its_last_messages_are_all_there(name: str, budget: int | None) -> None:
    messages, memo = conversation(7, Kind(turns=10, loops=3, sentences=35)), WARM
    events = 0
    for end in ends(messages)[8::5]:
        places = [i for i in range(end) if messages[i]["role"] == "user"][-2:]
        body, folded = forward(WIRES[name], with_marks(messages[:end], places), FoldOptions(prices=FREE, budget=budget), memo)
        assert marks(folded.body) == marks(body)
        events = folded.events
    assert events


def test_a_summary_stands_in_front_of_what_stays_whole_up_to_a_mark() -> None:
    messages = [{"role": "user", "content": prose(0, "en", 6)}]
    for turn in range(30):
        messages.append({"role": "assistant", "content": prose(1000 + turn, "en", 10)})
        messages.append({"role": "user", "content": prose(turn, "en", 10)})
    _, folded = forward(WIRES["chat"], with_marks(messages, [20]), FoldOptions(prices=FREE), Memo())
    summary, *_ = folded.sections
    first = next(one.text for one in folded.forwarded.messages if one.role == "user")
    assert (summary.level, len(summary.messages)) == ("summary", 18)
    assert first.startswith(f"[turnfold {summary.id}: 18 messages folded]")
    assert first.endswith(messages[18]["content"])


@each("name", sorted(WIRES))
def test_a_mark_of_what_is_left_out_stands_on_what_stands_for_it(name: str) -> None:
    messages = conversation(7, Kind(turns=10, loops=3, sentences=35))
    place = [i for i, m in enumerate(messages) if m["role"] == "user"][3]
    _, folded = forward(WIRES[name], with_marks(messages, [place, len(messages) - 1]), FoldOptions(budget=2000), WARM)
    assert marks(folded.body) == 2
    text = folded.forwarded.text
    mark = min(
        i for name in ("cache_control", "prompt_cache_breakpoint") if (i := text.find(name, folded.forwarded.history[0])) > 0
    )
    assert "messages folded]" in text[text.rfind('{"type"', 0, text.rfind("messages folded]", 0, mark)) : mark]


@costly(4)
@given(SEEDS, kinds(odd=True), wires, st.data())
def test_a_moving_mark_changes_no_key(seed: int, kind: Kind, on: OnWire, data: st.DataObject) -> None:
    messages = [{**m, "content": [{"type": "text", "text": m["content"]}] if isinstance(m["content"], str) else m["content"]}
                for m in conversation(seed, kind)]  # fmt: skip
    users = [i for i, m in enumerate(messages) if m["role"] == "user"]
    one, two = (
        on.wire.read(on.encode(with_marks(messages, data.draw(st.sets(st.sampled_from(users), min_size=1)))), WARM) for _ in "ab"
    )
    lists = [m.is_list for m in one.messages]
    assert [m.key for m in one.messages] == [m.key for m in two.messages] or lists != [m.is_list for m in two.messages]
    assert on.wire.unmarked(one) == on.wire.unmarked(two) or lists != [m.is_list for m in two.messages]


@costly(4)
@given(SEEDS, kinds(), wires, st.floats(0.15, 0.8), st.data())
def test_a_cut_keeps_marks(seed: int, kind: Kind, on: OnWire, share: float, data: st.DataObject) -> None:
    messages = conversation(seed, kind)
    places = data.draw(st.sets(st.integers(0, len(messages) - 1), max_size=3))
    found = on.wire.read(on.encode(with_marks(messages, sorted(places))), WARM)
    before = fold(found, FoldOptions(), WARM).tokens_before
    made = cut(found, int(share * before), FoldOptions(), WARM)
    if made is None:
        return
    kept, came = marks(made.forwarded.body), marks(found.body)
    assert kept <= came
    assert bool(kept) == bool(came)


@cache
def plainly_marked(name: str) -> Folded:
    messages = conversation(7, Kind(turns=10, loops=3, sentences=35))
    return forward(WIRES[name], with_marks(messages, [len(messages) - 1]), FoldOptions(prices=FREE), WARM)[1]


@each(
    ("name", "empty"), [("chat", None), ("chat", ""), ("messages", {}), ("messages", None), ("responses", ""), ("responses", {})]
)
def test_a_mark_that_is_null_or_empty_is_none(name: str, empty: object) -> None:
    messages = conversation(7, Kind(turns=10, loops=3, sentences=35))
    on, options = WIRES[name], FoldOptions(prices=FREE)
    body = json.loads(on.encode(with_marks(messages, range(len(messages)))))
    plain = plainly_marked(name)
    memo, last = WARM, _last_marked(body)
    folded = fold(on.wire.read(json.dumps(_emptied(body, empty, last)).encode(), memo), options, memo)
    assert plain.tokens_after < plain.tokens_before
    assert folded.tokens_after < plain.tokens_after * 1.1
    assert marks(folded.body) - folded.body.count(b'"cache_control": ' + json.dumps(empty).encode()) >= 1
    assert json.loads(folded.body, object_pairs_hook=_once)


def _holders(value: Any) -> list[dict[str, Any]]:
    """Everything in a body that carries a mark, in order."""
    if isinstance(value, list):
        return [found for one in value for found in _holders(one)]
    if not isinstance(value, dict):
        return []
    inside = [found for one in value.values() for found in _holders(one)]
    return inside + [value] * any(key in value for key in ("cache_control", "prompt_cache_breakpoint"))


def _last_marked(body: Any) -> dict[str, Any]:
    return _holders(body)[-1]


def _emptied(body: Any, empty: object, last: dict[str, Any]) -> Any:
    for holder in _holders(body):
        for key in ("cache_control", "prompt_cache_breakpoint"):
            if key in holder and holder is not last:
                holder[key] = empty
    return body


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({key for key, _ in pairs}) == len(pairs), pairs
    return dict(pairs)

"""Reversible compression: what holds for any messages and any options (rows E2, E5, E6, E7, E8, E11).

These tests cover properties over random conversations. They leave out single cases (``test_roundtrip``).
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.conversations import conversations, long_conversations, odd_conversations
from tests.support.effort import costly
from turnfold.compression import Compressed, CompressOptions, compress, strip_provenance, uncompress
from turnfold.compression.roundtrip.provenance import bare, provenance_of
from turnfold.compression.roundtrip.values import characters

Message = dict[str, Any]
ODD: list[Any] = [
    None,
    7,
    "hello",
    [],
    {},
    {"role": 3},
    {"role": "user"},
    {"role": "user", "content": ""},
    {"role": "assistant", "content": None},
    {"role": "critic", "content": "Never deploy on Friday. " * 20},
    {"role": "user", "content": [{"type": "text", "text": "On Monday we met. " * 30, "x": 1}], "metadata": {"a": 1.50}},
    {"role": "user", "content": "word " * 200, "metadata": "none of ours"},
    {"role": "user", "content": "look " * 90, "metadata": {"turnfold": {"ids": ["nowhere"], "summary_id": "s", "version": 0}}},
    {"role": "user", "content": "lone \ud800 surrogate. " * 30, "big": 2**70, "n": float("inf")},
]


@st.composite
def any_messages(draw: st.DrawFn) -> list[Any]:
    """A conversation, with ids that clash, odd messages and texts that stand twice."""
    messages: list[Any] = list(draw(st.one_of(conversations(1, 4), odd_conversations(1, 4), long_conversations(2, 4))))
    names = st.sampled_from([None, None, "m1", "m2", "m3", ""])
    messages = [{"id": name, **m} if (name := draw(names)) is not None and isinstance(m, dict) else m for m in messages]
    for odd in draw(st.lists(st.sampled_from(ODD), max_size=3)):
        messages.insert(draw(st.integers(0, len(messages))), odd)
    again = draw(st.lists(st.integers(0, max(0, len(messages) - 1)), max_size=3)) if messages else []
    return messages + [messages[i] for i in again]


options = st.builds(
    CompressOptions,
    preserve=st.sampled_from([("system",), (), ("system", "tool"), ("user",)]),
    recency_window=st.integers(0, 8),
    source_version=st.integers(0, 3),
    token_budget=st.one_of(st.none(), st.integers(0, 3000)),
    min_recency_window=st.integers(0, 3),
    dedup=st.booleans(),
    fuzzy_dedup=st.booleans(),
    embed_summary_id=st.booleans(),
    force_converge=st.booleans(),
    trace=st.booleans(),
)


def exact(messages: list[Any]) -> str:
    """Messages as text: types and the order of keys count."""
    return json.dumps(messages)


def holds(messages: list[Any], chosen: CompressOptions) -> Compressed:
    """Compress, and hold the result against every law."""
    before = exact(messages)
    result = compress(messages, chosen)
    assert exact(messages) == before
    assert exact(compress(messages, chosen).messages) == exact(result.messages)
    restored = uncompress(result)
    assert exact(restored.messages) == before
    assert not restored.missing_ids
    assert restored.messages_expanded + restored.messages_passthrough == len(result.messages)
    assert uncompress(json.loads(exact(result.messages)), json.loads(json.dumps(dict(result.verbatim)))).messages_expanded == (
        restored.messages_expanded
    )
    assert never_larger(messages, result, chosen)
    assert calls(strip_provenance(result.messages)) == calls(messages)
    assert results(strip_provenance(result.messages)) == results(messages)
    figures = result.compression
    assert figures.ratio >= 1
    assert figures.token_ratio >= 1
    done = figures.messages_compressed + figures.messages_preserved
    assert done + figures.messages_deduped + figures.messages_fuzzy_deduped == len(messages)
    assert chosen.trace == (result.trace is not None)
    assert [decision.index for decision in result.trace or ()] == (list(range(len(messages))) if chosen.trace else [])
    return result


def never_larger(messages: list[Any], result: Compressed, chosen: CompressOptions) -> bool:
    """Every message that came out against those that it stands for, in characters and by the options' counter."""
    for message in result.messages:
        provenance = provenance_of(message)
        originals = [result.verbatim[key] for key in provenance.ids if key in result.verbatim] if provenance else []
        if not provenance or not originals:
            continue
        if characters(message) > sum(map(characters, originals)):
            return False
        if chosen.token_counter(bare(message)) > sum(chosen.token_counter(bare(one)) for one in originals):
            return False
    return True


def calls(messages: list[Any]) -> list[Any]:
    return [m[key] for m in messages if isinstance(m, dict) for key in ("tool_calls", "function_call") if m.get(key)]


def results(messages: list[Any]) -> Counter[Any]:
    return Counter(str(m.get("tool_call_id")) for m in messages if isinstance(m, dict) and m.get("role") == "tool")


@costly(6)
@given(any_messages(), options)
def test_any_messages_any_options(messages: list[Any], chosen: CompressOptions) -> None:
    holds(messages, chosen)


@costly(4)
@given(any_messages(), st.lists(options, min_size=2, max_size=3), conversations(1, 3))
def test_compressed_again_and_again(messages: list[Any], rounds: list[CompressOptions], more: list[Message]) -> None:
    came_in, store = messages, dict[str, Any]()
    for number, chosen in enumerate(rounds):
        result = holds(came_in, chosen)
        assert not store.keys() & result.verbatim.keys() or all(
            json.dumps(store[key]) == json.dumps(result.verbatim[key]) for key in store.keys() & result.verbatim.keys()
        )
        store |= result.verbatim
        came_in = result.messages + (more if number == 0 else [])
    deep = uncompress(result.messages, store, recursive=True)
    known = [m for m in messages + more if provenance_of(m) is None]
    assert exact([m for m in deep.messages if provenance_of(m) is None]) == exact(known)


@costly(4)
@given(long_conversations(2, 4), st.integers(50, 3000))
def test_a_budget_is_kept_or_said_to_be_broken(messages: list[Message], budget: int) -> None:
    result = compress(messages, {"token_budget": budget, "force_converge": True})
    counter = CompressOptions().token_counter
    assert result.token_count == sum(map(counter, strip_provenance(result.messages)))
    assert result.fits == (result.token_count <= budget)
    if sum(map(counter, messages)) <= budget:
        assert exact(result.messages) == exact(messages)
    elif result.recency_window:
        assert exact(strip_provenance(result.messages[-result.recency_window :])) == exact(messages[-result.recency_window :])


@each(
    ("alike", "named"),
    product(
        [
            ((1, 2), [1, 2]),
            ({1: "a"}, {"1": "a"}),
            ({True: 1}, {"true": 1}),
            ({None: 1}, {"null": 1}),
            ({"deep": [{2.5: ()}]}, {"deep": [{"2.5": []}]}),
            (1, 1.0, True),
            (0, False, 0.0, -0.0),
            ([float("nan"), (1,)], [float("nan"), [1]]),
        ],
        [{}, {"id": "same"}],
    ),
)
def test_what_json_writes_alike_comes_back_as_it_was(alike: tuple[Any, ...], named: dict[str, str]) -> None:
    prose = "The crew met at the old pier and spoke at length about the weather and the fish. " * 8
    messages = [
        {"role": ("user", "assistant")[n % 2], "content": prose, "meta": alike[n // 2 % len(alike)], **named} for n in range(13)
    ]
    for options in (CompressOptions(), CompressOptions(token_budget=300, force_converge=True), CompressOptions(fuzzy_dedup=True)):
        result = compress(messages, options)
        assert result.compression.messages_preserved < len(messages)
        assert repr(uncompress(result).messages) == repr(messages)

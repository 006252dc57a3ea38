"""The laws over all three wires, from one generator of conversations: thinking, images, marks and hosted tools in them."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.block_conversations import SEEDS, Kind, conversation, kinds
from tests.support.cases import each
from tests.support.effort import costly, every
from tests.support.three_wires import WIRES, OnWire, with_marks
from tests.support.warm import WARM
from turnfold.compression.fold import Folded, fold, unfold
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions

wires = st.sampled_from(sorted(WIRES)).map(WIRES.__getitem__)
options = st.builds(
    FoldOptions,
    prices=st.sampled_from([CachePrices(1.0, 1.0), CachePrices(0.1, 1.25)]),
    budget=st.one_of(st.none(), st.integers(300, 8000)),
    recall=st.booleans(),
    shape_results=st.booleans(),
)


def ends(messages: list[Any]) -> list[int]:
    """Where a client sends: before each message of the assistant's, and at the end."""
    return [*(i for i, m in enumerate(messages) if m["role"] == "assistant"), len(messages)]


def body_of(on: OnWire, messages: list[Any], *, marks: bool) -> bytes:
    return on.encode(with_marks(messages, [len(messages) - 1, len(messages) - 2]) if marks else messages)


@costly(6)
@given(SEEDS, kinds(odd=True), wires, options, st.booleans())
def test_any_conversation_any_options(seed: int, kind: Kind, on: OnWire, chosen: FoldOptions, marks: bool) -> None:
    body = body_of(on, conversation(seed, kind), marks=marks)
    folded = fold(on.wire.read(body, WARM), chosen, WARM)
    assert unfold(folded) == body
    assert on.faults(body, folded.body) == []
    assert folded.body == fold(on.wire.read(body, Memo()), chosen, Memo()).body
    if not folded.folded:
        assert folded.body == body


@each(("name", "marks"), every(2, [("chat", True), ("messages", False), ("messages", True), ("responses", False)], 1))
def test_a_growing_conversation_keeps_its_prefix_between_fold_events(name: str, marks: bool) -> None:
    on, messages, memo = WIRES[name], conversation(3, Kind(turns=7, loops=3, sentences=36, thinks=0.4, odd=True)), WARM
    before: Folded | None = None
    for end in ends(messages):
        body = body_of(on, messages[:end], marks=marks)
        folded = fold(on.wire.read(body, memo), FoldOptions(prices=CachePrices(1.0, 1.0)), memo)
        assert unfold(folded) == body
        assert on.faults(body, folded.body) == []
        if before is not None and before.events == folded.events:
            old, new = before.forwarded.messages, folded.forwarded.messages
            user = max(i for i, m in enumerate(old) if m.role == "user" and m.holds)
            assert [m.text for m in old[:user]] == [m.text for m in new[:user]]
        before = folded
    assert before is not None
    assert before.events >= 2
    assert before.body == fold(on.wire.read(body, Memo()), FoldOptions(prices=CachePrices(1.0, 1.0)), Memo()).body


def test_the_generator_has_everything_on_every_wire() -> None:
    messages = [m for seed in range(6) for m in conversation(seed, Kind(turns=10, loops=3, sentences=3, thinks=0.6, odd=True))]
    seen = {name: on.encode(with_marks(messages, range(40))).decode() for name, on in WIRES.items()}
    for name, wanted in (
        ("chat", ("thinking_blocks", "image_url", "tool_calls", "cache_control", '"file"')),
        ("responses", ("encrypted_content", "input_image", "web_search_call", "prompt_cache_breakpoint", "function_call_output")),
        ("messages", ("thinking", "redacted_thinking", "image", "server_tool_use", "cache_control", "tool_result")),
    ):
        assert [one for one in wanted if one not in seen[name]] == []


def test_the_same_conversation_folds_alike_on_every_wire() -> None:
    messages = conversation(5, Kind(turns=8, loops=3, sentences=28))
    shares = {}
    for name, on in WIRES.items():
        folded = fold(on.wire.read(on.encode(messages), WARM), FoldOptions(prices=CachePrices(1.0, 1.0)), WARM)
        shares[name] = folded.tokens_after / folded.tokens_before
    assert max(shares.values()) - min(shares.values()) < 0.03

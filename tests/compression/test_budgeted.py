"""Stateful conversations: the budget holds, nothing is compressed twice, planted facts are found, export and import."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfold.compression.budgeted import (
    History,
    HistoryMessage,
    HistorySettings,
    add,
    context,
    drill_down,
    export_history,
    import_history,
    search,
)
from turnfold.compression.errors import InvalidInput, SectionUnknown
from turnfold.compression.tokens import count

TOPICS = [
    "the garden",
    "a film",
    "the weather",
    "dinner plans",
    "an old friend",
    "the train",
    "a recipe",
    "the match",
    "some book",
]


def talk(n: int) -> list[HistoryMessage]:
    """Chatter in which every tenth message plants a fact."""
    draw = random.Random(7)
    out = []
    for i in range(n):
        role = "user" if i % 2 == 0 else "assistant"
        chat = " ".join(
            f"We spoke about {draw.choice(TOPICS)} for {draw.randint(2, 90)} minutes." for _ in range(draw.randint(1, 4))
        )
        fact = f" The access code of locker K{i} is zebra-{i * 37}." if i % 10 == 0 else ""
        out.append(HistoryMessage(role, f"Turn {i}. {chat}{fact}"))
    return out


def played(messages: list[HistoryMessage], chosen: HistorySettings) -> History:
    state = History()
    for message in messages:
        state, _ = add(state, message, chosen)
    return state


@pytest.mark.parametrize(("n", "threshold"), [(50, 300), (50, 1000), (500, 1000)])
def test_the_budget_holds_after_every_message(n: int, threshold: int) -> None:
    chosen = HistorySettings(compress_threshold=threshold, keep_recent=3)
    state = History()
    for i, message in enumerate(talk(n)):
        state, _ = add(state, message, chosen)
        told = context(state, chosen)
        recent = sum(count(f"{m.role}: {m.content}") + 1 for m in state.recent)
        assert told.tokens <= max(threshold, recent + 20), i
        assert told.tokens == count(told.text)
        assert told.text.endswith(message.content)
    assert told.raw_tokens > 2 * told.tokens


def test_two_thousand_messages_stay_within_the_budget() -> None:
    chosen = HistorySettings(compress_threshold=1500, keep_recent=5)
    state = played(talk(2000), chosen)
    assert context(state, chosen).tokens <= 1500
    for i in range(0, 2000, 200):
        assert any(f"zebra-{i * 37}" in f.message.content for f in search(state, f"What is the access code of locker K{i}?")), i


def test_planted_facts_are_found_by_search_and_by_drill_down() -> None:
    chosen = HistorySettings(compress_threshold=400, keep_recent=3)
    state = played(talk(200), chosen)
    raw = "\n".join(drill_down(state, block.id) for block in state.blocks)
    for i in range(0, 190, 10):
        assert f"zebra-{i * 37}" in raw
        best = search(state, f"access code of locker K{i}", limit=3)
        assert any(f"zebra-{i * 37}" in found.message.content for found in best)


def test_nothing_is_compressed_twice_and_nothing_is_lost() -> None:
    chosen = HistorySettings(compress_threshold=300, keep_recent=2)
    state = History()
    messages = talk(120)
    for message in messages:
        before = state.blocks
        state, action = add(state, message, chosen)
        assert state.blocks[: len(before)] == before
        assert (action == "compressed") == (len(state.blocks) > len(before))
    assert [m for block in state.blocks for m in block.messages] + list(state.recent) == messages
    assert len({block.id for block in state.blocks}) == len(state.blocks)


def test_system_messages_and_standing_orders_are_told_word_for_word() -> None:
    chosen = HistorySettings(compress_threshold=300, keep_recent=2)
    first = [
        HistoryMessage("system", "You are Ada. Rule 7: never discount."),
        HistoryMessage("user", "From now on, always answer in French."),
    ]
    state = played(first + talk(60), chosen)
    told = context(state, chosen).text
    assert "system: You are Ada. Rule 7: never discount." in told
    assert "From now on, always answer in French." in told


def test_the_form_of_the_context() -> None:
    chosen = HistorySettings(compress_threshold=200, keep_recent=2)
    state = played(talk(30), chosen)
    lines = context(state, chosen).text.splitlines()
    assert lines[0] == "[Prior context summary]"
    at = lines.index("[Recent messages]")
    assert lines[at + 1 :] == [f"{m.role}: {m.content}" for m in state.recent]
    short = played(talk(2), chosen)
    assert context(short, chosen).text == "\n".join(f"{m.role}: {m.content}" for m in short.recent)


def test_duplicates_are_told_from_short_answers() -> None:
    chosen = HistorySettings(keep_recent=1, compress_threshold=60)
    long = HistoryMessage("user", "Please tell me once more how the export of the ledger is started.")
    state = played([long, *talk(10)], chosen)
    same, action = add(state, long, chosen)
    assert action == "duplicate"
    assert same.messages == state.messages
    assert same.duplicates == state.duplicates + 1
    assert same.version == state.version + 1
    yes = HistoryMessage("user", "Yes.")
    state, first = add(state, yes, chosen)
    state, again = add(state, yes, chosen)
    state, _ = add(state, HistoryMessage("assistant", "Done."), chosen)
    _, later = add(state, yes, chosen)
    assert first != "duplicate"
    assert again == "duplicate"
    assert later != "duplicate"


contents = st.one_of(
    st.sampled_from([m.content for m in talk(12)] + ["Yes.", "", "Never mind.", "```\ncode\n```", "好的。"]), st.text(max_size=20)
)
conversations = st.lists(
    st.builds(HistoryMessage, st.sampled_from(["user", "assistant", "system", "tool"]), contents), max_size=25
)


@given(conversations, st.integers(1, 200), st.integers(0, 4))
def test_laws(messages: list[HistoryMessage], threshold: int, keep: int) -> None:
    chosen = HistorySettings(compress_threshold=threshold, keep_recent=keep)
    state = played(messages, chosen)
    told = context(state, chosen)
    raw = sum(count(f"{m.role}: {m.content}") + 1 for m in (*state.pinned, *state.recent))
    assert told.tokens <= max(threshold, raw + 20)
    assert import_history(export_history(state)) == state
    assert context(import_history(export_history(state)), chosen) == told
    kept = [m for block in state.blocks for m in block.messages] + list(state.recent)
    assert len(kept) + len(state.pinned) + state.duplicates == len(messages)
    for block in state.blocks:
        assert block.tokens[2] <= block.tokens[1]
        assert drill_down(state, block.id, 1) == block.texts[0]


@pytest.mark.parametrize(
    ("text", "field"),
    [("no json", "history"), ("[]", "history.format"), ('{"format": 1}', "history.version"), ('{"format": 2}', "history.format")],
)
def test_a_bad_import_is_named(text: str, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        import_history(text)
    assert caught.value.field == field


def test_a_damaged_export_is_refused() -> None:
    good = export_history(played(talk(30), HistorySettings(compress_threshold=200)))
    for old, new in (('"recent":[', '"recent":[7,'), ('"role":"user"', '"role":""'), ('"messages":30', '"messages":-1')):
        with pytest.raises(InvalidInput):
            import_history(good.replace(old, new, 1))


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: HistoryMessage("", "x"), "message.role"),
        (lambda: HistoryMessage("user", None), "message.content"),  # type: ignore[arg-type]
        (lambda: HistorySettings(compress_threshold=0), "compress_threshold"),
        (lambda: HistorySettings(keep_recent=-1), "keep_recent"),
    ],
)
def test_bad_values_are_named(make: object, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make()  # type: ignore[operator]
    assert caught.value.field == field


def test_unknown_blocks_and_layers_are_named() -> None:
    state = played(talk(30), HistorySettings(compress_threshold=200))
    with pytest.raises(SectionUnknown, match="nope"):
        drill_down(state, "nope")
    with pytest.raises(InvalidInput, match="layer"):
        drill_down(state, state.blocks[0].id, 5)


def test_search_finds_nothing_where_nothing_matches() -> None:
    assert search(History(), "anything") == ()
    state = played(talk(30), HistorySettings(compress_threshold=200))
    assert search(state, "xylophone quartz") == ()

"""What holds for every state that messages can lead to.

These tests cover Hypothesis properties of engine, serialisation and controller. They leave out single cases.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from turnfold.compression.errors import InvalidInput
from turnfold.compression.state import compile_transcript, controller, create_engine, preprocess
from turnfold.compression.state.engine import Engine

ITEMS = st.sampled_from(
    [
        "docker",
        "podman",
        "The Docker",
        "the the a",
        "a",
        "the",
        "dont",
        "don’t",
        " ",
        "",
        "J\u030c",
        "ＡＢ",
        "İ",
        "\ud800",
        "x\ty",
    ]
) | st.text(max_size=6)
MESSAGES = st.one_of(
    st.sampled_from(["clear premise", "clear state", "reset policies", "yes", "no", "ok!", "hello", "use", "set premise"]),
    st.builds("use {}".format, ITEMS),
    st.builds("prohibit {}".format, ITEMS),
    st.builds("remove policy {}".format, ITEMS),
    st.builds("set premise {}".format, ITEMS),
    st.builds("change premise to {}".format, ITEMS),
    st.builds("use {} instead of {}".format, ITEMS, ITEMS),
    st.text(max_size=12),
)
TALKS = st.lists(MESSAGES, max_size=12)


def after(texts: list[str]) -> Engine:
    engine = create_engine()
    for text in texts:
        engine.step(text)
    return engine


@given(TALKS)
def test_same_messages_same_answers(texts: list[str]) -> None:
    one, two = create_engine(), create_engine()
    assert [one.step(text) for text in texts] == [two.step(text) for text in texts]
    assert one.export_checkpoint_json() == two.export_checkpoint_json()


@given(TALKS, MESSAGES)
def test_only_an_update_changes_the_state(texts: list[str], text: str) -> None:
    engine = after(texts)
    before = engine.state
    decision = engine.step(text)
    if decision["kind"] == "update":
        assert decision["state"] == engine.state
        assert decision["prompt_to_user"] is None
    else:
        assert engine.state == before
        assert decision["state"] is None
        assert (decision["kind"] == "clarify") == bool(decision["prompt_to_user"])


@given(TALKS, MESSAGES)
def test_a_preview_restores_everything_and_tells_the_truth(texts: list[str], text: str) -> None:
    engine = after(texts)
    saved = engine.export_checkpoint_json()
    rehearsed = controller.preview(engine, text)
    assert engine.export_checkpoint_json() == saved
    before = engine.state
    taken = controller.step(engine, text)
    assert rehearsed["decision"] == taken["decision"]
    assert rehearsed["state_before"] == before
    assert rehearsed["state_after"] == taken["state"]
    assert rehearsed["would_mutate"] == (before != taken["state"])


@given(TALKS)
def test_what_is_exported_comes_back(texts: list[str]) -> None:
    engine = after(texts)
    other = create_engine()
    other.import_json(engine.export_json())
    assert other.state == engine.state
    assert other.export_json() == engine.export_json()
    other.import_checkpoint_json(engine.export_checkpoint_json())
    assert other.machine == engine.machine
    assert other.export_checkpoint_json() == engine.export_checkpoint_json()


@given(TALKS, TALKS)
def test_a_checkpoint_carries_on_as_if_nothing_happened(first: list[str], then: list[str]) -> None:
    engine, restarted = after(first), create_engine()
    restarted.import_checkpoint(json.loads(engine.export_checkpoint_json()))
    assert [restarted.step(text) for text in then] == [engine.step(text) for text in then]


@given(TALKS)
def test_every_key_and_premise_is_clean(texts: list[str]) -> None:
    state = after(texts).state
    for key in state["policies"]:
        assert key
        assert key == " ".join(key.split())
    assert state["premise"] is None or state["premise"] == " ".join(state["premise"].split()) != ""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.sampled_from(["use", "premise", "replacement"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["premise", "policies", "version", "checkpoint_version", "authoritative_state", "pending", "a", "kind"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(TALKS, JSON)
def test_a_refused_import_changes_nothing(texts: list[str], value: Any) -> None:
    engine = after(texts)
    saved = engine.export_checkpoint_json()
    loads: list[tuple[Callable[[Any], None], Any]] = [
        (engine.import_checkpoint, value),
        (engine.import_checkpoint_json, json.dumps(value)),
        (engine.import_json, json.dumps(value)),
    ]
    for load, payload in loads:
        with pytest.raises(InvalidInput) as caught:
            load(payload)
        assert caught.value.field.startswith(("state", "checkpoint"))
        assert engine.export_checkpoint_json() == saved


GOOD_STATE: dict[str, Any] = {"premise": None, "policies": {}, "version": 2}
QUESTION = {
    "kind": "replacement",
    "replacement": {"kind": "use_only", "new_item": "b", "old_item": None},
    "prompt_to_user": "Did you mean?",
}


def checkpoint(**changes: Any) -> dict[str, Any]:
    return {"checkpoint_version": 1, "authoritative_state": GOOD_STATE, "pending": None, **changes}


BAD = [
    (checkpoint(checkpoint_version=True), "checkpoint.checkpoint_version"),
    (checkpoint(checkpoint_version="1"), "checkpoint.checkpoint_version"),
    (checkpoint(extra=1), "checkpoint"),
    (checkpoint(authoritative_state={**GOOD_STATE, "version": 2.0}), "checkpoint.authoritative_state.version"),
    (checkpoint(authoritative_state={**GOOD_STATE, "version": 3}), "checkpoint.authoritative_state.version"),
    (checkpoint(authoritative_state={**GOOD_STATE, "premise": " "}), "checkpoint.authoritative_state.premise"),
    (checkpoint(authoritative_state={**GOOD_STATE, "premise": 3}), "checkpoint.authoritative_state.premise"),
    (checkpoint(authoritative_state={**GOOD_STATE, "policies": {"x": "USE"}}), "checkpoint.authoritative_state.policies.x"),
    (checkpoint(authoritative_state={**GOOD_STATE, "policies": {"x": ["use"]}}), "checkpoint.authoritative_state.policies.x"),
    (checkpoint(authoritative_state={**GOOD_STATE, "policies": {"the": "use"}}), "checkpoint.authoritative_state.policies.the"),
    (
        checkpoint(authoritative_state={**GOOD_STATE, "policies": {"X": "use", "x": "prohibit"}}),
        "checkpoint.authoritative_state.policies.x",
    ),
    (checkpoint(pending=[]), "checkpoint.pending"),
    (checkpoint(pending={**QUESTION, "kind": "other"}), "checkpoint.pending"),
    (checkpoint(pending={**QUESTION, "prompt_to_user": ""}), "checkpoint.pending.prompt_to_user"),
    (checkpoint(pending={**QUESTION, "replacement": {"kind": "use_only", "new_item": "b"}}), "checkpoint.pending.replacement"),
    (
        checkpoint(pending={**QUESTION, "replacement": {"kind": "use_only", "new_item": "b", "old_item": "c"}}),
        "checkpoint.pending.replacement",
    ),
    (
        checkpoint(pending={**QUESTION, "replacement": {"kind": "use_only", "new_item": "the", "old_item": None}}),
        "checkpoint.pending.replacement.new_item",
    ),
    (
        checkpoint(pending={**QUESTION, "replacement": {"kind": "replace_use", "new_item": "b", "old_item": None}}),
        "checkpoint.pending.replacement.old_item",
    ),
]


@each(("value", "field"), BAD)
def test_a_refusal_names_the_field(value: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        create_engine().import_checkpoint(value)
    assert caught.value.field == field


@each("text", ["", "{", "[" * 100_000, '{"premise":null,"premise":null,"policies":{},"version":2}', "\ud800", "1" * 10_000])
def test_text_that_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="Invalid JSON payload"):
        create_engine().import_json(text)


def test_import_drops_a_waiting_question() -> None:
    engine = after(["use a b instead of c"])
    engine.import_json(create_engine().export_json())
    assert not engine.has_pending_clarification()


def test_engines_share_nothing() -> None:
    one, two = create_engine(), create_engine()
    one.step("use docker")
    one.state["policies"]["docker"] = "prohibit"
    one.export_checkpoint()["authoritative_state"]["policies"].clear()
    decision = one.step("use docker")
    assert decision["state"] is not None
    decision["state"]["policies"].clear()
    assert one.state["policies"] == {"docker": "use"}
    assert two.state["policies"] == {}


@given(st.lists(st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "tool"]), "content": MESSAGES}), max_size=8))
def test_a_transcript_is_the_steps_of_its_user_messages(messages: list[dict[str, str]]) -> None:
    engine = create_engine()
    for message in messages:
        if message["role"] == "user":
            decision = engine.step(message["content"])
            if decision["kind"] == "clarify":
                assert compile_transcript(messages) == {"kind": "confirm", "prompt_to_user": decision["prompt_to_user"]}
                return
    assert compile_transcript(messages) == {"kind": "state", "state": engine.state}


@given(TALKS, MESSAGES)
def test_the_preprocessor_never_touches_an_answer(texts: list[str], text: str) -> None:
    engine = after(texts)
    handed_on = preprocess(engine, text)
    if engine.has_pending_clarification():
        assert handed_on == text
    elif handed_on != text:
        assert create_engine().step(handed_on)["kind"] in ("update", "clarify")


def test_what_is_no_text_is_named_and_changes_nothing() -> None:
    engine = create_engine()
    engine.step("use docker")
    engine.step("use podman instead of vim")  # a question is open
    before = engine.export_checkpoint()
    calls: list[tuple[str, Callable[[Any], object], Any]] = [
        *(
            ("user_input", call, value)
            for call in (engine.step, partial(controller.preview, engine))
            for value in (None, 5, b"yes")
        ),
        *(("messages", call, value) for call in (engine.apply_transcript, compile_transcript) for value in (None, "abc", [1])),
    ]
    for field, call, value in calls:
        with pytest.raises(InvalidInput) as caught:
            call(value)
        assert caught.value.field == field
    assert engine.export_checkpoint() == before

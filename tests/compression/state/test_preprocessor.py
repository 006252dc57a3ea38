"""Near forms put right by rules, drafts by a model: both checked alike, neither ever applied by itself.

These tests cover cases of our own beside the contract's fixtures. They leave out calls of any model.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from turnfold.compression.state import (
    DirectiveDraft,
    create_engine,
    draft_steps,
    parse_preprocessor_output,
    preprocess,
    preprocess_heuristic,
    why_ordinary,
)
from turnfold.compression.summary.calls import ModelCall, ModelReply

REWRITTEN = [
    ("Use Docker", "use docker"),
    ("  PROHIBIT   Peanuts!!", "prohibit peanuts"),
    ("(Clear state.)", None),
    ("(clear state).", "clear state"),
    ("[Reset Policies]", "reset policies"),
    ("Set premise Project Atlas uses UV.", "set premise Project Atlas uses UV"),
    ("Change Premise to The End", "change premise to The End"),
    ("Use Podman instead of Docker.", "use podman instead of docker"),
    ("Remove policy Docker", "remove policy docker"),
]
ABSTAINED = """
Please use docker
Use docker?
Use it
Use docker and podman, prohibit kubectl
use docker; prohibit podman
set premise a. use docker
Set premise to concise
"use docker"
> use docker
- use docker
we prohibit peanuts
((use docker))
[use docker)
use
""".strip().splitlines()


@each(("message", "directive"), REWRITTEN)
def test_near_forms_are_put_right(message: str, directive: str | None) -> None:
    found = preprocess_heuristic(message)
    assert found == {"classification": "directive" if directive else "unknown", "output": directive}
    assert preprocess(create_engine(), message) == (directive or message)


@each("message", ABSTAINED)
def test_anything_more_than_one_directive_is_left_as_it_is(message: str) -> None:
    assert preprocess_heuristic(message) == {"classification": "unknown", "output": None}
    assert preprocess(create_engine(), message) == message


@each("message", ["", "hello", "what time is it?", "the house\nis old", "x" * 9_000])
def test_small_talk_holds_none(message: str) -> None:
    assert preprocess_heuristic(message) == {"classification": "no_directive", "output": None}


def test_nothing_is_rewritten_while_a_question_waits() -> None:
    engine = create_engine()
    engine.step("use podman instead of docker")
    assert preprocess(engine, "Clear State") == "Clear State"


PROPOSALS = st.text(max_size=40) | st.builds(
    "{} {}".format, st.sampled_from(["use", "Prohibit", "set premise", "x"]), st.text(max_size=9)
)


@given(PROPOSALS, st.none() | PROPOSALS)
def test_whatever_passes_is_one_exact_directive(raw: str, source: str | None) -> None:
    directive = parse_preprocessor_output(raw, source_input=source)
    if directive is not None:
        assert why_ordinary(directive) == ""
        assert create_engine().step(directive)["kind"] in ("update", "clarify")


@each(
    "raw",
    [
        None,
        3,
        [],
        {"classification": "directive"},
        {"classification": "directive", "output": "use x", "more": 1},
        {"classification": "directive", "output": " "},
        {"classification": "unknown", "output": None},
        '{"classification":"directive","output":"{\\"classification\\":\\"directive\\",\\"output\\":\\"use x\\"}"}',
        "{" * 9_000,
        "I would say: use x",
    ],
)
def test_malformed_proposals_are_refused(raw: object) -> None:
    assert parse_preprocessor_output(raw) is None


def drafted(message: str, reply: str | None, waiting: bool = False) -> tuple[ModelCall | None, DirectiveDraft | None, str]:
    """Drive the generator; also what the engine's state is afterwards."""
    engine = create_engine()
    if waiting:
        engine.step("use podman instead of docker")
    steps = draft_steps(engine, message)
    call: ModelCall | None = None
    try:
        call = next(steps)
        steps.send(None if reply is None else ModelReply(reply))
    except StopIteration as stop:
        return call, stop.value, engine.export_checkpoint_json()
    raise AssertionError("a draft takes one call at most")


EMPTY = create_engine().export_checkpoint_json()


def test_a_draft_is_a_proposal_and_changes_nothing() -> None:
    call, draft, state = drafted("could we stop using peanuts in all of this", "prohibit peanuts")
    assert call is not None
    assert call.user == "could we stop using peanuts in all of this"
    assert call.temperature == 0.0
    assert draft == DirectiveDraft("prohibit peanuts", by_model=True)
    assert draft.prompt == "Did you mean 'prohibit peanuts'? Send it to apply it."
    assert state == EMPTY


@each(
    "reply",
    [
        None,
        "",
        "<NO_DIRECTIVE>",
        "prohibit almonds",
        "prohibit peanuts\nuse almonds",
        "Prohibit peanuts",
        "prohibit peanuts and use almonds",
        "Sure! prohibit peanuts",
        "use nuts instead of peanuts",
    ],
)
def test_a_draft_that_fails_the_check_is_none(reply: str | None) -> None:
    assert drafted("could we stop using peanuts in all of this", reply)[1:] == (None, EMPTY)


def test_no_call_where_none_is_needed() -> None:
    assert drafted("Use Docker", None)[:2] == (None, DirectiveDraft("use docker", by_model=False))
    assert drafted("good morning", None)[:2] == (None, None)
    assert drafted("please use docker " * 200, None)[:2] == (None, None)
    assert drafted("please use docker", None, waiting=True)[:2] == (None, None)


PROPOSED = '{"classification": "directive", "output": "use ruff"}'


@each(
    ("source", "passes"),
    [
        ("use ruff", True),
        (PROPOSED, True),
        (f" \n{PROPOSED}", True),
        (PROPOSED.replace("ruff", "black"), False),
        ('{"classification": "directive"', False),
        ("is ruff any good?", False),
    ],
)
def test_a_message_that_proposes_a_directive_means_it(source: str, passes: bool) -> None:
    assert parse_preprocessor_output(PROPOSED, source_input=source) == ("use ruff" if passes else None)

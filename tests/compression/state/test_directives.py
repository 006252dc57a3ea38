"""Every rule and every prompt of the directive grammar, without outside data.

These tests cover the grammar's table as cases. They leave out the proxy's side (guards, placement).
"""

from __future__ import annotations

from tests.support.cases import each
from tests.support.growth import assert_linear, repeated
from turnfold.compression.state import create_engine
from turnfold.compression.state.engine import Engine
from turnfold.compression.state.wording import item_key, premise_value


def after(*texts: str) -> Engine:
    engine = create_engine()
    for text in texts:
        engine.step(text)
    return engine


PASSED_BY = [
    "",
    "Use docker",
    "USE docker",
    " use docker",
    "\tuse docker",
    "used docker",
    "uses",
    "prohibited docker",
    "clear state.",
    "clear state ",
    "clear premises",
    "clear  state",
    "reset policies!",
    "reset policy",
    "reset",
    "Set premise x",
    "set premises x",
    "set premise\tx",
    "set  premise x",
    "change premise",
    "change premise ",
    "change premise   ",
    "remove policies docker",
    "remove docker",
    "remove  policy docker",
    "yes",
    "no",
    "please use docker",
    "don't use docker",
    "use\tdocker",
    "use\ndocker",
]


@each("text", PASSED_BY)
def test_inexact_text_passes(text: str) -> None:
    engine = after("set premise p", "use x")
    state = engine.state
    assert engine.step(text) == {"kind": "passthrough", "state": None, "prompt_to_user": None}
    assert engine.state == state


UPDATES: list[tuple[list[str], str | None, dict[str, str]]] = [
    (["set premise Concise  replies"], "Concise replies", {}),
    (["set premise to"], "to", {}),
    (["set premise to "], "to", {}),
    (["set premise total rewrite"], "total rewrite", {}),
    (["set premise a", "change premise to b"], "b", {}),
    (["set premise a", "change premise to to b"], "to b", {}),
    (["set premise a", "clear premise"], None, {}),
    (["clear premise"], None, {}),
    (["use docker"], None, {"docker": "use"}),
    (["use docker", "use docker"], None, {"docker": "use"}),
    (["use The  Docker"], None, {"docker": "use"}),
    (["use theatre"], None, {"theatre": "use"}),
    (["use the the docker"], None, {"the docker": "use"}),
    (["use ＤＯＣＫＥＲ"], None, {"docker": "use"}),
    (["use \u00a0docker compose"], None, {"docker compose": "use"}),
    (["prohibit dont panic"], None, {"don't panic": "prohibit"}),
    (["prohibit don’t panic"], None, {"don't panic": "prohibit"}),
    (["prohibit don`t panic"], None, {"don't panic": "prohibit"}),
    (["prohibit dontology"], None, {"dontology": "prohibit"}),
    (["prohibit docker", "prohibit docker"], None, {"docker": "prohibit"}),
    (["use docker", "remove policy the docker"], None, {}),
    (["remove policy docker"], None, {}),
    (["use docker", "prohibit x", "reset policies"], None, {}),
    (["reset policies"], None, {}),
    (["set premise a", "use docker", "reset policies"], "a", {}),
    (["set premise a", "use docker", "clear state"], None, {}),
    (["use docker", "use podman instead of docker"], None, {"podman": "use"}),
    (["use docker", "use the docker instead of docker"], None, {"docker": "use"}),
    (["prohibit docker", "use docker instead of docker"], None, {"docker": "prohibit"}),
    (["use docker", "use podman", "use podman instead of docker"], None, {"podman": "use"}),
    (["use b instead of c", "yes", "use x instead of b instead of c", "no"], None, {"b": "use"}),
    (["use insteadof x"], None, {"insteadof x": "use"}),
]


@each(("texts", "premise", "policies"), UPDATES)
def test_a_directive_updates_the_state(texts: list[str], premise: str | None, policies: dict[str, str]) -> None:
    engine = after(*texts[:-1])
    decision = engine.step(texts[-1])
    expected = {"premise": premise, "policies": policies, "version": 2}
    assert decision == {"kind": "update", "state": expected, "prompt_to_user": None}
    assert engine.state == expected


BLANK_USE = "Policy item cannot be empty.\nUse 'use <item>' with a non-empty value."
BLANK_PROHIBIT = "Policy item cannot be empty.\nUse 'prohibit <item>' with a non-empty value."
BLANK_REMOVE = "Policy item cannot be empty.\nUse 'remove policy <item>' with a non-empty value."
BLANK_SET = "Premise value cannot be empty.\nUse 'set premise <value>' with a non-empty value."
BLANK_CHANGE = "Premise value cannot be empty.\nUse 'change premise to <value>' with a non-empty value."
HALF = "Replacement requires both new and old items.\nUse 'use <new item> instead of <old item>' with non-empty values."
CLARIFIES: list[tuple[list[str], str, str]] = [
    (["set premise a"], "set premise b", "Premise already set.\nUse 'change premise to <value>' to modify it."),
    ([], "change premise to b", "No premise is set.\nUse 'set premise <value>' to define one."),
    ([], "set premise", BLANK_SET),
    ([], "set premise   ", BLANK_SET),
    (["set premise a"], "set premise ", BLANK_SET),
    ([], "change premise to", BLANK_CHANGE),
    ([], "change premise to  ", BLANK_CHANGE),
    ([], "set premise to short replies", "Did you mean 'set premise short replies'?"),
    (["set premise a"], "set premise to b", "Did you mean 'set premise b'?"),
    ([], "change premise short replies", "Did you mean 'change premise to short replies'?"),
    ([], "change premise tomorrow", "Did you mean 'change premise to tomorrow'?"),
    (["prohibit docker"], "use the Docker", '"docker" is currently prohibited.\nRemove or replace it before using it.'),
    (["use docker"], "prohibit DOCKER", '"docker" is currently in use.\nRemove or replace it before prohibiting it.'),
    ([], "use", BLANK_USE),
    ([], "use  ", BLANK_USE),
    ([], "use the", BLANK_USE),
    ([], "use An ", BLANK_USE),
    ([], "prohibit", BLANK_PROHIBIT),
    ([], "prohibit   ", BLANK_PROHIBIT),
    ([], "prohibit a", BLANK_PROHIBIT),
    ([], "remove policy", BLANK_REMOVE),
    ([], "remove policy  ", BLANK_REMOVE),
    ([], "remove policy an", BLANK_REMOVE),
    ([], "use instead of x", HALF),
    ([], "use  instead of x", HALF),
    ([], "use x instead of", HALF),
    ([], "use x instead of ", HALF),
    ([], "use x instead of   ", HALF),
    ([], "use x instead of the", HALF),
    ([], "use a instead of x", HALF),
    ([], "use Podman instead of docker", 'Did you mean to use "Podman" instead?'),
    (["prohibit podman"], "use podman instead of docker", 'Did you mean to use "podman" instead?'),
    (
        ["prohibit docker"],
        "use podman instead of docker",
        '"docker" is currently prohibited. Did you mean to remove it and use "podman" instead?',
    ),
    (
        ["prohibit docker", "prohibit podman"],
        "use podman instead of docker",
        '"docker" is currently prohibited. Did you mean to remove it and use "podman" instead?',
    ),
    (
        ["use docker", "prohibit podman"],
        "use podman instead of docker",
        '"podman" is currently prohibited. Did you mean to remove "docker" and use "podman" instead?',
    ),
]


@each(("texts", "text", "prompt"), CLARIFIES)
def test_a_directive_that_is_unclear_asks_and_changes_nothing(texts: list[str], text: str, prompt: str) -> None:
    engine = after(*texts)
    state = engine.state
    assert engine.step(text) == {"kind": "clarify", "state": None, "prompt_to_user": prompt}
    assert engine.state == state
    assert engine.has_pending_clarification() is ("Did you mean to" in prompt)


PENDING = [
    (["use podman instead of docker"], {"podman": "use"}),
    (["prohibit podman", "use podman instead of docker"], {"podman": "use"}),
    (["prohibit docker", "use podman instead of docker"], {"podman": "use"}),
    (["use docker", "prohibit podman", "use podman instead of docker"], {"podman": "use"}),
]
YES = ["yes", "yes please", "yep", "yeah", "sure", "ok", "okay", " YES!!! ", "Yes  Please.", "ｏｋ", "sure,", "okay ?!"]
NO = ["no", "nope", "no thanks", "No.", " NO   THANKS !", "nope?!"]
NEITHER = [
    "y",
    "n",
    "yes, please",
    "yes.please",
    "yes . .",
    "",
    "...",
    "clear state",
    "use x",
    "yes yes",
    "ok then",
    "no way",
    "\u00a1yes!",
]


@each(("texts", "policies", "word"), [(*pending, word) for pending in PENDING for word in YES])
def test_yes_applies_what_was_asked(texts: list[str], policies: dict[str, str], word: str) -> None:
    engine = after(*texts)
    assert engine.step(word)["kind"] == "update"
    assert engine.state["policies"] == policies
    assert not engine.has_pending_clarification()


@each(("texts", "word"), [(texts, word) for texts, _ in PENDING for word in NO])
def test_no_leaves_the_state(texts: list[str], word: str) -> None:
    engine = after(*texts)
    state = engine.state
    assert engine.step(word) == {"kind": "update", "state": state, "prompt_to_user": None}
    assert not engine.has_pending_clarification()


@each("word", NEITHER)
def test_anything_else_asks_again(word: str) -> None:
    engine = after("use docker", "prohibit podman")
    asked = engine.step("use podman instead of docker")
    saved = engine.export_checkpoint_json()
    assert engine.step(word) == asked
    assert engine.export_checkpoint_json() == saved


def test_premise_keeps_case_and_marks() -> None:
    assert premise_value("  The ﬁnal\t“API”  isn`t done. ") == "The final “API” isn't done."


def test_lower_case_and_composition_do_not_undo_each_other() -> None:
    key = item_key("J\u030c")  # no capital of its own, but the small letter has one code point
    assert key == "\u01f0" == item_key(key)


@each(
    ("front", "unit", "end"),
    [("use a", "\u0301\u0327", ""), ("use ", "x", ""), ("set premise ", "to ", ""), ("use ", " instead of ", "")],
)
def test_a_hostile_directive_takes_linear_time(front: str, unit: str, end: str) -> None:
    engine = create_engine()
    assert engine.step(front + repeated(unit)(1_000_000) + end)["kind"] == "passthrough"
    assert_linear(engine.step, lambda size: front + repeated(unit)(size) + end, 50_000)


@each(("front", "unit", "end"), [("yes", "\u0301\u0327", ""), ("yes", "!", "x"), ("", " ", "")])
def test_a_hostile_answer_takes_linear_time(front: str, unit: str, end: str) -> None:
    engine = create_engine()
    engine.step("use b instead of c")
    assert engine.step(front + repeated(unit)(1_000_000) + end)["kind"] == "clarify"
    assert_linear(engine.step, lambda size: front + repeated(unit)(size) + end, 50_000)

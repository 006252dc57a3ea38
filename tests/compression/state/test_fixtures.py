"""The contract's fixtures, run unchanged where the shared data is there, and a few of our own in the same form anywhere.

These tests cover one runner per suite, as the fixtures' own README says they are run. They leave out cases of another form.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import turnfold.compression.state as face
from benchmarks.support.data import shared_root
from turnfold.compression.errors import InvalidInput
from turnfold.compression.state import Engine, compile_transcript, controller, create_engine, preprocessor

ROOT = shared_root() / "data" / "context_compiler" / "v0.7.7"
SUITES = {
    "conformance/step": 19,
    "conformance/checkpoint": 15,
    "conformance/controller": 6,
    "controller": 2,
    "conformance/state-json": 6,
    "conformance/transcript": 4,
    "conformance/api": 1,
    "engine-regression/structured/scenarios": 6,
    "engine-regression/structured/expected": 6,
    "preprocessor": 68,
}
needs_data = pytest.mark.skipif(not ROOT.is_dir(), reason=f"no fixtures at {ROOT}; EVALUATION_SHARED names another place")


OWN: dict[str, list[dict[str, Any]]] = json.loads((Path(__file__).parent / "cases" / "contract.json").read_text("utf-8"))


def paths(suite: str) -> list[Path]:
    return sorted((ROOT / suite).glob("*.json"))


def load(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def cases(suite: str) -> list[Any]:
    """Our own fixtures of a suite, and the contract's."""
    own = [pytest.param(fixture, id=fixture["id"]) for fixture in OWN.get(suite, ())]
    return own + [pytest.param(load(path), id=path.stem) for path in paths(suite)]


def scenarios() -> list[Any]:
    """Scenarios with their turns, which the contract keeps apart."""
    suite = "engine-regression/structured/scenarios"
    own = [pytest.param(fixture, id=fixture["id"]) for fixture in OWN[suite]]
    pairs = ((load(path), load(path.parents[1] / "expected" / path.name)) for path in paths(suite))
    return own + [pytest.param({**scenario, "turns": expected["turns"]}, id=scenario["id"]) for scenario, expected in pairs]


def engine_of(fixture: dict[str, Any]) -> Engine:
    engine = create_engine(fixture.get("initial_state"))
    for text in fixture.get("prelude", []):
        engine.step(text)
    return engine


def check_behind(engine: Engine, expected: dict[str, Any]) -> None:
    if "state" in expected:
        assert engine.state == expected["state"]
    if "has_pending_clarification" in expected:
        assert engine.has_pending_clarification() is expected["has_pending_clarification"]


def same_decision(decision: Any, expected: dict[str, Any]) -> None:
    assert {**decision, "prompt_to_user": None} == {**expected, "prompt_to_user": None}
    if expected["prompt_to_user"] is not None or expected["kind"] != "clarify":
        assert decision["prompt_to_user"] == expected["prompt_to_user"]
    else:
        assert decision["prompt_to_user"], "null stands for any text that is not empty"


@needs_data
def test_every_suite_is_whole() -> None:
    assert {suite: len(paths(suite)) for suite in SUITES} == SUITES


@pytest.mark.parametrize("fixture", cases("conformance/step"))
def test_step(fixture: dict[str, Any]) -> None:
    engine = engine_of(fixture)
    same_decision(engine.step(fixture["input"]), fixture["expected"]["decision"])
    check_behind(engine, fixture["expected"])


def round_trip(engine: Engine) -> None:
    saved = engine.export_checkpoint_json()
    engine.step("no")
    engine.step("clear state")
    engine.import_checkpoint_json(saved)


ACTIONS: dict[str, Callable[[Engine, dict[str, Any]], object]] = {
    "import_json": lambda engine, action: engine.import_json(action["payload"]),
    "export_json": lambda engine, _: engine.export_json(),
    "import_checkpoint": lambda engine, action: engine.import_checkpoint(action["payload"]),
    "import_checkpoint_json": lambda engine, action: engine.import_checkpoint_json(action["payload"]),
    "export_checkpoint_json": lambda engine, _: engine.export_checkpoint_json(),
    "checkpoint_json_round_trip": lambda engine, _: round_trip(engine),
    "step": lambda engine, action: controller.step(engine, action["input"]),
    "preview": lambda engine, action: controller.preview(engine, action["input"]),
    "state_diff": lambda _, action: controller.state_diff(action["before"], action["after"]),
}


@pytest.mark.parametrize("fixture", cases("conformance/state-json") + cases("conformance/checkpoint"))
def test_serialisation(fixture: dict[str, Any]) -> None:
    expected = fixture["expected"]
    engine = engine_of(fixture)
    act = ACTIONS[fixture["action"]["fn"]]
    if "error" in expected:
        assert expected["error"]["type"] == "ValueError"
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is checked below
            act(engine, fixture["action"])
        assert isinstance(caught.value, InvalidInput)
        assert expected["error"]["message_contains"] in str(caught.value)
    else:
        result = act(engine, fixture["action"])
        if "payload" in expected:
            assert result == expected["payload"]
        if "payload_object" in expected:
            assert json.loads(str(result)) == expected["payload_object"]
    check_behind(engine, expected)
    if "followup" in expected:
        same_decision(engine.step(expected["followup"]["input"]), expected["followup"]["decision"])
        check_behind(engine, expected["followup"])


@pytest.mark.parametrize("fixture", cases("conformance/controller"))
def test_controller(fixture: dict[str, Any]) -> None:
    expected = fixture["expected"]
    engine = engine_of(fixture)
    result = ACTIONS[fixture["action"]["fn"]](engine, fixture["action"])
    assert result == expected.get("result", expected.get("diff"))
    check_behind(engine, {**expected, "state": expected.get("state", expected.get("state_after_preview", engine.state))})


@pytest.mark.parametrize("fixture", cases("controller"))
def test_preview_leaves_the_engine_alone(fixture: dict[str, Any]) -> None:
    engine = engine_of(fixture)
    before = engine.state
    result = controller.preview(engine, fixture["input"])
    assert fixture["expected"] == {
        "decision_kind": result["decision"]["kind"],
        "would_mutate": result["would_mutate"],
        "diff_changed": result["diff"]["changed"],
        "state_before_equals_after": result["state_before"] == result["state_after"],
        "engine_state_unchanged_after_preview": engine.state == before,
    }


@pytest.mark.parametrize("fixture", cases("conformance/transcript"))
def test_transcript(fixture: dict[str, Any]) -> None:
    result = compile_transcript(fixture["messages"])
    if "clarify" in fixture["expected"]:
        assert result == {"kind": "confirm", **fixture["expected"]["clarify"]}
    else:
        assert result == fixture["expected"]["state"]


@pytest.mark.parametrize("fixture", scenarios())
def test_regression(fixture: dict[str, Any]) -> None:
    engine = create_engine()
    if fixture["initial_checkpoint"] is not None:
        engine.import_checkpoint(fixture["initial_checkpoint"])
    turns = []
    for text in fixture["inputs"]:
        decision = engine.step(text)
        kept = {"kind": decision["kind"], "prompt_to_user": decision["prompt_to_user"]}
        turns.append({"input": text, "decision": kept, "checkpoint": engine.export_checkpoint()})
    assert turns == fixture["turns"]


@pytest.mark.parametrize("fixture", cases("conformance/api"))
def test_public_face(fixture: dict[str, Any]) -> None:
    assert [name for name in fixture["required_exports"] if not hasattr(face, name)] == []
    assert [name for name in fixture["engine"]["required_members"] if not hasattr(Engine, name)] == []


PREPROCESSOR: dict[str, Callable[[dict[str, Any]], tuple[object, object]]] = {
    "heuristic": lambda f: (preprocessor.preprocess_heuristic(f["input"]), f["expected"]),
    "validator": lambda f: (
        preprocessor.validate_preprocessor_output(f["raw_output"], source_input=f.get("source_input")),
        f["expected"],
    ),
    "parse": lambda f: (
        preprocessor.parse_preprocessor_output(f["raw_output"], source_input=f.get("source_input")),
        f["expected_parsed"],
    ),
    "api-contract": lambda f: ([name for name in f["required_exports"] if not hasattr(face, name)], []),
}


@pytest.mark.parametrize("fixture", cases("preprocessor"))
def test_preprocessor(fixture: dict[str, Any]) -> None:
    found, expected = PREPROCESSOR[fixture.get("kind", "heuristic")](fixture)
    assert found == expected

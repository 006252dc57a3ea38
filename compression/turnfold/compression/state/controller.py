"""Steps and previews of an engine, with their changes.

`step`, `preview`, `state_diff` and their result shapes, version 1. They add no rules of their own.
"""

from __future__ import annotations

from typing import Final, Literal, TypedDict

from turnfold.compression.state.decisions import DecisionDict, decision_value
from turnfold.compression.state.engine import Engine
from turnfold.compression.state.machine import Policy, decide
from turnfold.compression.state.serial import StateDict, state_value

OUTPUT_VERSION: Final = 1


class PremiseDiff(TypedDict):
    """The premise before and after."""

    before: str | None
    after: str | None
    changed: bool


class PolicyChange(TypedDict):
    """An item's policy before and after."""

    before: Policy
    after: Policy


class PolicyDiff(TypedDict):
    """Items that were added, removed or changed."""

    added: dict[str, Policy]
    removed: dict[str, Policy]
    changed: dict[str, PolicyChange]


class StateDiff(TypedDict):
    """The difference between two states."""

    changed: bool
    premise: PremiseDiff
    policies: PolicyDiff


class StepResult(TypedDict):
    """A step and the state after it."""

    output_version: int
    mode: Literal["step"]
    decision: DecisionDict
    state: StateDict


class PreviewResult(TypedDict):
    """The effect that a step would have."""

    output_version: int
    mode: Literal["preview"]
    decision: DecisionDict
    state_before: StateDict
    state_after: StateDict
    diff: StateDiff
    would_mutate: bool


def step(engine: Engine, user_input: str) -> StepResult:
    """Process one user message."""
    decision = engine.step(user_input)
    return {"output_version": OUTPUT_VERSION, "mode": "step", "decision": decision, "state": engine.state}


def preview(engine: Engine, user_input: str) -> PreviewResult:
    """What `step` would do; the engine and its pending question do not change."""
    after, outcome = decide(engine.machine, user_input)
    before_value, after_value = engine.state, state_value(after.state)
    diff = state_diff(before_value, after_value)
    return {
        "output_version": OUTPUT_VERSION,
        "mode": "preview",
        "decision": decision_value(outcome, after),
        "state_before": before_value,
        "state_after": after_value,
        "diff": diff,
        "would_mutate": diff["changed"],
    }


def state_diff(state_before: StateDict, state_after: StateDict) -> StateDiff:
    """Compare two states, items in order."""
    old, new = state_before["policies"], state_after["policies"]
    policies: PolicyDiff = {
        "added": {item: new[item] for item in sorted(new.keys() - old.keys())},
        "removed": {item: old[item] for item in sorted(old.keys() - new.keys())},
        "changed": {
            item: {"before": old[item], "after": new[item]} for item in sorted(old.keys() & new.keys()) if old[item] != new[item]
        },
    }
    before, after = state_before["premise"], state_after["premise"]
    return {
        "changed": before != after or any(policies.values()),
        "premise": {"before": before, "after": after, "changed": before != after},
        "policies": policies,
    }

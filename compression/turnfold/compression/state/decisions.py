"""Decisions as JSON values, and helpers for decisions and states.

The shapes that `engine` and `controller` return, with their constants and accessors. Decisions are made in `machine`.
"""

from __future__ import annotations

from typing import Final, Literal, TypedDict

from turnfold.compression.state.machine import Decision as Outcome
from turnfold.compression.state.machine import Machine, Policy
from turnfold.compression.state.serial import StateDict, state_value

DECISION_PASSTHROUGH: Final = "passthrough"
DECISION_UPDATE: Final = "update"
DECISION_CLARIFY: Final = "clarify"
POLICY_USE: Final = "use"
POLICY_PROHIBIT: Final = "prohibit"


class DecisionDict(TypedDict):
    """The decision about one message: `state` with an update, `prompt_to_user` with a clarify."""

    kind: Literal["passthrough", "update", "clarify"]
    state: StateDict | None
    prompt_to_user: str | None


def decision_value(outcome: Outcome, after: Machine) -> DecisionDict:
    """The outcome of a step that led to `after`, as a new JSON value."""
    state = state_value(after.state) if outcome.kind == DECISION_UPDATE else None
    return {"kind": outcome.kind, "state": state, "prompt_to_user": outcome.prompt}


def is_passthrough(decision: DecisionDict) -> bool:
    """Whether the message contained no directive."""
    return decision["kind"] == DECISION_PASSTHROUGH


def is_update(decision: DecisionDict) -> bool:
    """Whether a directive was applied (even if it changed nothing)."""
    return decision["kind"] == DECISION_UPDATE


def is_clarify(decision: DecisionDict) -> bool:
    """Whether the user must be asked."""
    return decision["kind"] == DECISION_CLARIFY


def get_clarify_prompt(decision: DecisionDict) -> str | None:
    """The question; None for any other decision."""
    return decision["prompt_to_user"]


def get_decision_state(decision: DecisionDict) -> StateDict | None:
    """The state after an update; None for any other decision."""
    return decision["state"]


def get_premise_value(state: StateDict) -> str | None:
    """The premise in force."""
    return state["premise"]


def get_policy_items(state: StateDict, policy: Policy | None = None) -> list[str]:
    """Items in order, all or those of one policy."""
    return sorted(item for item, value in state["policies"].items() if policy is None or value == policy)

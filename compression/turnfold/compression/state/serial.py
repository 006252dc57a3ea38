"""State and checkpoint as JSON values and texts, and back.

The two JSON forms, checked completely before anything is taken from them. What was read is applied elsewhere, and files are the
caller's.

State: ``{"policies": {item: "use" | "prohibit"}, "premise": str | null, "version": 2}``. Checkpoint, version 1: a state
and the question that waits. As text both have sorted keys and no blanks, so equal values are equal bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, Literal, NotRequired, TypedDict

from turnfold.compression.errors import InvalidInput
from turnfold.compression.state.machine import Machine, Pending, Policy, State
from turnfold.compression.state.wording import MAX_VALUE, MAX_VALUE_MARKS, item_key, item_spelling, premise_value, tame

STATE_VERSION: Final = 2
CHECKPOINT_VERSION: Final = 1
_POLICIES: Final[dict[object, Policy]] = {"use": "use", "prohibit": "prohibit"}
_BAD_STATE: Final = "Invalid state payload"
_BAD_CHECKPOINT: Final = "Invalid checkpoint payload"


class StateDict(TypedDict):
    """A state as a JSON value."""

    premise: str | None
    policies: dict[str, Policy]
    version: int


class ReplacementDict(TypedDict):
    """A replacement that waits for a yes; "use_only" has no old item."""

    kind: Literal["use_only", "replace_use"]
    new_item: str
    old_item: str | None


class PendingDict(TypedDict):
    """A pending question."""

    kind: Literal["replacement"]
    replacement: ReplacementDict
    prompt_to_user: str


class CheckpointDict(TypedDict):
    """The complete state of an engine."""

    checkpoint_version: int
    authoritative_state: StateDict
    pending: NotRequired[PendingDict | None]


def state_value(state: State) -> StateDict:
    """A state as a fresh JSON value, items in order."""
    return {"premise": state.premise, "policies": dict(sorted(state.policies.items())), "version": STATE_VERSION}


def portable_state(state: State) -> StateDict:
    """`state_value` in spellings that reading normalises back to the same keys."""
    value = state_value(state)
    return {**value, "policies": {item_spelling(key): policy for key, policy in value["policies"].items()}}


def checkpoint_value(machine: Machine) -> CheckpointDict:
    """A machine as a fresh JSON value."""
    return {
        "checkpoint_version": CHECKPOINT_VERSION,
        "authoritative_state": portable_state(machine.state),
        "pending": None if machine.pending is None else _pending_value(machine.pending),
    }


def _pending_value(pending: Pending) -> PendingDict:
    return {
        "kind": "replacement",
        "replacement": {
            "kind": "use_only" if pending.old is None else "replace_use",
            "new_item": pending.new,
            "old_item": pending.old,
        },
        "prompt_to_user": pending.prompt,
    }


def canonical(value: Mapping[str, Any]) -> str:
    """JSON text with sorted keys, no blanks, ASCII only."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def parse_json(text: str, field: str) -> Any:
    """JSON text to a value.

    Raises:
        InvalidInput: it is not JSON, is nested too deeply, or has a duplicate key.
    """
    try:
        return json.loads(text, object_pairs_hook=_once)
    except (TypeError, ValueError, RecursionError) as exc:
        raise InvalidInput(field, f"Invalid JSON payload: {exc}") from exc


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("an object names a key twice")
    return made


def read_state(value: object, field: str = "state") -> State:
    """Check a state given as a JSON value, and normalise its keys.

    Raises:
        InvalidInput: it breaks the contract ("Invalid state payload", "Unsupported state version").
    """
    if not isinstance(value, dict) or set(value) != {"premise", "policies", "version"}:
        raise InvalidInput(field, f"{_BAD_STATE}: must be an object of premise, policies and version")
    if type(value["version"]) is not int or value["version"] != STATE_VERSION:
        raise InvalidInput(f"{field}.version", f"Unsupported state version: must be {STATE_VERSION}")
    return State(_read_premise(value["premise"], f"{field}.premise"), _read_policies(value["policies"], f"{field}.policies"))


def _read_premise(value: object, field: str) -> str | None:
    if value is None:
        return None
    premise = premise_value(_tame_text(value, field, _BAD_STATE))
    if not premise:
        raise InvalidInput(field, f"{_BAD_STATE}: must be null or not blank")
    return premise


def _read_policies(value: object, field: str) -> dict[str, Policy]:
    if not isinstance(value, dict):
        raise InvalidInput(field, f"{_BAD_STATE}: must be an object")
    policies: dict[str, Policy] = {}
    for raw, given in value.items():
        key = item_key(_tame_text(raw, field, _BAD_STATE))
        policy = _POLICIES.get(given) if isinstance(given, str) else None
        if not key or policy is None:
            raise InvalidInput(f"{field}.{raw[:80]}", f'{_BAD_STATE}: an item that is not empty maps to "use" or "prohibit"')
        if policies.setdefault(key, policy) != policy:
            raise InvalidInput(f"{field}.{raw[:80]}", f"{_BAD_STATE}: the same item has both policies")
    return policies


def read_checkpoint(value: object, field: str = "checkpoint") -> Machine:
    """Check a checkpoint given as a JSON value; ``pending`` may be omitted.

    Raises:
        InvalidInput: it breaks the contract ("Invalid checkpoint payload", "Unsupported checkpoint version", or of its state).
    """
    keys = {"checkpoint_version", "authoritative_state"}
    if not isinstance(value, dict) or set(value) - {"pending"} != keys:
        raise InvalidInput(field, f"{_BAD_CHECKPOINT}: must be an object of checkpoint_version, authoritative_state and pending")
    if type(value["checkpoint_version"]) is not int or value["checkpoint_version"] != CHECKPOINT_VERSION:
        raise InvalidInput(f"{field}.checkpoint_version", f"Unsupported checkpoint version: must be {CHECKPOINT_VERSION}")
    state = read_state(value["authoritative_state"], f"{field}.authoritative_state")
    pending = value.get("pending")
    return Machine(state, None if pending is None else _read_pending(pending, f"{field}.pending"))


def _read_pending(value: object, field: str) -> Pending:
    if not isinstance(value, dict) or set(value) != {"kind", "replacement", "prompt_to_user"} or value["kind"] != "replacement":
        raise InvalidInput(field, f"{_BAD_CHECKPOINT}: must be a replacement with its prompt_to_user")
    new, old = _read_replacement(value["replacement"], f"{field}.replacement")
    prompt = value["prompt_to_user"]
    if not isinstance(prompt, str) or not prompt.strip():
        raise InvalidInput(f"{field}.prompt_to_user", f"{_BAD_CHECKPOINT}: must be a text")
    return Pending(new, old, prompt)


def _read_replacement(value: object, field: str) -> tuple[str, str | None]:
    if not isinstance(value, dict) or set(value) != {"kind", "new_item", "old_item"}:
        raise InvalidInput(field, f"{_BAD_CHECKPOINT}: must be an object of kind, new_item and old_item")
    new = _read_item(value["new_item"], f"{field}.new_item")
    if value["kind"] == "use_only" and value["old_item"] is None:
        return new, None
    if value["kind"] == "replace_use":
        return new, _read_item(value["old_item"], f"{field}.old_item")
    raise InvalidInput(field, f'{_BAD_CHECKPOINT}: kind is "use_only" without an old item or "replace_use" with one')


def _read_item(value: object, field: str) -> str:
    if not item_key(item := _tame_text(value, field, _BAD_CHECKPOINT)):
        raise InvalidInput(field, f"{_BAD_CHECKPOINT}: the item is empty")
    return item


def _tame_text(value: object, field: str, problem: str) -> str:
    if not isinstance(value, str) or not tame(value, MAX_VALUE, MAX_VALUE_MARKS):
        raise InvalidInput(field, f"{problem}: must be a text of at most {MAX_VALUE} characters")
    return value

"""The state machine: a state, possibly a pending question, and the transition for a message. Pure.

`State`, `Pending`, `Machine`, `Decision` and the one transition, `decide`. JSON is in `serial`, text patterns are in `grammar`,
and conversations are the business of `placement`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from turnfold.compression.errors import InvalidInput
from turnfold.compression.state import prompts
from turnfold.compression.state.grammar import Directive, Malformed, parse
from turnfold.compression.state.wording import answer, item_key, premise_value

Policy = Literal["use", "prohibit"]


@dataclass(frozen=True, slots=True)
class State:
    """The user's premise and policies. `policies` maps item keys to policies and is never changed in place."""

    premise: str | None = None
    policies: Mapping[str, Policy] = field(default_factory=dict)

    def with_policy(self, key: str, policy: Policy) -> State:
        """The same state with one policy set."""
        return self if self.policies.get(key) == policy else replace(self, policies={**self.policies, key: policy})

    def without(self, key: str) -> State:
        """The same state without a policy."""
        return replace(self, policies={k: v for k, v in self.policies.items() if k != key}) if key in self.policies else self


@dataclass(frozen=True, slots=True)
class Pending:
    """A replacement that waits for a yes or no.

    Attributes:
        new: the new item as written.
        old: the item to remove; None if only the new one is added.
        prompt: the question as it was put.
    """

    new: str
    old: str | None
    prompt: str


@dataclass(frozen=True, slots=True)
class Machine:
    """The complete state of a conversation's engine."""

    state: State = State()
    pending: Pending | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about a message; `prompt` is set for a clarify only."""

    kind: Literal["passthrough", "update", "clarify"]
    prompt: str | None = None


#: The initial machine of every conversation.
FRESH: Final = Machine()
PASSTHROUGH: Final = Decision("passthrough")
UPDATE: Final = Decision("update")

_Outcome = State | Pending | str  # the state after an update, a question to be answered, or a prompt


def decide(machine: Machine, text: str) -> tuple[Machine, Decision]:
    """Process one message. A clarify never changes the state; a pending question blocks parsing until a yes or no.

    Raises:
        InvalidInput: the message is no string.
    """
    if not isinstance(text, str):
        raise InvalidInput("user_input", "must be a string")
    if machine.pending is not None:
        return _resolve(machine, machine.pending, text)
    parsed = parse(text)
    if parsed is None:
        return machine, PASSTHROUGH
    if isinstance(parsed, Malformed):
        return machine, Decision("clarify", parsed.prompt)
    outcome = _RULES[parsed.kind](machine.state, parsed)
    if isinstance(outcome, State):
        return Machine(outcome), UPDATE
    if isinstance(outcome, Pending):
        return replace(machine, pending=outcome), Decision("clarify", outcome.prompt)
    return machine, Decision("clarify", outcome)


def _resolve(machine: Machine, pending: Pending, text: str) -> tuple[Machine, Decision]:
    said = answer(text)
    if said is None:
        return machine, Decision("clarify", pending.prompt)
    return Machine(_confirm(machine.state, pending) if said == "yes" else machine.state), UPDATE


def _confirm(state: State, pending: Pending) -> State:
    rest = state if pending.old is None else state.without(item_key(pending.old))
    return rest.with_policy(item_key(pending.new), "use")


def _set_premise(state: State, directive: Directive) -> _Outcome:
    return replace(state, premise=premise_value(directive.value)) if state.premise is None else prompts.PREMISE_ALREADY_SET


def _change_premise(state: State, directive: Directive) -> _Outcome:
    return prompts.PREMISE_NOT_SET if state.premise is None else replace(state, premise=premise_value(directive.value))


def _use(state: State, directive: Directive) -> _Outcome:
    key = item_key(directive.value)
    return prompts.use_of_prohibited(key) if state.policies.get(key) == "prohibit" else state.with_policy(key, "use")


def _prohibit(state: State, directive: Directive) -> _Outcome:
    key = item_key(directive.value)
    return prompts.prohibit_of_used(key) if state.policies.get(key) == "use" else state.with_policy(key, "prohibit")


def _replace_item(state: State, directive: Directive) -> _Outcome:
    new, old = directive.value, directive.old
    new_key, old_key = item_key(new), item_key(old)
    if new_key == old_key:
        return state
    if old_key not in state.policies:
        return Pending(new, None, prompts.replace_absent(new))
    if state.policies[old_key] == "prohibit":
        return Pending(new, old, prompts.replace_prohibited_old(new, old))
    if state.policies.get(new_key) == "prohibit":
        return Pending(new, old, prompts.replace_prohibited_new(new, old))
    return state.without(old_key).with_policy(new_key, "use")


_RULES: Final[dict[str, Callable[[State, Directive], _Outcome]]] = {
    "set premise": _set_premise,
    "change premise": _change_premise,
    "clear premise": lambda state, _: replace(state, premise=None),
    "reset policies": lambda state, _: replace(state, policies={}),
    "clear state": lambda state, _: State(),
    "use": _use,
    "prohibit": _prohibit,
    "remove policy": lambda state, directive: state.without(item_key(directive.value)),
    "replace": _replace_item,
}

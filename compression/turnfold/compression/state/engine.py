"""An engine: a machine that is kept from message to message.

The contract's object interface, a thin wrapper of a `Machine` without rules. All returned values are copies, so engines never
share state.
"""

from __future__ import annotations

from turnfold.compression.state.decisions import DecisionDict, decision_value
from turnfold.compression.state.machine import Machine, decide
from turnfold.compression.state.serial import (
    CheckpointDict,
    StateDict,
    canonical,
    checkpoint_value,
    parse_json,
    portable_state,
    read_checkpoint,
    read_state,
    state_value,
)
from turnfold.compression.state.transcript import ApplyResult, Transcript, replay


class Engine:
    """A conversation's state.

    Args:
        state: initial state as a JSON value; None: the empty state.

    Raises:
        InvalidInput: `state` breaks the contract.
    """

    def __init__(self, state: StateDict | None = None) -> None:
        self.machine = Machine() if state is None else Machine(read_state(state))

    def step(self, user_input: str) -> DecisionDict:
        """Process one user message."""
        self.machine, outcome = decide(self.machine, user_input)
        return decision_value(outcome, self.machine)

    @property
    def state(self) -> StateDict:
        """The current state, as a copy."""
        return state_value(self.machine.state)

    def has_pending_clarification(self) -> bool:
        """Whether a question is pending."""
        return self.machine.pending is not None

    def apply_transcript(self, messages: Transcript) -> ApplyResult:
        """Process a transcript's user messages up to the first clarify."""
        self.machine, result = replay(self.machine, messages)
        return result

    def export_json(self) -> str:
        """The state as canonical JSON text."""
        return canonical(portable_state(self.machine.state))

    def import_json(self, payload: str) -> None:
        """Replace the state and drop a pending question. On an error, nothing changes.

        Raises:
            InvalidInput: it is not JSON, or not a state.
        """
        self.machine = Machine(read_state(parse_json(payload, "state")))

    def export_checkpoint(self) -> CheckpointDict:
        """State and pending question as a JSON value."""
        return checkpoint_value(self.machine)

    def import_checkpoint(self, payload: object) -> None:
        """Replace state and question. On an error nothing changes.

        Raises:
            InvalidInput: it is not a checkpoint.
        """
        self.machine = read_checkpoint(payload)

    def export_checkpoint_json(self) -> str:
        """`export_checkpoint` as canonical JSON text."""
        return canonical(checkpoint_value(self.machine))

    def import_checkpoint_json(self, payload: str) -> None:
        """`import_checkpoint` from JSON text.

        Raises:
            InvalidInput: it is not JSON, or not a checkpoint.
        """
        self.machine = read_checkpoint(parse_json(payload, "checkpoint"))


def create_engine(state: StateDict | None = None) -> Engine:
    """A new engine; see `Engine`."""
    return Engine(state)

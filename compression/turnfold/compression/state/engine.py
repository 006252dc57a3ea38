"""An engine: one machine that lives on from message to message.

Lives here: the object with the interface of the contract, a thin hold on a `Machine`. Does not belong here: rules. Everything
handed out is a fresh value, so engines never share anything and any number of them stand side by side.
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
        state: a state to begin with, as JSON value; None: nothing is laid down.

    Raises:
        InvalidInput: `state` breaks the contract.
    """

    def __init__(self, state: StateDict | None = None) -> None:
        self.machine = Machine() if state is None else Machine(read_state(state))

    def step(self, user_input: str) -> DecisionDict:
        """Take one user message."""
        self.machine, outcome = decide(self.machine, user_input)
        return decision_value(outcome, self.machine)

    @property
    def state(self) -> StateDict:
        """What is laid down now, as a copy."""
        return state_value(self.machine.state)

    def has_pending_clarification(self) -> bool:
        """Whether a question waits for yes or no."""
        return self.machine.pending is not None

    def apply_transcript(self, messages: Transcript) -> ApplyResult:
        """Take a transcript's user messages up to the first clarify."""
        self.machine, result = replay(self.machine, messages)
        return result

    def export_json(self) -> str:
        """The state as canonical JSON text."""
        return canonical(portable_state(self.machine.state))

    def import_json(self, payload: str) -> None:
        """Replace the state; a waiting question is dropped. On an error nothing changes.

        Raises:
            InvalidInput: no JSON, or no state.
        """
        self.machine = Machine(read_state(parse_json(payload, "state")))

    def export_checkpoint(self) -> CheckpointDict:
        """State and waiting question as a JSON value."""
        return checkpoint_value(self.machine)

    def import_checkpoint(self, payload: object) -> None:
        """Replace state and question. On an error nothing changes.

        Raises:
            InvalidInput: no checkpoint.
        """
        self.machine = read_checkpoint(payload)

    def export_checkpoint_json(self) -> str:
        """`export_checkpoint` as canonical JSON text."""
        return canonical(checkpoint_value(self.machine))

    def import_checkpoint_json(self, payload: str) -> None:
        """`import_checkpoint` from JSON text.

        Raises:
            InvalidInput: no JSON, or no checkpoint.
        """
        self.machine = read_checkpoint(parse_json(payload, "checkpoint"))


def create_engine(state: StateDict | None = None) -> Engine:
    """A new engine; see `Engine`."""
    return Engine(state)

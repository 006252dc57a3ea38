"""The state as text for the model.

The text of a state block, and the acknowledgement of an applied directive. `placement` decides where a block goes.
"""

from __future__ import annotations

import re
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.state.machine import State

OPENING: Final = "[conversation state, laid down by the user; this block replaces every earlier one]"
CLOSING: Final = "[end of conversation state]"
_NOTHING: Final = "Nothing is in force; what was laid down earlier is revoked."
# An item that reads as a border of the block would end it early.
_BORDER: Final = lazy.pattern(r"\[(?=\s*(?:end\s+of\s+)?conversation\s+state)", re.IGNORECASE)


def state_lines(state: State) -> list[str]:
    """The premise, then items to use, then prohibited items, each in order; empty for an empty state."""
    premise = [] if state.premise is None else [f"premise: {state.premise}"]
    kept = sorted(state.policies.items(), key=lambda pair: (pair[1] != "use", pair[0]))
    return [_BORDER.sub(r"\\[", line) for line in (*premise, *(f"{policy}: {item}" for item, policy in kept))]


def render_block(state: State) -> str:
    """The block that puts a state in force. An empty state has a block too, which revokes earlier ones."""
    return "\n".join((OPENING, *(state_lines(state) or [_NOTHING]), CLOSING))


def acknowledgement(state: State, *, changed: bool) -> str:
    """The reply to a message that contained only a directive."""
    head = "State updated." if changed else "State unchanged."
    return "\n".join((head, *(state_lines(state) or ["Nothing is laid down."])))

"""Replay of a transcript as the contract freezes it: user texts only, stopping at the first clarify.

That replay and its result. The proxy's own replay, which goes on past a clarify, is in `placement`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypedDict

from turnfold.compression.errors import InvalidInput
from turnfold.compression.state.machine import Machine, decide
from turnfold.compression.state.serial import StateDict, state_value

TranscriptMessage = Mapping[str, Any]
Transcript = Sequence[TranscriptMessage]


class StateResult(TypedDict):
    """All messages were processed."""

    kind: Literal["state"]
    state: StateDict


class ConfirmResult(TypedDict):
    """A message requires the user's answer; later messages were not processed."""

    kind: Literal["confirm"]
    prompt_to_user: str


ApplyResult = StateResult | ConfirmResult


def user_texts(messages: Transcript) -> Iterator[str]:
    """The contents of user messages that are strings; others are skipped.

    Raises:
        InvalidInput: these are no messages.
    """
    if isinstance(messages, str | bytes) or not isinstance(messages, Iterable):
        raise InvalidInput("messages", "must be a list of messages")
    for message in messages:
        if not isinstance(message, Mapping):
            raise InvalidInput("messages", "must be a list of messages")
        content = message.get("content")
        if message.get("role") == "user" and isinstance(content, str):
            yield content


def replay(machine: Machine, messages: Transcript) -> tuple[Machine, ApplyResult]:
    """Apply the messages to a machine."""
    for text in user_texts(messages):
        machine, outcome = decide(machine, text)
        if outcome.prompt is not None:
            return machine, {"kind": "confirm", "prompt_to_user": outcome.prompt}
    return machine, {"kind": "state", "state": state_value(machine.state)}


def compile_transcript(messages: Transcript) -> ApplyResult:
    """Apply the messages to an empty state."""
    return replay(Machine(), messages)[1]

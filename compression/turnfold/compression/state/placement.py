"""The state in a conversation: rebuilt from its messages, and where its block is placed.

Lives here: the replay of a proxied conversation, the verdict on its last message, the pins of the state block. Does not belong
here: bytes of requests, the store, rendering of replies (`reply`). Pure: the same messages give the same answer on any replica.

Differences from the contract's transcript replay: it continues after a clarify and its answer, ordinary sentences are kept from
the engine (`guard`), and a pending question never blocks a conversation. The question is asked again once; a second message that
is neither yes nor no drops it and is processed normally. It is dropped at once if the client's history shows that it was never
asked (the assistant's next message is a different one). Assistant messages are read for this purpose only: they can drop a
question, never change the state (D6).

Position of the block: pinned in front of the user message that made the change, so that the prefix is stable (law 4). A later
change gets its own block, which says that it replaces the earlier ones, so exactly one is in force. Consecutive changes without a
forwarded request in between share the last one's block. Superseded blocks are removed once together they weigh more than
`MAX_STALE` times the newest one; the prefix changes then, as at a fold event.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from turnfold.compression.options import StateBlocks
from turnfold.compression.state.block import acknowledgement, render_block
from turnfold.compression.state.guard import why_ordinary
from turnfold.compression.state.machine import FRESH, PASSTHROUGH, Decision, Machine, Pending, State, decide
from turnfold.compression.state.preprocessor import preprocess_heuristic
from turnfold.compression.state.wording import answer

#: Superseded blocks are kept until they weigh this many times the newest one.
MAX_STALE: Final = 8
#: Weight of a block's borders, in lines.
_BORDERS: Final = 4
#: Longest reply that may be meant as an answer: who writes more (or several lines) has moved on.
_MAX_REPLY: Final = 200
#: Replies that drop a pending question by name; they read as "no".
_WAYS_OUT: Final = frozenset({"cancel", "never mind", "nevermind", "forget it", "skip", "drop it", "neither"})


#: The setting: leave everything alone; replay and report, forward as it came; replay and act.
StateMode = Literal["off", "observe", "enforce"]


@dataclass(frozen=True, slots=True)
class Turn:
    """A message as seen by the replay.

    Attributes:
        text: its text if that is all its content; None otherwise (images, several parts, no content).
    """

    role: str
    text: str | None


@dataclass(frozen=True, slots=True)
class StateOptions:
    """What the placement depends on besides the messages.

    Attributes:
        acknowledge: a message that contains only a directive is answered here ("local") or sent upstream ("forward").
        preprocess: if true, near forms ("Use Docker.") are rewritten into the exact form by rules first.
        superseded: whether superseded blocks stay in place ("keep": the prefix is stable) or are removed ("drop": only one block,
            and every change of the state changes the prefix from the former block on).
    """

    acknowledge: Literal["local", "forward"] = "local"
    preprocess: bool = False
    superseded: Literal["keep", "drop"] = "keep"


@dataclass(frozen=True, slots=True)
class Anchor:
    """A machine from the store that already includes the first `after` messages."""

    machine: Machine = FRESH
    after: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a request.

    Attributes:
        kind: "forward" it; or answer it here with `text`: "clarify" (a prompt) or "acknowledge".
    """

    kind: Literal["forward", "clarify", "acknowledge"]
    text: str = ""


FORWARD: Final = Verdict("forward")
_DEFAULTS: Final = StateOptions()
_EMPTY: Final = Anchor()


@dataclass(frozen=True, slots=True)
class Pin:
    """A block in front of the user message at `index`; `live` says whether it is in force."""

    index: int
    text: str
    live: bool


@dataclass(frozen=True, slots=True)
class Placement:
    """A conversation's state.

    Attributes:
        verdict: the verdict on the last message.
        machine: state and pending question after the last message.
        pins: blocks to put in front of user messages, in order; the last is the one in force.
        changes: indices of the messages that changed the state, and the states after them.
        base: the state before the first message.
    """

    verdict: Verdict
    machine: Machine
    pins: tuple[Pin, ...]
    changes: tuple[tuple[int, State], ...]
    base: State

    @property
    def state(self) -> State:
        """The current state."""
        return self.machine.state

    def state_at(self, border: int) -> State:
        """The state before message `border`."""
        upto = bisect_left(self.changes, border, key=lambda change: change[0])
        return self.changes[upto - 1][1] if upto else self.base

    def block_before(self, border: int) -> str:
        """The block for a fold of all messages before `border`; "" if no state was ever set before it."""
        state = self.state_at(border)
        touched = self.base != State() or (bool(self.changes) and self.changes[0][0] < border)
        return render_block(state) if touched else ""

    def blocks(self) -> StateBlocks:
        """The blocks that a fold needs."""
        return StateBlocks(tuple((pin.index, pin.text) for pin in self.pins), self.block_before)


def turn_of(message: Mapping[str, Any]) -> Turn:
    """A JSON message as a turn: its string content, or the text of its only part."""
    content = message.get("content")
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict) and content[0].get("type") == "text":
        content = content[0].get("text")
    role = message.get("role")
    return Turn(role if isinstance(role, str) else "", content if isinstance(content, str) else None)


def place(turns: Sequence[Turn], options: StateOptions = _DEFAULTS, anchor: Anchor = _EMPTY) -> Placement:
    """Replay a conversation, decide on its last message, and pin the blocks."""
    walk = _Walk(options, anchor)
    last: tuple[Decision, bool] = (PASSTHROUGH, False)
    for index, turn in enumerate(turns):
        last = (PASSTHROUGH, False)
        if index < anchor.after:
            continue
        if turn.role == "assistant":
            walk.hear(turn.text)
        elif turn.role == "user":
            last = walk.take(index, turn.text)
    walk.settle(turns)
    return Placement(
        _verdict(*last, walk.machine.state, options), walk.machine, walk.final_pins(), tuple(walk.changes), anchor.machine.state
    )


def _verdict(decision: Decision, changed: bool, state: State, options: StateOptions) -> Verdict:
    if decision.prompt is not None:
        return Verdict("clarify", decision.prompt)
    if decision.kind == "update" and options.acknowledge == "local":
        return Verdict("acknowledge", acknowledgement(state, changed=changed))
    return FORWARD


class _Walk:
    """A replay in progress; used for one call of `place`.

    Attributes:
        asked: how many times in a row the pending question was asked.
        owed: whether the anchor's state has no pin yet.
        unpinned: index of the newest change that has no pin yet.
        pins: indices, states and weights of the pins that still stand.
    """

    def __init__(self, options: StateOptions, anchor: Anchor) -> None:
        self.options = options
        self.machine = anchor.machine
        self.asked = 1
        self.owed = anchor.machine.state != State()
        self.unpinned: int | None = None
        self.pins: list[tuple[int, State, int]] = []
        self.changes: list[tuple[int, State]] = []

    def hear(self, text: str | None) -> None:
        """Process an assistant message; one that is not the pending question shows that the question was never asked."""
        pending = self.machine.pending
        if pending is not None and " ".join(pending.prompt.split()) not in " ".join((text or "").split()):
            self._drop()

    def take(self, index: int, text: str | None) -> tuple[Decision, bool]:
        """Process a user message. Returns the decision, and whether the state changed."""
        if self.owed:
            self.owed, self.unpinned = False, index
        before = self.machine.state
        pending = self.machine.pending
        decision = self._fresh(text) if pending is None else self._answer_pending(pending, text)
        changed = self.machine.state is not before and self.machine.state != before
        if changed:
            self.changes.append((index, self.machine.state))
            self.unpinned = index
        if decision.kind == "passthrough" or (decision.kind == "update" and self.options.acknowledge == "forward"):
            self._pin()
        return decision, changed

    def _answer_pending(self, pending: Pending, text: str | None) -> Decision:
        if text is None or len(text) > _MAX_REPLY or len(text.strip().splitlines()) > 1:
            self._drop()
            return self._fresh(text)
        reply = "no" if text.strip().rstrip(".!").lower() in _WAYS_OUT else text
        if answer(reply) is not None:
            self.machine, decision = decide(self.machine, reply)
            return decision
        if self.asked > 1:
            self._drop()
            return self._fresh(text)
        self.asked += 1
        return Decision("clarify", pending.prompt)

    def _fresh(self, text: str | None) -> Decision:
        if text is None:
            return PASSTHROUGH
        directive = (preprocess_heuristic(text)["output"] or text) if self.options.preprocess else text
        if why_ordinary(directive):
            return PASSTHROUGH
        self.machine, decision = decide(self.machine, directive)
        self.asked = 1
        return decision

    def _drop(self) -> None:
        self.machine = replace(self.machine, pending=None)

    def _pin(self) -> None:
        if self.unpinned is None:
            return
        state = self.machine.state
        weight = _BORDERS + len(state.policies) + (state.premise is not None)
        if self.options.superseded == "drop" or sum(older for _, _, older in self.pins) > MAX_STALE * weight:
            self.pins.clear()
        self.pins.append((self.unpinned, state, weight))
        self.unpinned = None

    def settle(self, turns: Sequence[Turn]) -> None:
        """Pin the anchor's state to the last user message if no message follows the anchor."""
        users = [index for index, turn in enumerate(turns) if turn.role == "user"]
        if self.owed and users:
            self.unpinned = users[-1]
            self._pin()

    def final_pins(self) -> tuple[Pin, ...]:
        """The pins of the placement."""
        return tuple(
            Pin(index, render_block(state), live=at == len(self.pins)) for at, (index, state, _) in enumerate(self.pins, start=1)
        )

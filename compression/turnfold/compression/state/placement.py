"""The state in a conversation: its messages' contributions, and the place of its block.

This module replays a proxied conversation on top of its record, decides what becomes of its last message, and pins the state
block. It touches no bytes of requests and no store, and leaves replies to `block`. It is pure: the same messages and record give
the same answer on any replica.

With a label the record is the truth: messages that it has seen (`seen`) are not taken again, others add to it, and only a
directive removes. Without a label the record is empty, so the state follows from the messages alone.

How it differs from the contract's transcript replay: it goes on past a clarify and its answer, ordinary sentences are kept
from the engine (`guard`), and a pending question never holds a conversation. It is put again, once, where a reply of a few
words leaves open what it means ("hm"); any other message drops the question and is taken for what it says. It is dropped at once
when the client's history shows that it was never put (the assistant's next message is another one). Assistant messages are
read for that alone: they can drop a question, never change the state (D6).

Position of the block: pinned in front of the user message that made the change, so that the prefix is stable (law 4). A later
change gets its own block, which says that it replaces the earlier ones, so exactly one is in force. Consecutive changes without a
forwarded request in between share the last one's block. Superseded blocks are removed once together they weigh more than
`MAX_STALE` times the newest one; the prefix changes then, as at a fold event. What the record holds and no block of this request
says (the client sent its newest messages only, or somebody set the state) stands in front of the first new message.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from turnfold.compression import lazy
from turnfold.compression.options import StateBlocks
from turnfold.compression.state.block import acknowledgement, render_block
from turnfold.compression.state.guard import Certainty, certainty
from turnfold.compression.state.machine import FRESH, PASSTHROUGH, UPDATE, Decision, Machine, Pending, State, decide
from turnfold.compression.state.preprocessor import preprocess_heuristic
from turnfold.compression.state.record import MAX_ENTRIES, Entry, Outcome, Positions, Record, bounded
from turnfold.compression.state.seen import Run, message_key, resumed_at, seen_run
from turnfold.compression.state.wording import answer

#: Superseded blocks are kept until their total weight is this many times the newest one's.
MAX_STALE: Final = 8
#: Weight of a block's borders, in lines.
_BORDERS: Final = 4
#: Longest reply that may be an answer: a longer one, or one of several lines, changes the subject.
_MAX_REPLY: Final = 200
#: Replies that drop a pending question by name; they read as "no".
_WAYS_OUT: Final = frozenset(
    {"cancel", "never mind", "nevermind", "forget it", "skip", "drop it", "neither", "no thank you", "nah", "no no"}
)
# A reply of only a few of these words is ambiguous.
_UNCLEAR: Final = frozenset(
    """
    aye correct do don't eh er exactly fine go good great guess hm hmm hmmm huh i it know maybe n not oh ok okay pardon perhaps
    please possibly right so sorry sounds sure thank thanks think true uh um well what which why y ya yea yeah yep yes yess yup
    you
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
_MAX_UNCLEAR_WORDS: Final = 4
_WORDS: Final = lazy.pattern(r"[^\W_]+(?:'[^\W_]+)?")

#: Roles of messages that are read together with what they stand beside, and of tool results.
_INSTRUCTING: Final = frozenset({"system", "developer"})
_RESULTS: Final = frozenset({"tool", "function"})

#: The setting: do nothing; replay and report without changes; or replay and act.
StateMode = Literal["off", "observe", "enforce"]


@dataclass(frozen=True, slots=True)
class Turn:
    """A message as seen by the replay.

    Attributes:
        text: its text if that is all its content; None otherwise (images, several parts, no content).
        beside: its text. If the message has other content too, the text only identifies it, and is never taken for a directive.
    """

    role: str
    text: str | None
    beside: str = ""

    @property
    def key(self) -> bytes:
        """The message's digest."""
        return message_key(self.beside, whole=False) if self.text is None else message_key(self.text, whole=True)


@dataclass(frozen=True, slots=True)
class StateOptions:
    """What the placement depends on besides the messages.

    Attributes:
        acknowledge: a message that contains only a directive is answered here ("local") or sent upstream ("forward").
        preprocess: if true, near forms ("Use Docker.") are rewritten into the exact form by rules first.
        superseded: whether superseded blocks stay in place ("keep": the prefix is stable) or are removed ("drop": a single block,
            and every change of the state changes the prefix from the former block on).
        keeps_history: if false, earlier messages are stored upstream with their blocks, so a block that revokes them all must say
            so.
    """

    acknowledge: Literal["local", "forward"] = "local"
    preprocess: bool = False
    superseded: Literal["keep", "drop"] = "keep"
    keeps_history: bool = True


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a request.

    Attributes:
        kind: "forward" it; or answer it here with `text`: "clarify" (a prompt) or "acknowledge".
    """

    kind: Outcome
    text: str = ""


_DEFAULTS: Final = StateOptions()
_NEW: Final = Record()


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
        record: state and pending question after the last message, and the messages seen.
        pins: blocks to put in front of user messages, in order; the last is the one in force.
        changes: indices of messages followed by a new state, with these states.
    """

    verdict: Verdict
    record: Record
    pins: tuple[Pin, ...]
    changes: tuple[tuple[int, State], ...]

    @property
    def machine(self) -> Machine:
        """State and pending question after the last message."""
        return self.record.machine

    @property
    def state(self) -> State:
        """The current state."""
        return self.machine.state

    def state_at(self, border: int) -> State:
        """The state before message `border`."""
        upto = bisect_left(self.changes, border, key=lambda change: change[0])
        return self.changes[upto - 1][1] if upto else State()

    def block_before(self, border: int) -> str:
        """The block for a fold of all messages before `border`; "" if no state was ever set before it."""
        touched = bool(self.changes) and self.changes[0][0] < border
        return render_block(self.state_at(border)) if touched else ""

    def blocks(self) -> StateBlocks:
        """The blocks that a fold needs."""
        return StateBlocks(tuple((pin.index, pin.text) for pin in self.pins), self.block_before)


def turn_of(message: Mapping[str, Any]) -> Turn:
    """A JSON message as a turn: its string content, or the text of its only part."""
    content, role = message.get("content"), message.get("role")
    role = role if isinstance(role, str) else ""
    if isinstance(content, str):
        return Turn(role, content)
    parts = content if isinstance(content, list) else []
    texts = [text for part in parts if isinstance(part, dict) and isinstance(text := part.get("text"), str)]
    if len(parts) == len(texts) == 1 and parts[0].get("type") == "text":
        return Turn(role, texts[0])
    return Turn(role, None, "\n".join(texts))


def place(turns: Sequence[Turn], options: StateOptions = _DEFAULTS, record: Record = _NEW) -> Placement:
    """Add a conversation's messages to its record, decide on the last one, and place the blocks."""
    if record.positions is not None:
        record = _first_version(turns, options, record, record.positions)
    users = [(index, turn.text, turn.key) for index, turn in enumerate(turns) if turn.role == "user"]
    record, run, end = _recognised(record, [key for _, _, key in users])
    walk = _Walk(options, record, lone=len(users) == 1)
    walk.recall(users[:end], run)
    behind = users[end - 1][0] + 1 if end else 0
    last = walk.last if behind == len(turns) else _NOTHING_SAID
    keys = {index: key for index, _, key in users}
    for index in range(behind, len(turns)):
        turn, last = turns[index], _NOTHING_SAID
        if turn.role == "assistant":
            walk.hear(turn.text)
        elif turn.role == "user":
            last = walk.take(index, turn.text, keys[index], follows_results=_follows_results(turns, index))
    walk.settle(last.outcome)
    return Placement(_verdict(last, walk.machine), walk.record(run, len(turns)), walk.final_pins(), tuple(walk.changes))


def _follows_results(turns: Sequence[Turn], index: int) -> bool:
    """Whether the message follows tool results that the model has not read yet."""
    before = next((turns[i].role for i in range(index - 1, -1, -1) if turns[i].role not in _INSTRUCTING), "")
    return before in _RESULTS


def _recognised(record: Record, keys: Sequence[bytes]) -> tuple[Record, Run, int]:
    """The longest run of the request's user messages that were seen before, and the index of the first new one.

    A last message that was answered with a question is processed again, after it is removed from the record. So is a single
    message sent before somebody set the state.
    """
    seen = [entry.key for entry in record.entries]
    run = seen_run(seen, keys)
    if run.length and run.end == len(keys):
        place = run.at + run.length - 1
        if record.entries[place].outcome == "clarify" and not _waits(record, run):
            record = replace(record, entries=(*record.entries[:place], *record.entries[place + 1 :]))
            run = replace(run, end=run.end - 1)
        elif record.fresh and len(keys) == 1:
            run = Run()
    return record, run, resumed_at([entry.key for entry in record.entries], keys, run)


def _waits(record: Record, run: Run) -> bool:
    """Whether the run's last message is the one that caused the pending question."""
    return record.machine.pending is not None and record.asked == 1 and run.at + run.length == len(record.entries)


def _first_version(turns: Sequence[Turn], options: StateOptions, record: Record, positions: Positions) -> Record:
    """A record of version 1 in the current form. It had seen the first messages, or all but the last if there are no more."""
    users = [index for index, turn in enumerate(turns) if turn.role == "user"]
    seen = record.seen if len(turns) > record.seen else users[-1] if users else 0
    start = Record(positions.base or FRESH, entries=_bare(turns[: min(seen, positions.after)]))
    replayed = place(turns[:seen], options, start).record
    kept = replace(record, entries=_bare(turns[:seen]), positions=None)
    return replace(kept, entries=replayed.entries) if replayed.machine.state == record.machine.state else kept


def _bare(turns: Sequence[Turn]) -> tuple[Entry, ...]:
    return tuple(Entry(turn.key) for turn in turns if turn.role == "user")


@dataclass(frozen=True, slots=True)
class _Said:
    """The result for a message: `prompt` is set for a clarify; `changed` says whether an update changed the state."""

    outcome: Outcome = "forward"
    prompt: str = ""
    changed: bool = False


_NOTHING_SAID: Final = _Said()


def _verdict(last: _Said, machine: Machine) -> Verdict:
    if last.outcome == "acknowledge":
        return Verdict("acknowledge", acknowledgement(machine.state, changed=last.changed))
    return Verdict(last.outcome, last.prompt)


class _Walk:
    """A replay in progress; used for one call of `place`.

    Attributes:
        lone: whether the request has one user message only.
        asked: how many times in a row the pending question was asked.
        last: the result for the newest recalled message.
        shown: the state in force according to the blocks so far.
        unpinned: index of the newest change without a pin.
        pins: indices, states and weights of the remaining pins.
    """

    def __init__(self, options: StateOptions, record: Record, *, lone: bool) -> None:
        self.options = options
        self.machine = record.machine
        self.asked = record.asked
        self.before = record
        self.last = _NOTHING_SAID
        self.shown = State()
        self.unpinned: int | None = None
        self.pins: list[tuple[int, State, int]] = []
        self.changes: list[tuple[int, State]] = []
        self.entries: list[Entry] = []
        self.indices: list[int] = []
        self.known = {entry.key: entry for entry in record.entries}
        self.lone = lone

    def recall(self, messages: Sequence[tuple[int, str | None, bytes]], run: Run) -> None:
        """Replay the messages up to the last one that was seen; those outside of the run may have been edited."""
        forgotten = run.start if len(self.before.entries) >= MAX_ENTRIES and run.at == 0 else 0
        for number, (index, text, key) in enumerate(messages):
            in_run = run.start <= number < run.end
            entry = self.before.entries[run.at + number - run.start] if in_run else self.known.get(key)
            if entry is None:
                entry = Entry(key)
                if number >= forgotten:
                    self._add(text)
            self._note(index, entry)
        if messages:
            pending = self.machine.pending
            changed = self.entries[-1].state is not None
            self.last = _Said(self.entries[-1].outcome, pending.prompt if pending else "", changed)

    def _add(self, text: str | None) -> None:
        """Process an edited earlier message: it may add to the state, but neither removes nor asks."""
        before = self.machine.state
        _, machine, decision = self._judge(Machine(before), text)
        after = machine.state
        removes = before.policies.items() - after.policies.items() or before.premise not in (None, after.premise)
        if decision.kind == "update" and not removes:
            self.machine = replace(self.machine, state=after)

    def hear(self, text: str | None) -> None:
        """Process an assistant message; one that is not the pending question shows that the question was never asked."""
        pending = self.machine.pending
        if pending is not None and " ".join(pending.prompt.split()) not in " ".join((text or "").split()):
            self._drop()

    def take(self, index: int, text: str | None, key: bytes, *, follows_results: bool = False) -> _Said:
        """Process a new user message. One behind results of a tool loop is not acknowledged here, which would end the loop."""
        before, pending = self.machine.state, self.machine.pending
        said = self._fresh(text, key) if pending is None else self._answer_pending(pending, text, key)
        if self.machine.state is not before and self.machine.state != before:
            said = replace(said, changed=True)
        if said.outcome == "acknowledge" and follows_results:
            said = replace(said, outcome="forward")
        revoked = said.changed and not self.options.keeps_history and self.machine.state == self.shown
        self._note(index, Entry(key, said.outcome, self.machine.state if revoked else self._untold()))
        return said

    def _untold(self) -> State | None:
        state = self.machine.state
        return None if state is self.shown or state == self.shown else state

    def _note(self, index: int, entry: Entry) -> None:
        """Record the result for a message, and pin its block."""
        self.entries.append(entry)
        self.indices.append(index)
        if entry.state is not None:
            self.changes.append((index, entry.state))
            self.shown, self.unpinned = entry.state, index
        if entry.outcome == "forward":
            self._pin()

    def _answer_pending(self, pending: Pending, text: str | None, key: bytes) -> _Said:
        if text is not None and len(text) <= _MAX_REPLY and len(text.strip().splitlines()) <= 1:
            reply = "no" if " ".join(_WORDS.findall(text.lower())) in _WAYS_OUT else text
            if answer(reply) is not None:
                self.machine, decision = decide(self.machine, reply)
                return self._outcome(decision)
            if self.asked == 1 and _is_unclear(text):
                self.asked += 1
                return _Said("clarify", pending.prompt)
        self._drop()
        return self._fresh(text, key)

    def _fresh(self, text: str | None, key: bytes) -> _Said:
        sure, machine, decision = self._judge(self.machine, text)
        if sure != "certain":  # it may be a request: the model answers it even if it changes the state
            self.machine = machine if decision.kind == "update" else self.machine
            return _NOTHING_SAID
        if decision.kind == "clarify" and self.lone and key in self.known and str(text).startswith("set premise"):
            return self._outcome(UPDATE)  # sent again: nothing is asked
        self.machine, self.asked = machine, 1
        return self._outcome(decision)

    def _judge(self, machine: Machine, text: str | None) -> tuple[Certainty, Machine, Decision]:
        """How certain it is that a message is a directive, and the engine's decision on it."""
        if text is None:
            return "ordinary", machine, PASSTHROUGH
        directive = (preprocess_heuristic(text)["output"] or text) if self.options.preprocess else text
        sure = certainty(directive, machine.state)
        return (sure, machine, PASSTHROUGH) if sure == "ordinary" else (sure, *decide(machine, directive))

    def _outcome(self, decision: Decision) -> _Said:
        if decision.prompt is not None:
            return _Said("clarify", decision.prompt)
        return _Said("acknowledge" if decision.kind == "update" and self.options.acknowledge == "local" else "forward")

    def _drop(self) -> None:
        self.machine = replace(self.machine, pending=None)

    def _pin(self) -> None:
        if self.unpinned is None:
            return
        weight = _BORDERS + len(self.shown.policies) + (self.shown.premise is not None)
        if self.options.superseded == "drop" or sum(older for _, _, older in self.pins) > MAX_STALE * weight:
            self.pins.clear()
        self.pins.append((self.unpinned, self.shown, weight))
        self.unpinned = None

    def settle(self, outcome: Outcome) -> None:
        """Pin changes not covered by a block to the last user message."""
        if self.entries and (untold := self._untold()) is not None:
            self.entries[-1] = replace(self.entries[-1], state=untold)
            self.changes = [change for change in self.changes if change[0] != self.indices[-1]]
            self.changes.append((self.indices[-1], untold))
            self.shown, self.unpinned = untold, self.indices[-1]
        if outcome == "forward":
            self._pin()

    def final_pins(self) -> tuple[Pin, ...]:
        """All pins of the placement."""
        return tuple(
            Pin(index, render_block(state), live=at == len(self.pins)) for at, (index, state, _) in enumerate(self.pins, start=1)
        )

    def record(self, run: Run, seen: int) -> Record:
        """The record after this request of `seen` messages."""
        kept = self.before.entries
        unsent = [replace(e, state=None) if e.state else e for e in (*kept[: run.at], *kept[run.at + run.length :])]
        asked = self.asked if self.machine.pending is not None else 1
        fresh = self.before.fresh and not self.entries
        return Record(self.machine, seen, bounded((*unsent, *self.entries)), asked, fresh)


def _is_unclear(text: str) -> bool:
    """Whether a reply of a few words may be meant as an answer; "no, I mean ..." does not answer the question."""
    words = _WORDS.findall(text.lower().replace("’", "'"))
    says_no = words[:1] in (["no"], ["nope"], ["nah"])
    return len(words) <= _MAX_UNCLEAR_WORDS and not says_no and all(word in _UNCLEAR for word in words)

"""Whole conversations played turn by turn through a fold.

It makes the requests that a client sends as a conversation grows, with retries, edits, regenerated answers and branches, sends
them, and pairs each with the earlier request that it continues. There is no HTTP: a fold is a callable on bytes, and a test that
wants a server wraps one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

from hypothesis import strategies as st

from tests.support.bodies import Message, cuts, encode, raw_messages
from tests.support.conversations import conversations, texts
from tests.support.prefix import Kind, Step, classify

Fold = Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class Move:
    """What a client does beside going on.

    Attributes:
        kind: "retry" sends a request again; "regenerate" sends it again and goes on with another answer; "edit" changes its last
            user message, and goes on from there; "branch" plays two turns of another line, then returns to the first.
        at: the request (counted modulo their number) after which it happens.
        text: the other answer, the edited message, or the words of the branch.
        back: how many requests before `at` a branch starts.
    """

    kind: Literal["retry", "regenerate", "edit", "branch"]
    at: int
    text: str = "Let us look at it from the other side."
    back: int = 0


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request: as the client sent it, as it was forwarded, and the index of the exchange that it continues."""

    received: bytes
    forwarded: bytes
    parent: int | None


def requests_of(messages: Sequence[Message], moves: Sequence[Move] = ()) -> list[list[Message]]:
    """The conversation as the list of requests that a client sends, with its moves."""
    line = list(messages)
    ends = cuts(line)
    found = []
    for number, end in enumerate(ends):
        found.append(line[:end])
        for move in moves:
            if move.at % len(ends) == number:
                found += _moved(move, line, ends, number)
    return found


def _moved(move: Move, line: list[Message], ends: list[int], number: int) -> list[list[Message]]:
    """The requests that a move adds; an edit and another answer change the `line` that is played on."""
    end = ends[number]
    if move.kind == "branch":
        stem = line[: ends[max(0, number - move.back)]]
        first = [*stem, {"role": "assistant", "content": "As you like."}, {"role": "user", "content": move.text}]
        return [first, [*first, {"role": "assistant", "content": "And then?"}, {"role": "user", "content": "Go on."}]]
    if move.kind == "edit" and line[end - 1].get("role") == "user":
        line[end - 1] = {**line[end - 1], "content": move.text}
    if move.kind == "regenerate" and end < len(line) and not line[end].get("tool_calls"):
        line[end] = {"role": "assistant", "content": move.text}
    return [line[:end]]


def play(requests: Iterable[Sequence[Message]], fold: Fold, model: str = "gpt-4o") -> list[Exchange]:
    """Send each request through `fold`; a request continues the one with the longest message list that opens its own."""
    seen: dict[bytes, int] = {}
    found: list[Exchange] = []
    for messages in requests:
        received = encode(list(messages), model=model)
        keys = _prefix_keys(received)
        parent = next((seen[key] for key in reversed(keys) if key in seen), None)
        found.append(Exchange(received, fold(received), parent))
        seen[keys[-1]] = len(found) - 1
    return found


def _prefix_keys(body: bytes) -> list[bytes]:
    """A digest of every leading run of messages."""
    running = blake2b(digest_size=16)
    keys = []
    for raw in raw_messages(body):
        running.update(len(raw).to_bytes(8, "big") + raw.encode())
        keys.append(running.digest())
    return keys or [b""]


def steps(exchanges: Sequence[Exchange]) -> list[Step]:
    """Every exchange that continues another, compared with it."""
    return [
        classify(exchanges[one.parent].received, exchanges[one.parent].forwarded, one.forwarded)
        for one in exchanges
        if one.parent is not None
    ]


def rewrites(exchanges: Sequence[Exchange]) -> list[Step]:
    """The fold events, and whatever else broke the prefix."""
    return [step for step in steps(exchanges) if step.kind is Kind.REWRITE]


def moves(text: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[Move]:
    """Any move."""
    kinds = st.sampled_from(["retry", "regenerate", "edit", "branch"])
    return st.builds(Move, kinds, st.integers(0, 60), text if text is not None else texts("short"), st.integers(0, 3))


@st.composite
def replays(draw: st.DrawFn, messages: st.SearchStrategy[list[Message]] | None = None, max_moves: int = 4) -> list[list[Message]]:
    """The requests of a random conversation with random moves; each a list of messages."""
    conversation = draw(messages if messages is not None else conversations(2, 8))
    return requests_of(conversation, draw(st.lists(moves(), max_size=max_moves)))

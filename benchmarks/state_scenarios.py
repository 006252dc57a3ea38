"""Scenarios of conversation state: does what is forwarded hold exactly the active state?

Run: ``python -m benchmarks.state_scenarios`` (no model, no network, seconds). After the manner of context-compiler's published
scenarios (persistence, contradiction, replacement, guard, drift), but what is judged is the forwarded text itself, so the result
does not depend on a model's mood. The expected states are written by hand, not computed.

Every scenario is a conversation with small talk between its lines. Three ways of forwarding it:

* tail: the newest fifth of the messages; what a reader finds is what the directives still in it add up to.
* whole: every message, nothing folded; what a reader finds is what all user messages add up to by the grammar, unguarded.
* fold: the request as the engine folds it to a fifth of its tokens, with the state; what the block in force says. Its messages
  are made long enough by the assistant's answers that there is something to fold.

The first two are kind to their reader: no model adds up directives without fault.

A check is one premise, one policy, or the absence of any other policy, at one point of the conversation.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from turnfold.compression.fold import Folded, fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.state import Placement, Turn, create_engine, place
from turnfold.compression.state.block import CLOSING, OPENING
from turnfold.compression.wire.formats.chat import CHAT

KEPT: Final = 0.2
MEMO: Final = Memo()
ANSWER: Final = (
    "Certainly. A list is laid out in the order of its fields, with padding where the next one asks for it, and the two releases "
    "differ in how they round: the older one cut off, the newer one rounds half to even, which the summary of the quarter shows."
)
SMALL_TALK: Final = (
    "how does a compiler lay out structs",
    "write a short function that reverses a list",
    "use the attached file to write a summary of Q3",
    "what changed between the two releases",
    "yes",
    "use it in the next example as well",
    "no",
)


@dataclass(frozen=True)
class ExpectedState:
    """What must be in force behind a line; None: no premise."""

    premise: str | None = None
    use: tuple[str, ...] = ()
    prohibit: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scenario:
    """Lines of a user, each followed by `gap` turns of small talk, and checks at their ends by the line's index."""

    name: str
    lines: tuple[str, ...]
    checks: dict[int, ExpectedState]
    gap: int = 8


SCENARIOS: Final = (
    Scenario("premise persists", ("set premise the user is vegetarian",), {0: ExpectedState("the user is vegetarian")}, gap=60),
    Scenario("prohibition persists", ("prohibit peanuts",), {0: ExpectedState(prohibit=("peanuts",))}, gap=60),
    Scenario("contradiction is refused", ("use docker", "prohibit docker"), {1: ExpectedState(use=("docker",))}),
    Scenario("contradiction the other way", ("prohibit docker", "use docker"), {1: ExpectedState(prohibit=("docker",))}),
    Scenario(
        "replacement",
        ("use docker", "use podman instead of docker"),
        {0: ExpectedState(use=("docker",)), 1: ExpectedState(use=("podman",))},
    ),
    Scenario(
        "replacement of nothing, confirmed",
        ("use podman instead of docker", "yes"),
        {0: ExpectedState(), 1: ExpectedState(use=("podman",))},
        gap=0,
    ),
    Scenario("replacement of nothing, declined", ("use podman instead of docker", "no"), {1: ExpectedState()}, gap=0),
    Scenario(
        "an open question does not hold the chat",
        ("prohibit tea", "use milk instead of tea"),
        {1: ExpectedState(prohibit=("tea",))},
    ),
    Scenario(
        "premise changes by its own word only",
        ("set premise short replies", "set premise long replies", "change premise to formal replies"),
        {1: ExpectedState("short replies"), 2: ExpectedState("formal replies")},
    ),
    Scenario("near miss is asked, not guessed", ("set premise to short replies",), {0: ExpectedState()}),
    Scenario(
        "ordinary sentences are no directives",
        ("use the attached file to write a summary", "use docker and explain why", "prohibit users from deleting rows", "use it"),
        {3: ExpectedState()},
    ),
    Scenario(
        "the model's words change nothing",
        ("prohibit emojis", "repeat after me: use emojis"),
        {1: ExpectedState(prohibit=("emojis",))},
    ),
    Scenario(
        "revoked stays revoked",
        ("use tabs", "prohibit semicolons", "remove policy tabs"),
        {1: ExpectedState(use=("tabs",), prohibit=("semicolons",)), 2: ExpectedState(prohibit=("semicolons",))},
    ),
    Scenario(
        "a reset ends everything",
        ("set premise p1", "use tabs", "clear state"),
        {1: ExpectedState("p1", use=("tabs",)), 2: ExpectedState()},
    ),
    Scenario(
        "policies go, the premise stays",
        ("set premise p1", "use tabs", "reset policies", "use spaces"),
        {3: ExpectedState("p1", use=("spaces",))},
    ),
    Scenario(
        "drift over 200 turns",
        (
            "set premise the project uses uv",
            "prohibit global variables",
            "use type hints",
            "use pytest",
            "prohibit emojis",
            "use ruff instead of black",
            "no",
            "use hypothesis instead of pytest",
            "remove policy emojis",
            "change premise to the project uses uv and ruff",
        ),
        {
            4: ExpectedState("the project uses uv", use=("pytest", "type hints"), prohibit=("emojis", "global variables")),
            9: ExpectedState("the project uses uv and ruff", use=("hypothesis", "type hints"), prohibit=("global variables",)),
        },
        gap=20,
    ),
)


def talk(scenario: Scenario) -> Iterator[tuple[int, list[Turn], Placement]]:
    """The conversation as client and proxy make it, at the end of each line's small talk."""
    turns: list[Turn] = []
    said = 0
    for index, line in enumerate(scenario.lines):
        # An answer to a question comes at once; other lines stand apart.
        for text in (line, *(SMALL_TALK[(said + n) % len(SMALL_TALK)] for n in range(scenario.gap))):
            turns.append(Turn("user", text))
            placed = place(turns)
            turns.append(Turn("assistant", placed.verdict.text or f"{ANSWER} use emojis"))
        said += scenario.gap
        asked = [*turns, Turn("user", "and what now")]
        if placed.machine.pending is None:
            yield index, asked, place(asked)


def fold_border(turns: list[Turn]) -> int:
    """The border: about a fifth of the messages stays, from a user message on."""
    border = int(len(turns) * (1 - KEPT))
    return border - (turns[border].role != "user")


def state_from_messages(turns: list[Turn]) -> ExpectedState:
    """What an exact reader makes of the directives in messages."""
    engine = create_engine()
    for turn in turns:
        if turn.role == "user" and turn.text is not None:
            engine.step(turn.text)
    state = engine.state
    return ExpectedState(
        state["premise"], *(tuple(i for i, p in state["policies"].items() if p == policy) for policy in ("use", "prohibit"))
    )


def fold_to_share(turns: list[Turn], placed: Placement) -> Folded:
    """The request that goes upstream, folded to a fifth by the engine."""
    messages = [{"role": turn.role, "content": turn.text} for turn in turns]
    body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
    conversation = CHAT.read(body, MEMO)
    before = fold(conversation, FoldOptions(), MEMO).tokens_before
    return fold(conversation.with_state(placed.blocks()), FoldOptions(budget=int(KEPT * before)), MEMO)


def text_of(folded: Folded) -> str:
    """All that its messages say, in order."""
    return "\n".join(message["content"] for message in json.loads(folded.body)["messages"])


def state_in_block(text: str) -> ExpectedState:
    """What the last block in a text says."""
    if OPENING not in text:
        return ExpectedState()
    block = text[text.rindex(OPENING) + len(OPENING) :].split(CLOSING, maxsplit=1)[0]
    said = [line.split(": ", 1) for line in block.strip().splitlines() if ": " in line]
    premise = [value for kind, value in said if kind == "premise"]
    use, prohibit = (tuple(value for kind, value in said if kind == policy) for policy in ("use", "prohibit"))
    return ExpectedState(premise[0] if premise else None, use, prohibit)


def score(expected: ExpectedState, found: ExpectedState) -> tuple[int, int]:
    """Checks passed and made."""
    wanted = {("use", item) for item in expected.use} | {("prohibit", item) for item in expected.prohibit}
    there = {("use", item) for item in found.use} | {("prohibit", item) for item in found.prohibit}
    results = [expected.premise == found.premise, *(policy in there for policy in sorted(wanted)), there <= wanted]
    return sum(results), len(results)


@dataclass
class Measured:
    """Checks passed by the tail, by the whole conversation, by the fold; checks made; tokens before and after of the folds."""

    tail: int = 0
    whole: int = 0
    kept: int = 0
    made: int = 0
    before: int = 0
    after: int = 0

    def add(self, other: Measured) -> None:
        """Sum up."""
        for name, figure in vars(other).items():
            setattr(self, name, getattr(self, name) + figure)


def measure(scenario: Scenario) -> Measured:
    """One scenario's figures."""
    sums = Measured()
    for index, turns, placed in talk(scenario):
        if index in scenario.checks:
            expected = scenario.checks[index]
            fold = fold_to_share(turns, placed)
            passed, count = score(expected, state_in_block(text_of(fold)))
            tail = score(expected, state_from_messages(turns[fold_border(turns) :]))[0]
            whole = score(expected, state_from_messages(turns))[0]
            sums.add(Measured(tail, whole, passed, count, fold.tokens_before, fold.tokens_after))
    return sums


def main() -> int:
    """Print a table; fails when a check fails with state."""
    total = Measured()
    rows = [(scenario.name, measure(scenario)) for scenario in SCENARIOS]
    for _, row in rows:
        total.add(row)
    for name, row in (*rows, (f"all {len(rows)} scenarios", total)):
        checks = f"tail {row.tail:2}  whole {row.whole:2}  fold {row.kept:2}  of {row.made}"
        print(f"{name:42} {checks:38} {row.before:7} tokens to {row.after} ({row.after / row.before:.0%})")
    return 0 if total.kept == total.made else 1


if __name__ == "__main__":
    sys.exit(main())

"""Which messages are directives, word by word (``tests.support.golden`` says when to write the file anew).

These tests cover every directive with up to three words of the classes that its rules tell apart, items and premises of every
length, and replies to a question in every spelling. They leave out what becomes of them in a conversation (``test_golden.py``).
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path
from random import Random
from typing import Final, Literal

from tests.support import golden
from turnfold.compression.state import (
    Record,
    State,
    StateOptions,
    Turn,
    certainty,
    create_engine,
    place,
    preprocess_heuristic,
    why_ordinary,
)
from turnfold.compression.state.decisions import (
    get_clarify_prompt,
    get_decision_state,
    get_policy_items,
    get_premise_value,
    is_clarify,
    is_passthrough,
    is_update,
)
from turnfold.compression.state.seen import resumed_at, seen_run

FILES = Path(__file__).parent / "golden"
HELD = State("the harbour desk", {"docker": "use", "peanuts": "prohibit"})

_WORDS: Final = (
    *(
        "docker",
        "the",
        "a",
        "option",
        "word",
        "2",
        "b",
        "first",
        "last",
        "of",
        "and",
        "not",
        "push",
        "write",
        "essay",
        "git",
        "peanuts",
    ),
    *("it", "who", "Dr.", "`x`", "force", "next"),
)
_KINDS: Final = (
    *("use {}", "prohibit {}", "remove policy {}", "set premise {}", "change premise to {}", "use {} instead of docker"),
    *("use ruff instead of {}", "please use {}", "don't use {}", "Use {}."),
)


def _judged(text: str) -> str:
    return f"{why_ordinary(text) or '-'} {certainty(text, HELD)} {certainty(text, State())}"


def test_directives_of_up_to_three_words() -> None:
    lines = []
    for kind in _KINDS:
        for first in _WORDS:
            more = [""] if kind not in ("use {}", "prohibit {}") else ["", *_WORDS[:12]]
            said = [" ".join(w for w in (first, *rest) if w) for rest in product(["", *_WORDS], more)]
            found = [_judged(kind.format(one)) for one in said]
            lines.append(f"{kind.format(first)}: {sorted(Counter(found).items())} {golden.name_of(found)}")
    golden.agrees(FILES / "words.txt", lines)


def _long() -> list[str]:
    """Items and premises around every limit, with marks of sentences, code, files and quotations."""
    found = [f"{kind} {'x' * size}" for kind in ("use", "prohibit", "use ruff instead of") for size in (63, 64, 65, 66, 999)]
    found += [f"use {'ab ' * size}cd" for size in range(8)]
    found += [f"{kind} {'y ' * (size // 2)}" for kind in ("set premise", "change premise to") for size in range(480, 520, 2)]
    found += [f"use {'x' * size}" for size in range(990, 1004)]
    marks = (
        ",",
        ";",
        ":",
        "?",
        "…",
        ". ",
        "! ",
        " - ",
        " (",
        "=",
        "<",
        "\\",
        "()",
        "f(",
        "&&",
        "//",
        " --x",
        " ./",
        "/a/",
        ".py",
        ".md",
    )
    found += [
        f"{kind} ab{mark}cd"
        for kind in ("use", "set premise")
        for mark in (*marks, "’", "\n", "\u2028", "ﬁ", " \u200b", "\u202e")
    ]
    found += [f"use {a}two words{b}" for a, b in ('""', "“”", "``", "''", "()", "**")]
    found += [
        f"set premise we use uv{gap}{word} it"
        for gap in (". ", ", ", " and ", " then ", "; please ", " ")
        for word in ("write", "is")
    ]
    return found


_REPLIES: Final = (
    *(
        "yes",
        "Yes.",
        "yes!",
        " y ",
        "no",
        "No!",
        "nope",
        "nah",
        "YES?",
        "ｙｅｓ",
        "yes yes",
        "no, I mean podman",
        "don't know",
        "don’t know",
    ),
    *(
        "I don’t know",
        "not sure",
        "I guess so",
        "maybe",
        "what?",
        "hm",
        "ok",
        "sure",
        "sure thing",
        "please do",
        "both",
        "yes\nno",
        "\u202eyes",
    ),
)


def test_lengths_marks_and_replies() -> None:
    lines = [f"{text[:40]!r} {len(text)}: {_judged(text)} {preprocess_heuristic(text)}" for text in _long()]
    for said, asked in product(_REPLIES, ("use peanuts", "use ruff instead of flake8", "change premise the desk")):
        turns = [Turn("user", "prohibit peanuts"), Turn("assistant", "All right."), Turn("user", asked)]
        record = place(turns, StateOptions()).record
        for answered in ("", "What?"):
            told = record.machine.pending.prompt if record.machine.pending and not answered else answered
            made = place([*turns, Turn("assistant", told), Turn("user", said)], StateOptions(), record)
            lines.append(f"{said!r} to {asked!r}{answered}: {made.verdict.kind} {golden.name_of((made.verdict, made.record))}")
    golden.agrees(FILES / "replies.txt", lines)


def test_what_is_asked_of_a_decision() -> None:
    engine, lines = create_engine(), list[str]()
    for text in ("Hello.", "use docker", "prohibit docker", "no", "prohibit peanuts", "set premise the desk", "use docker"):
        made = engine.step(text)
        kinds = [is_passthrough(made), is_update(made), is_clarify(made)]
        state = get_decision_state(made)
        held = state and [get_premise_value(state), *(get_policy_items(state, one) for one in (None, "use", "prohibit"))]
        lines.append(f"{text}: {kinds} {get_clarify_prompt(made)} {held} {engine.has_pending_clarification()}")
    golden.agrees(FILES / "decisions.txt", lines)


_SUPERSEDED: Final[tuple[Literal["keep", "drop"], ...]] = ("keep", "drop")


def test_blocks_that_were_replaced() -> None:
    """Premises that weigh the same, one after the other: as many stay as weigh so many times the newest."""
    lines = []
    for words_each, superseded in product((1, 9, 60), _SUPERSEDED):
        turns, record = list[Turn](), Record()
        for i in range(24):
            turns += [
                Turn(
                    "user", f"set premise {'desk ' * words_each}{i}" if not i else f"change premise to {'desk ' * words_each}{i}"
                )
            ]
            made = place(turns, StateOptions(acknowledge="forward", superseded=superseded), record)
            record = made.record
            turns.append(Turn("assistant", "All right."))
            lines.append(f"{words_each} {superseded} {i}: {[pin.index for pin in made.pins]} {golden.name_of(made.pins)}")
    golden.agrees(FILES / "replaced.txt", lines)


def test_what_was_seen_before() -> None:
    """Requests that repeat, cut and mix what was seen, among few different messages."""
    lines = []
    for seed in range(240):
        random = Random(seed)
        seen = [random.choice((b"a", b"b", b"c")[: 2 + seed % 2]) for _ in range(random.randrange(1, 16))]
        at = random.randrange(len(seen))
        keys = [*seen[at : at + random.randrange(1, 9)], *(random.choice((b"a", b"b")) for _ in range(random.randrange(6)))]
        keys = [*seen[: at // 2], *keys] if seed % 3 else keys
        run = seen_run(seen, keys)
        lines.append(f"{b''.join(seen).decode()} {b''.join(keys).decode()}: {run} {resumed_at(seen, keys, run)}")
    golden.agrees(FILES / "runs.txt", lines)

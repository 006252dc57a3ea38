"""What becomes of directives, answers and edits in many conversations (``tests.support.golden`` says when to write anew)."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from tests.support import golden, odd_bodies, odd_texts
from tests.support.cases import each
from turnfold.compression.errors import InvalidInput
from turnfold.compression.state import (
    State,
    StateOptions,
    Turn,
    certainty,
    compile_transcript,
    create_engine,
    place,
    preprocess,
    preprocess_heuristic,
    preview,
    step,
    turn_of,
    validate_preprocessor_output,
    why_ordinary,
)
from turnfold.compression.state.draft import draft_steps
from turnfold.compression.state.record import Entry, Record, bounded, read_record
from turnfold.compression.state.seen import resumed_at, seen_run
from turnfold.compression.state.serial import read_checkpoint, read_state
from turnfold.compression.summary.calls import ModelReply

FILES = Path(__file__).parent / "golden"

DIRECTIVES = (
    "use docker", "use podman", "prohibit docker", "prohibit peanuts", "remove policy docker", "use ruff instead of docker",
    "set premise the harbour desk", "change premise to the night desk", "clear premise", "reset policies", "clear state",
    "use", "set premise", "remove policy the", "Use Docker.", "please use podman", "Don't use docker.",
    "prohibit docker\nand tell me why", "use docker in the second step, please",
)  # fmt: skip
TALK = (
    "yes", "no", "nah", "never mind", "No, I mean podman", "hm", "ok", "what do you think, I guess?", "yes please", "y", "no\nno",
    "Hello.", "What is the tide today?", "Which one is it?", "x" * 190 + " yes", "y" * 201, "skip", "continue",
)  # fmt: skip
OPTIONS = (
    StateOptions(),
    StateOptions(acknowledge="forward", preprocess=True),
    StateOptions(superseded="drop"),
    StateOptions(preprocess=True, superseded="drop"),
)


def talked(seed: int) -> str:
    """One conversation as it goes on: sent whole, its newest messages only, edited, twice, or with another answer in it."""
    random, options = Random(seed), OPTIONS[seed % len(OPTIONS)]
    turns, record = list[Turn](), Record()
    kinds, every = list[str](), list[Any]()
    for _ in range(12):
        turns.append(Turn("user", random.choice(DIRECTIVES if random.random() < 0.6 else TALK)))
        if random.random() < 0.08:
            turns[-1] = Turn("user", None, "beside an image")
        sent = list(turns)
        how = random.random()
        if how < 0.1:
            sent = sent[-3:]
        elif how < 0.2 and len(sent) > 4:
            sent[2 * random.randrange(len(sent) // 2)] = Turn("user", random.choice(DIRECTIVES))
        for _ in range(2 if random.random() < 0.15 else 1):
            made = place(sent, options, record)
            record = made.record if random.random() < 0.9 else record
        kinds.append(f"{made.verdict.kind[0]}{len(made.pins)}")
        every.append((made.verdict, made.record, made.pins, made.changes, made.block_before(len(sent) // 2), made.state_at(3)))
        said = made.verdict.text if made.verdict.kind != "forward" and random.random() < 0.8 else "All right."
        turns.append(Turn("assistant", said))
    return f"{seed}: {' '.join(kinds)} {golden.name_of(every)}"


def test_conversations() -> None:
    golden.agrees(FILES / "conversations.txt", map(talked, range(160)))


def test_a_long_one_loses_its_superseded_blocks() -> None:
    """Blocks that were replaced go once they weigh too much; a record that is long forgets its oldest states."""
    record, turns, lines = Record(), list[Turn](), []
    for i in range(90):
        turns += [
            Turn("user", f"use tool {i % 11}" if i % 3 else f"prohibit thing {i}"),
            Turn("user", "Go on."),
            Turn("assistant", "Yes."),
        ]
        made = place(turns, StateOptions(acknowledge="forward"), record)
        record = made.record
        lines.append(f"{i} {[pin.index for pin in made.pins]} {golden.name_of((made.record, made.pins, made.changes))}")
    golden.agrees(FILES / "long.txt", lines)


def test_what_was_seen_before() -> None:
    """Every request of up to four messages behind every record of up to three."""
    lines = []
    for size in range(4):
        for seen in product((b"a", b"b", b"c"), repeat=size):
            asked = [keys for length in range(5) for keys in product((b"a", b"b", b"c"), repeat=length)]
            runs = [seen_run(seen, keys) for keys in asked]
            resumed = [resumed_at(seen, keys, run) for keys, run in zip(asked, runs, strict=True)]
            lines.append(f"{b''.join(seen).decode() or '-'}: {golden.name_of((runs, resumed))}")
    golden.agrees(FILES / "seen.txt", lines)


def _outcome(read: Callable[[Any], Any], value: Any) -> str:
    try:
        return f"read {golden.name_of(read(value))}"
    except InvalidInput as refused:
        return f"{type(refused).__name__} {refused}"[:150]


def _stored(value: Any) -> Record:
    return read_record(json.dumps(value).encode())


def test_what_is_no_state() -> None:
    """Checkpoints, states and records with something else in one or two places: what is wrong with each, in full."""
    engine, record, turns = create_engine(), Record(), list[Turn]()
    for said in ("set premise the harbour desk", "use docker", "prohibit peanuts", "use ruff instead of flake8"):
        engine.step(said)
        turns.append(Turn("user", said))
        record = place(turns, StateOptions(), record).record
        turns.append(Turn("assistant", "All right."))
    kept, lines = json.loads(record.to_bytes()), list[str]()
    first = {"record_version": 1, "machine": kept["machine"], "seen": 3, "base": kept["machine"], "after": 1}
    for seed in range(150):
        told = [
            _outcome(read_checkpoint, odd_bodies.spoiled(engine.export_checkpoint(), seed)),
            _outcome(read_state, odd_bodies.spoiled(engine.state, seed)),
            _outcome(_stored, odd_bodies.spoiled(kept, seed)),
            _outcome(_stored, odd_bodies.spoiled(first, seed)),
        ]
        lines += [f"{seed} {one}" for one in told]
    for text in (
        "",
        "[]",
        "{",
        '{"a": 1, "a": 2}',
        "[" * 9000,
        "null",
        "1",
    ):  # what JSON says of them differs from Python to Python
        told = [_outcome(lambda value: read_record(value.encode()), text), _outcome(engine.import_checkpoint_json, text)]
        lines += [f"{text[:9]} {one.partition('payload')[0]}" for one in told]
    golden.agrees(FILES / "unreadable.txt", lines)


def test_every_pair_of_directives() -> None:
    """What each directive does behind each other one, and what it would do."""
    said = (
        *(*DIRECTIVES, "use a|b", "replace x", "use x instead of", "use ﬁre", "prohibit the", "replace docker", "use ruff"),
        *("change premise", "change premise to", "change premise the desk", "clear premise ", "use don’t", "yes", "no", "No."),
    )
    lines = []
    for first in said:
        told: list[Any] = []
        for second in said:
            engine = create_engine()
            engine.step(first)
            seen = preview(engine, second)
            told += [seen, step(engine, second), step(engine, "yes"), engine.export_json(), engine.export_checkpoint_json()]
        lines.append(f"{first!r}: {golden.name_of(told)}")
    golden.agrees(FILES / "pairs.txt", lines)


def _drafted(said: str, seed: int) -> list[Any]:
    """What a message is drafted to where a model says what a model may say, and each call."""
    replies = (
        ModelReply("use docker"),
        ModelReply(" Use Docker. "),
        ModelReply('{"classification": "directive", "output": "use podman"}'),
        ModelReply("NO_DIRECTIVE"),
        ModelReply("use docker", complete=False),
        ModelReply("set premise the harbour desk"),
        ModelReply("use ruff instead of docker"),
        None,
    )
    engine = create_engine()
    if seed % 9 == 8:
        engine.step("change premise to the desk")
    flow, calls = draft_steps(engine, said), list[Any]()
    try:
        calls.append(next(flow))
        flow.send(replies[seed % len(replies)])
    except StopIteration as done:
        return [calls, done.value, done.value and done.value.prompt]
    raise AssertionError("one call at most")


def _proposals(said: str) -> list[Any]:
    """Ways in which a rule or a model may propose a message."""
    both = {"classification": "directive", "output": said}
    texts = [said, f" {said}.", said.upper(), f"({said})", f"“{said}”", f"{said} and use it", json.dumps(both)]
    values = [both, {**both, "more": 1}, {"classification": "no_directive", "output": None}, {**both, "output": json.dumps(both)}]
    return [*texts, *values, {"classification": "no_directive", "output": said}, {**both, "output": 7}, 7, None]


def test_what_is_proposed_and_drafted() -> None:
    """By rules, and by a model; what is no directive although it looks like one, and why."""
    odd = [odd_texts.PIECES[i] for i in range(0, 90, 9)]
    said = [*DIRECTIVES, *TALK, *odd, "use " + "x" * 90, "set premise " + "y " * 600, "use a b c d e f g h", "use it of the last"]
    lines = []
    for number, one in enumerate(said):
        forms = [text for text in _proposals(one) if isinstance(text, str)]
        read = [preprocess_heuristic(text) for text in forms]
        checked = [validate_preprocessor_output(raw, source_input=source) for raw in _proposals(one) for source in (None, one)]
        drafted = [_drafted(text, 3 * number + i) for i, text in enumerate(forms)]
        why = [(why_ordinary(text), certainty(text, State(None, {"docker": "use"}))) for text in forms]
        compiled = [
            compile_transcript([{"role": role, "content": text} for text in (forms[0], forms[-1])]) for role in ("user", "x")
        ]
        engine = create_engine()
        taken = [preprocess(engine, text) for text in forms]
        names = " ".join(map(golden.name_of, (checked, drafted, compiled, taken)))
        lines.append(f"{one[:30]!r}: {[what['classification'][0] for what in read]} {[f'{a}{b[0]}' for a, b in why]} {names}")
    golden.agrees(FILES / "proposed.txt", lines)


def test_parts_of_turns_and_of_records() -> None:
    """Messages of any form as turns; a record that is set from outside, asked what it has, and without what is private."""
    lines = []
    for wire in ("chat", "messages"):
        for seed in range(0, 60, 2):
            messages = json.loads(odd_bodies.body(wire, seed))["messages"]
            turns = [turn_of(one) for one in messages if isinstance(one, dict)] if isinstance(messages, list) else []
            record = place(turns, OPTIONS[seed % 3]).record
            lines.append(f"{wire} {seed} {len(turns)} {golden.name_of((turns, record))}")
    private = (
        "use <private>docker</private>",
        "set premise the <private>harbour</private> desk",
        "change premise to <private>x</private>",
    )
    for options, said in product(OPTIONS, product((*private, "use ruff instead of <private>y</private>", "yes"), repeat=2)):
        record = place([Turn("user", said[0]), Turn("assistant", "Done."), Turn("user", said[1])], options).record
        made = (record.redacted(), record.without_question(), record.put(record.machine), record.redacted().to_bytes())
        has = [record.has(text) for text in ("docker", "harbour", "Did you", "zzz", "ruff")]
        lines.append(f"{golden.name_of(made)} {has}")
    golden.agrees(FILES / "parts.txt", lines)


@each("number", [0, 1, 511, 512, 513, 514, 4096, 4097])
def test_what_a_record_keeps_of_its_entries(number: int) -> None:
    """Every message has a state, or every second one; the oldest states go once there are twice as many as are kept."""
    for step_by in (1, 2):
        entries = [Entry(bytes([i % 256]), state=State(str(i)) if i % step_by == 0 else None) for i in range(number)]
        kept = bounded(entries)
        assert [entry.key for entry in kept] == [entry.key for entry in entries[-4096:]]
        stated = [entry.state for entry in entries[-4096:] if entry.state]
        assert [entry.state for entry in kept if entry.state] == (stated if len(stated) <= 512 else stated[-256:])

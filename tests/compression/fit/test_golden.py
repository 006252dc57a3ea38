"""Requests made to fit windows that are too small for them (``tests.support.golden`` says when to write the files anew)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from tests.support import golden, odd_bodies
from tests.support.block_conversations import Kind, conversation
from tests.support.overfull import CURABLE, overfull
from tests.support.summary_writer import faithful
from tests.support.three_wires import WIRES, with_marks
from turnfold.compression.calibration import Learned
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.cut import cut
from turnfold.compression.fit.fit import fit
from turnfold.compression.fit.overflow import Kind as OverflowKind
from turnfold.compression.fit.overflow import Overflow, detect
from turnfold.compression.fit.recover import Resend, UpstreamReply, recover
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.summary.calls import ModelReply
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.model_calls import write_call

FILES = Path(__file__).parent / "golden"
MEMO = Memo()
OPTIONS = FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0))


def requests() -> dict[str, Conversation]:
    found = {name: WIRES["chat"].wire.read(json.dumps(overfull(name, 5000)).encode(), MEMO) for name in CURABLE}
    for seed, wire in enumerate(sorted(WIRES)):
        messages = conversation(seed + 20, Kind(turns=5, loops=2, sentences=20, odd=True, thinks=0.3))
        found[wire] = WIRES[wire].wire.read(WIRES[wire].encode(with_marks(messages, [3, len(messages) - 1])), MEMO)
    said = [{"role": "user", "content": f"{i}. {'Yes. ' * (40 + 7 * i)}"} for i in range(90)]
    turns = [one for i, m in enumerate(said) for one in (m, {"role": "assistant", "content": f"{i} \n" + "ok " * 30})]
    body = {"model": "claude-sonnet-4-5", "messages": [*turns, said[0]]}
    found["many"] = WIRES["chat"].wire.read(json.dumps(body).encode(), MEMO)
    return found


def test_cuts() -> None:
    lines = []
    for name, request in requests().items():
        for budget in (3200, 1500, 420):
            try:
                made = cut(request, budget, OPTIONS, MEMO)
            except FoldRejected as rejected:
                lines.append(f"{name} {budget}: {rejected.reason}")
                continue
            if made is None:
                lines.append(f"{name} {budget}: none")
                continue
            told = f"{made.tokens} tokens, {made.shortened} shortened, {made.dropped} dropped, {made.recent_whole}"
            lines.append(f"{name} {budget}: {told} {golden.name_of(made.forwarded.body)}")
    golden.agrees(FILES / "cuts.txt", lines)


def test_fits() -> None:
    lines = []
    for name, request in requests().items():
        for window in (6000,) if name == "many" else (2500,) * (name in WIRES or name == "long chat"):
            made = fit(
                request,
                replace(OPTIONS, window=window),
                MEMO,
                Learned((1.1, 1.2), fits=window // 2) if window < 3000 else Learned(),
            )
            kinds = Counter(section.level for section in made.sections)
            names = f"{golden.name_of(made.account)} {golden.name_of(made.forwarded.body)}"
            lines.append(f"{name} {window}: {made.tokens} {made.fitted} {dict(kinds)} {names}")
    golden.agrees(FILES / "fits.txt", lines)


def odd_errors() -> Iterator[tuple[int, bytes, bool]]:
    """Errors of upstreams with other figures, cut off, one inside another, in streams, as strings, with another status."""
    cases = json.loads((FILES.parent / "cases" / "overflow.json").read_text("utf-8"))
    random = Random(5)
    for number, case in enumerate(cases):
        said: str = case["body"]
        statuses = (200, 400, 413, 422, 429, 500) if number % 12 == 0 else (400,)
        yield from ((status, said.encode(), stream) for status in statuses for stream in (False, True))
        for _ in range(4):
            made = re.sub(r"\d+", lambda m: random.choice((m[0], m[0], str(random.randrange(10**6)), f"{m[0]}7")), said)
            made = random.choice((made, made.replace("token", "word"), made.replace("maximum", "most"), made.replace('"', "'")))
            made = random.choice((made, made[: random.randrange(1 + len(made))], json.dumps({"error": {"message": made}})))
            made = random.choice((made, f"data: {made}\n\n", json.dumps({"detail": [made]}), f"x {made} {cases[0]['body']}"))
            yield 400, made.encode(), case["in_stream"]


def test_odd_errors() -> None:
    errors, names = [*odd_errors()], list[str]()
    for i in golden.some(range(len(errors) // 90 + 1), 2):
        found = [detect(status, body, in_stream=stream) for status, body, stream in errors[90 * i : 90 * i + 90]]
        names.append(f"{i} {sum(one is not None for one in found)} {golden.name_of(found)}")
    golden.agrees_in(FILES / "errors.txt", names)


def test_odd_bodies() -> None:
    """Cut, and folded into a window; a body that can't be is left alone."""
    lines = []
    for seed in golden.some(range(45)):
        wire = sorted(WIRES)[seed % 3]
        try:
            request = WIRES[wire].wire.read(odd_bodies.body(wire, 20 * (seed // 3) + 2 * (seed % 2), 30 + seed), MEMO)
            made = [cut(request, budget, OPTIONS, MEMO) for budget in (12_000, 5000, 1200)]
            done = fit(request, replace(OPTIONS, window=7000), MEMO, Learned((1.1,)))
        except FoldRejected as rejected:
            lines.append(f"{seed} {wire}: {rejected.reason}")
            continue
        cuts = [one and (one.tokens, one.shortened, one.dropped, one.recent_whole, one.forwarded.body) for one in made]
        told = (
            done.tokens,
            done.fitted,
            done.account,
            len(done.forwarded.messages),
            done.forwarded.body,
            done.folded.tokens_before,
        )
        lines.append(f"{seed} {wire}: {[one and one.tokens for one in made]} {golden.name_of(cuts)} {golden.name_of(told)}")
    golden.agrees_in(FILES / "odd.txt", lines)


KINDS: tuple[OverflowKind, ...] = (*("prompt",) * 7, "sum", "output")
REPLIES = (
    (200, b'data: {"choices":[{"delta":{"role":"assistant"}}]}\n\n', True),
    (200, b"event: error\ndata: 7\n\n", True),
    (200, b'{"error": {"message": "overloaded"}}', True),
    (200, b'{"error": {"message": "overloaded"}}', False),
    (200, b' data: [{"error": {"message": "overloaded"}}]', True),
    (200, b'event: x\ndata: {"error": null}\n\n', True),
    (200, b"data: [7]", True),
    (200, b"data: []", True),
    (200, b"no data", True),
    (399, b"", False),
    (400, b"", False),
    (400, b'{"error":{"code":"context_length_exceeded"}}', False),
    (400, b'{"error":{"message":"maximum context length is 1000 tokens","code":"context_length_exceeded"}}', False),
)


def recovered(seed: int) -> str:
    """One recovery: what an upstream said, what was known of it, and what it says then."""
    random, of = Random(seed), Random.choice
    shape = of(random, [*CURABLE, "long chat", "long agent run"])
    more = of(random, [{}, {"max_tokens": 300}, {"max_tokens": 1300}])
    request = WIRES["chat"].wire.read(json.dumps(overfull(shape, 1900, model="gpt-4", **more)).encode(), MEMO)
    prompt, output = of(random, [None, 1900, 3100, 9000]), of(random, [None, None, 0, 200, 3000])
    overflow = Overflow(
        KINDS[random.randrange(9)],
        of(random, [None, None, 700, 1600, 2400, 4000]),
        of(random, [None, 0, 3000, 3400]),
        prompt,
        output,
        random.random() < 0.3,
        random.random() < 0.3,
    )
    known = Learned(
        of(random, [(), (), (1.3,), (0.7, 0.8)]), fits=of(random, [0, 0, 900, 1700, 5000]), fails=of(random, [None, 2600])
    )
    options = FoldOptions(model=of(random, ["", "gpt-4o"]), window=of(random, [None, None, 1500, 2200, 100_000]))
    sent = WIRES["chat"].wire.read(json.dumps(overfull(shape, 1500)).encode(), MEMO) if random.random() < 0.2 else None
    flow = recover(request, overflow, options, MEMO, known, sent, summary_tokens=of(random, [0, 0, 0, 25, 400]))
    calls = list[Any]()
    reply: UpstreamReply | ModelReply | None = None
    try:
        while True:
            call = flow.send(reply)
            if isinstance(call, Resend):
                calls.append((call.attempt.tokens_after, golden.name_of(call.forwarded.body)))
                reply = UpstreamReply(*REPLIES[seed % len(REPLIES)])
            else:
                calls.append((call.max_tokens, golden.name_of(call)))
                said = faithful(write_call("chat", "m", call))
                reply = (ModelReply(said), ModelReply(said), ModelReply(""), None)[seed % 4]
    except StopIteration as done:
        end = done.value
    ratio = None if end.ratio is None else round(end.ratio, 9)
    told = f"{end.recovered} {end.reason or '-'} {end.tokens_before} {end.tokens_after} {end.window} {ratio}"
    return f"{seed} {shape}: {told} {calls} {golden.name_of(end.sections)}"


def test_recoveries() -> None:
    golden.agrees_in(FILES / "recoveries.txt", map(recovered, golden.some(range(52))))

"""Requests made to fit windows that are too small for them (``tests.support.golden`` says when to write the files anew)."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

from tests.support import golden
from tests.support.block_conversations import Kind, conversation
from tests.support.overfull import CURABLE, overfull
from tests.support.three_wires import WIRES, with_marks
from turnfold.compression.calibration import Learned
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.cut import cut
from turnfold.compression.fit.fit import fit
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.conversation import Conversation

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

"""Requests of every number of messages, cut and fitted into every room (``tests.support.golden`` says when to write anew)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tests.support import golden
from tests.support.three_wires import WIRES
from turnfold.compression.calibration import Learned
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.cut import cut
from turnfold.compression.fit.fit import fit
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.conversation import Conversation

FILES = Path(__file__).parent / "golden"
MEMO = Memo()
OPTIONS: Final = FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0))


def read(messages: Sequence[dict[str, Any]]) -> Conversation:
    return WIRES["chat"].wire.read(json.dumps({"model": "gpt-4o", "messages": messages}).encode(), MEMO)


def chat(number: int, *, pictures: int = 0, pinned: int = 0) -> Conversation:
    """So many short messages; every so many one with a picture, or instructions between two others."""
    found: list[dict[str, Any]] = []
    for i in range(number):
        role, said = ("user", "assistant")[i % 2], f"{i}. The pump of bay {i} ran. " + "Yes. " * (i % 5)
        content: Any = said
        if pictures and i % pictures == 0 and role == "user":
            content = [{"type": "text", "text": said}, {"type": "image_url", "image_url": {"url": f"https://x.org/{i}.png"}}]
        if pinned and i % pinned == pinned - 1:
            found.append({"role": "system", "content": f"From message {i} on be short."})
        found.append({"role": role, "content": content})
    return read(found)


def agent(number: int) -> Conversation:
    """So many calls with results, of which every third is long, and arguments that are long strings or no JSON."""
    found: list[dict[str, Any]] = [{"role": "user", "content": "Find the bay. " * 9}]
    for i in range(number):
        given = json.dumps({"path": f"{i}.log", "text": "one two three " * (60 * (i % 3 == 0)), "n": i}) if i % 5 else '{"path": "x'
        call = {"id": f"c{i}", "type": "function", "function": {"name": "read", "arguments": given}}
        found += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{i}", "content": f"{i} of many. " * (4 if i % 3 else 90)},
        ]
    return read([*found, {"role": "user", "content": "Which bay is it?"}])


def told(request: Conversation, budget: int) -> str:
    try:
        made = cut(request, budget, OPTIONS, MEMO)
    except FoldRejected as rejected:
        return rejected.reason
    if made is None:
        return "none"
    return f"{made.tokens} {made.shortened} {made.dropped} {made.recent_whole} {golden.name_of(made.forwarded.body)}"


def test_cuts_of_every_size() -> None:
    lines = []
    for number in (*range(1, 14), 41, 42, 50, 51, 81, 82, 83, 99, 101, 102, 103, 104, 123, 151):
        for name, request in {
            "plain": chat(number),
            "pictures": chat(number, pictures=6 if number > 9 else 2),
            "pinned": chat(number, pinned=4),
        }.items():
            total = sum(one.tokens for one in request.messages)
            for share in (0.35, 0.7) if number < 40 or name == "plain" else (0.5,):
                lines.append(f"{name} {number} {share}: {told(request, int(share * total))}")
    golden.agrees(FILES / "sizes.txt", lines)


def test_cuts_into_every_room() -> None:
    lines = []
    for name, request in {"chat": chat(9), "pictures": chat(12, pictures=4), "agent": agent(7)}.items():
        total = sum(one.tokens for one in request.messages)
        for room in range(8, total + 10, max(1, total // 60)):
            lines.append(f"{name} {room}: {told(request, room)}")
    golden.agrees(FILES / "rooms.txt", lines)


def test_windows_around_what_fits() -> None:
    """Into a window that just holds the request, one token less, one more; and into small ones, with what was learned."""
    lines = []
    for name, request in {"chat": chat(60, pictures=9), "agent": agent(9)}.items():
        total = fit(request, OPTIONS, MEMO, Learned()).tokens
        for window in (total - 1, total, total + 40, total * 3 // 4, total // 3):
            for learned in (Learned(), Learned((1.2, 0.9), fits=total // 2, fails=total)):
                try:
                    made = fit(request, replace(OPTIONS, window=window), MEMO, learned)
                except FoldRejected as rejected:
                    lines.append(f"{name} {window}: {rejected.reason}")
                    continue
                lines.append(f"{name} {window}: {made.tokens} {made.fitted} {golden.name_of((made.account, made.forwarded.body))}")
    golden.agrees(FILES / "windows.txt", lines)

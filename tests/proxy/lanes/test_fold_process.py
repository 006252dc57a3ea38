"""What the process that folds answers to each piece of work, frame by frame (``tests.support.golden`` says when to write anew).

These tests cover its loop in this process, from frames to frames. They leave out starting and killing it, what becomes of its
answers (``chat/test_process_folding.py``).
"""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import golden
from tests.support.block_conversations import Kind, conversation
from tests.support.three_wires import WIRES
from turnfold.compression.calibration import Learned
from turnfold.compression.fit.overflow import Overflow
from turnfold.compression.layers import CompressRequest
from turnfold.compression.memo import Memo
from turnfold.compression.options import KEEP_NOTHING, FoldDecision, Keep, Warmth
from turnfold.config.settings import FoldingSettings, Settings, StoreSettings
from turnfold.proxy.api.workshop import ApiResult, ApiWork
from turnfold.proxy.books.section_records import unpack_section
from turnfold.proxy.chat import folding
from turnfold.proxy.chat.process_folding import BareWork, FoldConditions, FoldWork, RecoverWork, Work, WorkFailed
from turnfold.proxy.chat.receipts import PackedSection
from turnfold.proxy.fold_process import work_until_the_end
from turnfold.proxy.lanes.frames import Frame, read_frame, write_frame

FILES = Path(__file__).parent / "golden"
SETTINGS = Settings(folding=FoldingSettings(cache_hit_share=0.1), store=StoreSettings(url="memory://"))
UNDER = FoldConditions(Learned(), None, (), ())
FULL = Overflow("prompt", limit=900, requested=1800, prompt=1800)


def answers(*frames: tuple[Any, ...], settings: Settings = SETTINGS) -> list[Frame]:
    """What comes out where this goes in."""
    stdin, stdout = io.BytesIO(), io.BytesIO()
    write_frame(stdin, settings)
    for frame in frames:
        write_frame(stdin, *frame)
    stdin.seek(0)
    work_until_the_end(stdin, stdout)
    stdout.seek(0)
    return list(iter(lambda: read_frame(stdout), None))


def told(value: Any) -> Any:
    """A value of an answer for a file; sections as what they hold, since their packed bytes change with Python."""
    if isinstance(value, PackedSection):
        return [value.id, golden.name_of(unpack_section(value.id, value.original)), value.instead is not None]
    if is_dataclass(value):
        return {one.name: told(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple | list):
        return [told(one) for one in value]
    return golden.name_of(value) if isinstance(value, bytes) else value if isinstance(value, str | int | None) else repr(value)


def lines(frames: list[Frame]) -> Iterator[str]:
    for value, first, second in frames:
        shown = {name: one for name, one in told(value).items() if one not in ("", None, [])}
        yield f"  {type(value).__name__} {json.dumps(shown)} {len(first)} {golden.name_of(first)} {len(second)}"


def work(kind: type[Work], wire: str, *more: Any, budget: int | None = None, keep: Keep = KEEP_NOTHING) -> Work:
    return kind("tf-1", wire, "on", budget, None, keep, *more)


def test_golden_answers() -> None:
    found = []
    for seed, wire in enumerate(WIRES):
        body = WIRES[wire].encode(conversation(60 + seed, Kind(turns=6, loops=1, sentences=8, thinks=0.5)))
        short = WIRES[wire].encode(conversation(60 + seed, Kind(turns=2, loops=1, sentences=8, thinks=0.5)))
        fold = work(FoldWork, wire, budget=600)
        believed = FoldConditions(Learned(), FoldDecision(Warmth(0.1, 0.9)), (), ())
        cases: dict[str, list[tuple[Any, ...]]] = {
            "fold": [(fold, body), (UNDER,), (None,)],
            "fold under a belief, then under none": [(work(FoldWork, wire), body), (believed,), (UNDER,), (None,)],
            "fold, learned": [(fold, body), (FoldConditions(Learned(limit=700, claims=3), None, (), ()),), (None,)],
            "fold, keep": [
                (work(FoldWork, wire, budget=600, keep=Keep(roles=frozenset({"user"}))), body),
                (UNDER,),
                (None,),
            ],
            "read and left": [(fold, short), (None,)],
            "unreadable": [(fold, b"{"), (work(BareWork, wire), b"7", short), (fold, body), (UNDER,), (None,)],
            "recover": [(work(RecoverWork, wire, Learned(), FULL), body)],
            "recover what was sent": [(work(RecoverWork, wire, Learned(), FULL), body, short)],
            "recover what can't be": [(work(RecoverWork, wire, Learned(), Overflow("prompt", limit=3)), short)],
            "recover what is unreadable": [(work(RecoverWork, wire, Learned(), FULL), b"{")],
            "without thinking": [(work(BareWork, wire), body, body)],
        }
        for name, frames in cases.items():
            found += [f"{wire} {name}", *lines(answers(*frames))]
    golden.agrees(FILES / "answers.txt", found)


def test_a_conversation_is_taken_over_in_bits_of_a_limited_size() -> None:
    """A bit is as much as a turn of a smaller conversation takes, and no message holds the interpreter for long."""

    def bits(size: int, messages: int) -> int:
        body = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "x" * size}] * messages}).encode()
        ((read, _, _),) = answers((work(FoldWork, "chat", True), body), (None,))
        return len(read.borders)

    element = len(json.dumps({"role": "user", "content": ""}))
    assert bits(64 * 1024, 4) == 4
    assert bits(32 * 1024, 8) == 4
    assert bits(128 * 1024 - element, 2) == 2
    assert bits(128 * 1024 - element + 1, 2) == 0


def length(request: CompressRequest) -> int:
    return len(request.text)


def test_work_of_the_api() -> None:
    job = pickle.dumps((length, (CompressRequest("four"),)))
    broken = pickle.dumps((length, ()))
    (result, packed, _), (failed, _, _) = answers((ApiWork(), job), (ApiWork(), broken))
    assert (result, pickle.loads(packed)) == (ApiResult(), 4)  # noqa: S301 - made a line above
    assert failed == WorkFailed("TypeError")


@pytest.mark.parametrize(("url", "remembers"), [("memory://", True), ("none://", False)])
def test_where_nothing_is_kept_nothing_is_remembered_of_a_piece_of_work(
    monkeypatch: pytest.MonkeyPatch, url: str, remembers: bool
) -> None:
    memos: list[Memo] = []

    class Noting(Memo):
        def __init__(self, capacity: int) -> None:
            super().__init__(capacity)
            memos.append(self)

    monkeypatch.setattr(folding, "Memo", Noting)
    body = WIRES["chat"].encode(conversation(3, Kind(turns=6, loops=1, sentences=8)))
    settings = SETTINGS.model_copy(update={"store": StoreSettings(url=url)})
    found = answers((work(FoldWork, "chat", budget=600), body), (UNDER,), (None,), settings=settings)
    assert len(found) == 2
    (memo,) = memos
    assert bool(memo._kept) is remembers


def test_nothing_is_done_without_settings() -> None:
    stdout = io.BytesIO()
    work_until_the_end(io.BytesIO(b"\0\0"), stdout)
    assert stdout.getvalue() == b""

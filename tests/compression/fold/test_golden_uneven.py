"""Folds of conversations in which one side says more than the other (``tests.support.golden`` says when to write the file anew).

These tests cover runs of messages of one role, short and long, in every room that a summary has for what users told. They leave
out user and assistant in turn (``test_golden.py``, ``test_golden_budgets.py``).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Final

from tests.compression.fold.test_golden import CLAUDE, FREE, HALF, chat_body
from tests.support import golden, odd_texts
from turnfold.compression.fold import Folded, fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldDecision, FoldOptions, Warmth, WrittenSummary
from turnfold.compression.wire.wires import read_any

_FILE: Final = Path(__file__).parent / "golden" / "uneven.txt"
_TOLD: Final = ("I live in Lisbon.", "My budget is 300 euros.", "Never call Ben.", "I'm allergic to nuts.", "ok", "Why?")


def _uneven(seed: int, number: int) -> list[golden.Message]:
    """Runs of one to four messages of a role, of which one role has more; what users tell of themselves is among it."""
    random, found = Random(f"uneven {seed}"), list[golden.Message]()
    most = (("user", 4), ("assistant", 4))[seed % 2]
    while len(found) < number:
        for role in ("user", "assistant"):
            for _ in range(random.randrange(1, 1 + (most[1] if role == most[0] else 1)) if found else 1):
                said = random.choice(_TOLD) if role == "user" and random.random() < 0.5 else odd_texts.text(4 * len(found) + seed)
                found.append({"role": role, "content": said * (1 + seed % 3 * (role == "assistant"))})
    return [*found, {"role": "user", "content": ("What should I order?", "Where do I live?")[seed % 2]}]


def _told(made: Folded) -> str:
    told = made.sections, made.account, made.outlook, made.decided, made.wanted
    return f"{made.tokens_before} -> {made.tokens_after} {golden.name_of((made.body, told))}"


def test_folds_of_uneven_conversations() -> None:
    """Under a budget, and with summaries of a model's where they are wanted."""
    lines, memo = list[str](), Memo()
    for seed in golden.some(range(8)):
        request = read_any(chat_body(_uneven(seed, (30, 70, 110, 150)[seed % 4])), memo)
        options = FoldOptions(prices=(FREE, HALF, CLAUDE)[seed % 3], recall=seed % 4 > 0, wants_summaries=True)
        first = fold(request, options, memo)
        written = tuple(WrittenSummary(one.start, one.end, one.prefix, f"Ben is at bay {one.start}.") for one in first.wanted)
        belief = FoldDecision(Warmth(0.4, 0.9), summaries=written)
        given = (options, replace(options, belief=belief), replace(options, budget=260 + 90 * seed))
        lines.append(f"{seed}: {len(written)} wanted, {'; '.join(_told(fold(request, one, memo)) for one in given)}")
    golden.agrees_in(_FILE, lines)

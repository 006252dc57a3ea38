"""The same bytes in every process: nothing may hang on the order of sets, which Python draws anew for each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOTS = [str(Path(__file__).parents[3] / root) for root in ("proxy", "compression", "config")]
SCRIPT = """
from turnfold.compression.budgeted import History, HistoryMessage, HistorySettings, add, export_history
from turnfold.compression.layers import CompressRequest, Compressor
from turnfold.compression.memo import Memo
from turnfold.compression.shorten.prose import shorten
from turnfold.compression.shorten.summary import summarise
from turnfold.compression.text.quotes import Source
from turnfold.compression.tokens import count

names = ["Kim Lee", "Acme Corp", "pool-b", "v2.4.1", "$4,200", "March 5, 2024", "ledger", "Ada Byron", "locker K7", "99.9%"]
talk = [f"{a} met {b} about {c} in the hall. It was good for {b}, and {a} will call {c} by Friday. Then we ate. Never trust {b}."
        for a in names for b in names for c in names[:4]]
text = "\\n\\n".join(talk[:120])
print(Compressor().compress(CompressRequest(text, query="who met Ada Byron?")))
print(shorten(text, 300, role="user", words=frozenset(names[6].split()), count=count))
sources = [Source("user" if i % 2 else "assistant", t, str(i).encode()) for i, t in enumerate(talk)]
print(summarise(sources, 400, count, Memo()))
state = History()
for i, t in enumerate(talk[:80]):
    state, _ = add(state, HistoryMessage("user" if i % 2 else "assistant", t), HistorySettings(400, 2))
print(export_history(state))
"""


def run(seed: str) -> str:
    environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(ROOTS)}
    return subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True).stdout  # noqa: S603


def test_the_hash_seed_changes_nothing() -> None:
    first = run("1")
    assert len(first) > 10_000
    assert first == run("2")

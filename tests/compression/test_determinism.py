"""The same bytes in every process: nothing may depend on the order of sets, which Python draws anew for each.

These tests cover a program for each wing, all of them run in this process and in one with another hash seed.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

ROOTS = [str(Path(__file__).parents[2] / root) for root in ("proxy", "compression", "config")]
#: Programs that print what a wing makes of some texts.
PROGRAMS = {
    "layers": """
from turnfold.compression.budgeted import History, HistoryMessage, HistorySettings, add, export_history
from turnfold.compression.layers import CompressRequest, Compressor
from turnfold.compression.memo import Memo
from turnfold.compression.shorten.prose import shorten
from turnfold.compression.shorten.summary import summarise
from turnfold.compression.text.quotes import Source
from turnfold.compression.tokens import count

names = ["Kim Lee", "Acme Corp", "pool-b", "v2.4.1", "$4,200", "March 5, 2024", "ledger", "Ada Byron", "locker K7", "99.9%"]
talk = [f"{a} met {b} about {c} in the hall. It was good for {b}, and {a} will call {c} by Friday. Then we ate. Never trust {b}."
        for a in names[:5] for b in names for c in names[:4]]
text = "\\n\\n".join(talk[:120])
print(Compressor().compress(CompressRequest(text, query="who met Ada Byron?")))
print(shorten(text, 300, role="user", words=frozenset(names[6].split()), count=count))
sources = [Source("user" if i % 2 else "assistant", t, str(i).encode()) for i, t in enumerate(talk)]
print(summarise(sources, 400, count, Memo()))
state = History()
for i, t in enumerate(talk[:80]):
    state, _ = add(state, HistoryMessage("user" if i % 2 else "assistant", t), HistorySettings(400, 2))
print(export_history(state))
""",
    "facts": """
import random
from turnfold.compression.shorten.registry import facts

drawn = random.Random(5)
names = [f"n_{i}" for i in range(90)]
text = "\\n".join(" ".join(drawn.choices(names, k=6)) + " = call()" for _ in range(300))
print(facts(text, 300, frozenset(names[:20]), lambda text: len(text) // 4))
""",
    "needs": """
from turnfold.compression.text.statements import statements

names = ("amir", "bea", "cleo", "dana", "egon", "fritz", "gina")
for first in names:
    said = " ".join(f"{name.title()} has a plan." for name in names if name != first)
    print(statements(f"{said} We like {first.title()}'s plan, " + ", ".join(f"{name.title()}'s" for name in names) + ".").needs)
""",
    "terms": """
from turnfold.compression.text import words

print(words.stem_table(["boats", "海"], "english"), words.run_on_terms("漢字").tolist())
print(words.language({"el", "la", "the", "is", "sie", "und"}))
""",
    "recall": """
from turnfold.compression.recall.question import *
from turnfold.compression.recall.choosing import *
from turnfold.compression.memo import Memo

said = [Source("user", f"Anna has boat {i}. Der Kahn und das Boot sind rot. 猫が{i}匹", str(i).encode()) for i in range(40)]
print(recall(said, Question("Which boat has Anna? 猫"), 900, (), len, Memo(), fill=True).quotes)
""",
    "works": """
from turnfold.compression.text.dialogue.wanted.works import asked_work

nouns = "code script class carta mail brief plan itinerary letter recipe text lettre lista programme reise".split()
for noun in nouns:
    asked = asked_work(f"show me the {noun} again")
    print(noun, asked.kind, sorted(asked.telling), sorted(asked.alike))
""",
    "state": """
from turnfold.compression.state import Turn, create_engine, place

engine = create_engine()
texts = ["use b", "use a", "prohibit z", "prohibit c", "set premise p", "hello"]
for text in texts:
    engine.step(text)
print(engine.export_checkpoint_json(), place([Turn("user", text) for text in texts]).pins)
""",
}
RUN_ALL = """
import contextlib, io, json, sys

printed = {}
for name, program in json.load(sys.stdin).items():
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(program, {})
    printed[name] = out.getvalue()
print(json.dumps(printed))
"""


def printed_elsewhere() -> dict[str, str]:
    """What each program prints, all of them in a process whose seed is not that of this one."""
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(ROOTS)}
    run = subprocess.run(  # noqa: S603 - our own interpreter on our own text
        [sys.executable, "-c", RUN_ALL],
        env=environment,
        input=json.dumps(PROGRAMS),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, str] = json.loads(run.stdout)
    return found


def printed_here(program: str) -> str:
    """What a program prints in this process, whose seed is drawn where none is set."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(program, {})  # noqa: S102 - ours
    return out.getvalue()


def test_the_hash_seed_changes_nothing() -> None:
    elsewhere = printed_elsewhere()
    assert all(len(elsewhere[name]) > 20 for name in PROGRAMS)
    assert {name for name, program in PROGRAMS.items() if elsewhere[name] != printed_here(program)} == set()

"""What shortening does to each kind of content: ratio at birth, ratio at FACTS, evidence kept, speed.

Run: ``python -m benchmarks.kinds [--share 0.25] [--shared DIR]``. Samples are made here, from
a seed, and from this repository's own source; with ``--shared`` (or ``EVALUATION_SHARED``) the recorded tool results there are
measured too. "peer" is the share of tokens that peers publish as saved.
"""

from __future__ import annotations

import argparse
import base64
import difflib
import json
import os
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.support.data import evalkit
from turnfold.compression.shorten.birth import shape
from turnfold.compression.shorten.lines import names, visible_parts
from turnfold.compression.shorten.registry import facts
from turnfold.compression.text.kinds import kind_of
from turnfold.compression.tokens import count

ROOT = Path(__file__).resolve().parent.parent
PEERS = {"json": "40% lossless, 75% lossy", "log": "74%", "search": "31%", "diff": "14%", "code": "8%", "tests": "0%"}


@dataclass(frozen=True)
class Sample:
    """A text of about the asked size, and strings that must survive FACTS."""

    text: str
    evidence: tuple[str, ...]


def _sources() -> dict[str, str]:
    return {str(p.relative_to(ROOT)): p.read_text() for p in sorted(ROOT.glob("*/turnfold/**/*.py"))}


def _fill(size: int, make: Callable[[int], str], joint: str = "\n") -> str:
    out: list[str] = []
    total = 0
    while total < size:
        out.append(make(len(out)))
        total += len(out[-1]) + len(joint)
    return joint.join(out)


def records(size: int, rnd: random.Random) -> Sample:
    names = ["Ada", "Björn", "Chloé", "Dmitri", "Eun-ji"]

    def one(i: int) -> str:
        status = "refund_failed" if i % 97 == 41 else rnd.choice(["paid", "paid", "sent"])
        row = {"order_id": f"W{rnd.randrange(10**6):06d}", "customer": rnd.choice(names), "status": status, "note": None}
        return json.dumps({**row, "total": {"net": rnd.randrange(10**4) / 100, "currency": "EUR"}, "express": bool(i % 3)})

    return Sample("[" + _fill(size, one, ", ") + "]", ("refund_failed",))


def log(size: int, rnd: random.Random) -> Sample:
    failures = [f"E-{rnd.randrange(10**4):04d}" for _ in range(5)]
    where = {rnd.randrange(10, max(11, size // 90)): code for code in failures}

    def line(i: int) -> str:
        stamp = f"2031-04-0{1 + i // 40000 % 9}T{i // 3600 % 24:02d}:{i // 60 % 60:02d}:{i % 60:02d}Z"
        if i in where:
            return f"{stamp} ERROR payments: charge {where[i]} was refused by bank {rnd.randrange(99)}"
        part, item, spent = rnd.choice(["http", "queue", "cache"]), rnd.randrange(10**6), rnd.randrange(400)
        return f"{stamp} INFO {part}: served item {item} in {spent} ms"

    return Sample(_fill(size, line), tuple(where.values()))


def search(size: int, rnd: random.Random) -> Sample:
    hits = [
        f"{path}:{n}:{line}" for path, text in _sources().items() for n, line in enumerate(text.split("\n"), 1) if "def " in line
    ]
    text = _fill(size, lambda i: hits[i % len(hits)] if i < len(hits) else f"v{i // len(hits)}/" + hits[i % len(hits)])
    return Sample(text, ())


def diff(size: int, rnd: random.Random) -> Sample:
    out: list[str] = []
    heads: list[str] = []
    while sum(map(len, out)) < size:
        for path, text in _sources().items():
            old = text.splitlines(keepends=True)
            new = [line.replace("return", "return  # changed") if rnd.random() < 0.2 else line for line in old]
            body = "".join(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}"))
            if body and sum(map(len, out)) < size:
                heads.append(f"diff --git a/{path} b/{path}")
                out.append(f"{heads[-1]}\nindex 1111111..2222222 100644\n{body}")
    return Sample("".join(out), tuple(dict.fromkeys(heads)))


def code(size: int, rnd: random.Random) -> Sample:
    sources = list(_sources().values())
    text = _fill(size, lambda i: sources[i % len(sources)])
    return Sample(text[: max(size, len(sources[0]))], ())


def tests(size: int, rnd: random.Random) -> Sample:
    failed: list[str] = []

    def line(i: int) -> str:
        if i % 211 == 60 and len(failed) < 12:
            failed.append(f"test_case_{i}")
            return f"tests/test_mod_{i % 7}.py::{failed[-1]} FAILED [ {i % 100}%]"
        return f"tests/test_mod_{i % 7}.py::test_case_{i} PASSED [ {i % 100}%]"

    head = "============================= test session starts ==============================\ncollected 999 items\n\n"
    body = _fill(size, line)
    tail = "\n".join(f"FAILED tests/test_mod_1.py::{name} - AssertionError: {i} != 3" for i, name in enumerate(failed))
    return Sample(f"{head}{body}\n\n{tail}\n========== {len(failed)} failed, 900 passed in 3.21s ==========", tuple(failed))


def trace(size: int, rnd: random.Random) -> Sample:
    def one(i: int) -> str:
        frames = "\n".join(
            f'  File "/usr/lib/python3.11/site-packages/web/mod{j}.py", line {j}, in call\n    inner({j})' for j in range(20)
        )
        own = f'  File "/srv/shop/cart{i}.py", line {i + 3}, in total\n    sum(prices)'
        return f"Traceback (most recent call last):\n{frames}\n{own}\nValueError: price {i} is negative"

    return Sample(_fill(size, one), ("ValueError: price 0 is negative",))


def html(size: int, rnd: random.Random) -> Sample:
    style = "<style>.a{color:red}</style><script>var x=1;</script><nav><a href='/'>Home</a></nav>"

    def one(i: int) -> str:
        said = f"Sentence {i} of the page speaks of matter {rnd.randrange(999)}."
        said = "The page tells of an outage on 3 May." if i == 40 else said
        return f"<div class='card c{i}'><h2>Topic {i}</h2><p>{said}</p></div>"

    return Sample(
        f"<!DOCTYPE html><html><head><title>Report</title>{style}</head><body>{_fill(size, one)}</body></html>",
        ("an outage on 3 May",),
    )


def table(size: int, rnd: random.Random) -> Sample:
    def one(i: int) -> str:
        return f"{i},item {i},{rnd.randrange(10**4) / 100},{'broken' if i == 77 else 'fine'},2031-01-{i % 28 + 1:02d}"

    return Sample("number,name,price,state,date\n" + _fill(size, one), ("number,name,price,state,date", "broken"))


def listing(size: int, rnd: random.Random) -> Sample:
    return Sample(
        "total 8\n"
        + _fill(size, lambda i: f"-rw-r--r-- 1 root root {rnd.randrange(10**5):6d} Mar  3 12:{i % 60:02d} module_{i}.py"),
        (),
    )


def yaml(size: int, rnd: random.Random) -> Sample:
    return Sample(
        _fill(size, lambda i: f"service_{i}:\n  image: repo/app:{i}\n  ports:\n    - {8000 + i}\n  environment:\n    MODE: live"),
        (),
    )


def binary(size: int, rnd: random.Random) -> Sample:
    return Sample(base64.b64encode(rnd.randbytes(size * 3 // 4)).decode(), ())


MAKERS: dict[str, Callable[[int, random.Random], Sample]] = {
    "json": records, "log": log, "search": search, "diff": diff, "code": code, "tests": tests, "trace": trace,
    "html": html, "csv": table, "listing": listing, "yaml": yaml, "binary": binary,
}  # fmt: skip
WORDS = frozenset({"refund", "broken", "charge", "outage"})


def _row(name: str, texts: list[tuple[str, tuple[str, ...]]], share: float) -> str:
    before = born = after = evidence = kept = 0
    for text, wanted in texts:
        tokens = count(text)
        short = facts(text, int(tokens * share), WORDS, count)
        before, born, after = before + tokens, born + count(shape(text, count)), after + count(short)
        evidence, kept = evidence + len(wanted), kept + sum(item in short for item in wanted)
    found = f"{kept}/{evidence}" if evidence else "-"
    return f"{name:16} {before:9} {born / before:8.2f} {after / before:8.2f} {found:>9}"


def _speed(text: str) -> tuple[float, float]:
    """Milliseconds per MB of FACTS at 4,000 tokens and of the form at birth (CPU time)."""
    keep = 4000
    start = time.process_time()
    facts(text, keep, WORDS, count)
    middle = time.process_time()
    shape(text, count)
    end = time.process_time()
    return (middle - start) * 1e9 / len(text), (end - middle) * 1e9 / len(text)


def _recordings(folder: Path) -> Iterator[tuple[str, str]]:
    for name in ("tool_output", "code_agent", "agent_tau"):
        path = folder / "data" / "eval" / f"{name}.jsonl"
        for line in path.read_text().splitlines() if path.exists() else ():
            for message in json.loads(line)["messages"]:
                if message["role"] == "tool" and isinstance(message["content"], str) and len(message["content"]) > 400:
                    yield kind_of(message["content"]), message["content"]


def _words_of(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(name.lower() for text in texts for line in text.split("\n") for name in names(line))


def _is_result(messages: list[dict[str, Any]], i: int, by_text: bool) -> bool:
    """A tool's result, or, where commands go as text, what came back for one."""
    message = messages[i]
    return message["role"] == "tool" or (
        by_text and i >= 2 and message["role"] == "user" and messages[i - 1]["role"] == "assistant"
    )


def _fold_results(messages: list[dict[str, Any]], share: float, tail: int, said: Callable[[Any], str]) -> list[dict[str, Any]]:
    """Results older than the newest `tail` tokens at FACTS, newest of them first; all else as it was."""
    border, spent = len(messages), 0
    while border and spent < tail:
        border -= 1
        spent += 3 + count(said(messages[border]))
    by_text = not any(message["role"] == "tool" for message in messages)
    results = [i for i in range(border) if _is_result(messages, i, by_text)]
    spoken = [i for i in range(border) if messages[i]["role"] in ("user", "assistant")]
    others = (said(messages[i]) for i in sorted(set(spoken) - set(results)))
    words, known, out = _words_of(others), set[str](), list(messages)
    for i in reversed(results):
        text = said(messages[i])
        short = facts(text, int(share * count(text)), words, count, known=known)
        known |= visible_parts(short)
        out[i] = {**messages[i], "content": short}
    return out


def probes(shared: Path, share: float, tail: int) -> None:
    """How much of what agents' real next calls needed is left when older results are at FACTS."""
    kit = evalkit(shared)
    for name in ("code_agent", "agent_tau"):
        kept: list[float] = []
        lines: list[float] = []
        ratio: list[float] = []
        for case in kit.load(str(shared / "data" / "eval"), name):
            for probe in case.get("probes") or []:
                raw = case["messages"][: probe["cut"]]
                sent = _fold_results(raw, share, tail, kit.text_of)
                held = kit.Held(sent)
                found = [needed in held.text for needed in probe["needed"]]
                around = [
                    _is_in_context(kit, held, raw[at], needed)
                    for needed, at in zip(probe["needed"], probe["found_in"], strict=True)
                ]
                kept.append(sum(found) / len(found))
                lines.append(sum(around) / len(around))
                ratio.append(kit.ntok(sent) / kit.ntok(raw))
        if kept:
            print(
                f"probes {name}: {len(kept)}, needed {mean(kept):.4f}, in context {mean(lines):.4f}, ratio {mean(ratio):.4f}",
                flush=True,
            )


def _is_in_context(kit: Any, held: Any, message: Any, needed: str) -> bool:
    places = [(line, line.find(needed)) for line in kit.text_of(message).split("\n") if needed in line]
    contexts = [line[max(0, at - 40) : at + len(needed) + 40] for line, at in places]
    return any(held.soft(text) if len(kit.words(text)) >= 4 else held.exact(text) for text in contexts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=0.25)
    parser.add_argument("--shared", type=Path, default=Path(os.environ.get("EVALUATION_SHARED", ROOT.parent / "shared")))
    chosen = parser.parse_args()
    count("warm")
    print(f"{'made here':16} {'tokens':>9} {'at birth':>8} {'FACTS':>8} {'evidence':>9} {'ms/MB':>7} {'birth':>7}  peers save")
    for name, make in MAKERS.items():
        small, large = make(16_000, random.Random(7)), make(1_000_000, random.Random(7))
        facts_ms, birth_ms = _speed(large.text)
        row = _row(name, [(small.text, small.evidence), (make(60_000, random.Random(8)).text, ())], chosen.share)
        print(f"{row} {facts_ms:7.0f} {birth_ms:7.0f}  {PEERS.get(name, '')}", flush=True)
    groups: dict[str, list[tuple[str, tuple[str, ...]]]] = defaultdict(list)
    for kind, text in _recordings(chosen.shared):
        groups[kind].append((text, ()))
    for kind, texts in sorted(groups.items()):
        print(_row(f"recorded {kind}"[:16], texts, chosen.share), f" {len(texts)} results", flush=True)
    if (chosen.shared / "tools" / "evalkit.py").exists():
        probes(chosen.shared, chosen.share, tail=4000)


if __name__ == "__main__":
    main()

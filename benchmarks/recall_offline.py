"""Evidence that recall alone keeps, offline: no proxy, no network.

    EVALUATION_SHARED=../shared python -m benchmarks.recall_offline [--sets NC_locomo ...] [--limit N] [--ratio 0.10]
        [--tune covered=0.3 chat=0.4,0.2 ...] [--encoder MODEL]

For each case all messages before the last user message are the sources. The budget is ``ratio`` times the case's tokens, less
those of the system messages and of the question, less 12: what is left to recall when a request is folded to that ratio.
Evidence is the evaluation kit's ``Held.soft`` over the system messages and the rendered quotes, the question not counted.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import statistics
import time
from dataclasses import fields, replace
from types import ModuleType
from typing import Any

from benchmarks.support.data import evalkit, shared_directory
from benchmarks.support.vectors import Comparison
from turnfold.compression import tokens
from turnfold.compression.memo import Memo, digest
from turnfold.compression.recall import fence
from turnfold.compression.recall.choosing import recall
from turnfold.compression.recall.question import Question
from turnfold.compression.recall.tuning import TUNING, Tuning
from turnfold.compression.text.quotes import Source

SETS = [
    "NC_locomo",
    "longmemeval",
    "qmsum_turns",
    "rag_nq",
    "rag_hotpotqa",
    "rag_musique",
    "multilingual_xquad",
    "multilingual_jsquad",
    "tool_output_kv",
    "rag_xquad_en",
    "qmsum_paste",
    "tool_output",
]
Message = dict[str, Any]
_NO_VECTORS = Comparison(None)


def source(kit: ModuleType, message: Message) -> Source:
    """A message as recall takes it."""
    text = kit.text_of(message)
    return Source(message["role"], text, digest(message["role"], text))


def with_extra_turn(messages: list[Message]) -> list[Message]:
    """A case that ends with a tool result gets one more turn, as the evaluation kit does it."""
    if messages[-1]["role"] != "tool":
        return messages
    return [*messages, {"role": "assistant", "content": "Done. What next?"}, {"role": "user", "content": "Go on with the task."}]


def measure(
    kit: ModuleType,
    case: Message,
    memo: Memo,
    ratio: float,
    fixed: int = 0,
    tail: int = 0,
    tuning: Tuning = TUNING,
    vectors: Comparison = _NO_VECTORS,
) -> dict[str, float]:
    """Evidence, tokens and milliseconds of one case; ``fixed`` tokens without fill, or ``ratio`` with it."""
    raw = with_extra_turn(case["messages"])
    verbatim = [m for m in raw[:-1] if m["role"] in ("system", "developer")]
    older = [m for m in raw[:-1] if m["role"] not in ("system", "developer")]
    budget = fixed or int(ratio * kit.ntok(raw)) - (kit.ntok([*verbatim, raw[-1]]) - 3) - 12
    kept = 0
    while tail and kept < len(older) and kit.ntok(older[len(older) - kept - 1 :]) <= tail:
        kept += 1
    present, folded = older[len(older) - kept :], older[: len(older) - kept]
    sources = [source(kit, m) for m in folded]
    question = Question(kit.text_of(raw[-1]), tuple(source(kit, m) for m in older[-2:]))
    start = time.perf_counter()
    question = replace(question, likeness=vectors.likeness(question, sources))
    held = [kit.text_of(m) for m in [*verbatim, *present]]
    quotes = recall(sources, question, budget, held, tokens.count, memo, fill=not fixed, tuning=tuning).quotes
    spent = (time.perf_counter() - start) * 1e3
    text = fence.render(sources, quotes)
    used = tokens.count(text)
    assert used <= max(0, budget), (case["id"], used, budget)
    sent = kit.Held([*verbatim, *present, {"role": "user", "content": text}], kit.text_of(raw[-1]))
    out = {
        "tokens": used,
        "share": used / max(1, budget),
        "ms": spent,
        "ratio": (kit.ntok([*verbatim, *present, raw[-1]]) + used) / kit.ntok(raw),
    }
    if case.get("evidence"):
        out["evidence"] = sum(map(sent.soft, case["evidence"])) / len(case["evidence"])
    full: Any = (
        memo.get(("held", digest(*map(kit.text_of, raw[:-1]))), lambda: kit.Held(raw[:-1])) if case.get("answers") else None
    )
    answers = [str(a) for a in case.get("answers") or [] if full.answer(str(a))]
    if answers:
        out["answer"] = float(any(map(sent.answer, answers)))
    return out


def cases_of(kit: ModuleType, name: str, limit: int, seed: int = 7) -> list[Message]:
    """The set's cases with something to find, in the evaluation kit's own order."""
    cases = [c for c in kit.load(str(shared_directory()), name) if c.get("evidence") or c.get("answers")]
    random.Random(seed).shuffle(cases)
    return cases[:limit] if limit else cases


def tuned(changes: list[str]) -> Tuning:
    """The tuning with figures changed: ``name=value``, a tuple's values parted by commas."""
    pairs = dict(change.split("=", 1) for change in changes)
    known = {field.name for field in fields(Tuning)}
    if unknown := pairs.keys() - known:
        raise SystemExit(f"no such figure: {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
    kinds = {name: type(getattr(TUNING, name)) for name in pairs}
    return replace(TUNING, **{name: ast.literal_eval(f"({v},)" if kinds[name] is tuple else v) for name, v in pairs.items()})


def run(
    kit: ModuleType,
    name: str,
    limit: int,
    ratio: float,
    fixed: int = 0,
    tail: int = 0,
    tuning: Tuning = TUNING,
    vectors: Comparison = _NO_VECTORS,
) -> dict[str, float]:
    """Means over a set; milliseconds as the median."""
    memo = Memo()
    rows = [measure(kit, c, memo, ratio, fixed, tail, tuning, vectors) for c in cases_of(kit, name, limit)]
    keys = dict.fromkeys(k for row in rows for k in row)
    means = {k: round(statistics.fmean(row[k] for row in rows if k in row), 4) for k in keys if k != "ms"}
    return {"n": len(rows)} | means | ({"ms": round(statistics.median(row["ms"] for row in rows), 2)} if rows else {})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--ratio", type=float, default=0.10)
    parser.add_argument("--tune", nargs="*", default=[], metavar="NAME=VALUE", help="figures of recall other than its own")
    parser.add_argument("--encoder", metavar="MODEL", help="sentence vectors beside the words, as of TURNFOLD_SEMANTIC_MODEL")
    args = parser.parse_args()
    kit, tuning, vectors = evalkit(), tuned(args.tune), Comparison(args.encoder)
    for name in args.sets:
        print(name, json.dumps(run(kit, name, args.limit, args.ratio, tuning=tuning, vectors=vectors)), flush=True)
    if "NC_locomo" in args.sets:
        default = run(kit, "NC_locomo", args.limit, 0, fixed=600, tail=2500, tuning=tuning, vectors=vectors)
        print("NC_locomo default settings", json.dumps(default), flush=True)


if __name__ == "__main__":
    main()

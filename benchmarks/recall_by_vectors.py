"""Evidence that recall keeps by words alone and with sentence vectors beside them: the same cases, paired, at several budgets.

    python -m benchmarks.recall_by_vectors MODEL [--sets NC_locomo ...] [--ratios 0.05 0.10] [--vectors FILE] [--tune ...]

A set named ``SET+joined`` asks each question of its own history and of every other case's history in front of its own, since some
sets have few cases. The ratio 0 is recall with nothing set: no more than 30% of the tokens, and what bears on the question only.
Differences come with standard errors over the questions. ``--vectors`` keeps vectors in a file for the next run.

It only compares; what is measured of a case is in ``recall_offline``.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.recall_offline import SETS, cases_of, measure, tuned
from benchmarks.support.data import evalkit
from benchmarks.support.vectors import Comparison
from turnfold.compression.memo import Memo
from turnfold.compression.recall.tuning import Tuning

_JOINED = "+joined"
_DEFAULT_SHARE = 0.3

Message = dict[str, Any]


def cases(kit: ModuleType, name: str, limit: int) -> list[Message]:
    """The cases of a set that have evidence, or else answers, joined with each other where its name says so."""
    drawn = cases_of(kit, name.removesuffix(_JOINED), limit)
    with_evidence = [case for case in drawn if case.get("evidence")]
    found = with_evidence if len(with_evidence) > 1 else [case | {"evidence": case["answers"]} for case in drawn]
    if not name.endswith(_JOINED):
        return found
    others = [[], *(case["messages"][:-1] for case in found)]
    return [
        case | {"messages": [*other, *case["messages"]]}
        for case in found
        for other in others
        if not other or other[0] is not case["messages"][0]
    ]


def difference(off: Sequence[float], on: Sequence[float], questions: Sequence[str]) -> tuple[float, float]:
    """The mean difference, and its standard error over the questions."""
    by_question: dict[str, list[float]] = defaultdict(list)
    for before, after, question in zip(off, on, questions, strict=True):
        by_question[question].append(after - before)
    means = [statistics.fmean(differences) for differences in by_question.values()]
    return statistics.fmean(means), statistics.stdev(means) / len(means) ** 0.5


def evidence(
    kit: ModuleType, case: Message, memo: Memo, ratio: float, tuning: Tuning, vectors: Comparison
) -> tuple[float, float]:
    """What a case keeps of its evidence, and the share of its tokens that is forwarded."""
    fixed = 0 if ratio else int(_DEFAULT_SHARE * kit.ntok(case["messages"]))
    found = measure(kit, case, memo, ratio, fixed=fixed, tuning=tuning, vectors=vectors)
    return found["evidence"], found["ratio"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="as of TURNFOLD_SEMANTIC_MODEL")
    parser.add_argument("--sets", nargs="*", default=[*SETS[:8], "rag_hotpotqa+joined", "rag_musique+joined"])
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--ratios", nargs="*", type=float, default=[0.05, 0.10, 0.20, 0.30, 0])
    parser.add_argument("--vectors", type=Path, help="a file that keeps vectors from one run to the next")
    parser.add_argument("--tune", nargs="*", default=[], metavar="NAME=VALUE", help="figures of recall other than its own")
    args = parser.parse_args()
    kit, tuning = evalkit(), tuned(args.tune)
    kit.toks = cache(kit.toks)  # type: ignore[attr-defined]
    off, on = Comparison(None), Comparison(args.model, kept=args.vectors)
    for name in args.sets:
        memo, drawn = Memo(), cases(kit, name, args.limit)
        questions = [str(case["id"]) for case in drawn]
        for ratio in args.ratios:
            words, both = ([evidence(kit, case, memo, ratio, tuning, vectors) for case in drawn] for vectors in (off, on))
            mean, error = difference([kept for kept, _ in words], [kept for kept, _ in both], questions)
            kept, forwarded = (statistics.fmean(column) for column in zip(*words, strict=True))
            print(
                f"{name} {len(drawn)} {ratio or 'default'}: {kept:.4f} {mean:+.4f} ± {error:.4f}; forwarded {forwarded:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

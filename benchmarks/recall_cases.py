"""Recall on the cases of our own under ``benchmarks/cases``: offline, in seconds.

    python -m benchmarks.recall_cases

It takes three measures, on which tests hold floors, and needs no shared data.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from turnfold.compression import tokens
from turnfold.compression.memo import Memo, digest
from turnfold.compression.recall import fence
from turnfold.compression.recall.choosing import recall
from turnfold.compression.recall.question import Question
from turnfold.compression.text.quotes import Quote, Source

CASES = Path(__file__).parent / "cases"
Case = dict[str, Any]


def cases(name: str) -> list[Case]:
    """The cases of a file."""
    found: list[Case] = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))["cases"]
    return found


def source(message: Case) -> Source:
    """A message as recall takes it."""
    return Source(message["role"], message["content"], digest(message["role"], message["content"]))


def background(name: str) -> tuple[list[Source], list[str]]:
    """The messages of a background conversation, and the segment of each."""
    segments = json.loads((CASES / "backgrounds.json").read_text(encoding="utf-8"))[name]
    return [source(m) for s in segments for m in s["messages"]], [s["segment"] for s in segments for _ in s["messages"]]


def _recall(
    sources: list[Source], question: Question, budget: int, present: list[str], *, fill: bool
) -> tuple[tuple[Quote, ...], str]:
    quotes = recall(sources, question, budget, present, tokens.count, Memo(), fill=fill).quotes
    text = fence.render(sources, quotes)
    assert tokens.count(text) <= budget
    return quotes, text


def needed_share(case: Case, *, fill: bool = False, share: float = 0.2) -> float:
    """Share of the needed strings that are quoted, within 14 tokens and a fifth of the background's (half of a short one's)."""
    sources, _ = background(case["background"])
    total = sum(tokens.count(s.text) for s in sources)
    before = tuple(source(m) for m in case["before"])
    budget = 20 + int((share if case["background"] == "en" else 0.5) * total)
    _, text = _recall(sources, Question(case["question"], before), budget, [s.text for s in before], fill=fill)
    return statistics.fmean(needed in text for needed in case["needed"])


def covered_share(case: Case, *, fill: bool = False) -> float:
    """Share of the segments that are quoted from, within 20 tokens and 35% of the background's (half of a short one's)."""
    sources, segments = background(case["background"])
    budget = 20 + int((0.35 if case["background"] == "en" else 0.5) * sum(tokens.count(s.text) for s in sources))
    quotes, _ = _recall(sources, Question(case["question"], ()), budget, [], fill=fill)
    return len({segments[q.source] for q in quotes}) / len(set(segments))


def tokens_for_nothing(case: Case) -> int:
    """Tokens that are quoted for a question about nothing said, of 600 that may be."""
    sources, _ = background(case["background"])
    _, text = _recall(sources, Question(case["question"], tuple(sources[-2:])), 600, [], fill=False)
    return tokens.count(text)


def main() -> None:
    for fill in (False, True):
        print(
            f"leaning fill={fill}",
            {c["id"]: needed_share(c, fill=fill) for c in cases("leaning") if needed_share(c, fill=fill) < 1},
        )
        print(f"leaning fill={fill} mean", round(statistics.fmean(needed_share(c, fill=fill) for c in cases("leaning")), 3))
    print("cover", {c["id"]: round(covered_share(c), 2) for c in cases("cover")})
    print("cover mean", round(statistics.fmean(covered_share(c) for c in cases("cover")), 3))
    print("unsaid", {c["id"]: tokens_for_nothing(c) for c in cases("unsaid")})
    print("unsaid mean tokens", round(statistics.fmean(tokens_for_nothing(c) for c in cases("unsaid")), 1))


if __name__ == "__main__":
    main()

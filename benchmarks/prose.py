"""What the prose compressor saves, that it leaves protected spans alone, and how long a megabyte takes (rows K1 to K6).

python -m benchmarks.prose               # reduction by intensity, and the bound for a compressor that keeps every content word
python -m benchmarks.prose --protected   # every protected span of every text of the evaluation data, at every intensity
python -m benchmarks.prose --time        # a megabyte, the best of five, in seconds of processor time
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from turnfold.compression import tokens
from turnfold.compression.shorten.terse_prose.compress import compress
from turnfold.compression.shorten.terse_prose.rules import INTENSITIES, lexicon
from turnfold.compression.text.protect import protected_spans
from turnfold.compression.text.words import FUNCTION_WORDS

DATA = Path(os.environ.get("EVALUATION_SHARED", "../shared")) / "data"


def strings(value: Any) -> Iterator[str]:
    """Every string of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)


def messages(name: str) -> list[str]:
    """Texts of all messages of a file of conversations."""
    lines = (DATA / "eval" / name).read_text("utf-8").splitlines()
    return [m["content"] for line in lines for m in json.loads(line)["messages"] if isinstance(m.get("content"), str)]


def sets() -> dict[str, list[str]]:
    """The texts that are measured."""
    documents = json.loads((DATA / "cctx" / "datasets" / "documents.json").read_text("utf-8"))
    return {
        "colony": [file.read_text("utf-8") for file in sorted((DATA / "colony").glob("*.md"))],
        "cctx documents": [document["context"] for document in documents],
        "LoCoMo turns": messages("NC_locomo.conversations.jsonl"),
        "chat_oasst": messages("chat_oasst.jsonl"),
    }


def upper_bound(text: str) -> float:
    """The share of tokens that goes when *every* function word goes that is no negation, modality or protected."""
    guarded = lexicon().bounds.guarded
    spans = [(span.start, span.end) for span in protected_spans(text)]

    def gone(m: re.Match[str]) -> str:
        word = m.group().strip().lower()
        inside = any(start < m.end() and m.start() < end for start, end in spans)
        return m.group() if inside or word in guarded or word not in FUNCTION_WORDS["english"] else ""

    return 1 - tokens.count(re.sub(r" ?\b[A-Za-z]+(?:'[a-z]+)?\b", gone, text)) / tokens.count(text)


def reductions() -> None:
    """Mean of the single texts' reductions, and reduction of all their tokens."""
    for name, texts in sets().items():
        for intensity in INTENSITIES:
            receipts = [compress(text, intensity).receipt for text in texts]
            total = sum(r.saved_tokens for r in receipts) / sum(r.tokens_before for r in receipts)
            mean = statistics.mean(r.saved_ratio for r in receipts)
            print(f"{name} ({len(texts)}), {intensity}: mean {mean:.1%}, of all tokens {total:.1%}")
        print(f"{name}: without any function word {statistics.mean(map(upper_bound, texts)):.1%}")


def every_text() -> Iterator[str]:
    """Every string of the evaluation data."""
    for file in sorted(DATA.rglob("*")):
        if file.suffix == ".jsonl":
            for line in file.read_text("utf-8").splitlines():
                yield from strings(json.loads(line))
        elif file.suffix == ".json":
            yield from strings(json.loads(file.read_text("utf-8")))
        elif file.suffix in {".md", ".txt"}:
            yield file.read_text("utf-8")


def check_protected() -> None:
    """Whether each protected span is in the result, in its order."""
    seen = spans = lost = unstable = 0
    for text in dict.fromkeys(every_text()):
        seen += 1
        found = protected_spans(text)
        spans += len(found)
        for intensity in INTENSITIES:
            short = compress(text, intensity).text
            unstable += compress(short, intensity).text != short
            at = 0
            for span in found:
                place = short.find(span.of(text), at)
                lost += place < 0
                at = max(at, place + span.end - span.start)
    print(f"{seen:,} texts, {spans:,} protected spans, {lost} lost, {unstable} results that change when compressed again")


def time_samples() -> None:
    """A megabyte of passages and one of turns."""
    samples = {"passages (rag_nq)": "rag_nq.jsonl", "turns (LoCoMo)": "NC_locomo.conversations.jsonl"}
    for name, file in samples.items():
        text = ("\n".join(messages(file)) * 5)[:1_000_000]
        for intensity in INTENSITIES:
            best = min(_seconds(text, intensity) for _ in range(5))
            print(f"{name}, {intensity}: {best:.2f} s")


def _seconds(text: str, intensity: str) -> float:
    start = time.process_time()
    compress(text, intensity)
    return time.process_time() - start


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--protected", action="store_true")
    parser.add_argument("--time", action="store_true")
    chosen = parser.parse_args()
    (check_protected if chosen.protected else time_samples if chosen.time else reductions)()


if __name__ == "__main__":
    main()

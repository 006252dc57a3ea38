"""Facts of prose that FACTS keeps: numbers, identifiers and names, each with a sentence that says it.

Run: ``python -m benchmarks.prose_facts [--share 0.333 ...] [--shared DIR]``. A text is a document of the cases here and of the
evaluation data, or twenty turns of a recorded dialogue. A fact is a distinct entity (``text.entities``) of the text; it is kept
if a sentence that mentions it stands word for word in what is left.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean

from turnfold.compression.shorten.prose import shorten
from turnfold.compression.text.names.entities import entities
from turnfold.compression.text.sentences import sentences
from turnfold.compression.tokens import count

HERE = Path(__file__).resolve().parent
TURNS = 20
_LEAST = 150  # tokens: a shorter text is never shortened that far


def _documents(folder: Path) -> Iterator[str]:
    for name in ("conversations", "documents", "rag_chunks"):
        path = folder / f"{name}.json"
        yield from (case["context"] for case in (json.loads(path.read_text()) if path.exists() else ()))


def _dialogues(folder: Path, name: str) -> Iterator[str]:
    path = folder / f"{name}.conversations.jsonl"
    for line in path.read_text().splitlines() if path.exists() else ():
        said = [message["content"] for message in json.loads(line)["messages"] if isinstance(message["content"], str)]
        yield from ("\n".join(said[at : at + TURNS]) for at in range(0, len(said), 5 * TURNS))


def facts_left(text: str, share: float) -> tuple[int, int, float]:
    """Facts that are left, facts there were, and the share of tokens that was taken."""
    short = shorten(text, int(share * count(text)), role="assistant", count=count)
    said: dict[str, list[str]] = {}
    pieces = [(span.start, span.end) for span in sentences(text)]
    for fact in entities(text):
        at = next((text[a:b].strip() for a, b in pieces if a <= fact.start < b), fact.text)
        said.setdefault(fact.text, []).append(at)
    return sum(any(sentence in short for sentence in where) for where in said.values()), len(said), count(short) / count(text)


def _line(name: str, texts: Iterator[str], share: float, measure: Callable[[str, float], tuple[int, int, float]]) -> str:
    rows = [measure(text, share) for text in texts if count(text) >= _LEAST]
    rows = [row for row in rows if row[1]]
    if not rows:
        return f"{name:12} none here"
    left, there, size = sum(row[0] for row in rows), sum(row[1] for row in rows), mean(row[2] for row in rows)
    return f"{name:12} {len(rows):4} texts {there:6} facts, kept {left / there:.3f} at {size:.3f} of the tokens"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, nargs="*", default=[1 / 3, 0.5, 0.66])
    parser.add_argument("--shared", type=Path, default=Path(os.environ.get("EVALUATION_SHARED", HERE.parent.parent / "shared")))
    chosen = parser.parse_args()
    data = chosen.shared / "data"
    for share in chosen.share:
        print(f"share {share:.2f}")
        print(_line("our cases", _documents(HERE / "cases"), share, facts_left))
        print(_line("cctx", _documents(data / "cctx" / "datasets"), share, facts_left))
        for name in ("NC_locomo", "qmsum_turns", "longmemeval"):
            print(_line(name, _dialogues(data / "eval", name), share, facts_left), flush=True)


if __name__ == "__main__":
    main()

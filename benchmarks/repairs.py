"""Cases on which meaning or data was lost, tried again: the figures of ``benchmarks/audits.md``.

    python -m benchmarks.repairs                                                    # this release
    PYTHONPATH=OLD/compression:OLD/config:OLD/proxy python -m benchmarks.repairs    # another one's code, the same cases

The cases run in process, with faces that both releases have. Whatever has a benchmark of its own is left out.
"""

from __future__ import annotations

import json
import random
import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.support.data import shared_root
from turnfold.compression import Compressor, CompressRequest, FoldOptions, Memo, fold_request
from turnfold.compression.options import CachePrices
from turnfold.compression.shorten.terse_prose.compress import terse
from turnfold.compression.state.placement import Turn, place
from turnfold.compression.text.names.entities import entities
from turnfold.compression.tokens import count

_AUDIT: Final = shared_root() / "data" / "audit"
_PARAGRAPHS: Final = Path(__file__).parent / "cases" / "entity_paragraphs.txt"
_CLAUSES: Final = (
    "It is false that Acme Corp paid $3 million to Mara Lind in 2023.",
    "He claims that the bridge was closed by Mara Lind in 2021 without a permit.",
    "If the audit fails, we will pay back $4.2 million",
    "We will ship on 9 October unless the auditor objects",
)
_TERSE: Final = {
    "lite": (
        "We minimise with respect to x.",
        "Really Simple Syndication is a feed format.",
        "Explain the please keyword.",
        "Choose a large number of 12 digits.",
        "Put them in order to win.",
        "The fact that it failed is the fact that matters.",
    ),
    "full": (
        "The Who played.",
        "I believe the pilot.",
        "It looks like a bug.",
        "That is more or less correct.",
        "It costs a dollar a token.",
        "It failed the very day it broke.",
        "A note that the key expires is on the desk.",
    ),
    "ultra": ("Sounds good.", "No problem.", "The file has been moved.", "The file was moved.", "The file is moved."),
}
_SWALLOWED: Final = [
    "use option 2",
    "use approach 2",
    "use version 2",
    "use the blue one",
    "use hint",
    "use 5",
    "use yes",
    "use x=5",
    "use npm run build",
    "prohibit alcohol essay",
    "remove policy section",
    "use red instead of blue",
    "use recursion instead of loops",
]
_WORDS: Final = [
    "the",
    "harbour",
    "was",
    "calm",
    "and",
    "blue",
    "boats",
    "came",
    "home",
    "one",
    "after",
    "another",
    "while",
    "somebody",
    "sang",
    "about",
    "rain",
    "on",
    "old",
    "stone",
]
_IMAGE: Final = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 300}}
_FILE: Final = {"type": "file", "file": {"filename": "contract.pdf", "file_data": "data:application/pdf;base64," + "B" * 300}}


def _layers(text: str, ratio: float = 0.3) -> list[str]:
    return [layer.text for layer in Compressor().compress(CompressRequest(text, l1_ratio=ratio)).layers]


def show_meaning() -> None:
    for sentence in _CLAUSES:
        for ratio in (0.3, 0.6):
            print(f"{ratio} {sentence!r} -> {_layers(sentence, ratio)[1]!r}")
    if (path := _AUDIT / "meaning.txt").is_file():
        text = path.read_text("utf-8")
        whole = _sentences(text)
        for ratio in (0.05, 0.2, 0.5):
            shown = [one for layer in _layers(text, ratio)[1:] for one in _sentences(layer)]
            print(f"meaning.txt at {ratio}: {sum(one not in whole for one in shown)} of {len(shown)} shown sentences are cut")
        for width in (60, 72, 90):
            _show_broken([line for line in text.split("\n") if line.strip()], width)
    for level, sentences in _TERSE.items():
        for sentence in sentences:
            print(f"{level} {sentence!r} -> {terse(sentence, level)!r}")


def _show_broken(lines: Sequence[str], width: int) -> None:
    """Paragraphs of five lines, broken at a column, six of them a text."""
    paragraphs = [" ".join(lines[i : i + 5]) for i in range(0, len(lines), 5)]
    cut = shown = 0
    for i in range(0, len(paragraphs), 6):
        text = "\n\n".join(textwrap.fill(one, width, break_on_hyphens=False) for one in paragraphs[i : i + 6])
        whole = {sentence for one in paragraphs[i : i + 6] for sentence in _sentences(one)}
        for layer in _layers(text)[1:]:
            found = [one for block in layer.split("\n\n") for one in _sentences(" ".join(block.split()))]
            shown, cut = shown + len(found), cut + sum(one not in whole for one in found)
    print(f"meaning.txt, broken at {width} columns, at 0.3: {cut} of {shown} shown sentences are cut")


def _sentences(text: str) -> set[str]:
    return {one.strip() for line in text.split("\n") for one in re.split(r"(?<=[.!?])\s+", line) if one.strip()}


def show_entities() -> None:
    right, of = 0, 0
    for block in re.split(r"(?m)^= ", _PARAGRAPHS.read_text("utf-8"))[1:]:
        name, text, marks = block.strip().split("\n")
        found = {entity.text for entity in entities(text)}
        wanted = marks.removeprefix("+ ").split("|")
        missed = [one for one in wanted if one not in found]
        right, of = right + len(wanted) - len(missed), of + len(wanted)
        print(f"entities, {name}: {len(wanted) - len(missed)} of {len(wanted)}; missed: {', '.join(missed) or 'none'}")
    print(f"entities: {right} of {of}")


def _structured() -> Iterator[tuple[str, str, str]]:
    """Name, text, and what a reader looks for in it."""
    draw = random.Random(5)
    rows = [{"id": i, "name": f"item {draw.randint(1, 999)}", "price": draw.randint(1, 9999) / 100} for i in range(400)]
    yield "JSON array", json.dumps(rows), "id"
    lines = [f"2026-03-01T12:{i // 60:02}:{i % 60:02}Z INFO worker-{i % 7} served {i} in {i * 13 % 97} ms" for i in range(300)]
    lines[171] = "2026-03-01T12:02:51Z ERROR worker-3 database connection refused: 10.0.0.9:5432"
    yield "300 log lines, one ERROR", "\n".join(lines), "ERROR"
    said = "They hold until the end of May. Orders above 500 are sent free of charge. The shop opens at nine."
    yield (
        "prose and a table",
        f"The prices are below.\n\n| item | price |\n|---|---|\n| lamp | 40 |\n| chair | 95 |\n\n{said}",
        "95",
    )
    yield "no spaces", "x" * 4000, "x"


def show_structured() -> None:
    for name, text, sought in _structured():
        layers = _layers(text)
        print(f"{name}: tokens {[count(one, 'o200k_base') for one in layers]}, {sought!r} in {[sought in one for one in layers]}")


def _chat(turns: int, attached: dict[int, list[Any]]) -> list[Any]:
    draw = random.Random(turns)

    def prose(size: int) -> str:
        return " ".join(draw.choice(_WORDS) for _ in range(size)).capitalize() + "."

    messages: list[Any] = []
    for turn in range(turns):
        messages.append({"role": "user", "content": [{"type": "text", "text": prose(90)}, *attached.get(turn, ())]})
        messages.append({"role": "assistant", "content": prose(160)})
    return [*messages, {"role": "user", "content": "And what does the contract say?"}]


def show_attachments() -> None:
    for turns, attached, name in (
        (60, {0: [_IMAGE, _FILE]}, "an image and a file in the first message"),
        (60, {i: [_IMAGE] for i in range(0, 24, 2)}, "12 images"),
        (120, {i: [_IMAGE] for i in range(0, 24, 2)}, "12 images"),
    ):
        for model, read in (("gpt-4o", 0.5), ("gpt-5", 0.1)):
            body = json.dumps({"model": model, "messages": _chat(turns, attached)}).encode()
            folded: Any = fold_request(body, FoldOptions(model=model, prices=CachePrices(read, 1.0)), Memo())
            sent = getattr(folded, "body", None) or folded.forwarded.body
            left = f"{sent.count(b'base64')} attachments, {folded.tokens_after:,} of {folded.tokens_before:,} tokens"
            print(f"{turns} turns, {name}, {model}: {left}")


def show_guard() -> None:
    def answered_by_us(text: str) -> bool:
        return place([Turn("user", text)]).verdict.kind != "forward"

    print(f"quoted requests answered by us: {sum(map(answered_by_us, _SWALLOWED))} of {len(_SWALLOWED)}")
    if (path := _AUDIT / "guard.tsv").is_file():
        rows = [line.split("\t") for line in path.read_text("utf-8").splitlines()]
        ordinary = [text for text, kind in rows if kind == "ordinary"]
        print(f"guard.tsv, ordinary, answered by us: {sum(map(answered_by_us, ordinary))} of {len(ordinary)}")


def main() -> None:
    """Run all of them."""
    for show in (show_meaning, show_entities, show_structured, show_attachments, show_guard):
        print(f"\n# {show.__name__.removeprefix('show_')}")
        show()


if __name__ == "__main__":
    main()

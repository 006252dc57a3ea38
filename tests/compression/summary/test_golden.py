"""What is found wrong with summaries that say a little more, less or else than their text (``tests.support.golden`` says when
to write the file anew)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.support import golden, odd_texts
from turnfold.compression.summary.checks import anchored_fault, prose_fault
from turnfold.compression.summary.template import plain_reply, read_lines, transcript
from turnfold.compression.text.quotes import Source
from turnfold.compression.text.sentences import sentences
from turnfold.compression.tokens import count

FILES = Path(__file__).parent / "golden"
HEADINGS = ("decisions", "facts", "open", "constraints")


def turned(said: str) -> Iterator[str]:
    """The sentence as it is, and with something in it that its text does not say."""
    yield said
    yield re.sub(r"\d", "7", said)
    yield re.sub(r"\b(is|are|was|will|can|must|should)\b", r"\1 not", said, count=1)
    yield re.sub(r"\b(not|never|no|nicht|nie|kein\w*|ne|pas|不|не)\b ?", "", said, count=1)
    yield re.sub(r"\b(if|unless|until|may|might|about|only|wenn|si|falls)\b ?", "", said, count=1)
    yield re.sub(r"(?<=\w )[A-Z]\w+", "Halloran", said, count=1)
    yield f"Always {said[:1].lower()}{said[1:]}"
    yield f"{said.rstrip('.!?')}, said Halloran on 9 October."
    yield f"{said.rstrip('.!?')} “as agreed”."


def test_faults() -> None:
    lines = []
    for name, text in [(name, text[:700]) for name, text in golden.texts().items()][::9]:
        pieces = [said for span in sentences(text) if not span.kind and (said := span.of(text).strip())][:2] or [text[:200]]
        faults = [[prose_fault(new, text, 60, count, ("Studer",)) for new in turned(said)] for said in pieces]
        roles = ("user", "assistant")
        anchored = [
            anchored_fault(f"{heading}:\n- {new}", [Source(roles[i % 2], text, b"k")], 60, count)
            for i, heading in enumerate(HEADINGS)
            for new in turned(pieces[0])
        ]
        found = Counter(fault for row in [*faults, anchored] for fault in row if fault)
        lines.append(f"{name}: {dict(sorted(found.items()))} {golden.name_of((faults, anchored))}")
    golden.agrees(FILES / "faults.txt", lines)


def test_faults_in_odd_texts() -> None:
    lines = []
    for seed in golden.some(range(0, 120, 2)):
        text = f"{odd_texts.text(seed)}\n{odd_texts.text(seed + 1)}"
        said = [piece for span in sentences(text) if (piece := span.of(text).strip())][: 1 + seed % 3]
        made = [new for one in said for new in turned(one)] + [odd_texts.text(seed + 2), " ".join(said)]
        sources = [Source(("user", "assistant", "tool")[i % 3], line, b"k") for i, line in enumerate(text.splitlines())]
        listed = [f"{HEADINGS[i % 4]}:\n- {new}\n- {odd_texts.PIECES[(seed + i) % 80]}" for i, new in enumerate(made)]
        faults = [prose_fault(new, text, 40, count, ("Okafor",) * (seed % 4 == 0)) for new in made]
        anchored = [anchored_fault(new, sources, 60, count) for new in listed]
        read = [(read_lines(new), plain_reply(f"```\n{new}\n```")) for new in (*listed, *made)]
        lines.append(f"{seed}: {golden.name_of(faults)} {golden.name_of(anchored)} {golden.name_of((read, transcript(sources)))}")
    golden.agrees_in(FILES / "odd.txt", lines)

"""Items of one word more, with joints at every place (``tests.support.golden`` says when to write the file anew).

These tests cover directives whose item grows word by word, and blanks and breaks around them. They leave out every pair of words
(``test_golden_words.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.support import golden
from turnfold.compression.state import State, certainty, preprocess_heuristic, why_ordinary

FILE: Final = Path(__file__).parent / "golden" / "items.txt"
_KINDS: Final = (
    "use {}",
    "prohibit {}",
    "remove policy {}",
    "use {} instead of docker",
    "use ruff instead of {}",
    "set premise {}",
)
_JOINTS: Final = ("for", "in", "of", "with", "and", "to", "on", "from", "the", "any", "all", "without", "or", "not", "is", "you")
_WORDS: Final = ("tape", "docker", "external", "commits", "python", "north", "tabs", "main")
_HELD: Final = State("the harbour desk", {"docker": "use", "tape for north": "prohibit"})


def _items(joint: str) -> Iterator[str]:
    for size in range(1, 8):
        some = list(_WORDS[:size])
        for place in range(size + 1):
            yield " ".join([*some[:place], joint, *some[place:]])
            yield " ".join([*some[:place], joint, "the", *some[place:]])
            yield " ".join([joint, *some[:place], joint, *some[place:], "it"])


def test_items_with_joints() -> None:
    lines = []
    for kind in _KINDS:
        for joint in _JOINTS:
            said = [kind.format(item) for item in _items(joint)]
            found = [f"{why_ordinary(one) or '-'} {certainty(one, _HELD)} {certainty(one, State())}" for one in said]
            lines.append(f"{kind.format(joint)}: {sorted(Counter(found).items())} {golden.name_of(found)}")
    golden.agrees(FILE, lines)


def test_blanks_around_directives() -> None:
    lines = []
    for kind in _KINDS:
        for size in (1, 2, 480, 500, 520, 980, 1000, 1020, 1100, 1600):
            texts = [f"{kind.format('tape')}{' ' * size}", f"{' ' * size}{kind.format('tape')}", kind.format(" " * size + "tape")]
            texts += [kind.format("x" * size), f"{kind.format('tape')}{chr(10) * size}", kind.format("tape " * (size // 5))]
            found = [f"{why_ordinary(one) or '-'} {certainty(one, _HELD)}" for one in texts]
            lines.append(f"{kind.format(size)}: {found} {golden.name_of([preprocess_heuristic(one) for one in texts])}")
    golden.agrees(FILE.parent / "blanks.txt", lines)

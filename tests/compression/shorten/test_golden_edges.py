"""Lines that are cut, failures that are over, figures that touch a name: each just before, at and behind its border.

``tests.support.golden`` says when to write the files anew. These tests cover edges of one rule at a time. They leave out texts in
which rules meet (``test_golden.py``).
"""

from __future__ import annotations

from pathlib import Path

from tests.support import golden
from turnfold.compression.layers import Compressor, CompressRequest
from turnfold.compression.shorten.lines import LONGEST, is_longer, short_lines
from turnfold.compression.shorten.registry import facts
from turnfold.compression.tokens import count

FILES = Path(__file__).parent / "golden"
WORDS = frozenset({"tape", "pump"})


def test_where_long_lines_are_cut() -> None:
    """A blank or a comma, or both, somewhere in a line that is a little or much longer than a line is; and none."""
    lines = []
    for at in (0, 1, LONGEST // 2 - 1, LONGEST // 2, LONGEST // 2 + 1, LONGEST - 2, LONGEST - 1, LONGEST, LONGEST + 1):
        for mark, other in ((" ", ""), (",", ""), (" ", ","), (",", " ")):
            texts = [f"{'x' * at}{mark}{'y' * 9}{other}{'z' * (size - at)}" for size in (LONGEST - 10, LONGEST - 9, 2 * LONGEST)]
            cuts = [[len(piece) for piece in short_lines(f"{text}\nshort")] for text in texts]
            lines.append(f"{at} {mark + other!r}: {cuts}")
    golden.agrees(FILES / "cuts.txt", lines)


def test_what_is_longer_than_so_many_tokens() -> None:
    asked: list[int] = []

    def noted(text: str) -> int:
        asked.append(len(text))
        return len(text)

    found = [
        is_longer("x" * size, most, noted) for size in (0, 1, 15_999, 16_000, 16_001, 33_000) for most in (0, size - 1, size)
    ]
    golden.agrees(FILES / "longer.txt", [f"{found} {asked}"])


def test_failures_that_are_over() -> None:
    """A later line that says so agrees with the failure in so many names; the log has more failures and more to say."""
    names = ("worker-3", "bay.seven", "pump", "valve", "tape")
    lines = []
    for shared in range(len(names) + 1):
        for others in range(3):
            agreed = " ".join([*names[:shared], *("lamp", "oar-9", "net")[:others]])
            rows = [f"2026-03-01 11:00:{i:02} INFO reel {i} of {i * 7} moved" for i in range(12)]
            rows.insert(3, f"2026-03-01 11:00:03 ERROR {' '.join(names)} failed")
            rows.insert(5 + others, f"2026-03-01 11:00:07 INFO {agreed} {('recovered', 'back online', 'restored')[others]}")
            rows.insert(9, "2026-03-01 11:00:09 ERROR crane-7 lost power")
            made = [facts("\n".join(rows), keep, WORDS, count) for keep in (18, 40, 70)]
            lines.append(f"{shared} {others}: {[len(one) for one in made]} {golden.name_of(made)}")
    golden.agrees(FILES / "over.txt", lines)


def test_long_evidence_beside_much_that_failed() -> None:
    """An outcome, and a line that says something of all of it, as each gets longer: up to where short failures go before it."""
    failures = [f"error {i}: failed on bay {i}" for i in range(40)]
    lines = []
    for name, end, more, others in (
        ("outcome", "exit status 3", " -", failures),
        ("verdict", "dry run only", " a b", [f"ERROR x{i}" for i in range(90)]),
    ):
        texts = ["\n".join(["made it", *others, f"{end}{more * size}"]) for size in range(26)]
        shown = [end in facts(text, 64, frozenset(), lambda text: max(1, len(text) // 4)) for text in texts]
        lines.append(f"{name}: {''.join('.x'[one] for one in shown)}")
    golden.agrees(FILES / "long_evidence.txt", lines)


def test_figures_that_touch_a_name() -> None:
    """In front of it, behind it, in it, and a blank away: each says something that the layers try to keep."""
    joints = (
        "`x = 1`Anna Berg",
        "Anna Berg`x = 1`",
        "Anna Berg 7",
        "7Anna Berg",
        "`a`Ben Carter`b`",
        "12:30Lisbon",
        "Lisbon3.5 kg",
    )
    lines = []
    for number, joint in enumerate(joints):
        said = [
            f"{joint} stood at the pier.",
            "The pump of Marta Kowalski failed on 3 May.",
            "It rained.",
            "Nobody saw the lamp.",
        ]
        said = (
            said[number % 2 :] + said[: number % 2] + [f"Some of it went to {joint}, and the rest of it was never found again."]
        )
        made = [Compressor().compress(CompressRequest(" ".join(said), l1_ratio=share / 20)) for share in range(2, 20, 2)]
        told = [(one.layers[1:], one.metadata, [(e.text, e.preserved) for e in one.entities]) for one in made]
        lines.append(f"{joint}: {[one.layers[1].tokens for one in made]} {golden.name_of(told)}")
    golden.agrees(FILES / "touching.txt", lines)

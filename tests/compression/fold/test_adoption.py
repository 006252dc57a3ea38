"""Which summaries that a model wrote are adopted: those of pieces that are new, and of the written ones that join them."""

from __future__ import annotations

from tests.support.cases import each
from turnfold.compression.fold.adoption import adoptable
from turnfold.compression.fold.pieces import Level, Piece
from turnfold.compression.fold.units.unit import Unit
from turnfold.compression.options import WrittenSummary

UNITS = [Unit(2 * i, 2 * i + 2, 10, 5, True, False, True, False, False) for i in range(9)]
WRITTEN = [WrittenSummary(2 * i, 2 * i + 2, "p", f"Bay {i}.") for i in range(9)]


def piece(start: int, level: Level = Level.SUMMARY, anchor: int | None = None) -> Piece:
    return Piece(start, start + 1, level, 10, 5, anchor)


#: Pieces before, pieces after, summaries that there are, the pieces whose summaries are adopted.
CASES = [
    ([], [0, 1], [0, 1], [0, 1]),
    ([0, 1], [0, 1, 2], [0, 1, 2], [0, 1, 2]),  # what joins the new one is adopted with it
    ([0, 1], [0, 1, 2], [0, 2], [2]),  # 1 has none
    ([0, 1], [0, 1, 2], [1, 2], [1, 2]),
    ([0, 1], [0, 1, 3], [0, 1, 3], [3]),  # 2 lies between
    ([0, 1], [0, 1], [0, 1], [0, 1]),  # nothing is new: from the end
    ([0, 1], [0, 1], [0], []),
    ([0, 1], [0, 1], [1], [1]),
    ([0], [0, 1, 2], [0, 2], [0, 2]),  # the first new one has none
    ([0], [0, 1], [], []),
    ([0, 2], [0, 2, 3], [0, 2, 3], [2, 3]),
]


@each(("before", "after", "there", "adopted"), CASES)
def test_what_is_adopted(before: list[int], after: list[int], there: list[int], adopted: list[int]) -> None:
    found = adoptable(UNITS, [piece(i) for i in before], [piece(i) for i in after], [WRITTEN[i] for i in there])
    assert [one.start // 2 for one in found] == adopted


def test_only_summaries_without_an_anchor_are_written() -> None:
    after = [piece(0, Level.LINE), piece(1, Level.FACTS), piece(2, anchor=2), piece(3)]
    assert adoptable(UNITS, [], after, WRITTEN) == (WRITTEN[3],)

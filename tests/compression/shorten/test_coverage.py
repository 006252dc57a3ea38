"""The greedy choice is near the best one, an exchange makes it better; sections begin where they should."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from turnfold.compression.shorten.coverage import CoverageItem, cover, cover_closely
from turnfold.compression.text.sections import section_starts
from turnfold.compression.text.sentences import sentences

FACTS = "abcdef"
items = st.builds(
    CoverageItem,
    st.integers(1, 9),
    st.floats(0, 1),
    st.just(1.0),
    st.lists(st.sampled_from(FACTS), max_size=3, unique=True).map(tuple),
)


@given(st.lists(items, max_size=7), st.integers(0, 25))
def test_the_choice_fits_and_is_not_far_from_the_best(pieces: list[CoverageItem], budget: int) -> None:
    weights = dict.fromkeys(FACTS, 1.0)

    def worth(chosen: tuple[int, ...]) -> float:
        return sum(pieces[i].base for i in chosen) + len({fact for i in chosen for fact in pieces[i].facts})

    chosen = cover(pieces, weights, budget)
    assert sum(pieces[i].cost for i in chosen) <= budget
    assert len(set(chosen)) == len(chosen)
    every = [c for n in range(len(pieces) + 1) for c in combinations(range(len(pieces)), n)]
    best = max(worth(c) for c in every if sum(pieces[i].cost for i in c) <= budget)
    # Greedy by worth per token has no better bound than the best single piece aside; a third is never missed here.
    assert worth(tuple(chosen)) >= best / 3 - 1e-9


@given(
    st.lists(st.tuples(items, st.lists(st.integers(0, 6), max_size=2)), max_size=7),
    st.integers(0, 25),
)
def test_what_is_chosen_has_what_it_needs(listed: list[tuple[CoverageItem, list[int]]], budget: int) -> None:
    pieces = [piece for piece, _ in listed]
    needs = [sorted({j for j in needed if j < i}) for i, (_, needed) in enumerate(listed)]
    needs = [sorted({*needed, *(k for j in needed for k in needs[j])}) for needed in needs]
    needs = [sorted({*needed, *(k for j in needed for k in needs[j])}) for needed in needs]
    weights = dict.fromkeys(FACTS, 1.0)

    def worth(chosen: list[int]) -> float:
        return sum(pieces[i].base for i in chosen) + len({fact for i in chosen for fact in pieces[i].facts})

    greedy, close = (choose(pieces, weights, budget, needs) for choose in (cover, cover_closely))
    for chosen in (greedy, close):
        assert len(set(chosen)) == len(chosen)
        assert sum(pieces[i].cost for i in chosen) <= budget
        assert all(set(needs[i]) <= set(chosen[:place]) for place, i in enumerate(chosen))
    assert worth(close) >= worth(greedy) - 1e-9


def test_an_exchange_uses_the_room_that_greed_leaves() -> None:
    pieces = [CoverageItem(4, 1.0, 1.0, ("a",)), CoverageItem(6, 1.0, 1.0, ("b",)), CoverageItem(10, 1.0, 1.0, ("c", "d", "e"))]
    weights = dict.fromkeys(FACTS, 1.0)
    assert sorted(cover_closely(pieces, weights, 10)) == [2]


def test_sections_begin_at_headings_and_labels() -> None:
    text = "# A\n\nOne. Two.\n\n# B\nThree.\n[Retrieved Chunk 1] Source: x.md\nFour.\n"
    spans = sentences(text)
    assert [spans[i].of(text).strip() for i in section_starts(text, spans)] == ["# A", "# B", "[Retrieved Chunk 1] Source: x.md"]


def test_long_text_without_headings_is_cut_into_sections() -> None:
    text = "\n\n".join("A paragraph says one thing and then another. " * 6 for _ in range(20))
    spans = sentences(text)
    starts = section_starts(text, spans)
    assert 5 <= len(starts) <= 20
    assert starts == sorted(set(starts))
    assert section_starts("", []) == []

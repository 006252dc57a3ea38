"""Exact and near duplicates."""

from hypothesis import given
from hypothesis import strategies as st

from tests.support.growth import assert_linear
from turnfold.compression.text.duplicates import SHORTEST, duplicates, near_duplicates

LONG = "\n".join(f"line {i} of a result that is long enough to matter" for i in range(20))


@given(st.lists(st.sampled_from([LONG, LONG + "x", "short", "y" * SHORTEST, "y" * (SHORTEST - 1)]), max_size=12))
def test_a_reference_points_to_the_first_equal_text(texts: list[str]) -> None:
    for index, earlier in enumerate(duplicates(texts)):
        wanted = texts.index(texts[index]) if len(texts[index]) >= SHORTEST else index
        assert earlier == (wanted if wanted < index else None)


def test_a_text_with_a_changed_line_is_near() -> None:
    changed = LONG.replace("line 7", "row 7")
    found = near_duplicates([LONG, "z" * 300, changed], 0.85)
    assert found[:2] == [None, None]
    assert found[2] is not None
    assert found[2].earlier == 0
    assert 0.85 <= found[2].similarity < 1


def test_few_long_lines_are_compared_by_shingles() -> None:
    words = [f"word{i}" for i in range(120)]
    found = near_duplicates([" ".join(words), " ".join([*words[:60], "other", *words[60:]])], 0.85)
    assert found[1] is not None
    assert near_duplicates([" ".join(words), " ".join(reversed(words))], 0.85)[1] is None


def test_no_chain_of_references() -> None:
    texts = ["\n".join([*LONG.split("\n")[step:], *(f"new {i} line" for i in range(step))]) for step in range(8)]
    found = near_duplicates(texts, 0.8)
    for near in found:
        assert near is None or found[near.earlier] is None


def test_many_texts_of_common_lines_take_linear_time() -> None:
    def texts(size: int) -> list[str]:
        return ["\n".join(["{", "}", "return x", *(f"own {i} {j}" for j in range(40))]) for i in range(size)]

    assert not any(near_duplicates(texts(200)))
    assert_linear(near_duplicates, texts, 100)

"""Which encoding a receiver gets, and in which forms."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from turnfold.compression.errors import InvalidInput
from turnfold.compression.layers import Compressor, CompressRequest, SectionLayer
from turnfold.compression.negotiate import ENCODINGS, Demand, Encoding, encodings, negotiate, to_a2a_part, to_mcp_resource

TEXT = "Anna Berg signed for $4.2 million. " + "".join(f"Day {n} passed by without any news at all. " for n in range(40))
RESULT = Compressor().compress(CompressRequest(TEXT))
SIZES = dict(zip(ENCODINGS, (layer.tokens for layer in RESULT.layers), strict=True))


@each(
    ("accepted", "budget", "encoding", "fits"),
    [
        (("raw", "facts", "summary"), None, "raw", True),
        (("raw", "facts", "summary"), SIZES["raw"], "raw", True),
        (("raw", "facts", "summary"), SIZES["raw"] - 1, "facts", True),
        (("facts", "raw"), None, "facts", True),
        (("raw", "facts"), SIZES["facts"] - 1, "summary", True),
        (("raw",), 1, "summary", False),
    ],
)
def test_the_first_that_fits_else_the_summary(
    accepted: tuple[Encoding, ...], budget: int | None, encoding: str, fits: bool
) -> None:
    exchanged = negotiate(RESULT, Demand(accepted, budget))
    assert (exchanged.encoding, exchanged.fits) == (encoding, fits)
    assert exchanged.text == RESULT.layers[ENCODINGS.index(exchanged.encoding)].text
    assert exchanged.raw_tokens == SIZES["raw"]


@given(
    st.lists(st.sampled_from(ENCODINGS), min_size=1),
    st.one_of(st.none(), st.integers(1, 1000)),
    st.lists(st.integers(0, 300), max_size=5),
)
def test_a_budget_is_kept_where_it_can_be(names: list[Encoding], budget: int | None, sizes: list[int]) -> None:
    wanted = [SectionLayer(f"s{n}", 0, "text", size) for n, size in enumerate(sizes)]
    exchanged = negotiate(RESULT, Demand(encodings(names), budget), wanted)
    spent = exchanged.tokens + sum(section.tokens for section in exchanged.drilled)
    assert exchanged.fits == (budget is None or exchanged.tokens <= budget)
    assert not exchanged.fits or budget is None or spent <= budget
    assert sorted([one.section_id for one in exchanged.drilled] + list(exchanged.left_out)) == [one.section_id for one in wanted]


def test_demands_are_checked() -> None:
    for accepted, budget, field in [((), None, "accepted"), (("zip",), None, "accepted"), (("raw",), 0, "budget")]:
        with pytest.raises(InvalidInput) as caught:
            Demand(accepted, budget)  # type: ignore[arg-type]
        assert caught.value.field == field
    with pytest.raises(InvalidInput, match="zip"):
        encodings(["raw", "zip"])


def test_forms_of_other_protocols() -> None:
    exchanged = negotiate(RESULT, Demand(("facts",)))
    part, resource = to_a2a_part(exchanged), to_mcp_resource(exchanged)
    assert (part["kind"], part["text"]) == ("text", exchanged.text)
    assert resource["uri"].startswith("turnfold://results/r")
    assert (resource["mimeType"], resource["text"]) == ("text/plain", exchanged.text)
    assert part["metadata"]["turnfold"] == resource["_meta"]["turnfold"]
    assert part["metadata"]["turnfold"]["sections"] == [section.id for section in RESULT.sections]
    assert json.loads(json.dumps([part, resource])) == [part, resource]

"""Entries of a series, which share most of their words, limit none of their neighbours: a budget holds for them too."""

from __future__ import annotations

from typing import Final

import pytest

from tests.support.cases import each
from turnfold.compression import Compressor, CompressRequest
from turnfold.compression.text.statements import statements

ENTRIES: Final = {
    "the same": "The buoy off Lund was lit and nobody rang. " * 30,
    "figures": " ".join(f"The buoy at mile {n} was lit for {n * 3} hours and nobody rang." for n in range(30)),
    "names": " ".join(f"{name} has not returned key {n}." for n, name in enumerate(["Ida", "Per", "Ute"] * 10)),
    "German": " ".join(f"Am Tag {n} kam das Boot {n % 5} nicht und niemand rief an." for n in range(30)),
    "Chinese": "".join(f"第{n}天船没有来，但是灯亮着。" for n in range(30)),
}


@pytest.mark.parametrize("text", ENTRIES.values(), ids=ENTRIES)
def test_a_series_is_not_one_statement(text: str) -> None:
    read = statements(text)
    assert max(len(read.with_needs(i)) for i in range(len(read.spans))) == 1
    raw, first, _ = (layer.tokens for layer in Compressor().compress(CompressRequest(text, l1_ratio=0.3)).layers)
    assert first <= 0.3 * raw


def test_an_entry_of_two_sentences_is_one_and_brings_no_other() -> None:
    claims = [f"The pump of bay {n} may be sold by the owner." for n in range(20)]
    limits = [f"But bay {n} may be used by the guards until May." for n in range(20)]
    pairs = [f"{claim} {limit}" for claim, limit in zip(claims, limits, strict=True)]
    for text in (" ".join(pairs), f"The hall stays shut. {limits[19]} " + " ".join(pairs[:19])):
        read = statements(text)
        for n in range(1, 18):
            at = next(i for i, span in enumerate(read.spans) if claims[n] in span.of(text))
            shown = "".join(read.spans[i].of(text) for i in sorted(read.with_needs(at))).strip()
            assert shown == pairs[n]


@each(
    ("text", "claim", "limit"),
    [
        ("All rooms on floor 1 have a balcony. The rooms on floor 2 have none of that. Tea is at four.", "floor 1", "floor 2"),
        (ENTRIES["figures"] + " Except on Sundays. The pier is red.", "at mile 29", "Except"),
        (
            "The lamps were never lit:\n\n" + "\n".join(f"- lamp {n} at pier {n} of the old port" for n in range(9)),
            "lamp 4",
            "never",
        ),
    ],
)
def test_what_is_no_entry_limits_as_ever(text: str, claim: str, limit: str) -> None:
    read = statements(text)
    at = next(i for i, span in enumerate(read.spans) if claim in span.of(text))
    assert limit in "".join(read.spans[i].of(text) for i in read.with_needs(at))

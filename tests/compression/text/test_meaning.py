"""What a shortened text says is what the whole says: where a claim is shown, so is what limits, corrects or heads it.

Lives here: natural texts of 18 languages (``cases/meaning.txt``), through layers and the round trip. Does not belong here: which
rule ties what (``test_ties.py`` and its neighbours).

A case of the file is a line with its half (``open``: looked at while the rules were written; ``held``: not) and language, a text,
and after ``>>`` claims, ``=>``, and what must stand beside each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.support.cases import each
from turnfold.compression import compress
from turnfold.compression.layers import Compressor, CompressRequest

BEFORE: Final = (
    "Good morning everybody, and thanks for the quick answers of last week. "
    "The kitchen on the second floor has been painted, and the coffee machine works again."
)
BEHIND: Final = (
    "The train to the coast was full of families with bicycles. Somebody brought a large cake with cherries for the team. "
    "We also talked about the new chairs for a while, and about the weather in Norway."
)
#: Still wrong: a claim is shown alone in some output. A repair takes its line out.
STILL_WRONG: Final[frozenset[str]] = frozenset(
    (
        "EU only",
        "nothing of this is released",
        "Until Friday",
        "1 July 2027",
        "Mr Cole decides",
    )
)


class Case(NamedTuple):
    text: str
    claims: tuple[str, ...]
    limit: str


def _cases() -> Iterator[Case]:
    for block in (Path(__file__).parent / "cases" / "meaning.txt").read_text(encoding="utf-8").split("\n---\n"):
        text, _, check = block.partition("\n")[2].rpartition("\n>> ")
        claims, _, limit = check.strip().partition(" => ")
        yield Case(text.strip("\n"), tuple(claims.split("|")), limit)


def _flat(text: str) -> str:
    return re.sub(r"[\s>]+", " ", text).lower()


def _outputs(text: str) -> Iterator[str]:
    for whole in (text, f"{BEFORE}\n\n{text}\n\n{BEHIND}"):
        for ratio in (0.1, 0.2, 0.3, 0.45):
            yield from (layer.text for layer in Compressor().compress(CompressRequest(whole, l1_ratio=ratio)).layers[1:])
    asked = [{"role": "user", "content": "Can you keep these notes for me?"}, {"role": "assistant", "content": text}]
    later = [{"role": ("user", "assistant")[i % 2], "content": f"Let us talk about point {i} tomorrow."} for i in range(8)]
    yield "\n".join(str(message["content"]) for message in compress([*asked, *later], {"token_budget": 120}).messages)


def _is_wrong(case: Case) -> bool:
    outputs = map(_flat, _outputs(case.text))
    return any(_flat(claim) in shown and _flat(case.limit) not in shown for shown in outputs for claim in case.claims)


CASES: Final = tuple(_cases())


@each("case", CASES)
def test_no_claim_stands_without_what_limits_it(case: Case) -> None:
    assert all(_flat(part) in _flat(case.text) for part in (*case.claims, case.limit))
    assert _is_wrong(case) == (case.limit in STILL_WRONG)


def test_what_is_still_wrong_is_a_case() -> None:
    limits = [case.limit for case in CASES]
    assert all(limits.count(limit) == 1 for limit in STILL_WRONG)

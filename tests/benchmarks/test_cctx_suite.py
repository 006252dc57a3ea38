"""The benchmark of the layers: targets on the published cases where they are present; it runs on our own cases anywhere."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import pytest

pytest.importorskip("rouge_score", reason="rouge-score is in the dev group")

from benchmarks.cctx_suite import HERE, PUBLISHED, datasets, rows
from tests.support.effort import every

FLOOR = 0.7  # of our four cases, with the question in mind; .8 as measured
TARGETS = {"conversations": 0.70, "documents": 0.64, "rag_chunks": 0.73}


def test_it_runs_on_our_own_cases() -> None:
    found = list(rows(HERE / "cases", query=True))
    assert {row.set for row in found} == set(PUBLISHED)
    assert all(0 <= row.recall <= row.reachable <= 1 and row.ratio > 1 and 0 < row.rouge_l < 1 for row in found)
    assert mean(row.ratio for row in found) > 2
    assert mean(row.recall for row in found) >= FLOOR
    assert datasets(Path("given")) == Path("given")


@pytest.mark.skipif(datasets(None) == HERE / "cases", reason="the published cases are not here")
@pytest.mark.parametrize("query", every(2, [False, True]))
def test_targets_on_the_published_cases(query: bool) -> None:
    found = list(rows(datasets(None), query=query))
    for name, (ratio, _) in PUBLISHED.items():
        of = [row for row in found if row.set == name]
        assert mean(row.ratio for row in of) >= ratio
        assert mean(row.recall for row in of) >= TARGETS[name]

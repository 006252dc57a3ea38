"""The report's dollars beside those of the evaluation kit, on a replay through a real process."""

from __future__ import annotations

from functools import lru_cache

import pytest

from benchmarks.report_beside_evalkit import AIM, replay
from benchmarks.support.caches import COLUMNS
from benchmarks.support.data import conversations, evalkit
from tests.support.effort import every


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the kit leaves the files open that it reads
@pytest.mark.parametrize("own_usage", every(2, [True, False]))  # whose usage: the provider's; the kit's own
def test_within_two_hundredths(own_usage: bool) -> None:
    try:
        kit = evalkit()
        conversations("code_agent")
    except FileNotFoundError as exc:
        pytest.skip(str(exc))
    vars(kit)["toks"] = lru_cache(maxsize=50_000)(kit.toks)
    row = replay(kit, "code_agent", COLUMNS["gpt-4o"], 0.0, 1, own_usage)
    assert row is not None
    assert row.requests > 10
    assert row.paid == pytest.approx(row.paid_truth, rel=1e-4)
    assert row.without_truth > row.paid_truth
    assert row.worst < AIM

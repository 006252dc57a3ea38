"""The books beside the provider's own bill, through a real process."""

from __future__ import annotations

import pytest

from benchmarks.odd_bills import ADMIN, AIM, play
from benchmarks.support.billing_upstream import Provider, billing
from benchmarks.support.proxy import turnfold


def test_what_was_saved_is_the_difference_of_two_bills() -> None:
    provider = Provider()
    with billing(provider) as origin, turnfold(f"{origin}/v1", admin_token=ADMIN, log_level="warning") as served:
        for course in ("model switched", "usage at times", "other tools"):
            row = play(course, "gpt-4o", provider, origin, served.removesuffix("/v1"))
            assert not row.wrong
            assert row.paid == pytest.approx(row.paid_truth, rel=1e-4)
            assert row.without_truth > 1.1 * row.paid_truth
            assert row.off < AIM

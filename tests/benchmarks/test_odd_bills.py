"""The books beside the provider's own bill, over HTTP."""

from __future__ import annotations

import pytest

from benchmarks.odd_bills import ADMIN, AIM, play
from benchmarks.support.billing_upstream import Provider, billing
from tests.proxy.harness import api_server
from tests.support.effort import every
from turnfold.config.settings import AuthSettings


def test_what_was_saved_is_the_difference_of_two_bills() -> None:
    provider = Provider()
    auth = AuthSettings.model_validate({"admin_token": ADMIN})
    with billing(provider) as origin, api_server("memory://", f"{origin}/v1", auth=auth) as served:
        for course in every(3, ("model switched", "usage at times", "other tools"), 1):
            row = play(course, "gpt-4o", provider, origin, served)
            assert not row.wrong
            assert row.paid == pytest.approx(row.paid_truth, rel=1e-4)
            assert row.without_truth > 1.1 * row.paid_truth
            assert row.off < AIM

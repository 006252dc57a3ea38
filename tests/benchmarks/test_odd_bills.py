"""The books beside the provider's own bill, over HTTP."""

from __future__ import annotations

import json

import pytest

from benchmarks.odd_bills import ADMIN, AIM, play
from benchmarks.support.billing_upstream import KeyCache, Provider, billing
from benchmarks.support.caches import COLUMNS, render_body
from benchmarks.support.inside import Inside
from benchmarks.support.shapes import requests
from tests.proxy.harness import api_server
from tests.support.effort import every
from turnfold.config.prices import dollars
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


@pytest.mark.parametrize("name", ["claude", "claude, 1 h"])
def test_rests_that_outlast_the_clients_marks_are_cold_with_and_without_folds(name: str) -> None:
    """A user is away for longer than the marks ask: on the system text and the last two turns, as most clients set them."""
    column = COLUMNS[name]
    inside, caches, bills = Inside(), (KeyCache(column), KeyCache(column)), [0.0, 0.0, 0.0]
    now = 1.79e9
    for number, one in enumerate(requests("hosted tools", column, 5)):
        now += 4000.0 if number % 4 == 3 else 20.0
        sent = inside.forward(one.body, "messages", now)
        through, direct = (
            cache.take(json.loads(body), render_body(body), now)
            for cache, body in zip(caches, (sent.body, one.body), strict=True)
        )
        said = inside.record(sent, through).without
        for place, price in enumerate((said, *(dollars(column.model, use, now) for use in (direct, through)))):
            assert price is not None
            bills[place] += price
    said, truth, paid = bills
    assert said == pytest.approx(truth, rel=0.005)
    assert paid < 0.8 * truth

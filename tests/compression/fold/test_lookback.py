"""Hits of a cache that hits at the client's marks only, and looks 20 blocks back from one, stay hits but for fold events."""

from __future__ import annotations

import pytest

from benchmarks.lookback import CLAUDE, play
from benchmarks.support.lookback import LookbackCache, Session, requests, session
from tests.support.effort import every
from turnfold.compression.options import CachePrices, FoldOptions

SONNET, OPUS = "claude-sonnet-4-5", "claude-opus-5-5"
SHORT = Session(turns=7, loop=2, parallel=3, result=450)


@pytest.mark.parametrize(
    ("kind", "model", "options"),
    every(
        4,
        [
            (SHORT, SONNET, FoldOptions(prices=CachePrices(1.0, 1.0))),
            (Session(turns=16, loop=2, parallel=3, result=600), SONNET, FoldOptions(prices=CLAUDE, cache_hit_share=0.3)),
            (Session(turns=8, loop=3, parallel=14, result=40), SONNET, FoldOptions(prices=CLAUDE)),
            (Session(turns=8, loop=2, parallel=2, result=300, strings=True), SONNET, FoldOptions(prices=CachePrices(1.0, 1.0))),
            (Session(turns=7, loop=3, parallel=3, result=300, thinks=True), OPUS, FoldOptions(prices=CachePrices(1.0, 1.0))),
        ],
    ),
)
def test_no_request_misses_but_at_a_fold_event(kind: Session, model: str, options: FoldOptions) -> None:
    played = play(1, kind, model, options)
    assert played.events
    assert played.added == ()
    assert played.folded_misses <= played.misses + played.events


def test_the_cache_looks_only_so_far_back() -> None:
    for parallel, missed in ((6, False), (40, True)):
        kind = Session(turns=2, loop=2, parallel=parallel, result=20)
        cache = LookbackCache()
        looks = [cache.ask(body) for body in requests(session(3, kind), kind, SONNET)]
        assert any(look.missed for look in looks) is missed
        assert looks[0].read == 0
        assert all(look.read for look in looks[1:])

"""Importing while the garbage collector rests."""

from __future__ import annotations

import gc

from turnfold.proxy.uncollected import uncollected


def test_what_was_there_is_not_looked_at_later() -> None:
    with uncollected():
        assert not gc.isenabled()
        made = [[number] for number in range(2_000)]
        before = gc.get_freeze_count()
    assert gc.isenabled()
    assert gc.get_freeze_count() >= before + len(made)


def test_a_collector_that_somebody_has_off_stays_off_and_nothing_is_kept_from_it() -> None:
    gc.disable()
    try:
        before = gc.get_freeze_count()
        with uncollected():
            made = [[number] for number in range(2_000)]
        assert not gc.isenabled()
        assert gc.get_freeze_count() < before + len(made)
    finally:
        gc.enable()

"""The scenario benchmark holds.

These tests cover one run of it. They leave out scenarios (``benchmarks/state_scenarios.py`` has them).
"""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "state_scenarios.py"


@pytest.mark.skipif(not SCRIPT.is_file(), reason="the benchmarks are not in this checkout")
def test_what_is_forwarded_holds_exactly_the_active_state() -> None:
    assert runpy.run_path(str(SCRIPT))["main"]() == 0

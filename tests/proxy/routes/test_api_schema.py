"""Every route keeps to the API's document, whatever a fuzzer makes of it.

    python -m tests.proxy.routes.fuzz 200

takes 200 examples for each call, and the boundary values of schemathesis' coverage phase too (1,500 requests), for minutes.

These tests cover the fuzzer on a real server, bounded. They leave out cases by hand (``test_api``).
"""

from __future__ import annotations

from pathlib import Path

from tests.proxy.routes.fuzz import fuzz
from tests.support.effort import is_thorough


def test_the_fuzzer_finds_nothing(tmp_path: Path) -> None:
    phases = () if is_thorough() else ("examples", "fuzzing")  # the others make 1,500 requests in 12 s
    done = fuzz(2, tmp_path, *phases)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "35/35" in done.stdout

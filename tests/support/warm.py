"""One memory of pure results for many tests, as a server has one for all its requests.

Lives here: it. Does not belong here: what tests the memory itself, or compares replicas: that makes its own.

Tests fold the same made-up conversations again and again. A result that depended on what was folded before would fail the laws of
`fold` (a warm memory changes nothing) and each test that compares with a memory of its own.
"""

from __future__ import annotations

from typing import Final

from turnfold.compression.memo import Memo

WARM: Final = Memo(128_000_000)

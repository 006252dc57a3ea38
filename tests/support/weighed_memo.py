"""A memo that tells what it is given.

Lives here: the memo. Does not belong here: what is remembered of what (``turnfold.compression``).
"""

from __future__ import annotations

from turnfold.compression.memo import Memo


class Weighed(Memo):
    """A memo that says what was put into it weighs."""

    def __init__(self) -> None:
        super().__init__()
        self.weights: list[int] = []

    def put(self, key, value, weigh):  # type: ignore[no-untyped-def]
        self.weights.append(weigh(value))
        super().put(key, value, weigh)

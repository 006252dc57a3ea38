"""Memos that tell what they are given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import Any

from turnfold.compression.memo import Memo


class Weighed(Memo):
    """A memo that says what was put into it weighs."""

    def __init__(self) -> None:
        super().__init__()
        self.weights: list[int] = []

    def put(self, key, value, weigh):  # type: ignore[no-untyped-def]
        self.weights.append(weigh(value))
        super().put(key, value, weigh)


class Scales(Memo):
    """A memo that says what all that it was given weighs, by the kind of its key."""

    def __init__(self) -> None:
        super().__init__()
        self.weights: dict[str, list[int]] = defaultdict(list)

    def get(self, key: Hashable, make: Callable[[], Any], weigh: Callable[[Any], int] = lambda _: 64) -> Any:
        def weighed(value: Any) -> int:
            self.weights[_kind(key)].append(weigh(value))
            return self.weights[_kind(key)][-1]

        return super().get(key, make, weighed)

    def put(self, key: Hashable, value: Any, weigh: Callable[[Any], int]) -> None:
        self.weights[_kind(key)].append(weigh(value))
        super().put(key, value, weigh)


def _kind(key: Hashable) -> str:
    """The name that a key begins with; of one that begins with a value the value's type."""
    first = key[0] if isinstance(key, tuple) and key else key
    name = first.decode() if isinstance(first, bytes) and first.isascii() else first
    return name if isinstance(name, str) else type(name).__name__

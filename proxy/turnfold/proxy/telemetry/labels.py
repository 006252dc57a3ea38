"""Labels of metrics whose values clients choose.

This module bounds how many values there are. The metrics are in ``metrics``.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

OTHER: Final = "other"
UNKNOWN: Final = "unknown"
_LONGEST: Final = 100  # characters; names of models are shorter


class BoundedLabel:
    """A bounded set of values for one label: the first ones seen, and at most a part of them from one tenant.

    Args:
        most: maximum number of values besides "other" and "unknown".
        each: maximum number of values that one tenant may add.
    """

    def __init__(self, most: int, each: int) -> None:
        self._most, self._each = most, each
        self._known: set[str] = set()
        self._brought: Counter[str] = Counter()

    def __call__(self, tenant: str, value: str, *, admit: bool) -> str:
        """The value as a label: itself, "unknown" for "", or "other".

        Args:
            tenant: the tenant with this value.
            admit: whether a new value may be added.
        """
        if not value:
            return UNKNOWN
        if value not in self._known:
            if not admit or len(value) > _LONGEST or not value.isprintable():
                return OTHER
            if len(self._known) >= self._most or self._brought[tenant] >= self._each:
                return OTHER
            self._known.add(value)
            self._brought[tenant] += 1
        return value

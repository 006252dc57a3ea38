"""Labels of metrics whose values clients choose.

Lives here: bounding how many values there are. Does not belong here: any metric.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

OTHER: Final = "other"
UNKNOWN: Final = "unknown"
_LONGEST: Final = 100  # characters; names of models are shorter


class BoundedLabel:
    """Values of one label: at most so many, the first that came, and no more than a part of them by one tenant.

    Args:
        most: values beside "other" and "unknown".
        each: values that a tenant may be the first to bring.
    """

    def __init__(self, most: int, each: int) -> None:
        self._most, self._each = most, each
        self._known: set[str] = set()
        self._brought: Counter[str] = Counter()

    def __call__(self, tenant: str, value: str, *, admit: bool) -> str:
        """The value as a label: itself, "unknown" for "", or "other".

        Args:
            tenant: who brings it.
            admit: whether a value that was not seen before may become one of the label's.
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

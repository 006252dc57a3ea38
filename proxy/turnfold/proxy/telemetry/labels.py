"""Labels of metrics whose values clients choose.

Lives here: bounding how many values there are. Does not belong here: any metric.
"""

from __future__ import annotations

from typing import Final

OTHER: Final = "other"
UNKNOWN: Final = "unknown"
_LONGEST: Final = 100  # characters; names of models are shorter


class BoundedLabel:
    """Values of one label: at most so many, the first that came.

    Args:
        most: values beside "other" and "unknown".
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[str] = set()

    def __call__(self, value: str, *, admit: bool) -> str:
        """The value as a label: itself, "unknown" for "", or "other".

        Args:
            admit: whether a value that was not seen before may become one of the label's.
        """
        if not value:
            return UNKNOWN
        if value not in self._known:
            if not admit or len(self._known) >= self._most or len(value) > _LONGEST or not value.isprintable():
                return OTHER
            self._known.add(value)
        return value

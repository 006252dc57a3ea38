"""Which old messages repeat other messages, and the references that replace them.

This module chooses which one to keep, and writes the text of a reference. Repeated texts are found in ``text.duplicates``.

Of equal texts, the first one inside the recency window is kept, else the latest. A reference points to a message in the result,
never to another reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from turnfold.compression.text.duplicates import SHORTEST, near_duplicates

_BEGINNING: Final = 24  # characters at the start of the kept text that identify it
_LONGEST_NAME: Final = 60


class Reference(NamedTuple):
    """The message at `target` has the same text, or nearly the same (`similarity` below 1)."""

    target: int
    similarity: float
    exact: bool


class Repeats:
    """Equal and nearly equal texts of one conversation.

    Args:
        texts: for each message a text that may become a reference; None: it may not.
        exact: if true, equal texts become references.
        threshold: minimum similarity of nearly equal texts; None: they do not become references.
    """

    def __init__(self, texts: Sequence[str | None], *, exact: bool, threshold: float | None) -> None:
        groups: dict[str, list[int]] = {}
        for i, text in enumerate(texts):
            if text is not None and len(text) >= SHORTEST:
                groups.setdefault(text, []).append(i)
        self._exact = exact
        self._groups = list(groups.values())
        self._near: dict[int, tuple[int, float]] = {}  # group number -> that of the group it resembles
        if threshold is not None:
            # Latest first: of two near duplicates, the earlier one in this order is kept.
            order = sorted(range(len(self._groups)), key=lambda g: -self._groups[g][-1])
            distinct = [texts[self._groups[g][-1]] or "" for g in order]
            found = [near for near in near_duplicates(distinct, threshold) if near]
            self._near = {order[near.index]: (order[near.earlier], near.similarity) for near in found}
        self._telling = [g for g, members in enumerate(self._groups) if len(members) > 1 or g in self._near]

    def before(self, border: int) -> dict[int, Reference]:
        """References in place of messages before the border."""
        found: dict[int, Reference] = {}
        for g in self._telling:
            kept = _kept_member(self._groups[g], border)
            near = self._near.get(g) if kept < border else None
            if near is None and not self._exact and g not in self._near and not self._near:
                continue
            target = kept if near is None else _kept_member(self._groups[near[0]], border)
            for i in self._groups[g]:
                if i < border and i != target:
                    found[i] = Reference(target, 1.0 if near is None else near[1], exact=near is None and self._exact)
        return found


def _kept_member(members: Sequence[int], border: int) -> int:
    return next((i for i in members if i >= border), members[-1])


def reference_text(reference: Reference, target: Mapping[str, Any], size: int) -> str:
    """The replacement of a text with this many characters."""
    like = "same text" if reference.exact else f"nearly the same text ({int(100 * reference.similarity)}%)"
    name = target.get("id")
    call = target.get("tool_call_id")
    whose = f"message {name}" if _is_name(name) else f"the result of {call}" if _is_name(call) else ""
    begins = " ".join(str(target.get("content"))[: 4 * _BEGINNING].split())[:_BEGINNING]
    return f"[turnfold: {like} as {whose or f'the message that begins {begins!r}'}, {size:,} characters]"


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME

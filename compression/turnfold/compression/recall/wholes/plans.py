"""The plan that an agent keeps with a tool, in its newest state.

This module finds the call that holds it. When it is quoted is decided in ``choosing``.

Each call of such a tool contains the whole plan: its steps, each with its status. What the agent does next follows from the
newest call; an older one is outdated. A plan hardly shares a word with "go on" or "where are we?".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.passages import estimate
from turnfold.compression.text.quotes import Quotable, Quote

_STEP: Final = lazy.pattern(
    r'"(?:status|state)\\*"\s*:\s*\\*"(?:pending|not_started|not-started|todo|in_progress|in-progress|completed|complete|done)\\*"'
)
_LEAST: Final = 2  # steps of a plan
_MOST: Final = 600  # tokens of a plan that is quoted


def newest_plan(sources: Sequence[Quotable], behind: Sequence[Quotable]) -> list[Quote]:
    """The call with the newest plan in the sources; empty if the request holds a newer one in `behind`."""
    if any(map(_holds_plan, behind)):
        return []
    for number in reversed(range(len(sources))):
        if _holds_plan(sources[number]):
            text = sources[number].text
            return [Quote(number, 0, len(text))] if estimate(text) <= _MOST else []
    return []


def _holds_plan(source: Quotable) -> bool:
    return source.role == "assistant" and "stat" in source.text and len(_STEP.findall(source.text)) >= _LEAST

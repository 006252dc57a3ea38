"""The options of `compress` for type checkers: a misspelt key, or a value of another type, is an error before anything runs.

The mappings that stand for `CompressOptions`, and the type of a message. Defaults and checks at run time are in ``values``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Required, TypedDict

#: A message as any SDK writes it: a dict, or a typed dict.
Message = Mapping[str, Any]


class CompressOptionsDict(TypedDict, total=False):
    """The fields of `CompressOptions`; omitted fields have their defaults."""

    preserve: Sequence[str] | frozenset[str] | set[str]
    recency_window: int
    source_version: int
    token_budget: int | None
    min_recency_window: int
    dedup: bool
    fuzzy_dedup: bool
    fuzzy_threshold: float
    embed_summary_id: bool
    force_converge: bool
    token_counter: Callable[[Message], int]
    trace: bool


class SummarizedOptionsDict(CompressOptionsDict, total=False):
    """The options with a summarizer, which makes the result awaitable."""

    summarizer: Required[Callable[[str], str | Awaitable[str]]]

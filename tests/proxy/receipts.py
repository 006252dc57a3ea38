"""Receipts for tests."""

from __future__ import annotations

from typing import Any

from turnfold.compression.fold import Section
from turnfold.proxy.chat.receipts import Receipt, Usage

NOON = 1_760_011_200.0  # 2025-10-09T12:00:00Z

SECTION = Section(
    "s-1", "facts", ('{"role":"user","content":"Grüße, \\ud800"}', '{"role": "assistant", "content": "b\ud800"}'), 12
)


def receipt(**changes: Any) -> Receipt:
    """A folded request that went well."""
    usage = changes.pop("usage", (400, 50, 100, 0))
    fields: dict[str, Any] = {
        "request_id": "r",
        "at": NOON,
        "tenant": "anna",
        "model": "gpt-4o",
        "conversation": "c",
        "status": "folded",
        "reason": "",
        "tokens_before": 1000,
        "tokens_after": 400,
        "usage": Usage(*usage),
        "upstream_status": 200,
        "overhead_ms": 1.5,
        "first_byte_ms": 200.0,
        "total_ms": 900.0,
        "streamed": True,
        "complete": True,
    }
    return Receipt(**(fields | changes))

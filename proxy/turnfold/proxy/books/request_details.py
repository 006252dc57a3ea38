"""What the store knows about one request.

The receipt, together with the sections folded in the request, their originals and replacements. Rendering it for HTTP or a
terminal is up to the caller.
"""

from __future__ import annotations

from typing import Any

from turnfold.compression.errors import SectionUnknown
from turnfold.compression.fold import Section
from turnfold.proxy.books.receipt_log import find_receipt
from turnfold.proxy.books.section_records import SectionExpired, find_section_and_replacements
from turnfold.proxy.books.wording import in_words
from turnfold.proxy.store import Store


async def request_details(store: Store, request_id: str, start: float, end: float, tenant: str | None) -> dict[str, Any] | None:
    """Everything about a request of a time range; None if there is no receipt of it, or it belongs to another tenant.

    Args:
        tenant: only requests of this tenant; None: of any.

    Raises:
        StoreError: the store does not answer.
    """
    receipt = await find_receipt(store, request_id, start, end)
    if receipt is None or (tenant is not None and receipt["tenant"] != tenant):
        return None
    sections = [await _section(store, receipt["tenant"], name) for name in receipt["sections"]]
    return {"receipt": receipt, "why": in_words(receipt["status"], receipt["reason"], receipt["folds_at"]), "sections": sections}


async def _section(store: Store, tenant: str, section_id: str) -> dict[str, Any]:
    """A section; `kept` says whether its originals are still stored."""
    try:
        section = await find_section_and_replacements(store, tenant, section_id)
    except SectionUnknown as exc:
        return {"id": section_id, "kept": False, "problem": "expired" if isinstance(exc, SectionExpired) else "never kept"}
    if not isinstance(section, Section):
        return {"id": section_id, "kept": False, "problem": "not a section of a conversation"}
    return {
        "id": section_id,
        "kept": True,
        "level": section.level,
        "tokens": section.tokens,
        "messages": list(section.messages),
        "instead": list(section.instead) or None,
    }

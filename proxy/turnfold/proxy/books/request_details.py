"""What the store knows of one request that was served.

Lives here: the receipt with the sections folded in the request, their originals beside what was sent in their place. Does not
belong here: HTTP, printing.
"""

from __future__ import annotations

from typing import Any

from turnfold.compression.errors import SectionUnknown
from turnfold.compression.fold import Section
from turnfold.proxy.books.ledger import find_receipt
from turnfold.proxy.books.reasons import in_words
from turnfold.proxy.books.section_records import SectionExpired, find_section_and_replacements
from turnfold.proxy.store import Store


async def request_details(store: Store, request_id: str, start: float, end: float, tenant: str | None) -> dict[str, Any] | None:
    """Everything of a request that came in a range of time; None when there is no receipt of it, or it is another tenant's.

    Args:
        tenant: whose it must be; None: anybody's.

    Raises:
        StoreError: the store does not answer.
    """
    receipt = await find_receipt(store, request_id, start, end)
    if receipt is None or (tenant is not None and receipt["tenant"] != tenant):
        return None
    sections = [await _section(store, receipt["tenant"], name) for name in receipt["sections"]]
    return {"receipt": receipt, "why": in_words(receipt["status"], receipt["reason"]), "sections": sections}


async def _section(store: Store, tenant: str, section_id: str) -> dict[str, Any]:
    """A section; `kept` says whether its originals are still there."""
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

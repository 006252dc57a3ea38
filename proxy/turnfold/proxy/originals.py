"""The originals of folded sections, as they lie in the store.

Lives here: their form there, and finding one by its id. Must not: the queue that they wait in (``ledger``), HTTP.

Beside each original a tombstone is kept for longer, so that "no longer kept" can be told from "never seen".
"""

from __future__ import annotations

import json
import zlib
from typing import Final

from turnfold.compression.conversation import Section
from turnfold.compression.errors import SectionUnknown
from turnfold.proxy.store import Item, Key, Store

_KIND: Final = "section"
_TOMBSTONE: Final = "section-seen"
_TOMBSTONE_LIVES: Final = 12  # times as long as the original
_FORM: Final = 1


class SectionExpired(SectionUnknown):
    """The section was kept once, and is no more: its time was over, or it was deleted."""

    def __init__(self, section_id: str) -> None:
        super().__init__(section_id)
        self.args = (f"section {section_id!r} is no longer kept",)


def _packed(section: Section) -> bytes:
    # The standard library's JSON writes a lone surrogate as an escape, and so gets it back.
    text = json.dumps([_FORM, section.level, section.tokens, section.messages])
    return zlib.compress(text.encode("ascii"), 1)


def _unpacked(section_id: str, value: bytes) -> Section:
    _, level, tokens, messages = json.loads(zlib.decompress(value))
    return Section(section_id, level, tuple(messages), tokens)


def section_items(tenant: str, section: Section, ttl: float, conversation: str | None) -> list[Item]:
    """What is put into the store for a section: the original and its tombstone."""
    return [
        Item(Key(tenant, _KIND, section.id), _packed(section), ttl, conversation),
        Item(Key(tenant, _TOMBSTONE, section.id), b"", ttl * _TOMBSTONE_LIVES),
    ]


async def find_section(store: Store, tenant: str, section_id: str) -> Section:
    """The original of a section of a tenant's.

    Raises:
        SectionExpired: it was kept once.
        SectionUnknown: as far as the store knows it was never seen, or it is another tenant's.
        StoreError: the store cannot say.
    """
    value, seen = await store.get([Key(tenant, _KIND, section_id), Key(tenant, _TOMBSTONE, section_id)])
    if value is not None:
        return _unpacked(section_id, value)
    raise SectionUnknown(section_id) if seen is None else SectionExpired(section_id)

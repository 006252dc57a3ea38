"""The originals of sections, as they lie in the store.

Lives here: their forms there, and finding one by its id. Must not: the queue that they wait in (``ledger``), HTTP.

There are two forms: what the proxy folded (messages, byte for byte) and what the API cut (three layers of a text). Beside each
a tombstone is kept for longer, so that "no longer kept" can be told from "never seen".

Private text (``<private>...</private>``) is taken out before anything becomes bytes for the store. A section's id is the hash of
the text as it came, so it is found all the same; what is found says ``[private]``.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from turnfold.compression.errors import SectionUnknown
from turnfold.compression.fold import Section
from turnfold.compression.layers import LayerText
from turnfold.compression.text.private import is_private, redact, redact_json
from turnfold.proxy.store import Item, Key, Store

_KIND: Final = "section"
_TOMBSTONE: Final = "section-seen"
_INSTEAD: Final = "section-instead"
_TOMBSTONE_LIVES: Final = 12  # times as long as the original
_FOLDED: Final = 1
_LAYERED: Final = 2


class SectionExpired(SectionUnknown):
    """The section was kept once, and is no more: its time was over, or it was deleted."""

    def __init__(self, section_id: str) -> None:
        super().__init__(section_id)
        self.args = (f"section {section_id!r} is no longer kept",)


@dataclass(frozen=True, slots=True)
class Layered:
    """A section in three layers.

    Attributes:
        messages: role and content of the messages that layer 0 is made of; none where it is a part of a text.
    """

    id: str
    layers: tuple[LayerText, LayerText, LayerText]
    messages: tuple[tuple[str, str], ...] = ()


def _bytes(value: list[Any]) -> bytes:
    # The standard library's JSON writes a lone surrogate as an escape, and so gets it back.
    return zlib.compress(json.dumps(value).encode("ascii"), 1)


def packed(section: Section | Layered) -> bytes:
    """A section as bytes, without its id and without what is private."""
    if isinstance(section, Section):
        return _bytes([_FOLDED, section.level, section.tokens, [redact_json(raw) for raw in section.messages]])
    layers = section.layers
    if is_private(layers[0].text):
        # A sentence of layer 1 or 2 may have lost the tags around it: only what is left of the whole is safe to keep.
        layers = (LayerText(redact(layers[0].text), layers[0].tokens),) * 3
    messages = [(role, redact(content)) for role, content in section.messages]
    return _bytes([_LAYERED, [[redact(layer.text), layer.tokens] for layer in layers], messages])


def unpacked(section_id: str, value: bytes) -> Section | Layered:
    """What was `packed`."""
    form, *rest = json.loads(zlib.decompress(value))
    if form == _FOLDED:
        level, tokens, messages = rest
        return Section(section_id, level, tuple(messages), tokens)
    layers, messages = rest
    raw, facts, summary = (LayerText(text, tokens) for text, tokens in layers)
    return Layered(section_id, (raw, facts, summary), tuple((role, content) for role, content in messages))


def section_items(tenant: str, section: Section | Layered, ttl: float, conversation: str | None) -> list[Item]:
    """What is put into the store for a section: the original and its tombstone, and what was sent in its place."""
    items = [
        Item(Key(tenant, _KIND, section.id), packed(section), ttl, conversation),
        Item(Key(tenant, _TOMBSTONE, section.id), b"", ttl * _TOMBSTONE_LIVES),
    ]
    if isinstance(section, Section) and section.instead:
        items.append(Item(Key(tenant, _INSTEAD, section.id), _bytes(_public(section)), ttl, conversation))
    return items


def _public(section: Section) -> list[str | None]:
    """What was sent, but for texts made of messages with something private in them: these may have lost the tags around it."""
    private = [redact_json(raw) != raw for raw in section.messages]
    if len(section.instead) != len(private):
        return [None] * len(section.instead) if any(private) else list(section.instead)
    return [None if hidden else text for text, hidden in zip(section.instead, private, strict=True)]


def section_keys(tenant: str, section_ids: Iterable[str]) -> list[Key]:
    """Where the originals lie; their tombstones stay."""
    return [Key(tenant, _KIND, section_id) for section_id in section_ids]


async def find_section(store: Store, tenant: str, section_id: str) -> Section | Layered:
    """A section of a tenant's.

    Raises:
        SectionExpired: it was kept once.
        SectionUnknown: as far as the store knows it was never seen, or it is another tenant's.
        StoreError: the store cannot say.
    """
    value, seen = await store.get([Key(tenant, _KIND, section_id), Key(tenant, _TOMBSTONE, section_id)])
    if value is not None:
        return unpacked(section_id, value)
    raise SectionUnknown(section_id) if seen is None else SectionExpired(section_id)


async def find_replaced(store: Store, tenant: str, section_id: str) -> Section | Layered:
    """The same, with what was sent in its place (``Section.instead``) where that is known.

    Raises:
        SectionExpired, SectionUnknown, StoreError: as for `find_section`.
    """
    section = await find_section(store, tenant, section_id)
    (instead,) = await store.get([Key(tenant, _INSTEAD, section_id)])
    if instead is None or not isinstance(section, Section):
        return section
    texts = tuple(json.loads(zlib.decompress(instead)))
    return replace(section, instead=texts)

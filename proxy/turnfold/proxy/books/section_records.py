"""Sections as stored records: originals, replacements and tombstones.

Their stored forms are defined here, and a section is found by its id. The queue in which they wait is in ``ledger``.

There are two forms: sections that the proxy folded (messages, byte for byte) and sections that the API cut (three layers of a
text). A tombstone outlives each section, so that "no longer kept" can be told from "never seen".

Private text (``<private>...</private>``) is removed before anything is stored. A section's id is the hash of the original text,
so it can still be found; the stored text says ``[private]`` instead.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

from turnfold.compression.errors import SectionUnknown
from turnfold.compression.fold import Section
from turnfold.compression.layers import Layer
from turnfold.compression.text.private import is_private, may_be_private, redact, redact_json
from turnfold.proxy.chat.receipts import PackedSection
from turnfold.proxy.store import Item, Key, Store
from turnfold.proxy.store.records import VERSION, UnreadableRecord, decode_record, inflate_record

T = TypeVar("T")

_KIND: Final = "section"
_TOMBSTONE: Final = "section-seen"
_INSTEAD: Final = "section-instead"
_TOMBSTONE_LIVES: Final = 12  # times the lifetime of the original
_LONG: Final = 2**12  # records above this many bytes are read in a thread
# How the first release, whose records were lists, named the two forms.
_FORMS_BY_NUMBER: Final = {1: "folded", 2: "layered"}


class SectionExpired(SectionUnknown):
    """The section was stored once and is gone: it expired or was deleted."""

    def __init__(self, section_id: str) -> None:
        super().__init__(section_id)
        self.args = (f"section {section_id!r} is no longer kept",)


@dataclass(frozen=True, slots=True)
class Layered:
    """A section in three layers.

    Attributes:
        messages: role and content of the messages that make up layer 0; empty for a part of a text.
    """

    id: str
    layers: tuple[Layer, Layer, Layer]
    messages: tuple[tuple[str, str], ...] = ()


def _bytes(fields: Mapping[str, Any]) -> bytes:
    # The standard library's JSON escapes lone surrogates, so they survive.
    return zlib.compress(json.dumps({VERSION: 1, **fields}).encode("ascii"), 1)


def _parse(value: bytes) -> Any:
    return json.loads(inflate_record(value))


def pack_section(section: Section | Layered) -> bytes:
    """A section as bytes, without its id and without private text."""
    if isinstance(section, Section):
        public = _without_private(section.messages)
        return _bytes({"form": "folded", "level": section.level, "tokens": section.tokens, "messages": public})
    layers = section.layers
    if is_private(layers[0].text):
        # A sentence of layer 1 or 2 may have lost the tags around it: only what is left of the whole is safe to keep.
        layers = (Layer(redact(layers[0].text), layers[0].tokens),) * 3
    return _bytes(
        {
            "form": "layered",
            "layers": [{"text": redact(layer.text), "tokens": layer.tokens} for layer in layers],
            "messages": [{"role": role, "content": redact(content)} for role, content in section.messages],
        }
    )


def unpack_section(section_id: str, value: bytes) -> Section | Layered | None:
    """The section of `pack_section`; None where this release cannot read it."""
    return decode_record("section", value, lambda fields: _section(section_id, fields), parse=_parse)


def _section(section_id: str, value: Any) -> Section | Layered:
    fields = _first_release_fields(value) if isinstance(value, list) else value
    if fields["form"] == "folded":
        return Section(section_id, fields["level"], tuple(fields["messages"]), fields["tokens"])
    if fields["form"] != "layered":
        raise UnreadableRecord("it has an unknown form")
    raw, facts, summary = (Layer(layer["text"], layer["tokens"]) for layer in fields["layers"])
    messages = tuple((message["role"], message["content"]) for message in fields["messages"])
    return Layered(section_id, (raw, facts, summary), messages)


def _first_release_fields(value: list[Any]) -> dict[str, Any]:
    """A list of the first release as named fields."""
    form = _FORMS_BY_NUMBER[value[0]]
    if form == "folded":
        return dict(zip(("form", "level", "tokens", "messages"), (form, *value[1:]), strict=True))
    _, layers, messages = value
    return {
        "form": form,
        "layers": [{"text": text, "tokens": tokens} for text, tokens in layers],
        "messages": [{"role": role, "content": content} for role, content in messages],
    }


def packed(section: Section | Layered) -> PackedSection:
    """A section's records."""
    instead = _bytes({"texts": _public(section)}) if isinstance(section, Section) and section.instead else None
    return PackedSection(section.id, pack_section(section), instead)


def section_items(tenant: str, section: Section | Layered | PackedSection, ttl: float, conversation: str | None) -> list[Item]:
    """The items stored for a section: the original, its tombstone, and its replacements if there are any."""
    records = section if isinstance(section, PackedSection) else packed(section)
    items = [
        Item(Key(tenant, _KIND, records.id), records.original, ttl, conversation),
        Item(Key(tenant, _TOMBSTONE, records.id), b"", ttl * _TOMBSTONE_LIVES),
    ]
    if records.instead is not None:
        items.append(Item(Key(tenant, _INSTEAD, records.id), records.instead, ttl, conversation))
    return items


def _without_private(messages: Sequence[str]) -> Sequence[str]:
    """Messages without what is private in them; nearly always that is nothing, which is found out of all of them at once."""
    return [redact_json(raw) for raw in messages] if may_be_private("\n".join(messages)) else messages


def _public(section: Section) -> list[str | None]:
    """What was sent, but for texts made of messages with something private in them: these may have lost the tags around it."""
    private = [one != raw for one, raw in zip(_without_private(section.messages), section.messages, strict=True)]
    if len(section.instead) != len(private):
        return [None] * len(section.instead) if any(private) else list(section.instead)
    return [None if hidden else text for text, hidden in zip(section.instead, private, strict=True)]


def section_keys(tenant: str, section_ids: Iterable[str]) -> list[Key]:
    """The keys of the originals; tombstones are not included."""
    return [Key(tenant, _KIND, section_id) for section_id in section_ids]


async def find_section(store: Store, tenant: str, section_id: str) -> Section | Layered:
    """A section of a tenant.

    Raises:
        SectionExpired: it was stored once, or it is stored in a form that this release cannot read.
        SectionUnknown: the store has never seen it, or it belongs to another tenant.
        StoreError: the store cannot say.
    """
    value, seen = await store.get([Key(tenant, _KIND, section_id), Key(tenant, _TOMBSTONE, section_id)])
    section = None if value is None else await _read(value, partial(unpack_section, section_id))
    if section is not None:
        return section
    raise SectionUnknown(section_id) if seen is None else SectionExpired(section_id)


async def _read(value: bytes, read: Callable[[bytes], T]) -> T:
    """A record, read in a thread where it is long: an original may have megabytes."""
    return read(value) if len(value) < _LONG else await asyncio.to_thread(read, value)


async def find_section_and_replacements(store: Store, tenant: str, section_id: str) -> Section | Layered:
    """The same, with what was sent in its place (``Section.instead``) where that is known.

    Raises:
        SectionExpired, SectionUnknown, StoreError: as for `find_section`.
    """
    section = await find_section(store, tenant, section_id)
    (instead,) = await store.get([Key(tenant, _INSTEAD, section_id)])
    texts = None if instead is None else await _read(instead, _read_texts)
    if texts is None or not isinstance(section, Section):
        return section
    return replace(section, instead=texts)


def _read_texts(value: bytes) -> tuple[str | None, ...] | None:
    return decode_record("replacement", value, _texts, parse=_parse)


def _texts(value: Any) -> tuple[str | None, ...]:
    """Of a record; in the first release it was the bare list."""
    return tuple(value if isinstance(value, list) else value["texts"])

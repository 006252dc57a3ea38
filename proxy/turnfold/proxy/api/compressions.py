"""Layers of a text for a tenant: from the cache, or computed and stored.

This module fixes the order of cache, engine and store. It does no compression of its own and knows no HTTP.

If the store is unavailable you lose the cache and drill-down, never the result. For a text with private parts the caller gets
complete layers; stored sections say ``[private]`` instead, and the result is not cached.
"""

from __future__ import annotations

import logging
import time
import zlib
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pydantic_core
from pydantic import TypeAdapter

from turnfold.compression.flows.layers import ModelLayers, ModelWish, layer_steps
from turnfold.compression.layers import CompressedResult, Compressor, CompressRequest, Layer, TextSection
from turnfold.compression.memo import digest
from turnfold.compression.options import ENGINE_VERSION
from turnfold.compression.summary.calls import ModelCall, ModelReply
from turnfold.compression.text.private import Redactor, is_private
from turnfold.config.settings import StoreSettings
from turnfold.proxy.api.cache import CompressionCache
from turnfold.proxy.api.keeping import Keeping
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.books.section_records import Layered, packed, section_items
from turnfold.proxy.chat.receipts import PackedSection
from turnfold.proxy.store import Item, Store, StoreError
from turnfold.proxy.store.records import VERSION, decode_record, inflate_record

#: Makes the calls of a generator.
DriveLayers = Callable[[Generator[ModelCall, ModelReply | None, ModelLayers]], Awaitable[ModelLayers]]

_RESULT: Final = TypeAdapter(CompressedResult)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _PackedResult:
    """A result, and what is stored of it: packing that takes long too, so it is done where the result is made.

    Attributes:
        sections: records of those that can be drilled into.
        entry: of the cache; None where the result is not kept.
    """

    result: CompressedResult
    sections: tuple[PackedSection, ...]
    entry: bytes | None


@dataclass(frozen=True, slots=True)
class CompressionOutcome:
    """A result and how it came about.

    Attributes:
        ms: duration in milliseconds.
        cached: whether it came from the cache.
        stored: whether its sections can be drilled into.
        layers: a model's part in it; None if none was asked for.
    """

    result: CompressedResult
    ms: float
    cached: bool
    stored: bool
    layers: ModelLayers | None = None


def request_key(request: CompressRequest, wish: ModelWish | None = None, model: str = "") -> str:
    """The content address of a request; the requested layer is no part of it, because all layers are computed."""
    options = (request.l1_ratio, request.l2_max_sentences, request.sections, request.query, request.scorer, ENGINE_VERSION)
    asked = repr((wish, model)) if wish is not None else ""
    return digest(request.text, repr(options), *([asked] if asked else [])).hex()


class Compressions:
    """Compresses texts; CPU work leaves the event loop."""

    def __init__(
        self,
        store: Store,
        settings: StoreSettings,
        cache: CompressionCache,
        workshop: Workshop,
    ) -> None:
        self._keeping = Keeping(store, settings.patience)
        self._settings = settings
        self._cache = cache
        self._workshop = workshop
        self._compressor = Compressor()

    async def compress(
        self,
        tenant: str,
        request: CompressRequest,
        wish: ModelWish | None = None,
        drive: DriveLayers | None = None,
        model: str = "",
    ) -> CompressionOutcome:
        """All layers, entities and sections of a text.

        Args:
            wish: what a model does of it; None: nothing.
            drive: makes the calls for that.
        """
        started = time.perf_counter()
        key = await self._workshop.run(tenant, request_key, request, wish, model)
        cached = await self._find(tenant, key)
        result = None if cached is None else await self._workshop.run(tenant, _unpack, cached)
        if result is not None:
            whole = None if wish is None else ModelLayers(result, written=wish.writes)
            return CompressionOutcome(result, _ms(started), cached=True, stored=self._settings.keeps_originals, layers=whole)
        if wish is None or drive is None:
            keeps = self._settings.keeps_originals
            done = await self._workshop.run_sized(tenant, len(request.text), _compress, self._compressor, request, keeps)
            ms = _ms(started)
            return CompressionOutcome(done.result, ms, cached=False, stored=await self._keep(tenant, key, done))
        made = await self._with_model(tenant, request, wish, drive)
        ms, kept = _ms(started), key if made.is_whole else None
        done = await self._workshop.run(tenant, _packed, made.result, self._settings.keeps_originals)
        return CompressionOutcome(made.result, ms, False, await self._keep(tenant, kept, done), made)

    async def _with_model(self, tenant: str, request: CompressRequest, wish: ModelWish, drive: DriveLayers) -> ModelLayers:
        """Use the model, unless the text has private parts."""
        if is_private(request.text):
            result = await self._workshop.run_sized(tenant, len(request.text), self._compressor.compress, request)
            return ModelLayers(result, fault="private")
        return await drive(layer_steps(request, wish, self._compressor))

    async def _find(self, tenant: str, key: str) -> bytes | None:
        try:
            return await self._cache.get(tenant, key)
        except StoreError as exc:
            _log.info("the compression cache is bypassed: %s", exc)
            return None

    async def _keep(self, tenant: str, key: str | None, made: _PackedResult) -> bool:
        """Store result and sections together. Returns whether the sections are stored.

        Args:
            key: under which the result is cached; None: it is not.
        """
        items, size = await self._workshop.run(tenant, self._items, tenant, key, made)
        if not await self._keeping.keep(items, "sections of a compressed text"):
            return False
        try:
            await self._cache.count_miss(tenant, key or "", size)
        except StoreError as exc:
            _log.info("the compression cache was not updated: %s", exc)
        return self._settings.keeps_originals

    def _items(self, tenant: str, key: str | None, made: _PackedResult) -> tuple[list[Item], int | None]:
        ttl = max(float(self._settings.ttl), self._cache.ttl)  # a cached result's sections must outlive it
        items = [item for section in made.sections for item in section_items(tenant, section, ttl, None)]
        entry = None if key is None or made.entry is None else self._cache.item(tenant, key, made.entry)
        return ([*items, entry], len(entry.value)) if entry else (items, None)


def _compress(compressor: Compressor, request: CompressRequest, keeps: bool) -> _PackedResult:
    return _packed(compressor.compress(request), keeps)


def _packed(result: CompressedResult, keeps: bool) -> _PackedResult:
    """A result with its records, if any are kept; those of a text with private parts say less, and it is not cached."""
    if not keeps:
        return _PackedResult(result, (), None)
    sections = tuple(packed(section) for section in _storable(result.sections))
    return _PackedResult(result, sections, None if is_private(result.layers[0].text) else _pack(result))


def _storable(sections: Sequence[TextSection]) -> Iterator[Layered]:
    """Sections without private text, which may begin in one section and end in another."""
    redactor = Redactor()
    for section in sections:
        raw = section.layers[0]
        public = redactor(raw.text)
        yield Layered(section.id, section.layers if public == raw.text else (Layer(public, raw.tokens),) * 3)


def _ms(started: float) -> float:
    return round(1000 * (time.perf_counter() - started), 3)


def _pack(result: CompressedResult) -> bytes:
    return zlib.compress(pydantic_core.to_json({VERSION: 1, "result": result}), 1)


def _unpack(value: bytes) -> CompressedResult | None:
    """The result of `_pack`; None where this release cannot read it."""
    return decode_record("compression result", value, _build, parse=lambda data: pydantic_core.from_json(inflate_record(data)))


def _build(value: Any) -> CompressedResult:
    """From the JSON value; in the first release the result was all of it."""
    return _RESULT.validate_python(value.get("result", value))

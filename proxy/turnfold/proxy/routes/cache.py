"""``/v1/cache``: figures of the compression cache, and emptying it, for the caller's own tenant.

This module turns counts into an answer. The cache is ``api.cache``.
"""

from __future__ import annotations

from turnfold.config.settings import CacheSettings
from turnfold.proxy.api.bodies import CacheCleared, CacheStats, Nothing
from turnfold.proxy.api.cache import CompressionCache
from turnfold.proxy.routes.operations import Operation, OperationCall


def cache_operations(cache: CompressionCache, settings: CacheSettings) -> list[Operation[Nothing]]:
    """The operations."""

    async def stats(call: OperationCall, _: Nothing) -> CacheStats:
        index = await cache.stats(call.tenant)
        looked = index.hits + index.misses
        return CacheStats(
            entries=len(index.entries),
            bytes=index.bytes,
            hits=index.hits,
            misses=index.misses,
            hit_rate=round(index.hits / looked, 4) if looked else None,
            evictions=index.evictions,
            max_entries=settings.max_entries,
            max_bytes=settings.max_bytes,
            ttl_seconds=settings.ttl,
        )

    async def clear(call: OperationCall, _: Nothing) -> CacheCleared:
        return CacheCleared(cleared=await cache.clear(call.tenant))

    return [
        Operation("GET", "/v1/cache/stats", "Read statistics of the compression cache", CacheStats, Nothing, stats),
        Operation("POST", "/v1/cache/clear", "Empty the compression cache", CacheCleared, Nothing, clear),
    ]

"""From a store's URL to a store.

This module knows the back-end for each URL, and its layers. Settings are validated in ``config``.

Around a back-end, from the inside: encryption if there are keys, time-outs and the circuit breaker, the memory of recent
values.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from turnfold.config.paths import default_store_url, in_home
from turnfold.config.settings import StoreSettings
from turnfold.config.sources import without_password
from turnfold.config.values import REDIS_SCHEMES
from turnfold.proxy.incidents import Incidents
from turnfold.proxy.store.base import HasReplicas, MayEvict, NewestWrites, Store, StoreAway, StoreFailed, StoreUnavailable
from turnfold.proxy.store.cached import CachedStore
from turnfold.proxy.store.guard import BackgroundStore, GuardedStore, TimedStore
from turnfold.proxy.store.memory import MemoryStore, NothingStore
from turnfold.proxy.store.sealed import SealedStore, Seals
from turnfold.proxy.store.sqlite import SqliteStore

_LONGEST: Final = 10.0  # seconds for batches and listings
_AWAKE: Final = 3.0  # seconds within which a working store answers any call
_DELETION: Final = 600.0  # seconds for one step of a deletion by tenant
#: Kinds whose ids are hashes of their content.
CONTENT_ADDRESSED: Final = frozenset({"section"})


def _memory(url: str, settings: StoreSettings) -> Store:
    del url
    return MemoryStore(settings.memory_bytes, settings.tenant_share)


def _nothing(url: str, settings: StoreSettings) -> Store:
    del url
    return NothingStore(settings.memory_bytes)


def _sqlite(url: str, settings: StoreSettings) -> Store:
    return SqliteStore(in_home(url.removeprefix("sqlite:///"), "TURNFOLD_STORE_URL"), settings.max_bytes, settings.tenant_share)


def _redis(url: str, settings: StoreSettings) -> Store:
    from turnfold.proxy.store.redis_store import RedisStore  # noqa: PLC0415 - its client is loaded where it is used

    return RedisStore(url, settings.patience)


_BACKENDS: Final[Mapping[str, Callable[[str, StoreSettings], Store]]] = MappingProxyType(
    {"memory": _memory, "none": _nothing, "sqlite": _sqlite, **dict.fromkeys(REDIS_SCHEMES, _redis)}
)


#: Back-ends that outlive the process.
_LASTING: Final = frozenset({"sqlite", *REDIS_SCHEMES})


class OpenStore(CachedStore):
    """A back-end with its layers; also reports its health.

    Attributes:
        patient: the same store for calls without a fallback: they wait for seconds, and no breaker refuses them.
        background: the same store for work that no request waits for: it waits for seconds, and continues while the store is only
            slow.
        deleting: the same store for deletions by tenant, which may take minutes.
        file: the back-end, if it is a file.
        evicting: the back-end, if its server may evict data; else None.
        newest_writes: the last batches, if another server may take over; else None.
    """

    file: SqliteStore | None = None
    evicting: MayEvict | None = None
    newest_writes: NewestWrites | None = None

    def __init__(self, backend: Store, settings: StoreSettings, incidents: Incidents | None = None) -> None:
        self._place = without_password(settings.url or default_store_url())
        self._guard = GuardedStore(backend, settings.timeout, incidents=incidents)
        kinds = frozenset[str]() if settings.is_off else CONTENT_ADDRESSED
        super().__init__(self._guard, kinds, settings.memory_bytes // 2, share=settings.tenant_share)
        longest = max(settings.patience, _LONGEST)
        self.patient: Store = self.beside(TimedStore(backend, settings.patience, longest, self._guard.given_up))
        self.background: Store = self.beside(BackgroundStore(backend, settings.patience, self._guard))
        self.deleting: Store = self.beside(TimedStore(backend, settings.patience, _DELETION, self._guard.given_up))

    async def check(self) -> None:
        """Return if the store answers now. For operators' calls, which would otherwise wait for each step to time out.

        Raises:
            StoreAway: it does not answer within three seconds, or cannot be reached.
        """
        try:
            async with asyncio.timeout(_AWAKE):
                await self.patient.ping()
        except TimeoutError as exc:
            raise StoreAway(f"The store ({self._place}) is frozen: no answer within {_AWAKE:g} s.") from exc
        except StoreUnavailable as exc:
            raise StoreAway(f"The store ({self._place}) does not answer: {str(exc).rstrip('.')}.") from exc

    @property
    def problem(self) -> str:
        """Why the store is not in use; "" while it is."""
        return self._guard.problem

    @property
    def failures(self) -> int:
        """The number of failed calls in this process so far."""
        return self._guard.failures


def open_store(settings: StoreSettings, incidents: Incidents | None = None) -> OpenStore:
    """The store named by the settings. It belongs to the event loop that first uses it.

    Nothing is connected or written before the first call, so Turnfold starts even while the store is down.

    Raises:
        StoreFailed: the back-end does not understand the URL, or there are keys and the package that encrypts is not installed.
    """
    url = settings.url or default_store_url()
    scheme = url.partition("://")[0]
    cipher = _cipher(settings)
    own = backend = _BACKENDS[scheme](url, settings)
    if scheme in _LASTING:
        backend = SealedStore(backend, cipher, float(max(settings.ttl, settings.report_ttl)))
    store = OpenStore(backend, settings, incidents)
    if isinstance(own, SqliteStore):
        store.file = own
    if isinstance(own, MayEvict):
        store.evicting = own
    if isinstance(own, HasReplicas):
        store.newest_writes = own.newest_writes
    return store


def _cipher(settings: StoreSettings) -> Seals | None:
    if not settings.encryption_keys:
        return None
    try:
        made: Seals = importlib.import_module("turnfold.proxy.sealing.cipher").Cipher(settings.key_bytes)
    except ImportError as exc:
        problem = "TURNFOLD_STORE_ENCRYPTION_KEYS needs the package cryptography: pip install 'turnfold[encryption]'"
        raise StoreFailed(problem) from exc
    return made

"""Which names of a tenant's, tags and models, have sums of their own.

This module keeps a tenant's lists of names in use and says under which name a receipt is counted. The header is read in
``http.tags``, sums are in ``books.rollups``.

Both come from clients, and a table must not grow with every invented name. A tenant's first `most` names are counted by name, any
other as `OTHER`. A name that has not been seen for 30 days gives up its place. The lists are in the store, so they survive a
restart; processes that write them at the same time may exceed the limit by what the others added meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from turnfold.config.settings import StoreSettings
from turnfold.proxy.store import Item, Key, Store
from turnfold.proxy.store.records import MODELS, TAGS, VERSION, UnreadableRecord, decode_record, encode_record

#: The name under which names without a place are counted.
OTHER: Final = "(other)"

_DAY: Final = 86_400
_UNUSED: Final = 30  # days


def _seen(value: Any) -> dict[str, int]:
    """Names with the day on which each was last seen."""
    seen: dict[str, int] = value["seen"]
    if not all(type(day) is int for day in seen.values()):
        raise UnreadableRecord("a day is no number")
    return seen


class NamePlaces:
    """The names that have a place in one kind of list, for one batch of receipts.

    Args:
        kind: `TAGS` or `MODELS`.
        most: maximum number of names with a place, for each tenant.
        held: tenant -> its names with the day on which each was last seen, in days since 1970.
    """

    def __init__(self, kind: str, most: int, held: Mapping[str, Mapping[str, int]]) -> None:
        self._kind = kind
        self._most = most
        self._seen = {tenant: dict(seen) for tenant, seen in held.items()}
        self._changed: set[str] = set()

    @classmethod
    async def read(cls, store: Store, kind: str, tenants: Iterable[str], most: int) -> NamePlaces:
        """The tenants' places, from the store.

        Raises:
            StoreError: the store does not answer.
        """
        named = list(dict.fromkeys(tenants))
        values = await store.get([Key(tenant, kind, "") for tenant in named]) if named else []
        found = (
            (tenant, decode_record(f"list of {kind}", value, _seen)) for tenant, value in zip(named, values, strict=True) if value
        )
        return cls(kind, most, {tenant: seen for tenant, seen in found if seen is not None})

    def placed(self, tenant: str, names: Iterable[str], at: float, *, served: bool = True) -> tuple[str, ...]:
        """A request's names, each as itself if it has a place; `OTHER` once for all that have none.

        Args:
            tenant: the request's tenant.
            names: the request's tags, or its model.
            at: Unix time of the request.
            served: whether an upstream served it. Names of other requests get at most half of the places, so that invented ones
                never take all.
        """
        most = self._most if served else (self._most + 1) // 2
        return tuple(dict.fromkeys(self._place(tenant, name, int(at) // _DAY, most) for name in names))

    def _place(self, tenant: str, name: str, today: int, most: int) -> str:
        seen = self._seen.setdefault(tenant, {})
        if name not in seen and len(seen) >= most:
            self._seen[tenant] = seen = {one: day for one, day in seen.items() if day > today - _UNUSED}
            if len(seen) >= most:
                return OTHER
        if seen.get(name, -1) < today:
            seen[name] = today
            self._changed.add(tenant)
        return name

    def items(self, ttl: float) -> list[Item]:
        """The changed lists, as items for the store."""
        return [
            Item(Key(tenant, self._kind, ""), encode_record({VERSION: 1, "seen": self._seen[tenant]}), ttl)
            for tenant in sorted(self._changed)
        ]


@dataclass(frozen=True, slots=True)
class SummedNames:
    """The places of a batch's tags and models."""

    tags: NamePlaces
    models: NamePlaces

    @classmethod
    async def read(cls, store: Store, tenants: Iterable[str], tagging: Iterable[str], settings: StoreSettings) -> SummedNames:
        """The places from the store.

        Args:
            tagging: tenants that sent tags.

        Raises:
            StoreError: the store does not answer.
        """
        return cls(
            await NamePlaces.read(store, TAGS, tagging, settings.max_tags),
            await NamePlaces.read(store, MODELS, tenants, settings.max_models),
        )

    def placed_model(self, tenant: str, model: str, at: float, *, served: bool) -> str:
        """A model's name for counting; see `NamePlaces.placed`."""
        return self.models.placed(tenant, [model], at, served=served)[0]

    def items(self, ttl: float) -> list[Item]:
        """The changed lists, as items for the store."""
        return [*self.tags.items(ttl), *self.models.items(ttl)]

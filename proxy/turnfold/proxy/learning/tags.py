"""Which tags of a tenant have sums of their own.

Lives here: a tenant's list of tags in use, and which place a receipt's tags get. Does not belong here: the header
(``http.tags``), sums (``books.rollups``).

Tags come from clients, and a table must not grow with every invented name. The first `most` tags of a tenant are counted by
name, any other as `OTHER`. A tag that was not seen for 30 days gives its place away. The list lies in the store, so it
survives a restart; processes that write it at the same time may exceed the limit by what the others added meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from turnfold.proxy.store import Item, Key, Store
from turnfold.proxy.store.records import VERSION, UnreadableRecord, decode_record, encode_record

#: Stands for every tag without a place.
OTHER: Final = "(other)"

_KIND: Final = "tags"
_DAY: Final = 86_400
_UNUSED: Final = 30  # days


def _key(tenant: str) -> Key:
    return Key(tenant, _KIND, "")


def _seen(value: Any) -> dict[str, int]:
    """Tag -> day on which it was last seen."""
    seen: dict[str, int] = value["seen"]
    if not all(type(day) is int for day in seen.values()):
        raise UnreadableRecord("a day is no number")
    return seen


class TagPlaces:
    """The places of one batch of receipts.

    Args:
        most: tags with a place, for each tenant.
        held: tenant -> its tags with the day on which each was last seen, in days since 1970.
    """

    def __init__(self, most: int, held: Mapping[str, Mapping[str, int]]) -> None:
        self._most = most
        self._seen = {tenant: dict(seen) for tenant, seen in held.items()}
        self._changed: set[str] = set()

    @classmethod
    async def read(cls, store: Store, tenants: Iterable[str], most: int) -> TagPlaces:
        """The places as the store has them, of tenants that sent tags.

        Raises:
            StoreError: the store does not answer.
        """
        named = list(dict.fromkeys(tenants))
        values = await store.get([_key(tenant) for tenant in named]) if named else []
        found = (
            (tenant, decode_record("list of tags", value, _seen)) for tenant, value in zip(named, values, strict=True) if value
        )
        return cls(most, {tenant: seen for tenant, seen in found if seen is not None})

    def placed(self, tenant: str, tags: Iterable[str], at: float) -> tuple[str, ...]:
        """Tags of a request at a Unix time, each by its name where it has a place; `OTHER` once for all that have none."""
        return tuple(dict.fromkeys(self._place(tenant, tag, int(at) // _DAY) for tag in tags))

    def _place(self, tenant: str, tag: str, today: int) -> str:
        seen = self._seen.setdefault(tenant, {})
        if tag not in seen and len(seen) >= self._most:
            self._seen[tenant] = seen = {name: day for name, day in seen.items() if day > today - _UNUSED}
            if len(seen) >= self._most:
                return OTHER
        if seen.get(tag, -1) < today:
            seen[tag] = today
            self._changed.add(tenant)
        return tag

    def items(self, ttl: float) -> list[Item]:
        """The lists that changed, to be stored."""
        return [
            Item(_key(tenant), encode_record({VERSION: 1, "seen": self._seen[tenant]}), ttl) for tenant in sorted(self._changed)
        ]

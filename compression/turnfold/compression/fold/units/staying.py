"""Units that no fold removes: those with an attachment, and what must stay with them so that roles alternate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from turnfold.compression.fold.units.unit import Unit
from turnfold.compression.memo import Memo, continued


class _Staying(NamedTuple):
    """The units that stay among the first ones, with the newest user's message and the newest unit that is not an instruction."""

    units: int
    stays: frozenset[int]
    user: int | None
    last: int | None


_KEPT: Final = 4  # requests that can be resumed when a cache mark moves
_NONE_STAYS: Final = _Staying(0, frozenset(), None, None)


def staying(units: Sequence[Unit], memo: Memo | None = None) -> frozenset[int]:
    """Indices of units that no fold removes: those with an attachment, and those that must stay with them so that roles
    alternate.

    For a user's message that is the last unit of its answer; for an assistant's, the user's message before it. Both are known
    before a fold could remove them.
    """

    def run(known: tuple[_Staying, ...] | None, same: int) -> tuple[_Staying, ...]:
        before = [one for one in known or () if one.units <= same][-_KEPT:]
        return (*before, _find_staying(units, before[-1] if before else _NONE_STAYS))

    key = ("staying", tuple([unit[:4] for unit in units[:4]]))
    return continued(memo, key, units, run, lambda found: sum([100 + 40 * len(one.stays) for one in found]))[-1].stays


def _find_staying(units: Sequence[Unit], known: _Staying) -> _Staying:
    new = set[int]()
    user, last = known.user, known.last
    for index, unit in enumerate(units[known.units :], known.units):
        if unit.is_user:
            if user is not None and last is not None and last > user and (user in new or user in known.stays):
                new.add(last)
            user = index
        last = last if unit.pinned else index
        if unit.attached:
            new.add(index)
            if user is not None:
                new.add(user)
    return _Staying(len(units), known.stays | new if new else known.stays, user, last)

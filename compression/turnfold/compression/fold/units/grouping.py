"""Grouping the messages of a conversation into units, so that a tool call and its results stay together."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final, NamedTuple

from turnfold.compression.fold.shape import ShapedResult
from turnfold.compression.fold.units.reading import read_unit
from turnfold.compression.fold.units.unit import Unit
from turnfold.compression.memo import Grown, Memo, continued
from turnfold.compression.wire.message import Message, family

_AS_THEY_CAME: Final[Mapping[int, ShapedResult]] = MappingProxyType({})


def units(
    messages: Sequence[Message],
    results: Mapping[int, ShapedResult] = _AS_THEY_CAME,
    memo: Memo | None = None,
    kept: frozenset[int] = frozenset(),
) -> tuple[Unit, ...]:
    """Group messages into units. Every message is in exactly one, in order.

    Results count in their shaped form; `memo` saves time if given; `kept` are indices of messages that stay unchanged.
    """

    def run(known: _Grouped | None, same: int) -> _Grouped:
        if known is None or not _counts_alike(known, results, kept, same):
            return _grouped(Grown(_group(messages, results, kept, (), has_rows=False)), results, kept, None)
        # The last unit of a prefix may continue after it, and so may the one before instructions at its end.
        while same and messages[same - 1].pinned:
            same -= 1
        settled = known.units[: bisect_left(known.units, same - 1, key=lambda unit: unit.end)]
        rows_at = known.rows_at if known.rows_at is not None and known.rows_at < len(settled) else None
        found = settled + _group(messages, results, kept, settled, has_rows=rows_at is not None)
        return _grouped(Grown(found, known.units, len(settled)), results, kept, rows_at, len(settled))

    key = ("units", family(messages), bool(results))
    return continued(memo, key, messages, run, lambda found: 150 * len(found.units)).units


class _Grouped(NamedTuple):
    """Units, the results' forms and kept messages used for counting them, and the first unit with rows."""

    units: Grown[Unit]
    results: Mapping[int, ShapedResult]
    kept: frozenset[int]
    rows_at: int | None


def _grouped(
    found: Grown[Unit], results: Mapping[int, ShapedResult], kept: frozenset[int], rows_at: int | None, since: int = 0
) -> _Grouped:
    """Units; those before `since` were already searched for rows."""
    if rows_at is None:
        rows_at = next((since + n for n, unit in enumerate(found[since:]) if unit.rows), None)
    return _Grouped(found, results, kept, rows_at)


def _counts_alike(known: _Grouped, results: Mapping[int, ShapedResult], kept: frozenset[int], end: int) -> bool:
    """Whether the messages before `end` have the same forms, and the same of them are kept."""
    if known.kept is not kept and {i for i in known.kept if i < end} != {i for i in kept if i < end}:
        return False
    if known.results is results or not (known.results or results):
        return True
    was, now = ({i: form for i, form in some.items() if i < end} for some in (known.results, results))
    return was == now


def _group(
    messages: Sequence[Message],
    results: Mapping[int, ShapedResult],
    kept: frozenset[int],
    settled: Sequence[Unit],
    *,
    has_rows: bool,
) -> tuple[Unit, ...]:
    """The units after the settled ones; `has_rows` says whether one of the settled units has rows."""
    begin = settled[-1].end if settled else 0
    rest = range(begin, len(messages))
    inside = set(_instructions_inside(messages, begin))
    starts = [i for i in rest if i == begin or not (_continues(messages[i]) or i in inside)]
    found: list[Unit] = []
    for start, end in pairwise([*starts, len(messages)]):
        found.append(read_unit(messages, results, kept, start, end, has_rows=has_rows))
        has_rows = has_rows or bool(found[-1].rows)
    return tuple(found)


def _continues(message: Message) -> bool:
    """Whether a message belongs to the unit of the message before it."""
    return message.is_result or message.bound or (message.role == "user" and not message.holds)


def _instructions_inside(messages: Sequence[Message], begin: int) -> Iterator[int]:
    """Indices of instructions followed by a message that belongs to the unit before them."""
    inside = False
    for index in range(len(messages) - 1, begin - 1, -1):
        if not messages[index].pinned:
            inside = _continues(messages[index])
        elif inside:
            yield index

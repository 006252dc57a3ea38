"""Tables that a user works on: which are in use, and a folded one that is restored because a request needs all of its rows.

Which messages ask for rows is known to the units (``fold.units.reading``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from turnfold.compression.fold import policy
from turnfold.compression.fold.course import Course
from turnfold.compression.fold.pieces import piece_of, saved_by
from turnfold.compression.fold.replaying.costs import unmarked_front
from turnfold.compression.fold.replaying.state import Replay
from turnfold.compression.fold.units.unit import Unit

_SOON: Final = 2  # messages of the user within which work on rows begins
_SOON_ASKED: Final = 6  # requests within which these must be sent: an agent may continue alone


def reopen_table(course: Course, now: Replay, index: int) -> Replay:
    """The replay with a folded table restored, if a request needs all of its rows; this is a fold event too.

    Unchanged if some rows, quoted by recall, are enough, or the cost is too high.
    """
    table = _folded_table(course, now, index)
    if table is None or course.options.preserved_thinking or course.units[index].tells_rows_of(course.units[table]):
        return now
    new = _with_exchange(course, table, now.tail)
    reopened, first = now.reopened.union(new), new[0]
    changed = [p for p in now.pieces if any(p.start <= i < p.end for i in new)]
    pieces = tuple(
        [piece_of(course, p.start, p.end, p.level, reopened, keeps=p.keeps) if p in changed else p for p in now.pieces]
    )
    known = course.total[course.requests[now.turns - 1] + 1] if now.turns else 0
    behind = known - course.total[first] - saved_by(p for p in now.pieces if p.start >= first)[0]
    warm = now.decision.warmth.share(course.shape_at(now.turns).loops)
    tokens = sum(course.units[i].tokens for i in new)
    loss = policy.rewrite_cost(course.options, warm, 0, 0, tokens, behind + unmarked_front(course, now, first))
    if loss > policy.allowance(now.saved, now.spent, policy.AT_RISK_FOR_TABLES):
        return now
    return now._replace(pieces=pieces, reopened=reopened, events=now.events + 1, moved=index, saved=now.saved - loss)


def worked_on(course: Course, start: int, end: int, index: int) -> Iterator[list[int]]:
    """The user's tables in ``start..end`` used by a message up to the request, each with the units that stay with it.

    Whoever uses a table is expected to continue.
    """
    for table in course.tables:
        if start <= table < end and course.units[table].is_user:
            asking = (course.units[i] for i in range(table, index + 1) if course.units[i].is_user)
            if any(unit.works_on(course.units[table]) for unit in asking):
                yield _with_exchange(course, table, end)


def _with_exchange(course: Course, table: int, tail: int) -> list[int]:
    """A unit with rows, the user's unit before it, and the last one that answers that, so that roles alternate. Units in between
    stay folded.
    """
    units = course.units
    asked = next((i for i in range(table, course.first - 1, -1) if units[i].is_user), table)
    after = next((i for i in range(table + 1, tail) if units[i].is_user), tail)
    last = next((i for i in range(after - 1, table, -1) if not units[i].pinned), table)
    return sorted({asked, table, last})


def _folded_table(course: Course, now: Replay, index: int) -> int | None:
    """The folded unit with the rows that a request is about: the one that it describes best; among equals, the newest."""
    asks = course.units[index]
    if not (asks.tallies and now.pieces):
        return None
    tables = [i for i in course.tables if i < index and asks.works_on(course.units[i])]
    meant = max(tables, key=lambda i: (len(asks.tallies & course.units[i].rows), i), default=index)
    is_folded = now.pieces[0].start <= meant < now.tail
    return meant if is_folded and meant not in now.reopened else None


def rests(units: Sequence[Unit], table: int, index: int) -> bool:
    """Whether a unit with a user's rows is too recent at the unit `index` to know whether they will be used."""
    return (
        units[table].is_user
        and len(_asked_soon(units[: index + 1], table)) < _SOON
        and sum(unit.asks for unit in units[table + 1 : index + 1]) < _SOON_ASKED
    )


def _asked_soon(units: Sequence[Unit], table: int) -> list[Unit]:
    """The user's first messages after a unit with rows."""
    found: list[Unit] = []
    asked = 0
    for unit in units[table + 1 :]:
        asked += unit.asks
        found += [unit] * unit.is_user
        if len(found) == _SOON or asked == _SOON_ASKED:
            break
    return found

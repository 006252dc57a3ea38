"""Where a fold event puts its border: between the units that are folded and the newest, which stay raw.

Whether there is an event is decided in ``events``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final

from turnfold.compression.fold.course import Course
from turnfold.compression.fold.policy import Thresholds
from turnfold.compression.fold.replaying.tables import rests
from turnfold.compression.fold.units.questions import handed_over, question_start

_RESULT_SHARE: Final = 0.75  # largest share of a fold's raw tail for a single tool result
# The same if steps have signed reasoning, so that FACTS leave nothing out: everything older than the raw tail becomes a summary.
_SEALED_SHARE: Final = 1 / 6
_KEPT_WHOLE: Final = 0.8  # largest share of a budget's limit for a raw tail that FACTS would leave whole
_RECENT: Final = 6  # units within which a client's moving cache mark stays


def border_unit(course: Course, tail: int, index: int, limits: Thresholds) -> int:
    """The first unit that stays raw.

    The newest tokens to keep, moved to a user message if one is near. At least one unit stays; so do the user's newest message if
    it is between a call and its late result, the words that a picture belongs to, and the files that a client hands over for it.
    """
    index = max(tail, question_start(course.units, _newest_interrupted(course, index)))
    given = _given(course, index, limits)
    most = min(given.start, _resting(course, tail, index))
    border = min(max(tail, most), _newest(course, tail, index, given, limits))
    reach = limits.keep_recent // 2
    return next((i for i in _near(course, tail, border, index, reach) if i <= most and course.units[i].is_user), border)


def _resting(course: Course, tail: int, index: int) -> int:
    """The first unit with rows for which it is not yet known whether they will be used."""
    return next((i for i in course.tables if tail <= i < index and rests(course.units, i, index)), index)


def _given(course: Course, index: int, limits: Thresholds) -> range:
    """The material handed over for the current question; empty if a budget has no room for it."""
    given = handed_over(course.units, index)
    fits = limits.limit is None or course.tokens(given.start, index + 1) <= limits.limit // 2
    return given if fits else range(index, index)


def _newest(course: Course, tail: int, index: int, given: range, limits: Thresholds) -> int:
    """The first of the newest units to keep, besides material handed over.

    A single tool result takes at most its share, so that a long one does not displace the steps just before it; nor do several if
    FACTS leave nothing out, such as screenshots. A budget has room for either, up to most of its limit.
    """
    room, limit = limits.keep_recent, limits.limit
    is_whole = course.is_left_whole(tail, index + 1)
    most = int((_SEALED_SHARE if is_whole else _RESULT_SHARE) * room) if limit is None or is_whole else course.total[-1]
    left = course.total[-1] if limit is None else int(_KEPT_WHOLE * limit)
    for i in range(index, tail - 1, -1):
        size, unit = course.tokens(i, i + 1), course.units[i]
        if i not in given:
            room -= min(size, most) if unit.asks and not unit.is_user else size
            left -= size
        if room < 0 or (left < 0 and is_whole):
            return i + 1
    return tail


def _newest_interrupted(course: Course, index: int) -> int:
    """The unit up to `index` with the user's newest message, if that is inside another unit; otherwise `index`."""
    last = bisect_right(course.interrupted, index)
    held = course.interrupted[last - 1] if last else index
    return index if course.users[index + 1] > course.users[held] else held


def _near(course: Course, tail: int, border: int, index: int, reach: int) -> Iterator[int]:
    here = course.raw[border]
    yield from range(border, min(index + 1, bisect_right(course.raw, here + reach)))
    yield from range(border - 1, max(tail, bisect_left(course.raw, here - reach) - 1), -1)


def fold_start(course: Course, tail: int, border: int, index: int) -> int:
    """The earliest place to fold: after every cache mark that the client keeps in an old place, since caches hit up to there."""
    units = course.units
    old = range(tail, min(border, index - _RECENT))
    last = max((i for i in old if units[i].marked and not units[i].pinned), default=None)
    if last is None:
        return tail
    return next((i for i in range(last + 1, border) if units[i].is_user), border)

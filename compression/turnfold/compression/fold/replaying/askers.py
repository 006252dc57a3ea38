"""Which user messages keep their recall when the next one comes.

The arithmetic is in ``fold.policy``; what is recalled is chosen in ``fold.ask``.
"""

from __future__ import annotations

from turnfold.compression.fold import policy
from turnfold.compression.fold.course import Course
from turnfold.compression.fold.pieces import Asker, quoted_entries, recall_tokens
from turnfold.compression.fold.replaying.costs import LEAST_TURNS
from turnfold.compression.fold.replaying.state import Replay, thresholds_at


def settle_askers(course: Course, before: Replay, index: int) -> tuple[Asker, ...]:
    """The askers after the next user message: earlier recalls stay only if dropping them costs more than reading them."""
    kept = list(before.askers[:-1])
    if before.askers and _stays(course, before, index):
        kept.append(before.askers[-1]._replace(last=False))
    return (*kept, Asker(index, before.pieces, before.decision.warmth, course.shape_at(before.turns), last=True))


def _stays(course: Course, before: Replay, index: int) -> bool:
    asker = before.askers[-1]
    if not asker.pieces:
        return False
    bound = course.options.preserved_thinking and course.has_reasoning(asker.unit, index)
    if bound or course.options.recall_stays or _is_cached_behind(course, before):
        return True
    if asker.unit < before.tail:  # it was folded while its recall stayed
        return False
    recall, since = recall_tokens(asker, course.options), _cached_since(course, before, index)
    if course.units[asker.unit].goes_over:
        recall += quoted_entries(course, asker.pieces)
    if not policy.keeps_recall(course.options, recall, since, LEAST_TURNS):  # nor do more of them
        return False
    return policy.keeps_recall(course.options, recall, since, _turns_left(course, before, index))


def _cached_since(course: Course, before: Replay, index: int) -> int:
    """Tokens after the newest recall that may be cached, up to the unit `index`.

    A cache that hits only at the client's marks does not have the answer to the last request: it is written with the next one,
    with or without the recall before it. Other caches may have it, or hit only at the end of that request.
    """
    start = before.askers[-1].unit + 1
    only_marks = course.marked and not course.options.cache_breakpoints
    end = course.requests[before.turns - 1] + 1 if only_marks and before.turns else index
    return course.tokens(start, max(start, end))


def _turns_left(course: Course, before: Replay, index: int) -> float:
    """Expected number of turns until the next fold event."""
    tail = course.tokens(before.tail, index + 1)
    pace = tail / (course.users[index + 1] - course.users[before.tail])
    return max(LEAST_TURNS, (thresholds_at(course, before, index).fold_at - tail) / max(1.0, pace))


def _is_cached_behind(course: Course, before: Replay) -> bool:
    """Whether the provider has cached text after the newest recall, if its cache hits only at the client's marks.

    This is the case once a tool loop has continued after the recall. Without the recall, the next request would hit at the mark
    on its
    asker at best, and nowhere if a fold event came in between or the loop is longer than the cache looks back (Anthropic: 20
    blocks).
    """
    return course.marked and before.turns > 0 and course.requests[before.turns - 1] > before.askers[-1].unit

"""What requests cost and save under a replay, in uncached input tokens.

The prices and the arithmetic of a single figure are in ``fold.policy``; what follows from a cost is decided in ``events``,
``tables`` and ``fold.replay``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from turnfold.compression.fold import policy
from turnfold.compression.fold.course import Course
from turnfold.compression.fold.pieces import quoted_entries, saved_by
from turnfold.compression.fold.replaying.state import Replay, thresholds_at
from turnfold.compression.options import USUAL_LEAST

LEAST_TURNS: Final = 1.0  # until the next fold event
_TELLS: Final = int(1.5 * USUAL_LEAST)  # tokens sent again from which on a request shows whether there is a cache
_SURE: Final = 2  # such requests that show that there is none


def unfolded_cost(course: Course, now: Replay, index: int) -> float:
    """The cost of a request without folds, with shaped results."""
    warmth, prices = now.decision.warmth, course.options.prices
    known = course.total[course.requests[now.turns - 1] + 1] if now.turns else 0
    warm = 0.0 if now.decision.cold else warmth.turns if course.units[index].is_user else warmth.loops
    price = prices.reread(warm)
    return price * known + prices.write * (course.total[index + 1] - known)


def saving(course: Course, now: Replay, index: int) -> float:
    """The savings of a request from its folds, minus the maximum cost of recall."""
    if not now.pieces:
        return 0.0
    warmth, prices = now.decision.warmth, course.options.prices
    left_out, folded = saved_by(now.pieces)
    if not course.units[index].is_user:
        return prices.reread(warmth.loops) * left_out
    shape = course.shape_at(now.turns)
    recall = policy.most_recall_tokens(course.options, warmth, shape, left_out, folded) if course.options.recall else 0
    if recall and course.units[index].goes_over:
        recall += quoted_entries(course, now.pieces)
    return prices.reread(warmth.turns) * left_out - prices.write * recall


def loss_unfolded(course: Course, now: Replay, index: int) -> float:
    """The cost of sending a request without its folds, which loses their cached prefix.

    Compared with never folding, where everything sent before may be cached.
    """
    if not now.pieces:
        return 0.0
    warmth, prices = now.decision.warmth, course.options.prices
    known = course.total[course.requests[now.turns - 1] + 1] - course.total[now.pieces[0].start]
    return (prices.write - prices.reread(warmth.turns)) * known


def saves_more(course: Course, before: Replay, after: Replay, index: int) -> bool:
    """Whether requests after a fold cost less than before, including quotes: even a fold without cost may be too early."""
    return _saved_a_turn(course, after, index) > _saved_a_turn(course, before, index)


def _saved_a_turn(course: Course, now: Replay, index: int) -> float:
    if not now.pieces:
        return 0.0
    warmth, shape, options = now.decision.warmth, course.shape_at(now.turns), course.options
    left_out, folded = saved_by(now.pieces)
    recall = policy.most_recall_tokens(options, warmth, shape, left_out, folded) if options.recall else 0
    limits = thresholds_at(course, now, index)
    turns = max(LEAST_TURNS, (limits.fold_at - limits.keep_recent) / max(1.0, shape.pace))
    quoted = policy.rewritten_by_recall(options, shape, recall, turns) if recall else 0.0
    return options.prices.reread(warmth.share(shape.loops)) * left_out - max(0.0, 1 - shape.loops) * quoted


def stake(course: Course, before: Replay, after: Replay) -> tuple[float, int]:
    """The immediate cost of a fold, and the tokens that it saves.

    From the first new piece on, everything is written again, including text that can't be folded (attachments, instructions).
    """
    new = [p for p in after.pieces if p not in before.pieces]
    left = sum(p.size for p in new)
    old = sum(p.size for p in before.pieces if p not in after.pieces)
    start = max((p.end for p in before.pieces), default=course.first)
    sent = course.requests[before.turns - 1] + 1 if before.turns else 0
    known = min(max(start, sent), after.tail)
    stays = after.reopened
    raw, fresh = old + course.folds(start, known, stays), course.folds(known, after.tail, stays)
    first = min((p.start for p in new), default=start)
    among = course.total[known] - course.total[first] - course.folds(first, known, stays) if known > first else 0
    behind = course.total[max(after.tail, sent)] - course.total[after.tail]
    again = among + behind + unmarked_front(course, before, first)
    warm = 0.0 if before.decision.cold else before.decision.warmth.share(course.shape_at(before.turns).loops)
    return policy.rewrite_cost(course.options, warm, raw, fresh, left, again), raw + fresh - left


def is_dear_if_cached(course: Course, before: Replay, after: Replay, index: int) -> bool:
    """Whether a fold would cost too much if the upstream caches after all, and too little was sent again to have shown that."""
    prices, requests = course.options.prices_if_cached, course.requests[: before.turns]
    if prices is None or before.decision.caches or course.options.belief is None:
        return False
    told = [course.total[end + 1] for end in requests[:-1]]  # what each of them but the first has sent again
    if sum(size >= _TELLS for size in told) >= _SURE:
        return False
    sizes = [*(course.total[end + 1] for end in requests), course.total[index + 1]]
    spent = prices.write * sizes[-1] + prices.read * sum(sizes[:-1])
    cached = course._replace(options=replace(course.options, prices=prices))
    return stake(cached, before, after)[0] > policy.allowance(0.0, spent)


def quoted_more(course: Course, before: Replay, after: Replay, index: int) -> float:
    """The additional cost of an average request after a fold, from quotes for questions about all entries that users keep."""
    more = quoted_entries(course, after.pieces) - quoted_entries(course, before.pieces)
    return course.share_over_all(index) * course.options.prices.write * more


def unmarked_front(course: Course, before: Replay, start: int) -> int:
    """Tokens before the unit `start` whose cache a fold invalidates: those after the last mark on instructions.

    Other marks move along, and were in the changed text.
    """
    if not course.forgets_front or not before.turns:
        return 0
    here = 1 + max((i for i in range(start) if course.units[i].pinned and course.units[i].marked), default=-1)
    return course.total[start] - course.total[here] - sum(p.tokens - p.size for p in before.pieces if here <= p.start < start)

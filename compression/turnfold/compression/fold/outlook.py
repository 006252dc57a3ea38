"""Why a conversation is not folded, and when it will be.

This module gives the reason why nothing is folded, the size at which something will be, and how long a summary would serve. What
is folded is decided in ``replay``: a forecast moves no border.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from turnfold.compression.fold import policy
from turnfold.compression.fold.course import Course
from turnfold.compression.fold.pieces import Level, Piece
from turnfold.compression.fold.policy import Shape, Thresholds
from turnfold.compression.fold.replaying.state import Replay, thresholds_at

_AHEAD: Final = 250  # maximum requests to look ahead
_MOST_LEFT: Final = 0.7  # a forecast assumes that a fold leaves at most this share: later messages may be longer


class Outlook(NamedTuple):
    """Why nothing is folded yet.

    Attributes:
        reason: "short"; "unfoldable": most of it is instructions, worked examples, attachments or tables in use; "waiting": a
            fold would not pay off yet; "braked"; "asks-for-all": it asks for a summary of everything.
        at: expected tokens of the conversation at the fold, if it continues as it has; None: unknown.
        foldable: tokens that can be folded sooner or later.
    """

    reason: str = "short"
    at: int | None = None
    foldable: int = 0


def outlook(course: Course, now: Replay) -> Outlook:
    """Why the conversation is not folded further after its newest request."""
    if not course.requests:
        return Outlook(foldable=course.raw[-1])
    if now.decision.brake:
        return Outlook("braked", None, course.raw[-1])
    index = course.requests[-1]
    shape, total = course.shape_at(now.turns - 1), course.total[index + 1]
    limits = policy.thresholds(course.options, now.decision.warmth, total, shape, course.squeeze)
    at = _pays_at(course, now, limits, shape)
    if 2 * course.folds(0, index + 1, now.reopened) < total and total > limits.start:
        return Outlook("unfoldable", at, course.raw[-1])
    return Outlook("short" if total <= limits.start else "waiting", at, course.raw[-1])


def _pays_at(course: Course, now: Replay, limits: Thresholds, shape: Shape) -> int | None:
    """Approximate tokens of the conversation when the next fold pays off, if it grows as it has; None: not soon."""
    index = course.requests[-1]
    total, tail = course.total[index + 1], course.tokens(now.tail, index + 1)
    prices = course.options.prices
    warm = now.decision.warmth.share(shape.loops)
    pace = max(1, int(shape.pace))
    due = max(limits.start, total - tail + limits.fold_at) + 1
    first = ahead = max(1, -(-(due - total) // pace))
    while ahead < first + _AHEAD:
        grown = ahead * pace
        spent = now.spent + prices.reread(warm) * ahead * (total + grown) / 2 + prices.write * grown
        if _would_pay(course, shape, limits, tail + grown, warm, now.turns + ahead, policy.allowance(now.saved, spent)):
            return due if ahead == first and due > total else total + grown
        ahead += max(1, (ahead - first) // 4)
    return None


def _would_pay(course: Course, shape: Shape, limits: Thresholds, tail: int, warm: float, turns: int, allowance: float) -> bool:
    """Whether a fold of a raw tail with this many tokens would pay off."""
    raw = max(1, tail - limits.keep_recent)
    left = int(min(_MOST_LEFT, shape.facts_ratio) * raw)
    if left > limits.facts_at:  # the part beyond its share becomes a summary at once
        left = limits.facts_at // 2 + policy.summary_tokens(raw)
    rewrite = policy.rewrite_cost(course.options, warm, raw, 0, left, max(0, limits.keep_recent - int(shape.pace)))
    return policy.pays(course.options.prices.reread(warm), rewrite, raw - left, turns, allowance)


def expected_use(course: Course, now: Replay, piece: Piece) -> float:
    """Expected number of requests that will contain a summary of this piece, if one is written now.

    A conversation with n requests is expected to have n more; half of all conversations do if their lengths are spread evenly
    over the orders of magnitude. Until the next fold event, the quotes are used. The piece remains a summary until newer ones
    fill their share.
    """
    at = outlook(course, now).at
    if at is None:
        return 0.0
    index, total = course.requests[-1], course.total[course.requests[-1] + 1]
    limits = thresholds_at(course, now._replace(turns=now.turns - 1), index)
    pace = total / now.turns
    between = max(1.0, (limits.fold_at - limits.keep_recent) / pace)
    wait = max(0.0, (at - total) / pace)
    facts = [p for p in now.pieces if p.level is Level.FACTS]
    if facts:  # the next new summary comes when these have filled their share
        each = sum(p.size for p in facts) / len(facts)
        wait += between * max(0.0, (limits.facts_at - sum(p.size for p in facts)) / max(1.0, each) - 1)
    newer = sum(p.level is Level.SUMMARY and p.start > piece.start for p in now.pieces)
    life = between * max(1.0, limits.summaries_at / max(1, piece.size) - newer)
    return max(0.0, min(float(now.turns) - wait, life))

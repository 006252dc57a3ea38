"""A fold event: whether one is due at a request, and what it makes of the raw tail and the pieces.

Its border is found in ``borders``, its cost in ``costs``.
"""

from __future__ import annotations

from turnfold.compression.fold import policy
from turnfold.compression.fold.course import Course
from turnfold.compression.fold.pieces import Level, new_pieces, piece_of, promote, saved_by
from turnfold.compression.fold.policy import Thresholds
from turnfold.compression.fold.replaying.borders import border_unit, fold_start
from turnfold.compression.fold.replaying.costs import is_dear_if_cached, quoted_more, saves_more, stake, unfolded_cost
from turnfold.compression.fold.replaying.state import Replay, thresholds_at
from turnfold.compression.fold.replaying.tables import worked_on
from turnfold.compression.fold.units.questions import handed_over


def is_about_all(course: Course, index: int) -> bool:
    """Whether a request asks for a summary of everything and may be sent unfolded; a budget has no room for that."""
    return course.units[index].wants_all and course.options.budget is None


def goes_on_whole(course: Course, before: Replay, index: int) -> bool:
    """Whether a request continues a turn that was sent unfolded, whose thinking is bound to that."""
    return before.whole and bool(course.options.preserved_thinking) and not course.units[index].is_user


def _is_in_doubt(course: Course, index: int) -> bool:
    """Whether the next request may show that this one was a step of an agent, so that other thresholds held for it: a fold at it
    would be undone then. A budget cannot wait for that."""
    return course.units[index].in_doubt and course.options.budget is None


def fold_if_due(course: Course, before: Replay, index: int) -> Replay:
    """The replay with a fold at this request, if a budget requires it or it pays off; otherwise unchanged."""
    total = course.total[index + 1]
    tiny = total <= policy.EARLIEST and course.options.budget is None  # nothing is folded this early, whatever it costs
    if tiny or is_about_all(course, index) or _is_in_doubt(course, index):
        return before
    limits = thresholds_at(course, before, index)
    limits = policy.without_cache(limits) if before.decision.cold else limits
    if goes_on_whole(course, before, index) or (course.options.preserved_thinking and course.loop(index) is not None):
        return before
    if limits.limit is not None and total > (course.options.budget or 0):
        standing = total - saved_by(before.pieces)[0]  # approximate forwarded tokens without recall
        if standing > limits.limit:
            return _fold(course, before, index, limits)
    if before.decision.brake:
        return before
    given = handed_over(course.units, index)
    handed = course.total[given.stop] - course.total[given.start]  # the next request has them elsewhere
    if total - handed > limits.start and course.tokens(before.tail, index + 1) - handed > limits.fold_at:
        after = _fold(course, before, index, limits)
        rewrite, saving = stake(course, before, after)
        price = course.options.prices.reread(before.decision.warmth.share(course.shape_at(before.turns).loops))
        spent = before.spent + unfolded_cost(course, before, index)
        saving -= int(quoted_more(course, before, after, index) / max(price, policy.LEAST_PRICE))
        useful = not before.decision.cold or saves_more(course, before, after, index)
        pays = useful and policy.pays(price, rewrite, saving, before.turns + 1, policy.allowance(before.saved, spent))
        if pays and not is_dear_if_cached(course, before, after, index):
            return after._replace(saved=before.saved - rewrite)
    return before


def _fold(course: Course, before: Replay, index: int, limits: Thresholds) -> Replay:
    pieces, tail, stays = before.pieces, before.tail, before.reopened
    border = border_unit(course, tail, index, limits)
    loop = course.loop(index)
    if loop is not None and tail > loop:
        return before
    border = border if loop is None else min(border, loop)
    start = fold_start(course, tail, border, index)
    if border > start:
        stays = stays.union(*worked_on(course, start, border, index))
        pieces, tail = (*pieces, *new_pieces(course, start, border, limits, stays)), border
    # If everything before is written again anyway, a few large steps save nothing.
    steady = limits.facts_at * 3 // 4
    most, least = (steady, steady) if course.forgets_front else (limits.facts_at, limits.facts_at // 2)
    keeps = policy.keeps_entries(course.options, before.decision.warmth, course.share_over_all(index))
    done = promote(course, pieces, Level.FACTS, most, least, stays, keeps=keeps)
    if keeps and done != pieces:  # the text before a new summary is short and written again with it
        done = tuple(
            [piece_of(course, p.start, p.end, p.level, stays, keeps=True) if p.level is not Level.FACTS else p for p in done]
        )
    pieces = promote(course, done, Level.SUMMARY, limits.summaries_at, limits.summaries_at // 2, stays, keeps=keeps)
    if pieces == before.pieces:
        return before
    since = before.since if before.events else index
    askers = tuple(a for a in before.askers if a.last or a.unit >= tail)
    events = before.events + 1
    return before._replace(tail=tail, pieces=pieces, askers=askers, events=events, since=since, moved=index, reopened=stays)

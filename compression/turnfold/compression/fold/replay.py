"""A conversation replayed request by request: where the borders of a fold fall.

This is the pure step from the state of a replay before a request to its state after it. A replay knows sizes and roles only,
never texts.

A fold event turns all of the raw tail but its newest part into a piece, and the oldest pieces of a level into one of the next.
Each step happens at a fold event and is made from the originals; what no event touches keeps its bytes. Since a step looks at
nothing behind its request, what is folded depends on the prefix alone (laws 4 and 5), and on what was decided under it
(``decisions``).
"""

from __future__ import annotations

from dataclasses import replace

from turnfold.compression.fold import decisions, policy
from turnfold.compression.fold.adoption import adoptable
from turnfold.compression.fold.course import Course
from turnfold.compression.fold.replaying.askers import settle_askers
from turnfold.compression.fold.replaying.costs import loss_unfolded, saving, unfolded_cost
from turnfold.compression.fold.replaying.events import fold_if_due, goes_on_whole, is_about_all
from turnfold.compression.fold.replaying.state import Replay
from turnfold.compression.fold.replaying.tables import reopen_table


def start(course: Course) -> Replay:
    """The state before the first request."""
    return Replay(course.first, decisions.at_first(course.options))


def step(course: Course, before: Replay) -> Replay:
    """The state after one more request."""
    index = course.requests[before.turns]
    if before.decision.cold:  # this applied to the previous request
        before = before._replace(decision=replace(before.decision, cold=False))
    asked = _decide(course, before, index) if _outgrows_rung(course, before, index) else before
    after = fold_if_due(course, asked, index)
    if asked is before and (after is not asked or _is_cold(course, before, index)):  # a fold is due: the current belief decides
        decided = _decide(course, before, index)
        folded = fold_if_due(course, decided, index)
        if after is not asked or folded is not decided:
            asked, after = decided, folded
    if asked is not before:
        after = _adopt(course, asked, after)
    after = reopen_table(course, after, index)
    askers = settle_askers(course, after, index) if course.units[index].is_user else after.askers
    spent = before.spent + unfolded_cost(course, after, index)
    saved, whole = _sent_whole(course, before, after, index, spent)
    if course.options.preserved_thinking and (whole or before.whole) and course.units[index].is_user:
        after = after._replace(moved=index)  # thinking after the other form is removed
    return after._replace(turns=before.turns + 1, askers=askers, saved=saved, spent=spent, whole=whole)


def _sent_whole(course: Course, before: Replay, now: Replay, index: int, spent: float) -> tuple[float, bool]:
    """The savings of folds after a request, and whether it is sent unfolded.

    It is if it asks for a summary of everything and that costs little enough, or if it continues such a turn.
    """
    if is_about_all(course, index):
        loss = loss_unfolded(course, now, index)
        if loss <= policy.allowance(now.saved, spent):
            return now.saved - loss, True
    elif goes_on_whole(course, before, index):
        return now.saved, True
    return now.saved + saving(course, now, index), False


def _outgrows_rung(course: Course, before: Replay, index: int) -> bool:
    last = course.total[course.requests[before.turns - 1] + 1] if before.turns else 0
    return decisions.rung(course.total[index + 1]) > decisions.rung(last)


def _is_cold(course: Course, before: Replay, index: int) -> bool:
    """Whether a request finds a cold cache: as decided at it or, for the newest request, as believed."""
    decision = course.decided.get(course.units[index].end)
    if decision is None and before.turns + 1 == len(course.requests):
        decision = course.options.belief
    return decision is not None and decision.cold


def _decide(course: Course, before: Replay, index: int) -> Replay:
    """The replay with the decision at this request, an earlier or a new one; unchanged if everything was decided at the start."""
    if course.options.belief is None:
        return before
    at = course.units[index].end
    decision = course.decided.get(at, course.options.belief)
    return before._replace(decision=decision, decided=(*before.decided, (at, decision)))


def _adopt(course: Course, before: Replay, after: Replay) -> Replay:
    """The replay with the summaries adopted at this request, which has a decision.

    None are adopted without a fold event. An earlier decision contains only those it adopted.
    """
    known = {(one.start, one.end) for one in after.summaries}
    new = [one for one in after.decision.summaries if (one.start, one.end) not in known]
    chosen = adoptable(course.units, before.pieces, after.pieces, new) if after.events > before.events else ()
    if not (chosen or after.decision.summaries):
        return after
    decision = replace(after.decision, summaries=chosen)
    decided = (*after.decided[:-1], (after.decided[-1][0], decision))
    return after._replace(decision=decision, decided=decided, summaries=(*after.summaries, *chosen))

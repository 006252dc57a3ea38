"""A conversation replayed request by request: where the borders of a fold fall.

This is the pure step from the state of a replay before a request to its state after it. A replay knows sizes and roles only,
never texts.

A fold event turns all of the raw tail but its newest part into a piece, and the oldest pieces of a level into one of the next.
Each step happens at a fold event and is made from the originals; what no event touches keeps its bytes. Since a step looks at
nothing behind its request, what is folded depends on the prefix alone (laws 4 and 5), and on what was decided under it
(``decisions``).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from turnfold.compression.fold import decisions, policy
from turnfold.compression.fold.adoption import adoptable
from turnfold.compression.fold.course import Course
from turnfold.compression.fold.pieces import (
    Asker,
    Level,
    Piece,
    new_pieces,
    piece_of,
    promote,
    quoted_entries,
    recall_tokens,
    saved_by,
)
from turnfold.compression.fold.policy import Thresholds
from turnfold.compression.fold.units import handed_over, question_start, rests
from turnfold.compression.options import FoldDecision, WrittenSummary

_LEAST_TURNS: Final = 1.0  # until the next fold event
_RESULT_SHARE: Final = 0.75  # largest share of a fold's raw tail for a single tool result
# The same if steps have signed reasoning, so that FACTS leave nothing out: everything older than the raw tail becomes a summary.
_SEALED_SHARE: Final = 1 / 6
_KEPT_WHOLE: Final = 0.8  # largest share of a budget's limit for a raw tail that FACTS would leave whole
_RECENT: Final = 6  # units within which a client's moving cache mark stays


class Replay(NamedTuple):
    """The state of a replay after a number of requests.

    Attributes:
        tail: index of the first raw unit.
        turns: requests so far.
        pieces: folded runs in order.
        askers: user units that get recall, the newest last.
        events: fold events so far.
        since, moved: indices of the units at which the first and the newest of them happened.
        decision: the decision in force.
        decided: all decisions, with the number of messages at that time.
        saved: savings of all folds so far, in uncached input tokens, assuming the belief about the cache.
        spent: cost of the requests so far without folds, in the same unit.
        summaries: the summaries adopted so far.
        whole: whether the newest request is sent unfolded, since it asks for a summary of everything. If thinking is bound, all
            earlier thinking is removed then, and again when the folds return.
        reopened: indices of units in pieces that are sent unchanged: tables in use, with their answers.
    """

    tail: int
    decision: FoldDecision
    turns: int = 0
    pieces: tuple[Piece, ...] = ()
    askers: tuple[Asker, ...] = ()
    events: int = 0
    since: int = 0
    moved: int = 0
    decided: tuple[tuple[int, FoldDecision], ...] = ()
    saved: float = 0.0
    spent: float = 0.0
    summaries: tuple[WrittenSummary, ...] = ()
    whole: bool = False
    reopened: frozenset[int] = frozenset()


def start(course: Course) -> Replay:
    """The state before the first request."""
    return Replay(course.first, decisions.at_first(course.options))


def step(course: Course, before: Replay) -> Replay:
    """The state after one more request."""
    index = course.requests[before.turns]
    if before.decision.cold:  # this applied to the previous request
        before = before._replace(decision=replace(before.decision, cold=False))
    asked = _decide(course, before, index) if _outgrows_rung(course, before, index) else before
    after = _fold_if_due(course, asked, index)
    if asked is before and (after is not asked or _is_cold(course, before, index)):  # a fold is due: the current belief decides
        decided = _decide(course, before, index)
        folded = _fold_if_due(course, decided, index)
        if after is not asked or folded is not decided:
            asked, after = decided, folded
    if asked is not before:
        after = _adopt(course, asked, after)
    after = _reopened(course, after, index)
    askers = _settle(course, after, index) if course.units[index].is_user else after.askers
    spent = before.spent + _unfolded_cost(course, after, index)
    saved, whole = _sent_whole(course, before, after, index, spent)
    if course.options.preserved_thinking and (whole or before.whole) and course.units[index].is_user:
        after = after._replace(moved=index)  # thinking after the other form is removed
    return after._replace(turns=before.turns + 1, askers=askers, saved=saved, spent=spent, whole=whole)


def _sent_whole(course: Course, before: Replay, now: Replay, index: int, spent: float) -> tuple[float, bool]:
    """The savings of folds after a request, and whether it is sent unfolded.

    It is if it asks for a summary of everything and that costs little enough, or if it continues such a turn.
    """
    if _is_about_all(course, index):
        loss = _loss_unfolded(course, now, index)
        if loss <= policy.allowance(now.saved, spent):
            return now.saved - loss, True
    elif _goes_on_whole(course, before, index):
        return now.saved, True
    return now.saved + _saving(course, now, index), False


# ---------------------------------------------------------------- tables that are worked on later


def _reopened(course: Course, now: Replay, index: int) -> Replay:
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
    loss = policy.rewrite_cost(course.options, warm, 0, 0, tokens, behind + _unmarked_front(course, now, first))
    if loss > policy.allowance(now.saved, now.spent, policy.AT_RISK_FOR_TABLES):
        return now
    return now._replace(pieces=pieces, reopened=reopened, events=now.events + 1, moved=index, saved=now.saved - loss)


def _worked_on(course: Course, start: int, end: int, index: int) -> Iterator[list[int]]:
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


def _unfolded_cost(course: Course, now: Replay, index: int) -> float:
    """The cost of a request without folds, with shaped results."""
    warmth, prices = now.decision.warmth, course.options.prices
    known = course.total[course.requests[now.turns - 1] + 1] if now.turns else 0
    warm = 0.0 if now.decision.cold else warmth.turns if course.units[index].is_user else warmth.loops
    price = prices.reread(warm)
    return price * known + prices.write * (course.total[index + 1] - known)


def _saving(course: Course, now: Replay, index: int) -> float:
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


def _is_about_all(course: Course, index: int) -> bool:
    """Whether a request asks for a summary of everything and may be sent unfolded; a budget has no room for that."""
    return course.units[index].wants_all and course.options.budget is None


def _goes_on_whole(course: Course, before: Replay, index: int) -> bool:
    """Whether a request continues a turn that was sent unfolded, whose thinking is bound to that."""
    return before.whole and bool(course.options.preserved_thinking) and not course.units[index].is_user


def _loss_unfolded(course: Course, now: Replay, index: int) -> float:
    """The cost of sending a request without its folds, which loses their cached prefix.

    Compared with never folding, where everything sent before may be cached.
    """
    if not now.pieces:
        return 0.0
    warmth, prices = now.decision.warmth, course.options.prices
    known = course.total[course.requests[now.turns - 1] + 1] - course.total[now.pieces[0].start]
    return (prices.write - prices.reread(warmth.turns)) * known


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


def thresholds_at(course: Course, now: Replay, index: int) -> Thresholds:
    """The thresholds for the request that ends with the unit `index`; `now` is the state before it."""
    shape = course.shape_at(now.turns)
    return policy.thresholds(course.options, now.decision.warmth, course.total[index + 1], shape, course.squeeze)


# ---------------------------------------------------------------- a fold event


def _fold_if_due(course: Course, before: Replay, index: int) -> Replay:
    """The replay with a fold at this request, if a budget requires it or it pays off; otherwise unchanged."""
    total = course.total[index + 1]
    tiny = total <= policy.EARLIEST and course.options.budget is None  # nothing is folded this early, whatever it costs
    if tiny or _is_about_all(course, index):
        return before
    limits = thresholds_at(course, before, index)
    limits = policy.without_cache(limits) if before.decision.cold else limits
    if _goes_on_whole(course, before, index) or (course.options.preserved_thinking and course.loop(index) is not None):
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
        rewrite, saving = _stake(course, before, after)
        price = course.options.prices.reread(before.decision.warmth.share(course.shape_at(before.turns).loops))
        spent = before.spent + _unfolded_cost(course, before, index)
        saving -= int(_quoted(course, before, after, index) / max(price, policy.LEAST_PRICE))
        useful = not before.decision.cold or _saves_more(course, before, after, index)
        if useful and policy.pays(price, rewrite, saving, before.turns + 1, policy.allowance(before.saved, spent)):
            return after._replace(saved=before.saved - rewrite)
    return before


def _saves_more(course: Course, before: Replay, after: Replay, index: int) -> bool:
    """Whether requests after a fold cost less than before, including quotes: even a fold without cost may be too early."""
    return _saved_a_turn(course, after, index) > _saved_a_turn(course, before, index)


def _saved_a_turn(course: Course, now: Replay, index: int) -> float:
    if not now.pieces:
        return 0.0
    warmth, shape, options = now.decision.warmth, course.shape_at(now.turns), course.options
    left_out, folded = saved_by(now.pieces)
    recall = policy.most_recall_tokens(options, warmth, shape, left_out, folded) if options.recall else 0
    limits = thresholds_at(course, now, index)
    turns = max(_LEAST_TURNS, (limits.fold_at - limits.keep_recent) / max(1.0, shape.pace))
    quoted = policy.rewritten_by_recall(options, shape, recall, turns) if recall else 0.0
    return options.prices.reread(warmth.share(shape.loops)) * left_out - max(0.0, 1 - shape.loops) * quoted


def _stake(course: Course, before: Replay, after: Replay) -> tuple[float, int]:
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
    again = among + behind + _unmarked_front(course, before, first)
    warm = 0.0 if before.decision.cold else before.decision.warmth.share(course.shape_at(before.turns).loops)
    return policy.rewrite_cost(course.options, warm, raw, fresh, left, again), raw + fresh - left


def _quoted(course: Course, before: Replay, after: Replay, index: int) -> float:
    """The additional cost of an average request after a fold, from quotes for questions about all entries that users keep."""
    more = quoted_entries(course, after.pieces) - quoted_entries(course, before.pieces)
    return course.share_over_all(index) * course.options.prices.write * more


def _unmarked_front(course: Course, before: Replay, start: int) -> int:
    """Tokens before the unit `start` whose cache a fold invalidates: those after the last mark on instructions.

    Other marks move along, and were in the changed text.
    """
    if not course.forgets_front or not before.turns:
        return 0
    here = 1 + max((i for i in range(start) if course.units[i].pinned and course.units[i].marked), default=-1)
    return course.total[start] - course.total[here] - sum(p.tokens - p.size for p in before.pieces if here <= p.start < start)


def _fold(course: Course, before: Replay, index: int, limits: Thresholds) -> Replay:
    pieces, tail, stays = before.pieces, before.tail, before.reopened
    border = _border(course, tail, index, limits)
    loop = course.loop(index)
    if loop is not None and tail > loop:
        return before
    border = border if loop is None else min(border, loop)
    start = _fold_start(course, tail, border, index)
    if border > start:
        stays = stays.union(*_worked_on(course, start, border, index))
        pieces, tail = (*pieces, *new_pieces(course, start, border, limits, stays)), border
    # If everything before is written again anyway, a few large steps save nothing.
    steady = limits.facts_at * 3 // 4
    most, least = (steady, steady) if course.forgets_front else (limits.facts_at, limits.facts_at // 2)
    keeps = policy.keeps_entries(course.options, before.decision.warmth, course.share_over_all(index))
    done = promote(course, pieces, Level.FACTS, Level.SUMMARY, most, least, stays, keeps=keeps)
    if keeps and done != pieces:  # the text before a new summary is short and written again with it
        done = tuple(
            [piece_of(course, p.start, p.end, p.level, stays, keeps=True) if p.level is not Level.FACTS else p for p in done]
        )
    pieces = promote(course, done, Level.SUMMARY, Level.LINE, limits.summaries_at, limits.summaries_at // 2, stays, keeps=keeps)
    if pieces == before.pieces:
        return before
    since = before.since if before.events else index
    askers = tuple(a for a in before.askers if a.last or a.unit >= tail)
    events = before.events + 1
    return before._replace(tail=tail, pieces=pieces, askers=askers, events=events, since=since, moved=index, reopened=stays)


def _border(course: Course, tail: int, index: int, limits: Thresholds) -> int:
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


def _fold_start(course: Course, tail: int, border: int, index: int) -> int:
    """The earliest place to fold: after every cache mark that the client keeps in an old place, since caches hit up to there."""
    units = course.units
    old = range(tail, min(border, index - _RECENT))
    last = max((i for i in old if units[i].marked and not units[i].pinned), default=None)
    if last is None:
        return tail
    return next((i for i in range(last + 1, border) if units[i].is_user), border)


# ---------------------------------------------------------------- who keeps recall


def _settle(course: Course, before: Replay, index: int) -> tuple[Asker, ...]:
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
    recall, since = recall_tokens(asker, course.options), course.tokens(asker.unit + 1, index)
    if course.units[asker.unit].goes_over:
        recall += quoted_entries(course, asker.pieces)
    if not policy.keeps_recall(course.options, recall, since, _LEAST_TURNS):  # nor do more of them
        return False
    return policy.keeps_recall(course.options, recall, since, _turns_left(course, before, index))


def _turns_left(course: Course, before: Replay, index: int) -> float:
    """Expected number of turns until the next fold event."""
    tail = course.tokens(before.tail, index + 1)
    pace = tail / (course.users[index + 1] - course.users[before.tail])
    return max(_LEAST_TURNS, (thresholds_at(course, before, index).fold_at - tail) / max(1.0, pace))


def _is_cached_behind(course: Course, before: Replay) -> bool:
    """Whether the provider has cached text after the newest recall, if its cache hits only at the client's marks.

    This is the case once a tool loop has continued after the recall. Without the recall, the next request would hit at the mark
    on its
    asker at best, and nowhere if a fold event came in between or the loop is longer than the cache looks back (Anthropic: 20
    blocks).
    """
    return course.marked and before.turns > 0 and course.requests[before.turns - 1] > before.askers[-1].unit

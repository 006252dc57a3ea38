"""Attempts at a fold: the mildest of several plans that fits a budget, drafted with its recall.

This module chooses the settings that are tried, and what recall may take. ``engine`` fixes the order of the stations and decides
whether the result is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

from turnfold.compression.fold import policy
from turnfold.compression.fold.ask import Present, Recall, recall_for
from turnfold.compression.fold.changing import NOT_APART, caching, changes, settle
from turnfold.compression.fold.counts import conversation_tokens, message_tokens, schema_tokens
from turnfold.compression.fold.fold_task import FoldTask, fold_task
from turnfold.compression.fold.marks import move_marks
from turnfold.compression.fold.pieces import Asker, most_recall_tokens, saved_by
from turnfold.compression.fold.plan import Plan, plan
from turnfold.compression.fold.thinking import decided, dropping, first_thought
from turnfold.compression.fold.units.questions import question_start
from turnfold.compression.fold.units.staying import staying
from turnfold.compression.fold.units.unit import Unit
from turnfold.compression.fold.write import draft
from turnfold.compression.fold.writing.drafts import PICTURES, FoldDraft
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.changes import Changes
from turnfold.compression.wire.conversation import Conversation


@dataclass(frozen=True, slots=True)
class Attempt:
    """A fold of a conversation, decided after its first `decided` messages."""

    plan: Plan
    stays: frozenset[int]
    draft: FoldDraft
    recalls: Mapping[int, Recall]
    changes: Changes
    fitting: int
    decided: int
    cut: Sequence[Unit]


@dataclass(frozen=True, slots=True)
class _FitSetting:
    """How far a fold goes to fit its budget.

    Attributes:
        squeeze: factor for the limit of text that stays from turn to turn.
        room: factor for recall's room.
        without: number of the oldest units with attachments that are folded like any other.
    """

    squeeze: float
    room: float
    without: int = 0


_USED: Final = 0.6  # share of a budget; a fold that forwards less than this leaves too much unused
_WORTH: Final = 0.1  # share of the excess that removing attachments must save if the budget is missed anyway
_NOTHING: Final = Changes()
_FITTING: Final = tuple(
    _FitSetting(squeeze, room)
    for squeeze, room in ((1.0, 1.0), (0.6, 1.0), (0.6, 0.5), (0.3, 0.5), (0.3, 0.25), (0.05, 0.25), (0.05, 0.0))
)
#: Settings that leave recall its full room; FACTS get less instead.
_QUOTING: Final = tuple(_FitSetting(squeeze, 1.0) for squeeze in (1.0, 0.6, 0.3, 0.1, 0.02))
#: Settings with more room for FACTS, up to nine tenths of the budget.
_ROOMIER: Final = tuple(_FitSetting(squeeze, 1.0) for squeeze in (16.0, 4.0, 2.0))


def _settings(cut: Sequence[Unit]) -> Iterator[_FitSetting]:
    """Yield settings, mildest first. Attachments are removed last: the oldest half, then half of the rest, and so on."""
    yield from _FITTING
    attached = without = len(_attached(cut))
    gone = 0
    while gone < attached:
        without = (without + 1) // 2
        gone = min(attached, gone + without)
        yield replace(_FITTING[-2], without=gone)


def first_plan(given: FoldTask) -> Plan:
    """The plan under the mildest setting."""
    return _plan(given, given.cut)


def _plan(given: FoldTask, cut: Sequence[Unit], squeeze: float = 1.0) -> Plan:
    """The plan of units for the part of a budget that the tools' schemas leave: units do not include these."""
    options, budget = given.options, given.options.budget
    if budget is not None:
        schema = schema_tokens(given.conversation, options.model, given.memo)
        options = replace(options, budget=max(1, budget - schema)) if schema else options
    return plan(cut, options, squeeze, given.memo)


def steady_attempt(given: FoldTask, first: Plan) -> Attempt | None:
    """The best attempt; `first` is the plan of its units under the mildest setting.

    Under a budget, each request could have a different one. Within a tool loop, the attempt of an earlier request is reused, so
    that requests only append: later results are shaped, and nothing else changes. If thinking is bound to the messages sent, it
    is the request answered by the first thinking of the latest turn; otherwise see `_held_attempt`. The client's cache marks have
    moved since then, so the attempt is made as if they were at that request's end.
    """
    options = given.options
    bound = bool(options.preserved_thinking) and not options.drops_thinking
    cached = options.prices.read < options.prices.write or options.prices_if_cached is not None
    holds = options.leaves_room and cached
    if options.budget is None or not (bound or (holds and _calls_tools(given))):
        return _best_attempt(given, first)
    marked = any(u.marked and not u.pinned for u in given.cut)
    thought = first_thought(given.cut) if bound else None
    if thought is None:
        return _held_attempt(given, marked=marked)
    begun = _held_attempt(_task_at(given, given.cut[thought].start), marked=marked)
    return _go_on(given, begun) if _extends(given, begun) else _held_attempt(given, marked=marked)


def _calls_tools(given: FoldTask) -> bool:
    """Whether the conversation has tool results, either native or in user messages."""
    return bool(given.conversation.messages.results) or any(unit.reports for unit in given.cut)


def _held_attempt(given: FoldTask, *, marked: bool) -> Attempt | None:
    """The attempt that the latest turn's requests extend.

    That is the attempt at the newest request at which the conversation outgrew its budget, or the room left free there, as long
    as it still applies; otherwise the one at the request where it no longer did.
    """
    budget = given.options.budget or 0
    if not given.options.leaves_room or _size_with(given, _NOTHING) <= budget:
        return _attempt_alone(given, budget, marked=marked)
    step = _fixed(given) + policy.snap_budget(budget - _fixed(given))
    ends, sizes = _requests(given)
    found, last = policy.newest_outgrown(sizes, step, growth=step), len(ends) - 1
    at = last if found is None else found
    for _ in range(_TRIES):
        begun = _task_at(given, ends[at])
        best, leaves_room = _first_attempt(begun, marked=marked)
        if at == last:
            return best
        room = 0  # the next request may not need this squeeze
        if leaves_room and _extends(given, best):
            held = _go_on(given, best)
            if _size_with(given, held.changes if held else _NOTHING) <= budget:
                return held
            room = budget - _size_with(begun, best.changes if best else _NOTHING)
        at = next((i for i in range(at + 1, last) if sizes[i] - sizes[at] > room), last)
    return _first_attempt(given, marked=marked)[0]


def _first_attempt(given: FoldTask, *, marked: bool) -> tuple[Attempt | None, bool]:
    """The attempt that later requests may extend, and whether it leaves room for them.

    It does as long as that costs no quotes, since later messages replace text that stayed.
    """
    budget = given.options.budget or 0
    fixed = _fixed(given)
    variable = policy.snap_budget(budget - fixed)
    step, free = fixed + variable, int(policy.GROWTH * _loops(given.cut) * variable)
    best = _attempt_alone(given._replace(free=free), step - free, marked=marked, settings=_QUOTING)
    if _size_with(given, best.changes if best else _NOTHING) <= step - free:
        return best, True
    return _attempt_alone(given, budget, marked=marked), False


def _fixed(given: FoldTask) -> int:
    """Tokens that no fold takes (schemas, instructions, kept messages), if they are most of the budget, but not all of it."""
    budget = given.options.budget or 0
    found = schema_tokens(given.conversation, given.options.model, given.memo)
    found += sum([unit.tokens for unit in given.cut if unit.pinned or unit.kept])
    return found if budget // 2 < found < budget else 0


def _requests(given: FoldTask) -> tuple[Sequence[int], Sequence[int]]:
    """The ends of the latest turn's requests, in messages, and the conversation's tokens at each."""
    cut, extra = given.cut, 3 + schema_tokens(given.conversation, given.options.model, given.memo)
    start = _last_user(cut) or 0
    asking = [i for i in range(start, len(cut) - 1) if cut[i].asks]
    sums = list(accumulate([u.tokens for u in cut], initial=extra))
    return [*[cut[i].end for i in asking], len(given.conversation.messages)], [*[sums[i + 1] for i in asking], sums[-1]]


def _loops(cut: Sequence[Unit]) -> float:
    """The probability, from 0 to 1, that a request is followed by tool results, judged by earlier requests."""
    asking = [u for u in cut if u.asks]
    return min(1.0, 2 * len([u for u in asking if not u.is_user]) / max(1, len(asking)))


def _task_at(given: FoldTask, end: int) -> FoldTask:
    """The task as it was at its first `end` messages."""
    conversation, memo = given.conversation, given.memo
    if end == len(conversation.messages):
        return given
    dropped = Changes(dropped=((end, len(conversation.messages)),))
    begun = conversation.with_changes(dropped, memo).with_state(conversation.state)
    return fold_task(begun, given.options, memo)


def _extends(given: FoldTask, best: Attempt | None) -> bool:
    """Whether the task's units go on from those of an earlier request's attempt.

    They do not where only a later message shows that users' messages are program output, and part of the unit before them.
    """
    return best is None or all(
        (one.start, one.is_user) == (u.start, u.is_user) for one, u in zip(best.cut, given.cut, strict=False)
    )


def _go_on(given: FoldTask, best: Attempt | None) -> Attempt | None:
    """An earlier request's attempt, extended by the newer messages."""
    drawn, stays, recalls = (best.plan, best.stays, best.recalls) if best else (_UNFOLDED, frozenset[int](), {})
    drafted = draft(given, stays, drawn, best.draft.pictures if best else PICTURES)
    if not (drawn.pieces or drafted.shaped):
        return None
    return _attempt(given, stays, drawn, drafted, recalls, best.fitting if best else 0)


_UNFOLDED: Final = Plan((), 0, (), 0, 0, 0)
_TRIES: Final = 4  # requests of a turn at which the fold is decided anew until one decides this request's


def _attempt_alone(given: FoldTask, budget: int, *, marked: bool, settings: Sequence[_FitSetting] = ()) -> Attempt | None:
    """The best attempt within a budget.

    If `marked`, only the last message after the instructions has a cache mark; otherwise none has.
    """
    given = given._replace(options=replace(given.options, budget=budget))
    last = len(given.cut) - 1
    cut = tuple(u if u.pinned else u._replace(marked=marked and i == last) for i, u in enumerate(given.cut))
    return _best_attempt(given._replace(cut=cut), _plan(given, cut), settings)


def _best_attempt(given: FoldTask, first: Plan, settings: Sequence[_FitSetting] = ()) -> Attempt | None:
    """The mildest candidate that fits the budget, else the smallest one; None if nothing is folded.

    Args:
        settings: settings to try; empty: all of them.
    """
    best, budget, whole, smallest = None, given.options.budget, given.cut, 0
    for fitting, setting in enumerate(settings or _settings(whole)):
        given = given._replace(cut=_without_attachments(whole, setting.without))
        drawn = _plan(given, given.cut, setting.squeeze) if fitting else first
        candidate = _candidate(given, drawn, setting, fitting)
        if candidate is None:
            if best is None and not setting.without and _outgrows_budget(given):
                continue
            return best
        if budget is None:
            return candidate
        size = _size_with(given, candidate.changes)
        if setting.without and size > budget:
            smallest = smallest or _size_with(given, _NOTHING)
            if smallest - size < _WORTH * (smallest - budget):
                continue
        best, smallest = candidate, size
        if size <= budget:
            is_used = size > _USED * budget or (fitting and not setting.without)
            if is_used and not _lacks_pictures(given, best):
                return best
            milder = (*_ROOMIER, *_FITTING) if setting.without else (*_ROOMIER, *_FITTING[:fitting])
            fitted = list(_roomier(given, budget, milder, fitting))
            return max([best, *fitted] if is_used else [*fitted, best], key=lambda one: _pictures(given, one))
    return best


def _outgrows_budget(given: FoldTask) -> bool:
    """Whether a conversation exceeds its budget, so that a setting that folds nothing leaves the next one to be tried."""
    budget = given.options.budget
    return budget is not None and _size_with(given, _NOTHING) > budget


def _roomier(given: FoldTask, budget: int, milder: Sequence[_FitSetting], fitting: int) -> Iterator[Attempt]:
    """Candidates with more text, if recall or removed attachments leave most of the budget unused, or with the newest pictures.

    Recall does if the question bears on little.
    """
    for setting in milder:
        drawn = _plan(given, given.cut, setting.squeeze)
        for pictures in range(PICTURES, 0, -1) if _pictured(given.conversation) else (PICTURES,):
            candidate = _candidate(given, drawn, setting, fitting, pictures)
            if candidate is None or (pictures < PICTURES and _lacks_pictures(given, candidate)):
                break
            if _size_with(given, candidate.changes) <= budget:
                yield candidate
                if pictures == PICTURES:
                    return
                break


def _lacks_pictures(given: FoldTask, attempt: Attempt) -> bool:
    """Whether an attempt leaves out some of the newest pictures of tool results. Either all of these are shown or as many as the
    plan happens to leave: showing exactly as many as fit would change nearly every request in front of its new text."""
    return _pictures(given, attempt) < min(PICTURES, _pictured(given.conversation))


def _pictures(given: FoldTask, attempt: Attempt) -> int:
    """Tool results that an attempt forwards with their pictures."""
    if not _pictured(given.conversation):
        return 0
    return _pictured(given.conversation.with_changes(attempt.changes, given.memo))


def _pictured(conversation: Conversation) -> int:
    """Tool results with pictures, or with other attachments."""
    messages = conversation.messages
    return len([i for i in messages.attached if messages[i].is_result])


def _candidate(given: FoldTask, drawn: Plan, setting: _FitSetting, fitting: int, pictures: int = PICTURES) -> Attempt | None:
    """The fold of a setting's plan; None if it folds nothing."""
    unfolds = bool(given.options.preserved_thinking and drawn.events) and not drawn.pieces
    if not (drawn.pieces or unfolds or given.conversation.messages.results):  # only results are shaped
        return None
    stays = staying(given.cut, given.memo).union(drawn.reopened)
    drafted = draft(given, stays, drawn, pictures)
    if not (drawn.pieces or drafted.shaped or drafted.unsigned):
        return None
    recalls = dict(_recalls(given, stays, drawn, drafted, setting.room))
    return _attempt(given, stays, drawn, drafted, recalls, fitting)


def _attempt(
    given: FoldTask, stays: frozenset[int], drawn: Plan, drafted: FoldDraft, recalls: Mapping[int, Recall], fitting: int
) -> Attempt:
    messages, options = given.conversation.messages, given.options
    made = changes(messages, drafted, {index: found.text for index, found in recalls.items()}, caching(given, drawn))
    made = move_marks(messages, settle(made, messages, options, drafted.unsigned), recalls)
    end = decided(given.cut, drawn, options)
    if options.drops_thinking:  # under a budget, any request may change everything
        made = dropping(made, messages, end if options.budget is None else len(messages))
    return Attempt(drawn, stays, drafted, recalls, made, fitting, end, given.cut)


def _attached(cut: Sequence[Unit]) -> list[int]:
    """Units whose attachments a budget may remove; those of the last user message are part of the question."""
    last = _last_user(cut)
    return [i for i, u in enumerate(cut) if u.attached and not u.kept and i != last]


def _last_user(cut: Sequence[Unit]) -> int | None:
    return next((i for i in range(len(cut) - 1, -1, -1) if cut[i].is_user), None)


def _without_attachments(cut: Sequence[Unit], without: int) -> Sequence[Unit]:
    """The units, with the oldest ones with attachments treated like any other.

    Pictures between the user's last words and the last picture are removed last. The words stay.
    """
    oldest = frozenset(_attached(cut)[:without]) if without else frozenset()
    if not oldest:
        return cut
    last = _last_user(cut)
    words = last if last is None else question_start(cut, last)
    lone = any(words < i for i in oldest) if words is not None else False

    def as_left(index: int, unit: Unit) -> Unit:
        if lone and index == words:
            return unit._replace(attached=True)
        if index in oldest or (lone and index == last):
            return unit._replace(attached=unit.attached and index == last, wordless=unit.wordless and not lone)
        return unit

    return tuple(map(as_left, range(len(cut)), cut))


def _size_with(given: FoldTask, made: Changes) -> int:
    return conversation_tokens(given.conversation.with_changes(made, given.memo), given.options.model, given.memo)


def _recalls(given: FoldTask, stays: frozenset[int], plan: Plan, drafted: FoldDraft, room: float) -> Iterator[tuple[int, Recall]]:
    """For each user message by index, the recall after its text."""
    conversation, cut, options = given.conversation, given.cut, given.options
    if not options.recall:
        return
    stays_on = _recall_stays(conversation, options)
    present, spent = Present(tuple(drafted.texts()), drafted.gone.union(drafted.shortened)), 0
    for asker in plan.askers:
        if options.budget is None:
            budget = _recall_share(asker, spent, options, stays=stays_on)
            works = max(0, min(policy.MOST_WHOLE, saved_by(asker.pieces)[0] // 2 - spent))
        elif asker.last:
            budget = works = int(room * _recall_room(given, plan, drafted, options.budget))
        else:
            continue
        found = recall_for(given, asker, stays, len(plan.askers), present, budget, works)
        if found.text:
            present = present._replace(texts=(*present.texts, found.text))
            spent += found.tokens if stays_on else 0
            yield cut[asker.unit].start, found


def _recall_stays(conversation: Conversation, options: FoldOptions) -> bool:
    """Whether recall may stay regardless of what reading it costs."""
    marked = not set(conversation.messages.marked) <= set(conversation.messages.pinned)
    return bool(options.preserved_thinking) or options.recall_stays or marked


def _recall_share(asker: Asker, spent: int, options: FoldOptions, *, stays: bool) -> int:
    """Recall's room without a budget. If earlier recalls stay, all together take at most half of what is saved."""
    share = most_recall_tokens(asker, options)
    if not stays:
        return share
    return max(0, min(share, saved_by(asker.pieces)[0] // 2 - spent))


def _recall_room(given: FoldTask, plan: Plan, drafted: FoldDraft, budget: int) -> int:
    """The room that an explicit budget leaves for recall.

    All free tokens, if the request ends with the user message that asks; within a tool loop, the same as then. After a fold event
    in the loop it is a quarter of the budget, or all free tokens if no cache holds so little, since then each request may change
    everything.
    """
    messages, asker = given.conversation.messages, plan.askers[-1]
    goes_on = asker.pieces != plan.pieces or asker.unit < plan.tail
    whole = budget + given.free
    if goes_on and (given.options.prices_if_cached or given.options.prices).keeps(whole):
        return whole // 4
    bare = _size_with(given, changes(messages, drafted, {}, NOT_APART))
    behind = () if goes_on else messages[given.cut[asker.unit].end :]
    free = max(0, budget - _JOINT - bare + sum(message_tokens(m, given.options.model, given.memo) for m in behind))
    return max(whole // 4, free) if goes_on else free


_JOINT: Final = 4  # tokens at the seam of recall and the user's text: line breaks, and tokens that merge differently

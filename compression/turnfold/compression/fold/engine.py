"""A conversation through the engine: plan, draft, recall, write, check.

Lives here: the order of the stations. Does not belong here: what any station does, a window (``fit``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from turnfold.compression import tokens
from turnfold.compression.fold.account import Account
from turnfold.compression.fold.adoption import WantedSummary
from turnfold.compression.fold.ask import Recall, open_questions, recall_for
from turnfold.compression.fold.check import ATTACHMENT_LOST, TURN_BROKEN, attachments_lost, check
from turnfold.compression.fold.counts import conversation_tokens, message_tokens
from turnfold.compression.fold.decisions import binding, bound_belief, bound_likenesses, fresh
from turnfold.compression.fold.endings import trim_endings
from turnfold.compression.fold.keeping import kept_messages
from turnfold.compression.fold.marks import move_marks
from turnfold.compression.fold.outlook import Outlook
from turnfold.compression.fold.pieces import Asker, recall_tokens
from turnfold.compression.fold.plan import Plan, plan
from turnfold.compression.fold.shape import ShapedResult, shape_results
from turnfold.compression.fold.state_blocks import add_block_tokens
from turnfold.compression.fold.thinking import binds_thinking, decided, dropping, first_thought, without_thinking
from turnfold.compression.fold.units import Unit, staying, units
from turnfold.compression.fold.write import Caching, FoldDraft, Section, changes, draft
from turnfold.compression.memo import Memo, digest
from turnfold.compression.options import FoldOptions, Precedent, StateBlocks
from turnfold.compression.wire.chat import CHAT
from turnfold.compression.wire.conversation import Changes, Conversation
from turnfold.compression.wire.edits import Edit, apply, invert


@dataclass(frozen=True, slots=True)
class Folded:
    """A conversation as it is to be forwarded.

    Attributes:
        conversation: as it came in.
        forwarded: as it goes out, read anew from what was written; `conversation` itself when nothing is changed.
        changes: what was changed.
        folded: whether anything is folded, or takes another form.
        reason: a slug: why nothing was folded (as of ``replay.Outlook``, "not-smaller", why the conversation is held); else
            "over-budget" when the parts that stay verbatim exceed the budget, "attachments-left-out" when a budget left no room
            for them, else "".
        tokens_before: tokens of the request as received, by the model's own count, tool schemas included.
        tokens_after: tokens of `forwarded`.
        sections: originals of what is folded, and what stands instead, for drill-down.
        section_of: per message index, the section that it is in.
        recalls: per message index of a user message, what is quoted behind it.
        events: fold events that the conversation has seen so far.
        fitting: how often the plan had to be made smaller to fit a budget; 0 as a rule.
        outlook: when the first or next fold comes, in tokens of the border counter.
        decided: what was decided beside the options' precedents; whoever sends `forwarded` keeps it first (``decisions``).
        wanted: blocks for which a written summary would be used, where the options ask for it.
        open_questions: indices of user messages of which the options ask what vectors say, and do not know (``ask``).
    """

    conversation: Conversation
    forwarded: Conversation
    changes: Changes
    folded: bool
    reason: str
    tokens_before: int
    tokens_after: int
    sections: tuple[Section, ...] = ()
    section_of: Mapping[int, Section] = field(default_factory=dict)
    recalls: Mapping[int, Recall] = field(default_factory=dict)
    events: int = 0
    fitting: int = 0
    outlook: Outlook = Outlook()  # noqa: RUF009 - frozen
    decided: tuple[Precedent, ...] = ()
    wanted: tuple[WantedSummary, ...] = ()
    open_questions: tuple[int, ...] = ()

    @property
    def only_shaped(self) -> bool:
        """Whether nothing is folded, but tool results took another form."""
        return self.folded and not self.sections

    @property
    def account(self) -> Account:
        """What became of each message."""
        everything = tuple(range(len(self.conversation.messages)))
        return Account(everything, frozenset(), self.section_of, self.recalls).after(self.changes)

    @property
    def body(self) -> bytes:
        """The bytes to send; those received when nothing is changed."""
        return self.forwarded.body

    @property
    def restore(self) -> tuple[Edit, ...]:
        """Edits that turn `body`, as text, back into what was received."""
        if self.forwarded is self.conversation:
            return ()
        return invert(self.conversation.text, self.conversation.wire.write(self.conversation, self.changes))


#: The reason where a budget or window left no room for attachments.
LEFT_OUT: Final = "attachments-left-out"

_NO_CHANGES: Final = Changes()

#: The engine, as whoever drives it sees it.
Fold = Callable[[Conversation, FoldOptions, Memo], Folded]


def fold(conversation: Conversation, options: FoldOptions, memo: Memo) -> Folded:
    """Fold a conversation. Pure: the same conversation and options give the same bytes; `memo` only saves time.

    Raises:
        FoldRejected: our own output failed a check (never for what a client can send).
    """
    options = _under(conversation, options)
    plain = _fold_nothing(conversation, options, memo)
    if conversation.held:
        return replace(plain, reason=conversation.held)
    results = _shaped(conversation, options, memo)
    cut = _cut(conversation, results, options, memo)
    drawn = plan(cut, options, memo=memo)
    best = _steady_attempt(conversation, cut, drawn, results, options, memo)
    drawn = drawn if best is None else best.plan
    decided = fresh(drawn.decided, options.precedents, [m.key for m in conversation.messages])
    if best is None:
        return replace(plain, reason=drawn.outlook.reason, outlook=drawn.outlook, decided=decided)
    return replace(_chosen(plain, best, options, memo), outlook=drawn.outlook, decided=decided)


def _chosen(plain: Folded, best: _Attempt, options: FoldOptions, memo: Memo) -> Folded:
    """The fold of an attempt, where it is smaller; else the conversation as it came."""
    conversation = plain.conversation
    forwarded = conversation.with_changes(best.changes, memo)
    after = conversation_tokens(forwarded, options.model, memo)
    questions = open_questions(best.cut, best.plan.askers, options)
    if not _is_smaller(plain, best, forwarded, after, options, memo):
        nothing = _fold_nothing(conversation, options, memo, best.changes)
        return replace(nothing, reason="not-smaller", open_questions=questions)
    lost = attachments_lost(conversation.messages, forwarded.messages) if options.budget is not None else False
    waived = ((ATTACHMENT_LOST, lost), (TURN_BROKEN, options.drops_thinking))
    check(conversation, forwarded, waived=frozenset(law for law, does in waived if does))
    over = options.budget is not None and after > options.budget
    return Folded(
        conversation,
        forwarded,
        best.changes,
        folded=True,
        reason="over-budget" if over else LEFT_OUT if lost else "",
        tokens_before=plain.tokens_before,
        tokens_after=after,
        sections=best.draft.sections,
        section_of=best.draft.section_of,
        recalls=best.recalls,
        events=best.plan.events,
        fitting=best.fitting,
        wanted=best.draft.wanted,
        open_questions=questions,
    )


def _under(conversation: Conversation, options: FoldOptions) -> FoldOptions:
    """The options with what the conversation says where they say nothing."""
    model = options.model or conversation.model
    bound = binds_thinking(model) if options.preserved_thinking is None else options.preserved_thinking
    stays = options.recall_stays or conversation.marked_at_end
    drops = options.drops_thinking and bound and conversation.can_drop_thinking
    return replace(
        options,
        model=model,
        preserved_thinking=bound,
        recall_stays=stays,
        drops_thinking=drops,
        precedents=binding(options.precedents, [m.key for m in conversation.messages]),
        belief=bound_belief(options.belief, [m.key for m in conversation.messages]),
        likenesses=bound_likenesses(options.likenesses, [m.key for m in conversation.messages]),
    )


def _is_smaller(plain: Folded, best: _Attempt, forwarded: Conversation, after: int, options: FoldOptions, memo: Memo) -> bool:
    """Whether a fold of `after` tokens is smaller than what came in.

    Where thinking is bound to what was sent, the answer must not turn between two fold events: what stands before the newest one
    decides.
    """
    if not (options.preserved_thinking and best.plan.events):
        return after < max(plain.tokens_before, plain.tokens_after)
    received = plain.conversation.messages
    end = best.decided
    kept = len(forwarded.messages) - (len(received) - end)  # what stands behind is never left out
    sides = (received[:end], plain.forwarded.messages[:end], forwarded.messages[:kept])
    before, bare, folded = (sum(message_tokens(m, options.model, memo) for m in side) for side in sides)
    return folded < before or folded < bare


def fold_request(body: bytes, options: FoldOptions, memo: Memo) -> Folded:
    """Fold a chat-completions body: :func:`fold` of what is read from it.

    Raises:
        FoldRejected: "unparsable" for a body that is none; or our own output failed a check.
    """
    return fold(CHAT.read(body, memo), options, memo)


def unfold(folded: Folded) -> bytes:
    """The body as it was received, byte for byte (law 3), from what was forwarded and the edits that restore it."""
    return apply(folded.forwarded.text, folded.restore).encode("utf-8")


def state_written(conversation: Conversation, options: FoldOptions, memo: Memo) -> Conversation:
    """The conversation with its state's blocks in its messages and nothing folded, byte for byte as `fold` leaves it when it
    folds nothing; itself where it has no state."""
    return _fold_nothing(conversation, options, memo).forwarded


def lean(conversation: Conversation, options: FoldOptions, memo: Memo) -> Conversation:
    """The conversation without a state of its own: only the block in force is left, as text in front of the last user message,
    so that no cut can lose it; itself where it has no state."""
    pins = conversation.state.pins
    if not pins:
        return conversation
    last = max((i for i, m in enumerate(conversation.messages) if m.role == "user" and m.holds), default=None)
    in_force = StateBlocks() if last is None else StateBlocks(((last, pins[-1][1]),))
    bare = conversation.with_state(in_force)
    return bare if last is None else _fold_nothing(bare, options, memo).forwarded


def conversation_name(conversation: Conversation) -> str:
    """Digest of its messages through the first of the user's: which conversation this is, where nobody said.

    A system text outside of the messages says nothing of that: some clients change it with every request.
    """
    start, stop = conversation.history
    messages = [m for m, (at, _) in zip(conversation.messages, conversation.spans, strict=True) if start <= at < stop]
    end = next((i for i, m in enumerate(messages) if m.role == "user"), len(messages) - 1) + 1
    return digest(*(m.key.hex() for m in messages[:end])).hex()


def _fold_nothing(conversation: Conversation, options: FoldOptions, memo: Memo, rejected: Changes = _NO_CHANGES) -> Folded:
    """The conversation as it came, but for the blocks of its state, and for thinking that is no longer valid.

    Args:
        rejected: changes that made nothing smaller: what they do to thinking is done.
    """
    before = conversation_tokens(conversation, options.model, memo)
    if not (conversation.state.pins or rejected.unsigned or rejected.drops_thinking):
        return Folded(conversation, conversation, Changes(), False, "short", before, before)
    cut = units(conversation.messages, {}, memo)
    nothing = Plan((), len(cut), (), 0, len(cut), 0)
    blocks = draft(conversation, cut, frozenset(), nothing, options, {}, memo)
    made = changes(conversation.messages, blocks, {}, _caching(conversation, nothing, cut, options))
    if options.refuses_trailing_space:
        made = trim_endings(conversation.messages, made)
    made = without_thinking(made, conversation.messages, rejected.unsigned)
    made = replace(made, drops_thinking=rejected.drops_thinking)
    forwarded = conversation.with_changes(made, memo)
    check(conversation, forwarded)
    after = conversation_tokens(forwarded, options.model, memo)
    return Folded(conversation, forwarded, made, False, "short", before, after)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A fold of a conversation; it was decided when its first `decided` messages had come."""

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
        squeeze: factor of the limit for what stands.
        room: share of recall's room.
        without: how many of the oldest units with attachments are folded like any other.
    """

    squeeze: float
    room: float
    without: int = 0


_USED: Final = 0.6  # share of a budget below which too little is forwarded
_ROOMIER: Final = (16.0, 4.0, 2.0)  # of the share for what stands; all but a tenth of the budget at most
_FITTING: Final = tuple(
    _FitSetting(squeeze, room)
    for squeeze, room in ((1.0, 1.0), (0.6, 1.0), (0.6, 0.5), (0.3, 0.5), (0.3, 0.25), (0.05, 0.25), (0.05, 0.0))
)


def _settings(cut: Sequence[Unit]) -> Iterator[_FitSetting]:
    """The mildest first; attachments go last, the oldest half of them before the others."""
    yield from _FITTING
    attached = len(_attached(cut))
    for without in sorted({(attached + 1) // 2, attached} - {0}):
        yield replace(_FITTING[-2], without=without)


def _steady_attempt(
    conversation: Conversation,
    cut: Sequence[Unit],
    first: Plan,
    results: Mapping[int, ShapedResult],
    options: FoldOptions,
    memo: Memo,
) -> _Attempt | None:
    """The best attempt; `first` is the plan of its units under the mildest setting.

    Under a budget it may be another with each request. Where thinking is bound to what was sent, the one of the request that
    the first thinking of the latest turn answered holds as long as the turn goes on: results that come behind take their form,
    and nothing else changes.
    """
    if options.budget is None or not options.preserved_thinking or options.drops_thinking:
        return _best_attempt(conversation, cut, first, results, options, memo)
    whole, cut = cut, units(conversation.messages, results, memo, kept_messages(conversation.messages, options.keep, memo))
    thought = first_thought(cut)
    if thought is None:
        return _best_attempt(conversation, whole, first, results, options, memo)
    begun = conversation.with_changes(Changes(dropped=((cut[thought].start, len(conversation.messages)),)), memo)
    best = _attempt_alone(begun.with_state(conversation.state), options, memo)
    drawn, stays, recalls = (best.plan, best.stays, best.recalls) if best else (_UNFOLDED, frozenset[int](), {})
    drafted = draft(conversation, cut, stays, drawn, options, results, memo)
    if not (drawn.pieces or drafted.shaped):
        return None
    return _attempt(conversation, cut, stays, drawn, drafted, recalls, options, best.fitting if best else 0)


_UNFOLDED: Final = Plan((), 0, (), 0, 0, 0)


def _attempt_alone(conversation: Conversation, options: FoldOptions, memo: Memo) -> _Attempt | None:
    results = _shaped(conversation, options, memo)
    cut = _cut(conversation, results, options, memo)
    return _best_attempt(conversation, cut, plan(cut, options, memo=memo), results, options, memo)


def _best_attempt(
    conversation: Conversation,
    cut: Sequence[Unit],
    first: Plan,
    results: Mapping[int, ShapedResult],
    options: FoldOptions,
    memo: Memo,
) -> _Attempt | None:
    """The mildest candidate that fits the budget; the smallest there is when none does; None when nothing is folded."""
    best = None
    for fitting, setting in enumerate(_settings(cut)):
        cut = _without_attachments(cut, setting.without)
        drawn = plan(cut, options, setting.squeeze, memo) if fitting else first
        candidate = _candidate(conversation, cut, drawn, setting, fitting, results, options, memo)
        if candidate is None:
            return best
        best = candidate
        if options.budget is None:
            return best
        size = _size_with(conversation, best.changes, options, memo)
        if size <= options.budget:
            if fitting or size > _USED * options.budget:
                return best
            return _roomier(conversation, cut, results, options, memo) or best
    return best


def _roomier(
    conversation: Conversation,
    cut: Sequence[Unit],
    results: Mapping[int, ShapedResult],
    options: FoldOptions,
    memo: Memo,
) -> _Attempt | None:
    """Where recall leaves most of a budget, since the question bears on little: a candidate in which more stands."""
    for squeeze in _ROOMIER:
        drawn = plan(cut, options, squeeze, memo)
        candidate = _candidate(conversation, cut, drawn, _FitSetting(squeeze, 1.0), 0, results, options, memo)
        if candidate and _size_with(conversation, candidate.changes, options, memo) <= (options.budget or 0):
            return candidate
    return None


def _candidate(
    conversation: Conversation,
    cut: Sequence[Unit],
    drawn: Plan,
    setting: _FitSetting,
    fitting: int,
    results: Mapping[int, ShapedResult],
    options: FoldOptions,
    memo: Memo,
) -> _Attempt | None:
    """The fold that a setting's plan draws; None where it folds nothing."""
    if not (drawn.pieces or any(m.is_result for m in conversation.messages)):  # and only results are shaped
        return None
    stays = staying(cut)
    drafted = draft(conversation, cut, stays, drawn, options, results, memo)
    if not (drawn.pieces or drafted.shaped):
        return None
    recalls = dict(_recalls(conversation, cut, stays, drawn, drafted, options, setting.room, memo))
    return _attempt(conversation, cut, stays, drawn, drafted, recalls, options, fitting)


def _cut(conversation: Conversation, results: Mapping[int, ShapedResult], options: FoldOptions, memo: Memo) -> tuple[Unit, ...]:
    """The conversation's units, with the blocks of its state."""
    kept = kept_messages(conversation.messages, options.keep, memo)
    return add_block_tokens(units(conversation.messages, results, memo, kept), conversation.state, memo)


def _shaped(conversation: Conversation, options: FoldOptions, memo: Memo) -> Mapping[int, ShapedResult]:
    """The forms of tool results."""
    if not options.shape_results:
        return {}
    return shape_results(conversation.messages, memo, kept_messages(conversation.messages, options.keep, memo))


def _attempt(
    conversation: Conversation,
    cut: Sequence[Unit],
    stays: frozenset[int],
    drawn: Plan,
    drafted: FoldDraft,
    recalls: Mapping[int, Recall],
    options: FoldOptions,
    fitting: int,
) -> _Attempt:
    texts = {index: found.text for index, found in recalls.items()}
    made = changes(conversation.messages, drafted, texts, _caching(conversation, drawn, cut, options))
    if options.refuses_trailing_space:
        made = trim_endings(conversation.messages, made)
    made = without_thinking(made, conversation.messages, drafted.unsigned)
    made = move_marks(conversation.messages, made, recalls)
    end = decided(cut, drawn, options)
    if options.drops_thinking:  # under a budget anything may change with every request
        made = dropping(made, conversation.messages, end if options.budget is None else len(conversation.messages))
    return _Attempt(drawn, stays, drafted, recalls, made, fitting, end, cut)


def _attached(cut: Sequence[Unit]) -> list[int]:
    """Units whose attachments a budget may take; those of the last user message are part of the question."""
    last = max((i for i, u in enumerate(cut) if u.is_user), default=None)
    return [i for i, u in enumerate(cut) if u.attached and not u.kept and i != last]


def _without_attachments(cut: Sequence[Unit], without: int) -> tuple[Unit, ...]:
    """Units of which the oldest with attachments are like any other."""
    oldest = set(_attached(cut)[:without])
    return tuple(u._replace(attached=False) if i in oldest else u for i, u in enumerate(cut)) if oldest else tuple(cut)


def _size_with(conversation: Conversation, made: Changes, options: FoldOptions, memo: Memo) -> int:
    return conversation_tokens(conversation.with_changes(made, memo), options.model, memo)


def _caching(conversation: Conversation, plan: Plan, cut: Sequence[Unit], options: FoldOptions) -> Caching:
    """How text of ours keeps out of the cache's way: apart where it hits at marks only, the client's or ours."""
    theirs = True in [m.marked for m in conversation.messages]
    if not (theirs or options.cache_breakpoints):
        return Caching(apart=False)
    marked = None if theirs or not plan.askers else cut[plan.askers[-1].unit].start
    since = cut[plan.since].start if plan.events else len(conversation.messages)
    return Caching(apart=True, marked=marked, since=since)


def _recalls(
    conversation: Conversation,
    cut: Sequence[Unit],
    stays: frozenset[int],
    plan: Plan,
    drafted: FoldDraft,
    options: FoldOptions,
    room: float,
    memo: Memo,
) -> Iterator[tuple[int, Recall]]:
    """Per message index of a user message, the passages that go behind its text."""
    if not options.recall:
        return
    stays_on = _recall_stays(conversation, options)
    present, spent = list(drafted.texts()), 0
    for asker in plan.askers:
        if options.budget is None:
            budget = _recall_share(asker, spent, options, stays=stays_on)
        elif asker.last:
            budget = int(room * _recall_room(conversation, cut, plan, drafted, options, memo))
        else:
            continue
        found = recall_for(conversation.messages, cut, asker, stays, present, budget, options, memo)
        if found.text:
            present.append(found.text)
            spent += tokens.count(found.text) if stays_on else 0
            yield cut[asker.unit].start, found


def _recall_stays(conversation: Conversation, options: FoldOptions) -> bool:
    """Whether there may be recall that stays whatever reading it costs."""
    marked = True in [m.marked and not m.pinned for m in conversation.messages]
    return bool(options.preserved_thinking) or options.recall_stays or marked


def _recall_share(asker: Asker, spent: int, options: FoldOptions, *, stays: bool) -> int:
    """What recall may take without a budget; where earlier ones stay, all of them together take at most half of what is saved."""
    share = recall_tokens(asker, options)
    if not stays:
        return share
    return max(0, min(share, sum(p.tokens - p.size for p in asker.pieces) // 2 - spent))


def _recall_room(
    conversation: Conversation, cut: Sequence[Unit], plan: Plan, drafted: FoldDraft, options: FoldOptions, memo: Memo
) -> int:
    """What an explicit budget leaves for recall: all that is free when the request ends with the user message that asks. Under
    it, in a tool loop, the same as then; once a fold event has come in between, a quarter of the budget."""
    budget, asker = options.budget or 0, plan.askers[-1]
    if asker.pieces != plan.pieces:
        return budget // 4
    behind = conversation.messages[cut[asker.unit].end :]
    bare = _size_with(conversation, changes(conversation.messages, drafted, {}, Caching(apart=False)), options, memo)
    return max(0, budget - _JOINT - bare + sum(message_tokens(m, options.model, memo) for m in behind))


_JOINT: Final = 4  # tokens where recall joins the user's text: line breaks, and what merges differently across the seam

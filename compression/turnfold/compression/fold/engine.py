"""A conversation through the engine: plan, draft, recall, write, check.

This module fixes the order of the stations; each has a module of its own. Fitting a window is up to ``fit``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from turnfold.compression.fold.account import Account
from turnfold.compression.fold.adoption import WantedSummary
from turnfold.compression.fold.ask import Recall, open_questions
from turnfold.compression.fold.attempts import Attempt, first_plan, steady_attempt
from turnfold.compression.fold.changing import caching, changes, settle
from turnfold.compression.fold.check import ATTACHMENT_LOST, TURN_BROKEN, attachments_lost, check
from turnfold.compression.fold.counts import conversation_tokens, message_tokens
from turnfold.compression.fold.decisions import (
    binding,
    bound_belief,
    bound_likenesses,
    fresh,
    known_prefixes,
    under_marks,
    under_prices,
)
from turnfold.compression.fold.fold_task import FoldTask, fold_task
from turnfold.compression.fold.marks import writes_for_an_hour
from turnfold.compression.fold.outlook import Outlook
from turnfold.compression.fold.plan import Plan
from turnfold.compression.fold.thinking import binds_thinking
from turnfold.compression.fold.units.grouping import units
from turnfold.compression.fold.write import draft
from turnfold.compression.fold.writing.drafts import Section
from turnfold.compression.memo import Memo, digest
from turnfold.compression.options import FoldOptions, Precedence, Precedent, StateBlocks
from turnfold.compression.wire.changes import Changes
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.edits import Edit, apply, invert
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.message import Messages


@dataclass(frozen=True, slots=True)
class Folded:
    """The result of folding a conversation.

    Attributes:
        conversation: the conversation as received.
        forwarded: the conversation as sent, parsed from the written bytes; `conversation` itself if nothing is changed.
        changes: the changes made.
        folded: whether anything is folded or shaped.
        reason: a slug: why nothing was folded (as in ``Outlook``, "not-smaller", why the conversation is held); else
            "over-budget" when the parts that stay verbatim exceed the budget, "attachments-left-out" when a budget left no room
            for them, else "".
        tokens_before: tokens of the request as received, by the model's own vocabulary, including tool schemas.
        tokens_after: tokens of `forwarded`.
        sections: originals of the folded content, and their replacements, for drill-down.
        section_of: for each message index, its section.
        recalls: for each user message index, the recall after it.
        events: number of fold events of the conversation so far.
        fitting: how often the plan had to be made smaller to fit a budget; usually 0.
        outlook: when the first or next fold comes, in tokens of the border counter.
        decided: new precedents; whoever sends `forwarded` must store them first (``decisions``).
        precedence: what is known of the precedents, including new ones.
        wanted: blocks for which a written summary would be used, if the options ask for them.
        open_questions: indices of user messages whose similarities the options request but do not contain (``ask``).
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
    outlook: Outlook = Outlook()  # noqa: RUF009 - immutable
    decided: tuple[Precedent, ...] = ()
    precedence: Precedence = Precedence()  # noqa: RUF009 - frozen
    wanted: tuple[WantedSummary, ...] = ()
    open_questions: tuple[int, ...] = ()

    @property
    def only_shaped(self) -> bool:
        """Whether nothing is folded, but tool results are shaped."""
        return self.folded and not self.sections

    @property
    def account(self) -> Account:
        """The account of each message."""
        everything = tuple(range(len(self.conversation.messages)))
        return Account(everything, frozenset(), self.section_of, self.recalls).after(self.changes, self.conversation)

    @property
    def body(self) -> bytes:
        """The bytes to send; the received bytes if nothing is changed."""
        return self.forwarded.body

    @property
    def restore(self) -> tuple[Edit, ...]:
        """Edits that turn `body`, as text, back into the received text."""
        if self.forwarded is self.conversation:
            return ()
        return invert(self.conversation.text, self.conversation.wire.write(self.conversation, self.changes))


#: The reason if a budget or window left no room for attachments.
LEFT_OUT: Final = "attachments-left-out"
#: The reason if the verbatim parts exceed the budget.
OVER_BUDGET: Final = "over-budget"

_NO_CHANGES: Final = Changes()
_NO_OUTLOOK: Final = Outlook()
_NO_PRECEDENCE: Final = Precedence()

#: The engine's signature, for its callers.
Fold = Callable[[Conversation, FoldOptions, Memo], Folded]


def fold(conversation: Conversation, options: FoldOptions, memo: Memo) -> Folded:
    """Fold a conversation. Deterministic: equal conversations and options give equal bytes. `memo` only saves time.

    Raises:
        FoldRejected: our own output failed a check (no client input can cause this).
    """
    options = _under(conversation, options, memo)
    if conversation.held:
        return replace(_fold_nothing(conversation, options, memo), reason=conversation.held)
    given = fold_task(conversation, options, memo)
    if options.prices_if_cached is not None:
        options = under_prices(options, sum(unit.tokens for unit in given.cut))
        given = given._replace(options=options)
    drawn = first_plan(given)
    best = steady_attempt(given, drawn)
    drawn = drawn if best is None else best.plan
    decided = fresh(drawn.decided, options.precedents, conversation.messages, memo)
    precedence = _precedence(drawn, options.precedents, decided, conversation.messages, memo)
    plain = _fold_nothing(conversation, options, memo, outlook=drawn.outlook, decided=decided, precedence=precedence)
    if best is None:
        return replace(plain, reason=OVER_BUDGET) if _exceeds(plain.tokens_after, options) else plain
    return replace(_chosen(plain, best, options, memo), outlook=drawn.outlook, decided=decided, precedence=precedence)


def _precedence(
    drawn: Plan, known: Sequence[Precedent], decided: Sequence[Precedent], messages: Messages, memo: Memo
) -> Precedence:
    newest = max((*known, *decided), key=lambda one: one.at, default=None)
    unknown = set(drawn.unknown).difference(one.at for one in decided)
    named = known_prefixes(messages, unknown, memo)
    return Precedence(tuple(known), newest.prefix if newest else "", len(messages), {at: named[at] for at in sorted(unknown)})


def _chosen(plain: Folded, best: Attempt, options: FoldOptions, memo: Memo) -> Folded:
    """The fold of an attempt if it is smaller; otherwise the conversation unchanged."""
    conversation = plain.conversation
    forwarded = conversation.with_changes(best.changes, memo)
    after = conversation_tokens(forwarded, options.model, memo)
    questions = open_questions(best.cut, best.plan.askers, options)
    if not _is_smaller(plain, best, forwarded, after, options, memo):
        nothing = _fold_nothing(conversation, options, memo, best.changes)
        reason = OVER_BUDGET if _exceeds(nothing.tokens_after, options) else "not-smaller"
        return replace(nothing, reason=reason, open_questions=questions)
    lost = attachments_lost(conversation.messages, forwarded.messages) if options.budget is not None else False
    waived = ((ATTACHMENT_LOST, lost), (TURN_BROKEN, options.drops_thinking))
    check(conversation, forwarded, waived=frozenset(law for law, does in waived if does))
    return Folded(
        conversation,
        forwarded,
        best.changes,
        folded=True,
        reason=OVER_BUDGET if _exceeds(after, options) else LEFT_OUT if lost else "",
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


def _exceeds(size: int, options: FoldOptions) -> bool:
    return options.budget is not None and size > options.budget


def _under(conversation: Conversation, options: FoldOptions, memo: Memo) -> FoldOptions:
    """The options, with gaps filled from the conversation."""
    model = options.model or conversation.model
    bound = binds_thinking(model) if options.preserved_thinking is None else options.preserved_thinking
    stays = options.recall_stays or conversation.marked_at_end
    drops = options.drops_thinking and bound and conversation.can_drop_thinking
    messages = conversation.messages
    said: dict[str, Any] = {
        "model": model,
        "preserved_thinking": bound,
        "recall_stays": stays,
        "drops_thinking": drops,
        "precedents": binding(options.precedents, messages, memo),
        "borrowed": binding(options.borrowed, messages, memo),
        "belief": bound_belief(options.belief, messages, memo),
        "likenesses": bound_likenesses(options.likenesses, messages, memo),
    }
    new = {name: value for name, value in said.items() if value != getattr(options, name)}
    return under_marks(replace(options, **new) if new else options, hour=writes_for_an_hour(conversation))


def _is_smaller(plain: Folded, best: Attempt, forwarded: Conversation, after: int, options: FoldOptions, memo: Memo) -> bool:
    """Whether a fold of `after` tokens is smaller than the received conversation.

    If thinking is bound to the messages sent, the answer must not change between two fold events, so it depends only on the
    messages before the newest one.
    """
    if not (options.preserved_thinking and best.plan.events):
        return after < max(plain.tokens_before, plain.tokens_after)
    received = plain.conversation.messages
    end = best.decided
    kept = len(forwarded.messages) - (len(received) - end)  # later messages are never left out
    sides = (received[:end], plain.forwarded.messages[:end], forwarded.messages[:kept])
    before, bare, folded = (sum(message_tokens(m, options.model, memo) for m in side) for side in sides)
    return folded < before or folded < bare


def fold_request(body: bytes, options: FoldOptions, memo: Memo) -> Folded:
    """Fold the body of a chat-completions request: read it, then call :func:`fold`.

    Raises:
        FoldRejected: "unparsable" if the body cannot be read; or our own output failed a check.
    """
    return fold(CHAT.read(body, memo), options, memo)


def unfold(folded: Folded) -> bytes:
    """The received body, byte for byte (law 3), restored from the forwarded one and its edits."""
    return apply(folded.forwarded.text, folded.restore).encode("utf-8")


def state_written(conversation: Conversation, options: FoldOptions, memo: Memo) -> Conversation:
    """The conversation with its state blocks inserted and nothing folded, byte for byte as `fold` leaves it if it folds nothing.

    The conversation itself if it has no state.
    """
    return _fold_nothing(conversation, options, memo).forwarded


def lean(conversation: Conversation, options: FoldOptions, memo: Memo) -> Conversation:
    """The conversation with only the state block in force, as text before the last user message, so that no cut can lose it.

    The conversation itself if it has no state.
    """
    pins = conversation.state.pins
    if not pins:
        return conversation
    last = max((i for i, m in enumerate(conversation.messages) if m.role == "user" and m.holds), default=None)
    in_force = StateBlocks() if last is None else StateBlocks(((last, pins[-1][1]),))
    bare = conversation.with_state(in_force)
    return bare if last is None else _fold_nothing(bare, options, memo).forwarded


def conversation_name(conversation: Conversation) -> str:
    """Digest of the messages up to and including the user's first one: identifies a conversation without a name.

    A system text outside of the messages is left out: some clients change it with every request.
    """
    start, stop = conversation.history
    keys: list[str] = []
    for message, (at, _) in zip(conversation.messages, conversation.spans, strict=True):
        if start <= at < stop:
            keys.append(message.key.hex())
            if message.role == "user":
                break
    return digest(*keys).hex()


def _fold_nothing(
    conversation: Conversation,
    options: FoldOptions,
    memo: Memo,
    rejected: Changes = _NO_CHANGES,
    outlook: Outlook = _NO_OUTLOOK,
    decided: tuple[Precedent, ...] = (),
    precedence: Precedence = _NO_PRECEDENCE,
) -> Folded:
    """The conversation unchanged, except for its state blocks and thinking that is no longer valid.

    Args:
        rejected: changes that made nothing smaller; only their effect on thinking is applied.
        outlook: why nothing is folded.
        decided, precedence: as in `Folded`.
    """
    before = conversation_tokens(conversation, options.model, memo)
    if not (conversation.state.pins or rejected.unsigned or rejected.drops_thinking):
        made, forwarded, after = _NO_CHANGES, conversation, before
    else:
        made = _state_changes(conversation, options, memo, rejected)
        forwarded = conversation.with_changes(made, memo)
        check(conversation, forwarded)
        after = conversation_tokens(forwarded, options.model, memo)
    return Folded(
        conversation,
        forwarded,
        made,
        False,
        outlook.reason,
        before,
        after,
        outlook=outlook,
        decided=decided,
        precedence=precedence,
    )


def _state_changes(conversation: Conversation, options: FoldOptions, memo: Memo, rejected: Changes) -> Changes:
    """The state blocks of a conversation, and the effect of rejected changes on thinking."""
    cut = units(conversation.messages, {}, memo)
    nothing = Plan((), len(cut), (), 0, len(cut), 0)
    given = FoldTask(conversation, cut, {}, options, memo)
    made = changes(conversation.messages, draft(given, frozenset(), nothing), {}, caching(given, nothing))
    made = settle(made, conversation.messages, options, rejected.unsigned)
    return replace(made, drops_thinking=rejected.drops_thinking)

"""Making a request fit its upstream's window.

This is the one entry that every request passes (fold, then fit), and the order in which ways to make it smaller are tried. The
ways themselves have modules of their own; an upstream's refusal is handled in ``recover``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil
from typing import Final, TypeVar

from turnfold.compression import tokens
from turnfold.compression.calibration import Learned, snap_ratio
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.bound_fold import BoundFold
from turnfold.compression.fit.cut import Cut, cut, cut_results
from turnfold.compression.fit.older import SmallRequest, fold_older
from turnfold.compression.fit.steady import border, go_on, head
from turnfold.compression.fit.unpriced import (
    UNKNOWN_VOCABULARY,
    Weights,
    attached_in,
    held_weights,
    hidden_in,
    text_ratio,
    weighed,
)
from turnfold.compression.fold import Fold, Folded, Section, attachments_lost, fold, lean
from turnfold.compression.fold.account import Account
from turnfold.compression.fold.decisions import rung
from turnfold.compression.fold.policy import EARLIEST
from turnfold.compression.fold.units.grouping import units
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.conversation import Conversation

T = TypeVar("T")

SLACK: Final = 0.9  # usable share of a window: counters never agree exactly, and templates add tokens
#: The reason given if a budget was met by cutting the newest results.
RESULTS_CUT: Final = "results-cut"
_SURELY_FITS: Final = 1 / 4  # of a window
LEAST_ROOM: Final = 128  # tokens; with less room, no answer would be useful
_UNSURE: Final = 0.05  # share of what attachments are learned to weigh by which that may be wrong
_DEFAULT_OUTPUT: Final = 4096  # room for an answer if the request names none
_OUTPUT_SHARE: Final = 8  # and at most an eighth of the window


@dataclass(frozen=True, slots=True)
class Fitted:
    """A request as it should be sent to the upstream.

    Attributes:
        folded: the result of the fold.
        small: the smaller request to send instead; None if the fold fits.
    """

    folded: Folded
    small: SmallRequest | None = None

    @property
    def forwarded(self) -> Conversation:
        """The request to send."""
        return self.folded.forwarded if self.small is None else self.small.forwarded

    @property
    def tokens(self) -> int:
        """Tokens of `forwarded`, by our own count."""
        return self.folded.tokens_after if self.small is None else self.small.tokens

    @property
    def sections(self) -> tuple[Section, ...]:
        """Originals of the text folded in `forwarded`, for drill-down."""
        return self.folded.sections if self.small is None else self.small.sections

    @property
    def account(self) -> Account:
        """What was done to each message."""
        return self.folded.account if self.small is None else self.small.account

    @property
    def reason(self) -> str:
        """Why nothing is folded, or another remark on the result (as in ``Folded``)."""
        return self.folded.reason if self.small is None else self.small.reason

    @property
    def fitted(self) -> bool:
        """Whether it is smaller than the fold alone."""
        return self.small is not None


def fit(
    conversation: Conversation,
    options: FoldOptions,
    memo: Memo,
    known: Learned = Learned(),  # noqa: B008 - frozen
    fold: Fold = fold,
) -> Fitted:
    """Fold a request, and make it smaller only if the upstream's window requires it. Every request passes through here.

    The window is the learned one, else ``options.window`` (the model's published window). If nothing makes the request fit, it is
    sent as folded: the upstream's own error is the clearest answer.

    Args:
        known: what was learned of this upstream and model.
        fold: the engine.

    Raises:
        FoldRejected: our own output failed a check.
    """
    folded = fold(conversation, options, memo)
    hidden = hidden_in(attached_in(folded.forwarded.messages), known)
    theirs = _theirs(folded, hidden, known, options.model or conversation.model)
    window = known.window(theirs, options.window)
    if window is None or theirs < window * _SURELY_FITS:  # if that is too much, the room for the answer is to blame
        return Fitted(folded, _cut_to_budget(folded, options, memo))
    if theirs + int(_UNSURE * hidden) + (conversation.output or 0) <= window:
        return Fitted(folded, _cut_to_budget(folded, options, memo))
    ratio = known.planned or snap_ratio(planning_ratio(known, options.model or conversation.model))
    if theirs - hidden < known.scaled(folded.tokens_after):
        ratio = min(ratio, snap_ratio((theirs - hidden) / folded.tokens_after))
    room = int((window - output_reserve(conversation.output, window)) * SLACK / ratio)
    steady = replace(options, belief=None)  # beliefs change, and nobody stores a decision made here
    if room < LEAST_ROOM:
        return Fitted(folded)
    bound = BoundFold(steady, memo, fold)
    if hidden:
        return Fitted(folded, _shrink_weighed(conversation, room, Weights(0.0, 1.0, held_weights(known, ratio)), bound))
    return Fitted(folded, shrink_steadily(conversation, room, bound))


def _theirs(folded: Folded, hidden: int, known: Learned, model: str) -> int:
    """Tokens that the upstream will count in a folded request whose attachments take `hidden` of them."""
    theirs = known.theirs(folded.tokens_after)
    return max(theirs, ceil(text_ratio(known, model) * folded.tokens_after)) + hidden if hidden else theirs


def _shrink_weighed(conversation: Conversation, room: int, weights: Weights, fold: BoundFold) -> SmallRequest | None:
    """A smaller request, with the learned weights of its attachments counted. These need no margin of their own, so before one is
    taken out, that is used.
    """
    read = weighed(conversation, weights)
    larger = room + int((1 - SLACK) * sum(map(weights.of, conversation.messages)))
    made = [small for most in (room, larger) if (small := shrink_steadily(read, most, fold)) is not None]
    whole = (small for small in made if not attachments_lost(read.messages, small.forwarded.messages))
    small = next(whole, made[0] if made else None)
    if small is None:
        return None
    forwarded = conversation.wire.read(small.forwarded.body, fold.memo.passing())  # weights apply to this decision only
    return replace(small, forwarded=forwarded, tokens=fold.for_model(conversation).tokens(forwarded))


def _cut_to_budget(folded: Folded, options: FoldOptions, memo: Memo) -> SmallRequest | None:
    """A fold over its budget with the newest results cut, which a fold leaves unchanged; None if there are none, or cutting them
    does not make it smaller.
    """
    budget = options.budget
    if budget is None or folded.tokens_after <= budget:
        return None
    options = replace(options, model=options.model or folded.conversation.model)
    made = _attempt(lambda: cut_results(folded.forwarded, budget, options, memo, _newest_question(folded)))
    if made is None or made.tokens >= folded.tokens_after:
        return None
    account = folded.account.after(made.changes, folded.forwarded)
    reason = folded.reason if made.tokens > budget else RESULTS_CUT
    return SmallRequest(made.forwarded, made.tokens, (*folded.sections, *made.sections), account, reason=reason)


def _newest_question(folded: Folded) -> str:
    """The user's last text, without the quotes that the fold added to it."""
    messages = folded.conversation.messages
    return next((m.own for m in reversed(messages) if m.speaker == "user"), "")


def is_left_alone(conversation: Conversation, options: FoldOptions, known: Learned) -> bool:
    """Whether `fit` is certain to leave a conversation unchanged and to decide nothing, as far as can be told without folding."""
    if options.budget is not None or conversation.state.pins or conversation.messages.results:
        return False
    total = sum([m.tokens for m in conversation.messages])
    if total > EARLIEST or rung(total):
        return False
    width = 1 if conversation.text.isascii() else 4  # most bytes of a character; a token has at least one byte
    most = known.scaled(3 + sum([m.other_tokens for m in conversation.messages]) + width * len(conversation.text))
    most += hidden_in(attached_in(conversation.messages), known)
    window = known.window(most, options.window)
    return window is None or most < window * _SURELY_FITS


def planning_ratio(known: Learned, model: str) -> float:
    """Upstream tokens / our tokens for planning: as reported, else 1 if our vocabulary is the model's, else with a margin."""
    if known.ratios or tokens.encoding_for_model(model):
        return known.ratio
    return UNKNOWN_VOCABULARY


def output_reserve(output: int | None, window: int) -> int:
    """Tokens of a window reserved for the answer: as many as the request asks for, else a default."""
    return output if output is not None else min(_DEFAULT_OUTPUT, window // _OUTPUT_SHARE)


def shrink_steadily(conversation: Conversation, room: int, fold: BoundFold) -> SmallRequest | None:
    """A request of at most `room` tokens that extends the previous one if possible (``steady``); otherwise as from `shrink`.

    Without a cache that makes this cheaper, each request uses all of the room.
    """
    fold = fold.for_model(conversation)
    options, memo = fold.options, fold.memo
    cached = options.prices.read < options.prices.write or options.prices_if_cached is not None
    since = border(conversation, room, int(room / SLACK), options.model, memo) if cached else None
    if since is not None:
        begun = head(conversation, since.end, memo)
        small = shrink(begun, since.room, fold, cuts_recent=False)
        if small is not None:
            made = _attempt(lambda: go_on(conversation, since, small, room, fold))
            if made is not None:
                return made
    return shrink(conversation, room, fold)


def shrink(conversation: Conversation, room: int, fold: BoundFold, *, cuts_recent: bool = True) -> SmallRequest | None:
    """The mildest way to bring a request down to `room` tokens; None if there is none, or the request must not be changed.

    In this order: a fold of its older part; a cut in the middle of its largest texts; one that leaves old messages out, where
    the recent ones stay as they are and the task is among what stays; a fold of all but the newest messages, as many as leave
    room for it; a fold of all of it; a cut of that fold; whatever cut there is.

    Args:
        cuts_recent: whether the recent messages may be cut too; the requests behind a border go on from what is made of it.
    """
    if conversation.held:
        return None
    fold = fold.for_model(conversation)
    options, memo = fold.options, fold.memo
    base = lean(conversation, options, memo)
    older = _attempt(lambda: fold_older(base, room, fold, narrow=not cuts_recent))
    if older is not None:
        return older
    plain = _attempt(lambda: cut(base, room, options, memo))
    plain_cut = None if plain is None else _shrink_by_cut(base, plain)
    mild = plain is not None and (plain.recent_whole or (cuts_recent and not plain.dropped))
    if plain is not None and mild and not _leaves_tasks_out(base, plain):
        return plain_cut
    newest = _attempt(lambda: fold_older(base, room, fold, narrow=True)) if cuts_recent else None
    if newest is not None:
        return newest
    whole = _shrink_by_fold(conversation, room, fold, cuts_recent=cuts_recent)
    if whole is not None:
        return whole
    return plain_cut if plain is None or cuts_recent or _leaves_newest_whole(base, plain, memo) else None


def _shrink_by_fold(conversation: Conversation, room: int, fold: BoundFold, *, cuts_recent: bool) -> SmallRequest | None:
    """A fold of the whole conversation, then cut if it is still too large and may be cut."""
    options, memo = fold.options, fold.memo
    folded = _attempt(lambda: fold.fold(conversation, replace(options, budget=room), memo))
    if folded is None or not folded.folded:
        return None
    if folded.tokens_after <= room:
        made, given = folded.changes, len(conversation.messages)
        return SmallRequest(folded.forwarded, folded.tokens_after, folded.sections, folded.account, made, given)
    both = _attempt(lambda: cut(folded.forwarded, room, options, memo, _newest_question(folded))) if cuts_recent else None
    if both is None:
        return None
    account = folded.account.after(both.changes, folded.forwarded)
    return SmallRequest(both.forwarded, both.tokens, (*folded.sections, *both.sections), account)


def _leaves_newest_whole(base: Conversation, made: Cut, memo: Memo) -> bool:
    """Whether a cut leaves the newest messages and the user's last text unchanged."""
    touched = made.changes.gone.union(made.changes.texts)
    newest = max((i for i, message in enumerate(base.messages) if message.speaker == "user"), default=0)
    last = units(base.messages, memo=memo)[-1]
    return newest not in touched and touched.isdisjoint(range(last.start, last.end))


def _shrink_by_cut(base: Conversation, made: Cut) -> SmallRequest:
    account = Account(tuple(range(len(base.messages)))).after(made.changes, base)
    return SmallRequest(made.forwarded, made.tokens, made.sections, account, made.changes)


def _leaves_tasks_out(base: Conversation, made: Cut) -> bool:
    """Whether a cut leaves messages out, and results are in user messages: a fold would quote the task, a cut does not."""
    return bool(made.dropped) and any(message.reports for message in base.messages)


def _attempt(make: Callable[[], T | None]) -> T | None:
    """The result of a way; None if it violated a law."""
    try:
        return make()
    except FoldRejected:
        return None

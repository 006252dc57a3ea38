"""One recovery from a full context.

This module decides how small a request has to become, and is the exchange with the upstream as a generator that yields a call and
is sent the reply. ``fit`` makes a request smaller, ``overflow`` understands what an upstream says, and the driver sends.

A driver does this, and no more (``turnfold.proxy.chat.recovering``):

    try:
        resend = next(flow)
        flow.send(reply_of(resend))     # never reached twice: there is one call at most
    except StopIteration as done:
        outcome = done.value
"""

from __future__ import annotations

import json
import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from turnfold.compression.calibration import Hidden, Learned, clamp_ratio
from turnfold.compression.fit.bound_fold import BoundFold
from turnfold.compression.fit.cut import recent_start
from turnfold.compression.fit.fit import LEAST_ROOM, SLACK, output_reserve, planning_ratio, shrink
from turnfold.compression.fit.older import SmallRequest
from turnfold.compression.fit.overflow import Overflow, detect
from turnfold.compression.fit.summarised import with_summary
from turnfold.compression.fit.unpriced import (
    Attached,
    Weights,
    attached_in,
    explain,
    held_weights,
    is_notable,
    spread,
    text_ratio,
    weighed,
)
from turnfold.compression.fold import LEFT_OUT, Fold, Section, attachments_lost, fold
from turnfold.compression.fold.units.grouping import units
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.summary.calls import ModelCall
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.message import Messages

_BESIDE_VERBATIM: Final = 1.15  # room for the verbatim part with a summary
# What is left of a window for the one try: what stays may be tables and code, which take more tokens by another vocabulary than
# the prose that goes, by up to a quarter.
_ONE_TRY: Final = 0.8
_BLIND: Final = 0.28  # share of a request to send if no window is known: enough if it was three times the window


@dataclass(frozen=True, slots=True)
class Resend:
    """Send this request to where the first one went, with the same headers.

    Attributes:
        attempt: the outcome so far, before the reply.
    """

    forwarded: Conversation
    attempt: Outcome


@dataclass(frozen=True, slots=True)
class UpstreamReply:
    """The upstream's reply.

    Attributes:
        status: HTTP status.
        head: the body's beginning; of a stream its first event.
        in_stream: whether `head` is the beginning of an answer with status 200.
    """

    status: int
    head: bytes
    in_stream: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a recovery.

    Attributes:
        recovered: whether the client gets the reply to the second request; if not, it gets the original error, byte for byte.
        reason: a slug: "" or "attachments-left-out" when recovered, "output-too-large", "nothing-to-cut", "refused-again".
        forwarded: the request sent; None if none was.
        tokens_before: tokens of the request that overflowed, by our own count.
        tokens_after: tokens of `forwarded`.
        sections: originals of the text folded in `forwarded`, for drill-down.
        window: most tokens that the upstream accepts, as far as this exchange showed.
        ratio: upstream tokens / our tokens, as far as this exchange showed.
        hidden: what the attachments of the refused request weigh, as far as the error showed.
        attached: the attachments of `forwarded`.
    """

    recovered: bool
    reason: str
    forwarded: Conversation | None
    tokens_before: int
    tokens_after: int
    sections: tuple[Section, ...] = ()
    window: int | None = None
    ratio: float | None = None
    hidden: tuple[Hidden, ...] = ()
    attached: tuple[Attached, ...] = ()


def recover(
    conversation: Conversation,
    overflow: Overflow,
    options: FoldOptions,
    memo: Memo,
    known: Learned = Learned(),  # noqa: B008 - frozen
    sent: Conversation | None = None,
    fold: Fold = fold,
    summary_tokens: int = 0,
) -> Generator[Resend | ModelCall, Any, Outcome]:
    """Make a request that overflowed fit, and send it a second and last time.

    Args:
        conversation: the request as sent by the client.
        overflow: the upstream's error.
        options: as for any fold; ``window`` is used if the upstream named none.
        known: what was learned of this upstream and model.
        sent: the request that overflowed; None if that was `conversation` itself.
        fold: the engine.
        summary_tokens: most tokens for a model's summary of what is left out; 0: no summary. It is requested by a `ModelCall`,
            which is answered by a `ModelReply` or None.
    """
    bound = BoundFold(replace(options, model=options.model or conversation.model), memo, fold)
    ours = bound.tokens(sent or conversation)
    least = _verbatim(conversation, bound)
    need = _need(overflow, conversation.output, ours, least, bound.options, known)
    went, ratio = attached_in((sent or conversation).messages), text_ratio(known, bound.options.model)
    excess = _unexplained(overflow, ours, ratio, went)
    shown = explain(excess, went, known, ratio) if excess > 0 else ()
    missed = Outcome(False, "", None, ours, ours, window=overflow.limit, ratio=need.reported_ratio, hidden=shown)
    if overflow.kind == "output":
        return replace(missed, reason="output-too-large")
    weights = spread(excess, went, held_weights(known, ratio))
    made = None if weights is None else _shrink_weighed(conversation, sent or conversation, weights, overflow, known, bound)
    if made is None:
        if need.room < LEAST_ROOM:
            return replace(missed, reason="output-too-large")
        small = shrink(conversation, need.room, bound)
        if small is None:
            return replace(missed, reason="nothing-to-cut")
        made = _Shrunk(conversation, need.room, small)
    small = made.small
    if summary_tokens:
        small = yield from with_summary(made.read, made.room, bound, small, summary_tokens)
    forwarded, size = small.forwarded, small.tokens
    if made.read is not conversation:  # weights apply to this decision only
        forwarded = conversation.wire.read(forwarded.body, memo.passing())
        size = bound.tokens(forwarded)
    reason = LEFT_OUT if attachments_lost(conversation.messages, forwarded.messages) else ""
    tried = replace(missed, reason=reason, forwarded=forwarded, tokens_after=size, sections=small.sections)
    tried = replace(tried, attached=attached_in(forwarded.messages))
    reply = yield Resend(forwarded, tried)
    return conclude(tried, overflow, reply)


def conclude(tried: Outcome, overflow: Overflow, reply: UpstreamReply) -> Outcome:
    """The outcome of an attempt, given the reply to it."""
    again = detect(reply.status, reply.head, in_stream=reply.in_stream)
    if again or reply.status >= 400 or (reply.in_stream and _is_error(reply.head)):
        return replace(tried, reason="refused-again", window=again.limit if again and again.limit else overflow.limit)
    return replace(tried, recovered=True)


@dataclass(frozen=True, slots=True)
class _Need:
    """The tokens that a request may have by our own count; `reported_ratio` is the one from the upstream's figures."""

    room: int
    reported_ratio: float | None


@dataclass(frozen=True, slots=True)
class _Verbatim:
    """Tokens of the messages that stay verbatim: `pinned` (with the schemas) always, `recent` includes the most recent fifth."""

    pinned: int
    recent: int


def _verbatim(conversation: Conversation, fold: BoundFold) -> _Verbatim:
    messages = conversation.messages
    start = recent_start(messages, units(messages, memo=fold.memo))
    pinned = tuple(m for m in messages if m.pinned)
    recent = tuple(m for i, m in enumerate(messages) if m.pinned or i >= start)
    return _Verbatim(*(fold.tokens(replace(conversation, messages=Messages(some))) for some in (pinned, recent)))


def _unexplained(overflow: Overflow, ours: int, ratio: float, attached: Sequence[Attached]) -> float:
    """The part of the upstream's total that our own count does not explain, in our tokens; 0 if the error names no total, or if
    only images could explain a part that may be one of vocabularies."""
    reported = overflow.prompt or overflow.requested
    if reported is None or overflow.lower_bound or not attached:
        return 0.0
    excess = reported / ratio - ours
    return excess if any(one.is_unpriced for one in attached) or is_notable(excess, ours) else 0.0


@dataclass(frozen=True, slots=True)
class _Shrunk:
    """A conversation, and the smaller request made from it for a room."""

    read: Conversation
    room: int
    small: SmallRequest


def _shrink_weighed(
    conversation: Conversation, sent: Conversation, weights: Weights, overflow: Overflow, known: Learned, fold: BoundFold
) -> _Shrunk | None:
    """A smaller request, with attachments weighed by the upstream's total; None if the attachments that must stay leave no room.

    Attachments are removed only if folding text does not make enough room. Before that, the margin for their own weight is used:
    attachments that stay take as many tokens as before.
    """
    read = weighed(conversation, weights)
    ours = fold.tokens(weighed(sent, weights))
    room = _need(overflow, conversation.output, ours, _verbatim(read, fold), fold.options, known).room
    larger = room + int((1 - _ONE_TRY) * sum(map(weights.of, conversation.messages)))
    small = None
    for most in (room, larger):
        made = shrink(read, most, fold) if most >= LEAST_ROOM else None
        if made is not None and not attachments_lost(read.messages, made.forwarded.messages):
            return _Shrunk(read, most, made)
        small = small or made
    return None if small is None else _Shrunk(read, room if small.tokens <= room else larger, small)


def _blind_room(ours: int, least: _Verbatim, fits: int) -> int:
    """The room for a request if no window is known, by our own count. There is only one try, so it is kept small.

    It is a small share of the refused request or, if larger, the verbatim part with a summary. If the newest messages are most of
    the request, they are cut as well. A length accepted before is known to fit.

    Args:
        fits: the longest accepted prompt, by our count; 0 if unknown.
    """
    recent = int(least.recent * _BESIDE_VERBATIM)
    worth = recent if recent < ours / 2 else int(least.pinned * _BESIDE_VERBATIM)
    return min(max(int(ours * _BLIND), fits if fits >= least.recent else worth), int(ours * SLACK))


def _need(overflow: Overflow, output: int | None, ours: int, least: _Verbatim, options: FoldOptions, known: Learned) -> _Need:
    reported_ratio = _reported_ratio(overflow, output, ours, known)
    ratio = reported_ratio if reported_ratio is not None else planning_ratio(known, options.model)
    if overflow.lower_bound and overflow.prompt:
        ratio = max(ratio, clamp_ratio(overflow.prompt / max(1, ours)))
    limit = overflow.limit or _known_window(int(ours * ratio), options.window, known)
    if limit is None:
        return _Need(_blind_room(ours, least, int(known.fits * SLACK / ratio)), reported_ratio)
    reserve = 0 if overflow.prompt_only else output_reserve(overflow.output or output, limit)
    if ratio < 1:
        ratio = (1 + ratio) / 2  # the text behind the ratio may be the text that is removed
    ratio = max(ratio, (limit - reserve) / max(1, ours))  # it overflowed, whatever our count says
    return _Need(int((limit - reserve) * _ONE_TRY / ratio), reported_ratio)


def _reported_ratio(overflow: Overflow, output: int | None, ours: int, known: Learned) -> float | None:
    """Upstream tokens / our tokens, from the figures of the error.

    A total may include the output room. Of the two readings, the one consistent with earlier observations is used, else the more
    cautious one.
    """
    reported = overflow.prompt or overflow.requested
    if reported is None or overflow.lower_bound:
        return None
    readings = [reported] if overflow.prompt or not output or output >= reported else [reported, reported - output]
    ratios = [clamp_ratio(n / max(1, ours)) for n in readings]
    return min(ratios, key=lambda r: abs(math.log(r / known.ratio))) if known.ratios else ratios[0]


def _known_window(theirs: int, published: int | None, known: Learned) -> int | None:
    """The model's window if the error names none, unless such a window would have accepted the request."""
    return next((w for w in (known.window(theirs, published), published) if w is not None and w < theirs), None)


def _is_error(head: bytes) -> bool:
    """Whether the first event of a stream is an error: a complaint about something other than a full context."""
    text = head.decode("utf-8", "replace").lstrip()
    if text.startswith("event: error"):
        return True
    data = next((line[5:] for line in text.splitlines() if line.startswith("data:")), text)
    try:
        value = json.loads(data)
    except ValueError:
        return False
    value = value[0] if isinstance(value, list) and value else value
    return isinstance(value, dict) and bool(value.get("error"))

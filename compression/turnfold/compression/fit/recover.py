"""One recovery from a full context.

Lives here: how small a request has to become, in what order ways of making it smaller are tried, and the exchange with the
upstream as a generator that yields a call and is sent the reply. Must not: sending anything, knowing an upstream's wording.

A driver does this, and no more (``turnfold.proxy.chat.recovering``):

    try:
        call = next(flow)
        call = flow.send(reply_of(call))     # never reached twice: there is one call at most
    except StopIteration as done:
        outcome = done.value
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from turnfold.compression import tokens
from turnfold.compression.calibration import Learned, clamp_ratio
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.cut import cut
from turnfold.compression.fit.older import fold_older
from turnfold.compression.fit.overflow import Overflow, detect
from turnfold.compression.fold import FoldedRequest, Section, request_tokens
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.chat import parse_request

T = TypeVar("T")

Fold = Callable[[bytes, FoldOptions, Memo], FoldedRequest]

_SLACK: Final = 0.9  # what is left of a window: two counters never agree, and templates add tokens of their own
_DEFAULT_OUTPUT: Final = 4096  # room for an answer where the request names none
_OUTPUT_SHARE: Final = 8  # and at most an eighth of the window
_LEAST_ROOM: Final = 128  # tokens below which nothing that is left would be worth an answer
_UNKNOWN_VOCABULARY: Final = 1.5  # theirs / ours at worst for most text, where nothing tells how an upstream counts
_BLIND: Final = 0.28  # share of a request that is sent where no window is known: enough for one of three times the window


@dataclass(frozen=True, slots=True)
class Call:
    """Send this body to where the first one went, with the same headers."""

    body: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back.

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
    """How a recovery ended.

    Attributes:
        recovered: whether the reply to the call is what the client gets; else it gets the original error, bytes and all.
        reason: a slug: "" when recovered, "output-too-large", "nothing-to-cut", "unparsable", "refused-again".
        body: what was sent; None when nothing was.
        tokens_before: tokens of what overflowed, by our own count.
        tokens_after: tokens of `body`.
        sections: originals of what was folded in `body`, for drill-down.
        window: tokens that the upstream takes, as far as this exchange told.
        ratio: its tokens for one of ours, as far as this exchange told.
    """

    recovered: bool
    reason: str
    body: bytes | None
    tokens_before: int
    tokens_after: int
    sections: tuple[Section, ...] = ()
    window: int | None = None
    ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Fitted:
    """A request as it should be sent to an upstream whose window is known.

    Attributes:
        body: the bytes to send.
        fitted: whether they are smaller than what a fold without a window would have sent.
        folded: what the fold gave.
        tokens: tokens of `body`, by our own count.
    """

    body: bytes
    fitted: bool
    folded: FoldedRequest
    tokens: int


@dataclass(frozen=True, slots=True)
class _Small:
    body: bytes
    tokens: int
    sections: tuple[Section, ...]


def recover(
    body: bytes,
    overflow: Overflow,
    options: FoldOptions,
    fold: Fold,
    memo: Memo,
    known: Learned = Learned(),  # noqa: B008 - frozen
    sent: bytes | None = None,
) -> Generator[Call, Reply, Outcome]:
    """Make a request that overflowed fit, and send it once more, once.

    Args:
        body: the request as the client sent it.
        overflow: what the upstream said to what was sent.
        options: as for any fold; ``window`` is used where the upstream named none.
        known: what was learned of this upstream and model.
        sent: what was sent and overflowed, where that was a fold of `body`.
    """
    try:
        request = parse_request(body if sent is None else sent, memo)
    except FoldRejected:
        return Outcome(False, "unparsable", None, 0, 0, window=overflow.limit)
    options = replace(options, model=options.model or request.model)
    ours = request_tokens(request, options.model, memo)
    need = _need(overflow, _declared_output(body), ours, options, known)
    missed = Outcome(False, "", None, ours, ours, window=overflow.limit, ratio=need.told)
    if overflow.kind == "output" or need.room < _LEAST_ROOM:
        return replace(missed, reason="output-too-large")
    small = _smaller(body, need.room, options, fold, memo)
    if small is None:
        return replace(missed, reason="nothing-to-cut")
    reply = yield Call(small.body)
    tried = replace(missed, body=small.body, tokens_after=small.tokens, sections=small.sections)
    again = detect(reply.status, reply.head, in_stream=reply.in_stream)
    if again or reply.status >= 400 or (reply.in_stream and _is_error(reply.head)):
        return replace(tried, reason="refused-again", window=again.limit if again and again.limit else overflow.limit)
    return replace(tried, recovered=True)


def fit(
    body: bytes,
    options: FoldOptions,
    fold: Fold,
    memo: Memo,
    known: Learned = Learned(),  # noqa: B008 - frozen
) -> Fitted:
    """Fold a request as ever, and make it smaller only where the upstream's window would not take it.

    The window is the learned one, else ``options.window`` (what is published of the model). Where nothing makes it fit, it is
    sent as folded: the upstream's own error is the clearest answer.

    Raises:
        FoldRejected: our own output failed a check.
    """
    folded = fold(body, replace(options, window=None), memo)
    plain = Fitted(folded.body, fitted=False, folded=folded, tokens=folded.tokens_after)
    if not folded.tokens_before:  # unparsable
        return plain
    theirs = known.theirs(folded.tokens_after)
    window = known.window(theirs) or _unless_outgrown(options.window, known.fits)
    if window is None or theirs < window / 4:  # not worth reading the body once more for its output room
        return plain
    output = _declared_output(body) or 0
    if theirs + output <= window:
        return plain
    room = int((window - _reserve(output or None, window)) * _SLACK / _ratio(known, options.model))
    small = _smaller(body, room, options, fold, memo) if room >= _LEAST_ROOM else None
    if small is None:
        return plain
    return Fitted(small.body, fitted=True, folded=replace(folded, sections=small.sections), tokens=small.tokens)


def _unless_outgrown(published: int | None, fits: int) -> int | None:
    """A published window, unless the upstream took more than that: tables of windows are often behind."""
    return published if published is not None and published >= fits else None


def _ratio(known: Learned, model: str) -> float:
    """Theirs / ours for planning: what was reported, else our own vocabulary where it is the model's, else with some care."""
    if known.ratios or tokens.encoding_for_model(model):
        return known.ratio
    return _UNKNOWN_VOCABULARY


def _smaller(body: bytes, room: int, options: FoldOptions, fold: Fold, memo: Memo) -> _Small | None:
    """The mildest way of making a request count at most `room` tokens.

    In this order: a fold of its older part; a cut in the middle of its largest texts; one that leaves old messages out, where
    the recent ones stay as they are; a fold of all of it; a cut of that fold; whatever cut there is.
    """
    older = _unless_rejected(lambda: fold_older(body, room, options, fold, memo))
    if older is not None:
        return _Small(older.body, older.tokens, older.folded.sections)
    plain = _unless_rejected(lambda: cut(body, room, options.model, memo))
    if plain is not None and (plain.recent_whole or not plain.dropped):
        return _Small(plain.body, plain.tokens, ())
    folded = _unless_rejected(lambda: fold(body, replace(options, budget=room, window=None), memo))
    if folded is not None and folded.folded:
        if folded.tokens_after <= room:
            return _Small(folded.body, folded.tokens_after, folded.sections)
        both = _unless_rejected(lambda: cut(folded.body, room, options.model, memo))
        if both is not None:
            return _Small(both.body, both.tokens, folded.sections)
    return _Small(plain.body, plain.tokens, ()) if plain is not None else None


def _unless_rejected(make: Callable[[], T | None]) -> T | None:
    """What a way comes to; None where it broke a law."""
    try:
        return make()
    except FoldRejected:
        return None


@dataclass(frozen=True, slots=True)
class _Need:
    """What a request may count, by our own counter; `told` is the ratio that the upstream's figures give."""

    room: int
    told: float | None


def _need(overflow: Overflow, output: int | None, ours: int, options: FoldOptions, known: Learned) -> _Need:
    told = _told_ratio(overflow, output, ours, known)
    ratio = told if told is not None else _ratio(known, options.model)
    if overflow.lower_bound and overflow.prompt:
        ratio = max(ratio, clamp_ratio(overflow.prompt / max(1, ours)))
    limit = overflow.limit or _known_window(int(ours * ratio), options.window, known)
    if limit is None:
        return _Need(max(int(ours * _BLIND), min(int(known.fits * _SLACK / ratio), int(ours * _SLACK))), told)
    reserve = 0 if overflow.prompt_only else _reserve(overflow.output or output, limit)
    if ratio < 1:
        ratio = (1 + ratio) / 2  # the text that told it may be the text that goes
    ratio = max(ratio, (limit - reserve) / max(1, ours))  # it did overflow, whatever our count says
    return _Need(int((limit - reserve) * _SLACK / ratio), told)


def _told_ratio(overflow: Overflow, output: int | None, ours: int, known: Learned) -> float | None:
    """Theirs / ours by the figures of the error.

    A total may hold the output room: then the reading that agrees with what is known counts, else the more careful one.
    """
    told = overflow.prompt or overflow.requested
    if told is None or overflow.lower_bound:
        return None
    readings = [told] if overflow.prompt or not output or output >= told else [told, told - output]
    ratios = [clamp_ratio(n / max(1, ours)) for n in readings]
    return min(ratios, key=lambda r: abs(math.log(r / known.ratio))) if known.ratios else ratios[0]


def _known_window(theirs: int, published: int | None, known: Learned) -> int | None:
    """The window of the model, where the error names none, unless it would have taken the request."""
    return next((w for w in (known.window(theirs), published) if w is not None and w < theirs), None)


def _reserve(output: int | None, window: int) -> int:
    return output if output is not None else min(_DEFAULT_OUTPUT, window // _OUTPUT_SHARE)


def _declared_output(body: bytes) -> int | None:
    """Output room that the client asked for."""
    data: Any = json.loads(body)
    for key in ("max_completion_tokens", "max_tokens"):
        value = data.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def _is_error(head: bytes) -> bool:
    """Whether the first event of a stream is an error: a complaint of another kind than a full context."""
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

"""One request through the engine: parse, plan, fold, recall, check.

Lives here: the order of the stations and the last fitting step. Must not: what any station does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from turnfold.compression import tokens
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fold.ask import recalled
from turnfold.compression.fold.check import check
from turnfold.compression.fold.plan import Plan, plan, recall_tokens
from turnfold.compression.fold.shape import shaped
from turnfold.compression.fold.state_blocks import with_blocks
from turnfold.compression.fold.units import Unit, units
from turnfold.compression.fold.write import Caching, Draft, Section, edits, fold
from turnfold.compression.memo import Memo, digest
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.chat import Message, Request, parse_request
from turnfold.compression.wire.edits import Edit, apply, invert


@dataclass(frozen=True, slots=True)
class FoldedRequest:
    """A request as it is to be forwarded.

    Attributes:
        body: the bytes to send; the received bytes themselves when nothing was folded and there is no state.
        folded: whether something is folded in `body`.
        reason: a slug: why nothing was folded ("short", "unparsable", "not-smaller"), "over-budget" when the parts that stay
            verbatim exceed the budget, else "".
        tokens_before: tokens of the request as received, by the model's own count, tool schemas included; 0 when unparsable.
        tokens_after: tokens of `body`.
        sections: originals of what is folded in `body`, for drill-down.
        restore: edits that turn `body`, as text, back into what was received.
        events: fold events that the conversation has seen so far.
        fitting: how often the plan had to be made smaller to fit a budget or a window; 0 as a rule.
        conversation: digest of its messages through the first of the user's: which conversation this is, where nobody said; ""
            when unparsable.
    """

    body: bytes
    folded: bool
    reason: str
    tokens_before: int
    tokens_after: int
    sections: tuple[Section, ...] = ()
    restore: tuple[Edit, ...] = ()
    events: int = 0
    fitting: int = 0
    conversation: str = ""


def fold_request(body: bytes, options: FoldOptions, memo: Memo) -> FoldedRequest:
    """Fold a chat-completions body. Pure: same body and options, same result; `memo` only saves time.

    Raises:
        FoldRejected: our own output failed a check (never for what a client can send).
    """
    try:
        request = parse_request(body, memo)
    except FoldRejected as exc:
        return FoldedRequest(body, folded=False, reason=exc.reason, tokens_before=0, tokens_after=0)
    options = replace(options, model=options.model or request.model)
    before = request_tokens(request, options.model, memo)
    best = _fitted(request, options, memo)
    if options.window is not None and (before if best is None else _size(request, best.edits, options, memo)) > options.window:
        options = replace(options, budget=options.window)
        best = _fitted(request, options, memo)
    if best is None:
        return _unfolded(body, request, before, options, memo)
    text = apply(request.text, best.edits)
    forwarded = parse_request(text.encode("utf-8"), memo)
    after = request_tokens(forwarded, options.model, memo)
    if after >= before and after >= (plain := _unfolded(body, request, before, options, memo)).tokens_after:
        return replace(plain, reason="not-smaller")
    check(request, forwarded)
    over = options.budget is not None and after > options.budget
    return FoldedRequest(
        text.encode("utf-8"),
        folded=True,
        reason="over-budget" if over else "",
        tokens_before=before,
        tokens_after=after,
        sections=best.draft.sections,
        restore=invert(request.text, best.edits),
        events=best.plan.events,
        fitting=best.fitting,
        conversation=_name(request.messages),
    )


def stated_request(request: Request, options: FoldOptions, memo: Memo) -> bytes:
    """The body with its state's blocks and nothing folded, byte for byte as `fold_request` leaves it when it folds nothing."""
    return apply(request.text, _block_edits(request, options, memo)).encode("utf-8")


def _block_edits(request: Request, options: FoldOptions, memo: Memo) -> list[Edit]:
    cut = units(request.messages, {}, memo)
    nothing = Plan((), len(cut), (), 0, len(cut), 0)
    return edits(request, fold(request, cut, nothing, options, {}, memo), {}, _caching(request, nothing, cut, options))


def _unfolded(body: bytes, request: Request, before: int, options: FoldOptions, memo: Memo) -> FoldedRequest:
    """The request as it came, but for the blocks of its state."""
    name = _name(request.messages)
    plain = FoldedRequest(body, folded=False, reason="short", tokens_before=before, tokens_after=before, conversation=name)
    if not options.state.pins:
        return plain
    changes = _block_edits(request, options, memo)
    text = apply(request.text, changes)
    forwarded = parse_request(text.encode("utf-8"), memo)
    check(request, forwarded)
    after = request_tokens(forwarded, options.model, memo)
    return replace(plain, body=text.encode("utf-8"), tokens_after=after, restore=invert(request.text, changes))


def _name(messages: Sequence[Message]) -> str:
    end = next((i for i, m in enumerate(messages) if m.role == "user"), len(messages) - 1) + 1
    return digest(*(m.key.hex() for m in messages[:end])).hex()


def unfold(folded: FoldedRequest) -> bytes:
    """The body as it was received, byte for byte (law 3)."""
    if not folded.restore:
        return folded.body
    return apply(folded.body.decode("utf-8"), folded.restore).encode("utf-8")


def request_tokens(request: Request, model: str, memo: Memo) -> int:
    """Tokens of a request for a model: messages, 3 for the reply, and the JSON text of tool schemas."""
    schema = request.schema
    extra = memo.get(("schema", digest(schema), model), lambda: tokens.count_for_model(schema, model)) if schema else 0
    if tokens.encoding_for_model(model) == tokens.BORDER_ENCODING:
        return 3 + extra + sum([m.tokens for m in request.messages])
    return 3 + extra + sum(_message_tokens(m, model, memo) for m in request.messages)


def _message_tokens(message: Message, model: str, memo: Memo) -> int:
    if tokens.encoding_for_model(model) == tokens.BORDER_ENCODING:
        return message.tokens
    family = tokens.encoding_for_model(model) or "unknown"
    return message.other_tokens + memo.get(("count", family, message.key), lambda: tokens.count_for_model(message.text, model))


@dataclass(frozen=True, slots=True)
class _Candidate:
    plan: Plan
    draft: Draft
    edits: list[Edit]
    fitting: int


#: How a plan that exceeds the budget is made smaller: share of the limit for what stands, share of recall's room.
_FITTING: Final = ((1.0, 1.0), (0.6, 1.0), (0.6, 0.5), (0.3, 0.5), (0.3, 0.25), (0.05, 0.25), (0.05, 0.0))


def _fitted(request: Request, options: FoldOptions, memo: Memo) -> _Candidate | None:
    """The mildest candidate that fits the budget; the smallest there is when none does; None when nothing is folded."""
    results = shaped(request.messages, memo) if options.shape_results else {}
    cut = with_blocks(units(request.messages, results, memo), options.state, memo)
    candidate = None
    for fitting, (squeeze, room) in enumerate(_FITTING):
        drawn = plan(cut, options, squeeze, memo)
        draft = fold(request, cut, drawn, options, results, memo)
        if not (drawn.pieces or draft.shaped):
            return candidate
        recalls = dict(_recalls(request, cut, drawn, draft, options, room, memo))
        changes = edits(request, draft, recalls, _caching(request, drawn, cut, options))
        candidate = _Candidate(drawn, draft, changes, fitting)
        if options.budget is None or _size(request, candidate.edits, options, memo) <= options.budget:
            return candidate
    return candidate


def _size(request: Request, changes: Sequence[Edit], options: FoldOptions, memo: Memo) -> int:
    return request_tokens(parse_request(apply(request.text, changes).encode("utf-8"), memo), options.model, memo)


def _caching(request: Request, plan: Plan, cut: Sequence[Unit], options: FoldOptions) -> Caching:
    """How text of ours keeps out of the cache's way: apart where it hits at marks only, the client's or ours."""
    theirs = any(m.marked for m in request.messages)
    if not (theirs or options.cache_breakpoints):
        return Caching(apart=False)
    marked = None if theirs or not plan.asked else cut[plan.asked[-1].unit].start
    since = cut[plan.since].start if plan.events else len(request.messages)
    return Caching(apart=True, marked=marked, since=since)


def _recalls(
    request: Request, cut: Sequence[Unit], plan: Plan, draft: Draft, options: FoldOptions, room: float, memo: Memo
) -> Iterator[tuple[int, str]]:
    """Per message index of a user message, the passages that go behind its text."""
    if not options.recall:
        return
    present = list(draft.texts())
    for asked in plan.asked:
        if options.budget is None:
            budget = recall_tokens(asked.pieces, options)
        elif asked.last:
            budget = int(room * _room(request, cut, plan, draft, options, memo))
        else:
            continue
        text = recalled(request.messages, cut, asked, present, budget, options, memo)
        if text:
            present.append(text)
            yield cut[asked.unit].start, text


def _room(request: Request, cut: Sequence[Unit], plan: Plan, draft: Draft, options: FoldOptions, memo: Memo) -> int:
    """What an explicit budget leaves for recall: all that is free when the request ends with the user message that asks. Under
    it, in a tool loop, the same as then; once a fold event has come in between, a quarter of the budget."""
    budget, asked = options.budget or 0, plan.asked[-1]
    if asked.pieces != plan.pieces:
        return budget // 4
    behind = request.messages[cut[asked.unit].end :]
    bare = _size(request, edits(request, draft, {}, Caching(apart=False)), options, memo)
    return max(0, budget - _JOINT - bare + sum(_message_tokens(m, options.model, memo) for m in behind))


_JOINT: Final = 4  # tokens where recall joins the user's text: line breaks, and what merges differently across the seam

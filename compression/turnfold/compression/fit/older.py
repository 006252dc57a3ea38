"""Folding what is older than the most recent fifth of a conversation, and nothing else.

Lives here: taking the recent messages off a request, having the rest folded, and putting them back as they were. Must not:
folding itself, choosing budgets.

A fold under a budget keeps as little raw as its prices say; after an overflow the recent messages are worth more than that,
since the model was in the middle of something. The question at hand goes along with what is folded, so that recall looks for
what it needs; of the recent messages it is the only one that can come back longer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from turnfold.compression.fit.cut import recent_start
from turnfold.compression.fold import FoldedRequest, request_tokens
from turnfold.compression.fold.check import check
from turnfold.compression.fold.units import units
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.chat import Message, Request, parse_request

_MOST_RECENT: Final = 0.95  # share of the room that they may take; a twentieth holds the summary of all that is older


@dataclass(frozen=True, slots=True)
class Older:
    """A request whose older part was folded; `tokens` by our own count for its model."""

    body: bytes
    tokens: int
    folded: FoldedRequest


def fold_older(
    body: bytes, room: int, options: FoldOptions, fold: Callable[[bytes, FoldOptions, Memo], FoldedRequest], memo: Memo
) -> Older | None:
    """Fold all but the most recent fifth into what these leave of `room`; None where they leave too little, or it does not fit.

    Raises:
        FoldRejected: the body cannot be parsed, or our own output failed a check.
    """
    request = parse_request(body, memo)
    start = recent_start(request.messages, units(request.messages, memo=memo))
    recent = _count(request.messages[start:], options.model, memo)
    if not 0 < start < len(request.messages) or recent > _MOST_RECENT * room:
        return None
    asked = max((i for i in range(start, len(request.messages)) if request.messages[i].role == "user"), default=None)
    for question in (asked, None) if asked is not None else (None,):
        length = 0 if question is None else _count(request.messages[question : question + 1], options.model, memo)
        budget = room - recent + length
        folded = fold(_head(request, start, question), replace(options, budget=budget, window=None), memo)
        if not folded.folded or folded.tokens_after > budget:
            continue
        head = parse_request(folded.body, memo)
        if question is None or _only_longer(request.messages[question], head):
            return _whole(request, _joined(request, start, question, head), room, folded, options, memo)
    return None


def _only_longer(question: Message, head: Request) -> bool:
    """Whether the question still begins as it did: a summary in front of it would stand behind messages that are newer."""
    return len(head.messages) > 1 and head.messages[-1].own.startswith(question.own)


def _whole(request: Request, text: str, room: int, folded: FoldedRequest, options: FoldOptions, memo: Memo) -> Older | None:
    body = text.encode("utf-8")
    forwarded = parse_request(body, memo)
    check(request, forwarded)
    tokens = request_tokens(forwarded, options.model, memo)
    return Older(body, tokens, folded) if tokens <= room else None


def _count(messages: tuple[Message, ...], model: str, memo: Memo) -> int:
    return request_tokens(Request("", messages, (), model, ""), model, memo)


def _head(request: Request, start: int, asked: int | None) -> bytes:
    """The request without its recent messages, but for the question."""
    question = "" if asked is None else f",{request.messages[asked].raw}"
    return (request.text[: request.spans[start - 1][1]] + question + request.text[request.spans[-1][1] :]).encode("utf-8")


def _joined(request: Request, start: int, asked: int | None, head: Request) -> str:
    """The folded head with the recent messages behind it, the question as it came out of the fold."""
    text, spans = request.text, request.spans
    begin, end = spans[start - 1][1], spans[-1][1]
    if asked is None:
        front, recent = head.text[: head.spans[-1][1]], text[begin:end]
    else:
        front = head.text[: head.spans[-2][1]]
        recent = text[begin : spans[asked][0]] + head.messages[-1].raw + text[spans[asked][1] : end]
    return front + recent + head.text[head.spans[-1][1] :]

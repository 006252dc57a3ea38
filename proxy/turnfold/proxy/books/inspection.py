"""Inspection of one request: the effect of a fold on every message, and why.

A request body goes in, rows for people come out. Folding, printing and storing happen elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from turnfold.compression.errors import FoldRejected, InvalidInput
from turnfold.compression.fit.fit import Fitted, fit
from turnfold.compression.fold import Section, conversation_name
from turnfold.compression.fold.policy import believed_warmth
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.recall.fence import Passage
from turnfold.compression.text.kinds import kind_of
from turnfold.compression.tokens import BORDER_ENCODING
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.message import Message
from turnfold.compression.wire.wires import read_any
from turnfold.config.fold import fold_options
from turnfold.config.prices import prices_of
from turnfold.config.settings import Settings, StoreSettings
from turnfold.proxy.books.pacing import pacing
from turnfold.proxy.books.wording import in_words


@dataclass(frozen=True, slots=True)
class MessageRow:
    """One message.

    Attributes:
        index: its place in the request as received.
        kind: what its text is: "prose", "json", "log" ...
        what: "verbatim", "shortened", "left out", or "added to" if text was inserted beside its own.
        why: in words.
        level: of the folded section that it is in; "" in none.
        section: that section's id.
        tokens_before, tokens_after: by the border vocabulary, including text inserted beside it.
        before: its text, calls included.
        after: the same as it is forwarded; None when it is left out.
        recall: the passages quoted behind it.
        mark: "client's" where it carries a cache mark, "ours" where we set one, else "".
    """

    index: int
    role: str
    kind: str
    what: str
    why: str
    level: str
    section: str
    tokens_before: int
    tokens_after: int
    before: str
    after: str | None
    recall: tuple[Passage, ...]
    mark: str


_WHY: Final = {
    "facts": "in a folded block, shortened by its kind of text",
    "summary": "in an old block: only its summary remains, placed with a kept message",
    "line": "in the oldest block: only a line of counts remains",
}


def inspect(body: bytes, settings: Settings, budget: int | None = None) -> dict[str, Any]:
    """What Turnfold with these settings makes of a request, ready for JSON.

    Raises:
        InvalidInput: "body" is no request for a model's turn, in none of the formats.
    """
    memo = Memo()
    try:
        conversation = read_any(body, memo)
    except FoldRejected as exc:
        raise InvalidInput("body", "must be a JSON object with a list of messages that have roles, or with an input") from exc
    options = fold_options(settings, conversation.model, budget)
    fitted = fit(conversation, options, memo)
    folded = fitted.folded
    is_folded = folded.folded or fitted.fitted
    status = "passthrough" if not is_folded else "shaped" if folded.only_shaped and not fitted.fitted else "folded"
    return {
        "model": conversation.model,
        "wire": conversation.wire.name,
        "conversation": conversation_name(conversation),
        "status": status,
        "why": in_words(status, fitted.reason, folded.outlook.at),
        "tokens": {"before": folded.tokens_before, "after": fitted.tokens},
        "fold_events": folded.events,
        "made_smaller_to_fit": folded.fitting,
        **_economics(conversation, options, settings),
        "sections": [
            {"id": one.id, "level": one.level, "messages": len(one.messages), "tokens": one.tokens, "instead": list(one.instead)}
            for one in fitted.sections
        ],
        "messages": list(_rows(fitted)),
    }


def without_keys(settings: Settings) -> Settings:
    """What `inspect` depends on: whatever process does it has no need of keys, nor of the store's address."""
    groups = {name: getattr(settings, name).model_copy(update={"api_key": None}) for name in ("upstream", "summary")}
    kept = {name: getattr(settings, name) for name in ("folding", "limits", "models")}
    store = StoreSettings(url=None if settings.store.keeps_originals else "none://")
    return Settings().model_copy(update={**kept, **groups, "store": store})


def _economics(request: Conversation, options: FoldOptions, settings: Settings) -> dict[str, Any]:
    """The prices and thresholds behind the decision."""
    first = next((i for i, message in enumerate(request.messages) if message.role == "user"), 0)
    turns = 1 + sum(message.role == "assistant" for message in request.messages[first:])
    found = pacing(request.model, options, turns, sum(message.tokens for message in request.messages))
    prices = prices_of(request.model, settings.upstream.url, settings.models.get(request.model))
    return {
        "prices": {
            "priced_as": prices.priced_as,
            "dollars_per_million": None if prices.guessed else prices.input,
            "cache_read": options.prices.read,
            "cache_write": options.prices.write,
            "cache_hit_share": believed_warmth(options).turns,
        },
        "thresholds": {
            "start": found and found.start,
            "fold_at": found and found.fold_at,
            "keep_recent": found and found.keep_recent,
            "turns": turns,
            "words": found and found.words,
            "budget": options.budget,
            "window": options.window,
            "counted_with": BORDER_ENCODING,
        },
    }


def _rows(fitted: Fitted) -> Iterator[MessageRow]:
    messages = fitted.folded.conversation.messages
    account = fitted.account
    sent = dict(zip(account.kept, fitted.forwarded.messages, strict=True))
    question = max((i for i, message in enumerate(messages) if message.speaker == "user"), default=-1)
    for index, message in enumerate(messages):
        section, now = account.section_of.get(index), sent.get(index)
        what = _what(message, now, index in account.beside)
        recall = account.recalls.get(index)
        yield MessageRow(
            index=index,
            role=message.role,
            kind=kind_of(message.text),
            what=what,
            why=_why(message, section, what, index == question),
            level=section.level if section else "",
            section=section.id if section else "",
            tokens_before=message.tokens,
            tokens_after=now.tokens if now else 0,
            before=message.text,
            after=now.text if now else None,
            recall=recall.passages if recall else (),
            mark="client's" if message.marked else "ours" if index == account.breakpoint else "",
        )


def _what(message: Message, now: Message | None, has_company: bool) -> str:
    if now is None:
        return "left out"
    if has_company and (message.own in now.own or now.is_list):
        return "added to"
    return "verbatim" if now.text == message.text else "shortened"


def _why(message: Message, place: Section | None, what: str, is_question: bool) -> str:
    if message.pinned:
        return "system and developer messages are never changed"
    if is_question:
        return "the current question: its own text is never changed"
    if place is None:
        return _why_apart(message, what)
    if place.level == "facts" and what != "shortened":
        return "in a folded block, but nothing in it could be shortened"
    return _WHY[place.level]


def _why_apart(message: Message, what: str) -> str:
    """The reason for the state of a message outside folded sections."""
    if what != "shortened":
        return "among the newest turns, or kept with a summary"
    if message.role == "assistant":
        return "without the white space at its end, which Claude refuses"
    return "a tool result in a smaller form with the same values and lines, or a reference to an equal one"

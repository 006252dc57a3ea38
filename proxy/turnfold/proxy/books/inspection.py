"""One request under the glass: what a fold makes of every message, and why.

Lives here: from a body to rows for people. Does not belong here: folding, printing, the store.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]  # undocumented, as in ``wire.chat``
from typing import Any, Final

from turnfold.compression.errors import FoldRejected, InvalidInput
from turnfold.compression.fold import FoldedRequest, fold_request
from turnfold.compression.fold.fence import CLOSE, OPEN, unescape
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.text.kinds import kind_of
from turnfold.compression.tokens import BORDER_ENCODING
from turnfold.compression.wire.chat import Message, Request, parse_request
from turnfold.config.fold import fold_options
from turnfold.config.prices import prices_of
from turnfold.config.settings import Settings
from turnfold.proxy.books.pacing import pacing
from turnfold.proxy.books.reasons import in_words
from turnfold.proxy.books.replaced import Replaced, with_replacements

_BREAKPOINT: Final = "prompt_cache_breakpoint"


@dataclass(frozen=True, slots=True)
class RecalledPassage:
    """A quotation of an older message that stands behind a user's own words."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class MessageRow:
    """One message.

    Attributes:
        index: its place in the request as received.
        kind: what its text is: "prose", "json", "log" ...
        what: "verbatim", "shortened", "left out", or "added to" where text of ours stands beside its own.
        why: in words.
        level: of the folded section that it is in; "" in none.
        section: that section's id.
        tokens_before, tokens_after: by the border vocabulary; text of ours beside it included.
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
    recall: tuple[RecalledPassage, ...]
    mark: str


_WHY: Final = {
    "facts": "in a folded block: only what its kind of text says most with is left",
    "summary": "too old for more than a summary, which stands beside a message that is kept",
    "line": "so old that a line of counts stands for it",
}


def inspect(body: bytes, settings: Settings, budget: int | None = None) -> dict[str, Any]:
    """What Turnfold with these settings makes of a request, ready for JSON.

    Raises:
        InvalidInput: "body" is no chat completion.
    """
    memo = Memo()
    try:
        request = parse_request(body, memo)
    except FoldRejected as exc:
        raise InvalidInput("body", "must be a JSON object with a list of messages that have roles") from exc
    options = fold_options(settings, request.model, budget)
    folded = fold_request(body, options, memo)
    sections = with_replacements(folded)
    rows = list(_rows(request, parse_request(folded.body, memo), folded, sections))
    return {
        "model": request.model,
        "conversation": folded.conversation,
        "status": "folded" if folded.folded else "passthrough",
        "why": in_words("folded" if folded.folded else "passthrough", folded.reason),
        "tokens": {"before": folded.tokens_before, "after": folded.tokens_after},
        "fold_events": folded.events,
        "made_smaller_to_fit": folded.fitting,
        **_economics(request, options, settings),
        "sections": [
            {"id": one.id, "level": one.level, "messages": len(one.messages), "tokens": one.tokens, "instead": list(one.instead)}
            for one in sections
        ],
        "messages": rows,
    }


def _economics(request: Request, options: FoldOptions, settings: Settings) -> dict[str, Any]:
    """Prices and thresholds that decided."""
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
            "cache_hit_share": options.cache_hit_share,
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


def _rows(request: Request, forwarded: Request, folded: FoldedRequest, sections: Sequence[Replaced]) -> Iterator[MessageRow]:
    places = list(_places(request.messages, sections))
    kept = [i for i, place in enumerate(places) if place is None or place.level == "facts"]
    sent = dict(zip(kept, forwarded.messages, strict=True))
    added = _added(forwarded, folded, kept)
    question = max((i for i, message in enumerate(request.messages) if message.role == "user"), default=-1)
    for index, message in enumerate(request.messages):
        place, now, texts = places[index], sent.get(index), added.get(index, [])
        what = _what(message, now, texts)
        yield MessageRow(
            index=index,
            role=message.role,
            kind=kind_of(message.text),
            what=what,
            why=_why(message, place, what, index == question),
            level=place.level if place else "",
            section=place.id if place else "",
            tokens_before=message.tokens,
            tokens_after=now.tokens if now else 0,
            before=message.text,
            after=now.text if now else None,
            recall=tuple(passage for text in texts for passage in _passages(text)),
            mark="client's" if message.marked else "ours" if now and now.marked and _BREAKPOINT in now.raw else "",
        )


def _places(messages: Sequence[Message], sections: Sequence[Replaced]) -> Iterator[Replaced | None]:
    """The section that each message is in; sections have their messages in the conversation's order."""
    waiting = [(section, raw) for section in sections for raw in section.messages]
    at = 0
    for message in messages:
        inside = at < len(waiting) and waiting[at][1] == message.raw
        yield waiting[at][0] if inside else None
        at += inside


def _added(forwarded: Request, folded: FoldedRequest, kept: Sequence[int]) -> dict[int, list[str]]:
    """Per received message that is kept, the texts that the fold put beside its own."""
    starts = [start for start, _ in forwarded.spans]
    out: dict[int, list[str]] = {}
    for edit in folded.restore:
        written = forwarded.text[edit.start : edit.end]
        if written and (not edit.new or OPEN in written):
            out.setdefault(kept[bisect_right(starts, edit.start) - 1], []).append(written)
    return out


def _what(message: Message, now: Message | None, added: Sequence[str]) -> str:
    if now is None:
        return "left out"
    if added and (message.own in now.own or now.is_list):
        return "added to"
    return "verbatim" if now.text == message.text else "shortened"


def _why(message: Message, place: Replaced | None, what: str, is_question: bool) -> str:
    if message.pinned:
        return "system and developer messages are never touched"
    if is_question:
        return "the question at hand: its own text is unbroken"
    if place is None and what == "shortened":
        return "a tool result in a smaller form with the same values and lines, or a reference to an equal one"
    if place is None:
        return "in the raw tail, or what a summary still answers"
    if place.level == "facts" and what != "shortened":
        return "in a folded block, where it has nothing to lose"
    return _WHY[place.level]


def _passages(written: str) -> Iterator[RecalledPassage]:
    """The passages in a fence in front of which no section's marker stands: recall."""
    at = written.partition("[turnfold ")[0].find(OPEN)
    if at < 0:
        return
    text, _ = scanstring(written[at:] + '"', 0, False)  # a quote that is not escaped ends the JSON string
    role, lines = "", []
    for line in [*text.partition(CLOSE)[0].split("\n")[1:], "end: "]:
        label, colon, rest = line.partition(": ")
        if not (colon and label in _LABELS):
            lines.append(line)
            continue
        if role:
            yield RecalledPassage(role, unescape("\n".join(lines)).strip())
        role, lines = label, [rest]


_LABELS: Final = frozenset({"user", "assistant", "tool", "system", "developer", "function", "end"})

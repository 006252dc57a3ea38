"""FACTS for prose: the sentences of a text that carry it.

Lives here: choosing and joining them. Must not: other kinds of content, rewording (every sentence is the text's own).

Blocks (fences, tables, JSON) stay whole or go whole. A gap is one " …", a single token of o200k and cl100k. Standing orders of a
user stay whatever they cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from turnfold.compression.scorers.composite import Composite
from turnfold.compression.scorers.conversation import ConversationScorer
from turnfold.compression.scorers.terms import terms
from turnfold.compression.scorers.textrank import FEW, TextRank
from turnfold.compression.scorers.tfidf import TfIdf
from turnfold.compression.text.entities import entities
from turnfold.compression.text.orders import is_standing_order
from turnfold.compression.text.sentences import sentences
from turnfold.compression.text.spans import Span

Count = Callable[[str], int]

#: Stands for what was left out.
ELISION: Final = " …"
_CENTRAL: Final = Composite([(TextRank(), 0.6), (TfIdf(), 0.4)], "central")
# A text of more sentences is judged by its centroid alone: the graph adds nothing there but time.
_MANY: Final = 400
# Shares of a sentence's worth.
_BY_CENTRE, _BY_SIGNAL, _BY_FACTS, _BY_WORDS, _BY_PLACE = 0.35, 0.3, 0.2, 0.7, 0.1
_BLOCK_WORTH: Final = {
    "heading": 0.5,
    "table": 0.35,
    "json": 0.3,
    "trace": 0.55,
    "sql": 0.5,
    "key": 0.2,
    "fence": 0.45,
    "code": 0.4,
}


def shorten(text: str, keep: int, *, role: str, words: frozenset[str] | None = None, count: Count) -> str:
    """About `keep` tokens of a text, in whole sentences of it and in their order.

    Args:
        keep: tokens to keep; standing orders of a user may exceed it, and one sentence at least is kept.
        role: who says it ("user", "assistant", "tool", "system").
        words: terms (``scorers.terms.terms``) that the conversation up to the border speaks of; sentences that share them are
            preferred.
        count: tokens of a text.

    Returns:
        The shortened text; the text itself if it is not longer than `keep` or nothing was gained.
    """
    whole = count(text)
    if whole <= keep:
        return text
    spans = sentences(text)
    if len(spans) < 2:
        return text
    chosen = choose(text, spans, keep, worth(text, spans, role, words), must_stay(text, spans, role), count)
    short = join(text, spans, chosen)
    return short if count(short) < whole else text


def must_stay(text: str, spans: Sequence[Span], role: str) -> set[int]:
    """Which sentences stay whatever they cost: the standing orders of users and operators."""
    if role not in ("user", "system", "developer"):
        return set()
    return {i for i, span in enumerate(spans) if not span.kind and is_standing_order(span.of(text))}


def worth(text: str, spans: Sequence[Span], role: str, words: frozenset[str] | None) -> list[float]:
    """What each sentence or block is worth, 0 to about 1.2: centrality, signals, facts, shared words, its place."""
    pieces = [span.of(text) if not span.kind else "" for span in spans]
    central = _centrality(pieces)
    signal = ConversationScorer(role or "assistant").score(pieces)
    out: list[float] = []
    for i, span in enumerate(spans):
        if span.kind:
            out.append(_BLOCK_WORTH.get(span.kind, 0.3))
            continue
        facts = min(1.0, len(entities(pieces[i])) / 3)
        shared = _shared(pieces[i], words) if words else 0.0
        place = 1.0 if i == 0 else 0.5 if i == len(spans) - 1 else 0.0
        out.append(_BY_CENTRE * central[i] + _BY_SIGNAL * signal[i] + _BY_FACTS * facts + _BY_WORDS * shared + _BY_PLACE * place)
    return out


def _centrality(pieces: list[str]) -> list[float]:
    if len(pieces) < FEW:
        return [1.0] * len(pieces)
    return (TfIdf() if len(pieces) > _MANY else _CENTRAL).score(pieces)


def _shared(piece: str, words: frozenset[str]) -> float:
    found = set(terms(piece))
    return len(found & words) / (len(found) + 2) if found else 0.0


def choose(text: str, spans: Sequence[Span], keep: int, worths: Sequence[float], must: set[int], count: Count) -> set[int]:
    """The best spans that fit into `keep` tokens beside those that must stay; at least one.

    A heading comes along with the first sentence that is kept under it, if it fits.
    """
    costs = [count(span.of(text)) for span in spans]
    heading_of = _headings(spans)
    chosen = set(must)
    spent = sum(costs[i] for i in chosen)
    for i in sorted(range(len(spans)), key=lambda i: (-worths[i], i)):
        if i in chosen or spans[i].kind == "heading":
            continue
        heading = heading_of[i]
        wanted = {i} if heading is None or heading in chosen else {i, heading}
        for group in (wanted, {i}):
            cost = sum(costs[j] for j in group) + 1  # and the mark of the gap
            if spent + cost <= keep or not chosen:
                chosen |= group
                spent += cost
                break
    return chosen


def _headings(spans: Sequence[Span]) -> list[int | None]:
    """For each span the heading that it stands under."""
    out: list[int | None] = []
    last: int | None = None
    for i, span in enumerate(spans):
        if span.kind == "heading":
            last = i
        out.append(last)
    return out


def join(text: str, spans: Sequence[Span], chosen: set[int]) -> str:
    """The chosen spans in order, word for word, a mark where something is missing; line breaks stay line breaks."""
    out: list[str] = []
    gap = False
    for i, span in enumerate(spans):
        if i not in chosen:
            gap = True
            continue
        if gap:
            _mark(out)
            gap = False
        out.append(span.of(text))
    if gap:
        _mark(out, last=True)
    return "".join(out)


def _mark(out: list[str], *, last: bool = False) -> None:
    if not out:
        out.append(ELISION.lstrip() + " ")
        return
    body = out[-1].rstrip()
    space = out[-1][len(body) :]
    out[-1] = body
    # Behind a block the mark takes a line of its own: a fence closed by "``` …" would not be closed.
    out.append(("\n…" if _ends_block(body) else ELISION) + ("" if last else "\n" if "\n" in space else " "))


def _ends_block(body: str) -> bool:
    line = body[body.rfind("\n") + 1 :].strip()
    return line.startswith(("```", "~~~", "|", "}", "]", "+", "---", "===", "#", "    ", "\t"))

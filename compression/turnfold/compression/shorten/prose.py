"""FACTS for prose: the most important sentences of a text.

This module chooses and joins them. Nothing is reworded (every sentence is the text's own); other kinds of content have rules of
their own.

Blocks (fences, tables, JSON) are kept whole or dropped whole. A gap is one " …", a single token of o200k and cl100k. A user's
standing orders are kept at any cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.scorers.central import Central
from turnfold.compression.scorers.terms import STOP, terms
from turnfold.compression.scorers.tfidf import TfIdf
from turnfold.compression.shorten.coverage import CoverageItem, cover
from turnfold.compression.text.beside import beside
from turnfold.compression.text.dialogue.own_words import asks
from turnfold.compression.text.dialogue.signals import signal_weight
from turnfold.compression.text.dialogue.standing.orders import is_standing_order, standing_orders
from turnfold.compression.text.lower import words_within
from turnfold.compression.text.names.entities import entities
from turnfold.compression.text.sections import leading_spans
from turnfold.compression.text.spans import Span
from turnfold.compression.text.statements import Statements, statements
from turnfold.compression.tokens import Count

#: Replaces omitted text.
ELISION: Final = " …"
#: Roles whose standing orders bind.
TELLS: Final = frozenset({"user", "system", "developer"})
_CENTRAL: Final = Central()
# Below, shared words work as well as the graph at a tenth of its cost; above, only the centroid is used.
_FEW, _MANY = 12, 400
# Shares of a sentence's worth.
_BY_CENTRE, _BY_SIGNAL, _BY_FACTS, _BY_WORDS, _BY_PLACE = 0.35, 0.3, 0.2, 3.0, 0.1
_BESIDE: Final = 0.2  # factor for the worth of a header, a quoted mail, a button
_BY_WORTH: Final = 1.0  # worth of a sentence with worth 1, relative to a new fact
_BLOCK_WORTH: Final = {
    "heading": 0.5,
    "table": 0.35,
    "json": 0.3,
    "trace": 0.55,
    "sql": 0.5,
    "math": 0.45,
    "key": 0.2,
    "fence": 0.45,
    "code": 0.4,
}
_PASTED: Final = 8  # statements from which a user's text counts as pasted, with the user's own words next to it
_OWN: Final = 400  # characters of these words
# A figure, or a capital within a sentence.
_FACT: Final = lazy.pattern(r"(?<=\w )[^\W\d_a-z][^\W_]+|\d[\w.,:/-]*|`[^`\n]+`|[\u30a1-\u30f6]{3,}")


class _Judged(NamedTuple):
    """The worth of each span, the spans to keep at any cost, the facts of each, and the spans beside the subject."""

    worths: list[float]
    must: set[int]
    facts: list[tuple[str, ...]]
    aside: Set[int]


def shorten(text: str, keep: int, *, role: str, words: frozenset[str] | None = None, count: Count) -> str:
    """About `keep` tokens of a text: whole sentences, in order.

    Args:
        keep: tokens to keep; standing orders of a user may exceed it, and one sentence at least is kept.
        role: the speaker ("user", "assistant", "tool", "system").
        words: terms (``scorers.terms.terms``) that the conversation up to the border speaks of; sentences that share them are
            preferred.
        count: tokens of a text.

    Returns:
        The shortened text; the text itself if it is not longer than `keep` or nothing was gained.
    """
    whole = count(text)
    if whole <= keep:
        return text
    read = statements(text)
    spans = read.spans
    if len(spans) < 2:
        return text
    judged = _judge(text, read, role, words)
    # Prices are estimated by length first, and counted only if that was too far off: counting every sentence costs more than
    # rating it.
    rough = [max(1, round(whole * (span.end - span.start) / len(text))) for span in spans]
    heads = leading_spans(text, read)
    short = join(text, spans, _choose(read, keep, judged, rough, heads))
    size = count(short)
    if not keep - keep // 4 <= size <= keep + 2 + keep // 10:
        true = [count(span.of(text)) for span in spans]
        short = join(text, spans, _choose(read, keep, judged, true, heads))
        size = count(short)
    return short if size < whole else text


def _judge(text: str, read: Statements, role: str, known: frozenset[str] | None) -> _Judged:
    """Worth by centrality, signals, facts, shared words and position, 0 to about 4; and the standing orders."""
    spans = read.spans
    pieces = [span.of(text) if not span.kind else "" for span in spans]
    within = words_within(text)
    said = [within(start, end) if not kind else [] for start, end, kind in spans]
    central = _centrality(pieces, said)
    worths: list[float] = []
    must = _own_ends(text, spans, pieces) if role == "user" and len(spans) >= _PASTED else set()
    for i, span in enumerate(spans):
        if span.kind:
            worths.append(_BLOCK_WORTH.get(span.kind, 0.3))
            continue
        if role in TELLS and has_order(pieces[i], said[i], read.sizes[i]):
            must.add(i)
        facts = min(1.0, len(_FACT.findall(pieces[i])) / 3)
        place = 1.0 if i == 0 else 0.5 if i == len(spans) - 1 else 0.0
        worths.append(
            _BY_CENTRE * central[i]
            + _BY_SIGNAL * signal_weight(pieces[i], said[i])
            + _BY_FACTS * facts
            + (_BY_WORDS * _overlap(pieces[i], known) if known else 0.0)
            + _BY_PLACE * place
        )
    return _Judged(worths, must, _facts_of(text, spans), beside(text, spans))


def _own_ends(text: str, spans: Sequence[Span], pieces: Sequence[str]) -> set[int]:
    """A user's own text before or after a pasted text: a statement that asks, or a short paragraph."""
    last = len(spans) - 1
    alone = {0: "\n\n" in text[spans[0].start : spans[1].start], last: text[: spans[last].start].endswith("\n\n")}
    return {i for i in alone if 0 < len(pieces[i]) <= _OWN and (alone[i] or asks(pieces[i]))}


def has_order(piece: str, said: Sequence[str], size: int) -> bool:
    """Whether a statement of `size` sentences contains a standing order."""
    return is_standing_order(piece, said) if size == 1 else bool(standing_orders(piece))


def _facts_of(text: str, spans: Sequence[Span]) -> list[tuple[str, ...]]:
    """For each span, its distinct names, figures and identifiers."""
    found: list[dict[str, None]] = [{} for _ in spans]
    at = 0
    for entity in entities(text):
        while at < len(spans) - 1 and spans[at].end <= entity.start:
            at += 1
        found[at][entity.text] = None
    return [tuple(facts) for facts in found]


def _centrality(pieces: list[str], said: list[list[str]]) -> list[float]:
    if len(pieces) >= _FEW:
        return (TfIdf() if len(pieces) > _MANY else _CENTRAL).score(pieces)
    bags = [set(heard) - STOP for heard in said]
    times = Counter(word for bag in bags for word in bag)
    shared = [sum([times[word] - 1 for word in bag]) / (len(bag) + 3) for bag in bags]
    top = max(shared)
    return [score / top for score in shared] if top else [1.0] * len(pieces)


def _overlap(piece: str, known: frozenset[str]) -> float:
    found = set(terms(piece))
    return len(found & known) / (len(found) + 2) if found else 0.0


def _choose(read: Statements, keep: int, judged: _Judged, costs: Sequence[int], heads: Set[int]) -> set[int]:
    """The spans that fit `keep` tokens besides those that must be kept, by worth and by new facts; at least one.

    A statement's needs (its heading, the line that introduces it) are included at its expense.
    """
    pieces = [
        CoverageItem(cost + 1, _BY_WORTH * worth, _BESIDE if i in judged.aside else 1.0, facts)
        for i, (cost, worth, facts) in enumerate(zip(costs, judged.worths, judged.facts, strict=True))
    ]
    once = {fact: 1.0 for facts in judged.facts for fact in facts}
    chosen = read.complete(judged.must)
    spent = sum(costs[i] for i in chosen)
    said = [i for i in cover(pieces, once, sum(piece.cost for piece in pieces)) if i not in heads]
    for i in said:
        if i in chosen:
            continue
        group = read.missing(i, chosen)
        cost = sum(costs[j] for j in group) + 1 if group else 0  # including the gap mark
        if group and (spent + cost <= keep or not chosen):
            chosen |= group
            spent += cost
    return chosen or read.complete(set(said[:1]))


def join(text: str, spans: Sequence[Span], chosen: set[int]) -> str:
    """The chosen spans in order, word for word, with a mark for each gap; line breaks are kept."""
    out: list[str] = []
    behind = 0
    for i in sorted(chosen):
        span = spans[i]
        if i > behind:
            _mark(out, "\n" if span.kind and span.kind != "label" else " ")
        out.append(span.of(text))
        behind = i + 1
    if behind < len(spans):
        _mark(out, "")
    return "".join(out)


def _mark(out: list[str], behind: str) -> None:
    """Add a gap mark. `behind` is what must at least follow it: blocks begin and end on lines of their own."""
    if not out:
        out.append(ELISION.lstrip() + behind)
        return
    body = out[-1].rstrip()
    space = out[-1][len(body) :]
    out[-1] = body
    out.append(("\n…" if _ends_block(body) else ELISION) + ("\n" if "\n" in space and behind else behind))


def _ends_block(body: str) -> bool:
    line = body[body.rfind("\n") + 1 :].strip()
    return line.startswith(("```", "~~~", "|", "}", "]", "+", "---", "===", "#", "    ", "\t"))

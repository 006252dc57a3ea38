"""Three layers of one text: raw, facts, summary (system C).

Lives here: ``Compressor``, its request and result, drill-down by section, ``truncate_to_tokens``. Does not belong here: HTTP,
time, storage, scorers.

Layers 1 and 2 contain only text of the source, in its order. Layer 1 has its key sentences, long ones cut to the clauses with the
facts; code, tables and other blocks are kept or dropped whole (their section's id leads back to them).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from turnfold.compression import tokens
from turnfold.compression.errors import InvalidInput, SectionUnknown
from turnfold.compression.memo import digest
from turnfold.compression.options import ENGINE_VERSION
from turnfold.compression.scorers.base import Scorer
from turnfold.compression.scorers.central import Central
from turnfold.compression.scorers.composite import Composite
from turnfold.compression.scorers.conversation import ConversationScorer
from turnfold.compression.scorers.query import QueryAware, Relevance
from turnfold.compression.scorers.textrank import TextRank
from turnfold.compression.scorers.tfidf import TfIdf
from turnfold.compression.shorten.clauses import Clause, clauses
from turnfold.compression.shorten.coverage import CoverageItem, cover
from turnfold.compression.text.entities import Entity, entities
from turnfold.compression.text.sections import is_heading, section_starts
from turnfold.compression.text.sentences import sentences
from turnfold.compression.text.signals import signal_weight
from turnfold.compression.text.spans import Span

Count = Callable[[str], int]

#: Scorers by the name that a request may give.
SCORERS: Final[Mapping[str, Scorer]] = {
    "textrank": TextRank(),
    "tfidf": TfIdf(),
    "conversation": ConversationScorer(),
    "composite": Composite([(Central(), 0.8), (ConversationScorer(), 0.2)]),
}
LAYERS: Final = (0, 1, 2)

# What a fact of each kind is worth; a sentence's score and its signals weigh a part of one figure.
_KIND_WORTH: Final = {
    **dict.fromkeys(("product", "money", "version", "identifier"), 1.0),
    **dict.fromkeys(("person", "organisation", "camelcase", "date", "percent", "quantity"), 0.8),
    **dict.fromkeys(("acronym", "name"), 0.5),
}
_SCORE_WORTH, _SIGNAL_WORTH = 0.3, 0.2
_REPEAT_WORTH: Final = 0.3
_IMPORTANT: Final = 0.75
# Beyond so many pieces one try fewer is made to fill the last percent of a budget.
_MANY: Final = 4000


@dataclass(frozen=True, slots=True)
class CompressRequest:
    """What to compress and how.

    Attributes:
        text: the source, not blank.
        layer: the layer that the caller wants to read, 0, 1 or 2.
        l1_ratio: tokens of layer 1 by those of layer 0, above 0 up to 1.
        l2_max_sentences: 1 or more.
        sections: whether to cut the text into sections that can be drilled into.
        query: a question that layers 1 and 2 should answer, or None.
        scorer: a name in `SCORERS`; None for the compressor's own.

    Raises:
        InvalidInput: a field is not as said here; it names the field.
    """

    text: str
    layer: int = 1
    l1_ratio: float = 0.3
    l2_max_sentences: int = 3
    sections: bool = True
    query: str | None = None
    scorer: str | None = None

    def __post_init__(self) -> None:
        for name, holds, problem in (
            ("text", isinstance(self.text, str), "must be a string"),
            ("text", isinstance(self.text, str) and bool(self.text.strip()), "must not be blank"),
            ("layer", _is_int(self.layer) and self.layer in LAYERS, "must be 0, 1 or 2"),
            ("l1_ratio", _is_number(self.l1_ratio) and 0 < self.l1_ratio <= 1, "must be above 0 and at most 1"),
            ("l2_max_sentences", _is_int(self.l2_max_sentences) and self.l2_max_sentences >= 1, "must be a whole number from 1"),
            ("sections", isinstance(self.sections, bool), "must be true or false"),
            ("query", self.query is None or isinstance(self.query, str), "must be a string or null"),
            ("scorer", self.scorer is None or self.scorer in SCORERS, f"must be one of {', '.join(SCORERS)}"),
        ):
            if not holds:
                raise InvalidInput(name, problem)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer's text and its tokens."""

    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class TextSection:
    """A part of the source.

    Attributes:
        id: content hash, unique per result.
        summary: its best sentence, word for word.
        tokens: tokens of this part of the source.
        importance: 0 to 1, the most important section at 1.
        layers: its raw text, its part of layer 1 (at least its summary), its summary.
    """

    id: str
    summary: str
    tokens: int
    importance: float
    layers: tuple[Layer, Layer, Layer]


@dataclass(frozen=True, slots=True)
class SourceEntity:
    """A name or figure of the source: how often it is there, and whether layer 1 still has it."""

    text: str
    kind: str
    count: int
    preserved: bool


@dataclass(frozen=True, slots=True)
class Metadata:
    """Figures about a result; `preservation` is the share of important entities (repeated ones, figures, names) in layer 1."""

    scorer: str
    sentences: int
    sections: int
    ratio: float
    preservation: float
    important: int


@dataclass(frozen=True, slots=True)
class CompressedResult:
    """The result of one request; `result_id` is a hash of the request."""

    result_id: str
    layer: int
    layers: tuple[Layer, Layer, Layer]
    entities: tuple[SourceEntity, ...]
    sections: tuple[TextSection, ...]
    metadata: Metadata

    @property
    def text(self) -> str:
        """The requested layer."""
        return self.layers[self.layer].text


@dataclass(frozen=True, slots=True)
class SectionLayer:
    """One layer of one section."""

    section_id: str
    layer: int
    text: str
    tokens: int


@dataclass(frozen=True)
class _JudgedText:
    """A text cut into rated sentences."""

    text: str
    spans: list[Span]
    starts: list[int]
    scores: list[float]
    found: list[Entity]
    clauses: list[Clause] = field(repr=False)
    signals: list[float] = field(repr=False)

    def slice(self, first: int, last: int) -> str:
        """The text of spans ``first`` to ``last - 1``."""
        return self.text[self.spans[first].start : self.spans[last - 1].end]

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """Sections as ranges of spans."""
        return list(pairwise([*self.starts, len(self.spans)]))


class Compressor:
    """Makes layers of texts.

    Args:
        scorer: rates sentences; any object of the ``Scorer`` protocol. None: the composite scorer.
        relevance: rates how well sentences answer a query; None: cosine of TF-IDF.
        count: tokens of a text; o200k by default.
    """

    def __init__(self, scorer: Scorer | None = None, *, relevance: Relevance | None = None, count: Count = tokens.count) -> None:
        self._scorer = scorer or SCORERS["composite"]
        self._relevance = relevance or TfIdf().score
        self._count = count

    def compress(self, request: CompressRequest) -> CompressedResult:
        """All three layers of a text, its entities and its sections. Pure: equal requests give equal results."""
        scorer = SCORERS[request.scorer] if request.scorer else self._scorer
        query = request.query if request.query and request.query.strip() else None
        source = self._judge(request.text, QueryAware(scorer, self._relevance) if query else scorer, query)
        whole = Layer(request.text, self._count(request.text))
        weights = _weights(source.found)
        kept = self._facts(source, weights, self._factors(source, query), max(1, int(whole.tokens * request.l1_ratio)))
        facts = self._no_longer(whole, _join(source, kept))
        summary = self._no_longer(facts, self._summary(source, weights, request.l2_max_sentences, facts.tokens))
        result_id = _identity(request, scorer.name)
        sections = self._sections(source, kept, result_id) if request.sections else ()
        listed = _distinct_entities(source, kept if facts is not whole else range(len(source.clauses)))
        important = [e for e in listed if weights[e.text.lower()] >= _IMPORTANT or e.count > 1]
        metadata = Metadata(
            scorer=scorer.name,
            sentences=len(source.spans),
            sections=len(sections),
            ratio=round(whole.tokens / max(1, facts.tokens), 4),
            preservation=round(sum(e.preserved for e in important) / len(important), 4) if important else 1.0,
            important=len(important),
        )
        return CompressedResult(result_id, request.layer, (whole, facts, summary), listed, sections, metadata)

    def drill_down(self, result: CompressedResult, section_id: str, layer: int = 0) -> SectionLayer:
        """One layer of a section of a result.

        Raises:
            InvalidInput: `layer` is not 0, 1 or 2.
            SectionUnknown: the result has no such section.
        """
        return drill_down(result.sections, section_id, layer)

    def _judge(self, text: str, scorer: Scorer, query: str | None) -> _JudgedText:
        spans = sentences(text)
        scores = scorer.score([span.of(text) for span in spans], query)
        signals = [signal_weight(span.of(text)) if not span.kind else 0.0 for span in spans]
        return _JudgedText(text, spans, section_starts(text, spans), scores, entities(text), clauses(text, spans), signals)

    def _no_longer(self, than: Layer, text: str) -> Layer:
        layer = Layer(text, self._count(text))
        return layer if layer.tokens <= than.tokens else than

    def _factors(self, source: _JudgedText, query: str | None) -> list[float]:
        """Factors for the worth of each sentence under a query: 1 to 4, by the relevance of the sentence and its section."""
        if query is None:
            return [1.0] * len(source.spans)
        alone = _normalise(self._relevance([span.of(source.text) for span in source.spans], query))
        around = _normalise(self._relevance([source.slice(first, last) for first, last in source.ranges], query))
        shared = [around[k] for k, (first, last) in enumerate(source.ranges) for _ in range(first, last)]
        return [1 + 2 * a + b for a, b in zip(alone, shared, strict=True)]

    def _facts(self, source: _JudgedText, weights: Mapping[str, float], factors: Sequence[float], budget: int) -> list[int]:
        """Indices of the clauses of layer 1, in order; as many as fit the budget by the true token count of the joined text."""
        pieces = self._pieces(source, factors)
        kept: list[int] = []
        most = 0
        allowed = budget
        # Joined pieces take other tokens than their sum: each try learns from the one before, and what is too much is dropped.
        for _ in range(3 if len(pieces) < _MANY else 2):
            order = cover(pieces, weights, allowed)
            true = self._count(_join(source, sorted(order)))
            allowed += budget - true
            while true > budget and order:
                excess = true - budget
                while order and excess > 0:
                    excess -= pieces[order.pop()].cost
                true = self._count(_join(source, sorted(order)))
            if true > most:
                kept, most = sorted(order), true
            if budget - most <= budget // 100:
                break
        if kept or not pieces:
            return self._with_headings(source, kept, budget)
        best = max(range(len(pieces)), key=lambda i: (pieces[i].factor * (pieces[i].base + len(pieces[i].facts)), -i))
        return [best]

    def _pieces(self, source: _JudgedText, factors: Sequence[float]) -> list[CoverageItem]:
        facts: list[list[str]] = [[] for _ in source.clauses]
        at = 0
        for entity in source.found:
            while source.clauses[at].end <= entity.start:
                at += 1
            facts[at].append(entity.text.lower())
        pieces = []
        for clause, names in zip(source.clauses, facts, strict=True):
            span = source.spans[clause.sentence]
            piece = source.text[clause.start : clause.end].rstrip()
            base = _SCORE_WORTH * source.scores[clause.sentence] + _SIGNAL_WORTH * source.signals[clause.sentence]
            heading = is_heading(source.text, span)
            factor = 0.0 if heading else factors[clause.sentence]
            pieces.append(CoverageItem(self._count(piece), base, factor, tuple(dict.fromkeys(names))))
        return pieces

    def _with_headings(self, source: _JudgedText, kept: list[int], budget: int) -> list[int]:
        """The kept clauses plus their headings, as far as the budget allows."""
        if not any(span.kind == "heading" for span in source.spans):
            return kept
        first_clause = {clause.sentence: i for i, clause in reversed(list(enumerate(source.clauses)))}
        wanted: list[int] = []
        heading = -1
        under = iter(kept)
        nearest = next(under, -1)
        for i, span in enumerate(source.spans):
            if span.kind == "heading":
                heading = first_clause[i]
            elif nearest >= 0 and source.clauses[nearest].sentence == i:
                if heading >= 0:
                    wanted.append(heading)
                    heading = -1
                while nearest >= 0 and source.clauses[nearest].sentence == i:
                    nearest = next(under, -1)
        left = budget - self._count(_join(source, kept))
        for i in wanted:
            left -= self._count(source.text[source.clauses[i].start : source.clauses[i].end])
            if left >= 0:
                kept = [*kept, i]
        return sorted(kept)

    def _summary(self, source: _JudgedText, weights: Mapping[str, float], most: int, budget: int) -> str:
        """The best sentences within `budget` tokens; blocks only if there is nothing else."""
        facts: list[list[str]] = [[] for _ in source.spans]
        at = 0
        for entity in source.found:
            while source.spans[at].end <= entity.start:
                at += 1
            facts[at].append(entity.text.lower())
        seen: set[str] = set()
        left = budget
        chosen: list[int] = []
        rest = [i for i, span in enumerate(source.spans) if not span.kind and not is_heading(source.text, span)]
        worth = {i: self._summary_worth(source, i, sum(weights[fact] for fact in dict.fromkeys(facts[i]))) for i in rest}
        for i in sorted(rest, key=lambda i: (-worth[i], i))[: 20 * most]:
            cost = self._count(source.spans[i].of(source.text).rstrip())
            if len(chosen) < most and cost <= left and not (facts[i] and set(facts[i]) <= seen):
                chosen.append(i)
                left -= cost + 1
                seen.update(facts[i])
        return "".join(source.spans[i].of(source.text) for i in sorted(chosen)).strip()

    def _summary_worth(self, source: _JudgedText, i: int, facts: float) -> float:
        """Worth of a sentence by score, signals and facts; a long sentence needs more of them."""
        piece = source.spans[i].of(source.text)
        weight: float = (len(piece) + 60) ** 0.4
        return (3 * source.scores[i] + source.signals[i] + facts / 2) / weight

    def _sections(self, source: _JudgedText, kept: Sequence[int], result_id: str) -> tuple[TextSection, ...]:
        by_sentence: dict[int, list[int]] = {}
        for i in kept:
            by_sentence.setdefault(source.clauses[i].sentence, []).append(i)
        rows = []
        for first, last in source.ranges:
            said = [i for i in range(first, last) if not is_heading(source.text, source.spans[i])] or list(range(first, last))
            best = max(said, key=lambda i: (source.scores[i] if not source.spans[i].kind else -1.0, -i))
            top = sorted((source.scores[i] for i in said), reverse=True)[:3]
            parts = [i for sentence in range(first, last) for i in by_sentence.get(sentence, ())]
            rows.append((first, last, best, sum(top) / 3, parts))
        highest = max((row[3] for row in rows), default=0.0) or 1.0
        return tuple(self._section(source, result_id, n, row, highest) for n, row in enumerate(rows))

    def _section(
        self, source: _JudgedText, result_id: str, number: int, row: tuple[int, int, int, float, list[int]], highest: float
    ) -> TextSection:
        first, last, best, weight, parts = row
        raw = source.slice(first, last)
        line = source.spans[best].of(source.text).strip()
        whole = Layer(raw, self._count(raw))
        summary = Layer(line, self._count(line))
        facts = Layer(_join(source, parts), 0)
        facts = Layer(facts.text, self._count(facts.text))
        if not summary.tokens <= facts.tokens <= whole.tokens:
            facts = summary
        section_id = "s" + digest(result_id, str(number), raw).hex()[:20]
        return TextSection(section_id, line, whole.tokens, round(weight / highest, 4), (whole, facts, summary))


def drill_down(sections: Sequence[TextSection], section_id: str, layer: int = 0) -> SectionLayer:
    """One layer of one of these sections.

    Raises:
        InvalidInput: `layer` is not 0, 1 or 2.
        SectionUnknown: none of them has this id.
    """
    if not _is_int(layer) or layer not in LAYERS:
        raise InvalidInput("layer", "must be 0, 1 or 2")
    for section in sections:
        if section.id == section_id:
            chosen = section.layers[layer]
            return SectionLayer(section_id, layer, chosen.text, chosen.tokens)
    raise SectionUnknown(section_id)


def truncate_to_tokens(text: str, limit: int, *, count: Count = tokens.count) -> str:
    """The longest beginning of a text within `limit` tokens, cut after a sentence, else after a clause or a word.

    Raises:
        InvalidInput: `limit` is negative.
    """
    if not _is_int(limit) or limit < 0:
        raise InvalidInput("limit", "must be a whole number from 0")
    if count(text) <= limit:
        return text
    spans = sentences(text)
    cut = _longest(text, [span.end for span in spans], limit, count)
    if not cut:
        cut = _longest(text, [clause.end for clause in clauses(text, spans[:1])], limit, count)
    if not cut:
        head = text[: spans[0].end]
        cut = _longest(text, [i for i in range(1, len(head) + 1) if head[i - 1].isspace() or i == len(head)], limit, count)
    return text[: cut or _longest(text, range(1, min(len(text), 20 * limit) + 1), limit, count)].rstrip()


def _longest(text: str, cuts: Sequence[int], limit: int, count: Count) -> int:
    """The largest of ascending cuts whose beginning fits, by bisection; 0 if none does."""
    low, high = 0, len(cuts)
    while low < high:
        middle = (low + high) // 2
        if count(text[: cuts[middle]].rstrip()) <= limit:
            low = middle + 1
        else:
            high = middle
    return cuts[low - 1] if low else 0


def _normalise(scores: Sequence[float]) -> list[float]:
    top = max(scores, default=0.0)
    return [max(0.0, s) / top if top > 0 else 0.0 for s in scores]


def _identity(request: CompressRequest, scorer: str) -> str:
    options = (request.l1_ratio, request.l2_max_sentences, request.sections, request.query, scorer, ENGINE_VERSION)
    return "r" + digest(request.text, repr(options)).hex()[:24]


def _weights(found: Sequence[Entity]) -> dict[str, float]:
    """Worth of each fact, by its kind and (damped) its frequency."""
    times = Counter(entity.text.lower() for entity in found)
    return {
        entity.text.lower(): _KIND_WORTH[entity.kind] * (1 + _REPEAT_WORTH * min(3, times[entity.text.lower()] - 1))
        for entity in reversed(found)
    }


def _distinct_entities(source: _JudgedText, kept: Sequence[int]) -> tuple[SourceEntity, ...]:
    """Each entity once, as first written; preserved if one of its mentions begins in a kept clause."""
    times = Counter(entity.text.lower() for entity in source.found)
    told = set(kept)
    first: dict[str, Entity] = {}
    preserved: set[str] = set()
    at = 0
    for entity in source.found:
        while source.clauses[at].end <= entity.start:
            at += 1
        name = entity.text.lower()
        first.setdefault(name, entity)
        if at in told:
            preserved.add(name)
    return tuple(SourceEntity(e.text, e.kind, times[name], name in preserved) for name, e in first.items())


def _join(source: _JudgedText, kept: Sequence[int]) -> str:
    """The clauses, each with the white space after it, and a line break between parts that were not adjacent."""
    out: list[str] = []
    before: Clause | None = None
    for i in kept:
        clause = source.clauses[i]
        if before and before.end != clause.start and out and not out[-1].endswith("\n"):
            whole = before.end == source.spans[before.sentence].end and clause.start == source.spans[clause.sentence].start
            out.append("" if whole and out[-1][-1:].isspace() else "\n")
            if out[-1] == "\n":
                out[-2] = out[-2].rstrip()
        out.append(source.text[clause.start : clause.end])
        before = clause
    return "".join(out).strip("\n")

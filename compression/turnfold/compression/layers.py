"""Three layers of one text: raw, facts, summary (system C).

``Compressor``, its request and result, drill-down by section, and ``truncate_to_tokens``. There is no HTTP, clock or storage
here; scorers are in ``scorers``.

Layers 1 and 2 show language in whole sentences of the source, in its order, each with what it depends on
(``text.statements``). Data beside it (logs, JSON, tables, code) is shown by the rule of its kind, which marks what it leaves out;
a section's id leads back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Final

from turnfold.compression import tokens
from turnfold.compression.errors import SectionUnknown, is_whole, is_within, require
from turnfold.compression.memo import digest
from turnfold.compression.options import ENGINE_VERSION
from turnfold.compression.scorers.base import Scorer, check_scorer, scores_of
from turnfold.compression.scorers.central import Central
from turnfold.compression.scorers.composite import Composite
from turnfold.compression.scorers.conversation import ConversationScorer
from turnfold.compression.scorers.query import QueryAware, Relevance
from turnfold.compression.scorers.terms import STOP, terms
from turnfold.compression.scorers.textrank import TextRank
from turnfold.compression.scorers.tfidf import TfIdf
from turnfold.compression.shorten.evidence import lone_failures
from turnfold.compression.shorten.judged_text import JudgedText
from turnfold.compression.shorten.layer_choice import (
    ChosenText,
    choose_facts,
    choose_summary,
    data_heads_within,
    short_data,
    shown_entities,
    write,
)
from turnfold.compression.shorten.lines import names
from turnfold.compression.text.data_blocks import data_blocks
from turnfold.compression.text.dialogue.signals import rule_weight, signal_weight
from turnfold.compression.text.names.entities import Entity, entities
from turnfold.compression.text.sections import is_heading, sections_of
from turnfold.compression.text.sentences import sentences
from turnfold.compression.text.spans import whole_character
from turnfold.compression.text.statements import Statements, statements
from turnfold.compression.tokens import Count

#: Scorers by the name that a request may give.
SCORERS: Final[Mapping[str, Scorer]] = {
    "textrank": TextRank(),
    "tfidf": TfIdf(),
    "conversation": ConversationScorer(),
    "composite": Composite([(Central(), 0.8), (ConversationScorer(), 0.2)]),
}
LAYERS: Final = (0, 1, 2)

_IMPORTANT: Final = 0.75
_FAILURE_WEIGHT: Final = 6.0  # of the one line among many that reports a failure
_ROW: Final = 40  # tokens to which data in a section is cut, at least
_TIMES_LONGER: Final = 8  # a text with this many times the characters has more tokens, or almost no letters


@dataclass(frozen=True, slots=True)
class CompressRequest:
    """What to compress and how.

    Attributes:
        text: the source; must not be blank.
        layer: the layer to return, 0, 1 or 2.
        l1_ratio: tokens of layer 1 divided by those of layer 0, above 0 and at most 1.
        l2_max_sentences: 1 or more.
        sections: whether to divide the text into sections for drill-down.
        query: a question that layers 1 and 2 should answer, or None.
        scorer: a name in `SCORERS`; None for the compressor's own.

    Raises:
        InvalidInput: a field is invalid; the error names it.
    """

    text: str
    layer: int = 1
    l1_ratio: float = 0.3
    l2_max_sentences: int = 3
    sections: bool = True
    query: str | None = None
    scorer: str | None = None

    def __post_init__(self) -> None:
        require(
            ("text", isinstance(self.text, str), "must be a string"),
            ("text", isinstance(self.text, str) and self.text.strip(), "must not be blank"),
            ("layer", _is_layer(self.layer), "must be 0, 1 or 2"),
            ("l1_ratio", is_within(self.l1_ratio, 0, 1) and self.l1_ratio, "must be above 0 and at most 1"),
            ("l2_max_sentences", is_whole(self.l2_max_sentences, 1), "must be a whole number from 1"),
            ("sections", isinstance(self.sections, bool), "must be true or false"),
            ("query", self.query is None or isinstance(self.query, str), "must be a string or null"),
            (
                "scorer",
                self.scorer is None or (isinstance(self.scorer, str) and self.scorer in SCORERS),
                f"must be one of {', '.join(SCORERS)}",
            ),
        )


def _signals(read: Statements, pieces: Sequence[str]) -> list[float]:
    """By span, how much it decides, promises, finds or requires; most where it alone reports a failure."""
    said = [i for i, span in enumerate(read.spans) if not span.kind]
    signals = [0.0] * len(pieces)
    for i in said:
        signals[i] = max(signal_weight(pieces[i]), rule_weight(pieces[i]))
    for k in lone_failures([pieces[i] for i in said]):
        signals[said[k]] = _FAILURE_WEIGHT
    return signals


def _is_layer(value: object) -> bool:
    return is_whole(value) and value in LAYERS


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer's text, with its tokens."""

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
    """A name or figure of the source, its number of occurrences, and whether layer 1 still contains it."""

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


class Compressor:
    """Makes layers of texts.

    Args:
        scorer: rates sentences; any object with the ``Scorer`` protocol. None: the composite scorer.
        relevance: rates how well sentences answer a query; None: cosine of TF-IDF.
        count: counts the tokens of a text; o200k by default.

    Raises:
        InvalidInput: `scorer` is not a scorer.
    """

    def __init__(self, scorer: Scorer | None = None, *, relevance: Relevance | None = None, count: Count = tokens.count) -> None:
        if scorer is not None:
            check_scorer(scorer)
        self._scorer = scorer or SCORERS["composite"]
        self._relevance = relevance or TfIdf().score
        self._count = count

    def compress(self, request: CompressRequest) -> CompressedResult:
        """All three layers of a text, its entities and its sections. Deterministic: equal requests give equal results.

        Raises:
            InvalidInput: it is no request, or the scorer does not return one finite number for each sentence.
        """
        require(("request", isinstance(request, CompressRequest), "must be a CompressRequest"))
        # Shortened data is counted for each length tried, for the whole text and again for its section.
        return Compressor(self._scorer, relevance=self._relevance, count=tokens.count_once({}, self._count))._compress(request)

    def _compress(self, request: CompressRequest) -> CompressedResult:
        scorer = SCORERS[request.scorer] if request.scorer else self._scorer
        query = request.query if request.query and request.query.strip() else None
        source = self._judge(request.text, scorer, query)
        whole = Layer(request.text, self._count(request.text))
        facts, preserved_text = self._facts(source, whole, request.l1_ratio)
        chosen = choose_summary(source, request.l2_max_sentences, facts.tokens)
        summary = self._no_longer(facts, write(source, chosen).strip())
        result_id = _identity(request, scorer.name)
        sections = self._sections(source, preserved_text, result_id, request.l1_ratio) if request.sections else ()
        listed = _distinct_entities(source, preserved_text)
        important = [e for e in listed if source.weights[e.text.lower()] >= _IMPORTANT or e.count > 1]
        metadata = Metadata(
            scorer=scorer.name,
            sentences=sum(source.read.sizes),
            sections=len(sections),
            ratio=round(whole.tokens / max(1, facts.tokens), 4),
            preservation=round(sum(e.preserved for e in important) / len(important), 4) if important else 1.0,
            important=len(important),
        )
        return CompressedResult(result_id, request.layer, (whole, facts, summary), listed, sections, metadata)

    def drill_down(self, result: CompressedResult, section_id: str, layer: int = 0) -> SectionLayer:
        """One layer of one section of a result.

        Raises:
            InvalidInput: `layer` is not 0, 1 or 2.
            SectionUnknown: the result has no such section.
        """
        return drill_down(result.sections, section_id, layer)

    def sentences(self, text: str) -> list[str]:
        """The sentences of a text that `compress` passes to the scorer."""
        return [span.of(text) for span in statements(text, data_blocks(text)).spans]

    def rated_by(self, scorer: Scorer) -> Compressor:
        """A copy with another scorer."""
        return Compressor(scorer, relevance=self._relevance, count=self._count)

    def _judge(self, text: str, scorer: Scorer, query: str | None) -> JudgedText:
        read = statements(text, data_blocks(text))
        pieces = [span.of(text) for span in read.spans]
        central = scores_of(scorer, pieces, query)
        source = JudgedText(
            text=text,
            read=read,
            starts=sections_of(text, read),
            scores=central,
            central=central,
            signals=_signals(read, pieces),
            relevance=[0.0] * len(pieces),
            found=entities(text),
            count=self._count,
            words=frozenset((*terms(query), *map(str.lower, names(query)))) - STOP if query else frozenset(),
        )
        if not query:
            return source
        aware = scores_of(QueryAware(scorer, self._relevance), pieces, query)
        return replace(source, scores=aware, relevance=self._answers(source, query))

    def _facts(self, source: JudgedText, whole: Layer, ratio: float) -> tuple[Layer, ChosenText]:
        """Layer 1, and the spans chosen for it; the text itself if all of it fits or nothing shorter is useful."""
        everything = ChosenText(frozenset(range(len(source.spans))), {})
        budget = max(1, int(whole.tokens * ratio))
        if budget >= whole.tokens:
            return whole, everything
        chosen = choose_facts(source, budget)
        facts = self._no_longer(whole, write(source, chosen))
        return (facts, chosen) if facts is not whole else (whole, everything)

    def _no_longer(self, than: Layer, text: str) -> Layer:
        """A layer with this text, or the other layer if the text has more tokens or is blank."""
        layer = Layer(text, self._count(text))
        return layer if layer.tokens <= than.tokens and text.strip() else than

    def _answers(self, source: JudgedText, query: str) -> list[float]:
        """How well each span answers a query, 0 to 1: two thirds by its own relevance, one third by its section's."""
        alone = _normalise(self._relevance([span.of(source.text) for span in source.spans], query))
        around = _normalise(self._relevance([source.slice(first, last) for first, last in source.ranges], query))
        shared = [around[k] for k, (first, last) in enumerate(source.ranges) for _ in range(first, last)]
        return [(2 * a + b) / 3 for a, b in zip(alone, shared, strict=True)]

    def _sections(self, source: JudgedText, preserved_text: ChosenText, result_id: str, ratio: float) -> tuple[TextSection, ...]:
        worths = [fsum(sorted(source.scores[first:last], reverse=True)[:3]) / 3 for first, last in source.ranges]
        highest = max(worths, default=0.0) or 1.0
        return tuple(
            self._section(source, preserved_text, (first, last), (f"{result_id}", n, ratio), round(worth / highest, 4))
            for n, ((first, last), worth) in enumerate(zip(source.ranges, worths, strict=True))
        )

    def _section(
        self,
        source: JudgedText,
        preserved_text: ChosenText,
        span: tuple[int, int],
        key: tuple[str, int, float],
        worth: float,
    ) -> TextSection:
        first, last = span
        result_id, number, ratio = key
        raw = source.slice(first, last)
        whole = Layer(raw, self._count(raw))
        best = self._best_of(source, first, last)
        summary = self._no_longer(whole, best) if best is not None else whole
        is_whole_told = preserved_text.spans >= set(range(first, last))
        spans = frozenset(
            i for i in range(first, last) if i in preserved_text.spans and (is_whole_told or i not in source.in_data)
        )
        short = {} if is_whole_told else self._data_of(source, first, last, ratio)
        facts = self._told_of(source, spans, short, whole) if spans or short else summary
        if facts.tokens < summary.tokens:
            facts = summary
        section_id = "s" + digest(result_id, str(number), raw).hex()[:20]
        return TextSection(section_id, summary.text, whole.tokens, worth, (whole, facts, summary))

    def _told_of(self, source: JudgedText, spans: frozenset[int], short: Mapping[int, str], whole: Layer) -> Layer:
        """The given statements and data of a section with the spans they depend on; the whole section if that would be longer."""
        most = _TIMES_LONGER * len(whole.text)
        needed, heads = source.read.complete_within(spans, most), data_heads_within(source, short, most)
        if needed is None or heads is None:
            return whole
        return self._no_longer(whole, write(source, ChosenText(frozenset(needed | heads), short)))

    def _best_of(self, source: JudgedText, first: int, last: int) -> str | None:
        """The best statement of a section, with the spans it depends on.

        If the best span is data, its most informative rows. None if that would be far longer than the section.
        """
        said = [i for i in range(first, last) if not is_heading(source.text, source.spans[i])] or list(range(first, last))
        best = max(said, key=lambda i: (source.scores[i] if not source.spans[i].kind else -1.0, -i))
        most = _TIMES_LONGER * (source.spans[last - 1].end - source.spans[first].start)
        if best in source.in_data:
            rows = short_data(source, source.spans[best].of(source.text), source.spans[best].kind, _ROW)
            if rows.strip():
                heads = data_heads_within(source, [best], most)
                return None if heads is None else write(source, ChosenText(frozenset(heads), {best: rows})).strip()
        needed = source.read.complete_within([best], most)
        return None if needed is None else write(source, ChosenText(frozenset(needed), {})).strip()

    def _data_of(self, source: JudgedText, first: int, last: int, ratio: float) -> dict[int, str]:
        """The shortened data of a section, at the layer's ratio."""
        short: dict[int, str] = {}
        for i in range(first, last):
            if i in source.in_data:
                piece = source.spans[i].of(source.text)
                limit = max(_ROW, int(ratio * self._count(piece)))
                short[i] = short_data(source, piece, source.spans[i].kind, limit)
        return {i: text for i, text in short.items() if text.strip()}


def drill_down(sections: Sequence[TextSection], section_id: str, layer: int = 0) -> SectionLayer:
    """One layer of one of the sections.

    Raises:
        InvalidInput: `layer` is not 0, 1 or 2.
        SectionUnknown: no section has this id.
    """
    require(("layer", _is_layer(layer), "must be 0, 1 or 2"))
    for section in sections:
        if section.id == section_id:
            chosen = section.layers[layer]
            return SectionLayer(section_id, layer, chosen.text, chosen.tokens)
    raise SectionUnknown(section_id)


def truncate_to_tokens(text: str, limit: int, *, count: Count = tokens.count) -> str:
    """The longest beginning of a text that takes at most `limit` tokens, cut behind a sentence, else behind a word.

    Raises:
        InvalidInput: `text` is no string, or `limit` is negative.
    """
    require(("text", isinstance(text, str), "must be a string"), ("limit", is_whole(limit), "must be a whole number from 0"))
    if count(text) <= limit:
        return text
    spans = sentences(text)
    cut = _longest(text, [span.end for span in spans], limit, count)
    if not cut:
        head = text[: spans[0].end]
        cut = _longest(text, [i for i in range(1, len(head) + 1) if head[i - 1].isspace() or i == len(head)], limit, count)
    cut = cut or whole_character(text, _longest(text, range(1, min(len(text), 20 * limit) + 1), limit, count), -1)
    while cut and count(text[:cut].rstrip()) > limit:  # a shorter text may have more tokens
        cut = whole_character(text, cut - 1, -1)
    return text[:cut].rstrip()


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


def _distinct_entities(source: JudgedText, preserved_text: ChosenText) -> tuple[SourceEntity, ...]:
    """The distinct entities, each in its first spelling, and whether the chosen text still has it."""
    times = Counter(entity.text.lower() for entity in source.found)
    preserved = set(shown_entities(source, preserved_text))
    first: dict[str, Entity] = {}
    for entity in source.found:
        first.setdefault(entity.text.lower(), entity)
    return tuple(SourceEntity(e.text, e.kind, times[name], name in preserved) for name, e in first.items())

"""A text cut up and rated: the candidates for its layers.

This module knows the facts of each statement and their worth, which statements claim nothing or repeat others, and where data is.
``layer_choice`` chooses, ``scorers`` score, and ``text.statements`` cuts a text up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.shorten.kinds.plain import alike
from turnfold.compression.shorten.lines import is_longer
from turnfold.compression.shorten.registry import Shortener
from turnfold.compression.text.beside import beside, buttons
from turnfold.compression.text.names.entities import Entity
from turnfold.compression.text.sections import leading_spans
from turnfold.compression.text.spans import Span
from turnfold.compression.text.statements import Statements
from turnfold.compression.tokens import Count

# The worth of a fact of each kind.
_KIND_WORTH: Final = {
    **dict.fromkeys(("product", "money", "version", "identifier"), 1.3),
    **dict.fromkeys(("person", "organisation", "camelcase", "date", "percent", "quantity"), 0.8),
    **dict.fromkeys(("acronym", "name"), 0.5),
}
_FIGURE_WORTH: Final = 0.8
_FIRST_WORTH, _LAST_WORTH, _NEAR_END = 1.0, 0.6, 0.12  # the beginning says what it is about, the end what came of it
_FIGURE: Final = lazy.pattern(r"[$€£¥]?\d(?:[\w.,:/%-]*[\w%])?|`[^`\n]+`")
_REPEAT_WORTH: Final = 0.3
#: Blocks that lose their meaning with any line.
_WHOLE_KINDS: Final = frozenset({"heading", "label", "key", "math"})
#: Two of them are two things even where nothing stands between, unless one needs the head of the other.
_APART: Final = frozenset({"fence", "table"})
#: Small ones may be what a text is about, so layer 2 takes them for a sentence.
ROWED: Final = frozenset({"csv", "table"})
_SMALL: Final = 64  # tokens: a block of no more is shown whole where there is room for it
_NO_WORDS: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True)
class JudgedText:
    """A text divided into spans, with their ratings.

    Attributes:
        read: its statements and blocks.
        starts: spans that begin sections.
        scores, signals: by span, how central it is (also to the query, if any), and how much it decides, promises or finds.
        central: by span its score without the query.
        relevance: by span how well it and its section answer the query, 0 to 1; 0 without one.
        found: its entities, in order.
        words: lower-case words of the query.
        partial: first spans of small blocks that are also shortened by the rule of their kind.
        count: tokens of a text.
    """

    text: str
    read: Statements
    starts: list[int]
    scores: list[float]
    signals: list[float]
    central: list[float]
    relevance: list[float]
    found: list[Entity]
    count: Count = field(repr=False)
    words: frozenset[str] = _NO_WORDS
    partial: frozenset[int] = frozenset()

    @cached_property
    def shortener(self) -> Shortener:
        """Shortens its data."""
        return Shortener(self.words, self.count)

    @property
    def spans(self) -> Sequence[Span]:
        """Its statements and blocks, in order without gaps."""
        return self.read.spans

    def slice(self, first: int, last: int) -> str:
        """The text of spans ``first`` to ``last - 1``."""
        return self.text[self.spans[first].start : self.spans[last - 1].end]

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """Sections as ranges of spans."""
        return list(pairwise([*self.starts, len(self.spans)]))

    @cached_property
    def facts(self) -> list[dict[str, None]]:
        """By span, its distinct entities and other figures, in lower case."""
        facts: list[dict[str, None]] = [{} for _ in self.spans]
        places = sorted([*((e.start, e.text.lower()) for e in self.found), *self._figures])
        at = 0
        for start, name in places:
            while self.spans[at].end <= start:
                at += 1
            if self.spans[at].kind != "label":  # a speaker and a time are no reason to show the statement
                facts[at][name] = None
        return facts

    @cached_property
    def _figures(self) -> list[tuple[int, str]]:
        """Figures and code outside of entities."""
        out: list[tuple[int, str]] = []
        at = 0
        for m in _FIGURE.finditer(self.text):
            while at < len(self.found) and self.found[at].end <= m.start():
                at += 1
            if at == len(self.found) or self.found[at].start >= m.end():
                out.append((m.start(), m.group().strip("`").lower()))
        return out

    @cached_property
    def weights(self) -> dict[str, float]:
        """The worth of each fact, by its kind and (damped) by its frequency."""
        times = Counter(entity.text.lower() for entity in self.found)
        kinds = {entity.text.lower(): entity.kind for entity in reversed(self.found)}
        return {name: _FIGURE_WORTH for _, name in self._figures} | {
            name: _KIND_WORTH[kind] * (1 + _REPEAT_WORTH * min(3, times[name] - 1)) for name, kind in kinds.items()
        }

    @cached_property
    def heads(self) -> frozenset[int]:
        """Spans without a claim, which are not shown for themselves: headings, and "The prices are below." above a table."""
        before_rows = ((i - 1, self.read.needs[i]) for i, span in enumerate(self.spans) if i and span.kind in ROWED)
        introductions = {i for i, needed in before_rows if i in needed and not self.facts[i] and not self.signals[i]}
        return leading_spans(self.text, self.read) | introductions

    @cached_property
    def places(self) -> list[float]:
        """By span, the worth of its position: higher near the first and last statement."""
        said = [i for i, span in enumerate(self.spans) if not span.kind and i not in self.buttons]
        out = [0.0] * len(self.spans)
        for rank, i in enumerate(said):
            at = rank / max(1, len(said) - 1)
            last = _LAST_WORTH if self.facts[i] or self.signals[i] else 0.0  # else it may be a greeting, or a cake for all
            out[i] = _FIRST_WORTH * max(0.0, 1 - at / _NEAR_END) + last * max(0.0, 1 - (1 - at) / _NEAR_END)
        return out

    @cached_property
    def beside(self) -> frozenset[int]:
        """Statements beside the text's subject: headers of mails, quoted mails, sources, buttons."""
        return beside(self.text, self.spans)

    @cached_property
    def buttons(self) -> frozenset[int]:
        """Statements that are only buttons and counters of a page."""
        return buttons([span.of(self.text).strip() if not span.kind else "" for span in self.spans])

    @cached_property
    def repeated(self) -> frozenset[int]:
        """Statements that repeat an earlier one word for word."""
        first: dict[str, int] = {}
        said = (" ".join(span.of(self.text).lower().split()) if not span.kind else f"\n{i}" for i, span in enumerate(self.spans))
        return frozenset(i for i, text in enumerate(said) if first.setdefault(text, i) != i)

    @cached_property
    def alike(self) -> frozenset[int]:
        """Statements that several others repeat with other figures."""
        return alike({i: span.of(self.text) for i, span in enumerate(self.spans) if not span.kind})

    @cached_property
    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of spans that are data: neighbours of one kind."""
        groups: list[tuple[int, int]] = []
        for i, span in enumerate(self.spans):
            if not span.kind or span.kind in _WHOLE_KINDS:
                continue
            first, last = groups[-1] if groups else (-1, -1)
            if last == i and self.spans[first].kind == span.kind and (span.kind not in _APART or first in self.read.needs[i]):
                groups[-1] = (first, i + 1)
            else:
                groups.append((i, i + 1))
        return groups

    @cached_property
    def data(self) -> list[tuple[int, int]]:
        """The blocks that are shown by the rule of their kind."""
        return [block for block in self.blocks if block[0] in self.partial or is_longer(self.slice(*block), _SMALL, self.count)]

    @cached_property
    def data_ends(self) -> dict[int, int]:
        """Behind which span each of these ends, by its first."""
        return dict(self.data)

    @cached_property
    def in_data(self) -> frozenset[int]:
        """The spans in them."""
        return frozenset(i for first, last in self.data for i in range(first, last))

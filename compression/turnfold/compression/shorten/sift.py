"""Which sentences of one message, or of a run of them, are worth keeping.

Lives here: reading a text into rated sentences, and choosing a share of them. Does not belong here: other kinds of content
(``registry``), writing messages, rewording (every sentence is the text's own).

A run's sentences are chosen for the run as a whole: names and figures count once, so a second sentence with the same content adds
little (``coverage``). The choice depends only on the run, not on what comes before or after.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, filterfalse
from typing import Final, NamedTuple

from turnfold.compression.scorers.terms import STOP, terms
from turnfold.compression.shorten.coverage import CoverageItem, cover
from turnfold.compression.shorten.prose import TELLS, has_order, join
from turnfold.compression.text import inline
from turnfold.compression.text.figures import figures_by_span
from turnfold.compression.text.lower import lower_text, words, words_within
from turnfold.compression.text.protect import protected_spans
from turnfold.compression.text.signals import signal_weight
from turnfold.compression.text.spans import Span
from turnfold.compression.text.statements import Statements, objects, statements

#: Blocks that stay byte for byte.
EXACT: Final = frozenset({"fence", "code", "json", "sql", "table", "trace", "key"})
#: Of what stands inside a line, what no shortening may lose.
_EXACT_INLINE: Final = frozenset({"secret", "inline-json", "inline-sql"})

# Each alternative begins with a class of its own, which the regex engine finds fast; what stands before comes after it.
_FACT: Final = re.compile(r"https?://[^\s)>\]]+|[^\W\d_a-z](?<=\w .)[^\W_]+|\d(?:[\w.,:/%-]*\w)?|`[^`\n]+`|[\u30a1-\u30f6]{3,}")
# The same for ASCII, where the first characters are one class.
_ASCII_FACT: Final = re.compile(
    r"[hA-Z0-9`](?:(?<=h)ttps?://[^\s)>\]]+|(?<=\w [A-Z])[^\W_]+|(?<=\d)(?:[\w.,:/%-]*\w)?|(?<=`)[^`\n]+`)"
)
# Every secret, inline JSON or SQL has a long token, a bracket, or one of these words; most sentences need no closer look.
_TELLING_WORDS: Final = "password passwd passphrase secret token apikey api accesskey access key bearer authorization"
_TELLING: Final = frozenset(_TELLING_WORDS.split())
_SQL_WORDS: Final = ("SELECT", "INSERT", "DELETE", "UPDATE", "CREATE", "ALTER", "DROP")
_LONG_TOKEN: Final = 12  # characters of the shortest that is taken for a secret by its looks
_FACT_SIGNS: Final = bytes(48 if 48 <= byte < 58 else 65 if 65 <= byte < 91 else 32 for byte in range(256))
_SOLID: Final = bytes(32 if chr(byte).isspace() else 120 for byte in range(256))
_LONG_RUN: Final = b"x" * _LONG_TOKEN
_is_stop: Final = STOP.__contains__
_MARKS: Final = ".,;:!?\"'()*"
# Messages that one which begins with "No" or "Wait" may be about: another speaker's, and the one that this answered.
_OBJECTED: Final = 2
_SHORT: Final = 3  # words: a sentence of so few says nothing by itself, unless it names something
_LEAST_GAP: Final = 80  # characters: prose beside a block that is shorter stays
_ROLE_WORTH: Final = {"user": 1.2}
_BY_PLACE, _BY_SIGNAL, _BY_CENTRE, _BY_FACT = 0.1, 1.1, 0.3, 0.4


class _Sentence(NamedTuple):
    """A sentence (or a heading); `must` says whether it has to be kept."""

    must: bool
    signal: float
    words: tuple[str, ...]
    facts: tuple[str, ...]


@dataclass(frozen=True)
class Read:
    """A text cut into rated sentences; `sentences` has None for blocks, which are kept unchanged."""

    text: str
    role: str
    parts: Statements
    sentences: Sequence[_Sentence | None]

    @property
    def spans(self) -> Sequence[Span]:
        """Its statements and blocks."""
        return self.parts.spans

    @cached_property
    def objects(self) -> bool:
        """Whether its first statement takes back or narrows what the messages before it said."""
        return objects(self.text)

    @cached_property
    def figures(self) -> dict[int, tuple[str, ...]]:
        """By the index of a sentence or block, where it has any, its figures."""
        return figures_by_span(self.text, self.spans)

    @property
    def has_blocks(self) -> bool:
        """Whether part of it must stay byte for byte."""
        return None in self.sentences

    @property
    def musts(self) -> list[str]:
        """Sentences that must survive rewording: standing orders and secrets."""
        return [span.of(self.text).strip() for span, s in zip(self.spans, self.sentences, strict=True) if s and s.must]


def read(text: str, role: str) -> Read:
    """Cut a text into sentences and rate them; linear."""
    parts = statements(text)
    pieces = [None if kind in EXACT else text[start:end] for start, end, kind in parts.spans]
    within = words_within(text)
    said = [within(start, end) if piece else [] for (start, end, _), piece in zip(parts.spans, pieces, strict=True)]
    tells = role in TELLS
    exact = _may_hold_exact(text, chain.from_iterable(said))
    noted: list[_Sentence | None] = []
    for piece, heard, size, facts in zip(pieces, said, parts.sizes, _facts(text, parts.spans), strict=True):
        if piece is None:
            noted.append(None)
            continue
        must = (tells and has_order(piece, heard, size)) or (exact and holds_exact(piece, heard))
        dense = not piece.isascii() and len(heard) < len(piece) // 12  # a script without blanks
        bag = terms(piece) if dense else filterfalse(_is_stop, heard)
        noted.append(_Sentence(must, signal_weight(piece, heard), tuple(dict.fromkeys(bag)), facts))
    return Read(text, role, parts, noted)


def _facts(text: str, spans: Sequence[Span]) -> list[tuple[str, ...]]:
    """By span the names and figures in it, each once. Plain spans without digits and inner capitals have none."""
    if not text.isascii() or "`" in text or "http" in text:
        return [_facts_of(span.of(text)) for span in spans]
    signs = text.encode().translate(_FACT_SIGNS)
    return [
        _facts_of(text[start:end]) if signs.find(b"A", start + 1, end) >= 0 or signs.find(b"0", start, end) >= 0 else ()
        for start, end, _ in spans
    ]


def _facts_of(piece: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((_ASCII_FACT if piece.isascii() else _FACT).findall(piece)))


def holds_exact(piece: str, said: Sequence[str] | None = None) -> bool:
    """Whether a piece of a line contains something like a secret, JSON or SQL; `said` are its words, if known."""
    return _may_hold_exact(piece, words(lower_text(piece)) if said is None else said) and _looks_exact(piece)


def _may_hold_exact(text: str, said: Iterable[str]) -> bool:
    """The cheap look: False is certain, for a text and so for each piece of it."""
    return "{" in text or "[" in text or not _TELLING.isdisjoint(said) or _has_sql_word(text) or _has_long_token(text)


def _has_sql_word(text: str) -> bool:
    return ("E" in text or "DROP" in text) and any(word in text for word in _SQL_WORDS)  # each has one of these


def _looks_exact(piece: str) -> bool:
    """The costly check after a cheaper one: long words of plain letters are not secrets."""
    if "{" in piece or "[" in piece or _has_sql_word(piece) or inline.SECRET_WORDS.search(piece):
        return any(span.kind in _EXACT_INLINE for span in protected_spans(piece))
    return _has_long_token(piece) and any(span.kind in _EXACT_INLINE for span in inline.tokens(piece))


def _has_long_token(text: str) -> bool:
    """Whether a word is as long as a secret and has more than letters."""
    if text.isascii() and _LONG_RUN not in text.encode().translate(_SOLID):
        return False
    return any(len(word) >= _LONG_TOKEN and not word.strip(_MARKS).isalpha() for word in text.split())


def sift(reads: Sequence[Read], share: float, *, at_least_one: bool = False, keep_figures: bool = False) -> list[str]:
    """The kept part of each text, in whole sentences: about `share` of all characters, not counting blocks.

    Blocks, standing orders and possible secrets are kept at any cost.

    Args:
        share: 0 to 1.
        at_least_one: keep one sentence even if the share has no room for it.
        keep_figures: keep of each text a sentence for every figure, identifier, version, path and URL in it, whatever they take;
            a sentence that another text of `reads` says word for word is kept there alone.
    """
    places = [(i, j) for i, one in enumerate(reads) for j, s in enumerate(one.sentences) if s is not None]
    noted = [s for one in reads for s in one.sentences if s is not None]
    again = _repeats([span.of(one.text).strip() for one in reads for span, s in zip(one.spans, one.sentences, strict=True) if s])
    centre = _centres([note for k, note in enumerate(noted) if k not in again] if again else noted, noted)
    weights = _fact_weights(reads)
    pieces = [_piece(reads[i], j, note, centre[k]) for k, ((i, j), note) in enumerate(zip(places, noted, strict=True))]
    kept: list[set[int]] = [_fixed_sentences(one) for one in reads]
    size = sum([piece.cost for piece in pieces])
    left = int(share * size) - sum([piece.cost for piece, (i, j) in zip(pieces, places, strict=True) if j in kept[i]])
    free = [k for k, (i, j) in enumerate(places) if j not in kept[i] and k not in again]
    chosen = cover([pieces[k] for k in free], weights, left, _needs(reads, places, free))
    if at_least_one and not chosen and not any(kept) and free:
        chosen = [max(range(len(free)), key=lambda n: (pieces[free[n]].base + _BY_FACT * len(pieces[free[n]].facts), -n))]
    for n in chosen:
        i, j = places[free[n]]
        kept[i] |= reads[i].parts.with_needs(j)
    _keep_objections(reads, kept)
    if keep_figures:
        repeated: defaultdict[int, set[int]] = defaultdict(set)
        for i, j in map(places.__getitem__, again):
            repeated[i].add(j)
        for i, one in enumerate(reads):
            for j in _figure_sentences(one, kept[i], repeated[i]):
                kept[i] |= one.parts.with_needs(j)
    return [join(one.text, one.spans, chosen) if chosen else "" for one, chosen in zip(reads, kept, strict=True)]


def _keep_objections(reads: Sequence[Read], kept: Sequence[set[int]]) -> None:
    """Keeps "No, it wasn't." where something of the two messages before it is kept; at the beginning, in any case."""
    for i, one in enumerate(reads):
        near = kept[max(0, i - _OBJECTED) : i]
        if (len(near) < _OBJECTED or any(near)) and one.objects:
            kept[i] |= one.parts.with_needs(0)


def _figure_sentences(one: Read, kept: Set[int], repeated: Set[int]) -> set[int]:
    """Sentences that are needed beside the kept ones so that every figure of a text is said; the richest are taken first."""
    held = {j: found for j, found in one.figures.items() if j not in repeated} if repeated else one.figures
    if held.keys() <= kept:
        return set()
    said = {figure for j in kept for figure in held.get(j, ())}
    wanted: set[int] = set()
    for j in sorted(held.keys() - kept, key=lambda j: (-len(held[j]), j)):
        if not said.issuperset(held[j]):
            wanted.add(j)
            said.update(held[j])
    return wanted


def _needs(reads: Sequence[Read], places: Sequence[tuple[int, int]], free: Sequence[int]) -> list[list[int]]:
    """For each free piece the other free ones that it needs."""
    at = {places[k]: n for n, k in enumerate(free)}
    return [
        [at[i, other] for other in sorted(reads[i].parts.with_needs(j)) if other != j and (i, other) in at]
        if reads[i].parts.needs[j]
        else []
        for i, j in (places[k] for k in free)
    ]


def _fixed_sentences(one: Read) -> set[int]:
    """Sentences that are kept in any case: blocks, musts, and prose beside a block that is too short to cut."""
    fixed = {j for j, s in enumerate(one.sentences) if s is None or s.must}
    if one.has_blocks:
        run: list[int] = []
        for j, s in enumerate([*one.sentences, None]):
            if s is not None:
                run.append(j)
                continue
            if run and one.spans[run[-1]].end - one.spans[run[0]].start < _LEAST_GAP:
                fixed.update(run)
            run = []
    return one.parts.complete(fixed)


def _piece(one: Read, j: int, note: _Sentence, centre: float) -> CoverageItem:
    span = one.parts.spans[j]
    says = len(note.words) >= _SHORT or bool(note.facts) or note.signal > 0 or span.kind == "heading"
    says = says and span.kind != "label"
    base = 0.03 + _BY_PLACE * (j == 0) + _BY_SIGNAL * note.signal + _BY_CENTRE * centre
    cost = 1 + (span.end - span.start) // 4
    # By the root of its length: per token the shortest sentences would win, and each of them needs a mark and a name beside it.
    factor = _ROLE_WORTH.get(one.role, 1.0) * math.sqrt(cost + 3) if says else 0.0
    return CoverageItem(cost, base, factor, note.facts)


def _repeats(said: Sequence[str]) -> set[int]:
    """Sentences that repeat an earlier one word for word."""
    first: dict[str, int] = {}
    return {k for k, text in enumerate(said) if first.setdefault(text, k) != k}


def _centres(distinct: Sequence[_Sentence], noted: Sequence[_Sentence]) -> list[float]:
    """How central each sentence is to the run, from 0 to 1."""
    times = Counter(chain.from_iterable([note.words for note in distinct]))
    # What a tenth of all sentences have is grammar: weight falls again above that.
    weight = defaultdict(float, {word: math.log(n) / (1 + 10 * n / len(distinct)) for word, n in times.items() if n > 1})
    sums = [sum(map(weight.__getitem__, note.words)) / (len(note.words) + 4) for note in noted]
    top = max(sums, default=0.0)
    return [round(value / top, 6) for value in sums] if top else [0.0] * len(sums)


def _fact_weights(reads: Sequence[Read]) -> dict[str, float]:
    """Worth of a name or figure: higher if several messages contain it, lower again if most do (the speakers' own names)."""
    times = Counter(fact for one in reads for fact in {f: 0 for s in one.sentences if s is not None for f in s.facts})
    return {fact: _BY_FACT * (1 + min(1.0, 0.3 * (n - 1))) / (1 + 8 * max(0, n - 2) / len(reads)) for fact, n in times.items()}

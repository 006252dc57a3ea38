"""Which sentences of one message, or of a run of them, are worth keeping.

Lives here: reading a text into rated sentences, and choosing a share of them. Does not belong here: other kinds of content
(``registry``), writing messages, rewording (every sentence is the text's own).

A run's sentences are chosen for the run as a whole: names and figures count once, so a second sentence with the same content adds
little (``coverage``). The choice depends only on the run, not on what comes before or after.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, filterfalse
from typing import Final

from turnfold.compression.scorers.terms import STOP, terms
from turnfold.compression.shorten.coverage import CoverageItem, cover
from turnfold.compression.shorten.prose import TELLS, has_order, join
from turnfold.compression.text import inline
from turnfold.compression.text.figures import figures_by_span
from turnfold.compression.text.heard import HeardWords
from turnfold.compression.text.lower import lower_text, words
from turnfold.compression.text.orders import may_be_orders
from turnfold.compression.text.protect import protected_spans
from turnfold.compression.text.signals import signal_weights
from turnfold.compression.text.spans import Span
from turnfold.compression.text.statements import Statements, heard_statements, objects

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
_NONE: Final[Set[int]] = frozenset()
_LEAST_GAP: Final = 80  # characters: prose beside a block that is shorter stays
_ROLE_WORTH: Final = {"user": 1.2}
_BY_PLACE, _BY_SIGNAL, _BY_CENTRE, _BY_FACT = 0.1, 1.1, 0.3, 0.4


@dataclass(frozen=True)
class Read:
    """A text cut into rated sentences. What is noted of them stands in a few columns by their indices, in plain tuples: objects
    for each, or lists, are what the garbage collector visits again and again.

    Attributes:
        blocks: those that are kept unchanged; nothing else is noted of them.
        must: those that have to be kept.
        signals, facts: of the sentences that have any.
        words, ends: the distinct words of all sentences in order, and where those of each end.
    """

    text: str
    role: str
    parts: Statements
    blocks: Set[int]
    must: Set[int]
    signals: Mapping[int, float]
    facts: Mapping[int, tuple[str, ...]]
    words: Sequence[str]
    ends: Sequence[int]

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
        return bool(self.blocks)

    @property
    def musts(self) -> list[str]:
        """Sentences that must survive rewording: standing orders and secrets."""
        return [self.spans[j].of(self.text).strip() for j in sorted(self.must)]


def read(text: str, role: str) -> Read:
    """Cut a text into sentences and rate them; linear."""
    parts, said = heard_statements(text)
    spans = parts.spans
    blocks = frozenset([j for j, span in enumerate(spans) if span.kind in EXACT])
    heard = HeardWords(said)
    asked = may_be_orders(text, heard) if role in TELLS else ()
    must = {j for j in asked if j not in blocks and has_order(spans[j].of(text), said[j], parts.sizes[j])}
    if _may_hold_exact(text, heard.distinct):
        must.update(j for j, span in enumerate(spans) if j not in blocks and holds_exact(span.of(text), said[j]))
    signals, facts = signal_weights(text, spans, heard), _facts(text, spans)
    if blocks:
        signals = {j: weight for j, weight in signals.items() if j not in blocks}
        facts = {j: found for j, found in facts.items() if j not in blocks}
    bag: list[str] = []
    ends: list[int] = []
    plain = text.isascii()
    for span, one in zip(spans, said, strict=True):
        run_on = not plain and span.kind not in EXACT and _is_run_on(span.of(text), one)
        bag += dict.fromkeys(terms(span.of(text)) if run_on else filterfalse(_is_stop, one))
        ends.append(len(bag))
    return Read(text, role, parts, blocks or _NONE, frozenset(must) or _NONE, signals, facts, tuple(bag), tuple(ends))


def _is_run_on(piece: str, said: Sequence[str]) -> bool:
    """Whether a piece is in a script without blanks between words: it has few for its size."""
    return not piece.isascii() and len(said) < len(piece) // 12


def _facts(text: str, spans: Sequence[Span]) -> dict[int, tuple[str, ...]]:
    """By the index of a span, where it has any, the names and figures in it, each once."""
    if not text.isascii() or "`" in text or "http" in text:
        found = ((j, _facts_of(span.of(text))) for j, span in enumerate(spans))
    else:  # plain spans without digits and inner capitals have none
        signs = text.encode().translate(_FACT_SIGNS)
        found = (
            (j, _facts_of(text[start:end]))
            for j, (start, end, _) in enumerate(spans)
            if signs.find(b"A", start + 1, end) >= 0 or signs.find(b"0", start, end) >= 0
        )
    return {j: facts for j, facts in found if facts}


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
    again = _repeats(reads)
    weights = _fact_weights(reads)
    pieces = _pieces(reads, _centres(reads, again))
    first = list(accumulate([len(one.spans) for one in reads], initial=0))
    kept: list[set[int]] = [_fixed_sentences(one) for one in reads]
    size = sum([piece.cost for piece in pieces]) - sum(
        [pieces[n + j].cost for n, one in zip(first, reads, strict=False) for j in one.blocks]
    )
    left = int(share * size) - sum(
        [pieces[n + j].cost for n, some, one in zip(first, kept, reads, strict=False) for j in some - one.blocks]
    )
    places = [(i, j) for i, one in enumerate(reads) for j in range(len(one.spans)) if j not in kept[i] and j not in again[i]]
    free = [pieces[first[i] + j] for i, j in places]
    chosen = cover(free, weights, left, _needs(reads, places))
    if at_least_one and not chosen and not any(kept) and free:
        chosen = [max(range(len(free)), key=lambda n: (free[n].base + _BY_FACT * len(free[n].facts), -n))]
    for i, j in map(places.__getitem__, chosen):
        kept[i] |= reads[i].parts.with_needs(j)
    _keep_objections(reads, kept)
    if keep_figures:
        for one, some, repeated in zip(reads, kept, again, strict=True):
            for j in _figure_sentences(one, some, repeated):
                some.update(one.parts.with_needs(j))
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


def _needs(reads: Sequence[Read], places: Sequence[tuple[int, int]]) -> list[Sequence[int]]:
    """For each free piece the other free ones that it needs."""
    at = {place: n for n, place in enumerate(places)}
    found: list[Sequence[int]] = [()] * len(places)
    for n, (i, j) in enumerate(places):
        parts = reads[i].parts
        if needed := parts.needs[j]:
            others = needed if len(needed) == 1 and not parts.needs[needed[0]] else sorted(parts.with_needs(j))
            found[n] = [at[i, other] for other in others if other != j and (i, other) in at]
    return found


def _fixed_sentences(one: Read) -> set[int]:
    """Sentences that are kept in any case: blocks, musts, and prose beside a block that is too short to cut."""
    fixed = {*one.blocks, *one.must}
    if not fixed:
        return fixed
    if one.has_blocks:
        run: list[int] = []
        for j in range(len(one.spans) + 1):
            if j < len(one.spans) and j not in one.blocks:
                run.append(j)
                continue
            if run and one.spans[run[-1]].end - one.spans[run[0]].start < _LEAST_GAP:
                fixed.update(run)
            run = []
    return one.parts.complete(fixed)


def _pieces(reads: Sequence[Read], centres: Sequence[float]) -> list[CoverageItem]:
    """What each sentence costs and is worth; what stands for a block is never asked."""
    found: list[CoverageItem] = []
    centre = iter(centres)
    for one in reads:
        role = _ROLE_WORTH.get(one.role, 1.0)
        signals, facts, begun = one.signals, one.facts, 0
        for j, ((start, end, kind), last) in enumerate(zip(one.spans, one.ends, strict=True)):
            said = last - begun >= _SHORT or j in facts or j in signals or kind == "heading"
            begun = last
            base = 0.03 + _BY_PLACE * (j == 0) + _BY_SIGNAL * signals.get(j, 0.0) + _BY_CENTRE * next(centre)
            cost = 1 + (end - start) // 4
            # By the root of its length: per token the shortest sentences would win, and each of them needs a mark and a name
            # beside it.
            factor = role * math.sqrt(cost + 3) if said and kind != "label" else 0.0
            found.append(CoverageItem(cost, base, factor, facts.get(j, ())))
    return found


def _repeats(reads: Sequence[Read]) -> list[set[int]]:
    """Of each text the sentences that repeat an earlier one, of any text, word for word."""
    seen: set[str] = set()
    found: list[set[int]] = []
    for one in reads:
        text, again = one.text, set()
        for j, (start, end, _) in enumerate(one.spans):
            if j in one.blocks:
                continue
            said = text[start:end].strip()
            if said in seen:
                again.add(j)
            else:
                seen.add(said)
        found.append(again)
    return found


def _centres(reads: Sequence[Read], again: Sequence[Set[int]]) -> list[float]:
    """How central each sentence is to the run, from 0 to 1; repeated ones do not count."""
    times = Counter(chain.from_iterable([one.words for one in reads]))
    distinct = sum([len(one.spans) - len(one.blocks) - len(some) for one, some in zip(reads, again, strict=True)])
    for one, some in zip(reads, again, strict=True):
        for j in some:
            times.subtract(one.words[one.ends[j - 1] if j else 0 : one.ends[j]])
    # What a tenth of all sentences have is grammar: weight falls again above that.
    weight = {word: math.log(n) / (1 + 10 * n / distinct) if n > 1 else 0.0 for word, n in times.items()}
    sums: list[float] = []
    for one in reads:
        weights = list(map(weight.__getitem__, one.words))
        begun = 0
        for end in one.ends:
            sums.append(math.fsum(weights[begun:end]) / (end - begun + 4))
            begun = end
    top = max(sums, default=0.0)
    return [round(value / top, 6) for value in sums] if top else [0.0] * len(sums)


def _fact_weights(reads: Sequence[Read]) -> dict[str, float]:
    """Worth of a name or figure: higher if several messages contain it, lower again if most do (the speakers' own names)."""
    times = Counter(chain.from_iterable([dict.fromkeys(chain.from_iterable(one.facts.values())) for one in reads]))
    return {fact: _BY_FACT * (1 + min(1.0, 0.3 * (n - 1))) / (1 + 8 * max(0, n - 2) / len(reads)) for fact, n in times.items()}

"""The passages of a conversation with their terms, side by side.

Lives here: what is derived from messages before any question is asked, memoised by message. Does not belong here: questions,
scores.

A conversation of 100,000 tokens has some 3,000 passages. They are processed in one batch, because numpy's cost is per call and
not per element.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from typing import Any, Final, TypeVar, cast

import numpy as np
import numpy.typing as npt

from turnfold.compression.memo import Memo
from turnfold.compression.scorers.bm25 import Field, FieldIndex, Hashes, mean_length
from turnfold.compression.text import words
from turnfold.compression.text.passages import estimate, passages
from turnfold.compression.text.quotes import Quotable, Quote

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
T = TypeVar("T")

# "[27 March 2023, 10:14]" in front of a message: holds for the messages after it too, until the next one.
_STAMP: Final = re.compile(r"\s*\[([^\]\n]{4,60})\]")
# "Anna: " in front of a message: who speaks.
_SPEAKER: Final = re.compile(r"\s{0,4}([^\W\d_][\w.' -]{0,40})[:：]\s")
_TITLE: Final = 60  # characters of a paragraph's beginning that stand for its title
_QUESTION_MARKS: Final = ("?", "？", "؟")


@dataclass(frozen=True)
class Leaf:
    """What is known of one message.

    Attributes:
        spans: its passages.
        language: as the stemmer names it.
        words, grams: terms by passage.
        heads: terms of the speaker's label, or of the title that the passage stands under.
        blocks: for each passage the first passage of its paragraph.
        costs: estimated tokens of each passage.
        asking: whether the passage ends with a question mark.
        stamp: terms of a bracketed header such as a date.
    """

    spans: tuple[tuple[int, int], ...]
    language: str
    words: Field
    grams: Field
    heads: Field
    blocks: Ints
    costs: Floats
    asking: npt.NDArray[np.bool_]
    stamp: Hashes

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return 600 + 4 * (len(self.words.terms) + len(self.grams.terms) + len(self.heads.terms)) + 160 * len(self.spans)


@dataclass(frozen=True)
class PassageIndex:
    """All passages of the sources in order; one entry a passage where nothing else is said.

    Attributes:
        sources: what it was made of.
        keys: those of the sources.
        quotes: the passages themselves.
        languages: those that occur, sorted.
        words, grams, heads: where the terms of :class:`Leaf` occur.
        said: the terms of `words` in order.
        stamps: where terms of the header in force occur, by source.
        stamp: the header in force behind the last source.
        stamped: whether a source has a header of its own, by source.
        blocks: number of the passage with which the paragraph begins.
        source_of: number of the source.
        whole: whether the passage is a message of its own.
    """

    sources: tuple[Quotable, ...]
    keys: tuple[bytes, ...]
    quotes: tuple[Quote, ...]
    languages: tuple[str, ...]
    words: FieldIndex
    grams: FieldIndex
    heads: FieldIndex
    said: Field
    stamps: FieldIndex
    stamp: Hashes
    stamped: npt.NDArray[np.bool_]
    blocks: Ints
    costs: Floats
    asking: npt.NDArray[np.bool_]
    source_of: Ints
    whole: npt.NDArray[np.bool_]
    _derived: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)

    def derived(self, key: Hashable, make: Callable[[], T]) -> T:
        """What somebody derives from it, made once."""
        if key not in self._derived:
            self._derived[key] = make()
        return cast(T, self._derived[key])

    @cached_property
    def days(self) -> Ints:
        """How many headers begin another day, or another sitting, up to each source. Where headers stand in front of most
        messages, as in an exported chat, none begins anything."""
        stamped = self.stamped.astype(np.int64)
        return np.cumsum(stamped if 4 * stamped.sum() <= len(stamped) else np.zeros_like(stamped))

    @cached_property
    def block_lengths(self) -> Ints:
        """Words of the paragraph that begins with each passage; 0 where none does."""
        return np.bincount(self.blocks, self.words.lengths, len(self.quotes)).astype(np.int64)

    @cached_property
    def mean_block_length(self) -> float:
        """Words of a paragraph that has any, on average."""
        return mean_length(self.block_lengths)

    @cached_property
    def has_speakers(self) -> bool:
        """Whether at least half of the messages say at their beginning who speaks."""
        labelled = int(np.count_nonzero(self.whole & (self.heads.lengths > 0)))
        return 2 * labelled >= max(4, len(self.keys))

    @cached_property
    def characters(self) -> Ints:
        """Characters of each passage."""
        return np.array([end - start for _, start, end in self.quotes], np.int64)

    @cached_property
    def median_source(self) -> float:
        """Estimated tokens of a source: the median."""
        return float(np.median(np.bincount(self.source_of, self.costs)))

    @property
    def size(self) -> int:
        """About how many bytes it takes: postings, terms, and what is kept of each passage, quoted lines included."""
        postings = sum(field.nbytes for field in (self.words, self.grams, self.heads, self.stamps))
        return 600 + postings + self.said.terms.nbytes + 760 * len(self.quotes) + 2 * int(self.characters.sum())

    @property
    def most_lines(self) -> int:
        """How many lines with quotes are kept: a message of several passages may be quoted in many ways."""
        return len(self.quotes) + 1000


_KEPT: Final = 2  # indices of one conversation: under a budget its parts are tried in more than one way


def build(sources: Sequence[Quotable], memo: Memo) -> PassageIndex:
    """The index of the sources; those that an earlier index begins with cost next to nothing."""
    family = (b"recall.index", *[s.key for s in sources[:4]])
    kept: tuple[PassageIndex, ...] = memo.find(family) or ()
    found = next((index for index in kept if index.sources is sources), None)
    if found is not None:
        return found
    keys = tuple([s.key for s in sources])
    found = next((index for index in kept if index.keys == keys), None)
    if found is None:
        beginnings = [index for index in kept if index.keys == keys[: len(index.keys)]]
        known = max(beginnings, key=lambda index: len(index.keys), default=None)
        found = _join(tuple(sources), keys, _leaves(sources[len(known.keys) if known else 0 :], memo), known)
        others = (index for index in kept if index is not known)
        memo.put(family, (found, *others)[:_KEPT], lambda indices: sum(index.size for index in indices))
    return found


def _leaves(sources: Sequence[Quotable], memo: Memo) -> list[Leaf]:
    batch: dict[bytes, Leaf] = {}

    def leaf_at(position: int) -> Leaf:
        # What is new stands behind what is known, so the first miss makes all from there on in one batch.
        if not batch:
            new = sources[position:]
            batch.update(zip((s.key for s in new), _make_leaves([s.text for s in new]), strict=True))
        return batch[sources[position].key]

    return [memo.get((b"recall.leaf", s.key), partial(leaf_at, i), lambda leaf: leaf.size) for i, s in enumerate(sources)]


def _make_leaves(texts: Sequence[str]) -> list[Leaf]:
    spans = [passages(text) for text in texts]
    folded = [[words.fold(text[a:b]) for a, b in ranges] for text, ranges in zip(texts, spans, strict=True)]
    identifiers: dict[str, list[str]] = {}
    found = [[words.words(f, identifiers) for f in parts] for parts in folded]
    heard = [set().union(*parts) for parts in found]
    languages = [words.language(each) for each in heard]
    titles = [_titles(text, ranges) for text, ranges in zip(texts, spans, strict=True)]
    heads = [[words.fold(title) for title in parts] for parts, _ in titles]
    named = [_title_words(parts, identifiers) for parts in heads]
    stamped = [words.words(words.fold(stamp.group(1))) if (stamp := _STAMP.match(text)) else [] for text in texts]
    terms = _content_terms(languages, (each.union(*parts) for each, parts in zip(heard, named, strict=True)))
    stamp_terms = [words.stem_table(stamp, name) if stamp else {} for stamp, name in zip(stamped, languages, strict=True)]
    gram_fields = _split(words.grams([f for parts in folded for f in parts]), [len(parts) for parts in folded])
    return [
        Leaf(
            tuple(spans[i]),
            languages[i],
            _field(terms[languages[i]], found[i], folded[i]),
            gram_fields[i],
            _field(terms[languages[i]], named[i], heads[i]),
            np.array(titles[i][1], np.int64),
            np.array([estimate(text[a:b]) for a, b in spans[i]]),
            np.array([text.endswith(_QUESTION_MARKS, a, b) for a, b in spans[i]], bool),
            np.array([stamp_terms[i][w] for w in stamped[i]], np.uint32),
        )
        for i, text in enumerate(texts)
    ]


def _titles(text: str, ranges: Sequence[tuple[int, int]]) -> tuple[list[str], list[int]]:
    """For each passage its title or speaker, and the first passage of its paragraph."""
    titles: list[str] = []
    blocks: list[int] = []
    if len(ranges) == 1:
        start = stamp.end() if (stamp := _STAMP.match(text)) else 0
        speaker = _SPEAKER.match(text, start)
        return [speaker.group(1) if speaker else ""], [0]
    for i, (start, end) in enumerate(ranges):
        goes_on = i > 0 and "\n" not in text[ranges[i - 1][1] : start]
        titles.append(titles[-1] if goes_on else text[start : min(end, start + _TITLE)])
        blocks.append(blocks[-1] if goes_on else i)
    return titles, blocks


def _title_words(titles: Sequence[str], identifiers: dict[str, list[str]]) -> list[list[str]]:
    known = {title: words.words(title, identifiers) for title in dict.fromkeys(titles)}
    return [known[title] for title in titles]


def _content_terms(languages: Sequence[str], heard: Iterable[Set[str]]) -> dict[str, dict[str, int]]:
    """The term of every word that can tell what a text is about, by language; all words of a language are stemmed at once."""
    distinct: dict[str, set[str]] = {name: set() for name in languages}
    for name, each in zip(languages, heard, strict=True):
        distinct[name] |= each
    return {name: words.stem_table(words.content(each, name), name) for name, each in distinct.items()}


def _field(terms: dict[str, int], found: Sequence[Sequence[str]], folded: Sequence[str]) -> Field:
    told = [[terms[w] for w in ws if w in terms] for ws in found]
    if not any(map(words.has_pairs, folded)):
        lengths = np.fromiter(map(len, told), np.int64, len(told))
        return Field(np.fromiter(chain.from_iterable(told), np.uint32), lengths)
    arrays = [np.concatenate([np.array(ts, np.uint32), words.run_on_terms(f)]) for ts, f in zip(told, folded, strict=True)]
    return Field(np.concatenate(arrays), np.array([len(a) for a in arrays], np.int64))


def _split(grams: tuple[Hashes, Ints], passage_counts: Sequence[int]) -> list[Field]:
    hashes, lengths = grams
    at = np.cumsum(passage_counts)[:-1]
    by_source = np.split(lengths, at)
    cuts = np.cumsum([int(part.sum()) for part in by_source])[:-1]
    return [Field(terms, part) for terms, part in zip(np.split(hashes, cuts), by_source, strict=True)]


def _fields_joined(fields: Sequence[Field]) -> Field:
    return Field(np.concatenate([f.terms for f in fields]), np.concatenate([f.lengths for f in fields]))


def _stamps_in_force(last: Hashes, stamps: Sequence[Hashes]) -> list[Hashes]:
    """The header in force in each source, after the last one of those before them."""
    return [last := stamp if len(stamp) else last for stamp in stamps]


def _join(
    sources: tuple[Quotable, ...], keys: tuple[bytes, ...], leaves: Sequence[Leaf], known: PassageIndex | None
) -> PassageIndex:
    """The index of what is known and of what stands behind it."""
    known = known or _EMPTY
    counts = np.array([len(leaf.spans) for leaf in leaves], np.int64)
    before, passages = len(known.keys), len(known.quotes)
    firsts = np.cumsum(counts) - counts
    number = np.repeat(np.arange(len(leaves)), counts)
    languages = {leaf.language for leaf in leaves if leaf.spans}.union(known.languages)
    stamps = _stamps_in_force(known.stamp, [leaf.stamp for leaf in leaves])
    words = _fields_joined([leaf.words for leaf in leaves])
    return PassageIndex(
        sources,
        keys,
        quotes=known.quotes + tuple(Quote(i, a, b) for i, leaf in enumerate(leaves, before) for a, b in leaf.spans),
        languages=tuple(sorted(languages)),
        words=known.words.continued(words),
        grams=known.grams.continued(_fields_joined([leaf.grams for leaf in leaves])),
        heads=known.heads.continued(_fields_joined([leaf.heads for leaf in leaves])),
        said=_fields_joined([known.said, words]),
        stamps=known.stamps.continued(Field(np.concatenate(stamps), np.array([len(s) for s in stamps], np.int64))),
        stamp=stamps[-1],
        stamped=np.append(known.stamped, [len(leaf.stamp) > 0 for leaf in leaves]),
        blocks=np.append(known.blocks, np.concatenate([leaf.blocks for leaf in leaves]) + firsts[number] + passages),
        costs=np.append(known.costs, np.concatenate([leaf.costs for leaf in leaves])),
        asking=np.append(known.asking, np.concatenate([leaf.asking for leaf in leaves])),
        source_of=np.append(known.source_of, number + before),
        whole=np.append(known.whole, counts[number] == 1),
        _derived={key: dict(value) for key, value in known._derived.items() if value.__class__ is dict},
    )


_NO_TERMS: Final = Field(np.zeros(0, np.uint32), np.zeros(0, np.int64))
_NO_FIELD: Final = FieldIndex(np.zeros(0, np.int64))
_NO_INTS: Final = np.zeros(0, np.int64)
_NO_BOOLS: Final = np.zeros(0, np.bool_)
_EMPTY: Final = PassageIndex(
    sources=(),
    keys=(),
    quotes=(),
    languages=(),
    words=_NO_FIELD,
    grams=_NO_FIELD,
    heads=_NO_FIELD,
    said=_NO_TERMS,
    stamps=_NO_FIELD,
    stamp=_NO_TERMS.terms,
    stamped=_NO_BOOLS,
    blocks=_NO_INTS,
    costs=np.zeros(0),
    asking=_NO_BOOLS,
    source_of=_NO_INTS,
    whole=_NO_BOOLS,
)

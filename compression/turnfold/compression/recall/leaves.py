"""Passages of messages and their terms, computed before any question is asked.

This module derives what follows from each message alone, memoised by message. Which passages contain a term is in
``passage_index``; there are no questions or scores here.

A conversation of 100,000 tokens has some 2,000 passages. Messages that come together are read side by side, because numpy's cost,
and that of a split into words, is per call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from turnfold.compression import lazy
from turnfold.compression.memo import Memo
from turnfold.compression.recall.meant.dates import with_times_and_dates
from turnfold.compression.scorers.bm25 import Field, Hashes, fields_joined
from turnfold.compression.text import words
from turnfold.compression.text.dialogue.turns import SPEAKER_LABEL
from turnfold.compression.text.escapes import with_breaks, with_letters
from turnfold.compression.text.passages import estimates, passages, turns
from turnfold.compression.text.quotes import Quotable
from turnfold.compression.text.records import record_starts
from turnfold.compression.text.spans import QUESTION_MARKS

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# "[27 March 2023, 10:14]" before a message: it also applies to the messages after it, until the next one.
_STAMP: Final = lazy.pattern(r"\s*\[([^\]\n]{4,60})\]")
_NAME_JOINT: Final = lazy.pattern(r"[\W_]+|(?<=[a-z])(?=[A-Z])")
_TITLE: Final = 60  # characters of a paragraph's beginning that serve as its title
_NO_TERMS: Final = np.zeros(0, np.uint32)


@dataclass(frozen=True)
class Leaves:
    """Data about messages, as parallel arrays with one entry for each passage unless stated otherwise.

    Attributes:
        counts: number of passages of each message.
        spans: the passages, as ranges of their messages.
        languages: by message, as named by the stemmer.
        words, grams: terms.
        heads: terms of the speaker's label, or of the title above the passage.
        blocks: the first passage of its paragraph or turn, counted within its message.
        spoken: whether it is a message, or (part of) a turn of a conversation within one.
        costs: estimated tokens.
        asking: whether the passage ends with a question mark.
        stamps: by message, terms of a bracketed header such as a date.
        speakers: by message, terms of the name given beside its text.
    """

    counts: Ints
    spans: tuple[tuple[int, int], ...]
    languages: tuple[str, ...]
    words: Field
    grams: Field
    heads: Field
    blocks: Ints
    spoken: npt.NDArray[np.bool_]
    costs: Floats
    asking: npt.NDArray[np.bool_]
    stamps: tuple[Hashes, ...]
    speakers: tuple[Hashes, ...]

    @property
    def size(self) -> int:
        """Approximate size of one message's data, in bytes."""
        terms = sum(len(field.terms) for field in (self.words, self.grams, self.heads))
        return 200 + (4 * terms + 160 * len(self.spans)) // len(self.counts)

    def part(self, start: int, stop: int) -> Leaves:
        """The data of the messages ``start..stop``."""
        if stop - start == len(self.counts):
            return self
        a, b = int(self.counts[:start].sum()), int(self.counts[:stop].sum())
        return Leaves(
            self.counts[start:stop],
            self.spans[a:b],
            self.languages[start:stop],
            self.words.part(a, b),
            self.grams.part(a, b),
            self.heads.part(a, b),
            self.blocks[a:b],
            self.spoken[a:b],
            self.costs[a:b],
            self.asking[a:b],
            self.stamps[start:stop],
            self.speakers[start:stop],
        )


class _Leaf(NamedTuple):
    """The data of one message: its position `at` within those that were read together."""

    leaves: Leaves
    at: int


def leaves_of(sources: Sequence[Quotable], memo: Memo) -> Leaves:
    """The data of some messages."""
    batch: dict[bytes, _Leaf] = {}

    def leaf_at(position: int) -> _Leaf:
        # New messages come after known ones, so the first miss reads all the rest in one batch.
        if not batch:
            new = sources[position:]
            made = _read([s.text for s in new], [s.name for s in new])
            batch.update({s.key: _Leaf(made, at) for at, s in enumerate(new)})
        return batch[sources[position].key]

    def weigh(leaf: _Leaf) -> int:
        return leaf.leaves.size

    return _joined(list(_runs([memo.get((b"recall.leaf", s.key), partial(leaf_at, i), weigh) for i, s in enumerate(sources)])))


def message_terms(source: Quotable, memo: Memo) -> frozenset[int]:
    """The terms of a whole message. For a few messages this is cheaper than ``leaves_of``."""

    def make() -> frozenset[int]:
        folded = _with_times_and_dates(words.fold(with_letters(with_breaks(source.text).strip())))
        said = dict.fromkeys(words.words(folded))
        language = words.language(said)
        terms = words.stem_table(words.content(said, language), language)
        return frozenset(terms.values()).union(words.run_on_terms(folded).tolist())

    return memo.get((b"recall.terms", source.key), make, lambda terms: 200 + 90 * len(terms))


def _runs(leaves: Sequence[_Leaf]) -> Iterator[Leaves]:
    """The data of messages, joined for those that were read one after the other."""
    begin = 0
    for i, (made, at) in enumerate(leaves, 1):
        if i == len(leaves) or leaves[i].leaves is not made or leaves[i].at != at + 1:
            yield made.part(leaves[begin].at, at + 1)
            begin = i


def _joined(runs: Sequence[Leaves]) -> Leaves:
    if len(runs) == 1:
        return runs[0]
    return Leaves(
        np.concatenate([run.counts for run in runs]),
        tuple(chain.from_iterable(run.spans for run in runs)),
        tuple(chain.from_iterable(run.languages for run in runs)),
        fields_joined([run.words for run in runs]),
        fields_joined([run.grams for run in runs]),
        fields_joined([run.heads for run in runs]),
        np.concatenate([run.blocks for run in runs]),
        np.concatenate([run.spoken for run in runs]),
        np.concatenate([run.costs for run in runs]),
        np.concatenate([run.asking for run in runs]),
        tuple(chain.from_iterable(run.stamps for run in runs)),
        tuple(chain.from_iterable(run.speakers for run in runs)),
    )


def _read(texts: Sequence[str], names: Sequence[str]) -> Leaves:
    texts = [*map(with_breaks, texts)]
    starts = [*map(turns, texts)]
    spans = [*map(passages, texts, starts)]
    counts = np.array([len(ranges) for ranges in spans], np.int64)
    places = [(text, a, b) for text, ranges in zip(texts, spans, strict=True) for a, b in ranges]
    folded = [words.fold(with_letters(text[a:b])) for text, a, b in places]
    titles = _titles(texts, spans, starts)
    languages, said, heads = _terms([*map(_with_times_and_dates, folded)], counts, titles)
    stamped = [words.words(with_times_and_dates(words.fold(m.group(1)))) if (m := _STAMP.match(text)) else [] for text in texts]
    return Leaves(
        counts,
        tuple([(a, b) for _, a, b in places]),
        languages,
        said,
        Field(*words.grams(folded)),
        heads.of_passages(titles.of_passage),
        np.array(titles.blocks, np.int64),
        np.array(titles.spoken, bool),
        np.array([cost for text, ranges in zip(texts, spans, strict=True) for cost in estimates(text, ranges)]),
        np.array([text.endswith(QUESTION_MARKS, a, b) for text, a, b in places], bool),
        tuple(map(_label_terms, stamped, languages)),
        tuple(map(_name_terms, names, languages)),
    )


def _with_times_and_dates(folded: str) -> str:
    """Add times and dates, except those of a header, which applies to more messages than its own."""
    stamp = _STAMP.match(folded)
    return with_times_and_dates(folded) if stamp is None else stamp[0] + with_times_and_dates(folded[stamp.end() :])


def _label_terms(label: Sequence[str], language: str) -> Hashes:
    if not label:
        return _NO_TERMS
    terms = words.stem_table(label, language)
    return np.array([terms[word] for word in label], np.uint32)


def spoken_name(name: str) -> str:
    """A speaker's name folded and split into words: on the wire, names have no spaces ("data_analyst", "Mara-Lind")."""
    return words.fold(_NAME_JOINT.sub(" ", name))


def _name_terms(name: str, language: str) -> Hashes:
    if not name:
        return _NO_TERMS
    folded = spoken_name(name)
    return np.concatenate([_label_terms(words.words(folded), language), words.run_on_terms(folded)])


class _Titles(NamedTuple):
    """Titles and speakers.

    Attributes:
        texts: the distinct ones of each message, folded.
        owners: number of the message.
        of_passage: for each passage the number of its title.
        blocks: for each passage the first passage of its paragraph, counted within its message.
        spoken: for each passage whether it is a message or belongs to a turn.
    """

    texts: list[str]
    owners: list[int]
    of_passage: list[int]
    blocks: list[int]
    spoken: list[bool]


def _titles(texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]], turns_of: Sequence[Sequence[int]]) -> _Titles:
    found = _Titles([], [], [], [], [])
    for number, (text, ranges, starts) in enumerate(zip(texts, spans, turns_of, strict=True)):
        titles, blocks = _speakers_of(text, ranges, starts) if starts and len(ranges) > 1 else _titles_of(text, ranges)
        place = {title: at for at, title in enumerate(dict.fromkeys(titles), len(found.texts))}
        found.texts.extend([words.fold(with_letters(title)) for title in place])
        found.owners.extend([number] * len(place))
        found.of_passage.extend([place[title] for title in titles])
        found.blocks.extend(blocks)
        found.spoken.extend([len(ranges) == 1 or bool(starts)] * len(ranges))
    return found


def _titles_of(text: str, ranges: Sequence[tuple[int, int]]) -> tuple[list[str], list[int]]:
    """For each passage, its title or speaker, and the first passage of its paragraph."""
    titles: list[str] = []
    blocks: list[int] = []
    if len(ranges) == 1:
        return [_speaker(text, 0)], [0]
    records = frozenset(record_starts(text))
    for i, (start, end) in enumerate(ranges):
        goes_on = i > 0 and start not in records and "\n" not in text[ranges[i - 1][1] : start]
        titles.append(titles[-1] if goes_on else text[start : min(end, start + _TITLE)])
        blocks.append(blocks[-1] if goes_on else i)
    return titles, blocks


def _speakers_of(text: str, ranges: Sequence[tuple[int, int]], starts: Sequence[int]) -> tuple[list[str], list[int]]:
    """For each passage, its speaker, and the first passage of the turn."""
    turn = np.searchsorted(starts, [start for start, _ in ranges], "right")
    first = np.searchsorted(turn, turn)
    speakers = {at: _speaker(text, ranges[at][0]) for at in set(first.tolist())}
    return [speakers[at] for at in first.tolist()], first.tolist()


def _speaker(text: str, at: int) -> str:
    start = stamp.end() if (stamp := _STAMP.match(text, at)) else at
    speaker = SPEAKER_LABEL.match(text, start)
    return speaker.group(1) if speaker else ""


def _terms(folded: Sequence[str], counts: Ints, titles: _Titles) -> tuple[tuple[str, ...], Field, Field]:
    """The languages of messages, and the terms of their folded passages and titles.

    Args:
        counts: number of passages of each message.
    """
    texts = [*folded, *titles.texts]
    said, lengths = words.words_of_all(texts)
    ends = np.cumsum([0, *lengths.tolist()])
    firsts = [0, *np.cumsum(counts).tolist(), *range(len(folded) + 1, len(texts) + 1)]
    borders = ends[firsts]  # of each message, then of each title
    number = {word: i for i, word in enumerate(dict.fromkeys(said))}
    numbers = np.fromiter(map(number.__getitem__, said), np.int64, len(said))
    languages = _languages(list(number), numbers, borders[: len(counts) + 1])
    speaking = [*languages, *[languages[owner] for owner in titles.owners]]
    terms = np.full(len(said), -1)
    for name in set(speaking):
        own = np.repeat([one == name for one in speaking], np.diff(borders))
        terms[own] = _term_table(number, numbers[own], name)[numbers[own]]
    content = terms >= 0
    lengths = np.diff(np.concatenate([[0], np.cumsum(content)])[ends])
    both = _with_pairs(Field(terms[content].astype(np.uint32), lengths), texts)
    return tuple(languages), both.part(0, len(folded)), both.part(len(folded), len(texts))


def _languages(distinct: Sequence[str], numbers: Ints, borders: Ints) -> list[str]:
    """The language of each message, determined by its function words."""
    telling = np.flatnonzero(np.array([words.is_function_word(word) for word in distinct], bool)[numbers])
    heard = [distinct[i] for i in numbers[telling].tolist()]
    return [words.language(heard[a:b]) for a, b in pairwise(telling.searchsorted(borders).tolist())]


def _term_table(number: Mapping[str, int], present: Ints, language: str) -> Ints:
    """The term of each word that occurs, by the word's number; -1 for words without meaning of their own.

    All words of a language are stemmed in one call.
    """
    distinct = list(number)
    occurring = [distinct[i] for i in np.flatnonzero(np.bincount(present, minlength=len(distinct))).tolist()]
    terms = words.stem_table(words.content(occurring, language), language)
    table = np.full(len(distinct), -1)
    table[[number[word] for word in terms]] = list(terms.values())
    return table


def _with_pairs(field: Field, folded: Sequence[str]) -> Field:
    """A field with the terms of scripts without spaces added after the words of each text."""
    dense = [i for i, text in enumerate(folded) if words.has_pairs(text)]
    if not dense:
        return field
    more = [words.run_on_terms(folded[i]) for i in dense]
    sizes = np.zeros(len(folded), np.int64)
    sizes[dense] = [len(terms) for terms in more]
    return Field(np.insert(field.terms, np.repeat(field.ends, sizes), np.concatenate(more)), field.lengths + sizes)

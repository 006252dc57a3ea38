"""The worth of each passage of folded messages for the current question.

This module scores passages for a question. Reading the question is up to ``question``, cutting and indexing to ``passage_index``,
choosing to ``choosing``, counting how many fit to ``quote_choice``, and rendering to ``fence``.

The score of a passage is BM25 over stems, with a share for its paragraph and for the title or speaker above it, plus a share of
BM25 over character n-grams. Words that stand side by side as in the question count once more. Neighbours lend to each other:
messages of a chat much, chunks of a document little. The words of the best passages extend the question (pseudo relevance
feedback, after Rocchio 1971). The names in them extend it once more: a second hop, from who wrote the book to where the writer
was born. Their identifiers lead on to the few passages that share them (``links``), and so do full names in documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import Final

import numpy as np

from turnfold.compression import lazy
from turnfold.compression.recall.greatest import best_places
from turnfold.compression.recall.leaves import spoken_name
from turnfold.compression.recall.links import linked, named_in_full
from turnfold.compression.recall.passage_index import Floats, Ints, PassageIndex
from turnfold.compression.recall.question import QuestionTerms, content_words
from turnfold.compression.recall.tuning import Tuning
from turnfold.compression.scorers.bm25 import Hits, Wanted, idf, presence, rarity, scores, wanted_terms
from turnfold.compression.scorers.proximity import proximity
from turnfold.compression.text import words
from turnfold.compression.text.quotes import Quotable

_MOST_GRAMS: Final = 400

Groups = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Terms:
    """Groups of equivalent terms, the weight of each, and where they occur in the passages and in the titles or labels above
    them.
    """

    groups: Groups
    wanted: Wanted
    weights: Floats
    hits: Hits
    heads: Hits

    @classmethod
    def asked(cls, question: QuestionTerms, index: PassageIndex) -> Terms:
        """The terms of a question."""
        wanted = wanted_terms(question.groups)
        hits, heads = index.words.find(wanted), index.heads.find(wanted)
        if question.kind_of:  # a document uses the word itself; elsewhere things of its kind occur by chance
            own = len(question.groups) - len(question.kind_of)
            hits, heads = (found.where((found.term < own) | index.spoken.take(found.passage)) for found in (hits, heads))
        return cls(question.groups, wanted, question.weights, hits, heads)


# ---------------------------------------------------------------- the score


def score(
    index: PassageIndex, sources: Sequence[Quotable], text: str, asked: Terms, tuning: Tuning, like: Floats | None = None
) -> Floats:
    """The worth of each passage to the question with the words `text`; 0 for passages unrelated to it.

    The similarity by sentence vectors (`like`, 0 to 1) is added to the score of the words first, so that neighbours, feedback and
    the second hop use both.
    """
    near = tuning.beside * proximity(index.said, asked.wanted, asked.hits, asked.weights)
    total = _normalise(_term_scores(index, asked, tuning) + near) + tuning.grams * _normalise(_gram_scores(index, text, tuning))
    if like is not None:
        total = total + tuning.likeness * like
    total = total * index.derived(("asking", tuning.asking), lambda: np.where(index.asking, tuning.asking, 1.0))
    first = _normalise(_lend(index, total, tuning))
    known = {term for group in asked.groups for term in group}
    feedback = _normalise(_term_scores(index, _feedback(index, first, known, tuning), tuning))
    hop = _normalise(_term_scores(index, _second_hop(index, sources, first, known, tuning), tuning))
    share = index.derived(("hop", tuning), lambda: np.where(index.spoken, tuning.hop_chat, tuning.hop_document))
    links = linked(index, sources, first, known, tuning)
    named = named_in_full(index, sources, first, known, tuning)
    total = total + tuning.feedback * feedback + share * hop + tuning.link * links + tuning.full_name * named
    return _with_regions(index, asked, _lend(index, total, tuning), tuning)


def _normalise(values: Floats) -> Floats:
    unit: Floats = values / (values.max(initial=0.0) or 1.0)
    return unit


def _term_scores(index: PassageIndex, terms: Terms, tuning: Tuning) -> Floats:
    weights, hits, heads = terms.weights, terms.hits, terms.heads
    value = idf(hits) * weights
    own = scores(hits, value, index.words.norms(tuning.k1, tuning.b), tuning.k1)
    total: Floats = own + tuning.paragraph * _paragraph_scores(index, hits, value, own, tuning)
    above = presence(heads, idf(heads) * weights) if len(heads.term) else None
    for field in (index.stamps, *((index.speakers,) if index.named.any() else ())):
        if len((found := field.find(terms.wanted)).term):
            beside = presence(found, idf(found) * weights).take(index.source_of)
            above = beside if above is None else above + beside
    return total if above is None else total + tuning.head * above


def _paragraph_scores(index: PassageIndex, hits: Hits, value: Floats, own: Floats, tuning: Tuning) -> Floats:
    """The worth of each passage's paragraph; `own` is the worth of the passages themselves.

    Sums are added term by term, although hits need not be in that order.
    """
    if index.is_chat:
        ordered = hits.ordered()
        return own if ordered is hits else scores(ordered, value, index.words.norms(tuning.k1, tuning.b), tuning.k1)
    by = index.block_norms(tuning.k1, tuning.b)
    return scores(hits.regroup(index.blocks), value, by, tuning.k1).take(index.blocks)


def _gram_scores(index: PassageIndex, text: str, tuning: Tuning) -> Floats:
    hashes, _ = words.grams([text[: 4 * _MOST_GRAMS]])
    distinct = np.fromiter(islice(dict.fromkeys(hashes.tolist()), _MOST_GRAMS), np.uint32)
    return index.grams.scores(distinct, tuning.k1, tuning.b)


def _lend(index: PassageIndex, values: Floats, tuning: Tuning) -> Floats:
    """Values with those lent by neighbours added."""
    total = values.copy()
    for distance, (share, forth) in enumerate(index.derived(("lend", tuning), lambda: _shares(index, tuning)), 1):
        total[distance:] += forth * values[:-distance]
        total[:-distance] += share * values[distance:]
    return total


def _shares(index: PassageIndex, tuning: Tuning) -> list[tuple[Floats, Floats]]:
    """For each distance, the shares that each passage lends to the one before it and to the one after it."""
    found = []
    for distance, shares in enumerate(zip_longest(tuning.chat, tuning.block, tuning.across, fillvalue=0.0), 1):
        if distance >= len(index.quotes):
            break
        chat, block, across = shares
        other = index.turns[distance:] != index.turns[:-distance]
        same = index.blocks[distance:] == index.blocks[:-distance]
        share = np.where(other, chat, np.where(same, block, across))
        asks = index.asking[:-distance] & other & (distance == 1)
        found.append((share, share * np.where(asks, tuning.answered, 1.0)))
    return found


_GRID: Final = 25  # tokens for each cell
_REGION_TERMS: Final = 24  # the heaviest words of a question


def _with_regions(index: PassageIndex, asked: Terms, values: Floats, tuning: Tuning) -> Floats:
    """Values with the worth of the region around each passage added.

    Many short messages say together what none says alone, so what answers a question on a meeting is a stretch of it: a Gaussian
    over the distance in tokens, which ends where a date stamp begins another day. A region is worth what its passages are, and
    what it has of the question's words as if it were one text (after Lv and Zhai 2009): one word again and again says less of it
    than several words do.
    """
    share = _region_share(index, tuning)
    if not share:
        return values
    cells, bell = index.derived(("regions", tuning), lambda: _cells(index, tuning))

    def around(worth: Floats, passages: Ints) -> Floats:
        spread: Floats = np.convolve(np.bincount(cells.take(passages), worth, int(cells[-1]) + 1), bell)[len(bell) // 2 :]
        return spread[: int(cells[-1]) + 1]

    value, hits = idf(asked.hits) * asked.weights, asked.hits
    said = np.zeros(int(cells[-1]) + 1)
    for term in best_places(value * (np.bincount(hits.term, minlength=hits.terms) > 0), _REGION_TERMS):
        passages = hits.passage[hits.term == term]
        often = around(np.ones(len(passages)), passages)
        said += value[term] * often / (often + 1)
    both = _normalise(around(values, np.arange(len(values)))) + tuning.region_words * _normalise(said)
    return _normalise(values) + share * both.take(cells)


def _cells(index: PassageIndex, tuning: Tuning) -> tuple[Ints, Floats]:
    """The cell of each passage, and the Gaussian over cells."""
    middles = np.cumsum(index.costs) - index.costs / 2 + 6 * tuning.region * index.days[index.source_of]
    reach = int(3 * tuning.region / _GRID)
    return (middles / _GRID).astype(np.int64), np.exp(-0.5 * (np.arange(-reach, reach + 1) * _GRID / tuning.region) ** 2)


def _region_share(index: PassageIndex, tuning: Tuning) -> float:
    """The weight of regions: the greater, the shorter the messages."""
    if int(index.turns[-1]) < tuning.region_least:
        return 0.0
    return float(np.clip((tuning.region_long - index.median_turn) / (tuning.region_long - tuning.region_short), 0.0, 1.0))


# "Anna Karenina: ...", or "## Anna Karenina" and "**Anna Karenina**" on a line above the text.
_TITLE: Final = lazy.pattern(r"[#*\s]{0,8}([^\n:：]{2,60})[:：\n]")


def named_factor(index: PassageIndex, sources: Sequence[Quotable], asked: Terms, tuning: Tuning, *, borrowed: bool) -> Floats:
    """The factor of each passage for the people or things that the question names.

    A question about Anna is answered by what Anna says rather than by what is said to her; in meetings the region counts, whoever
    speaks. A question about two films is answered by the first passage under their titles, which says what they are.
    """
    factor = np.ones(len(index.quotes))
    named = [group for group, weight in zip(asked.groups, asked.weights, strict=True) if weight >= 1.0]
    if borrowed or not named:
        return factor
    heads = asked.heads if len(named) == len(asked.groups) else index.heads.find(wanted_terms(named))
    if index.has_speakers:
        # Half of a label is enough: people say Anna for Anna Berg.
        says = 2 * np.bincount(heads.passage, minlength=len(factor)) >= np.maximum(index.heads.lengths, 1)
        if index.named.any():
            said = _said_names(index, {term for group in named for term in group})
            by_name = np.array([source.name in said for source in sources])
            says = np.where(index.named.take(index.source_of), by_name.take(index.source_of), says)
        if says.any():
            factor[~says] -= tuning.unnamed * (1 - _region_share(index, tuning))
        return factor
    terms = {term for group in named for term in group}
    known: dict[int, frozenset[int]] = index.derived("titles", dict)
    blocks = sorted(set(index.blocks[heads.passage].tolist()))
    for block in blocks:
        if block not in known:
            known[block] = _title(index, sources[index.quotes[block].source], block)
    factor[[block for block in blocks if (title := known[block]) and terms.issuperset(title)]] += tuning.titled
    return factor


def _said_names(index: PassageIndex, asked: set[int]) -> frozenset[str]:
    """The names beside texts that the question mentions.

    A name is mentioned in full, or by a half that is no part of another name ("critic_2", "critic_3").
    """
    known = index.derived("names", lambda: {name: _title_terms(spoken_name(name), index.languages) for name in index.names})
    whole = {name for name, terms in known.items() if terms and terms <= asked}
    covered = set(chain.from_iterable(known[name] for name in whole))
    half = {name for name, terms in known.items() if terms and 2 * len(terms & asked) >= len(terms) and terms & asked - covered}
    return frozenset(whole | half)


def _title(index: PassageIndex, source: Quotable, block: int) -> frozenset[int]:
    """The terms of the title of the paragraph that begins with a passage; empty if it has no title."""
    _, start, end = index.quotes[block]
    title = _TITLE.match(source.text, start, end)
    return _title_terms(words.fold(title.group(1)), index.languages) if title else frozenset()


def _title_terms(folded: str, languages: Sequence[str]) -> frozenset[int]:
    stems = [words.stem_table(content_words(folded), name).values() for name in languages]
    return frozenset(chain(words.run_on_terms(folded).tolist(), *stems))


def vector_likeness(index: PassageIndex, likeness: Sequence[bytes], tuning: Tuning) -> Floats | None:
    """The similarity of each passage to the question by sentence vectors, 0 to 1; None if they are of no use.

    Most passages are somewhat similar to any question, so only the most similar ones count. A passage without a vector is scored
    by its words alone.
    """
    counts = np.bincount(index.source_of, minlength=len(likeness)).tolist()
    parts = [found if len(found) == count else bytes(count) for found, count in zip(likeness, counts, strict=True)]
    known = np.repeat([len(found) == count for found, count in zip(likeness, counts, strict=True)], counts)
    if not known.any():
        return None
    cosines = np.frombuffer(b"".join(parts), np.int8).astype(np.float64)
    usual, most = float(np.percentile(cosines[known], tuning.usual_likeness)), float(cosines[known].max())
    like: Floats = np.where(known, np.clip((cosines - usual) / max(most - usual, 1.0), 0.0, 1.0), 0.0)
    return like


def _strongest(index: PassageIndex, found: Mapping[tuple[int, ...], float], number: int) -> Terms:
    """The found terms that are rare and occur in good passages."""
    groups = list(found)
    weights = np.array([found[g] for g in groups], dtype=np.float64)
    if any(len(group) > 1 for group in groups):
        hits = index.words.find(wanted_terms(groups))
        having = np.bincount(hits.term, minlength=hits.terms)
    else:
        hits, having = None, index.words.having(np.array([group[0] for group in groups], dtype=np.uint32))
    present = having > 0  # a function word occurs in no passage
    top = best_places(rarity(having, len(index.quotes)) * weights * present, min(number, int(present.sum())))
    if hits is None:  # hits come in the order of all groups: sums must not depend on it
        chosen = sorted(top)
        number_of = {term: place for place, term in enumerate(chosen)}
        kept = index.words.find(wanted_terms([groups[i] for i in chosen])).only([number_of[i] for i in top])
    else:
        kept = hits.only(top)
    best = [groups[i] for i in top]
    wanted = wanted_terms(best)
    return Terms(best, wanted, weights[top], kept, index.heads.find(wanted))


def _feedback(index: PassageIndex, worth: Floats, known: set[int], tuning: Tuning) -> Terms:
    found: dict[tuple[int, ...], float] = {}
    for i in best_places(worth, tuning.feedback_passages):
        for term in dict.fromkeys(index.said.of(i).tolist()):
            if term not in known:
                found[(term,)] = found.get((term,), 0.0) + float(worth[i])
    return _strongest(index, found, tuning.feedback_terms)


_NAME: Final = lazy.pattern(r"\b[^\W\d_a-z][\w’'-]*\w")


def _second_hop(index: PassageIndex, sources: Sequence[Quotable], worth: Floats, known: set[int], tuning: Tuning) -> Terms:
    value: dict[str, float] = {}
    for i in best_places(worth, tuning.hop_passages):
        quote = index.quotes[i]
        for name in dict.fromkeys(_NAME.findall(sources[quote.source].text, quote.start, quote.end)):
            word = words.fold(name)
            if name[0].isupper():
                value[word] = value.get(word, 0.0) + float(worth[i])
    by_language = [words.stem_table(value, name) for name in index.languages]
    found: dict[tuple[int, ...], float] = {}
    for word, weight in value.items():
        group = tuple(sorted({terms[word] for terms in by_language}))
        if known.isdisjoint(group):
            found[group] = found.get(group, 0.0) + weight
    return _strongest(index, _leading(index, found, tuning), tuning.hop_names)


def _leading(index: PassageIndex, found: Mapping[tuple[int, ...], float], tuning: Tuning) -> dict[tuple[int, ...], float]:
    """Names that lead to other passages. A name in much of a text leads everywhere, and so does a label that all of it bears."""
    terms = np.array([term for group in found for term in group], np.uint32)
    having = np.bincount(np.repeat(np.arange(len(found)), list(map(len, found))), index.words.having(terms), len(found))
    most = max(_FEW_NAMED, tuning.hop_most * len(index.quotes))
    return {group: weight for (group, weight), often in zip(found.items(), having.tolist(), strict=True) if often <= most}


_FEW_NAMED: Final = 10  # passages that any name may occur in

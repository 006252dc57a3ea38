"""Recall: the passages of folded messages that the current question needs, word for word.

Lives here: scoring passages for a question. Does not belong here: reading it (see ``question``), cutting and indexing (see
``passage_index``), how many of them fit (see ``quote_choice``), rendering (see ``fence``), where the result goes, whether recall
pays.

The score of a passage is BM25 over stems, with a share for its paragraph and for the title or speaker above it, plus a share of
BM25 over character n-grams. Neighbours lend to each other: messages of a chat much, chunks of a document little. The words of the
best passages extend the question (pseudo relevance feedback, after Rocchio 1971). The names in them extend it once more: a second
hop, from who wrote the book to where the writer was born.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import Final

import numpy as np

from turnfold.compression.memo import Memo
from turnfold.compression.recall import cover, passage_index
from turnfold.compression.recall.greatest import nth_greatest
from turnfold.compression.recall.leaves import spoken_name
from turnfold.compression.recall.passage_index import Floats, Ints, PassageIndex
from turnfold.compression.recall.question import Question, QuestionTerms, content_words, has_content, normal_text, read_question
from turnfold.compression.recall.quote_choice import Quoted, QuoteTokens, RankedQuotes, fence_tokens, fit_quotes
from turnfold.compression.recall.tuning import TUNING, Tuning
from turnfold.compression.scorers.bm25 import Hits, Wanted, idf, presence, rarity, scores, wanted_terms
from turnfold.compression.shorten.told import ToldRoom, told
from turnfold.compression.text import requests, words
from turnfold.compression.text.orders import begins_with_command
from turnfold.compression.text.picks import picks
from turnfold.compression.text.quotes import Quotable
from turnfold.compression.text.renewals import renewals
from turnfold.compression.tokens import ModelCounter, count_tail

_MOST_GRAMS: Final = 400

Groups = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Terms:
    """Groups of equivalent terms, what each weighs, and where they stand in the passages and in what stands above these."""

    groups: Groups
    wanted: Wanted
    weights: Floats
    hits: Hits
    heads: Hits

    @classmethod
    def asked(cls, question: QuestionTerms, index: PassageIndex) -> Terms:
        """Those of a question."""
        wanted = wanted_terms(question.groups)
        return cls(question.groups, wanted, question.weights, index.words.find(wanted), index.heads.find(wanted))


# ---------------------------------------------------------------- the score


def score(
    index: PassageIndex, sources: Sequence[Quotable], text: str, asked: Terms, tuning: Tuning, like: Floats | None = None
) -> Floats:
    """What each passage is worth to the question, `text` being its words; 0 where it has nothing to do with it.

    What sentence vectors say (`like`, 0 to 1) joins the words before anything is made of them, so that neighbours, feedback and
    the second hop follow both.
    """
    total = _normalise(_term_scores(index, asked, tuning)) + tuning.grams * _normalise(_gram_scores(index, text, tuning))
    if like is not None:
        total = total + tuning.likeness * like
    total = total * index.derived(("asking", tuning.asking), lambda: np.where(index.asking, tuning.asking, 1.0))
    first = _normalise(_lend(index, total, tuning))
    known = {term for group in asked.groups for term in group}
    feedback = _normalise(_term_scores(index, _feedback(index, first, known, tuning), tuning))
    hop = _normalise(_term_scores(index, _second_hop(index, sources, first, known, tuning), tuning))
    share = index.derived(("hop", tuning), lambda: np.where(index.spoken, tuning.hop_chat, tuning.hop_document))
    total = total + tuning.feedback * feedback + share * hop
    return _with_regions(index, _lend(index, total, tuning), tuning)


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
    """What the paragraph of each passage is worth, `own` being what the passages are.

    Sums are added term after term, in which order hits need not come.
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
    """Values with what neighbours lend."""
    total = values.copy()
    for distance, (share, forth) in enumerate(index.derived(("lend", tuning), lambda: _shares(index, tuning)), 1):
        total[distance:] += forth * values[:-distance]
        total[:-distance] += share * values[distance:]
    return total


def _shares(index: PassageIndex, tuning: Tuning) -> list[tuple[Floats, Floats]]:
    """By distance, what each passage lends to the one before it, and to the one behind it."""
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


_GRID: Final = 25  # tokens a cell


def _with_regions(index: PassageIndex, values: Floats, tuning: Tuning) -> Floats:
    """Values with what the region around each passage is worth.

    Many short messages say together what none says alone, so what answers a question on a meeting is a stretch of it: a Gaussian
    over the distance in tokens, which ends where a date stamp begins another day.
    """
    share = _region_share(index, tuning)
    if not share:
        return values
    cells, bell = index.derived(("regions", tuning), lambda: _cells(index, tuning))
    around = np.convolve(np.bincount(cells, values), bell)[len(bell) // 2 :]
    return _normalise(values) + share * _normalise(around[cells])


def _cells(index: PassageIndex, tuning: Tuning) -> tuple[Ints, Floats]:
    """In which cell each passage lies, and the Gaussian over cells."""
    middles = np.cumsum(index.costs) - index.costs / 2 + 6 * tuning.region * index.days[index.source_of]
    reach = int(3 * tuning.region / _GRID)
    return (middles / _GRID).astype(np.int64), np.exp(-0.5 * (np.arange(-reach, reach + 1) * _GRID / tuning.region) ** 2)


def _region_share(index: PassageIndex, tuning: Tuning) -> float:
    """How much regions count: the more, the shorter messages are."""
    if int(index.turns[-1]) < tuning.region_least:
        return 0.0
    return float(np.clip((tuning.region_long - index.median_turn) / (tuning.region_long - tuning.region_short), 0.0, 1.0))


# "Anna Karenina: ...", or "## Anna Karenina" and "**Anna Karenina**" on a line above the text.
_TITLE: Final = re.compile(r"[#*\s]{0,8}([^\n:：]{2,60})[:：\n]")


def _named(index: PassageIndex, sources: Sequence[Quotable], asked: Terms, tuning: Tuning, *, borrowed: bool) -> Floats:
    """The factor of each passage for whom or what the question names.

    A question on Anna is answered by what Anna says rather than by what is said to her; in meetings the region counts, whoever
    speaks. One on two films is answered by what stands first under their titles: it says what they are.
    """
    factor = np.ones(len(index.quotes))
    named = [group for group, weight in zip(asked.groups, asked.weights, strict=True) if weight >= 1.0]
    if borrowed or not named:
        return factor
    heads = asked.heads if len(named) == len(asked.groups) else index.heads.find(wanted_terms(named))
    if index.has_speakers:
        # Half of a label is enough: of Anna Berg one says Anna.
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
    """The names beside texts that are said: whole, or half of one that is no part of another one's ("critic_2", "critic_3")."""
    known = index.derived("names", lambda: {name: _title_terms(spoken_name(name), index.languages) for name in index.names})
    whole = {name for name, terms in known.items() if terms and terms <= asked}
    covered = set(chain.from_iterable(known[name] for name in whole))
    half = {name for name, terms in known.items() if terms and 2 * len(terms & asked) >= len(terms) and terms & asked - covered}
    return frozenset(whole | half)


def _title(index: PassageIndex, source: Quotable, block: int) -> frozenset[int]:
    """The terms of the title of the paragraph that begins with a passage; none where it has no title."""
    _, start, end = index.quotes[block]
    title = _TITLE.match(source.text, start, end)
    return _title_terms(words.fold(title.group(1)), index.languages) if title else frozenset()


def _title_terms(folded: str, languages: Sequence[str]) -> frozenset[int]:
    stems = [words.stem_table(content_words(folded), name).values() for name in languages]
    return frozenset(chain(words.run_on_terms(folded).tolist(), *stems))


def _like(index: PassageIndex, likeness: Sequence[bytes], tuning: Tuning) -> Floats | None:
    """What sentence vectors say of each passage, 0 to 1; None where they say nothing.

    Most passages are somewhat like any question, so only those most like it count. One of which nothing is known has its words.
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


def _best(values: Floats, number: int) -> list[int]:
    """Where the greatest values stand, the greatest first; of equal ones the first."""
    if 4 * number >= len(values):
        best: list[int] = np.argsort(-values, kind="stable")[:number].tolist()
        return best
    if number <= 0:
        return []
    least = nth_greatest(values, number)
    likely = np.flatnonzero(values >= least)
    return likely[np.argsort(-values[likely], kind="stable")[:number]].tolist()  # type: ignore[no-any-return]


def _strongest(index: PassageIndex, found: Mapping[tuple[int, ...], float], number: int) -> Terms:
    """Those of the found terms that are rare and stand in good passages."""
    groups = list(found)
    weights = np.array([found[g] for g in groups], dtype=np.float64)
    if any(len(group) > 1 for group in groups):
        hits = index.words.find(wanted_terms(groups))
        having = np.bincount(hits.term, minlength=hits.terms)
    else:
        hits, having = None, index.words.having(np.array([group[0] for group in groups], dtype=np.uint32))
    present = having > 0  # a function word is in no passage
    top = _best(rarity(having, len(index.quotes)) * weights * present, min(number, int(present.sum())))
    if hits is None:  # the order in which hits come is that of all groups: sums must not depend on it
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
    for i in _best(worth, tuning.feedback_passages):
        for term in dict.fromkeys(index.said.of(i).tolist()):
            if term not in known:
                found[(term,)] = found.get((term,), 0.0) + float(worth[i])
    return _strongest(index, found, tuning.feedback_terms)


_NAME: Final = re.compile(r"\b[^\W\d_a-z][\w’'-]*\w")


def _second_hop(index: PassageIndex, sources: Sequence[Quotable], worth: Floats, known: set[int], tuning: Tuning) -> Terms:
    value: dict[str, float] = {}
    for i in _best(worth, tuning.hop_passages):
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
    return _strongest(index, found, tuning.hop_names)


# ---------------------------------------------------------------- the choice


def recall(
    sources: Sequence[Quotable],
    question: Question,
    budget: int,
    present: Sequence[str],
    count: Callable[[str], int],
    memo: Memo,
    *,
    fill: bool = False,
    tuning: Tuning = TUNING,
) -> Quoted:
    """The passages of ``sources`` that bear on the question, as they are quoted.

    Args:
        sources: folded messages, oldest first.
        question: what is asked now.
        budget: tokens that the quotes in their fence may take at most.
        present: texts that the request holds already; a passage that is wholly in one of them is not quoted again.
        count: counts the tokens of a text.
        memo: keeps what is derived from the sources alone.
        fill: use the budget up as long as anything bears on the question at all, not only what clearly does.
        tuning: the figures of score and choice.
    """
    if budget <= fence_tokens(count) or not any(s.text.strip() for s in sources):
        return Quoted()
    index = passage_index.build(sources, memo)
    asked = read_question(question, index, tuning)
    terms = Terms.asked(asked, index)
    matched, alone = _coverage(terms)
    asks, room = normal_text(question), budget - fence_tokens(count)
    whole = requests.asks_for_whole(asks) and not has_content(requests.without_whole(asks))
    first = requests.asks_for_beginning(asks)
    covers_all = whole or requests.asks_for_all(asks)
    if whole or ((covers_all or requests.asks_for_cover(asks)) and matched < tuning.topical):
        ranking = cover.cover(index, sources, room, tuning)
        if covers_all:
            ranking = cover.users_first(ranking, index, sources, room)
    elif first and not has_content(requests.without_beginning(asks)):
        ranking = cover.beginning(RankedQuotes(_NOTHING, np.zeros(len(index.quotes))), sources, first, room)
    else:
        strength = matched * tuning.lone if alone and not asked.borrowed else matched
        floor = 0.0 if fill else _floor(strength, tuning, borrowed=asked.borrowed)
        if floor is None and not first:
            return Quoted()
        if not fill:
            budget = min(budget, max(tuning.room_least, int(budget * _room(strength, tuning, borrowed=asked.borrowed))))
        ranking = _ranked(index, sources, question, asked, terms, floor, tuning, memo)
        if first:
            ranking = cover.beginning(ranking, sources, first, room)
        elif fill and (begins_with_command(question.text[:_OPENING]) or strength < tuning.hinted):
            told_room = ToldRoom(int(tuning.told * room), 0, int(tuning.told * room / 2))
            ranking = cover.in_front(ranking, told(sources, told_room, count, memo))
    costs = QuoteTokens(sources, count, index, "\0".join(present), ranking.more)
    found = fit_quotes(ranking, budget, costs)
    if found.text and isinstance(count, ModelCounter):
        count_tail(found.text, dict(zip(count.vocabularies, found.counts, strict=True)), memo)
    return found


_OPENING: Final = 240  # characters of a message in which it begins with a command
_NOTHING: Final = np.zeros(0, np.int64)


def _ranked(
    index: PassageIndex,
    sources: Sequence[Quotable],
    question: Question,
    asked: QuestionTerms,
    terms: Terms,
    floor: float | None,
    tuning: Tuning,
    memo: Memo,
) -> RankedQuotes:
    """The passages that are worth more to the question than a share of the best one; none where the share is None."""
    worth = score(index, sources, asked.text, terms, tuning)
    least = np.inf if floor is None else floor * float(worth.max())
    named = _named(index, sources, terms, tuning, borrowed=asked.borrowed)
    worth = _renewed(index, sources, worth * named, memo)
    bears = worth > least
    like = _like(index, question.likeness, tuning) if question.likeness else None
    if like is not None and floor is not None:  # how many bear on it is for the words to say; vectors have a say in which
        number = len(worth) if floor == 0.0 else int(bears.sum())
        # Rounded, so that no machine's arithmetic changes the order.
        worth = np.round(_renewed(index, sources, score(index, sources, asked.text, terms, tuning, like) * named, memo), 6)
        bears = np.zeros(len(worth), dtype=bool)
        bears[_best(worth, number)] = True
    return RankedQuotes(np.flatnonzero(bears), worth)


def _renewed(index: PassageIndex, sources: Sequence[Quotable], worth: Floats, memo: Memo) -> Floats:
    """The worth of passages, that of a message which renews another no less than that of what it renews, so that it is quoted
    before it: what no longer holds is never all that is said. What is picked is worth as much as what picks it."""
    pairs = index.derived("renewals", lambda: _renewing(index, sources, memo))
    if not pairs:
        return worth
    found = worth.copy()
    for newer, older in (*pairs, *pairs):  # what one pair raises may be raised again by one before it
        found[newer] = max(found[newer], _AHEAD * found[older])
    return found


_AHEAD: Final = 1.001


def _renewing(index: PassageIndex, sources: Sequence[Quotable], memo: Memo) -> list[tuple[int, int]]:
    """Passages that renew others, with these, in order; before them what is picked and the messages that pick it, each with the
    other: neither says anything alone."""
    firsts = np.searchsorted(index.source_of, np.arange(len(sources) + 1)).tolist()

    def passages(newer: int, older: int, start: int) -> list[tuple[int, int]]:
        behind = (n for n in range(firsts[older], firsts[older + 1]) if index.quotes[n].end > start)
        renewed = next(behind, None)
        return [] if renewed is None or firsts[newer] == firsts[newer + 1] else [(firsts[newer], renewed)]

    found: list[tuple[int, int]] = []
    for one in picks(sources, memo):
        for by, item in passages(one.by, one.of, one.item[0]):
            found += [(item, by), (by, item)]
        found += passages(one.by, one.instead, 0) if one.instead is not None else []
    for renewal in renewals(sources, memo):
        found += passages(*renewal)
    return found


def _floor(matched: float, tuning: Tuning, *, borrowed: bool) -> float | None:
    """Share of the best score that a passage must reach; None where nothing bears on the question."""
    if borrowed:
        return tuning.bearing_borrowed if matched >= tuning.covered_borrowed else None
    if matched >= tuning.covered:
        return tuning.bearing
    return tuning.bearing_hinted if matched >= tuning.hinted else None


def _room(strength: float, tuning: Tuning, *, borrowed: bool) -> float:
    """Part of the budget that a question may take: what one tells in passing shares words with everything, and needs little."""
    if borrowed:
        return tuning.room_borrowed
    return float(np.clip((strength - tuning.hinted) / (tuning.full - tuning.hinted), 0.0, 1.0))


def _coverage(asked: Terms) -> tuple[float, bool]:
    """The greatest share of the question's weight that a passage holds, itself or in its title; whether that is one word of
    several."""
    hits, heads = asked.hits, asked.heads
    value = idf(hits) * asked.weights
    both = presence(hits, value) + presence(heads, value)
    best = int(both.argmax())
    found = {*hits.term[hits.passage == best].tolist(), *heads.term[heads.passage == best].tolist()}
    return float(both[best]) / max(float(value.sum()), 1e-9), len(found) == 1 < len(value)

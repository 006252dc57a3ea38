"""A question with the passages that may be quoted for it: how well they match, how much room it gets, which of them bear on it.

What a passage is worth is scored in ``ranking``; ``choosing`` decides what is quoted.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from turnfold.compression.memo import Memo
from turnfold.compression.recall.abreast import Abreast, abreast
from turnfold.compression.recall.asker import asker_factor
from turnfold.compression.recall.called import called_room, with_called, with_named_results
from turnfold.compression.recall.coverage import Coverage, coverage
from turnfold.compression.recall.fence import FRAME
from turnfold.compression.recall.greatest import best_places
from turnfold.compression.recall.held import Held
from turnfold.compression.recall.later import with_updates_raised
from turnfold.compression.recall.named_again import Later, going_on, named_again, told_behind
from turnfold.compression.recall.passage_index import Floats, Ints, PassageIndex
from turnfold.compression.recall.question import Question, QuestionTerms, names_unknown, normal_text
from turnfold.compression.recall.ranked_quotes import RankedQuotes
from turnfold.compression.recall.ranking import Terms, named_factor, score, vector_likeness
from turnfold.compression.recall.tuning import Tuning
from turnfold.compression.recall.wholes.parts.named_stanzas import with_stanzas
from turnfold.compression.recall.wholes.whole_records import with_records
from turnfold.compression.scorers.bm25 import distinct
from turnfold.compression.text import words
from turnfold.compression.text.dialogue import requests
from turnfold.compression.text.dialogue.standing.orders import begins_with_command
from turnfold.compression.text.dialogue.told_before import points_back
from turnfold.compression.text.passages import estimate
from turnfold.compression.text.quotes import Quotable, Quote
from turnfold.compression.text.spans import QUESTION_MARKS

OPENING: Final = 240  # characters at the start of a message in which it may give a command
NO_PASSAGES: Final = np.zeros(0, np.int64)


@dataclass(frozen=True)
class AskedQuestion:
    """A question, together with an index of the passages that may be quoted.

    Attributes:
        asked: the question as terms.
        fill: as in `recall`.
        parts: the individual questions, if a message asks several.
        points_back: whether it asks for something the user said before; a passage that itself points back is no answer to that.
    """

    sources: Sequence[Quotable]
    index: PassageIndex
    question: Question
    asked: QuestionTerms
    fill: bool
    tuning: Tuning
    parts: tuple[AskedQuestion, ...] = ()
    points_back: bool = False

    @cached_property
    def terms(self) -> Terms:
        """The question's terms, located in the index."""
        return Terms.asked(self.asked, self.index)

    @cached_property
    def _coverage(self) -> Coverage:
        return coverage(self.terms, self.asked.kind_of, self.index)

    @property
    def matched(self) -> float:
        """The greatest share of the question's weight that one passage has."""
        return self._coverage.share

    @property
    def strength(self) -> float:
        """`matched`, reduced if that match is one word of several."""
        found = self._coverage
        return found.share * self.tuning.lone if found.is_one_word and not self.asked.borrowed else found.share

    @property
    def certainty(self) -> float:
        """How certainly the question concerns the conversation: `strength`, reduced if little of the question occurs anywhere."""
        found, hinted = self._coverage, self.tuning.hinted
        if self.asked.borrowed or found.is_named or self.strength <= hinted:
            return self.strength
        return hinted + (self.strength - hinted) * (found.known / max(found.known, self.tuning.known)) ** _UNKNOWN

    @property
    def is_talk(self) -> bool:
        """Whether only talk was folded. An agent's earlier tasks are done and must not be quoted after its current one."""
        return self.index.is_talk

    @property
    def floor(self) -> float | None:
        """Share of the best passage's worth that a passage needs to bear on the question; None if no passage does."""
        floors = [part.floor for part in self.parts if part.floor is not None]
        if self.fill or floors:
            return min(floors, default=0.0)
        if requests.is_courtesy(normal_text(self.question)):
            return None
        strength = self.tuning.hinted if self.hangs_on_one_word else self.certainty
        floor = _floor(strength, self.tuning, borrowed=self.asked.borrowed)
        return self.tuning.bearing if floor is not None and self.is_over_time else floor

    @cached_property
    def is_over_time(self) -> bool:
        """Whether it is about earlier states too."""
        return self.is_talk and not self.asked.borrowed and requests.asks_over_time(normal_text(self.question))

    @cached_property
    def _surely(self) -> float:
        """Tokens that a well-matched question may always take.

        That is the share it would get of a tight budget, so that a larger budget never finds less.
        """
        behind = (estimate(one.text) for one in self.question.behind)
        return min(self.tuning.surely_most, self.tuning.surely * (float(self.index.costs.sum()) + sum(behind)))

    @property
    def hangs_on_one_word(self) -> bool:
        """Whether only one word of the question is known, as in "is there a warranty on the boiler?".

        That may be chance, so it gets the least room. It gets none if the message only tells something, concerns somebody never
        named before, or matches only by the kind of a thing.
        """
        asks = self.question.text.rstrip().endswith(QUESTION_MARKS) and not self._coverage.is_by_kind
        return asks and self.strength < self.tuning.hinted <= self.matched and not names_unknown(self.question.text, self.index)

    @property
    def wants_told(self) -> bool:
        """Whether statements of the user matter more than passages that share words with the question.

        If names stand beside the texts, a question may share its words with a name.
        """
        if not self.fill:
            return False
        hardly_matched = self.strength < self.tuning.hinted and not self.index.named.any()
        return hardly_matched or begins_with_command(self.question.text[:OPENING])

    def room(self, budget: int) -> int:
        """Tokens of a budget that the question may take."""
        if self.fill:
            return budget
        if asked := [part for part in self.parts if part.floor is not None]:
            return min(budget, sum(part.room(budget) for part in asked))
        part = _room(self.certainty, self.tuning, borrowed=self.asked.borrowed)
        if self.asked.beside_talk:
            part *= self.tuning.room_beside_talk
        if self.floor == self.tuning.bearing:
            part = max(part, self._surely / max(1, budget))
        usual = min(budget, max(self.tuning.room_least, int(budget * part)))
        return max(usual, called_room(self.index, self.terms))  # one passage always fits if the question names its call

    def newest(self, quoted: Sequence[Quote], ranking: RankedQuotes, held: Held, memo: Memo) -> Abreast:
        """Newer messages that match the question as well as the quotes, or that name the same thing again."""
        asked = [one.terms for one in self.parts or (self,) if not one.asked.borrowed]
        found = abreast(asked, self.index, self.sources, self.question.behind, quoted, memo)
        if any(one.points_back for one in self.parts):  # the question asks for the earlier statement, not for what came of it
            return found
        behind = told_behind(self.question.behind, memo)
        later = list(named_again(asked, self.index, self.sources, behind, ranking, memo))
        if not self.fill:  # an explicit budget is better spent otherwise
            later += going_on(self.index, self.sources, ranking, memo)
        return found.joined(_unquoted(later, self.index, [*self.sources, *self.question.behind], quoted, held))

    @property
    def _with_rarest_words(self) -> Ints:
        """The passages with the rarest of the question's own known words, if they are few.

        Otherwise passages with a common word that occurs in many places could outweigh them.
        """
        own = len(self.asked.groups) - len(self.asked.kind_of)
        hits = self.terms.hits
        often = np.bincount(hits.term, minlength=hits.terms)[:own]
        if own < _SEVERAL or not often.any():
            return NO_PASSAGES
        least = int(often[often > 0].min())
        rarest = np.flatnonzero(often == least)
        return distinct(hits.passage[np.isin(hits.term, rarest)]) if least * len(rarest) <= _FEW else NO_PASSAGES

    def _of_records(self, worth: Floats) -> tuple[Floats, tuple[Quote, ...]]:
        """The passages' worth, with records that the question names read as a whole; and the records of several lines."""
        worth = with_records(self.index, self.sources, worth, self.asked.things, self.tuning)
        return (worth, ()) if self.asked.borrowed else with_stanzas(self.index, self.sources, worth, self.terms, self.asked.text)

    def ranked(self, memo: Memo) -> RankedQuotes:
        """The passages that bear on the question: those above the floor, and the best of those worth half as much.

        For several questions: passages that bear on any of them, each with its greatest worth.
        """
        if rankings := [part.ranked(memo) for part in self.parts if part.floor is not None]:
            worth = np.maximum.reduce([one.worth / max(float(one.worth.max()), 1e-9) for one in rankings])
            return RankedQuotes(np.unique(np.concatenate([one.numbers for one in rankings])), worth)
        index, sources, tuning, floor = self.index, self.sources, self.tuning, self.floor
        worth = with_called(index, score(index, sources, self.asked.text, self.terms, tuning), self.terms, tuning.called)
        least = np.inf if floor is None else floor * float(worth.max())
        worth = with_named_results(index, worth, self.terms, tuning.named_result)
        named = named_factor(index, sources, self.terms, tuning, borrowed=self.asked.borrowed)
        named = named * asker_factor(index, sources, words.fold(self.question.text[:OPENING]), tuning)
        worth, records = self._of_records(with_updates_raised(index, sources, worth * named, memo))
        if self.points_back:
            worth = np.where(_pointing_back(index, sources), tuning.points_back * worth, worth)
        if self.fill and self.is_talk:  # even an unrelated passage says more than none; newer ones are preferred
            worth = worth + _RECENCY * float(worth.max(initial=1.0)) * np.arange(1, len(worth) + 1)
        bears = worth > least
        if not self.asked.borrowed and floor is not None and not self.fill:
            rare = self._with_rarest_words
            best = float(worth.max(initial=0.0))
            worth[rare] = np.maximum(worth[rare], _RARE * best)
            bears[rare] = True
            if self.is_talk:
                answers = _answering(index, sources, rare)
                worth[answers] = np.maximum(worth[answers], _RARE * _ANSWER * best)
                bears[answers] = True
        if floor == tuning.bearing and (given := tuning.given * _room(self.certainty, tuning, borrowed=False)):
            bears[best_within(index, worth, _HALF * least, max(given, self._surely))] = True
        like = vector_likeness(index, self.question.likeness, tuning) if self.question.likeness else None
        if like is not None and floor is not None:  # words decide how many passages bear on it; vectors influence which
            number = len(worth) if floor == 0.0 else int(bears.sum())
            # Rounded, so that no machine's arithmetic changes the order.
            liked = score(index, sources, self.asked.text, self.terms, tuning, like)
            liked = with_called(index, liked, self.terms, tuning.called)
            liked = with_named_results(index, liked, self.terms, tuning.named_result)
            liked, records = self._of_records(with_updates_raised(index, sources, liked * named, memo))
            worth = np.round(liked, 6)
            bears = np.zeros(len(worth), dtype=bool)
            bears[best_places(worth, number)] = True
        return RankedQuotes(np.flatnonzero(bears), worth, records=records)


def _answering(index: PassageIndex, sources: Sequence[Quotable], asking: Ints) -> Ints:
    """The first passages of the answers to the users' messages that contain these passages.

    A rare word was asked about there, and the answer need not repeat it.
    """
    asked = (index.quotes[n].source for n in asking.tolist() if sources[index.quotes[n].source].role == "user")
    answers = {n + 1 for n in asked if n + 1 < len(sources) and sources[n + 1].role == "assistant"}
    firsts = (bisect_left(index.quotes, (n, 0, 0)) for n in sorted(answers))
    return np.array([at for at in firsts if at < len(index.quotes) and index.quotes[at].source in answers], np.int64)


def _unquoted(
    later: Sequence[Later], index: PassageIndex, messages: Sequence[Quotable], quotes: Sequence[Quote], held: Held
) -> Abreast:
    """Later mentions of a thing that are not quoted.

    If the request holds one elsewhere, it would seem older than a quote of the thing.
    """
    quoted = {quote.source for quote in quotes}
    inside: set[int] = set()
    behind: set[Quote] = set()
    for older, is_behind, number in later:
        if is_behind and older.source in quoted:
            at = len(index.sources) + number
            behind.add(Quote(at, 0, len(messages[at].text)))
        elif not is_behind and (source := index.quotes[number].source) not in quoted:
            _, start, end = index.quotes[number]
            if older.source in quoted or not held.has(source, messages[source].text[start:end]):
                inside.add(number)
    return Abreast(tuple(sorted(inside)), tuple(sorted(behind)))


def _pointing_back(index: PassageIndex, sources: Sequence[Quotable]) -> npt.NDArray[np.bool_]:
    """Which passages point back at an earlier statement."""

    known: dict[int, bool] = index.derived("points-back", dict)
    for number in range(len(known), len(index.quotes)):
        source, start, end = index.quotes[number]
        known[number] = points_back(words.fold(sources[source].text[start:end]))
    return np.fromiter(known.values(), bool, len(index.quotes))


def best_within(index: PassageIndex, worth: Floats, least: float, room: float) -> Ints:
    """The best passages above a worth, as many as fit into about this many tokens."""
    best = np.array(best_places(worth, int(room / _SHORTEST)), np.int64)
    best = best[worth[best] > least]
    return best[np.cumsum(index.costs[best] + FRAME) <= room]


_HALF: Final = 0.5
_RARE: Final = 0.9  # share of the best worth for a passage with a word that few others have
_ANSWER: Final = 0.98  # and, of that share, for the beginning of the answer to a passage that asks
_FEW: Final = 3  # passages
_SEVERAL: Final = 2  # words of a question
_UNKNOWN: Final = 2  # exponent for the known share of a question
_RECENCY: Final = 1e-9  # share of the best worth: less than any passage that bears on a question
_SHORTEST: Final = 10  # tokens of the shortest usual quote with its label


def _floor(matched: float, tuning: Tuning, *, borrowed: bool) -> float | None:
    """Share of the best score that a passage must reach; None if nothing bears on the question."""
    if borrowed:
        return tuning.bearing_borrowed if matched >= tuning.covered_borrowed else None
    if matched >= tuning.covered:
        return tuning.bearing
    return tuning.bearing_hinted if matched >= tuning.hinted else None


def _room(strength: float, tuning: Tuning, *, borrowed: bool) -> float:
    """Share of the budget that a question may take. Casual remarks share words with everything, so they get little."""
    if borrowed:
        return tuning.room_borrowed
    return float(np.clip((strength - tuning.hinted) / (tuning.full - tuning.hinted), 0.0, 1.0))

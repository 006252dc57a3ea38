"""Recall: the passages of folded messages that the current question needs, word for word.

This module decides which passages are quoted for a question. What each is worth is up to ``ranking``, reading the question to
``question``, how many of them fit to ``quote_choice``, rendering to ``fence``. Where the result goes, and whether recall pays, is
decided in ``fold``.

Most questions get what bears on them. A request for a summary gets a cover of everything, one for the beginning what stood there,
one for a work of the chat all of it (``wholes.works``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from turnfold.compression.memo import Memo
from turnfold.compression.recall import cover, passage_index
from turnfold.compression.recall.abreast import Abreast, with_abreast
from turnfold.compression.recall.bearing import NO_PASSAGES, OPENING, AskedQuestion, best_within
from turnfold.compression.recall.bound import bound
from turnfold.compression.recall.fence import fence_tokens
from turnfold.compression.recall.held import Held
from turnfold.compression.recall.later import release, with_behind
from turnfold.compression.recall.ledger import release_ledger, with_ledger
from turnfold.compression.recall.passage_index import Ints, PassageIndex
from turnfold.compression.recall.question import Question, has_content, names_unknown, normal_text, read_question
from turnfold.compression.recall.quote_choice import Quoted, QuoteTokens, choose_quotes, fit_quotes, render_quotes
from turnfold.compression.recall.ranked_quotes import RankedQuotes, in_front
from turnfold.compression.recall.several import several
from turnfold.compression.recall.tuning import TUNING, Tuning
from turnfold.compression.recall.wholes.asked_whole import find_whole, repeated
from turnfold.compression.recall.wholes.found_work import FoundWork, with_work
from turnfold.compression.recall.wholes.parts.worked_on import identifiers, with_worked_on
from turnfold.compression.recall.wholes.plans import newest_plan
from turnfold.compression.shorten.told import ToldRoom, told
from turnfold.compression.text.dialogue import requests
from turnfold.compression.text.dialogue.overall import asks_for_overall
from turnfold.compression.text.dialogue.replaced_lines import ReplacedLines, holds_edits
from turnfold.compression.text.dialogue.told_before import told_before
from turnfold.compression.text.quotes import Quotable, Quote
from turnfold.compression.tokens import ModelCounter, count_tail


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
    """The passages of ``sources`` that bear on the question, as they will be quoted.

    Args:
        sources: folded messages, oldest first.
        question: the current question.
        budget: most tokens for the quotes with their fence; a work requested as a whole has a budget of its own.
        present: texts already in the request; a passage contained in one of them is not quoted again.
        count: counts the tokens of a text.
        memo: cache for data derived from the sources alone.
        fill: use up the budget with anything that bears on the question at all, not only with clear matches.
        tuning: parameters of scoring and selection.
    """
    if budget <= fence_tokens(count) or not any(s.text.strip() for s in sources):
        return Quoted()
    index = passage_index.build(sources, memo)
    asking, work = _asking(sources, index, question, fill, tuning), find_whole(sources, index, question, count, memo)
    bearing = _ranked(asking, budget - fence_tokens(count), work, present, count, memo)
    if bearing is None:
        return Quoted()
    found = _QuoteCandidates.of(asking, work, bearing, present, count, memo).quoted(budget)
    if found.text and isinstance(count, ModelCounter):
        count_tail(found.text, dict(zip(count.vocabularies, found.counts, strict=True)), memo)
    return found


@dataclass(frozen=True, slots=True)
class _QuoteCandidates:
    """What the quotes for a question are chosen from.

    Attributes:
        bearing: the passages that bear on it.
        quotes: these in force, with what is quoted along with them, and the work that it requests.
        work: the work that it requests as a whole, if any.
        first: the number of the work's first quote.
        apart: quotes that repeat a part of the work, which are counted on their own.
        held: what the request already holds.
        replaced: tells quotes of lines that were edited since.
    """

    asking: AskedQuestion
    bearing: _BearingQuotes
    quotes: RankedQuotes
    work: FoundWork
    first: int
    apart: Ints
    held: Held
    replaced: Callable[[Quote], bool] | None
    count: Callable[[str], int]
    memo: Memo

    @classmethod
    def of(
        cls,
        asking: AskedQuestion,
        work: FoundWork,
        bearing: _BearingQuotes,
        present: Sequence[str],
        count: Callable[[str], int],
        memo: Memo,
    ) -> _QuoteCandidates:
        sources, index, question = asking.sources, asking.index, asking.question
        replaced = _replaced(index, [*sources, *question.behind], memo)
        quotes = _in_force(bearing.quotes, index, replaced)
        first = len(quotes.worth)
        apart = first + np.array(repeated(work, sources, present, question.held), np.int64)
        if _asks_for_whole(question, work):
            quotes = with_work(quotes, index, work)
        held = _held_beside(work, present, question)
        quotes = with_behind(quotes, index, sources, question.behind, held, memo)
        return cls(asking, bearing, quotes, work, first, apart, held, replaced, count, memo)

    def quoted(self, most: int) -> Quoted:
        """The quotes that fit, in at most so many tokens; a work has room of its own."""
        asking, work, question = self.asking, self.work, self.asking.question
        asks_for_whole, is_whole = _asks_for_whole(question, work), self.bearing.is_whole
        budget = most if asking.fill or is_whole else asking.room(most)
        fitting = self._tokens(self.quotes, most)
        if asks_for_whole and not asking.fill:
            beside = budget if work.beside is None else min(budget, work.beside)
            budget = max(beside, min(question.whole_room, beside + _needed(work, self.first, fitting)))
        found = render_quotes(chosen := choose_quotes(self.quotes, budget, fitting), budget, fitting)
        if not asking.is_talk or asks_for_whole or is_whole:
            return found
        newest = asking.newest(found.quotes, self.quotes, self.held, self.memo)
        if not newest:
            return found
        tokens = self._tokens(with_abreast(self.quotes, newest)[0], most) if newest.behind else fitting
        return _fit_with(newest, self.quotes, chosen, budget, most, tokens) or found

    def _tokens(self, quotes: RankedQuotes, most: int) -> QuoteTokens:
        """What the quotes of a ranking take."""
        sources, index, behind = self.asking.sources, self.asking.index, self.asking.question.behind
        found = QuoteTokens((*sources, *behind), self.count, index, self.held, quotes.more, self.replaced, cut=self.work.cut)
        release(found, quotes, index, sources, self.memo)
        found.keep_apart(self.apart)
        if self.bearing.has_ledger:
            release_ledger(found, index, sources, most - fence_tokens(self.count), self.memo)
        return found


def _asks_for_whole(question: Question, work: FoundWork) -> bool:
    return question.work is not None or bool(work.quotes)


def _held_beside(work: FoundWork, present: Sequence[str], question: Question) -> Held:
    """What the request already holds, apart from a work.

    A work's changes come after it, so its parts are quoted together; quotes that are counted may be anywhere.
    """
    together = [quote.source for quote in work.quotes if quote not in work.counted]
    return Held("\0".join(present), question.held.difference(together))


def _needed(work: FoundWork, first: int, tokens: QuoteTokens) -> int:
    """The tokens of a work whose quotes are numbered from `first` on. Quotes that the request already holds need no room and are
    not counted.
    """
    return work.tokens - sum(tokens.cost(n) for n in range(first, first + len(work.quotes)) if tokens.is_held(n))


def _fit_with(newest: Abreast, quotes: RankedQuotes, chosen: Ints, budget: int, most: int, tokens: QuoteTokens) -> Quoted | None:
    """The chosen quotes, after the newest messages, or None if the latter take more than half of `most`.

    The newest messages may be quoted although the request holds them elsewhere, and have room of their own within `most`.
    """
    ranking, numbers = with_abreast(quotes, newest)
    for number in numbers:
        tokens.release(number)
    cost = sum(map(tokens.cost, numbers))
    if 2 * cost > most:
        return None
    room = min(budget + cost, most)
    if room < budget + cost:
        return fit_quotes(ranking, room, tokens)
    first = choose_quotes(ranking._replace(numbers=np.array(numbers, np.int64)), room, tokens)
    return render_quotes(np.append(first, tokens.without_twins(chosen, first)), room, tokens)


def _asking(sources: Sequence[Quotable], index: PassageIndex, question: Question, fill: bool, tuning: Tuning) -> AskedQuestion:
    """A message's question, with its parts if it asks several. An agent's task with several items is one question."""
    whole = AskedQuestion(sources, index, question, read_question(question, index, tuning), fill, tuning)
    told = told_before(question.request or question.text)
    if told:
        said = [replace(question, text=text, request="") for text in told[:_MOST_TOLD]]
        pointing = [replace(whole, question=one, asked=read_question(one, index, tuning), points_back=True) for one in said]
        return replace(whole, parts=(*pointing, whole))
    said = [replace(question, text=text) for text in several(question.text)] if whole.is_talk else []
    return replace(whole, parts=tuple([replace(whole, question=one, asked=read_question(one, index, tuning)) for one in said]))


class _BearingQuotes(NamedTuple):
    """The passages that bear on a question.

    Attributes:
        is_whole: whether they are the whole conversation or its beginning, rather than single passages.
        has_ledger: whether they include the short exchanges (``ledger``).
    """

    quotes: RankedQuotes
    is_whole: bool
    has_ledger: bool


def _ranked(
    asking: AskedQuestion, room: int, work: FoundWork, present: Sequence[str], count: Callable[[str], int], memo: Memo
) -> _BearingQuotes | None:
    """The quotes that bear on the question; None if nothing does."""
    asks = normal_text(asking.question)
    wanted = asking.question.work
    is_of_work = wanted is not None and wanted.asked.is_long and bool(work.quotes)  # "summarize the report" concerns nothing else
    loop = asking.question.loop
    is_task = loop is not None and not loop.first  # nothing comes before it that it could request as a whole
    whole = None if is_of_work or is_task else _all_or_first(asking, asks, room, memo)
    first = requests.asks_for_beginning(asks)
    binding = bound(asking.sources, asking.question.text, memo) if asking.is_talk else []
    if whole is None and asking.floor is None and not (first or work.quotes or binding):
        return None
    quotes = asking.ranked(memo) if whole is None else whole
    if whole is None and first:
        quotes = cover.beginning(quotes, asking.sources, first, room)
    elif whole is None and asking.wants_told and not (work.quotes or requests.asks_for_cover(asks)):
        told_room = ToldRoom(int(asking.tuning.told * room), 0, int(asking.tuning.told * room / 2))
        quotes = in_front(quotes, told(asking.sources, told_room, count, memo))
    quotes = in_front(quotes, binding)
    if loop and whole is None:
        held = identifiers([asking.question.text, *present, *(one.text for one in loop.newest)])
        quotes = with_worked_on(quotes, asking.index, held, loop.first, room, memo)
    if asking.fill and not asking.is_talk:
        quotes = in_front(quotes, newest_plan(asking.sources, asking.question.behind))
    has_ledger = asking.is_talk and (asking.fill or (whole is not None and not first))
    if has_ledger:
        is_first = asking.wants_told or not asking.matched
        quotes = with_ledger(quotes, asking.index, asking.sources, room, memo, first=is_first)
    return _BearingQuotes(quotes, whole is not None, has_ledger)


def _replaced(index: PassageIndex, messages: Sequence[Quotable], memo: Memo) -> Callable[[Quote], bool] | None:
    """A test for quotes that show a line of a file that was edited since; None if no quote does."""
    folded = len(index.sources)
    edited = index.derived("edited", lambda: holds_edits(messages[:folded], memo)) or holds_edits(messages[folded:], memo)
    lines = ReplacedLines(messages, memo) if edited else None
    if not lines:
        return None
    return lambda quote: lines.is_shown_in(quote.source, messages[quote.source].text[quote.start : quote.end])


def _in_force(ranking: RankedQuotes, index: PassageIndex, replaced: Callable[[Quote], bool] | None) -> RankedQuotes:
    """A ranking without the replaced passages."""
    if replaced is None:
        return ranking
    quotes = (*index.quotes, *ranking.more)
    return ranking._replace(numbers=np.array([n for n in ranking.numbers.tolist() if not replaced(quotes[n])], np.int64))


def _all_or_first(asking: AskedQuestion, asks: str, room: int, memo: Memo) -> RankedQuotes | None:
    """Quotes for a question about the whole conversation or its beginning; None for any other question."""
    if asks_for_overall(asks) and not requests.asks_for_cover(asks):
        return _with_topic(asking, _cover(asking, room, users=True), room, memo)
    whole = requests.asks_for_whole(asks) and not has_content(requests.without_whole(asks))
    covers_all = whole or requests.asks_for_all(asks)
    covers = covers_all or (requests.asks_for_cover(asks) and not _is_about_unknown(asking))
    if whole or (covers and asking.matched < asking.tuning.topical):
        return _cover(asking, room, users=covers_all)
    first = requests.asks_for_beginning(asks)
    if first and not has_content(requests.without_beginning(asks)):
        return cover.beginning(RankedQuotes(NO_PASSAGES, np.zeros(len(asking.index.quotes))), asking.sources, first, room)
    return None


def _is_about_unknown(asking: AskedQuestion) -> bool:
    """Whether the subject of a request for a summary was never named: "the plot of Hamlet"."""
    subject = requests.subject(asking.question.text[:OPENING])
    return bool(subject) and names_unknown(subject, asking.index)


def _cover(asking: AskedQuestion, room: int, *, users: bool) -> RankedQuotes:
    ranking = cover.cover(asking.index, asking.sources, room, asking.tuning)
    return cover.users_first(ranking, asking.index, asking.sources, room) if users else ranking


def _with_topic(asking: AskedQuestion, covering: RankedQuotes, room: int, memo: Memo) -> RankedQuotes:
    """A cover of the conversation, with passages on the question's other words in front: "all bugs we found"."""
    if asking.matched < asking.tuning.hinted:
        return covering
    ranked = asking.ranked(memo)
    best = best_within(asking.index, ranked.worth, 0.0, asking.tuning.topic * room)
    best = best[np.isin(best, covering.numbers)]  # not passages contained in a longer quote
    worth = covering.worth.copy()
    worth[best] += worth.max(initial=0.0)
    return RankedQuotes(covering.numbers, worth, covering.more)


_MOST_TOLD: Final = 4  # sentences in a message that points back

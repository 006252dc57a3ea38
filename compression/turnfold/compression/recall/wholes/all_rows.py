"""All rows of a table or list, for a question over all of them: an average, a count, the highest, a chart.

This module decides which rows are meant and what of them is quoted. Such a question is recognised in
``text.dialogue.wanted.row_requests``, rows are found in ``text.records``, and ``quote_choice`` counts how much fits.

Meant are the rows with the question's words in themselves or in what stands above them, among equals the newest; if the question
names none but "the table", the newest table. The rows with the question's words are quoted, with the lines above all rows: "the
average in Berlin". If no row has them, or some rows are compared with the others ("more than in Berlin"), all rows are quoted if
there is room. If not, those that the question needs first are ("the cheapest", "above 850"), with a note that they are not all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from turnfold.compression.memo import Memo, of_each
from turnfold.compression.recall.fence import FRAME, fence_tokens
from turnfold.compression.recall.passage_index import PassageIndex
from turnfold.compression.recall.question import Question, content_words
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.needed_rows import counting_words, needed_rows
from turnfold.compression.text import words
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.row_requests import (
    ABOVE,
    COMMON,
    DATA_WORDS,
    asked_fields,
    asks_over_rows,
    goes_on_asking,
    held_fields,
    is_bare,
    is_tally_word,
    names_data,
    names_others,
    needs_others,
    placed_table,
    tells_change,
)
from turnfold.compression.text.quotes import Quotable, Quote
from turnfold.compression.text.records import records_of, rows

_MOST_RECORDS: Final = 5000
_FOLLOW_UP: Final = 60  # characters of a question that continues the previous one
_FOLLOWED: Final = 300  # and of the previous one
_MOST_CHANGES: Final = 400  # tokens


class _Rows(NamedTuple):
    """Rows of a message with the text above them, in characters.

    Attributes:
        place: the number of sources up to the message, including it if it is one.
        source: the message, if it can be quoted; None if the request holds it unchanged.
    """

    place: int
    source: int | None
    text: str
    above: int
    start: int
    end: int


def find_rows(
    sources: Sequence[Quotable], index: PassageIndex, question: Question, folded: str, count: Callable[[str], int], memo: Memo
) -> FoundWork:
    """The rows of which a question needs all, with later changes; empty if it asks for no such thing or no rows bear on it.

    Args:
        sources: messages that may be quoted.
        folded: the question, case-folded.
    """
    folded = _with_question_before(question, folded)
    if not (question.whole_room and asks_over_rows(folded)):
        return FoundWork()
    asked = AskedRows(folded, index)
    every = _all_rows(sources, index, question, memo)
    meant = _singled_out(every, asked)
    if not meant:
        fitting = [(asked.fits(one.text[one.above : one.end]), one.place, one) for one in every]
        fits, _, best = max(fitting, key=lambda one: one[:2], default=(0, 0, None))
        if best is None or not (fits or asked.names_data) or names_others(question.text, words.fold(best.text)):
            return FoundWork()
        meant = [best]
    found = FoundWork()
    for one in meant:
        room = question.whole_room - fence_tokens(count) - found.tokens
        found = found.joined(_with_changes(sources, one, asked, question.held, room, count))
    return found


def _singled_out(every: Sequence[_Rows], asked: AskedRows) -> list[_Rows]:
    """The rows that a question singles out; empty if it does not.

    It may name their place ("the second table"), or words that occur above only one of them ("compare March and April").
    """
    place = placed_table(asked.folded)
    if place is not None:
        return [every[place]] if -len(every) <= place < len(every) else []
    above = [asked.having(one.text[one.above : one.start]) for one in every]
    often = Counter(word for words_above in above for word in words_above)
    named = [one for one, has in zip(every, above, strict=True) if any(often[word] == 1 for word in has)]
    return named if len(named) > 1 else []


def _with_changes(
    sources: Sequence[Quotable], rows: _Rows, asked: AskedRows, held: frozenset[int], room: int, count: Callable[[str], int]
) -> FoundWork:
    """The rows that the question needs, with later changes; only the changes if the request already holds the rows."""
    changes = _changes(sources, rows, held, count)
    if rows.source is None or rows.source in held:
        return changes
    found = _quoted(rows, rows.source, asked, room - changes.tokens, count)
    return found.joined(changes) if found.quotes else found


def _with_question_before(question: Question, folded: str) -> str:
    """A question, preceded by the previous one if it means nothing alone ("and the median?")."""
    before = next((words.fold(one.text) for one in question.before if one.role == "user" and len(one.text) <= _FOLLOWED), "")
    goes_on = len(folded) <= _FOLLOW_UP and before and asks_over_rows(before) and (is_bare(folded) or goes_on_asking(folded))
    return f"{before}\n{folded}" if goes_on else folded


def _all_rows(sources: Sequence[Quotable], index: PassageIndex, question: Question, memo: Memo) -> list[_Rows]:
    """All rows up to the question, folded or not."""

    def runs_of(messages: Sequence[Quotable]) -> list[tuple[int, tuple[Range, ...]]]:
        return [(n, runs) for n, runs in enumerate(of_each(memo, "rows", messages, _runs)) if runs]

    kept = [*question.standing, *((len(sources), one) for one in question.behind)]
    said: list[tuple[int, int | None, str, tuple[Range, ...]]] = [
        (n + 1, n, sources[n].text, runs) for n, runs in index.derived("rows", lambda: runs_of(sources))
    ]
    said += [(kept[n][0], None, kept[n][1].text, runs) for n, runs in runs_of([one for _, one in kept])]
    return [
        _Rows(place, source, text, _above(text, start), start, end) for place, source, text, runs in said for start, end in runs
    ]


def _runs(source: Quotable) -> tuple[Range, ...]:
    return tuple(rows(source.text))


def _above(text: str, start: int) -> int:
    """The start of the paragraphs above rows, if these are short."""
    return max(0, text.rfind("\n", 0, max(0, start - ABOVE)) + 1) if start > ABOVE else 0


def _quoted(found: _Rows, source: int, asked: AskedRows, room: int, count: Callable[[str], int]) -> FoundWork:
    """The rows that the question names, or all of them."""
    some = _matching(found, source, asked, room, count)
    if some.quotes and not asked.needs_others:
        return some
    cost = count(found.text[found.above : found.end]) + FRAME
    return some._replace(cut=source) if cost > room else FoundWork((Quote(source, found.above, found.end),), (), cost)


def _changes(sources: Sequence[Quotable], found: _Rows, held: frozenset[int], count: Callable[[str], int]) -> FoundWork:
    """The newest of a user's later messages that change such rows: "add a row", "Ana's salary is 5000 now"."""
    named = frozenset(words.words(words.fold(found.text[found.above : found.end])))
    quotes: list[Quote] = []
    spent = 0
    for n in range(len(sources) - 1, found.place - 1, -1):
        text = sources[n].text
        if sources[n].role != "user" or n in held or not tells_change(words.fold(text), named):
            continue
        cost = count(text) + FRAME
        if spent + cost > _MOST_CHANGES:
            break
        spent += cost
        quotes.append(Quote(n, 0, len(text)))
    return FoundWork(tuple(reversed(quotes)), (), spent)


class AskedRows:
    """The words of a question that say which rows it is about, as terms. Words that count or limit rows are left out.

    Attributes:
        folded: the question, case-folded.
        needs_others: see the function of that name.
        names_data: see the function of that name.
    """

    def __init__(self, folded: str, index: PassageIndex) -> None:
        self._languages = index.languages
        content = dict.fromkeys(content_words(folded))
        self.folded = folded
        self.names_data = names_data(folded)
        said = [word for word in content if word not in DATA_WORDS and not is_tally_word(word)]
        tables = [words.stem_table(said, name) for name in self._languages]
        signs = words.run_on_terms(folded).tolist()
        self.needs_others = needs_others(folded)
        self._fields = asked_fields(folded)
        self._terms = [*({table[word] for table in tables} for word in said), *({sign} for sign in signs)]
        counting = counting_words(folded)
        self._figures = frozenset(n for n, word in enumerate(said) if word in counting)

    def terms_of(self, text: str) -> set[int]:
        """The terms of a text."""
        folded = words.fold(text)
        distinct = set(words.words(folded))
        found = {term for name in self._languages for term in words.stem_table(distinct, name).values()}
        return found.union(words.run_on_terms(folded).tolist())

    def having(self, text: str) -> frozenset[int]:
        """The numbers of the question's words that a text has."""
        said = self.terms_of(text)
        return frozenset(n for n, terms in enumerate(self._terms) if not terms.isdisjoint(said)) - self._figures

    def fits(self, text: str) -> int:
        """How many of the question's words and kinds of things a text has."""
        held = held_fields(words.fold(text)) if self._fields else ()
        return len(self.having(text)) + sum(name in held for name in self._fields)


def _matching(found: _Rows, source: int, asked: AskedRows, room: int, count: Callable[[str], int]) -> FoundWork:
    """As many rows as fit that have words of the question which most others lack, with the text above all rows.

    If these don't fit, or none has such words and the whole doesn't fit, the rows that the question needs come first
    (``needed_rows``).
    """
    text = found.text
    records = records_of(text, (found.start, found.end))[:_MOST_RECORDS]
    has = [asked.having(text[start:end]) for start, end in records]
    common = {word for word in frozenset().union(*has) if sum(word in one for one in has) > COMMON * len(has)}
    telling = sorted((n for n, one in enumerate(has) if n and one - common), key=lambda n: (-len(has[n] - common), n))
    above = Quote(source, found.above, records[0][1])

    def cost_of(quotes: Sequence[Quote]) -> int:
        return sum(count(text[start:end]) + FRAME for _, start, end in quotes)

    named = (above, *(Quote(source, *records[n]) for n in telling))
    if telling and (cost := cost_of(named)) <= room:
        return FoundWork(named, (), cost)
    if not telling and count(text[found.above : found.end]) + FRAME <= room:
        return FoundWork()
    most = [n for n in telling if len(has[n] - common) == len(has[telling[0]] - common)]
    first = needed_rows(
        [text[start:end] for start, end in records], most or range(1, len(records)), asked.folded, lambda t: len(asked.having(t))
    )
    quotes: list[Quote] = []
    spent = 0
    for one in (above, *(Quote(source, *records[n]) for n in dict.fromkeys((*first, *telling)))):
        if spent + (cost := cost_of([one])) > room:
            break
        spent += cost
        quotes.append(one)
    return FoundWork(tuple(quotes), (), spent, source) if len(quotes) > 1 else FoundWork(cut=source)

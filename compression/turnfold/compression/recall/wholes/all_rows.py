"""All rows of a table or list, for a question that all of them go into: an average, a count, the highest, a chart.

Lives here: which rows are meant, and what of them is quoted. Does not belong here: telling such a question
(``text.dialogue.wanted.row_requests``), where rows stand (``text.records``), how much fits (``quote_choice``).

The rows are meant that have the question's words in themselves or in what stands above them, of equal ones the newest; where it
names none but "the table", the newest. Those that have the question's words are quoted, with what stands above all: "the average
in Berlin". Where no row has them, or some are held against the others ("more than in Berlin"), all are, if there is room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from turnfold.compression.memo import Memo, of_each
from turnfold.compression.recall.fence import FRAME
from turnfold.compression.recall.passage_index import PassageIndex
from turnfold.compression.recall.question import Question, content_words
from turnfold.compression.recall.quote_choice import fence_tokens
from turnfold.compression.recall.wholes.works import FoundWork
from turnfold.compression.text import words
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.row_requests import DATA_WORDS, asks_over_rows, is_tally_word, needs_others
from turnfold.compression.text.quotes import Quotable, Quote
from turnfold.compression.text.records import rows

_ABOVE: Final = 600  # characters above rows that say what they are
_MOST_LINES: Final = 5000
_COMMON: Final = 0.6  # share of the rows from which a word tells none of them


class _Rows(NamedTuple):
    """Rows of a message with what stands above them, in characters."""

    source: int
    above: int
    start: int
    end: int


def find_rows(
    sources: Sequence[Quotable], index: PassageIndex, question: Question, folded: str, count: Callable[[str], int], memo: Memo
) -> FoundWork:
    """The rows that a question needs all of; none where it asks for no such thing, or bears on none.

    Args:
        sources: what may be quoted.
        folded: the question, case-folded.
    """
    if not (question.whole_room and asks_over_rows(folded)):
        return FoundWork()
    held = of_each(memo, "rows", sources, _runs)
    found = [_with_above(n, sources[n].text, run) for n, runs in enumerate(held) for run in runs]
    asked = _Asked(folded, index)
    best = max(found, key=lambda one: (asked.fits(sources[one.source].text[one.above : one.end]), one.source), default=None)
    if best is None or not (asked.fits(sources[best.source].text[best.above : best.end]) or asked.names_data):
        return FoundWork()
    room = question.whole_room - fence_tokens(count)
    text = sources[best.source].text
    some = _matching(text, best, asked, room, count)
    if some.quotes and not needs_others(folded):
        return some
    cost = count(text[best.above : best.end]) + FRAME
    return some if cost > room else FoundWork((Quote(best.source, best.above, best.end),), (), cost)


def _runs(source: Quotable) -> tuple[Range, ...]:
    return tuple(rows(source.text))


def _with_above(source: int, text: str, run: Range) -> _Rows:
    """Rows with the paragraphs above them, if these are short."""
    start, end = run
    above = max(0, text.rfind("\n", 0, max(0, start - _ABOVE)) + 1) if start > _ABOVE else 0
    return _Rows(source, above, start, end)


class _Asked:
    """The words of a question that say which rows it is about, as terms."""

    def __init__(self, folded: str, index: PassageIndex) -> None:
        self._languages = index.languages
        content = dict.fromkeys(content_words(folded))
        self.names_data = not DATA_WORDS.isdisjoint(content)
        said = [word for word in content if word not in DATA_WORDS and not is_tally_word(word)]
        tables = [words.stem_table(said, name) for name in self._languages]
        signs = words.run_on_terms(folded).tolist()
        self._terms = [*({table[word] for table in tables} for word in said), *({sign} for sign in signs)]

    def terms_of(self, text: str) -> set[int]:
        """The terms of a text."""
        folded = words.fold(text)
        distinct = set(words.words(folded))
        found = {term for name in self._languages for term in words.stem_table(distinct, name).values()}
        return found.union(words.run_on_terms(folded).tolist())

    def having(self, text: str) -> frozenset[int]:
        """The numbers of the words that a text has."""
        said = self.terms_of(text)
        return frozenset(n for n, terms in enumerate(self._terms) if not terms.isdisjoint(said))

    def fits(self, text: str) -> int:
        """How many of the words a text has."""
        return len(self.having(text))


def _matching(text: str, found: _Rows, asked: _Asked, room: int, count: Callable[[str], int]) -> FoundWork:
    """The rows that have words of the question which most others have not, as many as fit, with what stands above all."""
    lines: list[Range] = []
    at = found.start
    for line in text[found.start : found.end].splitlines(keepends=True)[:_MOST_LINES]:
        lines.append((at, at + len(line.rstrip())))
        at += len(line)
    has = [asked.having(text[start:end]) for start, end in lines]
    common = {word for word in frozenset().union(*has) if sum(word in one for one in has) > _COMMON * len(has)}
    telling = sorted((n for n, one in enumerate(has) if one - common), key=lambda n: (-len(has[n] - common), n))
    ranges = [(found.above, lines[0][1]), *(lines[n] for n in telling if n)]
    quotes: list[Quote] = []
    spent = 0
    for start, end in ranges if telling else ():
        cost = count(text[start:end]) + FRAME
        if spent + cost > room:
            break
        spent += cost
        quotes.append(Quote(found.source, start, end))
    return FoundWork(tuple(quotes), (), spent)

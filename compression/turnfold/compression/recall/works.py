"""A work that is asked for as a whole: the script, the letter, the table that the conversation made before.

Lives here: which message holds it, and what of it is quoted. Does not belong here: whether a message asks for one
(``text.dialogue.works``), passages that bear on a question (``ranking``), how much fits (``quote_choice``).

A work is the code of a message, in fences or as a user pasted it, or a long message. Of those that share most words with the
question, in themselves or in the request that they answer, the newest whole one is meant; what changed it later is quoted with
it. One that the request holds anyway, since its turn is not folded, needs no quote, nor do older forms of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from turnfold.compression.memo import Memo
from turnfold.compression.recall import passage_index
from turnfold.compression.recall.fence import FRAME
from turnfold.compression.recall.passage_index import Floats, PassageIndex
from turnfold.compression.recall.question import Question, content_words
from turnfold.compression.recall.quote_choice import RankedQuotes, fence_tokens, in_front
from turnfold.compression.scorers.bm25 import rarity, wanted_terms
from turnfold.compression.text import words
from turnfold.compression.text.blocks import Range, fences
from turnfold.compression.text.dialogue.works import WANTED_WORDS, AskedWork
from turnfold.compression.text.kinds import parts
from turnfold.compression.text.passages import estimate
from turnfold.compression.text.quotes import Quotable, Quote

_TELLING: Final = 3.0  # weight of a word between "the" and the noun
_ALIKE: Final = 2.0  # the same of another noun for it
_REQUEST: Final = 400  # characters up to which a user's message says what is asked for, and little else
_BESIDE: Final = 0.6  # share of a word's weight where it stands in an answer and not in the request for it
_LIKE_BEST: Final = 0.8  # share of the best score from which a work may be meant as well
_RIVAL: Final = 0.9  # the same from which another work may as well be meant
_SHARED_LINES: Final = 0.3  # of the shorter one's lines, from which two that fit are forms of one work
_MOST_LINES: Final = 0.5  # the same whatever was asked for
_WHOLE: Final = 0.6  # share of the longest form's lines from which a form is no mere part
_OPENING: Final = (":", "{")  # ends of a line that begins a part of code
_FEWEST_LINES: Final = 3  # of code
_CODE: Final = frozenset({"code", "html", "xml", "yaml", "json", "sql"})
_PROSE_TOKENS: Final = 60  # shorter messages are quoted as they are
_TELLING_LINE: Final = 8  # characters; shorter ones stand in any code
_FILE_LINE: Final = 80  # characters up to which the line above a fence may name its file


@dataclass(frozen=True, slots=True)
class _HeldWork:
    """A message that holds a work: its number, the work's ranges, its lines, and how well it fits the question."""

    source: int
    ranges: tuple[Range, ...]
    lines: frozenset[str]
    fits: float

    @property
    def quotes(self) -> tuple[Quote, ...]:
        """Its ranges, as they are quoted."""
        return tuple([Quote(self.source, start, end) for start, end in self.ranges])


class FoundWork(NamedTuple):
    """What a message asks for as a whole.

    Attributes:
        quotes: the work and what changed it, the work first; none where the request holds it already, or has no room for it.
        outdated: older forms, which are not to be quoted beside it.
        tokens: what the quotes take, with their labels.
    """

    quotes: tuple[Quote, ...] = ()
    outdated: tuple[Quote, ...] = ()
    tokens: int = 0


def find_work(sources: Sequence[Quotable], question: Question, folded: str, count: Callable[[str], int], memo: Memo) -> FoundWork:
    """The work that is asked for, and what changed it later.

    Args:
        sources: what may be quoted.
        folded: the question, case-folded.
    """
    wanted = question.work
    found = _works([*sources, *question.behind], wanted.asked, folded, memo) if wanted else []
    if not (wanted and found):
        return FoundWork()
    whole, changed, outdated = _forms(found)
    likely = _RIVAL * max(work.fits for work in found)
    forms = {work.source for work in (whole, *changed, *outdated)}
    rivals = [work for work in found if work.fits >= likely and work.source not in forms]
    room = wanted.room - fence_tokens(count)
    old = tuple(chain.from_iterable(work.quotes for work in outdated))
    if whole.source >= len(sources):
        return FoundWork((), old)
    quotes: list[Quote] = []
    spent = 0
    for work in (whole, *reversed(changed), *rivals[-1:]):
        if work.source >= len(sources):
            continue
        cost = sum(count(sources[work.source].text[start:end]) + FRAME for start, end in work.ranges)
        if spent + cost > room and work is whole:
            return FoundWork()
        if spent + cost <= room:
            spent += cost
            quotes += work.quotes
    return FoundWork(tuple(quotes), old, spent)


def with_work(ranking: RankedQuotes, index: PassageIndex, work: FoundWork) -> RankedQuotes:
    """A ranking with a work in front, without the passages that stand in it or in its older forms."""
    apart = (*work.quotes, *work.outdated)
    others = [n for n in ranking.numbers.tolist() if not any(_overlap(index.quotes[n], one) for one in apart)]
    return in_front(ranking, work.quotes, np.array(others, np.int64))


def _overlap(quote: Quote, work: Quote) -> bool:
    return quote.source == work.source and quote.start < work.end and work.start < quote.end


def _works(sources: Sequence[Quotable], asked: AskedWork, folded: str, memo: Memo) -> list[_HeldWork]:
    """What may be meant, in order."""
    held = {n: ranges for n, source in enumerate(sources) if (ranges := _ranges(source, asked))}
    if not held:
        return []
    index = passage_index.build(sources, memo)
    fits = _fits(index, sources, held, asked, folded)
    if asked.kind != "code" and asked.telling and not any(fits[n] for n in held):
        return []
    return [_HeldWork(n, ranges, _lines(sources[n].text, ranges), float(fits[n])) for n, ranges in held.items()]


def _ranges(source: Quotable, asked: AskedWork) -> tuple[Range, ...]:
    """Where a message holds a work of the kind."""
    text = source.text
    if source.role not in ((asked.by,) if asked.by else ("user", "assistant")):
        return ()
    if asked.kind == "prose":
        return ((0, len(text)),) if estimate(text) >= _PROSE_TOKENS else ()
    found = [
        (_with_file_name(text, start), end) for start, end in fences(f"\n{text}") if text.count("\n", start, end) > _FEWEST_LINES
    ]
    if not found and source.role == "user" and text.count("\n") > _FEWEST_LINES:  # people paste code as it is
        found = [
            (part.start, part.end)
            for part in parts(text)
            if part.kind in _CODE and text.count("\n", part.start, part.end) > _FEWEST_LINES
        ]
    if not found and asked.kind == "either" and estimate(text) >= _PROSE_TOKENS:
        found = [(0, len(text))]
    return tuple(found)


def _with_file_name(text: str, start: int) -> int:
    """Where a fence begins with the line right above it, if that is short enough to be the name of its file."""
    above = text.rfind("\n", 0, max(0, start - 1)) + 1
    return above if start - above <= _FILE_LINE and text[above:start].strip() else start


def _lines(text: str, ranges: Sequence[Range]) -> frozenset[str]:
    said = (line.strip() for start, end in ranges for line in text[start:end].splitlines())
    return frozenset(line for line in said if len(line) >= _TELLING_LINE)


def _size(ranges: Sequence[Range]) -> int:
    return sum(end - start for start, end in ranges)


def _fits(
    index: PassageIndex, sources: Sequence[Quotable], held: Mapping[int, Sequence[Range]], asked: AskedWork, folded: str
) -> Floats:
    """The weight of the question's words in the user's request before each message, less where only the message has them."""
    told = dict.fromkeys(word for word in content_words(folded) if word not in WANTED_WORDS and word not in asked.telling)
    groups = [_terms([word], index) for word in (*told, *sorted(asked.telling))]
    weights = [1.0] * len(told) + [_TELLING] * len(asked.telling)
    if asked.alike:
        groups.append(_terms(sorted(asked.alike - asked.telling), index))
        weights.append(_ALIKE)
    signs = words.run_on_terms(folded).tolist()
    hits = index.words.find(wanted_terms([*groups, *([sign] for sign in signs)]))
    has = np.zeros((len(sources), hits.terms), bool)
    has[index.source_of.take(hits.passage), hits.term] = True
    worth = np.array(weights + [1.0] * len(signs)) * rarity(has.sum(0), len(sources))
    short = np.array([len(source.text) <= _REQUEST for source in sources])
    requests = _requests(sources)
    brought = (
        source.role == "user" and len(source.text) - _size(held.get(n, ())) <= _REQUEST for n, source in enumerate(sources)
    )
    own = np.array([[1.0 if one else _BESIDE] for one in brought])
    said: Floats = np.maximum(own * has, has[requests] * np.where(short[requests], 1.0, _BESIDE)[:, None]) @ worth
    return said


def _terms(equivalent: Sequence[str], index: PassageIndex) -> list[int]:
    """The terms of words that may stand for each other, in each language of the sources."""
    tables = (words.stem_table(equivalent, name) for name in index.languages)
    return sorted({table[word] for table in tables for word in equivalent if word in table}) or [0]


def _requests(sources: Sequence[Quotable]) -> npt.NDArray[np.int64]:
    """For each message the last one of a user up to it."""
    users = np.array([n if source.role == "user" else 0 for n, source in enumerate(sources)], np.int64)
    return np.maximum.accumulate(users)


def _forms(found: Sequence[_HeldWork]) -> tuple[_HeldWork, list[_HeldWork], list[_HeldWork]]:
    """The newest whole form of the work that fits best, of equal ones the newest; what changed it later, and older forms."""
    best = max(found, key=lambda work: (work.fits, work.source))
    meant = [
        work
        for work in found
        if work is best or _shares(work, best, _SHARED_LINES if work.fits >= _LIKE_BEST * best.fits else _MOST_LINES)
    ]
    longest = max(len(work.lines) for work in meant)
    whole = [work for work in meant if len(work.lines) >= _WHOLE * longest][-1]
    later = [work for work in found if work.source > whole.source and (work in meant or _changes(work, whole))]
    return whole, later, [work for work in meant if work.source < whole.source]


def _shares(work: _HeldWork, other: _HeldWork, share: float) -> bool:
    fewer = min(len(work.lines), len(other.lines))
    return len(work.lines & other.lines) >= share * fewer > 0


def _changes(work: _HeldWork, whole: _HeldWork) -> bool:
    """Whether a later and smaller one begins a part anew that the whole one has: "def total(self):"."""
    return len(work.lines) < _WHOLE * len(whole.lines) and any(line.endswith(_OPENING) for line in work.lines & whole.lines)

"""Recall for a request for a summary of everything, or for the conversation's beginning.

This module selects passages that cover everything that was folded, or what came first. Passages that bear on a question are
ranked in ``ranking``, ``quote_choice`` counts how many fit, and ``text.dialogue.requests`` recognises such requests.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from turnfold.compression import lazy
from turnfold.compression.recall.fence import FRAME
from turnfold.compression.recall.passage_index import PassageIndex
from turnfold.compression.recall.question import has_content
from turnfold.compression.recall.ranked_quotes import RankedQuotes, in_front
from turnfold.compression.recall.tuning import Tuning
from turnfold.compression.text import words
from turnfold.compression.text.passages import estimate, sentences
from turnfold.compression.text.quotes import Quotable, Quote
from turnfold.compression.text.spans import QUESTION_MARKS


def cover(index: PassageIndex, sources: Sequence[Quotable], room: float, tuning: Tuning) -> RankedQuotes:
    """Quotes that cover all of the conversation.

    The conversation is divided into as many equal parts as fit. From each comes the most informative passage, cut to its first
    sentences if it is long; remaining room goes to the other passages.
    """
    parts = int(max(1, min(room / tuning.cover_least, tuning.cover_parts), room / tuning.cover_tokens))
    at = np.cumsum(index.costs) - index.costs / 2
    part = np.minimum((at / max(float(index.costs.sum()), 1e-9) * parts).astype(np.int64), parts - 1)
    value = np.log1p(index.words.lengths) * np.where(index.asking, tuning.cover_asking, 1.0)
    order = np.lexsort((-value, part))
    first = np.concatenate([[True], np.diff(part[order]) > 0])
    beginnings = tuple(first_sentences(sources, index.quotes[i], room / parts - FRAME) for i in order[first].tolist())
    worth = np.append(value, value.max() + np.arange(len(beginnings), 0, -1))
    return RankedQuotes(np.arange(len(worth)), worth, beginnings)


_GIVEN: Final = 200  # most tokens for a message at the beginning, or its answer


def beginning(ranking: RankedQuotes, sources: Sequence[Quotable], messages: int, room: float) -> RankedQuotes:
    """A ranking with the user's first `messages` messages in front, and the answer to the last of them."""
    asked = [n for n, source in enumerate(sources) if source.role == "user" and source.text.strip()][:messages]
    answer = asked[-1] + 1 if asked else len(sources)
    if answer < len(sources) and sources[answer].role == "assistant" and sources[answer].text.strip():
        asked.append(answer)
    each = min(_GIVEN, room / max(1, len(asked)) - FRAME)
    quotes = [first_sentences(sources, Quote(n, 0, len(sources[n].text)), each) for n in asked]
    return in_front(ranking, quotes)


# A call with which an agent writes down what is to be done (Claude Code, Codex, LangChain, Cline), and the beginning of its JSON.
_PLAN: Final = lazy.pattern(r"^(?=\w++ [{\[])\w*?(?:todo|update_plan|task_progress|set_plan)", re.IGNORECASE | re.MULTILINE)


def users_first(ranking: RankedQuotes, index: PassageIndex, sources: Sequence[Quotable], room: float) -> RankedQuotes:
    """A cover with the user's messages in front, and the newest to-do list: they matter most to whoever continues from a summary.

    If they do not all fit, the longest are cut to their beginnings.
    """
    said = [Quote(n, 0, len(s.text)) for n, s in enumerate(sources) if s.role == "user" and _says_something(n, sources)]
    said += _plan(sources)
    if not said:
        return ranking
    level = even_level([estimate(sources[n].text[start:end]) + FRAME for n, start, end in said], room)
    quotes = [first_sentences(sources, quote, level - FRAME) for quote in said]
    told = {quote.source: quote for quote in quotes}
    covered = [_is_in(quote, told.get(quote.source)) for quote in (*index.quotes, *ranking.more)]
    # The task first, then the newest: if the room is short after all, messages in between are dropped.
    top = [len(quotes), *range(1, len(quotes))]
    worth = np.concatenate([ranking.worth, ranking.worth.max() + np.array(top, np.float64)])
    kept = np.flatnonzero(~np.array(covered, bool))
    return RankedQuotes(np.append(kept, np.arange(len(covered), len(worth))), worth, (*ranking.more, *quotes))


def _says_something(n: int, sources: Sequence[Quotable]) -> bool:
    """Whether a message says more than "okay, go on". Any answer to a question does, however short."""
    answers = n > 0 and sources[n - 1].text.rstrip().endswith(QUESTION_MARKS)
    return bool(sources[n].text.strip()) and (answers or has_content(words.fold(sources[n].text)))


def _plan(sources: Sequence[Quotable]) -> list[Quote]:
    """The newest to-do list, if there is one."""
    for n in range(len(sources) - 1, -1, -1):
        found = _PLAN.search(sources[n].text) if sources[n].role == "assistant" else None
        if found is not None:
            return [Quote(n, found.start(), len(sources[n].text))]
    return []


def _is_in(quote: Quote, other: Quote | None) -> bool:
    return other is not None and other.start <= quote.start and quote.end <= other.end


def even_level(sizes: Sequence[float], room: float) -> float:
    """The common size limit at which several things together fit into the room."""
    left, count = room, len(sizes)
    for size in sorted(sizes):
        if size * count > left:
            return left / count
        left, count = left - size, count - 1
    return max(sizes)


def first_sentences(sources: Sequence[Quotable], quote: Quote, room: float) -> Quote:
    """The first sentences of a quote that fit into this many tokens, at least one."""
    text = sources[quote.source].text
    end = quote.start
    for start, stop in sentences(text, quote.start, quote.end):
        if end > quote.start and estimate(text[quote.start : stop]) > room:
            break
        end = max(stop, start)
    return Quote(quote.source, quote.start, end)

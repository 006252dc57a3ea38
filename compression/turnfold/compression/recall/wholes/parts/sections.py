"""Sections of a long text, for a question that names them: "what does section 4.2 say?", "explain the part on refunds".

This module decides which text is meant, and what is quoted of it. Where sections are, and what a message names, is read in
``text.dialogue.wanted.sections``. Parts by their place are found in ``placed_parts``, texts that are asked for whole in
``works``.

Among texts with that section, the one that shares most words with the question is meant, among equals the newest. A pasted
section comes with what an answer has written in its place since. A section that is too long is quoted with the beginning of each
of its paragraphs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from turnfold.compression.memo import of_each
from turnfold.compression.recall.fence import quote_tokens
from turnfold.compression.recall.question import content_words
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.request import BESIDE, WholeRequest
from turnfold.compression.recall.wholes.spread_works import fitting_spread, joined
from turnfold.compression.text import words
from turnfold.compression.text.dialogue.pasted_pieces import named_piece, newest_pieces
from turnfold.compression.text.dialogue.wanted.places import NamedParts, placed
from turnfold.compression.text.dialogue.wanted.sections import (
    HeadedSection,
    NamedSections,
    asks_for_contents,
    is_named,
    may_be_listed,
    named_sections,
    part_within,
    text_sections,
)
from turnfold.compression.text.passages import estimate
from turnfold.compression.text.quotes import Quotable, Quote

_LONG: Final = 1_000  # tokens of a text from which a section is quoted alone
_FEWEST: Final = 3  # sections of such a text
_OPENING: Final = 600  # characters at the start of a text that reveal its subject
_LITTLE: Final = 4  # words of a question besides the title, with which it is about nothing else
_MOST: Final = 4_000  # tokens


class _Meant(NamedTuple):
    source: int
    section: HeadedSection


def find_sections(asked: WholeRequest) -> FoundWork:
    """The sections that a question names, from texts too long to be quoted whole."""
    sources, behind, question, room, count, memo = asked
    named = named_sections(question)
    if not (named.numbers or named.said or named.joined):
        return FoundWork()
    held = of_each(memo, "sections", sources, _sections)
    if asks_for_contents(question):
        return _headings(held, asked)
    if (piece := named_piece(words.fold(question), sources, memo)) is not None:
        quotes, tokens = fitting_spread(sources, [Quote(piece, 0, len(sources[piece].text))], min(room, _MOST), count)
        return FoundWork(tuple(quotes), (), tokens, beside=BESIDE)
    meant = _requested(held, sources, named, question)
    if not meant or any(_has(source, meant) for source in behind):
        return FoundWork()
    if may_be_listed(named) and any(_lists(source, named) for source in [*sources, *behind][meant[-1].source + 1 :]):
        return FoundWork()
    newer = [n for n in range(meant[-1].source + 1, len(sources)) if not held[n] and _has(sources[n], meant)]
    places = [(n, part) for n, one in meant for part in part_within(sources[n].text, one.place, named.within)]
    quotes = [Quote(n, *part) for n, part in places]
    quotes += [Quote(n, 0, len(sources[n].text)) for n in newer[-1:]]
    chosen, tokens = fitting_spread(sources, joined(sources, quotes), min(room, _MOST), count)
    said = {word for one in meant for word in one.section.title}
    asks_more = len(set(content_words(words.fold(question))) - said) > _LITTLE and not named.numbers
    return FoundWork(tuple(chosen), (), tokens, beside=None if asks_more else BESIDE)


def _headings(held: Sequence[Sequence[HeadedSection]], asked: WholeRequest) -> FoundWork:
    """The headings of the newest text with several; only the upper levels if not all fit."""
    pieces = newest_pieces(asked.sources, asked.memo)
    holding = [n for n, sections in enumerate(held) if sections][-1:]
    texts = pieces if pieces[-1:] >= tuple(holding) else holding
    heads = [(n, one) for n in texts for one in held[n] or text_sections(asked.sources[n].text)]
    for level in sorted({one.level for _, one in heads}, reverse=True):
        quotes = [Quote(n, *one.head) for n, one in heads if one.level <= level]
        tokens = quote_tokens(quotes, asked.sources, asked.count)
        if len(quotes) >= _FEWEST and tokens <= asked.room:
            return FoundWork(tuple(quotes), (), tokens, beside=BESIDE)
    return FoundWork()


def _sections(source: Quotable) -> tuple[HeadedSection, ...]:
    if len(source.text) <= _LONG or estimate(source.text) < _LONG:
        return ()
    found = text_sections(source.text)
    return tuple(found) if len(found) >= _FEWEST else ()


def _requested(
    held: Sequence[Sequence[HeadedSection]], sources: Sequence[Quotable], named: NamedSections, question: str
) -> list[_Meant]:
    """The named sections of one text; by title if a title is named."""
    holding = [(n, sections) for n, sections in enumerate(held) if sections]
    told = set(content_words(words.fold(question))) if holding else set()
    for by_title in (True, False):
        found = [(n, [one for one in sections if is_named(one, named, by_title=by_title)]) for n, sections in holding]
        found = [(n, sections) for n, sections in found if sections and not (by_title and _share_title(sections, named))]
        if found:
            n, sections = max(found, key=lambda one: (len(told & about(sources, one[0])), one[0]))
            return [_Meant(n, one) for one in _longest(sections)]
    return [] if may_be_listed(named) else _counted(holding[-1:], named)


def _share_title(sections: Sequence[HeadedSection], named: NamedSections) -> bool:
    """Whether a title that is not in quotation marks stands over several long sections, as a document's name over each of its
    paragraphs. Then it tells none of them.
    """
    sizes: dict[tuple[str, ...], list[HeadedSection]] = {}
    for one in sections:
        if one.title not in named.quoted:
            sizes.setdefault(one.title, []).append(one)
    return any(len([one for one in alike if _stands_beside(one, max(alike, key=_size))]) > 1 for alike in sizes.values())


def _stands_beside(one: HeadedSection, longest: HeadedSection) -> bool:
    """Whether a section is the longest one of its title, or about as long and not a part of it."""
    is_part = longest.place[0] < one.place[0] < longest.place[1]
    return 2 * _size(one) >= _size(longest) and not is_part


def _counted(holding: Sequence[tuple[int, Sequence[HeadedSection]]], named: NamedSections) -> list[_Meant]:
    """The chapters of a text that numbers refer to by order, if the chapters are not numbered."""
    found: list[_Meant] = []
    for n, sections in holding:
        level = Counter(one.level for one in sections).most_common(1)[0][0]
        chapters = [one for one in sections if one.level == level]
        if not any(one.number for one in sections):
            found += [
                _Meant(n, chapters[int(one) - 1]) for one in named.numbers if one.isdigit() and 0 < int(one) <= len(chapters)
            ]
    return found


def _longest(sections: Sequence[HeadedSection]) -> list[HeadedSection]:
    """Of sections with the same number or title, the longest: the others are lines of a table of contents, or list items."""
    best: dict[tuple[str, tuple[str, ...]], HeadedSection] = {}
    for one in sections:
        key = (one.number, () if one.number else one.title)
        if key not in best or _size(one) > _size(best[key]):
            best[key] = one
    return sorted(best.values(), key=lambda one: one.place)


def _size(section: HeadedSection) -> int:
    return section.place[1] - section.place[0]


def _lists(source: Quotable, named: NamedSections) -> bool:
    """Whether a shorter text has items with the named numbers: a later list is the likelier meaning."""
    numbers = tuple(int(one) for one in named.numbers if one.isdigit())
    is_short = source.role in ("user", "assistant") and estimate(source.text) < _LONG
    return bool(numbers) and is_short and bool(placed(source.text, NamedParts("item", numbers)))


def _has(source: Quotable, meant: Sequence[_Meant]) -> bool:
    """Whether a short text is a new version of one of the sections."""
    if source.role != "assistant" or estimate(source.text) >= _LONG:
        return False
    return any(
        (new.number, new.title) == (one.section.number, one.section.title) for new in text_sections(source.text) for one in meant
    )


def about(sources: Sequence[Quotable], n: int) -> set[str]:
    """The words that identify a text: those of its beginning, and of the message just before it."""
    before = sources[n - 1].text[-_OPENING:] if n else ""
    return set(words.words(words.fold(f"{before}\n{sources[n].text[:_OPENING]}")))

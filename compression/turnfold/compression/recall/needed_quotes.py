"""Quotes with the sentences that limit, correct or introduce them, as many as fit.

This module completes passages of a longer message within a budget. Which sentence needs which is known to ``text.statements``;
which passages are the best, to ``ranking``.

A message that is quoted whole needs nothing. Of a longer one only the lines are read from which a passage was chosen, each once
for all questions.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from turnfold.compression.recall.fence import FRAME
from turnfold.compression.recall.passage_index import Ints, PassageIndex
from turnfold.compression.scorers.bm25 import distinct
from turnfold.compression.text.dialogue.transcripts import STAMPED, TIMED
from turnfold.compression.text.dialogue.wanted.code_files import FilePart, file_parts
from turnfold.compression.text.escapes import with_breaks
from turnfold.compression.text.heads import SPEAKER
from turnfold.compression.text.quotes import Quotable, Quote
from turnfold.compression.text.spans import Span
from turnfold.compression.text.statements import limits
from turnfold.compression.text.ties.framed import Governing
from turnfold.compression.text.ties.marked_lines import openings
from turnfold.compression.text.ties.pieces import ITEM
from turnfold.compression.text.ties.side_by_side import side_by_side
from turnfold.compression.text.ties.status import limiting_heading, limiting_settings, page_status
from turnfold.compression.text.writers import WrittenBy, written_by

Range = tuple[int, int]
#: Ranges of the message that a passage depends on, by the passage's number.
Needs = dict[int, tuple[Range, ...]]

#: Passages of a line that are read together, with this many before and after them.
_ANNOUNCING: Final = (":", "：", ":**", ":*", ":__")
_CELL: Final = 4
_BEFORE: Final = 2
_BEHIND: Final = 3
#: Kinds of statements in prose; of data, any part may be quoted.
_SPOKEN: Final = frozenset(("", "label", "heading"))
_FARTHEST: Final = 1500  # characters between a line and the one that introduces it
_LINES_SAID: Final = 12  # lines of one message of a chat
_INTRODUCING: Final = (":", "：")
_LONGEST_HEAD: Final = 80  # characters of the line above a list
_STOPS: Final = frozenset(".!。！")
_LEADING: Final = (":\n", "：\n")


class _Window(NamedTuple):
    """Passages of a line, with the surrounding ones they are read with."""

    cell: range
    around: range


class ChosenQuote(NamedTuple):
    """A chosen quote, its tokens with its label, and the ranges it depends on."""

    quote: Quote
    cost: int
    needs: tuple[Range, ...]


def complete(chosen: Sequence[ChosenQuote], sources: Sequence[Quotable], room: int, count: Callable[[str], int]) -> list[Quote]:
    """As many quotes as fit together with everything they depend on, in the order of the conversation.

    Args:
        chosen: the quotes, best first.
        room: most tokens for the quotes with their labels.
    """
    taken: dict[int, tuple[list[Range], int]] = {}
    sizes: dict[str, int] = {}
    for (source, start, end), alone, needed in chosen:
        sizes[sources[source].text[start:end]] = alone - FRAME
        had, paid = taken.get(source, ([], 0))
        new, cost = [(start, end)], alone
        if had or needed:
            text = sources[source].text
            new = _apart(text, [*had, *new, *needed])
            said = [text[start:end] for start, end in new]
            sizes |= {one: count(one) for one in said if one not in sizes}
            cost = sum(sizes[one] + FRAME for one in said)
        if cost - paid <= room:
            room -= cost - paid
            taken[source] = new, cost
    return [Quote(source, start, end) for source in sorted(taken) for start, end in taken[source][0]]


def _apart(text: str, ranges: Sequence[Range]) -> list[Range]:
    """The ranges in order; ranges that overlap or have only white space between them are merged."""
    found: list[Range] = []
    for start, end in sorted(ranges):
        if found and (start <= found[-1][1] or text[found[-1][1] : start].isspace()):
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def needs(chosen: Ints, index: PassageIndex, sources: Sequence[Quotable]) -> Needs:
    """The ranges that each of the passages depends on, by number. Passages that depend on nothing are left out."""
    known: Needs = index.derived("needs", dict)
    parts = chosen[~index.whole[chosen]]
    if new := [number for number in parts.tolist() if number not in known]:
        said: dict[int, set[Range]] = index.derived("said", dict)  # for all passages of a cell, even if only one was requested
        cells = [begin for begin in _cell_begins(np.array(new, np.int64), index) if begin not in said]
        windows = [_window(begin, index, sources) for begin in cells]
        said |= {begin: set() for begin in cells}
        said |= _read([window for window in windows if len(window.around) > 1], index, sources)
        for number in new:
            source, start, end = index.quotes[number]
            text = _shown(source, sources, index)
            head = _head(index.quotes[int(index.blocks[number])].start, text)
            said_by = [*_speaker(start, text), *_writer(start, source, text, index)]
            wanted = {*said.get(number, ()), *head, *said_by, *_around(start, source, text, index)}
            wanted.update(limiting_heading(start, text), limiting_settings(start, text), _status(start, source, text, index))
            wanted.update(_governing(start, end, source, text, index))
            wanted.update(_file_line(start, source, sources, index))
            wanted.update(_columns(start, end, source, text, index))
            wanted.update(_announced(number, text, index))
            known[number] = tuple(sorted(one for one in wanted if not (start <= one[0] and one[1] <= end)))
    return {number: known[number] for number in parts.tolist() if known[number]}


def _announced(number: int, text: str, index: PassageIndex) -> tuple[Range, ...]:
    """The text after a passage that ends with a colon and says nothing alone: "you could also try the following:"."""
    source, _, end = index.quotes[number]
    if number + 1 == len(index.quotes) or index.quotes[number + 1].source != source:
        return ()
    return (index.quotes[number + 1][1:],) if text[:end].endswith(_ANNOUNCING) else ()


def _cell_begins(numbers: Ints, index: PassageIndex) -> list[int]:
    """The first passages of the cells into which the passages' lines are divided."""
    begins: list[int] = distinct(numbers - (numbers - index.blocks[numbers]) % _CELL).tolist()
    return begins


def _window(begin: int, index: PassageIndex, sources: Sequence[Quotable]) -> _Window:
    """The passages to read for the cell that begins with a passage.

    If a paragraph has one sentence a line, the next lines are included.
    """
    line = int(index.blocks[begin])
    most = begin + _CELL + _BEHIND
    stop = begin + int(index.blocks[begin:most].searchsorted(line, "right"))
    cell = range(begin, min(stop, begin + _CELL))
    source = index.quotes[begin].source
    text = _shown(source, sources, index)
    most = min(most, len(index.quotes))
    while stop < most and _is_followed(index.quotes[stop - 1], index.quotes[stop], text):
        stop += 1
    return _Window(cell, range(max(line, begin - _BEFORE), stop))


def _is_followed(quote: Quote, after: Quote, text: str) -> bool:
    """Whether a passage ends its sentence and the next one follows on the same or the next line; in a chat, a line ends a
    sentence.
    """
    if quote.source != after.source:
        return False
    said = text[quote.start : after.start]
    ended = said.rstrip()
    is_ended = ended[-1:] in _STOPS or STAMPED.match(text, after.start) is not None
    return is_ended and said.count("\n", len(ended)) <= 1


def _read(windows: Sequence[_Window], index: PassageIndex, sources: Sequence[Quotable]) -> dict[int, set[Range]]:
    """For each passage, the ranges of its statements and of those they depend on, found by reading the windows."""
    quotes = index.quotes
    begins = [quotes[around[0]] for _, around in windows]
    ends = [quotes[around[-1]].end for _, around in windows]
    texts = [_shown(at, sources, index)[start:end] for (at, start, _), end in zip(begins, ends, strict=True)]
    found: dict[int, set[Range]] = {}
    for (cell, around), text, read in zip(windows, texts, limits(texts), strict=True):
        begin = quotes[around[0]].start
        starts = [quotes[number].start - begin for number in around]
        for (start, end, kind), needed in zip(read.spans, read.needs, strict=True):
            inside = around[max(0, bisect_right(starts, start) - 1) : bisect_left(starts, end)]
            if kind in _SPOKEN and (needed or len(inside) > 1):
                wanted = [_trimmed(text, begin, read.spans[i]) for i in needed if read.spans[i].kind in _SPOKEN]
                own = _trimmed(text, begin, Span(start, end))
                for number in cell:
                    if number in inside:
                        found.setdefault(number, set()).update((own, *wanted))
    return found


def _trimmed(text: str, begin: int, span: Span) -> Range:
    """The range of a statement in a part of a message that begins at `begin`, without surrounding white space."""
    said = text[span.start : span.end]
    start = begin + span.start + len(said) - len(said.lstrip())
    return start, max(start, begin + span.start + len(said.rstrip()))


def _speaker(at: int, text: str) -> list[Range]:
    """The line that says who wrote a part of a multi-line message and when, if it is a few lines above at most."""
    end = text.rfind("\n", 0, at) + 1
    if end < at or SPEAKER.match(text, at) or TIMED.match(text, at):
        return []
    for _ in range(_LINES_SAID):
        start = text.rfind("\n", 0, end - 1) + 1
        if not end or text[start:end].isspace():
            return []
        found = SPEAKER.match(text, start, end) or STAMPED.match(text, start, end)
        if found:
            return [(start, start + len(found[0].rstrip()))]
        end = start
    return []


def _shown(source: int, sources: Sequence[Quotable], index: PassageIndex) -> str:
    """A message's text as it was divided into passages: with its escaped line breaks turned into line breaks."""
    text = sources[source].text
    if "\\n" not in text:
        return text
    known: dict[int, str] = index.derived("breaks", dict)
    if source not in known:
        known[source] = with_breaks(text)
    return known[source]


def _writer(at: int, source: int, text: str, index: PassageIndex) -> list[Range]:
    """The lines above or below a part of a message that name its author."""
    known: dict[int, WrittenBy] = index.derived("writers", dict)
    if source not in known:
        known[source] = written_by(text)
    named = known[source].below(at) or known[source].above(at)
    return [(named[0], named[0] + len(text[slice(*named)].rstrip()))] if named else []


def _status(at: int, source: int, text: str, index: PassageIndex) -> Iterator[Range]:
    """The lines at the top of a message that say how to read all of it."""
    known: dict[int, list[Range]] = index.derived("status", dict)
    if source not in known:
        known[source] = page_status(text)
    return (line for line in known[source] if line[1] <= at)


def _file_line(at: int, source: int, sources: Sequence[Quotable], index: PassageIndex) -> Iterator[Range]:
    """The line that names the file of a passage, in a message with several files."""
    known: dict[int, list[FilePart]] = index.derived("files", dict)
    if source not in known:
        known[source] = file_parts(sources[source].text) if sources[source].role in ("user", "assistant") else []
    if len(known[source]) > 1:
        yield from (file.line for file in known[source] if file.place[0] <= at < file.place[1])


def _columns(start: int, end: int, source: int, text: str, index: PassageIndex) -> Iterator[Range]:
    """All parts of the sentences that a passage of side-by-side columns contains in part."""
    for parts in _sentences_in_columns(source, text, index):
        if len(parts) > 1 and any(at < end and start < stop for at, stop in parts):
            yield from parts


def _sentences_in_columns(source: int, text: str, index: PassageIndex) -> list[tuple[Range, ...]]:
    known: dict[int, list[tuple[Range, ...]]] = index.derived("columns", dict)
    if source not in known:
        known[source] = [*chain.from_iterable(side_by_side(text))]
    return known[source]


def _around(at: int, source: int, text: str, index: PassageIndex) -> list[Range]:
    """The opening lines of the blocks of settings, elements and requests around a line, outermost first."""
    known: dict[int, dict[int, tuple[Range, ...]]] = index.derived("around", dict)
    if source not in known:
        known[source] = openings(text)
    return [*known[source].get(text.rfind("\n", 0, at) + 1, ())]


def _governing(start: int, end: int, source: int, text: str, index: PassageIndex) -> Iterator[Range]:
    """The lines that say how to read those of a passage, on a page that is not running prose."""
    known: dict[int, Governing] = index.derived("governing", dict)
    if source not in known:
        known[source] = Governing("" if _sentences_in_columns(source, text, index) else text)
    return known[source].of(start, end)


def _head(at: int, text: str) -> list[Range]:
    """The line with a colon that introduces the paragraph or a line further down in it; or the line above a list."""
    least = max(0, at - _FARTHEST)
    paragraph = max(least, text.rfind("\n\n", least, at) + 1)
    end = max(text.rfind(sign, paragraph, at) for sign in _LEADING) + 1
    if not end:
        above = text[least:paragraph].rstrip()
        if not above.endswith(_INTRODUCING):
            return _list_head(at, text) if ITEM.match(text, text.rfind("\n", least, at) + 1) else []
        end = least + len(above)
    start = text.rfind("\n", least, end) + 1
    return [(start, end)] if " " in text[start:end].strip() else []  # a single word is the name of a value


def _list_head(at: int, text: str) -> list[Range]:
    """The line without a colon above the list that an item belongs to: "Fixed", "Not in this release"."""
    least = max(0, at - _FARTHEST)
    end = text.rfind("\n", least, at) + 1
    while end > least:
        start = text.rfind("\n", least, end - 1) + 1
        line = text[start:end].strip()
        is_item = ITEM.match(text, start) is not None
        if line and not is_item and not text[start].isspace():
            return [(start, end - 1)] if len(line) <= _LONGEST_HEAD and line[-1] not in _STOPS else []
        if not line:
            return []
        end = start
    return []

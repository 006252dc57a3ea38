"""Named blocks of pasted data: "show me the gateway service", "what changed in auth.py?", "which tables are there?".

This module decides which text and which of its blocks are meant, and what is quoted of them. Where a text has blocks, and what a
message names, is read in ``text.dialogue.wanted.keyed_blocks``.

A word names a block if few blocks have it; among these, the ones with most of the question's other words in the lines above them
are meant. Each is quoted with the first lines of the blocks around it, since "memory" alone belongs to nothing. A block that is
too long is quoted with the lines that the question names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from turnfold.compression.memo import Memo, of_each
from turnfold.compression.recall.fence import quote_tokens
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.parts.sections import about
from turnfold.compression.recall.wholes.request import BESIDE, WholeRequest
from turnfold.compression.recall.wholes.spread_works import fitting_spread, joined
from turnfold.compression.text import words
from turnfold.compression.text.dialogue.wanted.keyed_blocks import (
    KeyedBlock,
    NamedKeys,
    first_words,
    holding,
    is_named,
    keyed_blocks,
    lines_valued,
    lines_with,
    may_name_keys,
    mentions,
    named_keys,
    path_of,
    single_values,
)
from turnfold.compression.text.dialogue.wanted.versions import NEWEST, VERSION_WORDS, Versions, asked_versions
from turnfold.compression.text.passages import estimate
from turnfold.compression.text.quotes import Quotable, Quote

_LONG: Final = 300  # tokens of a text from which a single block is quoted alone
_FEWEST: Final = 3  # blocks of such a text
_FEW: Final = 4  # blocks that a word may name
_SHARE: Final = 0.05  # or this share of all
_FEW_AROUND: Final = 2  # lines
_KIND: Final = 3  # blocks from which a word names their kind
_SHORT: Final = 4  # words of a question that says little else
_LITTLE: Final = 4  # other words, with which it is about nothing else
_LISTING: Final = 6  # words of a question that asks for a list
_PART: Final = 3  # share of a question's words that must be names: one in this many
_HEADING: Final = 6  # lines of a block that may contain its name
_MOST_LINES: Final = 40
_MOST: Final = 1_500  # tokens
_VALUE: Final = 250  # bytes of a line's value with its position


class _MeantBlocks(NamedTuple):
    """A text with blocks, and the blocks that are meant."""

    source: int
    blocks: Sequence[KeyedBlock]
    meant: tuple[int, ...]
    terms: frozenset[str]
    is_plain: bool = True


def find_keyed_blocks(asked: WholeRequest) -> FoundWork:
    """The blocks that a question names, from data too long to be quoted whole."""
    sources, behind, question, room, count, memo = asked
    every = [*sources, *behind]
    blocks = of_each(memo, "blocks of long texts", every, _blocks_of_long) if may_name_keys(question) else []
    if not any(blocks):
        return FoundWork()
    named = named_keys(question)
    if not named.terms:
        return FoundWork()
    long = [n for n, found in enumerate(blocks) if found]
    room = min(room, _MOST)
    told = named.said - VERSION_WORDS
    held = [one for n in long if (one := _requested(n, every[n].text, blocks[n], named, told))]
    if not held:
        asks_for_list = named.lists and len(told) <= _LISTING
        return _listed(asked._replace(room=room), blocks, long, named, len(told)) if asks_for_list else FoundWork()
    chosen = [*_chosen(held, every, told, asked_versions(words.fold(question)) or NEWEST)]
    if not chosen or any(one.source >= len(sources) for one in chosen):
        return FoundWork()
    quotes = _quoted(chosen, sources, named.terms, room, count)
    short = of_each(memo, "blocks of short texts", sources, _blocks_of_short)
    quotes = joined(sources, [*quotes, *(quote for one in chosen for quote in _newer(one, short))])
    quoted = " ".join(sources[one.source].text[one.start : one.end] for one in quotes)
    others = told - set(words.words(words.fold(quoted))) - named.terms
    fitting, tokens = fitting_spread(sources, quotes, room, count)
    is_all = len(others) <= _LITTLE and chosen[0].is_plain
    return FoundWork(tuple(fitting), (), tokens, beside=BESIDE if is_all else None)


def _chosen(
    held: Sequence[_MeantBlocks], every: Sequence[Quotable], told: frozenset[str], versions: Versions
) -> Iterator[_MeantBlocks]:
    """The requested versions of the texts that match most names, then those of texts that match the remaining names.

    Forms of one text name the same blocks.
    """
    left, told_of = [*held], {one.source: len(told & about(every, one.source)) for one in held}
    while left:
        nearest = max(left, key=lambda one: (len(one.terms), told_of[one.source], one.source))
        forms = [one for one in left if one.terms == nearest.terms]
        yield from (forms[n] for n in versions if -len(forms) <= n < len(forms))
        left = [one for one in left if one.is_plain and one.terms.isdisjoint(nearest.terms)]


def _blocks_of_long(source: Quotable) -> tuple[KeyedBlock, ...]:
    found = keyed_blocks(source.text, _FEWEST) if _is_long(source) else []
    return tuple(found) if len(found) >= _FEWEST else ()


def _blocks_of_short(source: Quotable) -> tuple[KeyedBlock, ...]:
    return () if _is_long(source) else tuple(keyed_blocks(source.text, 1))


def _is_long(source: Quotable) -> bool:
    return len(source.text) > _LONG and estimate(source.text) >= _LONG


def _requested(n: int, text: str, blocks: Sequence[KeyedBlock], named: NamedKeys, told: frozenset[str]) -> _MeantBlocks | None:
    """The blocks of a text that a question names: explicitly, by a word of code or several words, or by a word for few blocks."""
    by_term: dict[str, list[int]] = {}
    for at, block in enumerate(blocks):
        for term in is_named(block, named.terms):
            by_term.setdefault(term, []).append(at)
    for whole in [term for term in by_term if term in named.joined]:
        for part in named.joined[whole]:
            by_term.pop(part, None)
    for part, lasts in named.parts.items():
        ends = {at for last in lasts for at in by_term.get(last, ())}
        by_term[part] = [at for at in by_term.pop(part, ()) if at in ends]
    by_term = {term: found for term, found in by_term.items() if found}
    telling = {term: found for term, found in by_term.items() if len(found) <= max(_FEW, _SHARE * len(blocks))}
    meant: set[int] = set()
    for found in telling.values():
        shared = {at: len(_on_path(blocks, at, named.terms)) for at in found}
        meant.update(at for at in found if shared[at] == max(shared.values()))
    meant = _apart(blocks, meant or _where_they_meet(blocks, by_term), named.terms)
    if not meant:
        return None
    known = frozenset().union(*(_on_path(blocks, at, named.terms) for at in meant))
    terms = frozenset(telling) or known
    known |= told & frozenset().union(*(first_words(text, blocks[at].place) for at in meant))
    is_plain = (len(known) > 1 and _PART * len(known) >= len(told)) or not named.sure.isdisjoint(terms)
    return _MeantBlocks(n, blocks, tuple(sorted(meant)), terms, is_plain) if is_plain or len(told) <= _SHORT else None


def _where_they_meet(blocks: Sequence[KeyedBlock], by_term: Mapping[str, Sequence[int]]) -> set[int]:
    """If each term names many blocks, those that several terms name; empty if these are many too.

    "The ConfigMap of ledger" is one of many ConfigMaps and one of many blocks of ledger.
    """
    met = Counter(at for found in by_term.values() for at in found)
    most = max(met.values(), default=0)
    found = {at for at, number in met.items() if number == most} if most > 1 else set()
    return found if len(found) <= _FEW else set()


def _apart(blocks: Sequence[KeyedBlock], meant: set[int], terms: frozenset[str]) -> set[int]:
    """For nested blocks, the inner ones, if they have a name of their own."""
    apart: set[int] = set()
    for at in meant:
        path = path_of(blocks, at)
        if meant.isdisjoint(path) or not is_named(blocks[at], terms) <= _on_path(blocks, path[-1], terms):
            apart.add(at)
    return apart - {above for at in apart for above in path_of(blocks, at)}


def _on_path(blocks: Sequence[KeyedBlock], at: int, terms: frozenset[str]) -> frozenset[str]:
    return frozenset().union(*(is_named(blocks[one], terms) for one in (*path_of(blocks, at), at)))


def _heads(blocks: Sequence[KeyedBlock], at: int) -> Iterator[tuple[int, int]]:
    return (blocks[above].head for above in path_of(blocks, at))


def _quoted(
    chosen: Iterable[_MeantBlocks], sources: Sequence[Quotable], terms: frozenset[str], room: int, count: Callable[[str], int]
) -> tuple[Quote, ...]:
    """The blocks, with the lines around them. Of blocks that are too long, only the lines that the question names."""
    whole, lines = list[Quote](), list[Quote]()
    for one in chosen:
        text = sources[one.source].text
        for at in one.meant:
            block = one.blocks[at]
            above = [Quote(one.source, *place) for place in _heads(one.blocks, at)]
            above += _lines(one, _around(one, at, text, terms))
            whole += [*above, Quote(one.source, *block.place)]
            lines += [*above, Quote(one.source, *block.head)]
            lines += _lines(one, _inside(one, block, text, terms - is_named(block, terms)))
            whole += _outside(one, text, block.keys & one.terms)
    found = joined(sources, whole)
    if quote_tokens(found, sources, count) <= room:
        return found
    some = joined(sources, lines)
    return some if any(quote not in whole for quote in some) and quote_tokens(some, sources, count) <= room else found


def _lines(held: _MeantBlocks, places: Iterable[tuple[int, int]]) -> Iterator[Quote]:
    for place in places:
        at = holding(held.blocks, place[0])
        yield from (Quote(held.source, *one) for one in (*_heads(held.blocks, at), held.blocks[at].head, place))


def _inside(held: _MeantBlocks, block: KeyedBlock, text: str, terms: frozenset[str]) -> Sequence[tuple[int, int]]:
    """The lines of a block with one of the terms as a key, else in a value; else the first lines of the blocks within."""
    inside = (block.head[1], block.place[1])
    found = lines_with(text, inside, terms) or lines_valued(single_values(text, inside), terms)
    return found or [one.head for one in held.blocks if one.above >= 0 and held.blocks[one.above] is block]


def _around(held: _MeantBlocks, at: int, text: str, terms: frozenset[str]) -> Sequence[tuple[int, int]]:
    """The lines with a requested key that the block lacks, from the nearest enclosing block that has it.

    Example: an address in the status of a pod, for one of its containers. Empty if many lines have the key, as in a list.
    """
    asked = terms - _on_path(held.blocks, at, terms)
    place = held.blocks[at].place
    if not asked or lines_with(text, place, asked):
        return ()
    for above in reversed(path_of(held.blocks, at)):
        if found := lines_with(text, held.blocks[above].place, asked):
            return found if len(found) <= _FEW_AROUND else ()
    return ()


def _outside(held: _MeantBlocks, text: str, terms: frozenset[str]) -> list[Quote]:
    """The lines outside of all blocks that name one, such as an index of a table; empty if they are many."""
    places = mentions(text, terms)
    apart = [place for place in places if holding(held.blocks, place[0]) < 0]
    return [Quote(held.source, *place) for place in apart] if len(apart) <= _FEW else []


def _newer(held: _MeantBlocks, short: Sequence[Sequence[KeyedBlock]]) -> list[Quote]:
    """The newest replacement of a block."""
    keys = [held.blocks[at].keys & held.terms for at in held.meant]
    for n in range(len(short) - 1, held.source, -1):
        if found := [Quote(n, *one.place) for one in short[n] if any(key and key <= one.keys for key in keys)]:
            return found
    return []


def _listed(
    asked: WholeRequest, blocks: Sequence[Sequence[KeyedBlock]], long: Sequence[int], named: NamedKeys, size: int
) -> FoundWork:
    """The first lines of all blocks of a kind, or the lines with a value that a question names, from the newest such text."""
    sources = asked.sources
    for n in reversed(long):
        found = joined(sources, _of_kind(n, sources[n], blocks[n], named, asked.memo) if n < len(sources) else ())
        if found and (tokens := quote_tokens(found, sources, asked.count)) <= asked.room:
            return FoundWork(tuple(found), (), tokens, listed=frozenset(found), beside=BESIDE if size <= _SHORT else None)
    return FoundWork()


def _telling_lines(text: str, blocks: Sequence[KeyedBlock]) -> list[tuple[int, int]]:
    """The first lines of blocks. If these are identical, the first lines that differ ("name: ..."), if there are any."""
    heads = [block.head for block in blocks]
    for _ in range(_HEADING):
        if 2 * len({text[start:end] for start, end in heads}) > len(blocks):
            return heads
        ends = [min(block.place[1], max(text.find("\n", end + 1), end)) for (_, end), block in zip(heads, blocks, strict=True)]
        heads = [(end + 1 if end < below else start, below) for (start, end), below in zip(heads, ends, strict=True)]
    return []


def _of_kind(n: int, source: Quotable, blocks: Sequence[KeyedBlock], named: NamedKeys, memo: Memo) -> list[Quote]:
    text = source.text
    of_kind = Counter(term for block in blocks for term in is_named(block, named.terms))
    for term, number in of_kind.items():
        if number >= _KIND:
            return [Quote(n, *place) for place in _telling_lines(text, [block for block in blocks if term in block.keys])]
    values = memo.get(("single values", source.key), lambda: single_values(text, (0, len(text))), lambda all_: _VALUE * len(all_))
    places = lines_valued(values, named.terms)
    inside = [one for one in places if holding(blocks, one[0]) >= 0]
    return [*_lines(_MeantBlocks(n, blocks, (), named.terms), inside)] if len(places) <= _MOST_LINES else []

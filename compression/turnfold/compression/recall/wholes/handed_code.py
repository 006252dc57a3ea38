"""Pasted code, for a request about it that names no part: "write tests for everything", "make it async".

This module decides which blocks are meant, each in its newest form. Where code is, and what it defines, is read in
``text.dialogue.wanted.code_blocks``; code that is asked for by a name is found in ``works``.

A block replaces an older one if it is at least half as long and defines at least half of what that defines, whoever wrote it; a
block that defines some of it is a change of it. If there is no room for all blocks, those are quoted of which the request names
something; if it is about all of them, what they define is quoted (``code_outline``).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from turnfold.compression.memo import of_each
from turnfold.compression.recall.fence import quote_tokens
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.parts.code_outline import find_outline
from turnfold.compression.recall.wholes.parts.code_parts import code_parts, printed_parts
from turnfold.compression.recall.wholes.request import BESIDE, WholeRequest
from turnfold.compression.text import words
from turnfold.compression.text.dialogue.wanted.code_blocks import CodeBlock, code_blocks
from turnfold.compression.text.dialogue.wanted.materials import is_about_all_code, names_all_code, needs_code
from turnfold.compression.text.quotes import Quotable, Quote

_MOST: Final = 1_500  # tokens
_HALF: Final = 2  # the share, one in so many, of a block's names that another must define to replace it
_LEAST_SIZE: Final = 0.5  # and the share of its characters


class _Handed(NamedTuple):
    """A block of code in its current form."""

    quote: Quote
    names: frozenset[str]


def find_code(asked: WholeRequest, held: frozenset[int]) -> FoundWork:
    """The code that a request is about, as users pasted it, and its later changes.

    Args:
        held: sources that are quoted anyway; if they hold such code, other code is only added if it is named.
    """
    sources, behind, folded, room, count, memo = asked
    if not needs_code(folded):
        return FoundWork()
    every = [*sources, *behind]
    now: list[_Handed] = []
    for n, blocks in enumerate(of_each(memo, "code", every, _blocks)):
        for block in blocks:
            _add(now, _Handed(Quote(n, *block.place), block.names), is_handed=every[n].role == "user")
    handed = [one for one in now if one.quote.source < len(sources)]
    said = frozenset(words.words(folded))
    named = [one for one in handed if not said.isdisjoint(_words_of(one.names))]
    if not names_all_code(folded) and not held.isdisjoint(one.quote.source for one in handed):
        handed = named
    is_general = is_about_all_code(folded)
    for some in (handed,) if is_general else (handed, named):
        quotes = tuple(sorted(one.quote for one in some if one.quote.source not in held))
        tokens = quote_tokens(quotes, sources, count)
        if tokens <= (room if is_general else min(_MOST, room)) and (some or not is_general):
            return FoundWork(quotes, (), tokens)
    if not is_general:
        return FoundWork()
    return find_outline(asked if handed else asked._replace(room=min(_MOST, room)), code_parts(memo, every))


def find_read_code(asked: WholeRequest) -> FoundWork:
    """Like `find_code`, for files that an agent's tools printed and a request about all of them."""
    if not (needs_code(asked.text) and is_about_all_code(asked.text)):
        return FoundWork()
    return find_outline(asked, printed_parts(asked.memo, [*asked.sources, *asked.behind]))._replace(beside=BESIDE)


def _blocks(source: Quotable) -> tuple[CodeBlock, ...]:
    if source.role not in ("user", "assistant"):
        return ()
    return tuple(code_blocks(source.text, is_bare=source.role == "user"))


def _add(now: list[_Handed], new: _Handed, *, is_handed: bool) -> None:
    """Replace a block by its new version, or append it if a user handed it over or it changes one."""
    shared = [len(one.names & new.names) for one in now]
    most = max(shared, default=0)
    if most and _replaces(new, now[at := shared.index(most)]):
        now[at] = new
    elif is_handed or most:
        now.append(new)


def _replaces(new: _Handed, old: _Handed) -> bool:
    long, short = (one.quote.end - one.quote.start for one in (old, new))
    return _HALF * len(old.names & new.names) >= len(old.names) and short >= _LEAST_SIZE * long


def _words_of(names: frozenset[str]) -> set[str]:
    return {word for name in names for word in words.words(words.fold(name))}

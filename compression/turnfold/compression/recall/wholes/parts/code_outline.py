"""The outline of pasted code that is too long to be quoted, for a request about all of it: "explain the architecture".

Lives here: what of it is quoted. Does not belong here: telling such a request (``text.dialogue.wanted.materials``), where files
and definitions stand (``text.dialogue.wanted.code_files``, ``code_definitions``).

A few passages that share a word with "review the code" say less of it than the names of all that it defines, under the files that
these stand in. Where even these have no room, those of the outermost level are quoted, or the names of the files alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from turnfold.compression.memo import Memo
from turnfold.compression.recall.fence import quote_tokens
from turnfold.compression.recall.wholes.parts.code_parts import code_parts
from turnfold.compression.recall.wholes.parts.edited_code import HeldCode
from turnfold.compression.recall.wholes.works import FoundWork
from turnfold.compression.text.quotes import Quotable, Quote

_DEPTHS: Final = (8, 0, -1)  # characters by which a definition may be indented; -1 for none
_FEWEST: Final = 3  # lines of an outline
_LEAST: Final = 2  # definitions of a message that names no file, whose code is no mere example


def find_outline(sources: Sequence[Quotable], room: int, count: Callable[[str], int], memo: Memo) -> FoundWork:
    """What the code of a talk defines, by file, each file and each definition in its newest form.

    Args:
        sources: what may be quoted.
        room: tokens that quotes may take.
    """
    held = code_parts(memo, sources)
    for depth in _DEPTHS:
        quotes = sorted({Quote(n, *place) for n, place in _lines(held, depth)})
        tokens = quote_tokens(quotes, sources, count)
        if len(quotes) >= _FEWEST and tokens <= room:
            return FoundWork(tuple(quotes), (), tokens)
    return FoundWork()


def _lines(held: Sequence[HeldCode], depth: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """The lines that name files, and the heads of definitions down to a depth."""
    newest = {file.path: (n, file.line) for n, parts in enumerate(held) for file in parts.files}
    yield from newest.values()
    heads: dict[tuple[str, str, str], tuple[int, tuple[int, int]]] = {}
    for n, parts in enumerate(held):
        if len(parts.definitions) < _LEAST and not parts.files:
            continue
        starts = [file.place[0] for file in parts.files]
        for one in parts.definitions:
            if one.depth <= depth:
                at = bisect_right(starts, one.place[0])
                heads[parts.files[at - 1].path if at else "", one.holder, one.name] = (n, one.head)
    yield from heads.values()

"""Code that is too long to be quoted, for a request about all of it: "explain the architecture", "review the code".

This module decides what of it is quoted. Such a request is recognised in ``text.dialogue.wanted.materials``; files and
definitions are found in ``code_files`` and ``code_definitions`` there.

A few passages that share a word with "review the code" say less than the names of everything it defines, grouped by file. If
there is no room for all names, those of the outermost level are quoted, or only the names of the files. Nobody can review or port
names, so the remaining room goes to whole files: first those on which most others depend, among these the newest.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.recall.fence import quote_tokens
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.parts.edited_code import HeldCode, OfFile, edits_of, newest_file
from turnfold.compression.recall.wholes.request import WholeRequest
from turnfold.compression.recall.wholes.spread_works import joined
from turnfold.compression.text.dialogue.wanted.code_parts import named_parts
from turnfold.compression.text.dialogue.wanted.printed_text import bare_code
from turnfold.compression.text.passages import estimate
from turnfold.compression.text.quotes import Quotable, Quote

_DEPTHS: Final = (8, 0, -1)  # greatest indentation of a definition, in characters; -1 leaves out all definitions
_FEWEST: Final = 3  # lines of an outline
_MOST_FILES: Final = 60  # that may be quoted whole
_NAME: Final = lazy.pattern(r"[A-Za-z_$][\w$]+")
_LEAST: Final = 2  # definitions in a message without file names, from which its code is more than an example


def find_outline(asked: WholeRequest, held: Sequence[HeldCode]) -> FoundWork:
    """An outline of a conversation's code by file, with each file and definition in its newest form; and as many whole files as
    fit.

    Args:
        held: the code in each message, including those after the sources.
    """
    sources, room, count = asked.sources, asked.room, asked.count
    for depth in _DEPTHS:
        outline = joined(sources, (Quote(n, *place) for n, place in _lines(held[: len(sources)], depth)))
        tokens = quote_tokens(outline, sources, count)
        if len(outline) >= _FEWEST and tokens <= room:
            break
    else:
        return FoundWork()
    quotes, chosen = outline, list[Quote]()
    for file in () if named_parts(asked.text).lists else _by_weight(_files(asked, held), sources):
        more = joined(sources, [*outline, *chosen, *file])
        size = quote_tokens(more, sources, count)
        if size <= room:
            quotes, tokens, chosen = more, size, [*chosen, *file]
    return FoundWork(quotes, (), tokens)


def _files(asked: WholeRequest, held: Sequence[HeldCode]) -> Iterator[tuple[frozenset[str], tuple[Quote, ...]]]:
    """Each file with its later changes, and the names that it defines.

    Skips files of which the request holds something newer: quotes come after that, so an older form would be the last word.
    """
    folded = len(asked.sources)
    paths = dict.fromkeys(part.path.lower() for parts in held for part in parts.files)
    for path in [*paths][-_MOST_FILES:]:
        file = newest_file(path, held)
        if file is None or file.source >= folded or estimate(text := _text(asked.sources, file)) > asked.room:
            continue
        edits = [*edits_of(bare_code(text), "", path, (file.source, file.part.place[1]), held)]
        places = [(file.source, file.part.line), (file.source, file.part.place), *file.later, *edits]
        if all(n < folded for n, _ in places):
            names = frozenset(one.name for one in held[file.source].inside(file.part.place))
            yield names, tuple(Quote(n, *place) for n, place in places)


def _by_weight(
    files: Iterable[tuple[frozenset[str], tuple[Quote, ...]]], sources: Sequence[Quotable]
) -> Iterator[tuple[Quote, ...]]:
    """The files, ordered by how many others mention a name that only they define; ties newest first."""
    every = [*files]
    often = Counter(name for names, _ in every for name in names)
    said = [frozenset(_NAME.findall(sources[quotes[1].source].text[slice(*quotes[1][1:])])) for _, quotes in every]
    own = [frozenset(name for name in names if often[name] == 1) for names, _ in every]
    rests = [sum(not names.isdisjoint(other) for at, other in enumerate(said) if at != n) for n, names in enumerate(own)]
    for n in sorted(range(len(every)), key=lambda n: (rests[n], every[n][1]), reverse=True):
        yield every[n][1]


def _text(sources: Sequence[Quotable], file: OfFile) -> str:
    return sources[file.source].text[slice(*file.part.place)]


def _lines(held: Sequence[HeldCode], depth: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """The lines that name files, and the first lines of definitions indented by `depth` at most."""
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

"""Code in messages, and its later edits.

This module finds the newest form of a file, the edits of a part, and the newest change of all. A single text is read in
``text.dialogue.wanted``; which parts a request names is decided in ``code_parts``.

An edit seldom names the function that it changes, so it is recognised by the lines that it removes: all of them are in the part,
or were put there by an earlier edit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.code_definitions import ELIDED, Definition, definitions
from turnfold.compression.text.dialogue.wanted.code_edits import CodeEdit, code_edits
from turnfold.compression.text.dialogue.wanted.code_files import FILE, FilePart, file_parts, is_path
from turnfold.compression.text.dialogue.wanted.keyed_blocks import is_report
from turnfold.compression.text.dialogue.wanted.printed_text import printed_definitions
from turnfold.compression.text.quotes import Quotable, Quote

_CODE_SIGNS: Final = ("\n  ", "\n\t", "```", "\n@@")
_LONGEST_PRINTED: Final = 60_000  # characters of a result
_TELLING: Final = 6  # shortest line, in characters, that can distinguish code


class HeldCode(NamedTuple):
    """The code in a message."""

    files: tuple[FilePart, ...] = ()
    definitions: tuple[Definition, ...] = ()
    edits: tuple[CodeEdit, ...] = ()
    elided: tuple[int, ...] = ()

    def inside(self, place: Range) -> Sequence[Definition]:
        """The definitions that begin within a range."""
        every = self.definitions
        return every[bisect_left(every, place[0], key=_start) : bisect_left(every, place[1], key=_start)]

    def leaves_out(self, place: Range) -> bool:
        """Whether a part contains a placeholder such as "... existing code ..."."""
        return any(place[0] <= at < place[1] for at in self.elided)


#: The code of a message that has none.
NO_CODE: Final = HeldCode()


class OfFile(NamedTuple):
    """The newest complete form of a file, the parts written later, and the numbers of the messages with any form of it."""

    source: int
    part: FilePart
    later: tuple[tuple[int, Range], ...]
    sources: tuple[int, ...]


def printed_code(source: Quotable) -> HeldCode:
    """The code in an agent's message: file contents printed by a tool, and the edits among the calls."""
    text = source.text
    if source.role == "assistant":
        return HeldCode(edits=tuple(code_edits(text)))
    if source.role != "tool" or len(text) > _LONGEST_PRINTED:
        return held_code(source)
    path = next((found[1] for found in FILE.finditer(source.answered_call)), "")
    if not path or "\n" not in text:
        return NO_CODE
    return HeldCode((FilePart(path, (0, 0), (0, len(text))),), tuple(printed_definitions(text)))


def held_code(source: Quotable) -> HeldCode:
    """The code in a chat's message. The code inside an edit does not count as a form of a file or function."""
    text = source.text
    if source.role not in ("user", "assistant") or not any(sign in text for sign in _CODE_SIGNS):
        return NO_CODE
    edits = code_edits(text)
    if is_report(text):
        return HeldCode(edits=tuple(edits))
    edited = [one.place for one in edits if one.old]
    files = [one for one in file_parts(text) if not _is_in(one.line[0], edited)]
    defined = [one for one in definitions(text) if not _is_in(one.head[0], edited)]
    return HeldCode(tuple(files), tuple(defined), tuple(edits), tuple(found.start() for found in ELIDED.finditer(text)))


def file_of(held: HeldCode, at: int) -> FilePart | None:
    """The file that a place in a message belongs to."""
    return next((file for file in held.files if file.place[0] <= at < file.place[1]), None)


def newest_file(path: str, held: Sequence[HeldCode]) -> OfFile | None:
    """The newest form of a file with most of the previous form's definitions, and the parts written later."""
    newest: OfFile | None = None
    known: set[str] = set()
    for n, parts in enumerate(held):
        later: list[tuple[int, Range]] = []
        for part in parts.files:
            if part.path.lower() != path:
                continue
            names = {one.name for one in parts.inside(part.place)}
            is_whole = 2 * len(names & known) >= len(known) and not parts.leaves_out(part.place)
            if newest is None or is_whole:
                newest, known, later = OfFile(n, part, (), (*(newest.sources if newest else ()), n)), names, []
            else:
                later.append((n, part.place))
        if newest is not None and newest.source < n:
            loose = [one for one in parts.definitions if one.name in known and file_of(parts, one.place[0]) is None]
            newest = newest._replace(later=(*newest.later, *later, *[(n, one.place) for one in loose]))
    return newest


def edits_of(code: str, head: str, path: str, behind: tuple[int, int], held: Sequence[HeldCode]) -> Iterator[tuple[int, Range]]:
    """The edits of a part since it was written.

    Args:
        head: the line that begins its definition; "" for a file.
        path: its file; "" if unknown.
        behind: the number of its message, and its end there.
    """
    lines = {line.strip() for line in code.split("\n")}
    for n in range(behind[0], len(held)):
        for edit in held[n].edits:
            if (n, edit.place[0]) < behind or (path and edit.path and not is_path(edit.path.lower(), path.lower())):
                continue
            is_of_part = head in edit.old or (lines.issuperset(edit.old) and any(len(line) >= _TELLING for line in edit.old))
            if is_of_part or (not head and edit.path):
                lines.update(edit.new)
                yield n, edit.place


def newest_change(every: Sequence[Quotable], held: Sequence[HeldCode], folded: int) -> list[Quote]:
    """The newest change that an assistant made to earlier code, with the code it replaced, as far as both are folded."""
    known: dict[str, tuple[int, Range]] = {}
    newest: list[tuple[int, Range]] = []
    for n, parts in enumerate(held):
        if every[n].role == "assistant":
            anew = [one for one in parts.definitions if one.name in known and _is_form_of((n, one.place), known[one.name], every)]
            edits = [(n, one.place) for one in parts.edits]
            newest = [*[known[one.name] for one in anew], *edits, *[(n, one.place) for one in anew]] or newest
        known.update((one.name, (n, one.place)) for one in parts.definitions)
    return [Quote(n, *place) for n, place in newest if n < folded]


def _is_form_of(one: tuple[int, Range], other: tuple[int, Range], every: Sequence[Quotable]) -> bool:
    """Whether two definitions with the same name share most of their lines: everybody defines "main" and "result"."""
    new, old = (
        {line for part in every[n].text[slice(*place)].split("\n") if (line := part.strip())} for n, place in (one, other)
    )
    return min(len(new), len(old)) > 1 and 2 * len(new & old) >= min(len(new), len(old))


def _is_in(at: int, places: Sequence[Range]) -> bool:
    return any(start <= at < end for start, end in places)


def _start(one: Definition) -> int:
    return one.place[0]

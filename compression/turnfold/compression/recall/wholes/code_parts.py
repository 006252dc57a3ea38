"""Parts of pasted code that a request or an error names: a file, a class, a function, a line.

Lives here: which parts are quoted, and in which form. Does not belong here: where they stand, and what a request names
(``text.dialogue.wanted.code_parts``), short code, which is quoted whole (``works``, ``handed_code``).

"Refactor ByteChunker" shares one word with the first line of that class, and none with its methods. A part that is too long for
the room is quoted as its outline: the lines that define something, each with what is indented under it left out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from turnfold.compression.memo import Memo, of_each
from turnfold.compression.recall.fence import FRAME
from turnfold.compression.recall.wholes.works import FoundWork
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.code_definitions import Definition, definitions
from turnfold.compression.text.dialogue.wanted.code_files import FilePart, file_parts, is_path, line_range
from turnfold.compression.text.dialogue.wanted.code_parts import CallPlace, NamedCode, call_places, named_parts
from turnfold.compression.text.passages import estimate
from turnfold.compression.text.quotes import Quotable, Quote

_MOST: Final = 1_500  # tokens of what is named
_BESIDE: Final = 400  # tokens of what else bears on the request, where they are quoted whole
_MOST_CALLED: Final = 3_000  # tokens of what an error names
_LONGEST_CALLED: Final = 6_000  # characters of a definition that is quoted for one of its lines
_AROUND: Final = 12  # lines above and below a line that is in none
_LONG: Final = 1_000  # tokens of a message from which a part of it is quoted alone
_FEWEST: Final = 3  # definitions of such a message
_MOST_PLACES: Final = 4  # in which one name may be defined; more are said by every class, as "decode"
_VERSIONS: Final = 2  # of a definition: as it was pasted, and as it was last written
_CODE_SIGNS: Final = ("\n  ", "\n\t", "```")
_NESTED: Final = 8  # characters of indent up to which an outline has a definition


class _Parts(NamedTuple):
    """What a message has of code."""

    files: tuple[FilePart, ...] = ()
    definitions: tuple[Definition, ...] = ()


class _Named(NamedTuple):
    """A part that is named: where it stands, its outline, and the line that names its file."""

    source: int
    place: Range
    outline: tuple[Range, ...]
    file: Range | None

    def quotes(self, *, is_outline: bool) -> Iterator[Quote]:
        """What is quoted of it."""
        if self.file:
            yield Quote(self.source, *self.file)
        for place in self.outline if is_outline else (self.place,):
            yield Quote(self.source, *place)


def find_code_parts(
    sources: Sequence[Quotable],
    behind: Sequence[Quotable],
    request: str,
    room: int,
    count: Callable[[str], int],
    memo: Memo,
) -> FoundWork:
    """The files and definitions that a request names, of code that is too long to be quoted whole.

    Args:
        sources: what may be quoted.
        behind: what the request holds as it was, behind these.
        request: what is asked.
        room: tokens that quotes may take.
    """
    if calls := call_places(request):
        return _find_called(sources, behind, calls, min(_MOST_CALLED, room), count, memo)
    wanted = named_parts(request)
    if not (wanted.files or wanted.names or wanted.joined):
        return FoundWork()
    if not any(_names_any(parts, wanted) for parts in of_each(memo, "code-bases", sources, _held_in_long)):
        return FoundWork()
    held = of_each(memo, "code-parts", [*sources, *behind], _held)
    named = _files(held, wanted, sources) or _definitions(held, wanted, sources)
    most = min(_MOST, room)
    is_list = wanted.lists and bool(wanted.files)
    for is_outline in (True,) if is_list else (False, True):
        quotes = _joined(sources, [quote for one in named for quote in one.quotes(is_outline=is_outline)])
        tokens = sum(count(sources[n].text[start:end]) + FRAME for n, start, end in quotes)
        if quotes and tokens <= most:
            return FoundWork(quotes, (), tokens, beside=_BESIDE if is_list or not is_outline else None)
    return FoundWork()


def _find_called(
    sources: Sequence[Quotable],
    behind: Sequence[Quotable],
    calls: Sequence[CallPlace],
    room: int,
    count: Callable[[str], int],
    memo: Memo,
) -> FoundWork:
    """The functions that an error names, as many as have room, those next to the error first."""
    every = [*sources, *behind]
    held = of_each(memo, "code-parts", every, _held)
    best, spent = FoundWork(), list[Quote]()
    for call in reversed(calls):
        found = next((one for n in reversed(range(len(every))) if (one := _at(n, every[n].text, held[n], call))), None)
        if found is None or found.source >= len(sources):
            continue
        spent += found.quotes(is_outline=False)
        quotes = _joined(sources, spent)
        tokens = sum(count(sources[n].text[start:end]) + FRAME for n, start, end in quotes)
        if tokens > room:
            break
        best = FoundWork(quotes, (), tokens, beside=_BESIDE)
    return best


def _at(n: int, text: str, parts: _Parts, call: CallPlace) -> _Named | None:
    """The function that an error names in a file, or else the one of that line, or the lines around it."""
    if not parts.files and call.name:
        named = [one for one in parts.definitions if one.name == call.name]
        return _Named(n, named[-1].place, (), None) if named else None
    for file in parts.files:
        if not is_path(file.path.lower(), call.path):
            continue
        inside = _inside(parts.definitions, file.place)
        lines = line_range(text, file, call.line, _AROUND)
        at = line_range(text, file, call.line, 0)
        named = [one for one in inside if one.name == call.name]
        holding = [one for one in inside if at and one.place[0] <= at[0] < one.place[1] and _fits(one)]
        for one in (*[one for one in named if one in holding], *named, *holding[-1:]):
            return _Named(n, one.place, (), file.line)
        if lines:
            return _Named(n, lines, (), file.line)
    return None


def _fits(one: Definition) -> bool:
    return one.place[1] - one.place[0] <= _LONGEST_CALLED


def _held_in_long(source: Quotable) -> _Parts:
    """What a message has that is too long to be quoted whole; one of many is, so the others are not read to most requests."""
    parts = _held(source) if len(source.text) > _LONG else _Parts()
    return parts if _is_long(source, parts) else _Parts()


def _held(source: Quotable) -> _Parts:
    text = source.text
    if source.role not in ("user", "assistant") or not any(sign in text for sign in _CODE_SIGNS):
        return _Parts()
    return _Parts(tuple(file_parts(text)), tuple(definitions(text)))


def _names_any(parts: _Parts, wanted: NamedCode) -> bool:
    return any(_is_file(one, wanted) for one in parts.files) or any(_is_named(one, wanted) for one in parts.definitions)


def _files(held: Sequence[_Parts], wanted: NamedCode, sources: Sequence[Quotable]) -> list[_Named]:
    """The newest of each file that is named, unless something in it is, or the request holds a newer one."""
    newest: dict[str, _Named | None] = {}
    for n, parts in enumerate(held):
        for part in parts.files:
            path = part.path.lower()
            if not _is_file(part, wanted):
                continue
            inside = _inside(parts.definitions, part.place)
            is_named = any(_is_named(one, wanted) for one in inside)
            is_folded = n < len(sources) and _is_long(sources[n], parts)
            whole = _Named(n, part.place, tuple(_outline(inside)), part.line)
            newest[path] = None if is_named or not is_folded else whole
    return [one for one in newest.values() if one]


def _definitions(held: Sequence[_Parts], wanted: NamedCode, sources: Sequence[Quotable]) -> list[_Named]:
    """The definitions that are named, in the files and classes that are named beside them, if any are."""
    places: dict[tuple[str, str], list[tuple[int, Definition]]] = {}
    for n, one in _innermost([(n, one) for n, parts in enumerate(held) for one in parts.definitions if _is_named(one, wanted)]):
        file = _file_of(held[n], one)
        if not wanted.files or (file and _is_file(file, wanted)):
            places.setdefault((one.holder, one.name), []).append((n, one))
    often = Counter(name for _, name in places)
    current = [every[-_VERSIONS:] for (_, name), every in places.items() if often[name] <= _MOST_PLACES]
    chosen = [at for every in current if every[-1][0] < len(sources) for at in every]
    if not any(_is_long(sources[n], held[n]) for n, _ in chosen):
        return []
    return [_named(n, held[n], one) for n, one in chosen]


def _named(n: int, parts: _Parts, one: Definition) -> _Named:
    file = _file_of(parts, one)
    return _Named(n, one.place, tuple(_outline(_inside(parts.definitions, one.place))), file.line if file else None)


def _innermost(found: Sequence[tuple[int, Definition]]) -> list[tuple[int, Definition]]:
    """Of a class and its method that are both named only the method, and that of no other class."""
    names = {one.name for _, one in found}
    held = {one.name for _, one in found if one.holder in names}
    holders = {one.holder for _, one in found}
    return [(n, one) for n, one in found if one.name not in holders and (one.holder in names or one.name not in held)]


def _is_file(file: FilePart, wanted: NamedCode) -> bool:
    return any(f"/{file.path.lower()}".endswith(f"/{name}") for name in wanted.files)


def _is_named(one: Definition, wanted: NamedCode) -> bool:
    if one.name in wanted.names:
        return True
    bare = one.name.replace("_", "").lower()
    return bare in wanted.joined and bare != one.name


def _is_long(source: Quotable, parts: _Parts) -> bool:
    return len(parts.definitions) >= _FEWEST and estimate(source.text) >= _LONG


def _file_of(parts: _Parts, one: Definition) -> FilePart | None:
    return next((file for file in parts.files if file.place[0] <= one.place[0] < file.place[1]), None)


def _inside(every: Sequence[Definition], place: Range) -> Sequence[Definition]:
    """The definitions that begin in a range."""
    return every[bisect_left(every, place[0], key=_start) : bisect_left(every, place[1], key=_start)]


def _start(one: Definition) -> int:
    return one.place[0]


def _outline(inside: Sequence[Definition]) -> Iterator[Range]:
    for one in inside:
        if one.depth <= _NESTED:
            yield one.head


def _joined(sources: Sequence[Quotable], quotes: Sequence[Quote]) -> tuple[Quote, ...]:
    """The quotes in order, without white space around them and without those that stand in others."""
    found: list[Quote] = []
    for n, start, end in sorted(set(quotes)):
        said = sources[n].text[start:end]
        one = Quote(n, start + len(said) - len(said.lstrip("\n")), start + len(said.rstrip()))
        if found and found[-1].source == n and one.start < found[-1].end:
            found[-1] = found[-1]._replace(end=max(found[-1].end, one.end))
        elif one.start < one.end:
            found.append(one)
    return tuple(found)

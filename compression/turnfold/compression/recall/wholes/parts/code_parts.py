"""Parts of pasted code that a request or an error names: a file, a class, a function, a line.

This module decides which parts are quoted, and in which form. Where they are is read in ``code_files`` and ``code_definitions``,
what a request names in ``text.dialogue.wanted.code_parts``. Code of which it names nothing is found in ``handed_code``.

"Refactor ByteChunker" shares one word with the first line of that class, and none with its methods. A part that is too long for
the room is quoted as its outline: the lines that define something, each with what is indented under it left out. What edited a
part later is quoted behind it (``edited_code``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.memo import Memo, of_each
from turnfold.compression.recall.fence import quote_tokens
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.parts.edited_code import (
    NO_CODE,
    HeldCode,
    OfFile,
    edits_of,
    file_of,
    held_code,
    newest_change,
    newest_file,
    printed_code,
)
from turnfold.compression.recall.wholes.request import BESIDE, WholeRequest
from turnfold.compression.recall.wholes.spread_works import joined
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.code_blocks import code_ranges
from turnfold.compression.text.dialogue.wanted.code_definitions import Definition
from turnfold.compression.text.dialogue.wanted.code_files import FilePart, is_path, line_range
from turnfold.compression.text.dialogue.wanted.code_parts import CallPlace, NamedCode, call_places, may_name_parts, named_parts
from turnfold.compression.text.dialogue.wanted.printed_text import bare_code, printed_line
from turnfold.compression.text.kinds import kind_of
from turnfold.compression.text.passages import estimate
from turnfold.compression.text.quotes import Quotable, Quote

_MOST: Final = 1_500  # tokens for named definitions
_MOST_OF_FILES: Final = 3_000  # tokens for a file that is requested as a whole
_MOST_CALLED: Final = 3_000  # tokens for functions that an error names
_MOST_PRINTED: Final = 1_200  # tokens for code printed by tools that a user names
_LONGEST_CALLED: Final = 6_000  # characters of a definition that is quoted for one of its lines
_ERRORS: Final = ("trace", "tests")  # kinds of results that report errors
_COMPILING: Final = lazy.pattern(r":\d+(?::\d+)?[:)]* (?:fatal )?error\b|\(\d+(?:,\d+)?\): error\b", re.IGNORECASE)
_AROUND: Final = 12  # lines above and below a line that belongs to no definition
_LONG: Final = 1_000  # tokens of a message from which a single file is quoted alone
_SHORT: Final = 500  # tokens of code that is quoted whole for one of its definitions
_MOST_PLACES: Final = 4  # definitions of one name; more means that every class has it, such as "decode"
_VERSIONS: Final = 2  # of a definition: the pasted one and the newest
_NESTED: Final = 8  # greatest indentation of definitions in an outline, in characters


class _Named(NamedTuple):
    """A named part: its place, its outline, and the line with its file's name."""

    source: int
    place: Range
    outline: tuple[Range, ...]
    file: Range | None

    def quotes(self, *, is_outline: bool) -> Iterator[Quote]:
        """The quotes for the part."""
        if self.file:
            yield Quote(self.source, *self.file)
        for place in self.outline if is_outline else (self.place,):
            yield Quote(self.source, *place)


class _NamedForms(NamedTuple):
    """The forms of a definition to quote, with the numbers of their messages.

    Attributes:
        whole: the newest form that leaves nothing out.
        is_partial: whether a later form leaves something out.
    """

    every: Sequence[tuple[int, Definition]]
    whole: tuple[int, Definition]
    is_partial: bool


def find_code_parts(asked: WholeRequest) -> FoundWork:
    """The files and definitions that a request or an error names, with their later edits."""
    sources, behind, request, room, count, memo = asked
    if calls := call_places(request):
        return _find_called(asked, calls)
    every = [*sources, *behind]
    held = code_parts(memo, every) if may_name_parts(request) else []
    if held.count(NO_CODE) == len(held):
        return FoundWork()
    wanted = named_parts(request)
    if not (wanted.changed or wanted.files or wanted.names or wanted.joined):
        return FoundWork()
    files = _files(held, wanted, sources)
    named = files or _definitions(held, wanted, every, len(sources))
    if wanted.changed and not named:
        changed = newest_change(every, held, len(sources))
        named = [_Named(quote.source, (quote.start, quote.end), (), None) for quote in changed]
    most = min(_MOST_OF_FILES if files and wanted.is_whole else _MOST, room)
    is_list = wanted.lists and bool(wanted.files)
    for is_outline in (True,) if is_list else (False, True):
        quotes = joined(sources, [quote for one in named for quote in one.quotes(is_outline=is_outline)])
        tokens = quote_tokens(quotes, sources, count)
        if quotes and tokens <= most:
            return FoundWork(quotes, (), tokens, beside=BESIDE if is_list or not is_outline else None)
    return FoundWork()


def code_parts(memo: Memo, messages: Sequence[Quotable]) -> list[HeldCode]:
    """The code in each message."""
    return of_each(memo, "code-parts", messages, held_code)


def printed_parts(memo: Memo, messages: Sequence[Quotable]) -> list[HeldCode]:
    """The code in each message of an agent and each result of its tools."""
    return of_each(memo, "printed-code", messages, printed_code)


def find_printed_code(asked: WholeRequest) -> FoundWork:
    """Like `find_code_parts`, for code printed by an agent's tools.

    Returns the newest form of each definition that the user or an error names, with its later edits.
    """
    wanted = named_parts(asked.text)
    calls = call_places(asked.text)
    if not (calls or wanted.files or wanted.names):
        calls = _newest_error([*asked.sources, *asked.behind])
    if not (calls or wanted.names or wanted.joined):
        return FoundWork()
    held = printed_parts(asked.memo, [*asked.sources, *asked.behind])
    if not calls:
        return _printed(asked, held, wanted)
    while calls:  # those nearest to the error, as many as fit
        found = _printed(asked, held, _called(calls, held, [*asked.sources, *asked.behind]))
        if found.quotes:
            return found
        calls = calls[(len(calls) + 1) // 2 :]
    return FoundWork()


def _newest_error(every: Sequence[Quotable]) -> list[CallPlace]:
    """The places that the newest result names, if it reports an error: "why?" and "repair it" refer to it."""
    newest = next((one.text for one in reversed(every) if one.role == "tool"), "")
    calls = call_places(newest)
    return calls if calls and (kind_of(newest) in _ERRORS or _COMPILING.search(newest)) else []


def _called(calls: Sequence[CallPlace], held: Sequence[HeldCode], every: Sequence[Quotable]) -> NamedCode:
    """The functions that an error names, or that contain the lines it names."""
    names = {call.name for call in calls if call.name}
    for call in calls:
        if not call.name:
            files = [n for n, parts in enumerate(held) if any(is_path(file.path.lower(), call.path) for file in parts.files)]
            places = ((n, printed_line(every[n].text, call.line)) for n in reversed(files))
            n, at = next((one for one in places if one[1] >= 0), (0, -1))
            names.update(one.name for one in held[n].definitions if one.place[0] <= at < one.place[1] and _fits(one))
    return NamedCode(tuple(call.path for call in calls), frozenset(names))


def _printed(asked: WholeRequest, held: Sequence[HeldCode], wanted: NamedCode) -> FoundWork:
    sources = asked.sources
    if not any(_names_any(parts, wanted) for parts in held):
        return FoundWork()
    found = [*_newest(held, wanted, [*sources, *asked.behind], len(sources))]
    quotes = joined(sources, [quote for one in found for quote in one.quotes(is_outline=False)])
    tokens = quote_tokens(quotes, sources, asked.count)
    return FoundWork(quotes, (), tokens, beside=BESIDE) if tokens <= min(_MOST_PRINTED, asked.room) else FoundWork()


def _newest(held: Sequence[HeldCode], wanted: NamedCode, every: Sequence[Quotable], folded: int) -> Iterator[_Named]:
    """The newest form of each named definition, with its later edits.

    Skips definitions that the request holds in a newer or edited form: quotes come after that, so an older form would be the last
    word.
    """
    newest: dict[tuple[str, str], tuple[int, Definition]] = {}
    named = [(n, one) for n, parts in enumerate(held) for one in parts.definitions if _is_named(one, wanted)]
    for n, one in _innermost(named):
        file = file_of(held[n], one.place[0])
        path = file.path.lower() if file else ""
        if not wanted.files or any(is_path(path, name) for name in wanted.files):
            newest[path, one.name] = n, one
    if max(Counter(name for _, name in newest).values(), default=0) > _MOST_PLACES:
        return
    for (path, _), (n, one) in newest.items():
        text = every[n].text
        code, head = bare_code(text[slice(*one.place)]), bare_code(text[slice(*one.head)]).strip()
        places = [(n, one.place), *edits_of(code, head, path, (n, one.place[1]), held)]
        if all(at < folded for at, _ in places):
            yield from (_Named(at, place, (place,), None) for at, place in places)


def _find_called(asked: WholeRequest, calls: Sequence[CallPlace]) -> FoundWork:
    """The functions that an error names, as many as fit, those nearest to the error first."""
    sources, behind, _, room, count, memo = asked
    every = [*sources, *behind]
    held = code_parts(memo, every)
    best, spent = FoundWork(), list[Quote]()
    for call in reversed(calls):
        found = next((one for n in reversed(range(len(every))) if (one := _at(n, every[n].text, held[n], call))), None)
        if found is None or found.source >= len(sources):
            continue
        spent += found.quotes(is_outline=False)
        quotes = joined(sources, spent)
        tokens = quote_tokens(quotes, sources, count)
        if tokens > min(_MOST_CALLED, room):
            break
        best = FoundWork(quotes, (), tokens, beside=BESIDE)
    return best


def _at(n: int, text: str, parts: HeldCode, call: CallPlace) -> _Named | None:
    """The function that an error names in a file, else the function around that line, else the lines around it."""
    if not parts.files and call.name:
        named = [one for one in parts.definitions if one.name == call.name]
        return _Named(n, named[-1].place, (), None) if named else None
    for file in parts.files:
        if not is_path(file.path.lower(), call.path):
            continue
        inside = parts.inside(file.place)
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


def _names_any(parts: HeldCode, wanted: NamedCode) -> bool:
    names_file = wanted.files and any(_is_file(one, wanted) for one in parts.files)
    return bool(names_file or (parts.definitions and any(_is_named(one, wanted) for one in parts.definitions)))


def _files(held: Sequence[HeldCode], wanted: NamedCode, sources: Sequence[Quotable]) -> list[_Named]:
    """The newest form of each named file, unless a part of it is named or the request holds a newer form."""
    found: list[_Named] = []
    for path in dict.fromkeys(part.path.lower() for parts in held for part in parts.files if _is_file(part, wanted)):
        file = newest_file(path, held)
        if file is None or file.source >= len(sources):
            continue
        inside = held[file.source].inside(file.part.place)
        later = [_Named(n, place, (place,), None) for n, place in _later(file, held, sources)]
        is_long = any(estimate(sources[n].text) >= _LONG for n in file.sources if n < len(sources))
        if (is_long or later) and not any(_is_named(one, wanted) for one in inside):
            found += [_Named(file.source, file.part.place, tuple(_outline(inside)), file.part.line), *later]
    return found


def _later(file: OfFile, held: Sequence[HeldCode], sources: Sequence[Quotable]) -> Iterator[tuple[int, Range]]:
    """Later changes of a file: parts that were written anew, and edits."""
    text = sources[file.source].text
    yield from [(n, place) for n, place in file.later if n < len(sources)]
    code = text[slice(*file.part.place)]
    yield from [at for at in edits_of(code, "", file.part.path, (file.source, file.part.place[1]), held) if at[0] < len(sources)]


def _definitions(held: Sequence[HeldCode], wanted: NamedCode, every: Sequence[Quotable], folded: int) -> list[_Named]:
    """The named definitions, with their later edits; only those in the named files and classes, if any are named."""
    places: dict[tuple[str, str], list[tuple[int, Definition]]] = {}
    for n, one in _innermost([(n, one) for n, parts in enumerate(held) for one in parts.definitions if _is_named(one, wanted)]):
        file = file_of(held[n], one.place[0])
        if not wanted.files or (file and _is_file(file, wanted)):
            places.setdefault((one.holder, one.name), []).append((n, one))
    often = Counter(name for _, name in places)
    forms = [_forms(versions, held) for (_, name), versions in places.items() if often[name] <= _MOST_PLACES]
    asked = [one for one in forms if one.is_partial or one.every[-1][0] < folded]
    found: list[_Named] = []
    for forms_of_one in asked:
        found += [_named(n, every[n], held[n], form) for n, form in forms_of_one.every if n < folded]
        n, whole = forms_of_one.whole
        file, text = file_of(held[n], whole.place[0]), every[n].text
        head = text[slice(*whole.head)].strip()
        edits = edits_of(text[slice(*whole.place)], head, file.path if file else "", (n, whole.place[1]), held)
        found += [_Named(at, place, (place,), None) for at, place in edits if at < folded]
    return found


def _forms(versions: Sequence[tuple[int, Definition]], held: Sequence[HeldCode]) -> _NamedForms:
    """The newest form of a definition and the one before it.

    If later ones leave code out, the forms start at the newest complete one.
    """
    whole = max((at for at, (n, one) in enumerate(versions) if not held[n].leaves_out(one.place)), default=0)
    first = min(whole, max(0, len(versions) - _VERSIONS))
    return _NamedForms(versions[first:], versions[whole], whole < len(versions) - 1)


def _named(n: int, source: Quotable, parts: HeldCode, one: Definition) -> _Named:
    """The definition, or all of a short piece of code around it: a user who asks for a change may want the whole."""
    file = file_of(parts, one.place[0])
    blocks = (block for block in code_ranges(source.text, is_bare=False) if block[0] <= one.place[0] < block[1])
    block = next((block for block in blocks if estimate(source.text[slice(*block)]) <= _SHORT), one.place)
    return _Named(n, block, tuple(_outline(parts.inside(one.place))), file.line if file else None)


def _innermost(found: Sequence[tuple[int, Definition]]) -> list[tuple[int, Definition]]:
    """Drops classes whose method is also named, and methods of other classes."""
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


def _outline(inside: Sequence[Definition]) -> Iterator[Range]:
    for one in inside:
        if one.depth <= _NESTED:
            yield one.head

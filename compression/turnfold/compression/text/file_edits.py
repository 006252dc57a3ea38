"""Edits of files that an agent writes: the old text and the new text.

This module finds them in a message's text, by their form alone. What they make outdated is decided in
``dialogue.replaced_lines``; their lines are shortened in ``shorten.kinds.edit_blocks``. Diffs that a program prints are a kind of
text (``kinds``).

An edit is a block of two sides ("<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"), a patch ("*** Begin Patch"), or a call whose
arguments name both sides (`old_string` and `new_string`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from turnfold.compression import lazy

_OPENS: Final = lazy.pattern(r"\s{0,8}(?:<{5,9}|-{5,9}) ?[A-Z]{3,}\b")
_DIVIDES: Final = lazy.pattern(r"\s{0,8}={5,9}\s*$")
_ENDS: Final = lazy.pattern(r"\s{0,8}(?:>{5,9}|\+{5,9})(?: ?\w.*)?$")
_DIVIDER, _PATCH, _PATCH_ENDS = "=====", "*** Begin Patch", "*** End Patch"
_FILE: Final = lazy.pattern(r"[\w@.+-]+\.\w{1,8}(?![\w/.])")
_FILE_LINES: Final = 6  # above an edit in which its file may be named
_LONGEST_SIDE: Final = 2000  # lines
_CALL: Final = lazy.pattern(r"^[\w.:/-]{1,80} (?=\{)", re.MULTILINE)
_DECODER: Final = json.JSONDecoder()
_NUMBER: Final = lazy.pattern(r"\s*\d{1,6}(?:\t|→|\s?[|:] ?)")
_IN_JSON: Final = lazy.pattern(r'\{"|":\s?"')
_BREAK: Final = lazy.pattern(r'\\n|"')
_QUOTATION, _HIDDEN = '\\"', "\0"
_DEEPEST: Final = 4
_NO_LETTERS: Final = lazy.pattern(r"[^a-z]+")
#: What the sides of an edit are called in a call's arguments, in letters alone.
_SIDES: Final[Mapping[str, str]] = {
    "oldstring": "newstring",
    "oldstr": "newstr",
    "oldtext": "newtext",
    "oldcontent": "newcontent",
    "oldcode": "newcode",
    "old": "new",
    "search": "replace",
    "find": "replace",
    "before": "after",
    "original": "updated",
    "target": "replacement",
    "targetcontent": "replacementcontent",
}
#: What the whole text of a file is called there.
_WHOLES: Final = frozenset({"filetext", "content", "contents", "filecontent", "newcontent"})
#: What one of its parts, and the text of that, is called there.
_PARTS: Final = frozenset({"cellid", "cellnumber", "cellindex", "cell"})
_PART_TEXTS: Final = _WHOLES | {"newsource", "source", "cellsource", "newcode", "code"}
_LEAST_WHOLE: Final = 8  # lines of a whole file
_TAGGED_END: Final = "\n</content>"
_TAGGED: Final = lazy.pattern(r"<(?:file_?)?path>([^<\n]{1,300})</(?:file_?)?path>\s{0,4}<content>\n(.*?)\n</content>", re.DOTALL)
_PATHS: Final = frozenset({"path", "filepath", "file", "filename", "targetfile", "notebookpath", "notebook"})


class FileEdit(NamedTuple):
    """Lines that an edit took away and lines that it brought, stripped, without those that both sides have.

    Attributes:
        file: the name of the file without its folders; "" where the edit does not say it.
        whole: whether the file, or its part, has no other lines than the new ones from then on.
        part: the part of the file that it is about, as a notebook's cell; "" for all of it.
    """

    old: frozenset[str]
    new: frozenset[str]
    file: str = ""
    whole: bool = False
    part: str = ""


class EditBlock(NamedTuple):
    """An edit written line by line: the index of its first line, the one behind its last, and those of its two sides."""

    start: int
    end: int
    old: range
    new: range
    signed: bool = False  # whether its lines carry "-" and "+"


def may_hold_edits(text: str) -> bool:
    """Whether a text may hold an edit; False is certain."""
    return may_hold_blocks(text) or '":' in text or "</content>" in text


def may_hold_blocks(text: str) -> bool:
    """Whether a text may hold an edit that is written line by line; False is certain."""
    return _DIVIDER in text or _PATCH in text


def bare_line(line: str) -> str:
    """A line without its number and the white space around it."""
    bare = line.strip()
    if not bare[:1].isdecimal():
        return bare
    number = _NUMBER.match(line)
    return line[number.end() :].strip() if number else bare


def shown_lines(text: str) -> Iterator[str]:
    """The bare lines that a text shows, those in strings of JSON too."""
    for line in text.split("\n"):
        yield bare_line(line)
        if '"' in line and _IN_JSON.search(line):
            for inner in _BREAK.split(line.replace(_QUOTATION, _HIDDEN)):
                yield bare_line(inner).replace(_HIDDEN, '"')


def holds_blocks(text: str) -> bool:
    """Whether a text contains an edit that is written line by line."""
    return may_hold_blocks(text) and bool(edit_blocks(text.split("\n")))


def named_files(line: str) -> list[str]:
    """Names of files in a line, without their folders."""
    return _FILE.findall(line)


def edit_blocks(lines: Sequence[str]) -> list[EditBlock]:
    """The edits among lines that are written line by line."""
    found: list[EditBlock] = []
    dividers, ends = _Marks(_DIVIDES, lines), _Marks(_ENDS, lines)
    at = patched = 0  # where the newest patch ends
    while at < len(lines):
        new = [block] if (block := _two_sides(lines, at, dividers, ends)) else []
        if not new and at >= patched:
            new, patched = _patch(lines, at)
        found += new
        at = new[-1].end if new else at + 1
    return found


def file_edits(text: str) -> tuple[FileEdit, ...]:
    """The edits in a message's text, including its calls, in order."""
    found: list[FileEdit | None] = []
    if may_hold_blocks(text):
        lines = text.split("\n")
        found += _written(lines, edit_blocks(lines))
    if (last := text.rfind(_TAGGED_END)) >= 0:
        found += [_whole(match[2], _name(match[1])) for match in _TAGGED.finditer(text, 0, last + len(_TAGGED_END))]
    calls = [call.span() for call in _CALL.finditer(text)]
    for (_, start), (stop, _) in pairwise([*calls, (len(text), 0)]):  # where a call begins, no other goes on
        try:
            value, _ = _DECODER.raw_decode(text[start:stop])
        except (ValueError, RecursionError):
            continue
        found += _called(value, "", _DEEPEST)
    return tuple([edit for edit in found if edit is not None])


class _Marks:
    """The lines that are such a mark, asked for from the first one on: each line is looked at once."""

    def __init__(self, mark: re.Pattern[str], lines: Sequence[str]) -> None:
        self._mark = mark
        self._lines = lines
        self._at = -1

    def next(self, start: int) -> int:
        """The next one, if it is near enough; 0 for none."""
        if self._at < start:
            behind = range(start, len(self._lines))
            self._at = next((i for i in behind if self._mark.match(self._lines[i])), len(self._lines))
        return self._at if self._at < min(len(self._lines), start + _LONGEST_SIDE) else 0


def _two_sides(lines: Sequence[str], at: int, dividers: _Marks, ends: _Marks) -> EditBlock | None:
    if not _OPENS.match(lines[at]):
        return None
    divider = dividers.next(at + 1)
    end = ends.next(divider + 1) if divider else 0
    return EditBlock(at, end + 1, range(at + 1, divider), range(divider + 1, end)) if end else None


def _patch(lines: Sequence[str], at: int) -> tuple[list[EditBlock], int]:
    """The edits of a patch that begins with a line, or in it, and the patch's end."""
    if _PATCH not in lines[at]:
        return [], at
    found: list[EditBlock] = []
    i = at + 1
    while i < len(lines) and not lines[i].startswith(_PATCH_ENDS):
        taken = _while(lines, i, "-")
        brought = _while(lines, taken, "+")
        if brought > i:
            found.append(EditBlock(i, brought, range(i, taken), range(taken, brought), signed=True))
        i = max(brought, i + 1)
    return found, i


def _while(lines: Sequence[str], start: int, sign: str) -> int:
    return next((i for i in range(start, len(lines)) if not lines[i].startswith(sign)), len(lines))


def _written(lines: Sequence[str], blocks: Iterable[EditBlock]) -> Iterator[FileEdit | None]:
    patched, read = "", 0  # the file that the newest patch names, and the lines in which it was looked for
    for block in blocks:
        if block.signed:
            patched, read = _named_in(lines[read : block.start]) or patched, block.start
        file = patched if block.signed else _named_in(lines[max(0, block.start - _FILE_LINES) : block.start])
        old, new = ("\n".join([lines[i][block.signed :] for i in side]) for side in (block.old, block.new))
        yield _edit(old, new, file)


def _named_in(lines: Sequence[str]) -> str:
    """The file that is named last in lines that no edit takes or brings."""
    return next((found[-1] for line in reversed(lines) if not line.startswith(("-", "+")) and (found := named_files(line))), "")


def _called(value: Any, file: str, depth: int) -> Iterator[FileEdit | None]:
    """The edits that a call's arguments name."""
    if isinstance(value, list) and depth:
        for inner in value:
            yield from _called(inner, file, depth - 1)
    if not (isinstance(value, dict) and depth):
        return
    named = {_NO_LETTERS.sub("", str(key).lower()): inner for key, inner in value.items()}
    path = next((inner for key, inner in named.items() if key in _PATHS and isinstance(inner, str)), "")
    file = _name(path) or file
    for old, new in _SIDES.items():
        sides = (named.get(old), named.get(new))
        if isinstance(sides[0], str) and isinstance(sides[1], str):
            yield _edit(sides[0], sides[1], file)
            break
    part = next((str(inner) for key, inner in named.items() if key in _PARTS and isinstance(inner, str | int)), "")
    if part:
        yield from (_written_part(inner, file, part) for key, inner in named.items() if key in _PART_TEXTS)
    elif path:
        yield from (_whole(inner, file) for key, inner in named.items() if key in _WHOLES and isinstance(inner, str))
    for inner in value.values():
        yield from _called(inner, file, depth - 1)


def _name(path: str) -> str:
    return path.strip().rstrip("/").rpartition("/")[2]


def _whole(text: str, file: str) -> FileEdit | None:
    lines = frozenset(filter(None, map(str.strip, text.split("\n"))))
    return FileEdit(frozenset(), lines, file, whole=True) if len(lines) >= _LEAST_WHOLE else None


def _written_part(text: Any, file: str, part: str) -> FileEdit | None:
    lines = frozenset(filter(None, map(str.strip, text.split("\n")))) if isinstance(text, str) else frozenset[str]()
    return FileEdit(frozenset(), lines, file, whole=True, part=part) if lines else None


def _edit(old: str, new: str, file: str) -> FileEdit | None:
    sides = [frozenset(filter(None, map(str.strip, side.split("\n")))) for side in (old, new)]
    return FileEdit(sides[0] - sides[1], sides[1] - sides[0], file) if sides[0] != sides[1] else None

"""Edits of code as assistants write them: blocks to search and replace, diffs, patches, and the arguments of an agent's calls.

This module finds each edit with its file, and the lines that it removes and adds. Which edits a request needs is decided in
``recall.wholes``; code that is written anew as a whole is in ``code_definitions``.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.code_files import FILE

_NEAR: Final = 4  # lines between the one that names a file and the edit
_MOST: Final = 200  # edits of a message
_LONGEST: Final = 20_000  # characters of an edit
_SEARCHED: Final = lazy.pattern(
    r"^(?:<{5,9} ?(?:SEARCH|ORIGINAL|HEAD)|-{5,9} ?SEARCH)[^\n]{0,40}\n(?P<old>(?:(?!={5,9}\n).*\n){0,400})={5,9}\n"
    r"(?P<new>(?:(?!>{5,9} |\+{5,9} ?REPLACE).*\n){0,400})(?:>{5,9} ?|\+{5,9} ?)\w+[^\n]{0,40}$",
    re.MULTILINE,
)
#: Lines of a diff from the first that is taken away or put in, and of its file's name.
_HUNK: Final = lazy.pattern(r"^@@[^\n]*\n(?:[ +\-\\][^\n]*\n?|\n(?=[ +\-]))+", re.MULTILINE)
_BARE_DIFF: Final = lazy.pattern(r"^(?:```|~~~)(?:diff|patch)\n(?P<body>(?:(?!```|~~~).*\n){1,400})(?:```|~~~)", re.MULTILINE)
_OF_FILE: Final = lazy.pattern(r"^(?:\+\+\+ (?:b/)?|\*\*\* (?:Update|Add) File: |diff --git a/)(\S{1,300})", re.MULTILINE)
_ARGUMENTS: Final = lazy.pattern(r"^\w{1,64} (\{\"[^\n]*\})[^\S\n]*$", re.MULTILINE)
_OLD: Final = ("old_str", "old_string", "oldText", "old_text", "search", "old_code")
_NEW: Final = ("new_str", "new_string", "newText", "new_text", "replace", "new_code")
_PATHS: Final = ("path", "file_path", "filePath", "target_file", "filename", "file")
_PATCHES: Final = ("patch", "diff", "input")
_SIGNS: Final = ("=======", "\n@@", "```diff", "```patch", '"old_', '"oldText', '"search"', "*** ")


class CodeEdit(NamedTuple):
    """An edit of code.

    Attributes:
        path: the file's name as written; "" if none is given.
        place: the range to quote.
        old: the stripped lines of the code before the edit, including context.
        new: the same after the edit.
    """

    path: str
    place: Range
    old: tuple[str, ...]
    new: tuple[str, ...]


def code_edits(text: str) -> list[CodeEdit]:
    """The edits in a text, in order."""
    if not has_edits(text):
        return []
    found = [*_searched(text), *_hunks(text), *_called(text)]
    return sorted(found, key=lambda one: one.place)[-_MOST:]


def has_edits(text: str) -> bool:
    """Whether a text may contain edits."""
    return any(sign in text for sign in _SIGNS)


def _searched(text: str) -> Iterator[CodeEdit]:
    for found in _SEARCHED.finditer(text):
        path, start = _named_above(text, found.start())
        yield CodeEdit(path, (start, found.end()), _lines(found["old"]), _lines(found["new"]))


def _named_above(text: str, at: int) -> tuple[str, int]:
    """The file named by a line above an edit, and the start of that line."""
    start = at
    for _ in range(_NEAR):
        if not start:
            break
        end, start = start - 1, text.rfind("\n", 0, start - 1) + 1
        line = text[start:end]
        if line.startswith((">>>>>>>", "+++++++")):
            break
        if found := FILE.search(line):
            return found[1], start
    return "", at


def _hunks(text: str) -> Iterator[CodeEdit]:
    names = [(found.start(), found[1]) for found in _OF_FILE.finditer(text)]
    hunks = [(found.start(), found.end(), found[0].partition("\n")[2]) for found in _HUNK.finditer(text)]
    if not hunks:
        hunks = [(found.start(), found.end(), found["body"]) for found in _BARE_DIFF.finditer(text)]
    before = -1  # start of the previous hunk
    for start, end, body in hunks:
        lines = [line for line in body.split("\n") if not line.startswith(("---", "+++", "\\"))]
        at = bisect_left(names, (end, "")) - 1
        begin, path = names[at] if at >= 0 else (start, "")
        if not path:
            path, begin = _named_above(text, start)
        is_first, before = not begin <= before < start, start
        old, new = ([line[1:] for line in lines if line[:1] in (sign, " ")] for sign in "-+")
        yield CodeEdit(path, (begin if is_first else start, end), _lines("\n".join(old)), _lines("\n".join(new)))


def _called(text: str) -> Iterator[CodeEdit]:
    for found in _ARGUMENTS.finditer(text):
        if len(found[1]) > _LONGEST:
            continue
        try:
            given = json.loads(found[1])
        except (ValueError, RecursionError):
            continue
        path = next((given[key] for key in _PATHS if isinstance(given.get(key), str)), "")
        several = given.get("edits")
        for one in (given, *[one for one in (several if isinstance(several, list) else ()) if isinstance(one, dict)]):
            old = next((one[key] for key in _OLD if isinstance(one.get(key), str)), None)
            new = next((one[key] for key in _NEW if isinstance(one.get(key), str)), None)
            if old is not None and new is not None:
                yield CodeEdit(path, found.span(), _lines(old), _lines(new))
        for key in _PATCHES:
            if isinstance(given.get(key), str):
                yield from (edit._replace(place=found.span()) for edit in _hunks(given[key]))


def _lines(code: str) -> tuple[str, ...]:
    return tuple(line for part in code.split("\n") if (line := part.strip()))

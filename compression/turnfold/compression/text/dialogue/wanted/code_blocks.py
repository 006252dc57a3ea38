"""Code in a message: its place, and its definitions.

This module reads one text. Which code is quoted is decided in ``recall.wholes.handed_code``; code that a message asks for by name
is in ``works``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text.blocks import Range, fences
from turnfold.compression.text.kinds import parts

_FEWEST_LINES: Final = 3
_MOST_NAMES: Final = 200
_FILE_LINE: Final = 80  # characters of a line above a fence that may name its file
_CODE: Final = frozenset({"code", "html", "xml", "yaml", "json", "sql"})
_DEFINED: Final = lazy.pattern(
    r"^[^\S\n]{0,16}(?:(?:export|public|private|protected|internal|async|static|default|abstract|final|pub|open|data)[^\S\n]+){0,4}"
    r"(?:def|class|function|interface|type|struct|enum|trait|impl|fn|func|module|const|let|var|object|record|table|view)[^\S\n]+"
    r"(?:\([^()\n]{0,60}\)[^\S\n]{0,4})?([A-Za-z_$][\w$]{0,60})",
    re.MULTILINE | re.IGNORECASE,
)
_OPENING: Final = (":", "{")  # ends of a line that begins a part
_CALLED: Final = lazy.pattern(r"(?<![^\s(:={<])[^\s(:={<]++(?=\s*+[(:={<])")
#: Beginnings of lines that open a block without being a named part.
_FLOW: Final = lazy.pattern(
    r"(?:if|for|while|else|elif|try|except|finally|with|do|switch|case|default|catch|match|until|unless|when|return)\b|[-{})]"
)


class CodeBlock(NamedTuple):
    """A block of code, and the names that it defines; its first line if it defines none."""

    place: Range
    names: frozenset[str]


def code_blocks(text: str, *, is_bare: bool) -> Iterator[CodeBlock]:
    """The blocks of code in a text.

    Args:
        is_bare: if true, code without a fence counts, as people paste it. If false, a single line in a fence does, as answers
            change code.
    """
    for start, end in code_ranges(text, is_bare=is_bare, fewest=_FEWEST_LINES if is_bare else 1):
        yield CodeBlock((start, end), _names(text[start:end]))


def code_ranges(text: str, *, is_bare: bool, fewest: int = _FEWEST_LINES) -> list[Range]:
    """The ranges of blocks with at least `fewest` lines, including the line above a fence that names its file."""
    found = [(_with_file_name(text, start), end) for start, end in fences(f"\n{text}") if text.count("\n", start, end) > fewest]
    if not found and is_bare and text.count("\n") > _FEWEST_LINES:
        found = [
            (one.start, one.end) for one in parts(text) if one.kind in _CODE and text.count("\n", one.start, one.end) > fewest
        ]
    return found


def part_names(code: str) -> tuple[str, ...]:
    """The names of code's parts, in order: definitions, methods, rules, configuration keys with others below."""
    found: dict[str, None] = {}
    for line in code.splitlines():
        if (defined := _DEFINED.match(line)) is not None:
            found[defined[1]] = None
        elif (called := _opened(line.strip())) is not None:
            found[called[0]] = None
    return tuple(found)


def _opened(line: str) -> re.Match[str] | None:
    """The name of the part that a line begins."""
    return _CALLED.search(line) if line.endswith(_OPENING) and not _FLOW.match(line) else None


def _names(code: str) -> frozenset[str]:
    if names := part_names(code)[:_MOST_NAMES]:
        return frozenset(names)
    lines = (line.strip() for line in code.splitlines() if not line.lstrip().startswith(("```", "~~~")))
    return frozenset({next(filter(None, lines), "")})


def _with_file_name(text: str, start: int) -> int:
    """The start of a fence, or of the line directly above it if that is short enough to be a file name."""
    above = text.rfind("\n", 0, max(0, start - 1)) + 1
    return above if start - above <= _FILE_LINE and text[above:start].strip() else start

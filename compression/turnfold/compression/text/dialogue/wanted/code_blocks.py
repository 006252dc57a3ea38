"""Code in a message: where it stands, and what it defines.

Lives here: reading one text. Does not belong here: which code is quoted (``recall.wholes.handed_code``), which a message asks
for by name (``works``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from turnfold.compression.text.blocks import Range, fences
from turnfold.compression.text.kinds import parts

_FEWEST_LINES: Final = 3
_MOST_NAMES: Final = 200
_FILE_LINE: Final = 80  # characters up to which the line above a fence may name its file
_CODE: Final = frozenset({"code", "html", "xml", "yaml", "json", "sql"})
_DEFINED: Final = re.compile(
    r"^[^\S\n]{0,16}(?:(?:export|public|private|protected|internal|async|static|default|abstract|final|pub|open|data)[^\S\n]+){0,4}"
    r"(?:def|class|function|interface|type|struct|enum|trait|impl|fn|func|module|const|let|var|object|record|table|view)[^\S\n]+"
    r"(?:\([^()\n]{0,60}\)[^\S\n]{0,4})?([A-Za-z_$][\w$]{0,60})",
    re.MULTILINE | re.IGNORECASE,
)


class CodeBlock(NamedTuple):
    """A block of code, and the names that it defines; of one that defines none its first line."""

    place: Range
    names: frozenset[str]


def code_blocks(text: str, *, is_bare: bool) -> Iterator[CodeBlock]:
    """The blocks of code in a text.

    Args:
        is_bare: whether code without a fence counts, as people paste it.
    """
    for start, end in code_ranges(text, is_bare=is_bare):
        yield CodeBlock((start, end), _names(text[start:end]))


def code_ranges(text: str, *, is_bare: bool) -> list[Range]:
    """Where these blocks stand, each with the line above its fence that names its file."""
    found = [(_with_file_name(text, start), end) for start, end in fences(f"\n{text}") if _is_long(text, start, end)]
    if not found and is_bare and text.count("\n") > _FEWEST_LINES:
        found = [(part.start, part.end) for part in parts(text) if part.kind in _CODE and _is_long(text, part.start, part.end)]
    return found


def _is_long(text: str, start: int, end: int) -> bool:
    return text.count("\n", start, end) > _FEWEST_LINES


def _names(code: str) -> frozenset[str]:
    names = frozenset(found[1] for found, _ in zip(_DEFINED.finditer(code), range(_MOST_NAMES), strict=False))
    lines = (line.strip() for line in code.splitlines() if not line.lstrip().startswith(("```", "~~~")))
    return names or frozenset({next(filter(None, lines), "")})


def _with_file_name(text: str, start: int) -> int:
    """Where a fence begins with the line right above it, if that is short enough to be the name of its file."""
    above = text.rfind("\n", 0, max(0, start - 1)) + 1
    return above if start - above <= _FILE_LINE and text[above:start].strip() else start

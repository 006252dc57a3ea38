"""Code in a message: its place, and its definitions.

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
_OPENING: Final = (":", "{")  # ends of a line that begins a part
_CALLED: Final = re.compile(r"(?<![^\s(:={<])[^\s(:={<]++(?=\s*+[(:={<])")
#: What lines begin with that open a block and no part that has a name.
_FLOW: Final = re.compile(
    r"(?:if|for|while|else|elif|try|except|finally|with|do|switch|case|default|catch|match|until|unless|when|return)\b|[-{})]"
)


class CodeBlock(NamedTuple):
    """A block of code, and the names that it defines; of one that defines none its first line."""

    place: Range
    names: frozenset[str]


def code_blocks(text: str, *, is_bare: bool) -> Iterator[CodeBlock]:
    """The blocks of code in a text.

    Args:
        is_bare: whether code without a fence counts, as people paste it; if not, a line in a fence does, as an answer changes it.
    """
    for start, end in code_ranges(text, is_bare=is_bare, fewest=_FEWEST_LINES if is_bare else 1):
        yield CodeBlock((start, end), _names(text[start:end]))


def code_ranges(text: str, *, is_bare: bool, fewest: int = _FEWEST_LINES) -> list[Range]:
    """Where these blocks stand that have at least so many lines, each with the line above its fence that names its file."""
    found = [(_with_file_name(text, start), end) for start, end in fences(f"\n{text}") if text.count("\n", start, end) > fewest]
    if not found and is_bare and text.count("\n") > _FEWEST_LINES:
        found = [
            (one.start, one.end) for one in parts(text) if one.kind in _CODE and text.count("\n", one.start, one.end) > fewest
        ]
    return found


def part_names(code: str) -> tuple[str, ...]:
    """What the parts of code are called, in order: definitions, methods, rules, keys of a configuration with others below."""
    found: dict[str, None] = {}
    for line in code.splitlines():
        if (defined := _DEFINED.match(line)) is not None:
            found[defined[1]] = None
        elif (called := _opened(line.strip())) is not None:
            found[called[0]] = None
    return tuple(found)


def _opened(line: str) -> re.Match[str] | None:
    """What a line calls the part that it begins."""
    return _CALLED.search(line) if line.endswith(_OPENING) and not _FLOW.match(line) else None


def _names(code: str) -> frozenset[str]:
    if names := part_names(code)[:_MOST_NAMES]:
        return frozenset(names)
    lines = (line.strip() for line in code.splitlines() if not line.lstrip().startswith(("```", "~~~")))
    return frozenset({next(filter(None, lines), "")})


def _with_file_name(text: str, start: int) -> int:
    """Where a fence begins with the line right above it, if that is short enough to be the name of its file."""
    above = text.rfind("\n", 0, max(0, start - 1)) + 1
    return above if start - above <= _FILE_LINE and text[above:start].strip() else start

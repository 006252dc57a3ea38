"""Definitions in code: functions, classes, rules, targets, in most languages.

This module reads one text. Which of them a request names is decided in ``code_parts``; edits are in ``code_edits``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.code_files import FILE

_MODIFIERS: Final = (
    r"(?:(?:export|default|public|private|protected|internal|async|static|abstract|final|pub(?:\(\w+\))?|open|data|sealed|override"
    r"|unsafe|virtual|inline|readonly)[^\S\n]+)"
)
_NAMED: Final = r"([A-Za-z_$][\w$]{1,60})"
_HYPHENED: Final = r"([A-Za-z_][\w-]{1,60})"
_WORDS: Final = (
    r"(?:def|defp|defmacrop?|defmodule|class|function\*?|local[^\S\n]+function|sub|interface|type|struct|enum|trait|impl(?:<[^>\n]*>)?"
    r"|fn|fun|func|module|object|record|protocol|extension)"
)
_OF_SQL: Final = r"(?:FUNCTION|PROCEDURE|TRIGGER|(?:MATERIALIZED[^\S\n]+)?VIEW|(?:TEMP(?:ORARY)?[^\S\n]+)?TABLE|TYPE)"
_OF_TERRAFORM: Final = r"(?:resource|data|module|variable|output|provider)"
#: A definition, at the beginning of its line: a class or function by its word, a method by its brackets and what opens its body,
#: a function that is a value, a value of the outermost level, what SQL creates, what Terraform has, a rule of style sheets, a
#: target with its commands, a stage of a Dockerfile.
_DEFINED: Final = lazy.pattern(
    rf"^([^\S\n]{{0,16}})(?:{_MODIFIERS}{{0,4}}{_WORDS}"
    rf"[^\S\n]+(?:\([^()\n]{{0,60}}\)[^\S\n]{{0,4}})?(?:\w{{1,60}}[.:]{{1,2}}){{0,4}}{_NAMED}"
    rf"|{_MODIFIERS}{{0,4}}(?:[\w$<>\[\],.?*&:]{{1,60}}[^\S\n]+){{0,2}}[*&]{{0,2}}{_NAMED}"
    r"\([^;\n]{0,200}\)[^;\n(]{0,60}\n?[^\S\n]*\{[^\S\n]*$"
    rf"|{_MODIFIERS}{{0,2}}(?:(?:const|let|var)[^\S\n]+)?{_NAMED}[^\S\n]*(?::[^=\n]{{1,80}})?=[^\S\n]*[^;\n]{{0,160}}=>[^\S\n]*[{{(]$"
    rf"|(?<=^)(?=\S){_MODIFIERS}{{0,2}}(?:(?:const|let|var|val)[^\S\n]+)?(?:[\w$]{{1,60}}\.){{0,3}}{_NAMED}"
    r"[^\S\n]*(?::[^=\n]{1,60})?[^\S\n]*(?:=(?!=)|<-)"
    rf"|(?i:CREATE[^\S\n]+(?:OR[^\S\n]+REPLACE[^\S\n]+)?{_OF_SQL}[^\S\n]+(?:IF[^\S\n]+NOT[^\S\n]+EXISTS[^\S\n]+)?)"
    rf"[`\"\[]?(?:\w{{1,60}}[`\"\]]?\.[`\"\[]?)?{_NAMED}"
    rf"|{_OF_TERRAFORM}[^\S\n]+(?:\"[\w-]{{1,60}}\"[^\S\n]+)?\"{_HYPHENED}\"[^\S\n]*\{{"
    rf"|(?:[.#]|@mixin[^\S\n]+|@keyframes[^\S\n]+){_HYPHENED}[^{{}};\n]{{0,120}}\{{[^\S\n]*$"
    rf"|(?<=^)(?=\S)([A-Za-z_][\w.-]{{1,60}})[^\S\n]*:(?![=:])[^\n]{{0,300}}\n(?=\t[^\n]*\w)"
    rf"|(?<=^)FROM[^\S\n][^\n]{{1,200}}[^\S\n](?i:AS)[^\S\n]+{_HYPHENED}[^\S\n]*$)",
    re.MULTILINE,
)
_CREATED: Final = lazy.pattern(r"CREATE\b[^\n]*", re.IGNORECASE)
_TAGGED: Final = lazy.pattern(r"\bAS\s+(\$\w*\$)", re.IGNORECASE)
_SQL_BEGINS: Final = lazy.pattern(r"^[^\S\n]*BEGIN\b", re.IGNORECASE | re.MULTILINE)
_SQL_ENDS: Final = lazy.pattern(r"^END\b[^\n]*", re.IGNORECASE | re.MULTILINE)
_STAGE: Final = lazy.pattern(r"^FROM[^\S\n]", re.MULTILINE)
_LONGEST_SQL: Final = 20_000  # characters
_NO_NAMES: Final = frozenset(
    {"if", "for", "while", "switch", "catch", "return", "else", "with", "match", "when", "elif", "foreach"}
)
_CLOSES: Final = lazy.pattern(r"end\b")
#: Marks for omitted code: "# ... existing code ...", "// rest unchanged".
ELIDED: Final = lazy.pattern(
    r"^[^\S\n]*(?:#|//|--|/\*|<!--|\{/\*)\s*(?:\.\.\.|…|(?:the )?(?:rest|remaining|existing|other|previous|unchanged)\b)",
    re.MULTILINE,
)
_LEADING: Final = ("@", "#[", "///", "//", "/**", "*/", "* ", "#")


class Definition(NamedTuple):
    """A definition in code.

    Attributes:
        name: the defined name.
        holder: the name of the enclosing definition; "" for none.
        place: its range, including decorators and comments directly above, in whole lines.
        head: its first line.
        depth: indentation in characters.
    """

    name: str
    holder: str
    place: Range
    head: Range
    depth: int


def definitions(text: str) -> Iterator[Definition]:
    """The definitions in a text, in order."""
    open_: list[Definition] = []
    for found in _DEFINED.finditer(text):
        name = next(filter(None, found.groups()[1:]))
        if name in _NO_NAMES:
            continue
        start, depth = found.start(), len(found[1].expandtabs(4))
        end = _created_end(text, start) or _stage_end(text, start) or _end(text, start, depth)
        while open_ and open_[-1].place[1] <= start:
            open_.pop()
        line_end = text.find("\n", start)
        head = (start, len(text) if line_end < 0 else line_end)
        one = Definition(name, open_[-1].name if open_ else "", (_begin(text, start, depth), end), head, depth)
        yield one
        open_.append(one)


def _begin(text: str, start: int, depth: int) -> int:
    """The start of a definition, including the decorators and comments directly above it."""
    while start:
        above = text.rfind("\n", 0, start - 1) + 1
        line = text[above : start - 1]
        body = line.strip()
        if not body.startswith(_LEADING) or _indent(line) < depth or FILE.search(line):
            break
        start = above
    return start


def _created_end(text: str, start: int) -> int:
    """The end of what an SQL statement creates; 0 for anything else. Its body is not indented deeper."""
    if not _CREATED.match(text, start):
        return 0
    most = min(len(text), start + _LONGEST_SQL)
    stop = text.find(";\n", start, most)
    stop = stop + 1 if stop >= 0 else most
    if (tag := _TAGGED.search(text, start, most)) and tag.start() < stop:
        closing = text.find(tag[1], tag.end(), most)
        return _line_end(text, closing) if closing >= 0 else 0
    if (begins := _SQL_BEGINS.search(text, start, most)) and begins.start() < stop:
        ends = _SQL_ENDS.search(text, begins.end(), most)
        return _line_end(text, ends.start()) if ends else 0
    return stop


def _stage_end(text: str, start: int) -> int:
    """The end of a Dockerfile stage, at the next one or an empty line; 0 for anything else."""
    if not _STAGE.match(text, start):
        return 0
    ends = [at for at in (text.find("\nFROM ", start), text.find("\n```", start), text.find("\n\n\n", start)) if at >= 0]
    return min(ends, default=len(text) - 1) + 1


def _end(text: str, start: int, depth: int) -> int:
    """The end of a definition: before the next line that is indented no deeper, unless that line closes it."""
    at = end = _line_end(text, start)
    while at < len(text):
        begin, at = at, _line_end(text, at)
        line = text[begin:at]
        body = line.strip()
        if not body or ELIDED.match(line):
            continue
        if _indent(line) > depth or body[0] in ")]" or (body[0] == "{" and begin == end):
            end = at
        elif body[0] == "}" or _CLOSES.match(body):
            return at
        else:
            break
    return end


def _line_end(text: str, start: int) -> int:
    found = text.find("\n", start)
    return len(text) if found < 0 else found + 1


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip()) if "\t" not in line else len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())

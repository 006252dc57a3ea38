"""The parts of pasted code that a request or an error names: files, classes, functions, lines, the last change.

This module reads one request. Files and definitions are found in ``code_files`` and ``code_definitions``; which parts are quoted
is decided in ``recall.wholes.parts.code_parts``.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text.dialogue.wanted.code_files import FILE, SUFFIXES
from turnfold.compression.text.lexicon import one_of

_LONGEST: Final = 1_500  # characters of a request; a longer one contains what it needs
_LONGEST_ERROR: Final = 30_000  # characters of one with an error
_MOST_CALLS: Final = 40  # in it
_MOST_JOINED: Final = 4  # words of a request that are one name in code
_SHORTEST_JOINED: Final = 7  # letters of such a name
_IDENTIFIER: Final = lazy.pattern(r"[A-Za-z_$][\w$]*")
_HYPHENED: Final = lazy.pattern(r"(?<![\w/@.-])[.#]?([A-Za-z_]\w*(?:-\w+)+)(?![\w-])|(?<!\S)[.#]([A-Za-z]\w+)(?!\S)")
_CODE_SHAPED: Final = lazy.pattern(r"\w_\w|^_+\w|[a-z\d][A-Z]|[A-Z]{2}[a-z]|[a-z]\d|\$")
_KIND: Final = rf"(?:{one_of('code_parts', 'kinds')})"
_BEHIND_KIND: Final = lazy.pattern(rf"\b{_KIND}[^\S\n]+[`\"']?([A-Za-z_$][\w$]+)", re.IGNORECASE)
_BEFORE_KIND: Final = lazy.pattern(rf"(?<![\w$])([A-Za-z_$][\w$]+)[`\"']?[^\S\n]+{_KIND}\b", re.IGNORECASE)
_IN_MARKS: Final = lazy.pattern(r"`([A-Za-z_$][\w$.]*)(?:\([^`\n]*\))?`|(?<!\w)(?<!\w\$)\b([A-Za-z_$][\w$]*)\(")
_LISTS: Final = lazy.pattern(rf"\b(?:{one_of('code_parts', 'several')})\b", re.IGNORECASE)
_WHOLE: Final = lazy.pattern(rf"\b(?:{one_of('code_parts', 'whole')})\b", re.IGNORECASE)
_CHANGED: Final = lazy.pattern(
    rf"\b(?:{one_of('code_parts', 'last')})[^\S\n]+(?:\w+[^\S\n]+)?(?:{one_of('code_parts', 'changes')})\b"
    rf"|\b(?:{one_of('code_parts', 'undoing')})\b",
    re.IGNORECASE,
)
#: A place in a file, as errors name it, with the function there: of Python, of Java and JavaScript, of PHP, of compilers.
_CALL: Final = lazy.pattern(
    r"File \"(?P<python>[^\"\n]{1,300})\", line (?P<python_line>\d{1,6})(?:, in (?P<python_name>[\w.<>]{1,80}))?"
    r"|\bat (?:async )?(?:new )?(?P<name>[\w$.<>#\[\] ]{1,120}?) ?"
    r"\((?:file://)?(?P<path>[^()\n:]{1,300}):(?P<line>\d{1,6})(?::\d{1,6})?\)"
    r"|(?<![\w/\\.-])(?P<php>(?:/|\w)[^\s():]{0,200}\.php)\((?P<php_line>\d{1,6})\)"
    r"(?:: (?:[\w\\]{1,80}(?:->|::))?(?P<php_name>\w{1,80})\()?"
    rf"|(?<![\w/\\.-])(?P<file>[\w./\\@-]{{0,200}}\.(?:{SUFFIXES}))(?::|\(|\"?, line |\ on line )(?P<file_line>\d{{1,6}})\b"
)
_OF_LIBRARY: Final = lazy.pattern(
    r"site-packages|node_modules|[/\\]lib[/\\]python|[/\\]vendor[/\\]|^node:|^internal/|^<|\.m2[/\\]|\.cargo[/\\]"
)
_KEYS: Final = (
    ("python", "python_line", "python_name"),
    ("path", "line", "name"),
    ("php", "php_line", "php_name"),
    ("file", "file_line", ""),
)


class CallPlace(NamedTuple):
    """A place that an error names: a path, a line number from 1, and the function; "" if none is named."""

    path: str
    line: int
    name: str


class NamedCode(NamedTuple):
    """The code that a request names.

    Attributes:
        files: paths, case-folded.
        names: names of definitions, as written in code.
        joined: names joined from several words.
        lists: whether it asks what a file defines.
        changed: whether it is about the last change: "undo that edit", "write a commit message".
        is_whole: whether it asks for a whole file.
    """

    files: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    joined: frozenset[str] = frozenset()
    lists: bool = False
    changed: bool = False
    is_whole: bool = False


def call_places(request: str) -> list[CallPlace]:
    """The places named by an error in a request; that of the error itself comes last."""
    if len(request) > _LONGEST_ERROR:
        return []
    found: list[CallPlace] = []
    for call in _CALL.finditer(request):
        path, line, name = next((call[p], call[n], call[f] if f else "") for p, n, f in _KEYS if call[p])
        if _OF_LIBRARY.search(path):
            continue
        found.append(CallPlace(path.replace("\\", "/").lower(), int(line), (name or "").rpartition(".")[2]))
        if len(found) == _MOST_CALLS:
            break
    return found if "most recent call last" in request else found[::-1]


def may_name_parts(request: str) -> bool:
    """Whether a request may name code; a long one contains what it needs."""
    return len(request) <= _LONGEST and "```" not in request


def named_parts(request: str) -> NamedCode:
    """The code that a request may name."""
    if not may_name_parts(request):
        return NamedCode()
    files = tuple(found[1].replace("\\", "/").lower() for found in FILE.finditer(request))
    rest = FILE.sub(" ", request)
    said = _IDENTIFIER.findall(rest)
    names = {word for word in said if _CODE_SHAPED.search(word)}
    for pattern in (_BEHIND_KIND, _BEFORE_KIND, _IN_MARKS, _HYPHENED):
        names.update(part for found in pattern.finditer(rest) for one in found.groups() if one for part in one.split(".") if part)
    low = [word.lower() for word in said]
    joined = frozenset(
        one
        for size in range(2, _MOST_JOINED + 1)
        for at in range(len(low) - size + 1)
        if len(one := "".join(low[at : at + size])) >= _SHORTEST_JOINED
    )
    marks = [pattern.search(request) is not None for pattern in (_LISTS, _CHANGED, _WHOLE)]
    return NamedCode(files, frozenset(names), joined, *marks)

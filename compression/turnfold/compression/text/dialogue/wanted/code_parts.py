"""Pasted code of several files: where each file and each definition stands, and which of them a request or an error names.

Lives here: reading one text, and one request. Does not belong here: which parts are quoted (``recall.wholes.code_parts``), code
that is short enough to be quoted whole (``code_blocks``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from turnfold.compression.text.blocks import Range
from turnfold.compression.text.lexicon import lexicon, one_of

_LONGEST: Final = 1_500  # characters of a request; a longer one brings what it needs
_LONGEST_ERROR: Final = 30_000  # characters of one with an error
_MOST_CALLS: Final = 40  # in it
_LONGEST_LINE: Final = 200  # characters of a line that names a file
_FEWEST_LINES: Final = 2  # of what stands under it
_MOST_JOINED: Final = 4  # words of a request that are one name in code
_SHORTEST_JOINED: Final = 7  # letters of such a name
_SUFFIXES: Final = (
    "py|pyi|js|jsx|mjs|cjs|ts|tsx|vue|svelte|java|kt|kts|scala|go|rs|rb|php|c|cc|cpp|cxx|h|hpp|cs|swift|dart|lua|pl|ex|exs|erl|hs|ml"
    "|sh|bash|ps1|sql|css|scss|html?|xml|ya?ml|toml|json|ini|cfg|conf|env|md|txt|tf|gradle|proto|graphql|r|jl"
)
_FILE: Final = re.compile(
    rf"(?<![\w.@+/\\-])((?:[\w@.+-]{{1,80}}[/\\]|/){{0,12}}(?:[\w@+-][\w@.+-]{{0,80}}\.(?:{_SUFFIXES})|Dockerfile|Makefile))(?![\w/-])",
    re.IGNORECASE,
)
_LABELS: Final = lexicon("code_parts")["labels"]
_WORDS: Final = re.compile(r"[^\W\d_]+")
_BRINGS: Final = re.compile(r"\s*(?:import|from|require|use|using|include|#\s*include|export|@import|source|const|let|var)\b")
_MODIFIERS: Final = (
    r"(?:(?:export|default|public|private|protected|internal|async|static|abstract|final|pub(?:\(\w+\))?|open|data|sealed|override"
    r"|unsafe|virtual|inline|readonly)[^\S\n]+)"
)
_NAMED: Final = r"([A-Za-z_$][\w$]{1,60})"
#: A definition, at the beginning of its line: a class or function by its word, a method by its brackets and what opens its body,
#: a value of the outermost level.
_DEFINED: Final = re.compile(
    rf"^([^\S\n]{{0,16}})(?:{_MODIFIERS}{{0,4}}"
    r"(?:def|class|function\*?|interface|type|struct|enum|trait|impl(?:<[^>\n]*>)?|fn|fun|func|module|object|record|protocol|extension)"
    rf"[^\S\n]+(?:\([^()\n]{{0,60}}\)[^\S\n]{{0,4}})?(?:self\.)?{_NAMED}"
    rf"|{_MODIFIERS}{{0,4}}(?:[\w$<>\[\],.?*&:]{{1,60}}[^\S\n]+){{0,2}}[*&]{{0,2}}{_NAMED}"
    r"\([^;\n]{0,200}\)[^;\n(]{0,60}\n?[^\S\n]*\{[^\S\n]*$"
    rf"|(?<=^)(?=\S){_MODIFIERS}{{0,2}}(?:(?:const|let|var|val)[^\S\n]+)?{_NAMED}[^\S\n]*(?::[^=\n]{{1,60}})?[^\S\n]*=(?!=))",
    re.MULTILINE,
)
_LINE_END: Final = re.compile(r"\n")
_NO_NAMES: Final = frozenset(
    {"if", "for", "while", "switch", "catch", "return", "else", "with", "match", "when", "elif", "foreach"}
)
_LEADING: Final = ("@", "#[", "///", "//", "/**", "*/", "* ", "#")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][\w$]*")
_CODE_SHAPED: Final = re.compile(r"\w_\w|^_+\w|[a-z\d][A-Z]|[A-Z]{2}[a-z]|[a-z]\d|\$")
_KIND: Final = rf"(?:{one_of('code_parts', 'kinds')})"
_BEHIND_KIND: Final = re.compile(rf"\b{_KIND}[^\S\n]+[`\"']?([A-Za-z_$][\w$]+)", re.IGNORECASE)
_BEFORE_KIND: Final = re.compile(rf"(?<![\w$])([A-Za-z_$][\w$]+)[`\"']?[^\S\n]+{_KIND}\b", re.IGNORECASE)
_IN_MARKS: Final = re.compile(r"`([A-Za-z_$][\w$.]*)(?:\([^`\n]*\))?`|\b([A-Za-z_$][\w$]*)\(")
_LISTS: Final = re.compile(rf"\b(?:{one_of('code_parts', 'several')})\b", re.IGNORECASE)
#: A place in a file, as errors name it, with the function there: of Python, of Java and JavaScript, of PHP, of compilers.
_CALL: Final = re.compile(
    r"File \"(?P<python>[^\"\n]{1,300})\", line (?P<python_line>\d{1,6})(?:, in (?P<python_name>[\w.<>]{1,80}))?"
    r"|\bat (?:async )?(?:new )?(?P<name>[\w$.<>#\[\] ]{1,120}?) ?"
    r"\((?:file://)?(?P<path>[^()\n:]{1,300}):(?P<line>\d{1,6})(?::\d{1,6})?\)"
    r"|(?<![\w/\\.-])(?P<php>(?:/|\w)[^\s():]{0,200}\.php)\((?P<php_line>\d{1,6})\)"
    r"(?:: (?:[\w\\]{1,80}(?:->|::))?(?P<php_name>\w{1,80})\()?"
    rf"|(?<![\w/\\.-])(?P<file>[\w./\\@-]{{0,200}}\.(?:{_SUFFIXES}))(?::|\(|\"?, line |\ on line )(?P<file_line>\d{{1,6}})\b"
)
_OF_LIBRARY: Final = re.compile(
    r"site-packages|node_modules|[/\\]lib[/\\]python|[/\\]vendor[/\\]|^node:|^internal/|^<|\.m2[/\\]|\.cargo[/\\]"
)
_KEYS: Final = (
    ("python", "python_line", "python_name"),
    ("path", "line", "name"),
    ("php", "php_line", "php_name"),
    ("file", "file_line", ""),
)


class CallPlace(NamedTuple):
    """A place that an error names: a path, a line of that file from 1, and the function there; "" where it names none."""

    path: str
    line: int
    name: str


class FilePart(NamedTuple):
    """What a text has of one file: its path, the line that names it, and what stands under it."""

    path: str
    line: Range
    place: Range


class Definition(NamedTuple):
    """A definition in code.

    Attributes:
        name: what it defines.
        holder: the name of the definition that it stands in; "" for none.
        place: it with what stands right above it, whole lines.
        head: its first line.
        depth: characters by which it is indented.
    """

    name: str
    holder: str
    place: Range
    head: Range
    depth: int


class NamedCode(NamedTuple):
    """What a request names: files, definitions by the name that code has for them, and the same joined from several words."""

    files: tuple[str, ...]
    names: frozenset[str]
    joined: frozenset[str]
    lists: bool


def call_places(request: str) -> list[CallPlace]:
    """The places that an error in a request names, that of the error itself last."""
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


def named_parts(request: str) -> NamedCode:
    """What a request may name of code; nothing where it is long."""
    if len(request) > _LONGEST or "```" in request:
        return NamedCode((), frozenset(), frozenset(), False)
    files = tuple(found[1].replace("\\", "/").lower() for found in _FILE.finditer(request))
    rest = _FILE.sub(" ", request)
    said = _IDENTIFIER.findall(rest)
    names = {word for word in said if _CODE_SHAPED.search(word)}
    for pattern in (_BEHIND_KIND, _BEFORE_KIND, _IN_MARKS):
        names.update(part for found in pattern.finditer(rest) for one in found.groups() if one for part in one.split(".") if part)
    low = [word.lower() for word in said]
    joined = frozenset(
        one
        for size in range(2, _MOST_JOINED + 1)
        for at in range(len(low) - size + 1)
        if len(one := "".join(low[at : at + size])) >= _SHORTEST_JOINED
    )
    return NamedCode(files, frozenset(names), joined, _LISTS.search(request) is not None)


def file_parts(text: str) -> list[FilePart]:
    """The files of which a text holds something, each under a line that names it and little else."""
    lines: list[tuple[str, Range]] = []
    for found in _FILE.finditer(text):
        start = text.rfind("\n", 0, found.start()) + 1
        end = text.find("\n", found.end())
        end = len(text) if end < 0 else end
        if lines and lines[-1][1][0] == start:
            continue
        if end - start <= _LONGEST_LINE and _is_file_line(text[start:end], found[1]):
            lines.append((found[1].replace("\\", "/"), (start, end)))
    borders = [*(start for _, (start, _) in lines), len(text)]
    return [
        FilePart(path, line, (line[1], stop))
        for (path, line), stop in zip(lines, borders[1:], strict=True)
        if text.count("\n", line[1], stop) > _FEWEST_LINES
    ]


def is_path(path: str, named: str) -> bool:
    """Whether two case-folded paths may be of one file: that of a message, and that of the machine it ran on."""
    return f"/{path}".endswith(f"/{named}") or f"/{named}".endswith(f"/{path}")


def line_range(text: str, file: FilePart, line: int, around: int) -> Range | None:
    """A line of a file and so many above and below it; None where the text does not have it."""
    begins = [found.end() for found in _LINE_END.finditer(text, *file.place)]
    first = next((n for n, at in enumerate(begins) if _starts_code(text, at)), 0)
    begins = begins[first:]
    if line > len(begins):
        return None
    return begins[max(0, line - 1 - around)], ([*begins, file.place[1]])[min(len(begins), line + around)]


def _starts_code(text: str, at: int) -> bool:
    """Whether a line is of a file, and not the fence or rule above it."""
    return not text.startswith(("```", "~~~", "===", "---", "\n"), at)


def _is_file_line(line: str, name: str) -> bool:
    if line[0].isspace() or _BRINGS.match(line):
        return False
    beside = line.replace(name, "", 2)
    return _LABELS.issuperset(_WORDS.findall(beside.lower())) and not any(sign in beside for sign in ("(", ";", "{"))


def definitions(text: str) -> Iterator[Definition]:
    """The definitions in a text, in order."""
    open_: list[Definition] = []
    for found in _DEFINED.finditer(text):
        name = next(filter(None, found.groups()[1:]))
        if name in _NO_NAMES:
            continue
        start, depth = found.start(), len(found[1].expandtabs(4))
        end = _end(text, start, depth)
        while open_ and open_[-1].place[1] <= start:
            open_.pop()
        line_end = text.find("\n", start)
        head = (start, len(text) if line_end < 0 else line_end)
        one = Definition(name, open_[-1].name if open_ else "", (_begin(text, start, depth), end), head, depth)
        yield one
        open_.append(one)


def _begin(text: str, start: int, depth: int) -> int:
    """Where a definition begins with the decorators and remarks right above it."""
    while start:
        above = text.rfind("\n", 0, start - 1) + 1
        line = text[above : start - 1]
        body = line.strip()
        if not body.startswith(_LEADING) or _indent(line) < depth or _FILE.search(line):
            break
        start = above
    return start


def _end(text: str, start: int, depth: int) -> int:
    """Where a definition ends: in front of the next line that is indented no deeper, unless that closes it."""
    at = end = _line_end(text, start)
    while at < len(text):
        begin, at = at, _line_end(text, at)
        line = text[begin:at]
        body = line.strip()
        if not body:
            continue
        if _indent(line) > depth or body[0] in ")]" or (body[0] == "{" and begin == end):
            end = at
        elif body[0] == "}" or body.split(maxsplit=1)[0] == "end":
            return at
        else:
            break
    return end


def _line_end(text: str, start: int) -> int:
    found = text.find("\n", start)
    return len(text) if found < 0 else found + 1


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip()) if "\t" not in line else len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())

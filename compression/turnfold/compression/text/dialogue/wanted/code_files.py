"""Files in pasted code: the lines that name them, and the text below each.

This module reads one text. What is defined in a file is found in ``code_definitions``; which files a request names, in
``code_parts``.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.lexicon import lexicon

_LONGEST_LINE: Final = 200  # characters of a line that names a file
_FEWEST_LINES: Final = 2  # lines of a file's text
SUFFIXES: Final = (
    "py|pyi|js|jsx|mjs|cjs|ts|tsx|vue|svelte|java|kt|kts|scala|go|rs|rb|php|c|cc|cpp|cxx|h|hpp|cs|swift|dart|lua|pl|ex|exs|erl|hs|ml"
    "|sh|bash|ps1|sql|css|scss|html?|xml|ya?ml|toml|json|ini|cfg|conf|env|md|txt|tf|gradle|proto|graphql|r|jl"
)
FILE: Final = lazy.pattern(
    rf"(?<![\w.@+/\\-])((?:[\w@.+-]{{1,80}}[/\\]|/){{0,12}}(?:[\w@+-][\w@.+-]{{0,80}}\.(?:{SUFFIXES})|Dockerfile|Makefile))(?![\w/-])",
    re.IGNORECASE,
)
#: The ends of such names, each found by its first sign; most texts have none.
_SUFFIX: Final = lazy.pattern(rf"\.(?=[a-z])(?:{SUFFIXES})(?![\w/-])", re.IGNORECASE)
_BUILD_FILE: Final = lazy.pattern(r"[fF](?i:ile)")
_LABELS: Final = lexicon("code_parts")["labels"]
_WORDS: Final = lazy.pattern(r"[^\W\d_]+")
_BRINGS: Final = lazy.pattern(r"\s*(?:import|from|require|use|using|include|#\s*include|export|@import|source|const|let|var)\b")
_LINE_END: Final = lazy.pattern(r"\n")


class FilePart(NamedTuple):
    """The part of a file in a text: its path, the line that names it, and the text below."""

    path: str
    line: Range
    place: Range


def file_parts(text: str) -> list[FilePart]:
    """The parts of files in a text, each below a line that names the file and little else."""
    lines: list[tuple[str, Range]] = []
    for found in FILE.finditer(text) if _SUFFIX.search(text) or _BUILD_FILE.search(text) else ():
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
    """Whether two case-folded paths may refer to one file: one from a message, and one from the machine it ran on."""
    return f"/{path}".endswith(f"/{named}") or f"/{named}".endswith(f"/{path}")


def line_range(text: str, file: FilePart, line: int, around: int) -> Range | None:
    """A line of a file with `around` lines above and below; None if the text does not have it."""
    begins = [found.end() for found in _LINE_END.finditer(text, *file.place)]
    first = next((n for n, at in enumerate(begins) if _starts_code(text, at)), 0)
    begins = begins[first:]
    if line > len(begins):
        return None
    return begins[max(0, line - 1 - around)], ([*begins, file.place[1]])[min(len(begins), line + around)]


def _starts_code(text: str, at: int) -> bool:
    """Whether a line belongs to a file, rather than being the fence or rule above it."""
    return not text.startswith(("```", "~~~", "===", "---", "\n"), at)


def _is_file_line(line: str, name: str) -> bool:
    if line[0].isspace() or _BRINGS.match(line):
        return False
    beside = line.replace(name, "", 2)
    return _LABELS.issuperset(_WORDS.findall(beside.lower())) and not any(sign in beside for sign in ("(", ";", "{"))

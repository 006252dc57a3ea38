"""Source code: signatures first, then the lines with most names.

This module says what lines of code are worth, in any language. Lines are never rewritten: they are shown verbatim, with
indentation, because a model quotes code when it edits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.shorten.evidence import odd_settings
from turnfold.compression.shorten.lines import WeighedLine, needed_remarks, rows_of, short_lines

_NUMBER: Final = lazy.pattern(r"\s*\d+(?:\t|→|\s*[|:] ?)")
_DEFINES: Final = (
    r"\s*(?:@\w|(?:export |default |public |private |protected |internal |static |final |abstract |async |pub(?:\([^)]*\))? "
    r"|unsafe |extern "
    r"|inline |const |declare )*(?:def|class|func|fn|function|interface|struct|enum|trait|impl|type|module|namespace|mod"
    r"|macro_rules!)\b)"
)
_BINDS: Final = r"\s*(?:const|let|var|val|final|static|export)\b|[A-Z_][A-Z0-9_]* *[:=]|\s*(?:self|this)\.\w+ *[:=]"
_LEAVES: Final = r"\s*(?:return|raise|throw|yield|panic!?)\b"
_REMARK: Final = r"\s*(?:#(?!include|define|\[)|//|/\*|\*|\"\"\"|'''|<!--|--\s)"
_BRINGS: Final = r"\s*(?:from\s\S+\s)?(?:import|require|use|using|#include|include)\b"
_BRACKETS: Final = r"[\s(){}\[\];,:]*(?:(?:else|try|finally|do|end|pass)[\s(){}\[\];,:]*)?$|\s*</\w+>$"
_LONG_REMARKS: Final = (('"""', '"""'), ("'''", "'''"), ("/*", "*/"))

#: The kinds of lines and their worth; the first match counts.
_SORTS: Final = (
    ("remark", _REMARK, -0.4),
    ("brackets", _BRACKETS, -1.0),
    ("defines", _DEFINES, 3.0),
    ("brings", _BRINGS, 0.3),
    ("leaves", _LEAVES, 0.8),
    ("binds", _BINDS, 0.8),
)
_SORT: Final = lazy.pattern("|".join(f"(?P<{name}>{pattern})" for name, pattern, _ in _SORTS))
_WORTH: Final = {name: worth for name, _, worth in _SORTS} | {"": 0.2}


def _remarks(lines: Sequence[str]) -> set[int]:
    """Indices of lines inside docstrings and block comments, and of those that close one.

    In a fragment a bare mark may end a docstring whose beginning was cut off, so it opens one only after a colon.
    """
    out: set[int] = set()
    opened, since = "", 0
    for i in _lines_with_marks(lines):
        if opened:
            if opened in lines[i]:
                out.update(range(since, i + 1))
                opened = ""
            continue
        opened = _closing_mark(lines, i)
        since = i + 1
    if opened:
        out.update(range(since, len(lines)))
    return out


def _lines_with_marks(lines: Sequence[str]) -> list[int]:
    """Lines that may open or close a long comment."""
    marks = [mark for mark in ('"""', "'''", "/*", "*/") if any(mark in line for line in lines)]
    return [i for i, line in enumerate(lines) if any(mark in line for mark in marks)] if marks else []


def _closing_mark(lines: Sequence[str], i: int) -> str:
    """What closes the comment that line `i` opens; "" if it opens none."""
    body = _body(lines[i])
    for opening, closing in _LONG_REMARKS:
        at = body.find(opening)
        if at < 0 or body[:at].strip(" \trRfFbBuU") or closing in body[at + len(opening) :]:
            continue
        if opening == closing and not body[at + len(opening) :].strip():
            before = next((said for j in range(i - 1, max(-1, i - 30), -1) if (said := _body(lines[j]).rstrip())), "")
            return "" if before and not before.endswith((":", ",", "(", "=")) else closing
        return closing
    return ""


def _body(line: str) -> str:
    number = _NUMBER.match(line)
    return line[number.end() :] if number else line


def rows(text: str, words: frozenset[str]) -> list[WeighedLine]:
    """Every line with its worth; lines with line numbers need no gap marks."""
    lines = short_lines(text)
    remarks = _remarks(lines)
    above, odd = needed_remarks(lines), odd_settings(lines)

    def row(i: int) -> WeighedLine:
        number = _NUMBER.match(lines[i])
        found = _SORT.match(lines[i], number.end() if number else 0)
        sort = "remark" if i in remarks else (found.lastgroup or "" if found else "")
        scale = 0.5 if sort == "remark" else 1.0
        return WeighedLine(lines[i], _WORTH[sort], int(i in odd), scale, unmarked=number is not None, needs=above.get(i, ()))

    return rows_of(lines, words, (i for i, line in enumerate(lines) if _defines(line)), row)


def _defines(line: str) -> bool:
    return line.startswith(("def ", "class ", "func ", "fn ", "pub ", "export ", "public "))

"""Source code: signatures first, then the lines that show most names.

Lives here: what a line of code is worth, in any language. Must not: choosing, or rewriting a line: what is shown is
verbatim, indentation too, because a model quotes code when it edits.
"""

from __future__ import annotations

import re
from typing import Final

from turnfold.compression.shorten.lines import Row, short_lines

_NUMBER: Final = re.compile(r"\s*\d+(?:\t|→|\s*[|:] ?)")
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

#: What a line can be, first that matches, and what that is worth.
_SORTS: Final = (
    ("remark", _REMARK, -0.4),
    ("brackets", _BRACKETS, -1.0),
    ("defines", _DEFINES, 3.0),
    ("brings", _BRINGS, 0.3),
    ("leaves", _LEAVES, 0.8),
    ("binds", _BINDS, 0.8),
)
_SORT: Final = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern, _ in _SORTS))
_WORTH: Final = {name: worth for name, _, worth in _SORTS} | {"": 0.2}


def _in_remark(body: str, opened: str, before: str) -> str:
    """What closes the docstring or block comment that is open behind this line; "" for none.

    In a fragment a bare mark may be the end of a docstring whose beginning was cut off: it opens one only behind a colon.
    """
    if opened:
        return "" if opened in body else opened
    for opening, closing in _LONG_REMARKS:
        at = body.find(opening)
        if at < 0 or body[:at].strip(" \trRfFbBuU") or closing in body[at + len(opening) :]:
            continue
        bare = opening == closing and not body[at + len(opening) :].strip()
        return "" if bare and before and not before.endswith((":", ",", "(", "=")) else closing
    return ""


def rows(text: str) -> list[Row]:
    """Every line with its worth; lines that carry their number need no mark for a gap."""
    out: list[Row] = []
    opened = before = ""
    for line in short_lines(text):
        number = _NUMBER.match(line)
        body = line[number.end() :] if number else line
        inside, opened = opened, _in_remark(body, opened, before)
        before = body.rstrip() or before
        found = _SORT.match(body)
        sort = "remark" if inside or opened else (found.lastgroup or "" if found else "")
        out.append(Row(line, _WORTH[sort], scale=0.5 if sort == "remark" else 1.0, unmarked=number is not None))
    return out

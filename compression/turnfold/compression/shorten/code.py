"""Source code: signatures first, then the lines that show most names.

Lives here: what a line of code is worth, in any language. Must not: choosing, or rewriting a line: what is shown is
verbatim, indentation too, because a model quotes code when it edits.
"""

from __future__ import annotations

import re
from typing import Final

from turnfold.compression.shorten.lines import Row, short_lines

_NUMBER: Final = re.compile(r"\s*\d+(?:\t|→|\s*[|:] ?)")
_DEFINES: Final = re.compile(
    r"\s*(?:@\w|(?:export |default |public |private |protected |internal |static |final |abstract |async |pub(?:\([^)]*\))? "
    r"|unsafe |extern "
    r"|inline |const |declare )*(?:def|class|func|fn|function|interface|struct|enum|trait|impl|type|module|namespace|mod"
    r"|macro_rules!)\b)"
)
_BINDS: Final = re.compile(r"\s*(?:const|let|var|val|final|static|export)\b|[A-Z_][A-Z0-9_]* *[:=]|\s*(?:self|this)\.\w+ *[:=]")
_LEAVES: Final = re.compile(r"\s*(?:return|raise|throw|yield|panic!?)\b")
_REMARK: Final = re.compile(r"\s*(?:#(?!include|define|\[)|//|/\*|\*|\"\"\"|'''|<!--|--\s)")
_LONG_REMARKS: Final = (('"""', '"""'), ("'''", "'''"), ("/*", "*/"))
_BRINGS: Final = re.compile(r"\s*(?:from\s\S+\s)?(?:import|require|use|using|#include|include)\b")
_BRACKETS: Final = re.compile(r"[\s(){}\[\];,:]*(?:else|try|finally|do|end|pass)?[\s(){}\[\];,:]*$|\s*</\w+>$")

#: First that matches decides.
_WORTH: Final = ((_BRACKETS, -1.0), (_DEFINES, 3.0), (_BRINGS, 0.3), (_LEAVES, 0.8), (_BINDS, 0.8))


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
        within, opened = bool(opened), _in_remark(body, opened, before)
        before = body.rstrip() or before
        remark = within or bool(opened) or _REMARK.match(body)
        weight = -0.4 if remark else next((w for p, w in _WORTH if p.match(body)), 0.2)
        out.append(Row(line, weight=weight, scale=0.5 if remark else 1.0, unmarked=number is not None))
    return out

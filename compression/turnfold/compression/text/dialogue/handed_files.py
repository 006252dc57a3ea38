"""Messages by which a client hands over the current content of files.

Lives here: telling them by their form: fences, each under the name of a file, or outlines of files, and little beside them. Does
not belong here: what stays raw for them (``fold.units``), edits of files (``text.file_edits``).
"""

from __future__ import annotations

import re
from typing import Final

from turnfold.compression.text.blocks import fences

_NAME: Final = re.compile(r"(?<![\w.])[\w@+-][\w@.+-]*\.[^\W\d_]\w{0,9}(?![\w/])")
_NAME_LINE: Final = 200  # characters in front of a fence in which its line stands
_SHARE: Final = 0.5  # of a message
_LEFT_OUT: Final = "⋮"  # what stands for lines of a file that its outline leaves out
_OUTLINED: Final = (_LEFT_OUT, "│")


def hands_over_files(text: str) -> bool:
    """Whether most of a text is what files hold, and nothing is asked behind it: fences of which each says whose text it holds,
    in its first line or in the one above it; or outlines."""
    fenced = "```" in text or "~~~" in text
    return (fenced and _holds_named_fences(text)) or (_LEFT_OUT in text and _holds_outlines(text))


def _holds_named_fences(text: str) -> bool:
    held = end = 0
    for start, end in fences("\n" + text):
        above = text[max(0, start - _NAME_LINE) : start].rstrip().rpartition("\n")[2]
        opening = text[start:end].lstrip("\n").partition("\n")[0]
        if not (_NAME.search(above) or _NAME.search(opening)):
            return False
        held += end - start
    return held >= _SHARE * len(text) and not text[end:].strip()


def _holds_outlines(text: str) -> bool:
    return sum(len(line) + 1 for line in text.splitlines() if line.startswith(_OUTLINED)) >= _SHARE * len(text)

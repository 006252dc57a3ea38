"""Messages by which a client hands over the current content of files.

This module recognises them by their form: fences, each under the name of a file, or outlines of files, and little beside them.
What stays raw for them is decided in ``fold.units.questions``; edits of files are found in ``text.file_edits``.
"""

from __future__ import annotations

from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.blocks import fences

_NAME: Final = lazy.pattern(r"(?<![\w.])[\w@+-][\w@.+-]*\.[^\W\d_]\w{0,9}(?![\w/])")
_NAME_LINE: Final = 200  # characters before a fence in which to find its line
_SHARE: Final = 0.5  # of a message
_LEFT_OUT: Final = "⋮"  # marks lines that a file's outline omits
_OUTLINED: Final = (_LEFT_OUT, "│")


def hands_over_files(text: str) -> bool:
    """Whether most of a text is the contents of files, with no question after it.

    That means fences that name their file in the first line or the line above, or outlines.
    """
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

"""Words of a text in lower case.

Lives here: the split into words that all word-based rules share. Does not belong here: stop words, stems (scorers have their own
terms).
"""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")


def lower_text(text: str) -> str:
    """The text in lower case with straight apostrophes."""
    return text.lower().replace("’", "'")


def words(low: str) -> list[str]:
    """Words of a lowered text, in order: letters with at most one apostrophe inside."""
    return _WORD.findall(low)

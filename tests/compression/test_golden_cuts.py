"""Where a text of one piece is cut to so many tokens (``tests.support.golden`` says when to write the file anew)."""

from __future__ import annotations

from pathlib import Path

from tests.support import golden
from turnfold.compression.layers import truncate_to_tokens

FILES = Path(__file__).parent / "golden"


def test_texts_in_which_nothing_ends() -> None:
    """Long tokens, short ones, blanks, and a script without: as many characters are tried as so many tokens may have."""
    lines = []
    for unit in ("=", "-", " ", "\n", "x", "ab", "泵", "é", "word ", "It rains. ", "a,"):
        texts = [(unit * 200)[:size] for size in (19, 20, 21, 22, 39, 40, 41, 60, 61, 100)]
        cuts = [len(truncate_to_tokens(text, limit)) for text in texts for limit in (0, 1, 2, 3)]
        lines.append(f"{unit!r}: {cuts}")
    golden.agrees(FILES / "cut_off.txt", lines)

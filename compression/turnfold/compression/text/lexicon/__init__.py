"""Word tables that are data, not code.

Lives here: the one reader of the ``.txt`` tables beside this file. Does not belong here: knowledge of what a table is for.
"""

from __future__ import annotations

from importlib.resources import files


def lexicon(name: str) -> dict[str, frozenset[str]]:
    """A table: words by section, where ``[section]`` stands on a line of its own."""
    table: dict[str, frozenset[str]] = {}
    section = ""
    for line in (files(__package__) / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
            table[section] = frozenset()
        else:
            table[section] = table[section] | frozenset(line.split()) if line else table[section]
    return table

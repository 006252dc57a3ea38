"""YAML and other outlines of `key: value`: shallow lines first.

Lives here: worth by depth. Does not belong here: loading YAML (tags and anchors stay as written, no objects are built).
"""

from __future__ import annotations

from turnfold.compression.shorten.evidence import graded_lines, grades
from turnfold.compression.shorten.lines import WeighedLine, needed_above, rows_of, short_lines
from turnfold.compression.shorten.plain import template


def rows(text: str, words: frozenset[str]) -> list[WeighedLine]:
    """Every line; each level of indentation reduces its worth, comments have none."""
    lines = short_lines(text)
    found = grades(lines)
    above = needed_above(lines, headings=False)

    def row(i: int) -> WeighedLine:
        body = lines[i].lstrip(" ")
        depth = (len(lines[i]) - len(body)) // 2
        worth = -0.5 if body.startswith("#") else max(0.2, 1.5 - 0.4 * depth)
        return WeighedLine(
            lines[i],
            weight=worth,
            evidence=1 if found[i] == 3 else 0,
            like=template(body) if depth else "",
            unmarked=True,
            needs=above.get(i, ()),
        )

    return rows_of(lines, words, graded_lines(found), row)

"""YAML and other outlines of `key: value`: shallow lines first.

Lives here: worth by depth. Must not: loading YAML: tags and anchors stay as they are written, and nothing is built from them.
"""

from __future__ import annotations

from turnfold.compression.shorten.evidence import grades
from turnfold.compression.shorten.lines import Row, short_lines


def rows(text: str) -> list[Row]:
    """Every line; each level of indentation takes off from its worth, remarks have none."""
    out: list[Row] = []
    lines = short_lines(text)
    for line, found in zip(lines, grades(lines), strict=True):
        body = line.lstrip(" ")
        depth = (len(line) - len(body)) // 2
        remark = body.startswith("#")
        out.append(
            Row(line, weight=-0.5 if remark else max(0.2, 1.5 - 0.4 * depth), evidence=1 if found == 3 else 0, unmarked=True)
        )
    return out

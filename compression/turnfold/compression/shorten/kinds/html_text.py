"""HTML and XML: the visible text, headings first, without scripts, styles and menus.

This module turns pages into lines (with selectolax, a wrapper of Lexbor), and XML too. No link is followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from turnfold.compression.shorten.evidence import graded_lines, grades
from turnfold.compression.shorten.kinds.html_depth import with_few_open
from turnfold.compression.shorten.kinds.plain import template
from turnfold.compression.shorten.lines import MOST_ROWS, WeighedLine, rows_of, short_lines
from turnfold.compression.text.ties.marked_lines import in_elements

_NOISE: Final = ["script", "style", "noscript", "template", "svg", "nav", "footer", "iframe"]
_BLOCKS: Final = (
    "h1, h2, h3, h4, h5, h6, p, li, tr, pre, blockquote, dt, dd, div, section, article, title, br, header, main, body, "
    "details, summary"
)
_CELLS: Final = ("td", "th")
_CELL_GAP: Final = " | "
_MARK: Final = "\x1e"


def page_lines(text: str) -> list[str]:
    """The visible text of a page, one line per block and per row of a table; headings begin with `#`."""
    tree = LexborHTMLParser(with_few_open(text))
    tree.strip_tags(_NOISE)
    for node in tree.css(_BLOCKS):
        node.insert_before(_MARK + ("# " if node.tag in ("h1", "h2", "h3", "title") else ""))
    for cell in tree.css("td, th"):
        if cell.css_first(_BLOCKS) is not None:  # a table used for layout
            cell.insert_before(_MARK)
        elif cell.prev is not None and _before(cell) in _CELLS:
            cell.insert_before(_CELL_GAP)
    for field in tree.css("input[type=checkbox], input[type=radio], option"):
        is_set = "checked" in field.attributes or "selected" in field.attributes
        field.insert_before((_MARK if field.tag == "input" else " ") + ("[x] " if is_set else "[ ] "))
    root = tree.root
    flat = root.text(separator=" ") if root is not None else ""
    return [line for line in (" ".join(piece.split()) for piece in flat.split(_MARK)) if line]


def _before(cell: LexborNode) -> str | None:
    """The tag of the element before a cell."""
    node = cell.prev
    while node is not None and node.tag == "-text":
        node = node.prev
    return node.tag if node is not None else None


def rows(text: str, words: frozenset[str]) -> list[WeighedLine]:
    """Lines of the page; headings are worth more, failures are evidence."""
    lines = page_lines(text)
    found = grades(lines)

    def row(i: int) -> WeighedLine:
        heading = lines[i].startswith("#")
        worth = 1.2 if heading else (0.8 if len(lines[i]) > 40 else 0.2)
        return WeighedLine(
            lines[i], weight=worth, evidence=1 if found[i] == 3 else 0, like="#" if heading else lines[i], unmarked=True
        )

    return rows_of(lines, words, graded_lines(found), row)


def xml_rows(text: str, words: frozenset[str]) -> list[WeighedLine]:
    """Lines of an XML text; a text on one line is cut at its tags."""
    lines = short_lines(text.replace("><", ">\n<") if text.count("\n") < 4 else text)
    found = _with_parents(lines, grades(lines))
    above = in_elements(lines) if len(lines) <= MOST_ROWS else {}

    def row(i: int) -> WeighedLine:
        return WeighedLine(
            lines[i],
            like=template(lines[i]),
            weight=-1 if lines[i].strip().startswith("</") else 0.4,
            evidence=1 if found[i] == 3 else 0,
            needs=(above[i],) if i in above else (),
        )

    return rows_of(lines, words, graded_lines(found), row)


def _with_parents(lines: Sequence[str], found: Sequence[int]) -> list[int]:
    """Grades in which the element around a failure, by its indentation, has the failure's grade."""
    out = list(found)
    open_at: list[tuple[int, int]] = []  # indentation and index of the enclosing elements
    for i, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        while open_at and open_at[-1][0] >= depth:
            open_at.pop()
        if found[i] == 3 and open_at:
            out[open_at[-1][1]] = 3
        open_at.append((depth, i))
    return out

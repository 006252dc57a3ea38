"""HTML and XML: the text that a reader would see, headings first, without scripts, styles and menus.

Lives here: pages to lines (selectolax, a wrapper of Lexbor), XML to lines of its own. Must not: following links.
"""

from __future__ import annotations

import re
from typing import Final

from selectolax.lexbor import LexborHTMLParser

from turnfold.compression.shorten.evidence import grades
from turnfold.compression.shorten.lines import Row, short_lines

_NOISE: Final = ["script", "style", "noscript", "template", "svg", "nav", "footer", "iframe"]
_BLOCKS: Final = (
    "h1, h2, h3, h4, h5, h6, p, li, tr, pre, blockquote, dt, dd, div, section, article, td, th, title, br, header, main, body, "
    "details, summary"
)
_HEADING: Final = re.compile(r"#")
_MARK: Final = "\x1e"


def page_lines(text: str) -> list[str]:
    """The visible text of a page, a line per block; headings begin with `#`."""
    tree = LexborHTMLParser(text)
    tree.strip_tags(_NOISE)
    for node in tree.css(_BLOCKS):
        node.insert_before(_MARK + ("# " if node.tag in ("h1", "h2", "h3", "title") else ""))
    root = tree.root
    flat = root.text(separator=" ") if root is not None else ""
    return [line for line in (" ".join(piece.split()) for piece in flat.split(_MARK)) if line]


def rows(text: str) -> list[Row]:
    """Lines of the page; headings are worth more, failures are evidence."""
    lines = page_lines(text)
    return [
        Row(
            line,
            weight=1.2 if _HEADING.match(line) else (0.8 if len(line) > 40 else 0.2),
            evidence=1 if found == 3 else 0,
            like="#" if _HEADING.match(line) else line,
            unmarked=True,
        )
        for line, found in zip(lines, grades(lines), strict=True)
    ]


def xml_rows(text: str) -> list[Row]:
    """Lines of an XML text; a text on one line is cut at its tags."""
    lines = short_lines(text.replace("><", ">\n<") if text.count("\n") < 4 else text)
    return [
        Row(line, weight=-1 if line.strip().startswith("</") else 0.4, evidence=1 if found == 3 else 0)
        for line, found in zip(lines, grades(lines), strict=True)
        if line.strip()
    ]

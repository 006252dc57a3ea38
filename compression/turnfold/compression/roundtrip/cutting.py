"""Giving up a text piece by piece: first its prose, then its blocks, then standing orders.

This module knows which piece is which, and gives the text that is left. ``budget`` decides which texts give way, and how far.

Blocks and lines with secrets are whole or gone, prose ends at a whole word, every gap is marked.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from turnfold.compression.roundtrip.condense import pieces
from turnfold.compression.text.dialogue.standing.orders import standing_orders

_GONE: Final = "…"
_PROSE, _BLOCK, _ORDER = "prose", "block", "order"


class _CutPiece(NamedTuple):
    text: str
    kind: str


class Cuttable:
    """A text, and the parts of it that can be given up.

    Attributes:
        prose: characters of prose.
        blocks: number of blocks and lines that stay byte for byte.
        orders: number of standing orders.
    """

    def __init__(self, text: str) -> None:
        self._pieces = list(_cut_up(text))
        self.prose = sum(len(piece.text) for piece in self._pieces if piece.kind == _PROSE and piece.text.strip() != _GONE)
        self.blocks = sum(piece.kind == _BLOCK for piece in self._pieces)
        self.orders = sum(piece.kind == _ORDER for piece in self._pieces)

    def with_prose(self, left: int) -> str:
        """The text with this many characters of its prose, and all blocks and orders."""
        return self._written(left, self.blocks, self.orders)

    def with_blocks(self, left: int) -> str:
        """The text without prose, with this many of its last blocks, and all orders."""
        return self._written(0, left, self.orders)

    def with_orders(self, left: int) -> str:
        """Only this many of the text's last standing orders."""
        return self._written(0, 0, left)

    def _written(self, prose: int, blocks: int, orders: int) -> str:
        out: list[str] = []
        skip = {_BLOCK: self.blocks - blocks, _ORDER: self.orders - orders}
        for text, kind in self._pieces:
            if kind == _PROSE:
                kept = text if len(text) <= prose else f"{_whole_words(text, prose)} {_GONE}".lstrip()
                prose = max(0, prose - len(text))
                _add(out, kept, "\n" if "\n" in text[-2:] or "\n" in text[:2] else " ")
            elif skip[kind]:
                skip[kind] -= 1
                _add(out, _GONE, "\n")
            else:
                _add(out, text, "\n" if kind == _BLOCK else " ")
        return "".join(out).strip() or _GONE


def _add(out: list[str], text: str, space: str) -> None:
    """Add a piece. Adjacent gaps share one mark; a block begins on a line of its own."""
    if text.strip() == _GONE and "".join(out[-2:]).rstrip().endswith(_GONE):
        return
    if out and not out[-1][-1:].isspace() and not text[:1].isspace():
        out.append(space)
    out.append(text)
    if space == "\n" and not text.endswith("\n"):
        out.append("\n")


def _cut_up(text: str) -> list[_CutPiece]:
    found: list[_CutPiece] = []
    for piece, stays in pieces(text):
        if stays:
            found.append(_CutPiece(piece, _BLOCK))
            continue
        at = 0
        for order in standing_orders(piece):
            if at < order.start:
                found.append(_CutPiece(piece[at : order.start], _PROSE))
            found.append(_CutPiece(order.of(piece), _ORDER))
            at = order.end
        if at < len(piece):
            found.append(_CutPiece(piece[at:], _PROSE))
    return found


def _whole_words(piece: str, room: int) -> str:
    if room <= 0:
        return ""
    end = piece.rfind(" ", 0, room + 1)
    return piece[: end if end > room // 2 else room].rstrip()

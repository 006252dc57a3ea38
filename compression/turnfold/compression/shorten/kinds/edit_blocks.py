"""Edits in a text: what is new goes before what it replaces, which is never shown alone.

This module says what the lines of an edit are worth, and the line that names its file. Edits are found in ``text.file_edits``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turnfold.compression.shorten.lines import WeighedLine
from turnfold.compression.text.file_edits import EditBlock, edit_blocks, named_files

_NEW: Final = 3.0  # worth of a line after the edit
_OLD: Final = -2.0  # worth of a line before the edit
_FEW: Final = 12  # lines of the new side, up to which all of them are evidence
_ABOVE: Final = 4  # lines above an edit that may name its file
_LABEL: Final = 200  # most characters of such a line


def with_edits(rows: list[WeighedLine]) -> list[WeighedLine]:
    """The rows of a text, with the worth that they have in its edits."""
    for block in edit_blocks([row.text for row in rows]):
        _weigh(rows, block)
    return rows


def _weigh(rows: list[WeighedLine], block: EditBlock) -> None:
    few = len(block.new) <= _FEW
    marks = [i for i in range(block.start, block.end) if i not in block.old and i not in block.new]
    for i in block.new:
        needs = (*rows[i].needs, *(i - mark for mark in marks))
        rows[i] = rows[i]._replace(weight=max(rows[i].weight, _NEW), evidence=2 if few else 1, scale=1.0, needs=needs)
    for i in marks:
        rows[i] = rows[i]._replace(weight=0.5)
    for place, i in enumerate(block.old):
        beside = block.new[place : place + 1] if place + 1 < len(block.old) else block.new[place:]
        needs = (*rows[i].needs, *(i - other for other in (*marks, *beside)))
        rows[i] = rows[i]._replace(weight=_OLD, evidence=0, scale=0.0, needs=needs)
    named = _naming(rows, block.start)
    if named is not None:
        rows[named] = rows[named]._replace(weight=_NEW, evidence=2, scale=1.0)


def _naming(rows: Sequence[WeighedLine], start: int) -> int | None:
    """The line above an edit that names its file, in a tag, a label or alone."""
    above = range(start - 1, max(-1, start - 1 - _ABOVE), -1)
    return next((i for i in above if len(rows[i].text) <= _LABEL and named_files(rows[i].text)), None)

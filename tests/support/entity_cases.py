"""Annotated paragraphs: what stands in them, and how much of it the engine finds.

It reads the marks and counts. The paragraphs are in ``tests/compression/text/entity_cases``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from turnfold.compression.text.names.entities import Entity, entities

CASES: Final = Path(__file__).resolve().parents[1] / "compression" / "text" / "entity_cases"
_MARK: Final = re.compile(r"⟦([^|⟧]*)\|(\w+)⟧")
#: Kinds that the annotation tells apart; of the others one reader says this and another that.
_COARSE: Final = {"acronym": "organisation", "camelcase": "name", "product": "name", "version": "identifier"}


class Paragraph(NamedTuple):
    """A paragraph without marks, and where each marked mention stands."""

    text: str
    marked: Sequence[Entity]


def paragraphs(name: str) -> list[Paragraph]:
    """The paragraphs of a file, in order."""
    return [_paragraph(part.strip()) for part in (CASES / f"{name}.txt").read_text("utf-8").split("\n\n") if part.strip()]


def _paragraph(source: str) -> Paragraph:
    text, at = "", 0
    marked = []
    for mark in _MARK.finditer(source):
        text += source[at : mark.start()]
        marked.append(Entity(mark[1], mark[2], len(text), len(text) + len(mark[1])))
        text += mark[1]
        at = mark.end()
    return Paragraph(text + source[at:], marked)


def missed(paragraph: Paragraph) -> list[str]:
    """Marked mentions that are not found with just that span and a kind like it, each with what was found there instead."""
    found = entities(paragraph.text)
    spans = {(one.start, one.end): _COARSE.get(one.kind, one.kind) for one in found}
    out = []
    for one in paragraph.marked:
        if spans.get((one.start, one.end)) != _COARSE.get(one.kind, one.kind):
            near = [f"{other.text} ({other.kind})" for other in found if other.start < one.end and one.start < other.end]
            out.append(f"{one.text} ({one.kind}): {', '.join(near) or 'nothing'}")
    return out

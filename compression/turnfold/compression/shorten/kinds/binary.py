"""Encoded bytes (base64, hex and the like): their size and beginning stand for them. Nothing is decoded."""

from __future__ import annotations

from turnfold.compression.shorten.lines import WeighedLine

_HEAD = 32


def rows(text: str) -> list[WeighedLine]:
    """One row: the first characters and the size."""
    body = text.strip()
    return [
        WeighedLine(
            f"{body[:_HEAD]}… [{len(body)} characters, encoded]",
            weight=1.0,
            evidence=1,
            unmarked=True,
            lines=body.count("\n") + 1,
        )
    ]

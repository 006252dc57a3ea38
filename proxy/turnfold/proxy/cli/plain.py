"""Text of unknown origin for a terminal.

Lives here: making it harmless. Does not belong here: layout.
"""

from __future__ import annotations

from rich.text import Text


def plain(text: str) -> Text:
    """The text without markup and control characters: names of models come from clients."""
    return Text("".join(char if char.isprintable() else "\ufffd" for char in text))

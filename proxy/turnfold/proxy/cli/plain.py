"""Text and tables on a terminal, or in a file.

This module escapes text of unknown origin, makes nouns agree with their numbers, and chooses a width where there is no terminal.
It lays nothing out.
"""

from __future__ import annotations

from rich.console import Console
from rich.text import Text


def plain(text: str) -> Text:
    """The text without markup and control characters: names of models come from clients."""
    return Text("".join(char if char.isprintable() else "\ufffd" for char in text))


def counted(number: int, one: str, many: str = "") -> str:
    """A number and its noun: 1 request, 2,000 requests."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def say(line: str) -> None:
    """Print a line on standard error without wrapping it."""
    Console(stderr=True, soft_wrap=True).print(line, highlight=False, markup=False)


def wide_console(width: int = 160, *, stderr: bool = False) -> Console:
    """A console; without a terminal, one wide enough for all tables."""
    console = Console(stderr=stderr)
    return console if console.is_terminal else Console(stderr=stderr, width=width)

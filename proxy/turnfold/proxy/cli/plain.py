"""Text and tables on a terminal, or in a file.

Lives here: making text of unknown origin harmless, numbers with their nouns, the width where there is no terminal. Does not
belong here: layout.
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
    """A line on standard error, which a terminal may break as it likes."""
    Console(stderr=True, soft_wrap=True).print(line, highlight=False, markup=False)


def wide_console(width: int = 160, *, stderr: bool = False) -> Console:
    """A console; where it is no terminal, one of a width at which tables are not cut off."""
    console = Console(stderr=stderr)
    return console if console.is_terminal else Console(stderr=stderr, width=width)

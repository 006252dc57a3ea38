"""Files that commands read and write.

Lives here: one-line failures for the user, and a progress indicator for long work. Does not belong here: their contents.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from turnfold.proxy.cli.failure import Failure

_LONG = 200_000  # characters; below, it is done before a sign of life could be read


def read_text(file: str) -> str:
    """The text of a file, of standard input for ``-``.

    Raises:
        Failure: it cannot be read, or is blank.
    """
    try:
        text = sys.stdin.buffer.read().decode("utf-8") if file == "-" else Path(file).read_text("utf-8")
    except OSError as exc:
        raise Failure(f"{file}: {exc.strerror or exc}") from exc
    except UnicodeDecodeError as exc:
        raise Failure(f"{file}: is not UTF-8 (byte {exc.start})") from exc
    if not text.strip():
        raise Failure(f"{file}: is blank")
    return text


@contextlib.contextmanager
def progress(size: int, label: str) -> Iterator[None]:
    """A progress indicator on standard error during long work; silent without a terminal."""
    console = Console(stderr=True)
    if size < _LONG or not console.is_terminal:
        yield
        return
    with console.status(f"{label} ({size:,} characters)"):
        yield


def write(output: Path, data: str) -> None:
    """Write a file.

    Raises:
        Failure: it cannot be written.
    """
    try:
        output.write_text(data, "utf-8")
    except OSError as exc:
        raise Failure(f"{output}: {exc.strerror or exc}") from exc

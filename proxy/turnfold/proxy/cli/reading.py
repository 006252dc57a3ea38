"""Files that commands read and write.

This module turns failures into lines for the user, refuses unsuitable outputs and options, and shows progress during long work.
It does not look at what the files contain.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from turnfold.proxy.cli.failure import Failure

_MOST_NULLS = 0.1  # of the characters; every other one of UTF-16, which decodes as UTF-8 where it has no mark
_LONG = 200_000  # characters; below, it is done before a sign of life could be read


def read_text(file: str) -> str:
    """The text of a file, of standard input for ``-``.

    Raises:
        Failure: it cannot be read, or is blank.
    """
    if not file:
        raise Failure("give the name of a file, or - for standard input")
    try:
        text = (sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()).decode("utf-8")  # keep its line ends
    except OSError as exc:
        raise Failure(f"{_named(file)}: {exc.strerror or exc}") from exc
    except UnicodeDecodeError as exc:
        raise Failure(f"{_named(file)}: is not UTF-8 (byte {exc.start})") from exc
    if text.count("\0") > len(text) * _MOST_NULLS:
        raise Failure(f"{_named(file)}: is UTF-16 or binary, not UTF-8")
    if not text.strip():
        raise Failure(f"{_named(file)}: is blank")
    return text


def _named(file: str) -> str:
    return "standard input" if file == "-" else file


def read_json(file: str) -> tuple[Any, str]:
    """The value in a JSON file, and its text without a byte-order mark.

    Raises:
        Failure: it cannot be read, is blank, is not JSON, or is nested too deeply.
    """
    text = read_text(file).removeprefix("\ufeff")
    try:
        return json.loads(text, parse_constant=_refuse), text
    except ValueError as exc:
        raise Failure(f"{_named(file)}: is not JSON ({exc})") from exc
    except RecursionError as exc:
        raise Failure(f"{_named(file)}: is nested too deeply") from exc


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no value of JSON")


@contextlib.contextmanager
def progress(size: int, label: str) -> Iterator[None]:
    """A progress indicator on standard error during long work; silent without a terminal."""
    console = Console(stderr=True)
    if size < _LONG or not console.is_terminal:
        yield
        return
    with console.status(f"{label} ({size:,} characters)"):
        yield


def check_output(output: Path | None, *inputs: str) -> None:
    """Refuse to overwrite an input; checked before any work is done.

    Args:
        inputs: files that are read, ``-`` for standard input.

    Raises:
        BadParameter: the output is one of them, by whatever name.
    """
    if output is None or not output.exists():
        return
    for file in inputs:
        with contextlib.suppress(OSError, ValueError):  # a missing input is reported elsewhere
            read = os.fstat(sys.stdin.fileno()) if file == "-" else Path(file).stat()
            if os.path.samestat(read, output.stat()):
                raise typer.BadParameter(f"{output} is the input; it would be overwritten", param_hint="--output")


def is_given(context: typer.Context, name: str) -> bool:
    """Whether a parameter was given on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def refuse_unused(context: typer.Context, why: str, *names: str) -> None:
    """Refuse options that were given and do not apply.

    Args:
        names: the command's parameters.
        why: the reason in the error message.

    Raises:
        BadParameter: one was given on the command line; it names the first.
    """
    for parameter in context.command.params:
        if parameter.name in names and is_given(context, parameter.name):
            raise typer.BadParameter(why, param_hint=max(parameter.opts, key=len))


def put_out(output: Path | None, text: str) -> None:
    """Write a text to a file, or print it if no file is given; both end with a line break.

    Raises:
        Failure: the file cannot be written.
    """
    end = "" if text.endswith("\n") else "\n"
    if output is None:
        typer.echo(text + end, nl=False)
    else:
        write(output, text + end)


def write(output: Path, data: str) -> None:
    """Write a file.

    Raises:
        Failure: it cannot be written.
    """
    try:
        output.write_text(data, "utf-8", newline="")
    except OSError as exc:
        raise Failure(f"{output}: {exc.strerror or exc}") from exc

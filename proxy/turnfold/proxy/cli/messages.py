"""``turnfold compress --messages`` and ``turnfold uncompress``.

A file of messages goes in; a result or restored messages come out. Compression is up to the engine.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from turnfold.compression import Compressed, compress, uncompress
from turnfold.proxy.api.roundtrips import options_of
from turnfold.proxy.cli.failure import Failure
from turnfold.proxy.cli.plain import say
from turnfold.proxy.cli.reading import check_output, progress, put_out, read_json


def _messages(file: str, value: Any) -> list[Any]:
    """A list of messages, alone or under ``messages`` in a request or a result."""
    found = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(found, list):
        raise Failure(f"{file}: messages: must be a list, alone or in an object under that name")
    if (wrong := next((place for place, one in enumerate(found) if not isinstance(one, dict)), None)) is not None:
        raise Failure(f"{file}: messages[{wrong}]: must be an object")
    return found


def _write_json(output: Path | None, value: Any) -> None:
    put_out(output, json.dumps(value, indent=2))  # with escapes: a lone surrogate has no other form


def compress_messages(file: str, fields: Mapping[str, Any], output: Path | None) -> None:
    """Compress a file's messages and write the result as JSON; figures go to standard error.

    Raises:
        Failure: the file cannot be read or written, or holds no messages.
        InvalidInput: an option is wrong.
    """
    value, text = read_json(file)
    messages = _messages(file, value)
    options = options_of(fields)
    started = time.perf_counter()
    with progress(len(text), "compressing"):
        result = compress(messages, options)
    seconds = time.perf_counter() - started
    _write_json(output, result.as_dict())
    _say(result, seconds, len(messages))


def _say(result: Compressed, seconds: float, before: int) -> None:
    figures = result.compression
    line = (
        f"{before:,} messages, now {len(result.messages):,}; {figures.ratio:.2f}x by characters, {figures.token_ratio:.2f}x by "
        f"tokens; {figures.messages_compressed:,} shortened, {figures.messages_deduped + figures.messages_fuzzy_deduped:,} "
        f"references, {figures.messages_preserved:,} kept; {seconds:.2f} s"
    )
    if result.fits is not None:
        line += f"; {result.token_count:,} tokens {'fit' if result.fits else 'do not fit'}, window {result.recency_window:,}"
    say(line)


def uncompress_file(
    file: Annotated[str, typer.Argument(help="Result of turnfold compress --messages; - for standard input.")],
    recursive: Annotated[
        bool, typer.Option("--recursive", help="Also restore originals that had been compressed before.")
    ] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the messages to this file.")] = None,
) -> None:
    """Restore messages that turnfold compress shortened."""
    check_output(output, file)
    value, _ = read_json(file)
    messages = _messages(file, value)
    verbatim = value.get("verbatim") if isinstance(value, dict) else None
    if not isinstance(verbatim, dict):
        raise Failure(f"{file}: verbatim: must be an object with the originals")
    found = uncompress(messages, verbatim, recursive=recursive)
    _write_json(output, found.messages)
    for ids, why in ((found.edited_ids, "messages that were edited"), (found.deleted_ids, "messages that were deleted")):
        if ids:
            line = f"{len(ids):,} originals belong to {why}, the first is {ids[0]}"
            say(line)
    if found.missing_ids:
        raise Failure(f"{file}: verbatim: {len(found.missing_ids)} originals are missing; the first is {found.missing_ids[0]}")

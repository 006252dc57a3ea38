"""``turnfold prose``.

This module reads a file and prints it in fewer words. The rules that shorten it are in the engine.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import orjson
import typer

from turnfold.compression.shorten.terse_prose.compress import compress
from turnfold.config.fold import read_lexicon
from turnfold.proxy.cli.reading import check_output, progress, read_text, write


def prose(
    file: Annotated[str, typer.Argument(help="Text file; - for standard input.")],
    intensity: Annotated[str, typer.Option(help="How much is shortened: lite, full or ultra.")] = "full",
    lexicon: Annotated[Path | None, typer.Option(help="TOML file with your own rules.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the result to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print text and figures as JSON.")] = False,
) -> None:
    """Rewrite a text in fewer words, by rules.

    The text goes to standard output, the savings to standard error.
    """
    check_output(output, file, *([str(lexicon)] if lexicon else []))
    text = read_text(file)
    with progress(len(text), "compressing"):
        made = compress(text, intensity, extension=read_lexicon(lexicon, "--lexicon") if lexicon else "")
    receipt = made.receipt
    shown = orjson.dumps({"text": made.text, "receipt": receipt}, option=orjson.OPT_INDENT_2).decode() if as_json else made.text
    if output is None:
        typer.echo(shown, nl=not shown.endswith("\n"))
    else:
        write(output, shown)
    typer.echo(f"{receipt.tokens_before:,} -> {receipt.tokens_after:,} tokens, {receipt.saved_ratio:.1%} saved", err=True)

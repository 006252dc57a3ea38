"""``turnfold compress``.

Lives here: a file in, figures and a layer out. Must not: compression.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.table import Table

from turnfold.compression.layers import SCORERS, CompressedResult, Compressor, CompressRequest
from turnfold.proxy.cli.failure import Failure

_NAMES = ("0 raw", "1 facts", "2 summary")
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
    """A sign of life on standard error while something long is done; nothing where nobody looks."""
    console = Console(stderr=True)
    if size < _LONG or not console.is_terminal:
        yield
        return
    with console.status(f"{label} ({size:,} characters)"):
        yield


def _table(result: CompressedResult, seconds: float) -> Table:
    figures = result.metadata
    caption = (
        f"{figures.sentences:,} sentences, {figures.sections:,} sections, scorer {figures.scorer}, {seconds:.2f} s; "
        f"{figures.preservation:.0%} of {figures.important:,} important entities in layer 1"
    )
    table = Table("layer", caption=caption, header_style="bold")
    for heading in ("tokens", "ratio"):
        table.add_column(heading, justify="right")
    raw = result.layers[0].tokens
    for name, layer in zip(_NAMES, result.layers, strict=True):
        table.add_row(name, f"{layer.tokens:,}", f"{raw / max(1, layer.tokens):.2f}x")
    return table


def _as_json(result: CompressedResult, seconds: float) -> bytes:
    value = {
        "layers": {str(i): {"text": layer.text, "tokens": layer.tokens} for i, layer in enumerate(result.layers)},
        "entities": result.entities,
        "sections": [
            {"id": one.id, "summary": one.summary, "tokens": one.tokens, "importance": one.importance} for one in result.sections
        ],
        "metadata": {
            **{name: getattr(result.metadata, name) for name in result.metadata.__slots__},
            "compression_ms": round(1000 * seconds, 3),
            "result_id": result.result_id,
            "layer": result.layer,
        },
    }
    return orjson.dumps(value, option=orjson.OPT_INDENT_2)


def _write(output: Path, data: str) -> None:
    try:
        output.write_text(data, "utf-8")
    except OSError as exc:
        raise Failure(f"{output}: {exc.strerror or exc}") from exc


def compress(
    file: Annotated[str, typer.Argument(help="The text; - for standard input.")],
    layer: Annotated[int, typer.Option(min=0, max=2, help="The layer to print: 0 raw, 1 facts, 2 summary.")] = 1,
    ratio: Annotated[float, typer.Option(help="Tokens of layer 1 by those of layer 0.")] = 0.3,
    query: Annotated[str, typer.Option(help="A question that layers 1 and 2 should answer.")] = "",
    scorer: Annotated[str, typer.Option(help=f"Which sentences matter: {', '.join(SCORERS)}.")] = "",
    output: Annotated[Path | None, typer.Option(help="Write the layer (or the JSON) into this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="All layers, entities and sections as JSON.")] = False,
) -> None:
    """Make three layers of a text: figures on standard error, the chosen layer on standard output."""
    text = read_text(file)
    request = CompressRequest(text, layer, ratio, query=query or None, scorer=scorer or None)
    started = time.perf_counter()
    with progress(len(text), "compressing"):
        result = Compressor().compress(request)
    seconds = time.perf_counter() - started
    if not as_json:
        console = Console(stderr=True)
        (console if console.is_terminal else Console(stderr=True, width=160)).print(_table(result, seconds))
    shown = _as_json(result, seconds).decode() if as_json else result.text
    if output is None:
        typer.echo(shown)
    else:
        _write(output, shown + "\n")

"""``turnfold compress``.

The command's arguments: a text goes in, figures and a layer come out. Messages are handled in ``messages``.
"""

from __future__ import annotations

import enum
import time
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.table import Table

from turnfold.compression.layers import SCORERS, CompressedResult, Compressor, CompressRequest
from turnfold.proxy.cli.messages import compress_messages
from turnfold.proxy.cli.plain import counted, say, wide_console
from turnfold.proxy.cli.reading import check_output, progress, put_out, read_text, refuse_unused


class CounterOption(enum.StrEnum):
    """How tokens are counted."""

    characters = "characters"
    o200k_base = "o200k_base"
    cl100k_base = "cl100k_base"


_NAMES = ("0 raw", "1 facts", "2 summary")


def _figures(result: CompressedResult, seconds: float) -> str:
    figures = result.metadata
    important = counted(figures.important, "important entity", "important entities")
    told = (
        f"{counted(figures.sentences, 'sentence')}, {counted(figures.sections, 'section')}, "
        f"scorer {figures.scorer}, {seconds:.2f} s"
    )
    return f"{told}; {figures.preservation:.0%} of {important} in layer 1" if figures.important else told


def _table(result: CompressedResult) -> Table:
    table = Table("layer", header_style="bold")
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


_MESSAGES = "Options for --messages"


def _option(says: str) -> Any:
    return typer.Option(help=says, rich_help_panel=_MESSAGES)


_OF_TEXT = ("layer", "l1_ratio", "query", "scorer", "as_json")
_OF_MESSAGES = (
    "recency_window",
    "preserve",
    "token_budget",
    "min_recency_window",
    "source_version",
    "dedup",
    "fuzzy_dedup",
    "fuzzy_threshold",
    "embed_summary_id",
    "force_converge",
    "token_counter",
    "trace",
)


def compress(  # noqa: PLR0913, PLR0917 - a parameter for each option of the command line
    context: typer.Context,
    file: Annotated[str, typer.Argument(help="Text file to compress; - for standard input.")] = "",
    layer: Annotated[
        int, typer.Option("--layer", "-l", min=0, max=2, help="Layer to print. 0: the text, 1: its facts, 2: a summary.")
    ] = 1,
    l1_ratio: Annotated[
        float, typer.Option("--ratio", "-r", help="Target size of layer 1, relative to the text, in tokens.")
    ] = 0.3,
    query: Annotated[str, typer.Option(help="Question that layers 1 and 2 should answer.")] = "",
    scorer: Annotated[str, typer.Option(help=f"Scorer that ranks sentences: {', '.join(SCORERS)}.")] = "",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the result to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all layers, entities and sections as JSON.")] = False,
    messages: Annotated[str, typer.Option(help="Compress the messages in this JSON file instead; - for standard input.")] = "",
    recency_window: Annotated[int, _option("Number of newest messages that stay unchanged.")] = 4,
    preserve: Annotated[list[str] | None, _option("Role whose messages stay unchanged; repeatable. Default: system.")] = None,
    token_budget: Annotated[int | None, _option("Maximum number of tokens of all messages.")] = None,
    min_recency_window: Annotated[int, _option("With a budget: minimum number of newest messages that stay unchanged.")] = 0,
    source_version: Annotated[int, _option("Version number to record in the provenance.")] = 0,
    dedup: Annotated[bool, _option("Replace repeated messages with a reference to the one that is kept.")] = True,
    fuzzy_dedup: Annotated[bool, _option("Replace nearly identical messages too.")] = False,
    fuzzy_threshold: Annotated[float, _option("Similarity from which messages count as nearly identical, 0 to 1.")] = 0.85,
    embed_summary_id: Annotated[bool, _option("Put the id of its summary into each shortened message.")] = False,
    force_converge: Annotated[bool, _option("Truncate old messages if nothing else meets the budget.")] = False,
    token_counter: Annotated[CounterOption, _option("How tokens are counted.")] = CounterOption.characters,
    trace: Annotated[bool, _option("Include the decision for each message in the result.")] = False,
) -> None:
    """Compress a text file, or the messages in a JSON file.

    The result goes to standard output, the figures to standard error.
    """
    if bool(file) == bool(messages):
        raise typer.BadParameter("give either a FILE or --messages FILE", param_hint="FILE")
    _check_options(context, of_messages=bool(messages))
    check_output(output, file or messages)
    if not messages:
        _compress_text(
            CompressRequest(read_text(file), layer, l1_ratio, query=query or None, scorer=scorer or None), output, as_json
        )
        return
    fields = {
        "preserve": ("system",) if preserve is None else tuple(preserve),
        "recency_window": recency_window,
        "source_version": source_version,
        "token_budget": token_budget,
        "min_recency_window": min_recency_window,
        "dedup": dedup,
        "fuzzy_dedup": fuzzy_dedup,
        "fuzzy_threshold": fuzzy_threshold,
        "embed_summary_id": embed_summary_id,
        "force_converge": force_converge,
        "token_counter": token_counter.value,
        "trace": trace,
    }
    compress_messages(messages, fields, output)


def _check_options(context: typer.Context, *, of_messages: bool) -> None:
    """Refuse options that would have no effect."""
    given = context.params
    if not of_messages:
        refuse_unused(context, "applies to --messages only", *_OF_MESSAGES)
        return
    refuse_unused(context, "applies to a text only, not to --messages", *_OF_TEXT)
    if given["token_budget"] is None:
        refuse_unused(context, "applies with --token-budget only", "min_recency_window", "force_converge")
    if not given["fuzzy_dedup"]:
        refuse_unused(context, "applies with --fuzzy-dedup only", "fuzzy_threshold")


def _compress_text(request: CompressRequest, output: Path | None, as_json: bool) -> None:
    started = time.perf_counter()
    with progress(len(request.text), "compressing"):
        result = Compressor().compress(request)
    seconds = time.perf_counter() - started
    put_out(output, _as_json(result, seconds).decode() if as_json else result.text)
    if not as_json:
        wide_console(stderr=True).print(_table(result))
        say(_figures(result, seconds))

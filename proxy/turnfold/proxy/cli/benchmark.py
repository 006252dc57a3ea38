"""``turnfold benchmark``.

The command, and measurements of speed and size on this machine. Scoring labelled cases is up to ``cases``.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Final

import orjson
import typer
from rich.table import Table

from turnfold.compression import tokens
from turnfold.compression.layers import SCORERS, Compressor, CompressRequest
from turnfold.proxy.cli.cases import case_files, scores, table
from turnfold.proxy.cli.plain import wide_console
from turnfold.proxy.cli.reading import progress, read_text

_RUNS: Final = 3
_SIZES: Final = (1_000, 10_000, 50_000)  # approximate tokens of the generated text
_PARAGRAPH: Final = (
    "Ticket {n}: the import of {m} invoices failed at 0{h}:15 because the ledger service answered 503. "
    "Mara Lind restarted it and the queue drained within {h} minutes. We agreed to raise the time-out to {m} ms. "
    "Nobody has looked at the retry policy yet. The cost so far is ${m}. See also the notes of week {n}.\n\n"
)


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measurement; `ms` is the median of three runs."""

    text: str
    scorer: str
    raw: int
    facts: int
    summary: int
    ratio: float
    ms: float
    tokens_per_second: int


def _sample_text(size: int) -> str:
    count = size // 80 + 1
    return "".join(_PARAGRAPH.format(n=n, m=100 + 7 * n, h=1 + n % 9) for n in range(count))


def _measure(name: str, text: str, scorer: str) -> Measurement:
    request = CompressRequest(text, scorer=scorer)
    times = []
    for _ in range(_RUNS):
        started = time.perf_counter()
        result = Compressor().compress(request)
        times.append(time.perf_counter() - started)
    raw, facts, summary = (layer.tokens for layer in result.layers)
    seconds = median(times)
    return Measurement(
        name, scorer, raw, facts, summary, round(raw / max(1, facts), 2), round(1000 * seconds, 1), round(raw / seconds)
    )


def _table(rows: list[Measurement]) -> Table:
    table = Table("text", "scorer", header_style="bold")
    for heading in ("tokens", "facts", "summary", "ratio", "ms", "tokens/s"):
        table.add_column(heading, justify="right")
    for row in rows:
        figures = (f"{row.raw:,}", f"{row.facts:,}", f"{row.summary:,}", f"{row.ratio:.2f}x", f"{row.ms:,.1f}")
        table.add_row(row.text, row.scorer, *figures, f"{row.tokens_per_second:,}")
    return table


def benchmark(
    file: Annotated[
        str,
        typer.Argument(help="A text file, - for standard input, or a file or folder of test cases. Default: generated texts."),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure compression quality and speed on this machine.

    Given a text, every scorer runs on it. Without one, generated texts of growing size are used. Test cases are JSON lists of
    objects with id, context and expected_entities; for them, recall of the entities, ROUGE-L, ratio and time are printed.
    """
    tokens.count("loads the vocabulary")
    files = case_files(Path(file)) if file not in ("", "-") else []
    if files:
        found = list(scores(files))
        _print([asdict(row) for row in found], table(found), as_json)
    else:
        rows = _measurements(file)
        _print([asdict(row) for row in rows], _table(rows), as_json)


def _print(values: list[dict[str, Any]], shown: Table, as_json: bool) -> None:
    if as_json:
        typer.echo(orjson.dumps(values, option=orjson.OPT_INDENT_2))
    else:
        wide_console().print(shown)


def _measurements(file: str) -> list[Measurement]:
    if file:
        text = read_text(file)
        jobs = [(file if file != "-" else "(stdin)", text, scorer) for scorer in SCORERS]
    else:
        jobs = [(f"made up, {size // 1000}k", _sample_text(size), "composite") for size in _SIZES]
    with progress(sum(len(text) for _, text, _ in jobs), "measuring"):
        return [_measure(*job) for job in jobs]

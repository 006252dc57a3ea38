"""``turnfold config``.

This module prints settings; ``config.sources`` reads them.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import orjson
import typer
from rich.table import Table

from turnfold.config.explain import SettingRow, explain
from turnfold.config.sources import load
from turnfold.proxy.cli.plain import plain, wide_console


def _display_text(value: Any) -> str:
    if value is None or value in ((), [], {}):
        return "-"
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _table(rows: list[SettingRow]) -> Table:
    table = Table("variable", "value", "from", "what it is", show_lines=False, header_style="bold")
    for row in rows:
        style = None if row.origin == "default" else "bold"
        table.add_row(row.variable, plain(_display_text(row.value)), plain(row.origin), row.description, style=style)
    return table


def config(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Print every setting, its value and where it came from.

    Secrets are masked. A flag overrides the environment, which overrides .env, then turnfold.toml, then the default.
    """
    rows = explain(load())
    if as_json:
        typer.echo(orjson.dumps([asdict(row) for row in rows], option=orjson.OPT_INDENT_2))
    else:
        wide_console(200).print(_table(rows))

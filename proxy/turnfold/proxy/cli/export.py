"""``turnfold export``.

This module prints every receipt of a time range. Sums are in ``report``.
"""

from __future__ import annotations

import asyncio
from typing import Annotated

import orjson
import typer

from turnfold.config.settings import StoreSettings
from turnfold.config.sources import load
from turnfold.proxy.books.csv_rows import csv_header, csv_lines
from turnfold.proxy.books.receipt_log import column_names, receipts_between
from turnfold.proxy.books.report import Query
from turnfold.proxy.cli.report import open_kept_store, query_between


async def _write(settings: StoreSettings, query: Query, csv: bool) -> None:
    store = open_kept_store(settings)
    try:
        await store.check()
        if csv:
            typer.echo(csv_header(column_names()), nl=False)
        async for receipt in receipts_between(store, query.start, query.end):
            typer.echo(csv_lines([receipt]) if csv else orjson.dumps(receipt), nl=not csv)
    finally:
        await store.close()


def export(
    since: Annotated[str, typer.Option(help="Start: an age (24h, 7d), a date or a time.")] = "30d",
    until: Annotated[str, typer.Option(help="End, in the same form; default: now.")] = "",
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV instead of JSON lines.")] = False,
) -> None:
    """Print the stored receipts, one per request.

    A receipt holds ids, sizes, times, token usage and dollars, never text.
    """
    settings = load().settings
    asyncio.run(_write(settings.store, query_between(since, until), csv))

"""``turnfold report``.

Lives here: asking for the figures, and printing them. Must not: arithmetic (``turnfold.proxy.report``).
"""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.table import Table

from turnfold.config.settings import Settings
from turnfold.config.sources import load
from turnfold.proxy.cli.failure import Failure
from turnfold.proxy.cli.plain import plain
from turnfold.proxy.cli.remote import admin_headers, ask
from turnfold.proxy.report import GROUPINGS, Query, moment
from turnfold.proxy.report import report as figures_of
from turnfold.proxy.store import StoreError, open_store
from turnfold.proxy.tables import as_csv


async def _from_store(settings: Settings, query: Query) -> dict[str, Any]:
    if settings.store.url and settings.store.url.startswith("memory:"):
        raise Failure("a memory:// store is known to the running process only: ask it with --url http://127.0.0.1:8420")
    store = open_store(settings.store)
    try:
        return await figures_of(store, query)
    except StoreError as exc:
        raise Failure(f"the store does not answer: {exc}") from exc
    finally:
        await store.close()


def _from_server(settings: Settings, url: str, query: Query) -> dict[str, Any]:
    parameters = {"from": str(query.start), "to": str(query.end), "group_by": query.group_by}
    answer: dict[str, Any] = ask("GET", url.rstrip("/") + "/admin/report", admin_headers(settings), params=parameters).json()
    return answer


def _count(number: int) -> str:
    return f"{number:,}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _dollars(figures: dict[str, Any], name: str) -> str:
    value = figures["dollars"][name]
    if value is None:
        return "unknown" if figures["dollars"]["unknown_requests"] else "-"
    partly = "*" if figures["dollars"]["unknown_requests"] else ""
    return f"${value:,.4f}{partly}"


def _cells(figures: dict[str, Any]) -> list[str]:
    tokens, usage = figures["tokens"], figures["usage"]
    return [
        _count(figures["requests"]),
        _count(figures["failed"]),
        _count(tokens["before"]),
        _count(tokens["after"]),
        _share(tokens["saved_share"]),
        _share(usage["cached_share"]),
        _dollars(figures, "paid"),
        _dollars(figures, "without_turnfold"),
        _share(figures["dollars"]["saved_share"]),
    ]


_HEADINGS = ("requests", "failed", "tokens before", "after", "saved", "cached", "paid", "without", "saved")


def _table(result: dict[str, Any]) -> Table:
    name = result["group_by"]
    table = Table(name, title=f"{result['from']} to {result['to']}", header_style="bold", show_footer=True)
    for heading, footer in zip(_HEADINGS, _cells(result["totals"]), strict=True):
        table.add_column(heading, footer=footer, justify="right")
    table.columns[0].footer = "total"
    for group in result["groups"]:
        table.add_row(plain(group[name] or "(none)"), *_cells(group))
    return table


def _notes(totals: dict[str, Any]) -> list[str]:
    tokens = totals["tokens"]
    notes = []
    if unknown := totals["dollars"]["unknown_requests"]:
        notes.append(f"* without {_count(unknown)} requests whose price or usage is unknown.")
    if silent := totals["usage"]["unknown_requests"]:
        notes.append(f"{_count(silent)} served requests came back without usage (streams need include_usage).")
    if tokens["observed_before"]:
        would = f"{_count(tokens['observed_before'])} tokens observed, {_count(tokens['observed_after'])} when folded"
        notes.append(f"Observed only, nothing saved: {would}.")
    return notes


def print_report(result: dict[str, Any]) -> None:
    console = Console()
    console = console if console.is_terminal else Console(width=160)
    if not result["groups"]:
        console.print(f"No requests from {result['from']} to {result['to']}.")
        return
    console.print(_table(result))
    for note in _notes(result["totals"]):
        console.print(note, markup=False, highlight=False)


def report(
    since: Annotated[str, typer.Option(help="An age (24h, 7d), a date or a time.")] = "30d",
    until: Annotated[str, typer.Option(help="Likewise; nothing: now.")] = "",
    group_by: Annotated[str, typer.Option(help=f"One of {', '.join(GROUPINGS)}.")] = "model",
    url: Annotated[str, typer.Option(help="Ask this running Turnfold (http://127.0.0.1:8420) and not the store.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Print what was saved, in tokens and in dollars.

    "without" is what the same requests would have cost unfolded, the provider's prompt cache included.
    """
    settings = load().settings
    now = time.time()
    query = Query(moment(since, "--since", now), moment(until, "--until", now) if until else now, group_by)
    query.check()
    result = _from_server(settings, url, query) if url else asyncio.run(_from_store(settings, query))
    if as_json:
        typer.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2))
    elif csv:
        typer.echo(as_csv(result["groups"]), nl=False)
    else:
        print_report(result)

"""``turnfold windows``: what was learned of upstreams' windows, and forgetting it.

This module calls a running Turnfold and prints its answer.
"""

from __future__ import annotations

import json
import time
from enum import StrEnum
from typing import Annotated, Any, Final

import typer
from rich.table import Table

from turnfold.config.settings import Settings
from turnfold.config.sources import load
from turnfold.proxy.cli.failure import Failure
from turnfold.proxy.cli.plain import plain, wide_console
from turnfold.proxy.cli.reading import is_given, refuse_unused
from turnfold.proxy.cli.remote import admin_headers, ask, base_of, key_headers

_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


class Action(StrEnum):
    """What is done."""

    LIST = "list"
    FORGET = "forget"


def _duration(seconds: float) -> str:
    """A duration in its largest unit: 5 min, 2 d."""
    size, unit = next((one for one in _UNITS if seconds >= one[0]), _UNITS[-1])
    return f"{max(0, int(seconds // size))} {unit}"


def _tokens(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _tried_again(row: dict[str, Any], now: float) -> str:
    if row["retry_at"] is None:
        return "-"
    return "now" if row["retry_at"] <= now else f"in {_duration(row['retry_at'] - now)}"


def _table(rows: list[dict[str, Any]], now: float) -> Table:
    table = Table(title="Learned windows (tokens as the upstream counts them)", header_style="bold", title_justify="left")
    with_tenant = len({row.get("tenant") for row in rows}) > 1
    for heading in (*(["tenant"] if with_tenant else []), "upstream", "model"):
        table.add_column(heading, overflow="fold")
    table.add_column("window", justify="right")
    table.add_column("learned", overflow="fold")
    for heading in ("in force", "age", "tested again", "largest prompt taken"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            *([plain(row["tenant"])] if with_tenant else []),
            plain(row["upstream"] or "(unnamed)"),
            plain(row["model"] if row["model"] is not None else "(unnamed)"),
            _tokens(row["window"]),
            plain(row["how"] or "no window"),
            "yes" if row["in_force"] else "no",
            _duration(now - row["learned_at"]),
            _tried_again(row, now),
            _tokens(row["largest_prompt"]),
        )
    return table


def _place(settings: Settings, url: str, key: str, tenant: str) -> tuple[str, dict[str, str]]:
    """Where to ask, and as whom: the credential's own windows, else an administrator's view of all tenants or of one."""
    base = base_of(url, settings)
    if key:
        return f"{base}/v1/windows", key_headers(key)
    return f"{base}/admin/windows", admin_headers(settings, tenant)


def windows(  # noqa: PLR0913, PLR0917 - a parameter for each option of the command line
    context: typer.Context,
    action: Annotated[Action, typer.Argument(help="List what was learned, or forget it.", metavar="list|forget")] = Action.LIST,
    model: Annotated[str, typer.Argument(help="Model to forget.", metavar="MODEL", show_default=False)] = "",
    upstream: Annotated[str, typer.Option(help="Upstream to forget, as listed.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Forget all upstreams and models.")] = False,
    url: Annotated[str, typer.Option(help="URL of the running Turnfold; default: the host and port in your settings.")] = "",
    key: Annotated[
        str,
        typer.Option(
            envvar="OPENAI_API_KEY", help="API key of a client, to see only its own windows; used without an admin token."
        ),
    ] = "",
    tenant: Annotated[str, typer.Option(help="Only this tenant; default: all tenants. Needs the admin token.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the context windows that Turnfold learned, or forget them.

    To forget: windows forget MODEL, windows forget --upstream URL, or windows forget --all. The process that gets
    the request forgets at once, all others within 30 seconds.
    """
    settings = load().settings
    if tenant:
        refuse_unused(context, "cannot be given together with --tenant", "key")
    if not is_given(context, "key") and (tenant or settings.auth.admin_token is not None):
        key = ""  # found in the environment of an administrator
    if action is Action.LIST:
        refuse_unused(context, "applies to forget only", "model", "upstream", "everything")
    elif everything:
        refuse_unused(context, "cannot be given together with --all", "model", "upstream")
    elif not (model or upstream):
        raise typer.BadParameter("needs a MODEL, --upstream, or --all", param_hint="forget")
    place, headers = _place(settings, url, key, tenant)
    if action is Action.FORGET:
        _forget(place, headers, {name: value for name, value in (("model", model), ("upstream", upstream)) if value}, as_json)
    else:
        _list(place, headers, as_json)


def _list(place: str, headers: dict[str, str], as_json: bool) -> None:
    rows: list[dict[str, Any]] = ask("GET", place, headers).json()["windows"]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    wide_console().print(_table(rows, time.time()) if rows else "Nothing was learned about any upstream.")


def _forget(place: str, headers: dict[str, str], chosen: dict[str, str], as_json: bool) -> None:
    gone: int = ask("DELETE", place, headers, params=chosen).json()["forgotten"]
    if chosen and not gone:
        raise Failure("nothing was learned about " + " at ".join(chosen.values()))
    typer.echo(json.dumps({"forgotten": gone}) if as_json else f"{gone} forgotten.")

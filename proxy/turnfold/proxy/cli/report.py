"""``turnfold report``.

This module asks for the figures and prints them. The arithmetic is in ``turnfold.proxy.books.report``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any

import orjson
import typer
from rich.table import Table

from turnfold.compression.errors import InvalidInput
from turnfold.config.fold import fold_options
from turnfold.config.settings import Settings, StoreSettings
from turnfold.config.sources import load
from turnfold.proxy.books.learned import learned_of
from turnfold.proxy.books.report import FILTERS, GROUPINGS, Query, moment, report_csv, with_tenant_names, with_tenants_by_name
from turnfold.proxy.books.report import report as figures_of
from turnfold.proxy.books.wording import reported_dollars
from turnfold.proxy.cli.failure import Failure
from turnfold.proxy.cli.plain import counted, plain, wide_console
from turnfold.proxy.cli.remote import admin_headers, ask
from turnfold.proxy.store import OpenStore, StoreAway, StoreError, StoreUnavailable, open_store


async def _from_store(settings: Settings, query: Query) -> dict[str, Any]:
    store = open_kept_store(settings.store)
    try:
        await store.check()
        options_of = partial(fold_options, settings)
        learned = await learned_of(store.patient, query, time.time(), options_of)
        return with_tenant_names(await figures_of(store, query, options_of), settings.tenants) | learned
    except StoreAway as exc:
        raise Failure(str(exc)) from exc
    except StoreUnavailable as exc:
        raise Failure(f"the store does not answer: {exc}") from exc
    except StoreError as exc:
        raise Failure(f"the store answers with an error: {exc}") from exc
    finally:
        await store.close()


def _from_server(settings: Settings, url: str, query: Query) -> dict[str, Any]:
    parameters = {"from": str(query.start), "to": str(query.end), "group_by": query.group_by, **query.only}
    answer: dict[str, Any] = ask("GET", url.rstrip("/") + "/admin/report", admin_headers(settings), params=parameters).json()
    return answer


def _count(number: int) -> str:
    return f"{number:,}"


def _share(value: float | None) -> str:
    if value is None:
        return "-"
    return ">99.9%" if 0.9995 <= value < 1 else f"{value:.1%}"  # rounding never shows a part as the whole


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
    told = _tells_tenants(result["groups"], name)
    for group in result["groups"]:
        table.add_row(plain(group.get("name") or _value(group, name, told) or "(none)"), *_cells(group))
    return table


_TENANT_SHOWN = 8  # characters: enough to tell tenants apart; all of them are in the report by tenant


def _tells_tenants(groups: list[dict[str, Any]], name: str) -> bool:
    """Whether several tenants use the same group name."""
    return name != "tenant" and len({group["tenant"] for group in groups if group.get("tenant")}) > 1


def _value(group: dict[str, Any], name: str, told: bool) -> str:
    """The value of a group, with its tenant where several tenants use the same name."""
    whose = (group.get("tenant_name") or group.get("tenant", "")[:_TENANT_SHOWN]) if told else ""
    return f"{group[name]} ({whose})" if whose else str(group[name])


def _paces(groups: list[dict[str, Any]]) -> Table:
    """Why each conversation is folded as often as it is."""
    table = Table("conversation", "model", title="Folds", header_style="bold")
    table.add_column("folds", justify="right")
    table.add_column("turns", justify="right")
    table.add_column("why", overflow="fold")
    told = _tells_tenants(groups, "conversation")
    for group in groups:
        pace = group["pacing"]
        cells = (_count(pace["events"]), _count(group["served"]), _why(pace))
        table.add_row(plain(_value(group, "conversation", told)), plain(pace["model"] or "-"), *cells)
    return table


def _why(pace: dict[str, Any]) -> str:
    """Why a conversation folds as often as it does; if it did not fold, why most of its requests were sent unchanged."""
    told = [pace["words"] or "", "" if pace["events"] else pace.get("why", "")]
    return " ".join(text for text in told if text) or "-"


def _interval(value: dict[str, float] | None, scale: float = 1.0, unit: str = "{:,.1f}") -> str:
    if value is None:
        return "-"
    return f"{unit.format(value['mean'] * scale)} ± {unit.format(value['plus_minus'] * scale)}"


def _comparison(sides: dict[str, Any]) -> Table:
    """The comparison with the hold-out group, each figure with its 95% confidence interval."""
    table = Table("mean per request", title="Hold-out (± 95% confidence, by conversation)", header_style="bold")
    table.add_column("held out", justify="right")
    table.add_column("others", justify="right")
    pair = (sides["held_out"], sides["others"])
    table.add_row("conversations", *(_count(side["conversations"]) for side in pair))
    table.add_row("requests", *(_count(side["requests"]) for side in pair))
    for name, scale, unit in _COMPARED:
        table.add_row(name.replace("_", " "), *(_interval(side[name], scale, unit) for side in pair))
    return table


_COMPARED = (
    ("prompt_tokens", 1.0, "{:,.0f}"),
    ("completion_tokens", 1.0, "{:,.1f}"),
    ("dollars", 1.0, "${:,.6f}"),
    ("first_byte_ms", 1.0, "{:,.0f}"),
    ("total_ms", 1.0, "{:,.0f}"),
    ("failed_share", 100.0, "{:,.1f}%"),
)


def _notes(totals: dict[str, Any], group_by: str) -> list[str]:
    notes = []
    if group_by == "tag":
        notes.append("A request with several tags counts under each of them, and once in the total.")
    if unknown := totals["dollars"]["unknown_requests"]:
        notes.append(f"* without {counted(unknown, 'request')} whose price or usage is unknown.")
    if silent := totals["usage"]["unknown_requests"]:
        notes.append(f"{counted(silent, 'served request')} came back without usage (streams need include_usage).")
    if own := totals["own_calls"]["requests"]:
        cost = totals["dollars"]["paid_for_own_calls"]
        calls = f"{counted(own, 'call')} that Turnfold made itself"
        notes.append(f"Paid includes {calls} ({'unknown' if cost is None else f'${cost:,.4f}'}).")
    return notes


def _learned(windows: list[dict[str, Any]]) -> list[str]:
    """Learned windows in a line; an older Turnfold reports none."""
    shown = [f"{plain(row['model'] or '(unnamed)')} {row['window']:,} ({row['how']})" for row in windows[:_SHOWN_WINDOWS]]
    if not shown:
        return []
    more = f", and {len(windows) - _SHOWN_WINDOWS} more" if len(windows) > _SHOWN_WINDOWS else ""
    return [f"Learned windows: {'; '.join(shown)}{more}. All of them: turnfold windows."]


def _caches(caches: list[dict[str, Any]]) -> list[str]:
    """What was learned of prompt caches, in a line each; an older Turnfold reports none."""
    return [f"Cache of {plain(row['model'] or '(unnamed)')}: {row['words']}" for row in caches[:_SHOWN_WINDOWS]]


_SHOWN_WINDOWS = 5
_IF_THERE_WERE = " If you have sent some, `turnfold doctor` says what is wrong."


def print_report(result: dict[str, Any]) -> None:
    console = wide_console()
    if not result["groups"]:
        more = result["headline"].removeprefix("No requests yet.") or _IF_THERE_WERE  # not accepted by the store yet
        console.print(
            f"No requests from {result['from']} to {result['to']}.{more}", markup=False, highlight=False, soft_wrap=True
        )
        return
    console.print(result["headline"], markup=False, highlight=False, soft_wrap=True)
    for line in _caches(result.get("caches", [])):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print(_table(result))
    if "pacing" in result["groups"][0]:
        console.print(_paces(result["groups"]))
    if result["held_out"]:
        console.print(_comparison(result["held_out"]))
    priced = [result["dollars_are"]] if result["totals"]["dollars"]["paid"] and "dollars_are" in result else []
    told = reported_dollars(result["totals"]["dollars"])
    for note in (*_notes(result["totals"], result["group_by"]), *told, *priced, *_learned(result.get("windows", []))):
        console.print(note, markup=False, highlight=False)


def _filters(only: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in only]
    if wrong := [name for name, sign, _ in pairs if not sign]:
        raise InvalidInput("--only", f"must be NAME=VALUE, and not {wrong[0]!r}")
    return {name: value for name, _, value in pairs}


def query_between(since: str, until: str, group_by: str = "model", only: Mapping[str, str] = MappingProxyType({})) -> Query:
    """The query that options ask for.

    Raises:
        InvalidInput: names the option.
    """
    now = time.time()
    query = Query(moment(since, "--since", now), moment(until, "--until", now) if until else now, group_by, only)
    try:
        query.check()
    except InvalidInput as exc:
        option = _OPTIONS.get(exc.field, f"--only {exc.field}")
        raise InvalidInput(option, exc.problem.replace("'to'", "--until")) from exc
    return query


_OPTIONS = {"group_by": "--group-by", "from": "--since"}


def open_kept_store(settings: StoreSettings) -> OpenStore:
    """The store that servers with these settings write, and that this process can read.

    Raises:
        Failure: they keep nothing, or only in their own memory.
    """
    if settings.is_off:
        raise Failure("TURNFOLD_STORE_URL is none://: nothing is stored, so there is nothing to show")
    if (settings.url or "").startswith("memory:"):
        raise Failure("a memory:// store exists only in the running process: pass its address to `turnfold report --url`")
    return open_store(settings)


def report(
    since: Annotated[str, typer.Option(help="Start: an age (24h, 7d), a date or a time.")] = "30d",
    until: Annotated[str, typer.Option(help="End, in the same form; default: now.")] = "",
    group_by: Annotated[str, typer.Option(help=f"Group rows by: {', '.join(GROUPINGS)}.")] = "model",
    only: Annotated[
        list[str] | None, typer.Option(help=f"Only requests with NAME=VALUE; NAME is one of {', '.join(FILTERS)}. Repeatable.")
    ] = None,
    url: Annotated[str, typer.Option(help="URL of a running Turnfold to ask, instead of reading the store.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Show what was saved, in tokens and in dollars.

    "without" is what the same requests would have cost unfolded, with the provider's prompt cache taken into account.
    """
    if as_json and csv:
        raise typer.BadParameter("cannot be given together with --json", param_hint="--csv")
    settings = load().settings
    query = query_between(since, until, group_by, with_tenants_by_name(_filters(only or []), settings.tenants))
    result = _from_server(settings, url, query) if url else asyncio.run(_from_store(settings, query))
    if as_json:
        typer.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2))
    elif csv:
        typer.echo(report_csv(result), nl=False)
    else:
        print_report(result)

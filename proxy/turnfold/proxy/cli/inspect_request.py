"""``turnfold inspect``.

This module fetches one request and prints it side by side with what was forwarded (``turnfold.proxy.books.inspection``).
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from turnfold.compression.errors import InvalidInput
from turnfold.config.settings import Settings
from turnfold.config.sources import load
from turnfold.proxy.books.inspection import MessageRow
from turnfold.proxy.books.inspection import inspect as inspected
from turnfold.proxy.cli.failure import Failure
from turnfold.proxy.cli.plain import counted, plain, wide_console
from turnfold.proxy.cli.reading import read_json, refuse_unused
from turnfold.proxy.cli.remote import admin_headers, ask, base_of

_SHORT = 240  # characters that are shown of a text without --full
_REQUEST = "tf-"


def _text(text: str | None, full: bool) -> Text:
    if text is None:
        return Text("(left out)", style="dim")
    lines = Text("\n").join(plain(line) for line in text.split("\n"))
    if full or len(lines) <= _SHORT:
        return lines
    return lines[:_SHORT] + Text(f" … {len(lines) - _SHORT:,} more", style="dim")


def _side_by_side(title: str, *first: str) -> Table:
    table = Table(title=title, header_style="bold", show_lines=True, title_justify="left")
    for heading in first:
        table.add_column(heading, overflow="fold")
    table.add_column("before", overflow="fold")
    table.add_column("after", overflow="fold")
    return table


def _about(row: MessageRow) -> Text:
    said = Text(row.what, style={"verbatim": "", "added to": "cyan"}.get(row.what, "yellow"))
    said.append(f"\n{row.why}", style="dim")
    if row.section:
        said.append(f"\nsection {row.section} ({row.level})", style="default")
    if row.recall:
        said.append(f"\n{len(row.recall)} passages recalled", style="default")
    if row.mark:
        said.append(f"\ncache mark ({row.mark})", style="default")
    return said


def _after(row: MessageRow, full: bool) -> Text:
    return Text("(the same)", style="dim") if row.after == row.before else _text(row.after, full)


def _print_file(console: Console, found: dict[str, Any], full: bool) -> None:
    tokens, prices, limits = found["tokens"], found["prices"], found["thresholds"]
    known = prices["dollars_per_million"]
    cost = "price unknown" if known is None else f"${known:g} per million input tokens ({prices['priced_as']})"
    read, write, hits = prices["cache_read"], prices["cache_write"], prices["cache_hit_share"]
    sizes = f"{tokens['before']:,} tokens in, {tokens['after']:,} out"
    folds = f"{counted(found['fold_events'], 'fold event')} so far in {counted(limits['turns'], 'turn')}"
    lines = [
        f"{found['model'] or '(no model)'} on {found['wire']}: {sizes}. {found['why']}",
        f"{cost}; times {read:g} for a cached token, {write:g} for a written one; {hits:.0%} of requests find the cache warm",
        f"{limits['words'] or 'Nothing to fold.'} {folds}",
    ]
    if limits["budget"]:
        lines.append(f"budget {limits['budget']:,} tokens; made smaller {found['made_smaller_to_fit']} times to fit")
    for line in lines:
        console.print(plain(line), soft_wrap=True)
    table = _side_by_side("Messages", "#", "role", "tokens", "what and why")
    for row in found["messages"]:
        tokens_ = f"{row.tokens_before:,}" if row.after == row.before else f"{row.tokens_before:,} > {row.tokens_after:,}"
        about = _text(f"{row.role}\n{row.kind}", full=True)
        table.add_row(str(row.index), about, tokens_, _about(row), _text(row.before, full), _after(row, full))
    console.print(table)


def _message_text(raw: str) -> str:
    """A message's JSON as role and text. One of the Responses format may be several items with commas between them."""
    return "\n".join(map(_item_text, json.loads(f"[{raw}]")))


def _item_text(item: dict[str, Any]) -> str:
    """Role and text, or the item itself if it has no role."""
    if "role" not in item:
        return json.dumps(item, ensure_ascii=False)
    content, calls = item.get("content"), item.get("tool_calls")
    said = content if isinstance(content, str) else "" if content is None else json.dumps(content, ensure_ascii=False)
    return f"{item['role']}: {said}" + (f"\n{json.dumps(calls, ensure_ascii=False)}" if calls else "")


def _pairs(section: dict[str, Any]) -> list[tuple[str, str | None]]:
    messages = [_message_text(raw) for raw in section["messages"]]
    instead = section["instead"]
    if section["level"] == "facts" and instead:
        return [(before, after if after is not None else "(the same)") for before, after in zip(messages, instead, strict=True)]
    return [("\n".join(messages), instead[0] if instead else "(not known)")]


def _dollars(value: float | None) -> str:
    return "unknown" if value is None else f"${value:.6f}"


def _upstream(receipt: dict[str, Any]) -> str:
    if receipt["upstream_status"] is None:
        return "the upstream did not answer: the server's log has the cause, under this id"
    usage = receipt["usage"]
    if usage["prompt_tokens"] is None:
        return f"the upstream answered {receipt['upstream_status']} and reported no usage"
    counted = (
        f"counted {usage['prompt_tokens']:,} in ({usage['cached_tokens'] or 0:,} cached), {usage['completion_tokens'] or 0:,} out"
    )
    return f"the upstream ({receipt['upstream_status']}) {counted}"


def _print_request(console: Console, found: dict[str, Any], full: bool) -> None:
    receipt = found["receipt"]
    wire = f" on {receipt['wire']}" if receipt["wire"] else ""
    session = f", session {receipt['session']}" if receipt["session"] else ""
    tags = f", tagged {', '.join(receipt['tags'])}" if receipt.get("tags") else ""  # an older Turnfold has none
    lines = [
        f"{receipt['request_id']}: {receipt['model']}{wire}, conversation {receipt['conversation']}{session},"
        f" tenant {receipt['tenant']}{tags}",
        found["why"],
        f"tokens {receipt['tokens_before']:,} in, {receipt['tokens_after']:,} out; {_upstream(receipt)}",
        f"paid {_dollars(receipt['paid'])}, without Turnfold {_dollars(receipt['without'])};"
        f" Turnfold overhead {receipt['overhead_ms']:.1f} ms of {receipt['total_ms']:.0f} ms",
    ]
    for line in lines:
        console.print(plain(line), soft_wrap=True)
    for section in found["sections"]:
        if not section["kept"]:
            console.print(plain(f"Section {section['id']}: its originals are {section['problem']}."))
            continue
        table = _side_by_side(f"Section {section['id']}: {section['level']}, {section['tokens']:,} tokens folded")
        for before, after in _pairs(section):
            table.add_row(_text(before, full), _text(after, full))
        console.print(table)
    if not found["sections"]:
        console.print("It has no folded blocks.")


def _from_server(settings: Settings, url: str, name: str, since: str, tenant: str) -> dict[str, Any]:
    headers = admin_headers(settings, tenant)
    base = base_of(url, settings)
    answer: dict[str, Any] = ask("GET", f"{base}/admin/requests/{quote(name, safe='')}", headers, params={"from": since}).json()
    return answer


def inspect(
    context: typer.Context,
    target: Annotated[
        str,
        typer.Argument(help="Request id (x-turnfold-request-id), or a file with a request's JSON body; - for standard input."),
    ],
    full: Annotated[bool, typer.Option("--full", help="Print whole texts instead of their first lines.")] = False,
    budget: Annotated[
        int, typer.Option(min=0, help="For a file: token budget, as in x-turnfold-budget; 0: the one in your settings.")
    ] = 0,
    since: Annotated[str, typer.Option(help="For a request id: how far back to search (24h, 7d, a date).")] = "7d",
    url: Annotated[
        str, typer.Option(help="For a request id: URL of the running Turnfold; default: the host and port in your settings.")
    ] = "",
    tenant: Annotated[str, typer.Option(help="For a request id: find it only if it belongs to this tenant.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what was folded in a request, and why.

    A request id is looked up in a running Turnfold. A file is folded here, with your settings, and nothing is sent.
    """
    settings = load().settings
    console = wide_console()
    if as_json:
        refuse_unused(context, "does not apply to --json, which always prints everything", "full")
    if target.startswith(_REQUEST) and not Path(target).exists():
        refuse_unused(context, "applies to a FILE only", "budget")
        found = _from_server(settings, url, target, since, tenant)
        typer.echo(json.dumps(found, indent=2)) if as_json else _print_request(console, found, full)
        return
    if target != "-" and not Path(target).exists():
        raise Failure(f"{target} is neither a file nor a request id (these begin with {_REQUEST})")
    refuse_unused(context, "applies to a REQUEST_ID only", "since", "url", "tenant")
    _, text = read_json(target)
    try:
        found = inspected(text.encode("utf-8"), settings, budget or None)
    except InvalidInput as exc:
        raise Failure(f"{target}: {exc.problem}") from exc
    if as_json:
        rows = [asdict(row) for row in found["messages"]]
        typer.echo(json.dumps({**found, "messages": rows}, indent=2))
    else:
        _print_file(console, found, full)

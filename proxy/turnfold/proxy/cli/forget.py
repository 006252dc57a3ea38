"""``turnfold forget``: deleting the stored data of a tenant or of one of its conversations.

This module asks for confirmation, calls a running Turnfold and prints its answer. The server does the deleting.
"""

from __future__ import annotations

import json
from typing import Annotated, Any
from urllib.parse import quote

import typer

from turnfold.config.sources import load
from turnfold.proxy.cli.failure import Failure
from turnfold.proxy.cli.plain import plain
from turnfold.proxy.cli.remote import admin_headers, ask, base_of, key_headers

_PATIENCE = 1800.0  # seconds: a large tenant's data, and a file of an earlier release that is rebuilt


def forget(
    tenant: Annotated[str, typer.Option(help="Tenant id, as shown by: turnfold report --group-by tenant.")] = "",
    conversation: Annotated[str | None, typer.Option(help="Delete only this conversation.")] = None,
    key: Annotated[str, typer.Option(help="API key of a client, instead of a tenant; receipts are kept.")] = "",
    url: Annotated[str, typer.Option(help="URL of the running Turnfold; default: the host and port in your settings.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Delete the stored data of a tenant or a conversation.

    The data is deleted from the store's files too. This cannot be undone.
    """
    if bool(tenant) == bool(key):
        raise typer.BadParameter("give either --tenant or --key", param_hint="forget")
    if conversation is not None and not conversation.strip():  # an unset shell variable must not widen what is deleted
        raise typer.BadParameter("must not be blank", param_hint="--conversation")
    settings = load().settings
    base = base_of(url, settings)
    headers = key_headers(key) if key else admin_headers(settings)
    whose = f"tenant {plain(tenant).plain}" if tenant else "this credential"
    what = f"conversation {plain(conversation).plain} of {whose}" if conversation else f"all stored data of {whose}"
    if not yes and not typer.confirm(f"Delete {what} at {plain(base).plain}?", err=True):
        raise Failure("nothing was deleted")
    place = f"{base}/v1/data" if key else f"{base}/admin/tenants/{quote(tenant, safe='')}"
    if conversation and not key:
        place += f"/conversations/{quote(conversation, safe='')}"
    params = {"conversation": conversation} if conversation and key else {}
    gone = ask("DELETE", place, headers, params=params, timeout=_PATIENCE).json()
    typer.echo(json.dumps(gone) if as_json else _in_words(gone))


def _in_words(gone: dict[str, Any]) -> str:
    counts = [f"{gone['deleted']:,} items"]
    counts += [f"{gone[name]:,} {words}" for name, words in (("receipts", "receipts"), ("sums", "report totals")) if name in gone]
    return f"Deleted: {', '.join(counts)}."

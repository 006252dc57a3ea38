"""``turnfold drill-down``.

This module fetches a layer of a section from the store and prints it.
"""

from __future__ import annotations

from typing import Annotated

import typer

from turnfold.config.sources import load
from turnfold.proxy.cli.reading import refuse_unused
from turnfold.proxy.cli.remote import admin_headers, ask, base_of, key_headers


def drill_down(
    context: typer.Context,
    section: Annotated[str, typer.Argument(help="Section id, from the marker of a folded block or from a result's sections.")],
    layer: Annotated[
        int, typer.Option("--layer", "-l", min=0, max=2, help="Layer to print. 0: the original, 1: its facts, 2: a summary.")
    ] = 0,
    url: Annotated[str, typer.Option(help="URL of the running Turnfold; default: the host and port in your settings.")] = "",
    key: Annotated[str, typer.Option(envvar="OPENAI_API_KEY", help="API key that the conversation was held with.")] = "",
    tenant: Annotated[str, typer.Option(help="Tenant that the section belongs to; needs the admin token in your settings.")] = "",
) -> None:
    """Print the original text of a folded section.

    Layer 0 of a folded section is its messages, one line of JSON each.
    """
    if tenant:
        refuse_unused(context, "cannot be given together with --tenant", "key")
    settings = load().settings
    headers = admin_headers(settings, tenant) if tenant else key_headers(key)
    base = base_of(url, settings)
    answer = ask("POST", base + "/v1/drill-down", headers, json={"section_id": section, "target_layer": layer})
    typer.echo(answer.json()["text"])

"""``turnfold dashboard``.

This module prints or opens a link to the running Turnfold's dashboard. Links are made by ``dashboard.entrance``.
"""

from __future__ import annotations

import webbrowser
from typing import Annotated

import typer

from turnfold.config.sources import load
from turnfold.proxy.cli.failure import Failure
from turnfold.proxy.cli.plain import say
from turnfold.proxy.dashboard.entrance import entry_link
from turnfold.proxy.running.sharing import default_url, is_turnfold


def dashboard(
    port: Annotated[int | None, typer.Option(help="Port of the running Turnfold (TURNFOLD_PORT).")] = None,
    open_it: Annotated[bool, typer.Option("--open", help="Open the link in a browser.")] = False,
) -> None:
    """Print a link that opens the dashboard of the Turnfold on this machine.

    It works once, within ten minutes.
    """
    settings = load({"--port": (("server", "port"), port)}).settings
    link = entry_link(settings)
    if link is None:
        raise Failure(
            "links work only for a Turnfold that listens on loopback, on a known port; otherwise open /admin/ and sign in"
            " with the admin token (TURNFOLD_ADMIN_TOKEN)"
        )
    typer.echo(link)
    if not is_turnfold(place := default_url(settings.server)):
        say(f"turnfold: no Turnfold answers at {place} now: start one with turnfold serve")
    if open_it:
        webbrowser.open(link)

"""``turnfold serve``.

Lives here: from flags to settings. Does not belong here: how the server runs (``turnfold.proxy.server``).
"""

from __future__ import annotations

from typing import Annotated

import typer

from turnfold.config.sources import load


def serve(
    upstream: Annotated[str | None, typer.Option(help="Base URL of the upstream (TURNFOLD_UPSTREAM_URL).")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on (TURNFOLD_HOST).")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on (TURNFOLD_PORT).")] = None,
    uds: Annotated[str | None, typer.Option(help="Unix socket to listen on instead (TURNFOLD_UDS).")] = None,
    store: Annotated[str | None, typer.Option(help="sqlite:///path, redis://, memory://, none:// (TURNFOLD_STORE_URL).")] = None,
    mode: Annotated[str | None, typer.Option(help="on, observe or off (TURNFOLD_MODE).")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes (TURNFOLD_WORKERS).")] = None,
) -> None:
    """Run the proxy. Then point OPENAI_BASE_URL at http://127.0.0.1:8420/v1."""
    loaded = load(
        {
            "--upstream": (("upstream", "url"), upstream),
            "--host": (("server", "host"), host),
            "--port": (("server", "port"), port),
            "--uds": (("server", "uds"), uds),
            "--store": (("store", "url"), store),
            "--mode": (("folding", "mode"), mode),
            "--workers": (("server", "workers"), workers),
        }
    )
    from turnfold.proxy.dashboard.entrance import entry_link  # noqa: PLC0415 - as the server
    from turnfold.proxy.server import serve as run  # noqa: PLC0415 - loads the server; the other commands need not

    def greet() -> None:
        if link := entry_link(loaded.settings):
            typer.echo(f"Dashboard: {link} (works once, for ten minutes; later: turnfold dashboard)")

    run(loaded.settings, greet=greet)

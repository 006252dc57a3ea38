"""``turnfold serve``.

This module turns flags into settings. ``turnfold.proxy.server`` runs the server.
"""

from __future__ import annotations

from typing import Annotated

import typer

from turnfold.config.sources import load
from turnfold.proxy.cli.flags import ModeFlag, StoreFlag, UpstreamFlag
from turnfold.proxy.early_signals import early_signals_answered
from turnfold.proxy.uncollected import uncollected


@early_signals_answered()
def serve(
    upstream: UpstreamFlag = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on, 127.0.0.1 by default (TURNFOLD_HOST).")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on, 8420 by default; 0 picks a free one (TURNFOLD_PORT).")
    ] = None,
    uds: Annotated[str | None, typer.Option(help="Unix socket to listen on instead (TURNFOLD_UDS).")] = None,
    store: StoreFlag = None,
    mode: ModeFlag = None,
    workers: Annotated[int | None, typer.Option(help="Number of processes, 1 by default (TURNFOLD_WORKERS).")] = None,
) -> None:
    """Run the proxy.

    Then point your client at it: OPENAI_BASE_URL=http://127.0.0.1:8420/v1, ANTHROPIC_BASE_URL=http://127.0.0.1:8420.
    """
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
    with uncollected():
        from turnfold.proxy.dashboard.entrance import entry_link  # noqa: PLC0415 - as the server
        from turnfold.proxy.server import serve as run  # noqa: PLC0415 - loads the server; the other commands need not

    def opened(address: str) -> str:
        link = entry_link(loaded.settings)
        if link:
            return f"{link} (works once, for ten minutes; later: turnfold dashboard)"
        return address if loaded.settings.auth.admin_token else f"{address} (closed: set TURNFOLD_ADMIN_TOKEN to open it)"

    run(loaded.settings, dashboard=opened)

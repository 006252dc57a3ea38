"""``turnfold mcp``.

This module turns flags into a server on standard input and output. The tools are in ``agent_tools``.
"""

from __future__ import annotations

from typing import Annotated

import typer

from turnfold.config.sources import load
from turnfold.proxy.cli.failure import Failure


def mcp(
    store: Annotated[str | None, typer.Option(help="sqlite:///path, redis://, memory:// (TURNFOLD_STORE_URL).")] = None,
) -> None:
    """Serve tools for agents over the Model Context Protocol.

    It reads standard input and writes standard output. The tools are compress, drill_down and savings.
    """
    settings = load({"--store": (("store", "url"), store)}).settings
    try:
        from turnfold.proxy.agent_tools.serving import server  # noqa: PLC0415 - loads the SDK, which is an extra
    except ImportError as exc:
        raise Failure("the tools need the extra: pip install 'turnfold[mcp]'") from exc
    server(settings).run("stdio")

"""The startup message of ``turnfold serve``.

What it says, as a panel on a terminal and as one log line elsewhere. ``announcing`` decides when; the log lines of requests are
in ``request_log``.
"""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from turnfold.config.paths import default_store_url
from turnfold.config.settings import Settings, anthropic_url
from turnfold.config.sources import without_password

_log = logging.getLogger("turnfold.server")


@dataclass(frozen=True, slots=True)
class Greeting:
    """The facts in the startup message.

    Attributes:
        origin: where it listens, with the port that was really bound.
        upstreams: where requests go, each with what goes there.
        store: the store's URL, without a password.
        store_answers: whether it answered when the server was ready.
        dashboard: the link that opens the dashboard, or what to do to open it.
    """

    origin: str
    upstreams: tuple[str, ...]
    mode: str
    store: str
    store_answers: bool
    dashboard: str

    @classmethod
    def of(cls, settings: Settings, origin: str, *, store_answers: bool, dashboard: str) -> Greeting:
        """The greeting of a server with these settings.

        Args:
            dashboard: the link that opens the dashboard.
        """
        messages = anthropic_url(settings)
        return cls(
            origin,
            (settings.upstream.url, *((f"{messages} (for /v1/messages)",) if messages else ())),
            settings.folding.mode,
            without_password(settings.store.url or default_store_url()),
            store_answers,
            dashboard,
        )

    @property
    def exports(self) -> tuple[str, str]:
        """Lines for a shell that point clients here."""
        return (f"export OPENAI_BASE_URL={self.origin}/v1", f"export ANTHROPIC_BASE_URL={self.origin}")

    @property
    def rows(self) -> list[tuple[str, str]]:
        """The rows of the panel, each with its name."""
        store = self.store if self.store_answers else f"{self.store} DOES NOT ANSWER (requests are served, drill-down is not)"
        return [
            ("listens on", self.origin),
            *zip(("forwards to", *[""] * len(self.upstreams)), self.upstreams, strict=False),
            ("mode", self.mode),
            ("store", store),
        ]


def greet(greeting: Greeting, *, as_json: bool = False) -> None:
    """Print a panel on a terminal; elsewhere, or if the log is JSON, log one line."""
    if sys.stderr.isatty() and not as_json:
        _print_panel(greeting)
        return
    fields: dict[str, Any] = {"event": "ready", "origin": greeting.origin, "upstreams": greeting.upstreams}
    fields |= {"mode": greeting.mode, "store": greeting.store, "store_answers": greeting.store_answers}
    said = "; ".join(f"{name} {value}" if name else value for name, value in greeting.rows)
    _log.info("turnfold %s %s", version("turnfold"), said, extra={"fields": fields})


def _print_panel(greeting: Greeting) -> None:
    from rich.console import Console  # noqa: PLC0415 - loaded for a terminal alone
    from rich.panel import Panel  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table.grid(padding=(0, 2))
    for name, value in greeting.rows:
        table.add_row(Text(name, style="dim"), Text(value, overflow="fold"))
    console = Console(stderr=True, highlight=False)
    console.print(Panel(table, title=f"Turnfold {version('turnfold')}", title_align="left", expand=False, border_style="dim"))
    if greeting.origin.startswith("unix:"):  # no base URL can contain it
        console.print("Clients reach it through a web server in front (Ctrl+C stops Turnfold). For nginx:", style="dim")
        console.print(f"proxy_pass http://{greeting.origin};", soft_wrap=True, markup=False)
        return
    # Outside the panel, so that copied lines are neither wrapped nor contain the border.
    console.print("Dashboard:", style="dim", end=" ")
    console.print(greeting.dashboard, soft_wrap=True, markup=False)
    console.print("Point a client at it (Ctrl+C stops Turnfold):", style="dim")
    for line in greeting.exports:
        console.print(line, soft_wrap=True, markup=False)
    console.print()

"""The command line: ``turnfold COMMAND``.

Lives here: the list of commands, and the one place where an expected failure becomes a line and an exit code. Does not belong
here: what a command does (one file each).

Exit codes: 0 it worked; 1 it did not; 2 the command line or the settings are wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import typer
from rich.console import Console

from turnfold.compression.errors import TurnfoldError
from turnfold.config.sources import SettingsError
from turnfold.proxy.cli import (
    benchmark,
    compress,
    config,
    dashboard,
    demo,
    doctor,
    drill_down,
    export,
    forget,
    inspect_request,
    mcp_tools,
    messages,
    prose,
    report,
    run,
    serve,
    state,
    version,
    windows,
)
from turnfold.proxy.cli.failure import Failure
from turnfold.proxy.store import StoreError

#: Every command, in the order of the help. A new one is a file and a line here.
COMMANDS: Final[tuple[tuple[str, Callable[..., Any]], ...]] = (
    ("serve", serve.serve),
    ("run", run.run),
    ("demo", demo.demo),
    ("compress", compress.compress),
    ("uncompress", messages.uncompress_file),
    ("prose", prose.prose),
    ("benchmark", benchmark.benchmark),
    ("report", report.report),
    ("dashboard", dashboard.dashboard),
    ("export", export.export),
    ("inspect", inspect_request.inspect),
    ("drill-down", drill_down.drill_down),
    ("state", state.state),
    ("windows", windows.windows),
    ("forget", forget.forget),
    ("config", config.config),
    ("mcp", mcp_tools.mcp),
    ("doctor", doctor.doctor),
    ("version", version.version),
)

#: How the command line of a command is read, where that is not as usual: what follows the other command's name is that command's.
_PARSING: Final[Mapping[str, dict[str, Any]]] = MappingProxyType({"run": {"allow_interspersed_args": False}})


def build() -> typer.Typer:
    """The command line as an app."""
    app = typer.Typer(
        help="Turnfold: point OPENAI_BASE_URL at it, and long conversations cost less.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name, command in COMMANDS:
        app.command(name, context_settings=_PARSING.get(name))(command)
    return app


def main() -> None:
    """Entry point."""
    try:
        build()()
    except SettingsError as exc:
        _say(str(exc))
        sys.exit(2)
    except (Failure, TurnfoldError, StoreError) as exc:
        _say(str(exc))
        sys.exit(1)


def _say(problem: str) -> None:
    Console(stderr=True, soft_wrap=True).print(f"turnfold: {problem}", style="red", markup=False, highlight=False)

"""``turnfold run``.

This module makes a plan from the command line and the environment, and fixes the order of a run. The parts of a run are in
``turnfold.proxy.running``.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer

from turnfold.config.sources import VARIABLES, SettingPath
from turnfold.proxy.cli.failure import Failure
from turnfold.proxy.cli.flags import ModeFlag, StoreFlag, UpstreamFlag
from turnfold.proxy.running.environment import client_variables, export_lines
from turnfold.proxy.running.plan import PlanRefused, RunPlan, make_plan
from turnfold.proxy.running.sharing import default_url, is_turnfold


def run(
    command: Annotated[list[str] | None, typer.Argument(metavar="COMMAND", show_default=False)] = None,
    print_env: Annotated[
        bool, typer.Option("--print-env", help="Print export lines for a running Turnfold instead of running a command.")
    ] = False,
    upstream: UpstreamFlag = None,
    anthropic: Annotated[
        str | None, typer.Option(help="Base URL of the provider for Anthropic's /v1/messages (TURNFOLD_ANTHROPIC_URL).")
    ] = None,
    store: StoreFlag = None,
    mode: ModeFlag = None,
) -> None:
    """Run a command with its own proxy: turnfold run -- codex.

    The proxy forwards to the base URLs that are set in the environment, if any. Turnfold's options go before the command. The
    exit status is the command's; 127 if it is not found, 128 + n if signal n ended it.
    """
    flags: dict[str, tuple[SettingPath, Any]] = {
        "--upstream": (("upstream", "url"), upstream),
        "--anthropic": (("anthropic", "url"), anthropic),
        "--store": (("store", "url"), store),
        "--mode": (("folding", "mode"), mode),
    }
    if print_env == bool(command):
        raise typer.BadParameter("give a command, or --print-env", param_hint="COMMAND")
    try:
        plan = make_plan(flags, os.environ)
    except PlanRefused as exc:
        raise Failure(str(exc)) from exc
    if not command:
        _print_exports(plan)
        return
    from turnfold.proxy.running.session import run_session  # noqa: PLC0415 - loads the server; the other commands need not

    given = {VARIABLES[path]: str(value) for path, value in flags.values() if value is not None}
    ended = run_session(plan, command, os.environ, given)
    for line in ended.lines:
        typer.echo(f"turnfold: {line}", err=True)
    sys.exit(ended.status)


def _print_exports(plan: RunPlan) -> None:
    if not plan.running and plan.settings.server.uds is not None:
        raise Failure("clients cannot use a Unix socket (TURNFOLD_UDS) as their base URL: use that of the web server in front")
    origin = plan.running or default_url(plan.settings.server)
    if not plan.running and not is_turnfold(origin):
        raise Failure(f"no Turnfold answers at {origin}: start one with turnfold serve")
    typer.echo(export_lines(client_variables(origin, os.environ)), nl=False)

"""One run from its start to its end.

The proxy, the command in its environment, then the figures, in this order. Each is done by a module of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from turnfold.proxy.running.child import CommandNotStarted, find_program, run_command
from turnfold.proxy.running.environment import client_variables, key_variables, upstream_variables
from turnfold.proxy.running.plan import OWN_HOST, RunPlan, at_address
from turnfold.proxy.running.proxy_thread import ProxyNotStarted, RunLog, listen, logging_to_file, serve_beside
from turnfold.proxy.running.tally import Tally
from turnfold.proxy.running.tools import with_tool_arguments

_FAILED = 1


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended: its exit status, and what is to be said."""

    status: int
    lines: tuple[str, ...]


def run_session(plan: RunPlan, command: Sequence[str], environment: Mapping[str, str], given: Mapping[str, str]) -> RunResult:
    """Run a command through Turnfold.

    Args:
        environment: ours.
        given: settings of the command line as variables, for a Turnfold inside the command.

    Raises:
        InvalidInput: settings under which a start is refused.
    """
    try:
        find_program(command[0], environment)  # before the start, which takes a second
        if plan.running:
            status = _run_at(plan.running, command, {**environment, **key_variables(plan.settings, environment)})
            return RunResult(
                status, (f"the requests went through the Turnfold at {plan.running}", "turnfold report has the figures")
            )
        with logging_to_file() as log:
            return _run_beside(plan, command, {**environment, **upstream_variables(plan.settings), **given}, log)
    except CommandNotStarted as exc:
        return RunResult(exc.status, (str(exc),))


def _run_beside(plan: RunPlan, command: Sequence[str], environment: Mapping[str, str], log: RunLog) -> RunResult:
    tally, listener = Tally(), listen()
    port = listener.getsockname()[1]
    try:
        with listener, serve_beside(at_address(plan.settings, OWN_HOST, port), listener, tally, log):
            keys = key_variables(plan.settings, environment)
            status = _run_at(f"http://{OWN_HOST}:{port}", command, {**environment, **keys})
    except ProxyNotStarted as exc:
        return RunResult(_FAILED, (f"{exc}; the log is {log.path}",))
    noted = (f"something went wrong; the log is {log.path}",) if log.problem or (tally.failures and log.written) else ()
    return RunResult(status, (*tally.lines(), *noted))


def _run_at(origin: str, command: Sequence[str], environment: Mapping[str, str]) -> int:
    return run_command(with_tool_arguments(command, origin), {**environment, **client_variables(origin, environment)})

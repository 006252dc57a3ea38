"""``turnfold demo``.

Lives here: the command. Must not: the demonstration (``turnfold.proxy.demo``).
"""

from __future__ import annotations

from turnfold.proxy.cli.failure import Failure


def demo() -> None:
    """Show the savings on a long conversation: no key, no network, under a minute."""
    from turnfold.proxy.demo import DemoMissing, run_demo  # noqa: PLC0415 - loads the server; the other commands need not

    try:
        run_demo()
    except DemoMissing as exc:
        raise Failure(str(exc)) from exc

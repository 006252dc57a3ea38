"""``turnfold demo``.

Only the command; the demonstration is ``turnfold.proxy.demo``.
"""

from __future__ import annotations

from typing import Annotated

import typer

from turnfold.proxy.cli.failure import Failure
from turnfold.proxy.cli.report import print_report


def demo(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Fold a sample conversation on this machine, without a key or a network.

    Prints turn by turn what came in, what went out and whether the facts asked for were in it. Takes under a minute.
    """
    from turnfold.proxy import server  # noqa: PLC0415 - loads the server; the other commands need not
    from turnfold.proxy.demo import DemoFailed, run  # noqa: PLC0415
    from turnfold.proxy.demo_formats import FORMATS  # noqa: PLC0415

    try:
        run(server.configuration, as_json=as_json, show_report=print_report, formats=tuple(FORMATS))
    except DemoFailed as exc:
        raise Failure(str(exc)) from exc

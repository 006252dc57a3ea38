"""``turnfold doctor``.

This module prints what ``turnfold.proxy.checkup`` finds.
"""

from __future__ import annotations

import asyncio
from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.text import Text

from turnfold.config.sources import load
from turnfold.proxy.checkup import Finding, examine

_STYLES = {"ok": "green", "note": "yellow", "fault": "red"}


def _print(findings: list[Finding]) -> None:
    console = Console(soft_wrap=True)
    for finding in findings:
        line = Text(f"{finding.verdict:<6}", style=_STYLES[finding.verdict])
        line.append(f"{finding.part:<12}", style="bold")
        console.print(line.append(finding.found + (f" -> {finding.advice}" if finding.advice else ""), style="default"))


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Check settings, upstream, store and installation.

    Prints one line per check, with advice where something is wrong. Sends nothing that could be billed, except one short text if
    TURNFOLD_SEMANTIC_EMBEDDING_MODEL is set. The exit status is 1 if a check fails.
    """
    findings = asyncio.run(examine(load()))
    if as_json:
        typer.echo(orjson.dumps(findings, option=orjson.OPT_INDENT_2))
    else:
        _print(findings)
    if any(finding.verdict == "fault" for finding in findings):
        raise typer.Exit(1)

"""``turnfold version``.

This module imports nothing that takes time to load.
"""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

import typer

from turnfold.compression.options import ENGINE_VERSION


def version() -> None:
    """Print the versions of Turnfold, its engine and Python."""
    try:
        own = installed("turnfold")
    except PackageNotFoundError:
        own = "(not installed)"
    typer.echo(f"turnfold {own}, engine {ENGINE_VERSION}, Python {platform.python_version()}")

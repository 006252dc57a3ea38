"""The command line's fixture is wanted here too."""

from tests.proxy.cli.conftest import run

__all__ = ["run"]

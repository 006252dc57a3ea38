"""The exception of a command that fails.

Lives here: that exception. Does not belong here: printing.
"""

from __future__ import annotations


class Failure(Exception):
    """One clear line for the user; the command ends with exit code 1."""

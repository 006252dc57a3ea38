"""The exception of a command that fails. ``cli`` prints it."""

from __future__ import annotations


class Failure(Exception):
    """One clear line for the user; the command ends with exit status 1."""

"""The dashboard's page and what it loads.

The files of this package, read once. Serving them is up to ``routes.dashboard``.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Final

_TYPES: Final = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


@cache
def static_file(name: str) -> tuple[bytes, str] | None:
    """A file's content and media type; None if there is no such file."""
    kind = _TYPES.get(name.rpartition(".")[2])
    folder = resources.files("turnfold.proxy.dashboard") / "static"
    if kind is None or name not in {file.name for file in folder.iterdir()}:
        return None
    return (folder / name).read_bytes(), kind

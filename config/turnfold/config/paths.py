"""Where Turnfold keeps its files on a machine.

Lives here: the default places. Does not belong here: making them.
"""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_data_path


def default_store_url() -> str:
    """The SQLite file in the user's data directory, as a store URL."""
    return f"sqlite:///{Path(user_data_path('turnfold', appauthor=False)) / 'turnfold.db'}"

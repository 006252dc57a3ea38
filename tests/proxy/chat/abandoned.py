"""What a SQLite file holds of folds that took too long."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from turnfold.proxy.learning.abandoned_records import KIND


def kept_records(path: Path) -> int:
    """How many there are in a SQLite file."""
    with contextlib.closing(sqlite3.connect(path, timeout=60)) as connection:
        (number,) = connection.execute("SELECT count(*) FROM items WHERE kind = ?", (KIND.encode(),)).fetchone()
        return int(number)

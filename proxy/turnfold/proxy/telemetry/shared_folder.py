"""A temporary folder that several processes share and that is cleaned up even after a crash.

This module makes such a folder, and removes those whose owner was killed, whatever they contain.

The owner holds a lock on a file in its folder. The system releases the lock however the process ends, so a folder with a free
lock belongs to a process that was killed, and the next process to start removes it. A process id would not do: it may have been
reused, and it means nothing in another container that shares the disk.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

if sys.platform != "win32":
    import fcntl

_LOCK: Final = "owner.lock"
_YOUNG: Final = 60.0  # seconds: the owner of a folder this young may not hold its lock yet


@contextlib.contextmanager
def shared_folder(prefix: str) -> Iterator[str]:
    """Provide a folder for the duration of the block.

    Abandoned folders of this user with the same prefix are removed.
    """
    _remove_abandoned(prefix)
    folder = tempfile.mkdtemp(prefix=prefix)
    lock = os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _is_ours(lock)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _remove_abandoned(prefix: str) -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError):  # another start removed it, or it belongs to another user
            if _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    found = folder.lstat()
    if found.st_uid != os.geteuid() or time.time() - found.st_mtime < _YOUNG:
        return False
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    try:
        return _is_ours(lock)
    finally:
        os.close(lock)


def _is_ours(lock: int) -> bool:
    """Take a lock, unless another process has it."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

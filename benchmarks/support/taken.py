"""What a process has taken: processor time and memory.

It reads both as Linux gives them. Processes are started in ``proxy`` and ``faulty``.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")


def family(pid: int) -> list[int]:
    """A process and all below it."""
    with contextlib.suppress(OSError):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
        return [pid, *(one for child in children for one in family(int(child)))]
    return [pid]


def processor_seconds(pid: int) -> float:
    """Of a process and all below it, so far."""
    total = 0
    for one in family(pid):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text("ascii").rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total / _TICKS


def scheduled_seconds(pid: int) -> float:
    """Of the threads of a process and all below it, so far, as exactly as the scheduler knows: where a thread has ended its part
    is gone."""
    total = 0
    for one in family(pid):
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{one}/task"):
                total += int(Path(f"/proc/{one}/task/{thread}/schedstat").read_bytes().split()[0])
    return total / 1e9


def megabytes(pid: int) -> float:
    """Resident memory of a process now."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024

"""The process's resource usage and build: ``process_*`` as Prometheus' own clients name them, and ``turnfold_build_info``.

Both are provided for one process and for several workers. Figures of requests are in ``metrics``.

prometheus-client's own collector knows the process that is scraped, and none of its siblings, so each worker writes what that
collector finds into gauges that are added up; CPU time is a counter, so that a worker's share stays when it ends.
"""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Final, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector

_CPU: Final = "process_cpu_seconds_total"
#: name -> (help, how to combine the values of several workers)
_GAUGES: Final[dict[str, tuple[str, Literal["livesum", "livemin"]]]] = {
    "process_resident_memory_bytes": ("Resident memory, summed over the workers.", "livesum"),
    "process_virtual_memory_bytes": ("Virtual memory, summed over the workers.", "livesum"),
    "process_open_fds": ("Open file descriptors, summed over the workers.", "livesum"),
    "process_max_fds": ("Maximum number of open file descriptors of one worker.", "livemin"),
    "process_start_time_seconds": ("Start of the oldest worker, Unix time.", "livemin"),
}


class ProcessMetrics:
    """This process's metrics; `tick` updates them. Without /proc, only the build is known."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._collector = ProcessCollector(registry=None)
        self._cpu = Counter("process_cpu_seconds", "CPU time, summed over the workers.", registry=registry)
        self._gauges = {
            name: Gauge(name, text, registry=registry, multiprocess_mode=mode) for name, (text, mode) in _GAUGES.items()
        }
        self._counted = 0.0
        build = Gauge(
            "turnfold_build_info",
            "1, with the versions in force as labels.",
            ["version", "python"],
            registry=registry,
            multiprocess_mode="livemax",
        )
        build.labels(version("turnfold"), platform.python_version()).set(1)
        workers = Gauge("turnfold_workers", "Workers that are running.", registry=registry, multiprocess_mode="livesum")
        workers.set(1)

    def tick(self) -> None:
        """Read the current resource use of the process."""
        for family in self._collector.collect():
            for sample in family.samples:
                if sample.name == _CPU:
                    self._cpu.inc(max(0.0, sample.value - self._counted))
                    self._counted = max(self._counted, sample.value)
                elif sample.name in self._gauges:
                    self._gauges[sample.name].set(sample.value)

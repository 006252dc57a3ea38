"""Stores that fail for a while: a cluster, a primary under Sentinel, one replica's line to them.

The outages are listed by name. Who talks meanwhile, and what is told of it, is in ``benchmarks.outages``.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.support.faulty import Line, Valkey
from tests.support.valkeys import Cluster, Watched, running


@dataclass
class Outage:
    """What fails, when, and comes back.

    Attributes:
        urls: the store as each replica knows it.
    """

    urls: Sequence[str]
    begin: Callable[[], object]
    end: Callable[[], object]


Opened = Callable[[Path], "contextlib.AbstractContextManager[Outage]"]
OUTAGES: Final[dict[str, Opened]] = {}


def _outage(name: str) -> Callable[[Callable[[Path], Iterator[Outage]]], None]:
    def register(make: Callable[[Path], Iterator[Outage]]) -> None:
        OUTAGES[name] = contextlib.contextmanager(make)

    return register


def _of_cluster(name: str, make: Callable[[Cluster], tuple[Callable[[], object], Callable[[], object]]]) -> None:
    @_outage(name)
    def opened(folder: Path) -> Iterator[Outage]:
        with running(Cluster(folder)) as cluster:
            begin, end = make(cluster)
            yield Outage([cluster.url] * 2, begin, end)


def _of_watched(name: str, make: Callable[[Watched], tuple[Callable[[], object], Callable[[], object]]]) -> None:
    @_outage(name)
    def opened(folder: Path) -> Iterator[Outage]:
        with running(Watched(folder)) as watched:
            begin, end = make(watched)
            yield Outage([watched.url] * 2, begin, end)


def _all(nodes: Sequence[Any], number: int) -> Callable[[], object]:
    return lambda: [node.signal(number) for node in nodes]


def _one(node: Any, number: int) -> Callable[[], object]:
    return lambda: node.signal(number)


_STOP, _GO = signal.SIGSTOP, signal.SIGCONT
_of_cluster("cluster-hangs", lambda c: (_one(c.pair()[0], _STOP), _one(c.nodes[0], _GO)))
_of_cluster("cluster-killed", lambda c: (c.pair()[0].kill, c.nodes[0].start))
_of_cluster("cluster-frozen", lambda c: (_all(c.nodes, _STOP), _all(c.nodes, _GO)))
_of_cluster("cluster-slots-move", lambda c: (lambda: _move_slots(c), lambda: None))
_of_watched("sentinel-hangs", lambda w: (_one(w.primary(), _STOP), _one(w.servers[0], _GO)))
_of_watched("sentinel-killed", lambda w: (w.primary().kill, w.servers[0].start))
_of_watched("sentinel-fails-over", lambda w: (lambda: w.sentinels[0].client.sentinel_failover(w.name), lambda: None))
_of_watched("sentinel-frozen", lambda w: (_all([*w.servers, *w.sentinels], _STOP), _all([*w.servers, *w.sentinels], _GO)))


def _move_slots(cluster: Cluster, number: int = 12) -> None:
    """Slots that hold keys go to another node; each is open for half a second."""
    source, target = cluster.primaries()[:2]
    names = {node: node.client.cluster("MYID") for node in (source, target)}
    for _ in range(number):
        if (key := source.client.randomkey()) is None:
            return
        slot = source.client.cluster("KEYSLOT", key)
        target.client.cluster("SETSLOT", slot, "IMPORTING", names[source])
        source.client.cluster("SETSLOT", slot, "MIGRATING", names[target])
        time.sleep(0.5)
        while keys := source.client.cluster("GETKEYSINSLOT", slot, 100):
            source.client.execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
        for node in (target, *cluster.primaries()):
            node.client.cluster("SETSLOT", slot, "NODE", names[target])


class Relay(Line):
    """A line that can stop forwarding, and stays open."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.flows = threading.Event()
        self.flows.set()
        super().__init__(port, host)

    def _pass_on(self, data: bytes, sink: Any) -> None:
        self.flows.wait()
        super()._pass_on(data, sink)


def _flow(relays: Sequence[Relay], on: bool) -> None:
    for relay in relays:
        (relay.flows.set if on else relay.flows.clear)()


@_outage("partition")
def _partition(folder: Path) -> Iterator[Outage]:
    """One replica's line to one server."""
    del folder
    valkey = Valkey()
    relay = Relay(valkey.port)
    try:
        yield Outage([valkey.url, f"redis://127.0.0.1:{relay.port}/0"], relay.flows.clear, relay.flows.set)
    finally:
        relay.flows.set()
        relay.close()
        valkey.close()


@_outage("cluster-partition")
def _cluster_partition(folder: Path) -> Iterator[Outage]:
    """The lines of both replicas to every node, while the nodes go on: a silent network. The nodes name themselves by another
    address of this machine, where the lines are."""
    with running(Cluster(folder)) as cluster:
        for node in cluster.nodes:
            node.client.config_set("cluster-announce-hostname", "127.0.0.2")
            node.client.config_set("cluster-preferred-endpoint-type", "hostname")
        cluster.wait()
        time.sleep(1)  # until they have told each other
        relays = [Relay(node.port, "127.0.0.2") for node in cluster.nodes]
        try:
            yield Outage(
                [cluster.url.replace("127.0.0.1", "127.0.0.2")] * 2,
                lambda: _flow(relays, False),
                lambda: _flow(relays, True),
            )
        finally:
            _flow(relays, True)
            for relay in relays:
                relay.close()

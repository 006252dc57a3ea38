"""What Turnfold adds to a request: latency, first byte of a stream, start, memory.

Everything runs on loopback: a fast upstream and the proxy in processes of their own, requests to both interleaved in one
run, medians compared. Run: ``python -m benchmarks.latency`` (``--large`` adds the 100,000-token conversation, ``--wires`` sets
the three formats beside each other).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import json
import multiprocessing
import os
import random
import resource
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from typing import Any

import uvicorn
from starlette.types import Receive, Scope, Send

from benchmarks.support.taken import megabytes
from turnfold.config.settings import Settings, StoreSettings, UpstreamSettings
from turnfold.proxy.server import configuration

ANSWER = json.dumps(
    {"choices": [{"message": {"role": "assistant", "content": "ok"}}], "usage": {"completion_tokens": 1}}
).encode()
EVENT = b'data: {"choices":[{"delta":{"content":"ok"}}]}\n\n'
WORDS = [
    f"{a}{b}{c}"
    for a in ("ka", "lo", "mi", "ru", "se", "to", "va")
    for b in ("n", "r", "l", "st")
    for c in ("ado", "eri", "imo", "u")
]


async def upstream(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads the body and answers at once."""
    streamed, more = b"event-stream" in dict(scope["headers"]).get(b"accept", b""), True
    while more:
        more = (await receive()).get("more_body", False)
    kind = b"text/event-stream" if streamed else b"application/json"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
    if streamed:
        for _ in range(20):
            await send({"type": "http.response.body", "body": EVENT, "more_body": True})
            await asyncio.sleep(0)
    await send({"type": "http.response.body", "body": b"data: [DONE]\n\n" if streamed else ANSWER})


def run_upstream(listener: socket.socket) -> None:
    """The upstream's process."""
    config = uvicorn.Config(upstream, access_log=False, log_level="error", server_header=False, date_header=False, lifespan="off")
    uvicorn.Server(config).run(sockets=[listener])


def run_proxy(listener: socket.socket, upstream_url: str, mode: str) -> None:
    """The proxy's process."""
    base = Settings()
    folding = base.folding.model_copy(update={"mode": mode})
    settings = base.model_copy(
        update={"upstream": UpstreamSettings(url=upstream_url), "folding": folding, "store": StoreSettings(url="memory://")}
    )
    uvicorn.Server(configuration(settings)).run(sockets=[listener])


@contextlib.contextmanager
def process(target: Any, *args: Any) -> Iterator[tuple[int, int]]:
    """A server's process on a free port; gives port and process id once it answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        child = multiprocessing.get_context("spawn").Process(target=target, args=(listener, *args), daemon=True)
        child.start()
        with contextlib.closing(KeptConnection(port)) as client:
            client.get("/healthz")
        try:
            yield port, child.pid or 0
        finally:
            child.terminate()
            child.join(10)


class KeptConnection:
    """One kept connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def close(self) -> None:
        self._connection.close()

    def get(self, path: str) -> bytes:
        self._connection.request("GET", path)
        return self._connection.getresponse().read()

    def chat(self, body: bytes, path: str = "/v1/chat/completions", **headers: str) -> tuple[float, float, dict[str, str]]:
        """Milliseconds to the first byte of the body and to its end, and the response's headers."""
        begun = time.perf_counter()
        self._connection.request("POST", path, body, {"content-type": "application/json", **headers})
        response = self._connection.getresponse()
        response.read(1)
        first = time.perf_counter()
        response.read()
        ended = time.perf_counter()
        assert response.status == 200, response.status
        return (first - begun) * 1000, (ended - begun) * 1000, dict(response.getheaders())


def messages(seed: int, tokens: float) -> list[dict[str, str]]:
    """A conversation of about this many tokens (a made-up word takes about two)."""
    draw = random.Random(seed)
    found: list[dict[str, str]] = []
    while tokens > 0:
        words = [draw.choice(WORDS) + (". " if draw.random() < 0.1 else " ") for _ in range(draw.randint(20, 150))]
        found.append({"role": "assistant" if len(found) % 2 else "user", "content": "".join(words).strip().capitalize() + "."})
        tokens -= 2.17 * len(words)
    return found if len(found) % 2 else found[:-1]


def body_of(conversation: list[dict[str, str]]) -> bytes:
    return json.dumps({"model": "gpt-4o", "messages": conversation}).encode()


def interleave(
    direct: KeptConnection, through: KeptConnection, bodies: list[bytes], **headers: str
) -> list[tuple[str, float, float]]:
    """(what, median direct, median through) for the first byte and for the whole."""
    pairs = [(direct.chat(body, **headers)[:2], through.chat(body, **headers)[:2]) for body in bodies]
    return [
        (what, statistics.median(p[0][i] for p in pairs), statistics.median(p[1][i] for p in pairs))
        for i, what in enumerate(("first byte", "whole"))
    ]


def show(title: str, rows: list[tuple[str, float, float]], target: float) -> None:
    for what, direct, through in rows:
        print(
            f"{title:34} {what:10}  direct {direct:7.2f}  through {through:7.2f}  added {through - direct:7.2f} ms  (<= {target})"
        )


def small(direct: KeptConnection, through: KeptConnection, count: int) -> None:
    body = body_of([{"role": "user", "content": "Say hello in one word."}])
    interleave(direct, through, [body] * 50)
    show("small request", interleave(direct, through, [body] * count), 2)
    show("stream", interleave(direct, through, [body] * count, accept="text/event-stream"), 2)
    show("small request, off", interleave(direct, through, [body] * count, **{"x-turnfold-mode": "off"}), 2)
    show("small request, observe", interleave(direct, through, [body] * count, **{"x-turnfold-mode": "observe"}), 2)


#: Per format: its path, the key of its messages, and what else it needs.
WIRES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "chat": ("/v1/chat/completions", "messages", {}),
    "responses": ("/v1/responses", "input", {"store": False}),
    "messages": ("/v1/messages", "messages", {"max_tokens": 100}),
}


def wires(direct: KeptConnection, through: KeptConnection, count: int) -> None:
    """The same requests in the three formats in turn, one after the other, so that all meet the same machine."""
    for title, tokens, rounds in (("small", 0, count), ("20,000 tokens, warm", 20_000, count // 4)):
        older = messages(5, tokens) if tokens else []
        added: dict[str, list[float]] = {name: [] for name in WIRES}
        for turn in range(rounds + 5):
            turns = [*older, {"role": "assistant", "content": "Noted."}] if older else []
            turns += [{"role": "user", "content": f"And the {turn}th kanado?"}]
            older = turns if older else []
            for name, (path, key, more) in WIRES.items():
                body = json.dumps({"model": "gpt-4o", key: turns, **more}).encode()
                took = [client.chat(body, path)[1] for client in (direct, through)]
                added[name] += [took[1] - took[0]] if turn >= 5 else []
        medians = {name: statistics.median(values) for name, values in added.items()}
        print(f"{title:34}", *(f"{name} {ms:6.2f} ms ({ms / medians['chat']:.2f})" for name, ms in medians.items()))


def large(direct: KeptConnection, through: KeptConnection, port: int, pid: int) -> None:
    cold = [body_of(messages(seed, 100_000)) for seed in range(1, 6)]
    interleave(direct, through, [body_of(messages(0, 2_000))] * 3)
    show("100,000 tokens, cold", interleave(direct, through, cold), 400)
    turns = messages(77, 100_000)
    warm = []
    for turn in range(12):
        turns = [
            *turns,
            {"role": "assistant", "content": f"Noted, {turn}."},
            {"role": "user", "content": f"And the {turn}th kanado?"},
        ]
        warm.append(body_of(turns))
    through.chat(warm[0])
    show("100,000 tokens, warm", interleave(direct, through, warm[1:]), 10)
    for mode in ("off", "observe"):
        show(f"100,000 tokens, {mode}", interleave(direct, through, warm, **{"x-turnfold-mode": mode}), 2)
    headers = through.chat(warm[-1])[2]
    print({key: value for key, value in headers.items() if key.startswith("x-turnfold")})
    beside(through, port)
    print(f"memory after that: {megabytes(pid):.0f} MB (<= 250)")


def beside(through: KeptConnection, port: int) -> None:
    """Small requests while cold folds of large ones run, two at a time."""
    stop = threading.Event()

    def load(seed: int) -> None:
        with contextlib.closing(KeptConnection(port)) as client:
            for number in range(8):
                client.chat(body_of(messages(1000 * seed + number, 100_000)))
        stop.set()

    threads = [threading.Thread(target=load, args=(seed,)) for seed in (1, 2)]
    body = body_of([{"role": "user", "content": "Say hello in one word."}])
    for thread in threads:
        thread.start()
    times = []
    while not stop.is_set():
        times.append(through.chat(body)[1])
        time.sleep(0.004)
    for thread in threads:
        thread.join()
    times.sort()
    middle, high = statistics.median(times), times[int(len(times) * 0.99)]
    print(f"small beside cold: median {middle:.1f}  p99 {high:.1f} ms of {len(times)} (< 50)")


def main() -> None:
    """Run the sections that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=400, help="requests per figure")
    parser.add_argument("--large", action="store_true", help="the 100,000-token conversation too")
    parser.add_argument("--wires", action="store_true", help="the three formats beside each other")
    parser.add_argument("--mode", default="on", choices=["on", "observe", "off"])
    chosen = parser.parse_args()
    with process(run_upstream) as (upstream_port, _):
        begun = time.perf_counter()
        with process(run_proxy, f"http://127.0.0.1:{upstream_port}/v1", chosen.mode) as (port, pid):
            print(f"start to ready: {time.perf_counter() - begun:.2f} s (<= 3)   memory then: {megabytes(pid):.0f} MB")
            with contextlib.closing(KeptConnection(upstream_port)) as direct, contextlib.closing(KeptConnection(port)) as through:
                small(direct, through, chosen.count)
                if chosen.wires:
                    wires(direct, through, chosen.count)
                if chosen.large:
                    large(direct, through, port, pid)
    print(f"load average while this ran: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"(client's own peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB)")


if __name__ == "__main__":
    main()

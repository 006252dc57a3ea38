"""What one client's large requests cost everybody else.

It makes the attacks, and probes beside them: a health check, a small request and a fold of another tenant. Run it as ``python -m
benchmarks.stalls``; figures are seconds.

Clients run in processes of their own, or their work would be part of what is measured. Every probe is measured on the idle server
first: on a machine that does other things what counts is the difference.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import http.client
import http.server
import json
import random
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, Final
from urllib.parse import urlsplit

from benchmarks.support.proxy import turnfold
from tests.support.words import prose

MB: Final = 2**20
_WIRES: Final = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
_IDLE: Final = 6.0  # seconds of probes before an attack
_PAUSE: Final = 0.02
_MESSAGES: Final = 50_000


class _Quick(http.server.BaseHTTPRequestHandler):
    """An upstream that reads and answers."""

    protocol_version = "HTTP/1.1"
    wbufsize = 8192  # head and body in one packet: in two, the second waits 40 ms for an acknowledgement

    def do_POST(self) -> None:
        """Any request."""
        left = size = int(self.headers["content-length"])
        while left:
            left -= len(self.rfile.read(min(left, MB)))
        usage = b'{"prompt_tokens": %d, "completion_tokens": 1}' % max(8, size // 5)
        body = b'{"model": "gpt-4o", "choices": [], "usage": %s}' % usage
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing is logged."""


def _upstream(ports: Any) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Quick)
    server.daemon_threads = True
    ports.put(server.server_port)
    server.serve_forever()


def _body(wire: str, messages: Sequence[dict[str, Any]]) -> bytes:
    if wire == "responses":
        return json.dumps({"model": "gpt-4o", "input": messages}).encode()
    return json.dumps({"model": "gpt-4o", "max_tokens": 100, "messages": messages}).encode()


def _text(size: int, seed: int) -> str:
    base = " ".join(prose(seed + i, "en", 8) for i in range(200))
    return (base * (size // len(base) + 1))[:size]


def _turns(texts: Sequence[str]) -> list[dict[str, Any]]:
    return [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]


def one_message(wire: str, number: int) -> bytes:
    """60 MB in one message."""
    return _body(wire, _turns([_text(60 * MB, number)]))


def many_messages(wire: str, number: int) -> bytes:
    """50,000 messages."""
    return _body(wire, _turns([f"{prose(i % 499, 'en', 1)} Item {i} of {number}." for i in range(_MESSAGES + 1)]))


def tool_json(wire: str, number: int) -> bytes:
    """6 MB of JSON from a tool."""
    rows: list[dict[str, Any]] = []
    size = 0
    while size < 6 * MB:
        at = len(rows)
        rows.append(
            {"id": at, "name": f"item {at * 7919 % 1000} of {number}", "price": at * 1.5, "note": prose(at % 499, "en", 1)}
        )
        size += 60 + len(rows[-1]["note"])
    result = json.dumps(rows)
    talk: list[dict[str, Any]] = [
        {"role": "user", "content": "List them."},
        *_turns(["x", "What is dear?"])[1:],
        *_turns(["So?", "It is.", "And now?"]),
    ]
    if wire == "chat":
        call = {"id": "c1", "type": "function", "function": {"name": "list", "arguments": "{}"}}
        tools: list[dict[str, Any]] = [
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": result},
        ]
    elif wire == "responses":
        call = {"type": "function_call", "call_id": "c1", "name": "list", "arguments": "{}"}
        tools = [call, {"type": "function_call_output", "call_id": "c1", "output": result}]
    else:
        use = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "list", "input": {}}]}
        tools = [use, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": result}]}]
    every: list[dict[str, Any]] = [talk[0], *tools, *talk[1:]]
    return _body(wire, every)


def tiny_messages(wire: str, number: int) -> bytes:
    """200,000 messages of a word: as many values as their bytes can hold."""
    return _body(wire, _turns([f"m{i % 97}{number}" for i in range(4 * _MESSAGES + 1)]))


def deep_json(wire: str, number: int) -> bytes:
    """2 MB of brackets in brackets, as what a message says; and 100,000 of them in the body's own JSON."""
    body = _body(wire, _turns(["[" * MB + "]" * MB, f"So {number}?", "What does it hold?"]))
    return body[:-1] + b', "metadata": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


def one_line(wire: str, number: int) -> bytes:
    """7 MB in one line without a space."""
    return _body(wire, _turns([hashlib.sha256(b"%d" % number).hexdigest() * (7 * MB // 64), "So?", "What is it?"]))


def picture(wire: str, number: int) -> bytes:
    """An image of 7 MB in base64."""
    data = base64.b64encode(bytes(random.Random(number).randbytes(5 * MB))).decode()
    url = f"data:image/png;base64,{data}"
    if wire == "chat":
        part: dict[str, Any] = {"type": "image_url", "image_url": {"url": url}}
    elif wire == "responses":
        part = {"type": "input_image", "image_url": url}
    else:
        part = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    text = {"type": "input_text" if wire == "responses" else "text", "text": "What is that?"}
    return _body(wire, [{"role": "user", "content": [text, part]}, *_turns([_text(2_000, i) for i in range(21)])[1:]])


def backticks(wire: str, number: int) -> bytes:
    """A million backticks, and a million other marks of Markdown."""
    return _body(wire, _turns(["`" * 1_000_000, "~*_#>|" * 170_000, f"And {number}?"]))


def half_megabyte(wire: str, number: int) -> bytes:
    """500 kB: the largest that is folded in a thread."""
    return _body(wire, _turns([_text(2_000, 31 * number + i) for i in range(241)]))


def long_text(_: str, number: int) -> bytes:
    """6 MB of prose for ``/v1/compress``."""
    return json.dumps({"text": _text(6 * MB, 97 * number)}).encode()


def long_message(_: str, number: int) -> bytes:
    """A message of 2 MB for ``/v1/conversation``."""
    said = {"role": "user", "content": _text(2 * MB, 89 * number)}
    return json.dumps({"conversation_id": f"c{number}", "message": said}).encode()


def long_messages(_: str, number: int) -> bytes:
    """4 MB of messages for ``/v1/messages/compress``, to a half."""
    text = _text(4 * MB, 83 * number)
    messages = _turns([text[at : at + 2_000] for at in range(0, len(text), 2_000)])
    return json.dumps({"messages": messages, "token_budget": 500_000}).encode()


#: Where an attack goes that is on Turnfold's own API, whatever the wire.
_API: Final = {
    "6 MB to compress, twice": "/v1/compress",
    "2 MB to a conversation, four times": "/v1/conversation",
    "4 MB of messages to compress, twice": "/v1/messages/compress",
}
ATTACKS: Final[dict[str, tuple[Callable[[str, int], bytes], int]]] = {
    "60 MB in one message": (one_message, 1),
    "50,000 messages, twice": (many_messages, 2),
    "6 MB of tool JSON, twice": (tool_json, 2),
    "200,000 tiny messages, twice": (tiny_messages, 2),
    "2 MB of brackets, twice": (deep_json, 2),
    "7 MB in one line, twice": (one_line, 2),
    "a picture of 7 MB, twice": (picture, 2),
    "a million backticks, twice": (backticks, 2),
    "500 kB of chat, eight times": (half_megabyte, 8),
    "6 MB to compress, twice": (long_text, 2),
    "2 MB to a conversation, four times": (long_message, 4),
    "4 MB of messages to compress, twice": (long_messages, 2),
}


def attack(origin: str, wire: str, name: str, number: int) -> tuple[float, str]:
    """Send one; its seconds, and what became of it."""
    body = ATTACKS[name][0](wire, number)
    return send(origin, _API.get(name, _WIRES[wire]), body, "sk-greedy")


def send(origin: str, path: str, body: bytes | None, key: str) -> tuple[float, str]:
    """One request; its seconds, and status and reason."""
    start = time.perf_counter()
    connection = http.client.HTTPConnection(urlsplit(origin).netloc, timeout=120)
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    connection.request("POST" if body else "GET", path, body, headers if body else {})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    said = [answer.getheader(f"x-turnfold-{name}") for name in ("status", "reason")]
    return time.perf_counter() - start, " ".join(filter(None, said))


class Probes:
    """Requests of others, one after the other, each kind in a thread of its own."""

    def __init__(self, origin: str, wire: str) -> None:
        warm = _body(wire, _turns([_text(700, i) for i in range(109)]))  # about 77 kB, folded again and again
        self._bodies = {"health": None, "small": _body(wire, _turns(["hi"])), "fold": warm}
        self._paths = {name: "/healthz" if body is None else _WIRES[wire] for name, body in self._bodies.items()}
        self._origin = origin
        self.seconds: dict[str, list[float]] = {name: [] for name in self._bodies}
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._probe, args=(name,)) for name in self._bodies]

    def _probe(self, name: str) -> None:
        while not self._stop.wait(_PAUSE):
            self.seconds[name].append(send(self._origin, self._paths[name], self._bodies[name], "sk-patient")[0])

    def during(self, attacks: Sequence[Future[Any]], least: float) -> dict[str, list[float]]:
        """What they took until all of that is done, but for so many seconds at least."""
        self.seconds.update({name: [] for name in self.seconds})
        end = time.monotonic() + least
        while time.monotonic() < end or not all(one.done() for one in attacks):
            time.sleep(0.05)
        return {name: list(taken) for name, taken in self.seconds.items()}

    def __enter__(self) -> Probes:
        for name in self._bodies:  # the first fold is a cold one
            send(self._origin, self._paths[name], self._bodies[name], "sk-patient")
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


def _row(taken: dict[str, list[float]]) -> str:
    cells = []
    for values in taken.values():
        ordered = sorted(values) or [0.0]
        cells.append(f"{statistics.median(ordered):.3f} / {ordered[int(0.99 * (len(ordered) - 1))]:.3f} / {ordered[-1]:.3f}")
    return " | ".join(cells)


def main() -> None:
    """Print one table row for each attack, and for the idle server before it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wires", nargs="*", help="chat, responses, messages; all by default")
    parser.add_argument("--only", default="", help="the attacks whose names contain this")
    given = parser.parse_args()
    wires = given.wires or list(_WIRES)
    context = get_context("spawn")
    ports = context.Queue()
    upstream = context.Process(target=_upstream, args=(ports,), daemon=True)
    upstream.start()
    print("| | wire | health check: median / 99% / longest | small request | fold of 77 kB, warm | the large ones |")
    print("|---|---|---|---|---|---|")
    with ProcessPoolExecutor(8, mp_context=context) as clients:
        for wire in wires:
            for name, (_, times) in ATTACKS.items():
                if given.only not in name or (name in _API and wire != wires[0]):  # they are the same on every wire
                    continue
                with (
                    turnfold(f"http://127.0.0.1:{(port := port_of(ports))}/v1") as url,
                    Probes(url.removesuffix("/v1"), wire) as probes,
                ):
                    ports.put(port)
                    print(f"| idle | {wire} | {_row(probes.during((), _IDLE))} | |", flush=True)
                    origin = url.removesuffix("/v1")
                    sent = [clients.submit(attack, origin, wire, name, number) for number in range(times)]
                    row = _row(probes.during(sent, 1.0))
                    ends = ", ".join(f"{seconds:.1f} s {said}" for seconds, said in (one.result() for one in sent))
                    print(f"| {name} | {wire} | {row} | {ends} |", flush=True)
    upstream.kill()


def port_of(ports: Any) -> int:
    """The upstream's port, which is put back by whoever took it."""
    return int(ports.get())


if __name__ == "__main__":
    main()

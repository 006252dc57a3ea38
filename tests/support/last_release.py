"""A store written by the last release, and what that release answered from it.

It loads the data in ``tests/proxy/store/data/last_release``, starts Turnfold on the day it was written, and repeats the calls.
``make_last_release`` writes that data. Nothing of Turnfold is imported here, since these functions also run the last release,
whose modules are elsewhere.

There are two stores: ``sqlite.sql`` (a dump) and ``redis.json`` (keys and values, base64 where they are not text). For each,
``expected.*.json`` lists the calls in order, with their answers.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import hashlib
import io
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from benchmarks.support.ports import free_port
from tests.support.overflow_upstream import DIALECTS

DATA: Final = Path(__file__).resolve().parent.parent / "proxy" / "store" / "data" / "last_release"

#: When the data was written and when it is read, as Unix time: 2026-01-09, noon and an hour later. Records expire, so the proxy
#: that reads them runs with its clock set to that day.
WRITTEN_AT: Final = 1_767_960_000
READ_AT: Final = WRITTEN_AT + 3600

ADMIN: Final = {"x-turnfold-admin-token": "admin"}
#: Headers that tell the upstream what to do: see `upstream`.
SCRIPT: Final = "x-script"
USAGE: Final = "x-script-usage"

_PATIENCE: Final = 120.0
_BYTES_PER_TOKEN: Final = 4
_LONG: Final = 160
_SHOWN: Final = 40

# The clock is set before Turnfold is imported. Monotonic clocks, which time-outs use, are left alone.
_DATED: Final = """
import sys, time
clock, begun, day = time.time, time.time(), float(sys.argv.pop(1))
time.time = lambda: day + clock() - begun
from benchmarks.support.ports import free_port
from turnfold.proxy.cli import main
main()
"""


@contextlib.contextmanager
def served(store_url: str, upstream_url: str, day: float, python: str = sys.executable, **settings: str) -> Iterator[str]:
    """``turnfold serve`` with its clock set; gives its origin.

    Args:
        day: Unix time at its start.
        python: the interpreter of the checkout to serve.
        settings: further variables without their prefix, in lower case.
    """
    port = free_port()
    own = {"store_url": store_url, "upstream_url": upstream_url, "port": str(port), "admin_token": "admin", **settings}
    others = {name: value for name, value in os.environ.items() if not name.startswith("TURNFOLD_")}
    environment = others | {f"TURNFOLD_{name.upper()}": value for name, value in own.items()}
    if python == sys.executable:  # another checkout's interpreter finds its own code
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    with tempfile.TemporaryDirectory() as empty:
        process = subprocess.Popen([python, "-c", _DATED, str(day), "serve"], env=environment, cwd=empty)  # noqa: S603 - ours
        try:
            _wait_until_ready(process, f"http://127.0.0.1:{port}")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(_PATIENCE)


def _wait_until_ready(process: subprocess.Popen[bytes], origin: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    with httpx.Client(timeout=60) as client:  # one for all tries: making one takes as long as a try
        while time.monotonic() < deadline:
            assert process.poll() is None, f"turnfold ended with {process.returncode}"
            with contextlib.suppress(httpx.TransportError):
                if client.get(f"{origin}/readyz").json()["checks"]["store"] == "ok":
                    return
            time.sleep(0.02)
    raise AssertionError("turnfold was not ready in time")


def upstream() -> Starlette:
    """An upstream that does what the requests' headers say.

    ``x-script``: absent (an answer), ``stream``, ``fail`` (500), or ``window N``: refuse more than N tokens, counted as a quarter
    of the body's bytes, and report that count as usage. ``x-script-usage``: prompt, completion, cached and written tokens,
    separated by blanks; absent: no usage.
    """

    async def chat(request: Request) -> Response:
        body = await request.body()
        word, _, window = request.headers.get(SCRIPT, "").partition(" ")
        if word == "fail":
            return JSONResponse({"error": {"message": "the harbour is closed", "type": "server_error"}}, 500)
        prompt = len(body) // _BYTES_PER_TOKEN
        if word == "window" and prompt > int(window):
            return JSONResponse(DIALECTS["openai"].render(int(window), prompt, 0), 400)
        usage = _usage(f"{prompt} 9 0 0" if word == "window" else request.headers.get(USAGE, ""))
        if word == "stream":
            return StreamingResponse(_events(usage), media_type="text/event-stream")
        choice = {"index": 0, "message": {"role": "assistant", "content": "ok."}, "finish_reason": "stop"}
        return JSONResponse({"id": "c", "object": "chat.completion", "created": 1, "choices": [choice], **usage})

    return Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])])


def _usage(told: str) -> dict[str, Any]:
    if not told:
        return {}
    prompt, completion, cached, written = map(int, told.split())
    details = {"cached_tokens": cached, "cache_write_tokens": written}
    return {"usage": {"prompt_tokens": prompt, "completion_tokens": completion, "prompt_tokens_details": details}}


async def _events(usage: Mapping[str, Any]) -> AsyncIterator[str]:
    for text in ("o", "k."):
        yield f"data: {json.dumps({'id': 'c', 'choices': [{'index': 0, 'delta': {'content': text}}]})}\n\n"
    yield f"data: {json.dumps({'id': 'c', 'choices': [], **usage})}\n\ndata: [DONE]\n\n"


def expected(store: str) -> dict[str, Any]:
    """The calls and answers of the last release on one kind of store, "sqlite" or "redis"."""
    found: dict[str, Any] = json.loads((DATA / f"expected.{store}.json").read_text("utf-8"))
    return found


def window_id(origin: str, model: str) -> str:
    """The id of the item in which the last release kept what it had learned about an upstream's model."""
    return hashlib.blake2b(json.dumps([origin, model]).encode(), digest_size=16).hexdigest()


def _renamed(text: str, ids: Mapping[str, str], form: Any = str) -> str:
    for old, new in ids.items():
        text = text.replace(form(old), form(new))
    return text


def load_sqlite(path: Path, ids: Mapping[str, str]) -> None:
    """Write the last release's SQLite file.

    Args:
        ids: items to rename: their ids depend on the upstream's port, which is another one here.
    """
    dump = (DATA / "sqlite.sql").read_text("utf-8")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(_renamed(dump, ids, lambda name: name.encode().hex().upper()))


def load_redis(client: Any, ids: Mapping[str, str]) -> None:
    """Write the last release's keys into an empty database, each with the time to live that it had."""
    fill = {
        "string": lambda key, value: client.set(key, unpacked(value)),
        "list": lambda key, value: client.rpush(key, *map(unpacked, value)),
        "hash": lambda key, value: client.hset(key, mapping={unpacked(name): unpacked(one) for name, one in value}),
        "zset": lambda key, value: client.zadd(key, {unpacked(member): score for member, score in value}),
    }
    for row in json.loads(_renamed((DATA / "redis.json").read_text("utf-8"), ids)):
        key = unpacked(row["key"])
        fill[row["type"]](key, row["value"])
        client.pexpire(key, row["milliseconds"])


def packed(value: bytes) -> str:
    """Bytes for JSON: ASCII text as it is, other bytes as ``base64:...``."""
    try:
        text = value.decode("ascii")
    except UnicodeDecodeError:
        text = "base64:"
    return text if not text.startswith("base64:") else "base64:" + base64.b64encode(value).decode()


def unpacked(text: str) -> bytes:
    """The inverse of `packed`."""
    return base64.b64decode(text[7:]) if text.startswith("base64:") else text.encode()


def ask(client: httpx.Client, call: Mapping[str, Any]) -> dict[str, Any]:
    """Make one call; its status, and the answer (of a chat completion: the headers with Turnfold's verdict).

    Args:
        call: ``method``, ``path``, ``headers``, ``json`` (a body), and ``only``: the path to the part of the answer to keep,
            where the rest depends on the machine or the hour.
    """
    body = encode(call["json"]) if "json" in call else b""
    answer = client.request(call["method"], call["path"], content=body, headers=call.get("headers", {}))
    if call["path"].endswith("/chat/completions"):
        names = ("x-turnfold-status", "x-turnfold-reason", "x-turnfold-state")
        return {"status": answer.status_code, "headers": {name: answer.headers.get(name) for name in names}}
    value = _read(answer)
    for step in call.get("only", ()) if answer.is_success else ():
        value = value[step]
    return {"status": answer.status_code, "answer": _brief(value)}


def _brief(value: Any) -> Any:
    """A JSON value with long texts cut to their beginning and a hash, to keep the data small and readable."""
    if isinstance(value, dict):
        return {name: _brief(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_brief(one) for one in value]
    if isinstance(value, str) and len(value) > _LONG:
        digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{value[:_SHOWN]} ... {len(value)} characters, SHA-256 {digest}"
    return value


def encode(value: Any) -> bytes:
    """A body, always written the same way: section ids are hashes of the bytes of their messages."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _read(answer: httpx.Response) -> Any:
    kind = answer.headers.get("content-type", "")
    if kind.startswith("text/csv"):
        return list(csv.DictReader(io.StringIO(answer.text)))
    if kind.startswith("application/jsonl"):
        return [json.loads(line) for line in answer.text.splitlines()]
    return answer.json() if kind.startswith("application/json") else answer.text


def lacks(had: Any, has: Any, place: str = "") -> Iterator[str]:
    """The places where an answer differs from the last release's. A release may add fields: these are not reported."""
    if isinstance(had, dict) and isinstance(has, dict):
        for name in had:
            yield from lacks(had[name], has[name], f"{place}.{name}") if name in has else [f"{place}.{name} is gone"]
        if place.endswith(".policies") and had.keys() != has.keys():
            yield f"{place}: {sorted(had)} became {sorted(has)}"
    elif isinstance(had, list) and isinstance(has, list) and len(had) == len(has):
        for number, (one, other) in enumerate(zip(had, has, strict=True)):
            yield from lacks(one, other, f"{place}[{number}]")
    elif had != has and not (place.endswith(".why") and _says_the_same(str(had), str(has))):
        yield f"{place}: {str(had)[:200]!r} became {str(has)[:200]!r}"


# How the first sentences of the last release, or all of them, are worded now; behind them a release may say more.
_REWORDED = {
    "Folded: a smaller request went out": "Folded: a smaller request was sent",
    "Not folded: it went out as it came": "Not folded: the request was sent unchanged",
    "Left alone on purpose": "Not folded, because the mode is off",
    "Left alone on purpose. Its conversation is held out, to compare with the others.": (
        "Not folded: the conversation is in the hold-out group"
    ),
    "Observed: it went out as it came, and the fold was only computed": (
        "Observed: the original was sent, and the fold was only computed"
    ),
    "Answered by Turnfold itself, under the conversation's state; nothing was sent": (
        "Answered by Turnfold itself, because of the conversation's state; nothing was sent upstream"
    ),
    "Its context was full: a smaller request went out, once": "The context was full: a smaller request was sent, once",
}


def _says_the_same(had: str, has: str) -> bool:
    first = had.split(".", maxsplit=1)[0]
    return has.startswith(_REWORDED.get(had) or _REWORDED.get(first, first))


def slow(client: httpx.Client) -> bool:
    """Whether the store once failed to answer in time. The proxy then goes on without it, so its answers prove nothing."""
    failures: int = client.get("/admin/ledger", headers=ADMIN).json()["store"]["failures"]
    return failures > 0


def ids_here(found: Mapping[str, Any], origin: str) -> dict[str, str]:
    """The old and new ids of learned windows, for an upstream with another origin."""
    models: Sequence[str] = found["learned"]
    return {window_id(found["upstream"], model): window_id(origin, model) for model in models}

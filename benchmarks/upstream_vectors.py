"""What vectors of the upstream's ``/v1/embeddings`` cost: dollars, bytes, and the time that a request waits.

    python -m benchmarks.upstream_vectors                # LoCoMo's conversations, each to 20,000 tokens, turn by turn

A conversation is sent to ``turnfold serve`` as it grows, one request for every so many messages, so that each user message is
embedded as a question where something is recalled for it, and as a passage later. The upstream makes vectors of 1,536 or 512
numbers within a time that is set, and counts the tokens of OpenAI's vocabulary for these models. The same requests go to a
process without vectors: the differences are what they cost.

Lives here: sending, counting. Does not belong here: what vectors find (``recall_offline``; a trigram's hash finds nothing).
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import uvicorn

from benchmarks.support.data import Message, conversations
from benchmarks.support.ports import free_port
from benchmarks.support.proxy import command, environment, serving
from benchmarks.support.taken import processor_seconds
from tests.proxy.harness import NO_LOGGING, UpstreamServer, call, running
from tests.support.embeddings_upstream import EmbeddingsUpstream
from turnfold.compression import tokens
from turnfold.config.prices import TokenUse, dollars

_MODEL: Final = "text-embedding-3-small"
_VOCABULARY: Final = "cl100k_base"  # of text-embedding-3 (OpenAI cookbook, "How to count tokens with tiktoken")
_ADMIN: Final = ("x-turnfold-admin-token", "adm")
_KEPT: Final = "SELECT coalesce(sum(length(value)), 0) FROM items WHERE kind = ?"


def grown(messages: Sequence[Message], limit: int, every: int) -> list[list[Message]]:
    """A conversation as it grows up to `limit` tokens: one request for every `every` messages, a user's message last."""
    found, size, last = [], 0, 0
    for at, message in enumerate(messages, 1):
        size += tokens.count(str(message.get("content")))
        if size > limit:
            break
        if message["role"] == "user" and at - last >= every:
            found.append(list(messages[:at]))
            last = at
    return found


def play(made: EmbeddingsUpstream, talks: Sequence[Sequence[list[Message]]], settings: dict[str, str]) -> dict[str, Any]:
    """Send all requests to a process with these settings: its receipts, its processor time, the bytes of vectors in its store."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.db"
        own = {"upstream_url": made.url, "port": str(port), "store_url": f"sqlite:///{store}", "admin_token": "adm", **settings}
        own |= {"log_level": "off", "store_timeout": "0.1"}
        origin = f"http://127.0.0.1:{port}"
        with serving(command("serve"), environment(**own), f"{origin}/readyz") as pid:
            for talk in talks:
                for messages in talk:
                    body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
                    head = [("content-type", "application/json"), ("authorization", "Bearer sk-bench")]
                    answer = call(origin, "POST", "/v1/chat/completions", body, head)
                    assert answer.status == 200, answer.body
            seen = -1
            while seen != len(made.calls):  # until nothing more is made
                seen = len(made.calls)
                time.sleep(1.0 + 2 * made.delay)
            used = processor_seconds(pid)
            lines = call(origin, "GET", "/admin/receipts?format=jsonl", None, [_ADMIN]).body.splitlines()
        with sqlite3.connect(store) as database:
            (kept,) = database.execute(_KEPT, [b"vectors"]).fetchone()
    receipts = [json.loads(line) for line in lines]
    clients = sorted((one for one in receipts if one["status"] != "own"), key=lambda one: one["at"])
    return {"receipts": clients, "cpu": used, "kept": int(kept)}


def waits(receipts: Sequence[dict[str, Any]], plain: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """What a request waited longer than without vectors, in milliseconds, where something was recalled: median and 95%."""
    pairs = zip(receipts, plain, strict=True)
    values = sorted(one["overhead_ms"] - other["overhead_ms"] for one, other in pairs if one.get("recall"))
    return (statistics.median(values), values[int(0.95 * (len(values) - 1))]) if values else (0.0, 0.0)


def main() -> None:
    """Print a line for each setting."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--tokens", type=int, default=20_000)
    parser.add_argument("--limit", type=int, default=1, help="conversations")
    parser.add_argument("--every", type=int, default=12, help="messages between two requests")
    args = parser.parse_args()
    talks = [grown(one, args.tokens, args.every) for one in conversations("NC_locomo")[: args.limit]]
    server, plain = UpstreamServer(), list[dict[str, Any]]()
    with running(uvicorn.Config(server, **NO_LOGGING, lifespan="off", ws="none", timeout_graceful_shutdown=1)) as up:
        server.origin = up.origin
        for name, delay, settings in (
            ("without", 0.0, {}),
            ("1536, at once", 0.0, {"dimensions": "1536"}),
            ("512, 0.15 s", 0.15, {"dimensions": "512"}),
        ):
            server.reset()
            made = EmbeddingsUpstream(server)
            made.delay = delay
            own = {"embedding_model": _MODEL, "api_key": "sk-v"} if settings else {}
            found = play(made, talks, {f"semantic_{key}": value for key, value in (settings | own).items()})
            count = sum(tokens.count(text, _VOCABULARY) for text in made.texts)
            paid = dollars(_MODEL, TokenUse(count), time.time(), "https://api.openai.com/v1")
            by_vectors = sum(one.get("recall") == "vectors" for one in found["receipts"])
            plain = plain or found["receipts"]
            middle, high = waits(found["receipts"], plain)
            figures = {
                "requests": len(found["receipts"]),
                "recalled": sum(bool(one.get("recall")) for one in found["receipts"]),
                "by vectors": by_vectors,
                "calls": len(made.calls),
                "texts": len(made.texts),
                "tokens": count,
                "dollars": round(paid or 0.0, 6),
                "bytes kept": found["kept"],
                "waits ms": round(middle, 1),
                "waits ms, 95%": round(high, 1),
                "core s": round(found["cpu"], 2),
            }
            print(name, json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()

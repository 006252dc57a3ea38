"""The official Node SDKs through Turnfold: ``make test-node``.

It starts an upstream that answers in three formats and refuses what the real ones refuse, with a proxy in front of it, and runs
the scripts beside this file against that. The test suite leaves this out, since it needs Node, npm and a package registry.

The packages are installed with npm into a temporary folder, which goes away.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import uvicorn
from starlette.types import Receive, Scope, Send

from tests.proxy.harness import NO_LOGGING, UpstreamServer, proxy_server, reply, running
from tests.support.messages_api import refusals
from turnfold.compression.fold import fold

PACKAGES: Final = ("openai", "@anthropic-ai/sdk")
SCRIPTS: Final = ("openai.mjs", "anthropic.mjs")
_EVENTS: Final = ((b"content-type", b"text/event-stream"),)
_SAID: Final = "43 t."


class Upstream(UpstreamServer):
    """Answers chat completions, Responses and Messages; `faults` is what it would have refused."""

    def __init__(self) -> None:
        super().__init__()
        self.handler = self.answer
        self.faults: list[str] = []

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        body = json.loads(self.seen[-1].body)
        kind = scope["path"].rsplit("/", 1)[-1]
        if body["model"] == "refused":
            error = {"type": "error", "error": {"type": "rate_limit_error", "message": "Said the upstream."}}
            await reply(json.dumps(error).encode(), status=429)(scope, receive, send)
            return
        self.faults += refusals(self.seen[-1].body) if kind == "messages" else []
        if body.get("stream"):
            events = _message_events() if kind == "messages" else _response_events()
            await reply(*map(_event, events), headers=_EVENTS)(scope, receive, send)
        else:
            await reply(json.dumps(_ANSWERS[kind]).encode())(scope, receive, send)


def _event(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


_CHAT: Final = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": _SAID}, "finish_reason": "stop"}],
}
_ITEM: Final = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": _SAID, "annotations": []}],
}
_RESPONSE: Final[dict[str, Any]] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-4o",
    "status": "completed",
    "output": [_ITEM],
}
_MESSAGE: Final[dict[str, Any]] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-6",
    "stop_reason": "end_turn",
    "content": [{"type": "text", "text": _SAID}],
    "usage": {"input_tokens": 9, "output_tokens": 3},
}
_ANSWERS: Final = {"completions": _CHAT, "responses": _RESPONSE, "messages": _MESSAGE}


def _response_events() -> list[dict[str, Any]]:
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    return [
        {"type": "response.created", "sequence_number": 0, "response": {**_RESPONSE, "status": "in_progress", "output": []}},
        {"type": "response.output_text.delta", "sequence_number": 1, "delta": _SAID, **place},
        {"type": "response.completed", "sequence_number": 2, "response": _RESPONSE},
    ]


def _message_events() -> list[dict[str, Any]]:
    return [
        {"type": "message_start", "message": {**_MESSAGE, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": _SAID}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ]


def run_scripts(folder: Path) -> int:
    """Run the scripts in a folder that has the packages; gives the number of failures."""
    upstream = Upstream()
    config = uvicorn.Config(upstream, **NO_LOGGING, lifespan="off", ws="none")
    failures = 0
    # Where a cache is taken to be warm mostly, a conversation as short as these goes out as it came.
    share = {"cache_hit_share": 0.2}
    with running(config) as server, proxy_server(f"{server.origin}/v1", fold=fold, folding=share) as (proxy, _):
        for script in SCRIPTS:
            copied = shutil.copy(Path(__file__).with_name(script), folder)
            done = subprocess.run(["node", copied], env={**os.environ, "ORIGIN": proxy.origin}, check=False)  # noqa: S603, S607
            failures += done.returncode != 0
    for fault in upstream.faults:
        sys.stderr.write(f"refused: {fault}\n")
    return failures + len(upstream.faults)


def main() -> int:
    """Install the packages into a temporary folder and run the scripts there."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        sys.stderr.write("make test-node needs Node and npm.\n")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "install", "--no-audit", "--no-fund", "--no-save", "--silent", "--prefix", folder, *PACKAGES]
        subprocess.run(command, check=True)  # noqa: S603
        return 1 if run_scripts(Path(folder)) else 0


if __name__ == "__main__":
    sys.exit(main())

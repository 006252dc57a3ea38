"""What a process still holds of a tenant in its memory once the tenant's data was deleted: nothing.

These tests cover a search through everything that a server holds. They leave out stores and files (``test_forgetting.py``), what
other processes do (``test_noticing.py``), what ends with a process.
"""

from __future__ import annotations

import gc
import json
import sys
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import SecretStr
from starlette.types import Receive, Scope, Send

from tests.proxy.harness import NO_LOGGING, UpstreamServer, call, reply, running, settings_for, until
from tests.support.embeddings_upstream import EmbeddingsUpstream
from tests.support.summary_writer import answer, faithful, is_call
from turnfold.proxy.app import build
from turnfold.proxy.server import configuration

#: A name that stands in every text of the tenant's and is the name of its conversation, and nowhere else in this process.
NAME = "".join(("Quil", "bra", "zor"))
#: The tenant's own.
TENANT = blake2b(b"anna", digest_size=16).hexdigest()
#: What keeps that for its bounds: of servers that refused a text.
HASHES = {"UpstreamEncoder"}
#: What holds something of the name while it is there.
HOLDERS = {"Decisions", "BlockSummaries", "ModelAsker", "Windows", "Memo", "Conversations"}


def held(root: object, name: str) -> dict[str, int]:
    """Where a name stands in text or bytes that can be reached from an object: the classes on the way to it, and how often."""
    seen = {id(vars(module)) for module in sys.modules.values()}  # which functions refer to
    waiting: list[tuple[object, tuple[str, ...]]] = [(root, ())]
    found: dict[str, int] = {}
    while waiting:
        one, way = waiting.pop()
        if isinstance(one, str | bytes | bytearray):  # whoever shares it
            if (one.find(name) if isinstance(one, str) else one.find(name.encode())) >= 0:
                found[" > ".join(way)] = found.get(" > ".join(way), 0) + 1
            continue
        if id(one) in seen or isinstance(one, type | ModuleType):
            continue
        seen.add(id(one))
        kind = type(one)
        own = kind.__module__.startswith("turnfold.")
        further = (*way, kind.__name__) if own and kind.__name__ not in way else way
        waiting += [(inner, further) for inner in gc.get_referents(one)]
    return found


def said(turns: int) -> list[dict[str, str]]:
    messages = list[dict[str, str]]()
    for i in range(turns):
        messages.append({"role": "user", "content": f"Order {i} of {NAME} went to gate {i * 7 % 53}. Is crate {i} sealed?"})
        told = f"Crate {i} of {NAME} is sealed with tag T-{i * 31}. The driver signed for {i + 3} pallets at gate {i * 7 % 53}. "
        messages.append({"role": "assistant", "content": told * 3})
    return messages


def test_after_a_deletion_nothing_of_the_tenant_is_held(upstream: UpstreamServer, tmp_path: Path) -> None:
    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        body = upstream.seen[-1].body
        usage = {"prompt_tokens": len(body) // 4, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 0}}
        choice = {"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}
        done = answer("chat", faithful(body)) if is_call(body) else json.dumps({"choices": [choice], "usage": usage}).encode()
        await reply(done)(scope, receive, send)

    embeddings = EmbeddingsUpstream(upstream)
    embeddings.chat = serve
    groups: dict[str, dict[str, Any]] = {
        "auth": {"admin_token": SecretStr("adm")},
        "store": {"url": f"sqlite:///{tmp_path}/t.db"},
        "folding": {"budget": 1500},
        "summary": {"model": "gpt-4.1-nano", "url": embeddings.url, "api_key": "sk-writer", "blocks": "always"},
        "semantic": {"embedding_model": "text-embedding-3-small", "api_key": "sk-vectors", "timeout": 5.0},
    }
    config = configuration(settings_for(embeddings.url, **groups), partial(build, warm=lambda _: None), **NO_LOGGING, workers=1)
    with running(config) as server:

        def ask(method: str, path: str, body: Any = None) -> None:
            headers = [("authorization", "Bearer anna"), ("x-turnfold-conversation", NAME), ("content-type", "application/json")]
            data = None if body is None else json.dumps(body).encode()
            assert call(server.origin, method, path, data, headers).status == 200

        def holders(name: str) -> set[str]:
            return {holder for way in held(server.server, name) for holder in way.split(" > ")}

        text = " ".join(f"{NAME} paid {n} euros to Anna Berg." for n in range(60))
        ask("POST", "/v1/compress", {"text": text, "writer": "model"})
        for i in range(6):
            ask("POST", "/v1/conversation", {"conversation_id": "c", "message": {"role": "user", "content": f"{i}: {text}"}})
        for end in range(61, 121, 6):  # what is done behind an answer shows in later ones
            ask("POST", "/v1/chat/completions", {"model": "gpt-4o", "messages": said(end)[:end]})
            if holders(NAME) >= HOLDERS:
                break
        assert holders(NAME) & HOLDERS  # those that share what they hold are not all seen
        # What is booked later is seen of requests later.
        admin = [("x-turnfold-admin-token", "adm")]
        until(lambda: call(server.origin, "GET", "/admin/ledger", None, admin).json()["ledger"]["queued"] == 0, pause=0.05)
        ask("DELETE", "/v1/data")
        with suppress(AssertionError):  # a call for vectors that is under way has its texts until it is answered
            until(lambda: not held(server.server, NAME) and not holders(TENANT) & {"PassageVectors"}, 10, pause=0.05)
        assert held(server.server, NAME) == {}
        assert {way.split(" > ")[-1] for way in held(server.server, TENANT)} <= HASHES

"""What every route answers to calls that are right, odd and wrong, whole (``tests.support.golden`` says when to write anew).

These tests cover one installation, and calls to it in order. They leave out why an answer is right (the routes' own tests).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from tests.proxy.harness import Answer, UpstreamServer, api_server, call, reply
from tests.support import golden
from turnfold.config.serving import ServerSettings
from turnfold.config.settings import AuthSettings

FILES = Path(__file__).parent / "golden"
_VARYING = frozenset({
    "at", "background", "compression_ms", "damaged_records", "first_byte_mean", "first_byte_ms", "from", "learned_at",
    "overhead_mean", "overhead_ms", "queued", "request_id", "result_id", "retry_at", "tenant", "to", "total_mean", "total_ms",
    "upstream", "written",
})  # fmt: skip
_NAMED = ("allow", "connection", "content-type", "retry-after", "www-authenticate", "x-turnfold-reason", "x-turnfold-status")
ANNA, BERT = ("authorization", "Bearer anna"), ("authorization", "Bearer bert")
ADMIN = ("x-turnfold-admin-token", "adm")
COMPLETION = b'{"model":"gpt-4o","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}'
TEXT = "Anna Berg signed for $4.2 million. " + "".join(f"Day {n} passed by without any news at all. " for n in range(12))
TALK = {"model": "gpt-4o", "messages": [{"role": "user", "content": "What is a heron?"}]}
STATE = {"premise": None, "policies": {"metric units": "use"}, "version": 2}
MESSAGES = [{"id": f"m{n}", "index": n, "role": "user", "content": f"{n}: {TEXT}"} for n in range(3)]

Call = tuple[str, str, Any, tuple[tuple[str, str], ...]]


def models() -> Iterator[Call]:
    path = "/v1/chat/completions"
    for name, value in (
        ("mode", "loud"), ("mode", " ON "), ("budget", "0"), ("budget", "1e3"), ("budget", "12"), ("conversation", "x" * 2000),
        ("conversation", " "), ("state", "maybe"), ("keep", "tool:Read, role:user"), ("keep", "role:nobody"), ("keep", "tool:"),
        ("keep", "hats:a"), ("keep", " , "), ("tag", "a b"), ("tag", "night, day"), ("tag", "x" * 300),
    ):  # fmt: skip
        yield "POST", path, TALK, (ANNA, (f"x-turnfold-{name}", value))
    yield "POST", path, b"{", (ANNA,)
    yield "POST", path, TALK, (ANNA, ("content-encoding", "br"))
    yield "POST", path, b"no gzip", (ANNA, ("content-encoding", "gzip"))
    yield "GET", "/v1/models", None, (ANNA,)


def texts() -> Iterator[Call]:
    bodies: tuple[Any, ...] = (
        {"text": TEXT}, {"text": TEXT, "query": "Who signed?", "l1_ratio": 0.2}, {"text": " "}, {"text": TEXT, "l1_ratio": 0},
        {"text": TEXT, "scorer": "best"}, {"text": TEXT, "layer": 2}, {"text": TEXT, "layer": 3}, {"text": TEXT, "layer": "2"},
        {"text": TEXT, "l1_ratio": "0.2"}, {"text": TEXT, "colour": "red"}, {}, [], b"{",
    )  # fmt: skip
    for body in bodies:
        yield "POST", "/v1/compress", body, (ANNA,)
    for more in ({}, {"format": "plain"}, {"token_limit": 30}, {"format": "best"}):
        yield "POST", "/v1/exchange", {"text": TEXT, **more}, (ANNA,)
    yield "POST", "/v1/exchange", {"text": TEXT}, (ANNA, ("accept", "application/x-nothing"))
    yield "POST", "/v1/messages/compress", {"messages": MESSAGES, "recency_window": 1}, (ANNA,)
    yield "POST", "/v1/messages/compress", {"messages": MESSAGES, "token_budget": 60, "token_counter": "o200k_base"}, (ANNA,)
    yield "POST", "/v1/messages/compress", {"messages": [7]}, (ANNA,)
    yield "POST", "/v1/messages/uncompress", {"messages": MESSAGES, "verbatim": {}}, (ANNA,)
    yield "POST", "/v1/messages/uncompress", {"result_id": "r-none"}, (ANNA,)
    yield "GET", "/v1/cache/stats", None, (ANNA,)
    yield "GET", "/v1/cache/stats", None, (BERT,)
    yield "POST", "/v1/cache/clear", None, (ANNA,)
    for section, layer in (("none", 0), ("none", 3), ("", 0)):
        yield "POST", "/v1/drill-down", {"section_id": section, "target_layer": layer}, (ANNA,)


def conversations() -> Iterator[Call]:
    path = "/v1/conversation"
    said = {"conversation_id": "c/1", "message": {"role": "user", "content": TEXT}}
    again = {**said, "message": {"role": "user", "content": "Other."}}
    yield "POST", path, said, (ANNA, ("idempotency-key", "k1"))
    yield "POST", path, said, (ANNA, ("idempotency-key", "k1"))
    yield "POST", path, again, (ANNA, ("idempotency-key", "k1"))
    yield "POST", path, {**again, "idempotency_key": "k2"}, (ANNA, ("idempotency-key", "k3"))
    yield "POST", path, again, (ANNA, ("idempotency-key", "a b"))
    yield "POST", path, {**again, "compress_threshold": 20, "keep_recent": 1}, (ANNA,)
    yield "POST", path, {**said, "message": {"role": "user", "content": " "}}, (ANNA,)
    yield "POST", path, {"conversation_id": "", "message": {"role": "user", "content": "a"}}, (ANNA,)
    for query in ("", "?export=false", "?export=maybe", "?full=1"):
        yield "GET", f"{path}/c/1{query}", None, (ANNA,)
    yield "GET", f"{path}/c/1", None, (BERT,)
    yield "GET", f"{path}/{'x' * 600}", None, (ANNA,)
    yield "PUT", f"{path}/c/2", {"export": "nonsense"}, (ANNA,)
    yield "PATCH", f"{path}/c/1", None, (ANNA,)
    yield "DELETE", f"{path}/c/1", None, (ANNA,)
    yield "DELETE", f"{path}/c/1", None, (ANNA,)


def states() -> Iterator[Call]:
    path = "/v1/state/s/1"
    laid: tuple[Any, ...] = (
        STATE,
        {"checkpoint_version": 1, "authoritative_state": STATE, "pending": None},
        {"premise": 7},
        [],
        b"{",
    )
    for body in laid:
        yield "PUT", path, body, (ANNA,)
    yield "GET", path, None, (ANNA,)
    yield "GET", path, None, (BERT,)
    yield "GET", f"/v1/state/{'x' * 600}", None, (ANNA,)
    inputs: tuple[Any, ...] = (
        {"input": "use docker", "state": STATE},
        {"input": "set premise a", "conversation": "s/1"},
        {"input": 7},
        {},
    )
    for body in inputs:
        yield "POST", "/v1/state/preview", body, (ANNA,)
    yield "OPTIONS", "/v1/state/preview", None, (ANNA,)
    yield "PATCH", path, None, (ANNA,)
    yield "DELETE", path, None, (ANNA,)
    yield "DELETE", path, None, (ANNA,)


def administration() -> Iterator[Call]:
    day = "?from=2025-10-09&to=2025-10-10"
    for path in (
        "report" + day, "report" + day + "&group_by=tag&format=csv", "report?format=jsonl", "report?from=later",
        "report?group_by=colour", "report?colour=red", "report?from=2025-10-09&to=2025-10-08", "receipts" + day,
        "receipts" + day + "&format=csv&tag=a", "receipts?format=json", "requests/tf-none", "requests/tf-none?since=7d",
        "requests/tf-none?from=2025-10-09&to=2025-10-08", "ledger", "windows", "windows?colour=red", "nothing",
    ):  # fmt: skip
        yield "GET", f"/admin/{path}", None, (ADMIN,)
    yield "GET", "/admin/report", None, (ANNA,)
    yield "GET", "/admin/report", None, (("x-turnfold-admin-token", "wrong"),)
    yield "GET", "/metrics", None, ()
    yield "POST", "/admin/report", {}, (ADMIN,)
    whose = ("x-turnfold-tenant", "t")
    yield "DELETE", "/admin/data", None, (ADMIN,)
    yield "DELETE", "/admin/data?kin=section", None, (ADMIN, whose)
    yield "DELETE", "/admin/data?kind=section", None, (ADMIN, whose)
    yield "DELETE", "/admin/data?conversation=c", None, (ADMIN, whose)
    yield "DELETE", "/admin/tenants/t", None, (ADMIN,)
    yield "DELETE", "/admin/tenants/t?conversation=c", None, (ADMIN,)
    yield "DELETE", "/admin/tenants/t/conversations/c", None, (ADMIN,)
    yield "DELETE", "/admin/windows", None, (ADMIN, whose)
    yield "DELETE", "/v1/data?conversation=c%2F1", None, (ANNA,)
    yield "DELETE", "/v1/data?kind=section", None, (ANNA,)
    yield "GET", "/v1/windows?model=m", None, (ANNA,)
    yield "DELETE", "/v1/windows?colour=red", None, (ANNA,)
    yield "GET", "/healthz?challenge=00", None, ()
    yield "GET", "/readyz", None, ()
    yield "PUT", "/readyz", None, ()


def without_a_store() -> Iterator[Call]:
    """Calls that need what is stored, where the store is away."""
    for path in ("cache/stats", "conversation/c", "state/c", "windows"):
        yield "GET", f"/v1/{path}", None, (ANNA,)
    yield "POST", "/v1/drill-down", {"section_id": "none", "target_layer": 0}, (ANNA,)
    yield "POST", "/v1/messages/uncompress", {"messages": MESSAGES}, (ANNA,)
    yield "POST", "/v1/compress", {"text": TEXT}, (ANNA,)
    yield "POST", "/v1/cache/clear", None, (ANNA,)
    for path in ("report", "report?format=csv", "receipts", "receipts?format=csv", "requests/tf-none", "windows"):
        yield "GET", f"/admin/{path}", None, (ADMIN,)
    yield "GET", "/readyz", None, ()


CALLS = {
    "models": models,
    "texts": texts,
    "conversations": conversations,
    "states": states,
    "administration": administration,
}


def bare(value: Any, name: str = "") -> Any:
    """Without what is another at each time."""
    if name in _VARYING and value is not None:
        return "#"
    if isinstance(value, dict):
        return {key: bare(one, key) for key, one in value.items()}
    return [bare(one) for one in value] if isinstance(value, list) else value


def shown(answer: Answer) -> str:
    headers = {key.lower(): value for key, value in answer.headers if key.lower() in _NAMED}
    others = " ".join(sorted(key.lower() for key, _ in answer.headers if key.lower() not in _NAMED))
    body = answer.body.decode()
    try:
        body = json.dumps(bare(json.loads(body)), ensure_ascii=False)
    except ValueError:
        body = json.dumps(body)
    body = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "#", body)
    return (
        f"  {answer.status} {json.dumps(headers)} {others} {body if len(body) < 900 else body[:300] + ' ' + golden.name_of(body)}"
    )


def asked(origin: str, calls: Callable[[], Iterator[Call]]) -> Iterator[str]:
    """Calls and their answers."""
    for method, path, value, headers in calls():
        body = None if value is None else value if isinstance(value, bytes) else json.dumps(value).encode()
        answer = call(origin, method, path, body, [("content-type", "application/json"), *headers])
        named = ", ".join(f"{key}: {one[:40]}" for key, one in headers if key != "authorization")
        said = "" if body is None else f" {body.decode()[:110]}"
        yield f"{method} {path[:60]} {named}{said}"
        yield shown(answer)


def test_answers(upstream: UpstreamServer, tmp_path: Path) -> None:
    upstream.handler = reply(COMPLETION)
    auth, drain = AuthSettings(admin_token=SecretStr("adm")), ServerSettings(drain_file=tmp_path / "drain")
    lines = []
    for store in ("memory://", "none://"):
        with api_server(store, upstream.origin + "/v1", auth=auth, server=drain) as origin:
            for group, calls in CALLS.items():
                lines += [f"{group}, {store}", *asked(origin, calls)]
            (tmp_path / "drain").touch()
            lines += ["draining", shown(call(origin, "GET", "/readyz"))]
            (tmp_path / "drain").unlink()
    with api_server("redis://127.0.0.1:1", upstream.origin + "/v1", auth=auth) as origin:  # nobody listens there
        lines += ["without a store", *asked(origin, without_a_store)]
    golden.agrees(FILES / "answers.txt", lines)

"""Every example of the API's document is what a server answers: whole, but for what is another at each time or for each operator.

These tests cover one installation that all examples are asked of, in an order in which each has something to work on. They leave
out examples against schemas (``test_api_document``), other answers (``test_answers``).
"""

from __future__ import annotations

import json
from typing import Any, Final

from pydantic import SecretStr

from tests.proxy.harness import NOWHERE, Answer, Handler, UpstreamServer, api_server, call, reply
from tests.proxy.processes import ADMIN, COMPLETION, chat
from turnfold.config.serving import LimitSettings
from turnfold.config.settings import AuthSettings

#: What is another at each time.
VARYING = frozenset({"compression_ms", "learned_at", "retry_at", "tenant", "upstream"})
#: Where the example has an operator's figures, and only their form is the same.
FIGURES = ("/admin/report", "/admin/requests/", "/admin/ledger", "/v1/cache/")
#: What counts what was there.
COUNTS = frozenset({"deleted", "receipts", "sums", "forgotten"})
KEY = ("authorization", "Bearer sk-anna")
OPERATOR = AuthSettings(admin_token=SecretStr("adm"))
FULL = reply(
    b'{"error":{"message":"This model\'s maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",'
    b'"type":"invalid_request_error","code":"context_length_exceeded"}}',
    status=400,
)


def form(value: Any) -> Any:
    """Of a value its fields and types; of a list the forms of what is in it."""
    match value:
        case dict():
            # Damaged records are counted for the whole process, so those of other tests are among them.
            return {name: "kinds" if name == "damaged_records" else form(one) for name, one in value.items()}
        case list():
            return sorted({json.dumps(form(one), sort_keys=True) for one in value})
        case bool() | str() | None:
            return type(value).__name__
        case _:
            return "number"


def steady(value: Any, path: str, name: str = "") -> Any:
    """What an example and an answer must have alike."""
    if path.startswith(FIGURES):
        return form(value)
    if name in VARYING or (name in COUNTS and not isinstance(value, bool)):
        return form(value)
    if isinstance(value, dict):
        return {key: steady(one, path, key) for key, one in value.items()}
    return [steady(one, path) for one in value] if isinstance(value, list) else value


class Asker:
    """Asks the examples of a server."""

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self.paths = call(origin, "GET", "/openapi.json").json()["paths"]
        self._due = {
            (method, path, place)
            for path, methods in self.paths.items()
            for method, described in methods.items()
            for place, body in (("request", described.get("requestBody")), ("response", described["responses"]["200"]))
            if body and any("example" in content for content in body["content"].values())
        }

    def send(self, method: str, target: str, body: Any = None, *headers: tuple[str, str]) -> Answer:
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        return call(self._origin, method, target, data, headers or [KEY])

    def request(self, method: str, path: str) -> Any:
        """The example of a request's body."""
        described = self.paths[path][method.lower()]
        self._due.discard((method.lower(), path, "request"))
        return described["requestBody"]["content"]["application/json"]["example"] if "requestBody" in described else None

    def response(self, method: str, path: str) -> Any:
        """The example of an answer."""
        self._due.discard((method.lower(), path, "response"))
        (example,) = [one["example"] for one in self.paths[path][method.lower()]["responses"]["200"]["content"].values() if one]
        return example

    def ask(self, method: str, path: str, *headers: tuple[str, str], **parts: str) -> Answer:
        """Send an example, and compare the answer with the example of it."""
        answer = self.send(method, path.format(**parts), self.request(method, path), *headers)
        assert answer.status == 200, (method, path, answer.body)
        assert steady(answer.json(), path) == steady(self.response(method, path), path), (method, path)
        return answer

    def all_done(self) -> bool:
        return self._due == set()


def ask_models(asker: Asker, upstream: UpstreamServer) -> None:
    upstream.handler = reply(COMPLETION)
    for path in ("/v1/chat/completions", "/v1/responses", "/v1/messages"):
        body = asker.request("POST", path)
        assert asker.send("POST", path, body).status == 200
        assert json.loads(upstream.seen[-1].body) == body


def ask_operations(asker: Asker) -> None:
    for method, path in (
        ("POST", "/v1/compress"), ("POST", "/v1/drill-down"), ("POST", "/v1/exchange"), ("POST", "/v1/messages/compress"),
        ("POST", "/v1/messages/uncompress"), ("POST", "/v1/conversation"), ("GET", "/v1/conversation/{conversation_id}"),
        ("GET", "/v1/cache/stats"), ("POST", "/v1/cache/clear"), ("PUT", "/v1/state/{conversation}"),
        ("GET", "/v1/state/{conversation}"), ("POST", "/v1/state/preview"), ("DELETE", "/v1/state/{conversation}"),
    ):  # fmt: skip
        asker.ask(method, path, conversation="support-7", conversation_id="support-7")
    exported = asker.send("GET", "/v1/conversation/support-7?export=true").json()["export"]
    assert exported == asker.request("PUT", "/v1/conversation/{conversation_id}")["export"]
    for method in ("PUT", "DELETE"):
        asker.ask(method, "/v1/conversation/{conversation_id}", conversation_id="support-7")
    asker.ask("DELETE", "/v1/data")


def ask_administration(asker: Asker, upstream: UpstreamServer) -> str:
    """Gives the tenant."""
    upstream.handler = reply(COMPLETION)
    body = {"model": "gpt-4o", "messages": chat(12)}
    folded = asker.send(
        "POST", "/v1/chat/completions", body, KEY, ("x-turnfold-budget", "1200"), ("x-turnfold-conversation", "support-7")
    )
    asker.ask("GET", "/admin/report", ADMIN)
    request_id = folded.header("x-turnfold-request-id") or ""
    tenant = asker.ask("GET", "/admin/requests/{request_id}", ADMIN, request_id=request_id).json()["receipt"]["tenant"]
    asker.ask("GET", "/admin/ledger", ADMIN)
    name = asker.response("GET", "/metrics").rpartition(" ")[0]
    assert f"\n{name} 1.0\n" in asker.send("GET", "/metrics", None, ADMIN).body.decode()
    asker.ask("DELETE", "/admin/tenants/{tenant}/conversations/{conversation}", ADMIN, tenant=tenant, conversation="support-7")
    asker.send("DELETE", "/v1/windows")  # what was learned of the other model
    upstream.handler = FULL
    asker.send("POST", "/v1/chat/completions", {"model": "local-8b", "messages": [{"role": "user", "content": "hi"}]})
    asker.ask("GET", "/v1/windows")
    asker.ask("GET", "/admin/windows", ADMIN)
    asker.ask("DELETE", "/v1/windows")
    asker.ask("DELETE", "/admin/windows", ADMIN)
    asker.ask("DELETE", "/admin/data", ADMIN, ("x-turnfold-tenant", tenant))
    asker.ask("DELETE", "/admin/tenants/{tenant}", ADMIN, tenant=tenant)
    asker.ask("GET", "/healthz")
    asker.ask("GET", "/readyz")
    return str(tenant)


def silent() -> Handler:
    """A handler that never answers; it ends with its connection."""

    async def handler(_: Any, receive: Any, __: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    return handler


def refusals(asker: Asker, tenant: str) -> list[Answer]:
    """Answers of one server, a memory for its store, behind the examples."""
    text = asker.request("POST", "/v1/compress")
    asker.send("POST", "/v1/compress", text)
    drill = asker.request("POST", "/v1/drill-down")
    said = {"conversation_id": "c", "message": {"role": "user", "content": "One."}}
    asker.send("POST", "/v1/conversation", said, KEY, ("idempotency-key", "k"))
    asker.send("DELETE", "/admin/data?kind=section", None, ADMIN, ("x-turnfold-tenant", tenant))
    return [
        asker.send("POST", "/v1/compress", {"text": " "}),
        asker.send("GET", "/admin/report"),
        asker.send("POST", "/v1/drill-down", drill, ("authorization", "Bearer sk-bert")),
        asker.send(
            "POST", "/v1/conversation", {**said, "message": {"role": "user", "content": "Two."}}, KEY, ("idempotency-key", "k")
        ),
        asker.send("POST", "/v1/drill-down", drill),
        asker.send("POST", "/v1/compress", {"text": "a" * LimitSettings().max_text_bytes}),
        asker.send("POST", "/v1/compress", text, KEY, ("content-encoding", "br")),
        asker.send("POST", "/v1/conversation", {**said, "message": {"content": "One."}}),
        asker.send("GET", "/v1/cache/stats", None, KEY, ("x-long", "a" * 65_536)),
    ]


#: Anthropic, "Errors".
ANTHROPICS: Final = {
    "400": "invalid_request_error",
    "401": "authentication_error",
    "403": "permission_error",
    "413": "request_too_large",
    "431": "invalid_request_error",
    "502": "api_error",
    "504": "timeout_error",
}


def error_examples(path: Any) -> dict[str, Any]:
    """Bodies by status."""
    answers = path["post"]["responses"].items()
    return {status: answer["content"]["application/json"]["example"] for status, answer in answers if status[0] in "45"}


def test_every_example_is_what_a_server_answers(upstream: UpstreamServer) -> None:
    with api_server("memory://", upstream.origin + "/v1", auth=OPERATOR) as origin:
        asker = Asker(origin)
        ask_operations(asker)
        tenant = ask_administration(asker, upstream)
        ask_models(asker, upstream)
        assert asker.all_done()
        refused = refusals(asker, tenant)
    turn = json.dumps(asker.request("POST", "/v1/chat/completions")).encode()
    state = json.dumps(asker.request("PUT", "/v1/state/{conversation}")).encode()
    upstream.handler = silent()
    with api_server("none://", upstream.origin + "/v1", upstream_settings={"read_timeout": 0.05}) as origin:
        late = call(origin, "POST", "/v1/chat/completions", turn)
        refused += [call(origin, "PUT", "/v1/state/s", state), Answer(late.status, [], late.body.replace(b"0.05 s", b"600 s"))]
    with api_server("none://", NOWHERE, upstream_settings={"api_key": SecretStr("sk-operator")}) as origin:
        refused += [call(origin, "POST", "/v1/chat/completions", turn, [("host", host)]) for host in ("localhost", "example.com")]
        to_anthropics = [call(origin, "POST", "/v1/messages", turn, [("host", host)]) for host in ("localhost", "example.com")]
    with api_server("redis://127.0.0.1:1") as origin:  # nobody listens there
        refused.append(call(origin, "GET", "/v1/cache/stats"))
    real = {(str(one.status), json.dumps(one.json())) for one in refused}
    said = {status: body["error"] for status, body in error_examples(asker.paths.pop("/v1/messages")).items()}
    assert {status: one["message"] for status, one in said.items()} == {
        status: body["error"]["message"] for status, body in error_examples(asker.paths["/v1/chat/completions"]).items()
    }  # in another shape
    assert {status: one["type"] for status, one in said.items()} == ANTHROPICS
    assert all((str(one.status), one.json()["error"]) in said.items() for one in to_anthropics)
    operations = [operation for methods in asker.paths.values() for operation in methods.values()]
    described = [(status, answer) for one in operations for status, answer in one["responses"].items() if status != "200"]
    bodies = [(status, answer["content"]["application/json"]) for status, answer in described if "content" in answer]
    assert {(status, json.dumps(body["example"])) for status, body in bodies if "example" in body} == real

"""Routes that read their requests themselves, described for the API's document.

One entry for each of them. What they do is in ``state``, ``admin``, ``data``, ``windows``, ``ops`` and ``model_calls``;
operations describe themselves.

A test compares this table with the routes that the app serves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel

from turnfold.proxy.api import own_bodies as bodies
from turnfold.proxy.api.bodies import DataDeleted, Nothing, WindowsForgotten
from turnfold.proxy.books.report import FILTERS, GROUPINGS
from turnfold.proxy.http.headers import LONGEST_NAME
from turnfold.proxy.routes.operations import Parameter
from turnfold.proxy.routes.parameters import TENANT

_JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Described:
    """One method of one path.

    Attributes:
        answer: model of a 200, or the media types of one that is no JSON object.
        body: model of the request's body; `Nothing` if there is none.
        errors: every error status that Turnfold itself answers with.
        reply_headers: of a 200, name -> description.
        access: "credential" (the caller's tenant), "admin", or "open".
    """

    method: str
    path: str
    tag: str
    summary: str
    answer: type[BaseModel] | tuple[str, ...]
    body: type[BaseModel] = Nothing
    errors: Sequence[int] = ()
    parameters: Sequence[Parameter] = ()
    access: str = "credential"
    description: str = ""
    reply_headers: Mapping[str, str] | None = None


_TEXT: Final = {"type": "string"}
_SOME_TEXT: Final = {"type": "string", "minLength": 1}
_KEPT: Final = "(tool:[A-Za-z0-9_-]{1,64}|role:(user|assistant|tool))"
_HEADERS: Final = (
    Parameter("x-turnfold-mode", "header", "Mode for this request.", {"type": "string", "enum": ["on", "observe", "off"]}),
    Parameter("x-turnfold-budget", "header", "Maximum tokens of the forwarded request.", {"type": "integer", "minimum": 1}),
    Parameter(
        "x-turnfold-keep",
        "header",
        "Tools and roles whose content is never shaped or shortened: tool:NAME, role:NAME.",
        {"type": "string", "pattern": f"^{_KEPT}(, ?{_KEPT})*$"},
    ),
    Parameter("x-turnfold-conversation", "header", "The conversation's name, for reports and its state.", _TEXT),
    Parameter("x-turnfold-tag", "header", "Up to three comma-separated tags to count the request by.", _TEXT),
    Parameter("x-turnfold-state", "header", "Directives.", {"type": "string", "enum": ["off", "observe", "enforce"]}),
)
_OURS: Final = {
    "x-turnfold-status": "folded, shaped, passthrough, observed, bypassed, recovered, failed-open or answered.",
    "x-turnfold-reason": "Why nothing was folded.",
    "x-turnfold-tokens-before": "Tokens of the request as received.",
    "x-turnfold-tokens-after": "Tokens of the request as sent.",
    "x-turnfold-overhead-ms": "Turnfold overhead, in milliseconds.",
    "x-turnfold-request-id": "The request's id in the log and in receipts.",
}
_PASSED_ON: Final = (
    "The request goes upstream, older turns folded where that pays; the answer, errors of the provider's included, comes back"
    " byte for byte. Other query parameters and headers are passed on. Paths that end in the same way (Azure's, a gateway's) are"
    " served too."
)
_ID: Final = Parameter(
    "conversation", "path", "The conversation's name.", {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME}
)
_STATE_ERRORS: Final = (401, 403, 404, 409, 413, 415, 422, 431, 501, 503)
_ONLY_TENANT: Final = Parameter(TENANT, "header", "Only this tenant.", _TEXT)
_FROM: Final = Parameter("from", "query", "Start: 24h, 7d, a date, ISO 8601, or Unix seconds.", _TEXT)
_RANGE: Final = (
    _FROM,
    Parameter("to", "query", "End; default: now.", _TEXT),
    Parameter("group_by", "query", "What to group rows by.", {"type": "string", "enum": list(GROUPINGS)}),
    *(Parameter(name, "query", f"Only this {name}.", _TEXT) for name in FILTERS),
    _ONLY_TENANT,
)
_ADMIN_ERRORS: Final = (400, 401, 431, 501, 503)
_UPSTREAM: Final = Parameter("upstream", "query", "Only this upstream.", _TEXT)
_MODEL: Final = Parameter("model", "query", "Only this model.", _TEXT)


def _form(*names: str) -> Parameter:
    return Parameter("format", "query", "Output format.", {"type": "string", "enum": list(names)})


def _model_call(path: str, summary: str, body: type[BaseModel]) -> Described:
    return Described(
        "POST",
        path,
        "Models",
        summary,
        (_JSON, "text/event-stream"),
        body,
        (400, 401, 403, 413, 431, 502, 504),
        _HEADERS,
        description=_PASSED_ON,
        reply_headers=_OURS,
    )


def _state(method: str, summary: str, answer: type[BaseModel], body: type[BaseModel] = Nothing) -> Described:
    return Described(method, "/v1/state/{conversation}", "State", summary, answer, body, _STATE_ERRORS, (_ID,))


def _admin(
    method: str,
    path: str,
    summary: str,
    answer: type[BaseModel] | tuple[str, ...],
    parameters: Sequence[Parameter] = (),
    more_errors: Sequence[int] = (),
) -> Described:
    return Described(method, path, "Admin", summary, answer, Nothing, (*_ADMIN_ERRORS, *more_errors), parameters, access="admin")


_REQUEST_ID: Final = Parameter("request_id", "path", "The answer's x-turnfold-request-id.", {"type": "string", "minLength": 1})
_TENANT_PATH: Final = Parameter("tenant", "path", "Tenant id, as reports show it.", {"type": "string", "minLength": 1})
_OF_TENANT: Final = Parameter(TENANT, "header", "Whose; required.", {"type": "string", "minLength": 1})
_CONVERSATION: Final = Parameter("conversation", "query", "Only this conversation.", _SOME_TEXT)
_KIND: Final = Parameter("kind", "query", "Only this kind of record.", _SOME_TEXT)

DESCRIBED: Final[tuple[Described, ...]] = (
    _model_call("/v1/chat/completions", "Ask a model (OpenAI's chat format)", bodies.ChatCompletionsBody),
    _model_call("/v1/responses", "Ask a model (OpenAI's Responses format)", bodies.ResponsesBody),
    _model_call("/v1/messages", "Ask a model (Anthropic's format)", bodies.MessagesBody),
    _state("GET", "Read a conversation's state", bodies.StateAnswer),
    _state("PUT", "Set a conversation's state", bodies.StateAnswer, bodies.StateBody),
    _state("DELETE", "Delete a conversation's state", bodies.StateDeleted),
    Described(
        "POST",
        "/v1/state/preview",
        "State",
        "Preview what a message would do to a state",
        bodies.PreviewAnswer,
        bodies.PreviewBody,
        _STATE_ERRORS,
    ),
    _admin("GET", "/admin/report", "Report what was saved", bodies.ReportAnswer, (*_RANGE, _form("json", "csv"))),
    _admin(
        "GET",
        "/admin/receipts",
        "Export receipts",
        ("application/jsonl", "text/csv"),
        (*_RANGE, _form("jsonl", "csv")),
    ),
    _admin(
        "GET",
        "/admin/requests/{request_id}",
        "Read everything about one request",
        bodies.RequestAnswer,
        (_REQUEST_ID, _FROM, _ONLY_TENANT),
        (404,),
    ),
    _admin("GET", "/admin/ledger", "Read the state of the ledger", bodies.LedgerAnswer),
    _admin("DELETE", "/admin/data", "Delete a tenant's data", DataDeleted, (_OF_TENANT, _CONVERSATION, _KIND)),
    _admin("DELETE", "/admin/tenants/{tenant}", "Delete everything of a tenant", bodies.TenantDeleted, (_TENANT_PATH,)),
    _admin(
        "DELETE",
        "/admin/tenants/{tenant}/conversations/{conversation}",
        "Delete everything of a conversation",
        bodies.TenantDeleted,
        (_TENANT_PATH, Parameter("conversation", "path", "The conversation's name.", {"type": "string", "minLength": 1})),
    ),
    _admin("GET", "/admin/windows", "List learned windows", bodies.AllWindows, (_UPSTREAM, _MODEL, _ONLY_TENANT)),
    _admin("DELETE", "/admin/windows", "Forget learned windows", WindowsForgotten, (_UPSTREAM, _MODEL, _ONLY_TENANT)),
    Described("GET", "/metrics", "Operation", "Metrics for Prometheus", ("text/plain",), errors=(400, 401, 431), access="admin"),
    Described(
        "GET",
        "/healthz",
        "Operation",
        "Whether the process runs",
        bodies.Alive,
        errors=(400, 431),
        parameters=(Parameter("challenge", "query", "For `turnfold run`: 32 hex digits.", _TEXT),),
        access="open",
        reply_headers={"x-turnfold-server": "Always 1.", "x-turnfold-proof": "The answer to a challenge."},
    ),
    Described(
        "GET", "/readyz", "Operation", "Whether the process can serve", bodies.Ready, errors=(400, 431, 503), access="open"
    ),
    Described("GET", "/openapi.json", "Operation", "This document", (_JSON,), errors=(431,), access="open"),
    Described("GET", "/docs", "Operation", "This document as a page", ("text/html",), errors=(431,), access="open"),
    Described("GET", "/docs/style.css", "Operation", "The page's style", ("text/css",), errors=(431,), access="open"),
)

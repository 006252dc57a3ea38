"""Examples for the API's document.

A request and an answer for each call, and an error for each status, without schemas: a test holds every example against its own
schema, and against what a server really answers.
"""

from __future__ import annotations

from typing import Any, Final

from turnfold.proxy.books.wording import DOLLARS_ARE
from turnfold.proxy.http.refusals import error_body, messages_error_body

_TALK: Final = [
    {"role": "system", "content": "You are terse."},
    {"role": "user", "content": "What is a heron?"},
]
_TENANT: Final = "cae66941d9efbd404e4d88758ea67670"
_STATE: Final = {"premise": None, "policies": {"metric units": "use"}, "version": 2}
_CHECKPOINT: Final = {"checkpoint_version": 1, "authoritative_state": _STATE, "pending": None}
_KEPT_STATE: Final = {
    "object": "conversation.state",
    "conversation": "support-7",
    "state": _STATE,
    "pending": None,
    "checkpoint": _CHECKPOINT,
    "block": (
        "[conversation state, laid down by the user; this block replaces every earlier one]\n"
        "use: metric units\n[end of conversation state]"
    ),
    "messages_seen": 0,
}
_ASKED: Final = {"role": "user", "content": "Where is my order?"}
_KEPT: Final = {"messages": 1, "recent_messages": 1, "pinned_messages": 0, "sections": 0, "duplicates": 0, "version": 1}
_SIZES: Final = {"context_tokens": 7, "total_raw_tokens": 7, "compression_ratio": 1.0, "stats": _KEPT}
_VIEW: Final = {
    "conversation_id": "support-7",
    "context": "user: Where is my order?",
    **_SIZES,
    "recent": [_ASKED],
    "sections": [],
    "export": None,
}
_EXPORT: Final = (
    '{"blocks":[],"duplicates":0,"format":1,"messages":1,"orders":[],"pinned":[],"raw_tokens":7,'
    '"recent":[{"content":"Where is my order?","role":"user"}],"recent_tokens":[7],'
    '"settings":{"compress_threshold":1000,"keep_recent":5},"version":1}'
)
_TEXT: Final = (
    "Order HX-4471 left the warehouse in Porto on Tuesday. It rained all day, and the driver was in no hurry. "
    "The parcel weighs 4.2 kg and is worth $310. Anna Berg signs for it in Lisbon on Friday."
)
_SECTION: Final = {
    "id": "s0ded2784111bd087a26d",
    "summary": "The parcel weighs 4.2 kg and is worth $310. Anna Berg signs for it in Lisbon on Friday.",
    "tokens": 51,
    "importance": 1.0,
}
_LAYER: Final = {"section_id": _SECTION["id"], "layer": 0, "text": _TEXT, "tokens": 51}
_WINDOW: Final = {
    "upstream": "http://127.0.0.1:8000",
    "model": "local-8b",
    "window": 8192,
    "source": "error",
    "how": "named by an error once",
    "in_force": True,
    "learned_at": 1767225600.0,
    "retry_at": 1767225900.0,
    "largest_prompt": None,
    "tokens_per_token": None,
}
_COMPRESSED: Final[dict[str, Any]] = {
    "layers": {
        "0": {"text": _TEXT, "tokens": 51},
        "1": {"text": "The parcel weighs 4.2 kg and is worth $310.", "tokens": 14},
        "2": {"text": "The parcel weighs 4.2 kg and is worth $310.", "tokens": 14},
    },
    "entities": [
        {"text": "HX-4471", "kind": "identifier", "count": 1, "preserved": False},
        {"text": "Porto", "kind": "name", "count": 1, "preserved": False},
        {"text": "Tuesday", "kind": "date", "count": 1, "preserved": False},
        {"text": "4.2 kg", "kind": "quantity", "count": 1, "preserved": True},
        {"text": "$310", "kind": "money", "count": 1, "preserved": True},
        {"text": "Anna Berg", "kind": "person", "count": 1, "preserved": False},
        {"text": "Lisbon", "kind": "name", "count": 1, "preserved": False},
        {"text": "Friday", "kind": "date", "count": 1, "preserved": False},
    ],
    "sections": [_SECTION],
    "metadata": {
        "compression_ms": 1.9,
        "scorer": "composite",
        "result_id": "r17d2fd374261e4fab38595b4",
        "layer": 1,
        "sentences": 4,
        "sections": 1,
        "ratio": 3.6429,
        "preservation": 0.3333,
        "important": 6,
        "cached": False,
        "sections_stored": True,
        "model": None,
    },
}
_OLD: Final = {
    "id": "m1",
    "index": 0,
    "role": "assistant",
    "content": (
        "Herons stand still for a long time and wait for fish. When one comes near, they strike quickly. Most of them nest in "
        "colonies high in trees. They fly with their necks drawn back, which tells them from storks and cranes. In winter many "
        "move south. In short, herons are patient birds that live near water."
    ),
}
_SHORT: Final = {
    "id": "m1",
    "index": 0,
    "role": "assistant",
    "content": "… In short, herons are patient birds that live near water.",
    "metadata": {
        "turnfold": {
            "ids": ["m1"],
            "summary_id": "sum_05aebe0d3354",
            "version": 0,
            "result_id": "c23b2cf9c30b0355",
            "written": "484599bdce8e1672",
        }
    },
}
_FIGURES: Final = {
    "requests": 1204,
    "served": 1198,
    "failed": 6,
    "incomplete": 2,
    "streamed": 1010,
    "folds": {"requests": 640, "events": 51, "requests_per_event": 12.5},
    "tokens": {
        "before": 4100000,
        "after": 2200000,
        "saved": 1900000,
        "saved_share": 0.4634,
        "uncounted_requests": 0,
        "observed_before": 0,
        "observed_after": 0,
    },
    "usage": {
        "prompt_tokens": 2210000,
        "completion_tokens": 90000,
        "cached_tokens": 800000,
        "cache_write_tokens": 0,
        "cached_share": 0.362,
        "unknown_requests": 0,
    },
    "dollars": {
        "paid": 18.62,
        "without_turnfold": 31.02,
        "saved": 12.4,
        "saved_share": 0.3997,
        "paid_for_own_calls": 0.0,
        "unknown_requests": 0,
    },
    "observed": {"requests": 0, "tokens_before": 0, "tokens_after": 0, "paid": None, "paid_folded": None},
    "own_calls": {"requests": 0, "prompt_tokens": 0, "completion_tokens": 0},
    "ms": {"overhead_mean": 4.2, "first_byte_mean": 610.0, "total_mean": 4200.0},
}
_RECEIPT: Final = {
    "request_id": "tf-1f0c5be3f1c99d4b1b6a02d7",
    "at": 1767225600.0,
    "tenant": _TENANT,
    "model": "gpt-4o",
    "conversation": "support-7",
    "status": "folded",
    "reason": "",
    "tokens_before": 18573,
    "tokens_after": 6095,
    "usage": {
        "prompt_tokens": 6101,
        "completion_tokens": 85,
        "cached_tokens": 0,
        "cache_write_tokens": None,
        "cache_write_hour_tokens": None,
        "audio_prompt_tokens": None,
        "audio_completion_tokens": None,
        "service_tier": None,
        "inference_geo": None,
        "cost": None,
    },
    "upstream_status": 200,
    "overhead_ms": 9.6,
    "first_byte_ms": 610.2,
    "total_ms": 4200.5,
    "streamed": True,
    "complete": True,
    "state": "",
    "calls": [],
    "wire": "chat",
    "session": "",
    "upstream": "https://api.openai.com",
    "loop": False,
    "folds_at": 20000,
    "foldable": 18570,
    "tags": [],
    "recall": "",
    "schema": "",
    "sections": ["832d9a71e14f"],
    "paid_own": 0.0,
    "paid": 0.0161,
    "without": 0.0473,
}
_ORIGINAL: Final = {
    "id": "832d9a71e14f",
    "kept": True,
    "level": "line",
    "tokens": 12490,
    "messages": ['{"role":"user","content":"Where is my order?"}'],
    "instead": ['{"role":"user","content":"[turnfold 832d9a71e14f: 26 messages folded]\\nuser: Where is my order?"}'],
}

#: (method, path) -> "request" and "response", as far as there are bodies.
EXAMPLES: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("POST", "/v1/chat/completions"): {"request": {"model": "gpt-4o", "messages": _TALK}},
    ("POST", "/v1/responses"): {"request": {"model": "gpt-5", "input": _TALK}},
    ("POST", "/v1/messages"): {"request": {"model": "claude-sonnet-4-5", "max_tokens": 1024, "messages": _TALK[1:]}},
    ("POST", "/v1/compress"): {"request": {"text": _TEXT}, "response": _COMPRESSED},
    ("POST", "/v1/conversation"): {
        "request": {"conversation_id": "support-7", "message": _ASKED},
        "response": {"context": "user: Where is my order?", **_SIZES, "action": "appended"},
    },
    ("GET", "/v1/conversation/{conversation_id}"): {"response": _VIEW},
    ("PUT", "/v1/conversation/{conversation_id}"): {"request": {"export": _EXPORT}, "response": _VIEW},
    ("DELETE", "/v1/conversation/{conversation_id}"): {"response": {"conversation_id": "support-7", "deleted": True}},
    ("POST", "/v1/drill-down"): {"request": {"section_id": _SECTION["id"], "target_layer": 0}, "response": _LAYER},
    ("POST", "/v1/messages/compress"): {
        "request": {"messages": [_OLD], "recency_window": 0},
        "response": {
            "messages": [_SHORT],
            "verbatim": {"m1": _OLD},
            "compression": {
                "original_version": 0,
                "ratio": 5.2241,
                "token_ratio": 5.1176,
                "messages_compressed": 1,
                "messages_preserved": 0,
                "messages_deduped": 0,
                "messages_fuzzy_deduped": 0,
            },
            "result_id": "c23b2cf9c30b0355",
            "stored": True,
            "fits": None,
            "token_count": None,
            "recency_window": None,
            "trace": None,
            "model": None,
        },
    },
    ("POST", "/v1/messages/uncompress"): {
        "request": {"messages": [_SHORT], "verbatim": {"m1": _OLD}},
        "response": {
            "messages": [_OLD],
            "messages_expanded": 1,
            "messages_passthrough": 0,
            "missing_ids": [],
            "edited_ids": [],
            "deleted_ids": [],
        },
    },
    ("POST", "/v1/exchange"): {
        "request": {"text": _TEXT, "format": "plain"},
        "response": {
            "encoding": "raw",
            "text": _TEXT,
            "tokens": 51,
            "raw_tokens": 51,
            "fits": True,
            "result_id": _COMPRESSED["metadata"]["result_id"],
            "sections": [_SECTION],
            "drilled": [],
            "left_out": [],
            "part": None,
            "resource": None,
        },
    },
    ("GET", "/v1/cache/stats"): {
        "response": {
            "entries": 12,
            "bytes": 81920,
            "hits": 30,
            "misses": 12,
            "hit_rate": 0.7143,
            "evictions": 0,
            "max_entries": 1000,
            "max_bytes": 67108864,
            "ttl_seconds": 86400,
        }
    },
    ("POST", "/v1/cache/clear"): {"response": {"cleared": 12}},
    ("DELETE", "/v1/data"): {"response": {"deleted": 57}},
    ("GET", "/v1/windows"): {"response": {"windows": [_WINDOW]}},
    ("DELETE", "/v1/windows"): {"response": {"forgotten": 1}},
    ("GET", "/v1/state/{conversation}"): {"response": _KEPT_STATE},
    ("PUT", "/v1/state/{conversation}"): {"request": _STATE, "response": _KEPT_STATE},
    ("DELETE", "/v1/state/{conversation}"): {
        "response": {"object": "conversation.state.deleted", "conversation": "support-7", "deleted": True}
    },
    ("POST", "/v1/state/preview"): {
        "request": {"input": "Where is my order?", "state": _STATE},
        "response": {
            "output_version": 1,
            "mode": "preview",
            "decision": {"kind": "passthrough", "state": None, "prompt_to_user": None},
            "state_before": _STATE,
            "state_after": _STATE,
            "diff": {
                "changed": False,
                "premise": {"before": None, "after": None, "changed": False},
                "policies": {"added": {}, "removed": {}, "changed": {}},
            },
            "would_mutate": False,
            "input": "Where is my order?",
            "guard": "none",
            "certainty": "ordinary",
        },
    },
    ("GET", "/admin/report"): {
        "response": {
            "headline": "You saved $12.40 of $31.02 (40%), 1.9 M tokens, over 1,204 requests.",
            "dollars_are": DOLLARS_ARE,
            "from": "2025-12-02T00:00:00Z",
            "to": "2026-01-01T00:00:00Z",
            "group_by": "model",
            "filters": {},
            "totals": _FIGURES,
            "held_out": None,
            "groups": [{"model": "gpt-4o", **_FIGURES}],
            "windows": [],
            "caches": [],
        }
    },
    ("GET", "/admin/requests/{request_id}"): {
        "response": {
            "receipt": _RECEIPT,
            "why": "Folded: a smaller request was sent.",
            "sections": [_ORIGINAL],
            "tenant_name": "Search",
        }
    },
    ("GET", "/admin/ledger"): {
        "response": {
            "ledger": {"written": 1204, "queued": 0, "dropped": 0, "dropped_originals": 0, "problem": ""},
            "store": {"problem": "", "failures": 0},
            "background": [],
            "damaged_records": {},
        }
    },
    ("DELETE", "/admin/data"): {"response": {"deleted": 57}},
    ("DELETE", "/admin/tenants/{tenant}"): {"response": {"deleted": 57, "receipts": 1204, "sums": 36}},
    ("DELETE", "/admin/tenants/{tenant}/conversations/{conversation}"): {"response": {"deleted": 9, "receipts": 40, "sums": 4}},
    ("GET", "/admin/windows"): {"response": {"windows": [{"tenant": _TENANT, **_WINDOW}]}},
    ("DELETE", "/admin/windows"): {"response": {"forgotten": 1}},
    ("GET", "/metrics"): {"response": 'turnfold_requests_total{model="gpt-4o",status="folded"} 640.0\n'},
    ("GET", "/healthz"): {"response": {"status": "alive"}},
    ("GET", "/readyz"): {
        "response": {"status": "ready", "checks": {"store": "ok", "receipts": "ok", "background": "ok", "serving": "ok"}}
    },
}

#: status -> (code, message, param).
_ERRORS: Final[dict[int, tuple[str, str, str | None]]] = {
    400: ("invalid_value", "text: must not be blank", "text"),
    401: (
        "invalid_admin_token",
        "This route needs the admin token (TURNFOLD_ADMIN_TOKEN), in x-turnfold-admin-token or as 'Authorization: Bearer ...'.",
        None,
    ),
    403: (
        "foreign_origin",
        "Without TURNFOLD_CLIENT_TOKENS, only programs on this machine may use the operator's key; this request's 'host' or"
        " 'origin' is different, or it came through a proxy.",
        None,
    ),
    404: ("section_unknown", "There is no section 's0ded2784111bd087a26d'.", "section_id"),
    409: (
        "idempotency_key_taken",
        "This idempotency key was used for another message of the conversation; use a new key for each message.",
        "idempotency-key",
    ),
    410: ("section_expired", "The section 's0ded2784111bd087a26d' is no longer kept.", "section_id"),
    413: ("body_too_large", "The body is larger than 8388608 bytes.", None),
    415: ("unsupported_encoding", "The body's content-encoding cannot be decoded.", "content-encoding"),
    422: ("invalid_body", "message.role: Field required", "message.role"),
    431: ("headers_too_large", "The request's headers are larger than 65536 bytes (TURNFOLD_MAX_HEADER_BYTES).", None),
    501: (
        "store_off",
        "This Turnfold keeps nothing (TURNFOLD_STORE_URL is none://), so this call has nothing to work on.",
        None,
    ),
    502: ("upstream_unreachable", "The upstream could not be reached: connection refused (nothing listens there).", None),
    503: ("store_unavailable", "The store does not answer now; nothing is lost, try again.", None),
    504: (
        "upstream_timeout",
        "The upstream did not answer in time: no answer within 600 s (TURNFOLD_UPSTREAM_READ_TIMEOUT).",
        None,
    ),
}


def error_example(status: int) -> dict[str, Any]:
    """An error as Turnfold writes it."""
    return error_body(status, *_ERRORS[status])


def messages_error_example(status: int) -> dict[str, Any]:
    """The same to a client of Anthropic's API."""
    return messages_error_body(status, _ERRORS[status][1])

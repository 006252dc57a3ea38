"""Examples for the API's document.

Lives here: a request and an answer for each call, and an error for each status. Does not belong here: schemas; a test holds every
example against its own.
"""

from __future__ import annotations

from typing import Any, Final

from turnfold.proxy.http.refusals import error_body

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
    "block": "[conversation state ...]",
    "messages_seen": 4,
}
_KEPT: Final = {"messages": 2, "recent_messages": 2, "pinned_messages": 0, "sections": 0, "duplicates": 0, "version": 2}
_SIZES: Final = {"context_tokens": 21, "total_raw_tokens": 21, "compression_ratio": 1.0, "stats": _KEPT}
_VIEW: Final = {
    "conversation_id": "support-7",
    "context": "user: Where is my order?",
    **_SIZES,
    "recent": [{"role": "user", "content": "Where is my order?"}],
    "sections": [],
    "export": None,
}
_SECTION: Final = {"id": "9f2c41d07aa1", "summary": "The order left Tuesday.", "tokens": 48, "importance": 1.0}
_LAYER: Final = {"section_id": "9f2c41d07aa1", "layer": 0, "text": "The order left the warehouse on Tuesday.", "tokens": 9}
_WINDOW: Final = {
    "upstream": "http://127.0.0.1:8000",
    "model": "local-8b",
    "window": 8192,
    "source": "error",
    "how": "told in an error",
    "in_force": True,
    "learned_at": 1767225600.0,
    "retry_at": None,
    "largest_prompt": 8100,
    "tokens_per_token": 1.04,
}
_COMPRESSED: Final = {
    "layers": {
        "0": {"text": "The order left Tuesday. It rained.", "tokens": 8},
        "1": {"text": "The order left Tuesday.", "tokens": 5},
        "2": {"text": "The order left Tuesday.", "tokens": 5},
    },
    "entities": [{"text": "Tuesday", "kind": "name", "count": 1, "preserved": True}],
    "sections": [_SECTION],
    "metadata": {
        "compression_ms": 1.9,
        "scorer": "conversation",
        "result_id": "r-5f0e",
        "layer": 1,
        "sentences": 2,
        "sections": 1,
        "ratio": 1.6,
        "preservation": 1.0,
        "important": 1,
        "cached": False,
        "sections_stored": True,
    },
}
_OLD: Final = {"id": "m1", "index": 0, "role": "assistant", "content": "A long answer of many sentences."}
_SHORT: Final = {"id": "m1", "index": 0, "role": "assistant", "content": "[summary: A long answer]"}
_FIGURES: Final = {
    "requests": 1204,
    "served": 1198,
    "failed": 6,
    "incomplete": 2,
    "streamed": 1010,
    "folds": {"requests": 640, "events": 51, "requests_per_event": 12.5},
    "tokens": {"before": 4100000, "after": 2200000, "saved": 1900000, "saved_share": 0.4634, "uncounted_requests": 0},
    "usage": {"prompt_tokens": 2210000, "completion_tokens": 90000, "cached_tokens": 800000, "cached_share": 0.36},
    "dollars": {"paid": 18.62, "without_turnfold": 31.02, "saved": 12.4, "saved_share": 0.4, "unknown_requests": 0},
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
    "tokens_before": 18573,
    "tokens_after": 6095,
    "paid": 0.0161,
    "without": 0.0475,
}

#: (method, path) -> "request" and "response", as far as there are bodies.
EXAMPLES: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("POST", "/v1/chat/completions"): {"request": {"model": "gpt-4o", "messages": _TALK}},
    ("POST", "/v1/responses"): {"request": {"model": "gpt-5", "input": _TALK}},
    ("POST", "/v1/messages"): {"request": {"model": "claude-sonnet-4-5", "max_tokens": 1024, "messages": _TALK[1:]}},
    ("POST", "/v1/compress"): {"request": {"text": "The order left Tuesday. It rained."}, "response": _COMPRESSED},
    ("POST", "/v1/conversation"): {
        "request": {"conversation_id": "support-7", "message": {"role": "user", "content": "Where is my order?"}},
        "response": {"context": "user: Where is my order?", **_SIZES, "action": "appended"},
    },
    ("GET", "/v1/conversation/{conversation_id}"): {"response": _VIEW},
    ("PUT", "/v1/conversation/{conversation_id}"): {"request": {"export": "(from GET with export=true)"}, "response": _VIEW},
    ("DELETE", "/v1/conversation/{conversation_id}"): {"response": {"conversation_id": "support-7", "deleted": True}},
    ("POST", "/v1/drill-down"): {"request": {"section_id": "9f2c41d07aa1", "target_layer": 0}, "response": _LAYER},
    ("POST", "/v1/messages/compress"): {
        "request": {"messages": [_OLD], "recency_window": 0},
        "response": {
            "messages": [_SHORT],
            "verbatim": {"m1": _OLD},
            "compression": {
                "original_version": 0,
                "ratio": 1.3,
                "token_ratio": 1.3,
                "messages_compressed": 1,
                "messages_preserved": 0,
                "messages_deduped": 0,
                "messages_fuzzy_deduped": 0,
            },
            "result_id": "r-77aa",
            "stored": True,
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
        "request": {"text": "The order left Tuesday. It rained.", "format": "plain"},
        "response": {
            "encoding": "raw",
            "text": "The order left Tuesday. It rained.",
            "tokens": 8,
            "raw_tokens": 8,
            "fits": True,
            "result_id": "r-5f0e",
            "sections": [_SECTION],
            "drilled": [],
            "left_out": [],
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
            "diff": {"changed": False},
            "would_mutate": False,
            "input": "Where is my order?",
            "guard": "none",
            "certainty": "ordinary",
        },
    },
    ("GET", "/admin/report"): {
        "response": {
            "headline": "You saved $12.40 of $31.02 (40%), 1.9 M tokens, over 1,204 requests.",
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
        "response": {"receipt": _RECEIPT, "why": "Folded: a smaller request went out.", "sections": []}
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
    401: ("invalid_admin_token", "This route needs the admin token (TURNFOLD_ADMIN_TOKEN).", None),
    403: ("forbidden", "The credential may not do this.", None),
    404: ("section_unknown", "There is no section '9f2c41d07aa1'.", "section_id"),
    409: ("idempotency_key_taken", "The key was used with other content.", "idempotency-key"),
    410: ("section_expired", "The original of this section is no longer kept.", "section_id"),
    413: ("body_too_large", "The body is larger than 8388608 bytes.", None),
    415: ("unsupported_encoding", "The body's content-encoding cannot be undone.", "content-encoding"),
    422: ("invalid_body", "message.role: Field required", "message.role"),
    431: ("headers_too_large", "The headers are larger than 65536 bytes.", None),
    501: ("store_off", "This Turnfold keeps nothing (TURNFOLD_STORE_URL is none://).", None),
    502: ("upstream_unreachable", "The upstream could not be reached.", None),
    503: ("store_unavailable", "The store does not answer now; nothing is lost, try again.", None),
    504: ("upstream_timeout", "The upstream did not answer in time.", None),
}


def error_example(status: int) -> dict[str, Any]:
    """An error as Turnfold writes it."""
    return error_body(status, *_ERRORS[status])

"""Bodies of three wires with parts that clients seldom send, in places where they hardly belong.

It has parts and items of every kind, bodies made of them from a seed, and changes to whatever is read from such a body. Tests
with golden files compare what becomes of them; what upstreams accept is in ``three_wires.py``.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any, Final

from turnfold.compression.wire.changes import Beside, Changes, MarkMove
from turnfold.compression.wire.conversation import Conversation

Part = dict[str, Any]

_FEW: Final = 9  # items that a body has where nobody asks for more
_MARK: Final = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
_BREAKPOINT: Final = {"prompt_cache_breakpoint": {"mode": "explicit"}}


def _picture(width: int, height: int) -> str:
    header = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return base64.b64encode(header + bytes(60)).decode()


_SMALL, _WIDE, _HUGE = _picture(320, 200), _picture(9000, 90), _picture(3000, 2500)
_URL: Final = "https://example.org/maps/tide table.png?size=3"
#: What stands where a text, a list, an object or an id is expected.
_WRONG: Final[tuple[Any, ...]] = (
    *(None, 0, 1.5, True, "", " ", "text", [], {}, [None], ["a"]),
    *({"type": "text"}, [{"type": "text", "text": "t"}]),
)

_CHAT_PARTS: Final[tuple[Part, ...]] = (
    *({"type": "text", "text": said} for said in ("The tide is at nine.", "", "  ", "Keep <keep>bay 7</keep> free.")),
    {"type": "text", "text": "Marked.", **_MARK},
    {"type": "text", "text": "Broken here.", **_BREAKPOINT},
    {"type": "refusal", "refusal": "I can't."},
    *({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{one}"}} for one in (_SMALL, _WIDE, _HUGE, "%%")),
    {"type": "image_url", "image_url": {"url": _URL, "detail": "low"}},
    {"type": "image_url", "image_url": f"data:image/png;base64,{_HUGE}"},
    {"type": "image_url", "image_url": 7},
    {"type": "file", "file": {"filename": "a<b>/c.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
    {"type": "file", "file": {"file_id": "file-1"}, **_MARK},
    {"type": "input_audio", "input_audio": {"data": "AAAABBBB", "format": "wav"}},
    {"type": "thinking", "thinking": "Hm.", "signature": "s"},
    {"type": "reasoning", "text": "Hm."},
    {"type": "unknown", "text": 4},
)
_CALL: Final = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.md", "n": 1.50}'}}
_CHAT: Final[tuple[Part, ...]] = (
    {"role": "system", "content": "You run the harbour desk."},
    {"role": "developer", "content": [{"type": "text", "text": "Be short."}]},
    {"role": "user", "content": "Which bay is free?", "name": "ines"},
    {"role": "user", "content": [{"type": "text", "text": "Which bay?"}, {"type": "text", "text": "And when?", **_MARK}]},
    {"role": "user", "content": "<keep>Bay 7</keep> is mine.", "id": "m1"},
    {"role": "assistant", "content": "Bay 4, from nine."},
    {"role": "assistant", "content": None, "tool_calls": [_CALL]},
    {"role": "assistant", "content": "", "tool_calls": [_CALL, {**_CALL, "id": "c2"}], "reasoning_content": "Look first."},
    {
        "role": "assistant",
        "content": "x",
        "tool_calls": [{"id": "c3", "type": "custom", "custom": {"name": "sh", "input": "ls"}}],
    },
    {"role": "assistant", "content": "Wait.", "function_call": {"name": "read", "arguments": "{}"}},
    {"role": "assistant", "content": "Sure.", "refusal": "No.", "audio": {"id": "a1"}, "reasoning": "Why not?"},
    {"role": "assistant", "content": "So.", "reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]},
    {"role": "assistant", "content": "Then.", "thinking_blocks": [{"type": "thinking", "thinking": "Hm", "signature": "s"}]},
    {"role": "assistant", "content": "Go.", "extra_content": {"google": {"thought_signature": "s"}}},
    {"role": "assistant", "content": [{"type": "refusal", "refusal": "Not that."}]},
    {"role": "tool", "tool_call_id": "c1", "content": "bay,free\n4,yes\n7,no"},
    {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "none"}]},
    {"role": "function", "name": "read", "content": "done"},
    {"role": "critic", "content": "Too long."},
)

_BLOCKS: Final[tuple[Part, ...]] = (
    *({"type": "text", "text": said} for said in ("The tide is at nine.", "", " ", "<keep>Bay 7</keep> is mine.")),
    {"type": "text", "text": "Marked.", **_MARK},
    {"type": "text", "text": "Cited.", "citations": [{"type": "char_location", "cited_text": "tide"}]},
    *(
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": one}}
        for one in (_SMALL, _WIDE, _HUGE, 3)
    ),
    {"type": "image", "source": {"type": "url", "url": _URL}},
    {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "The lease ends in May."},
        "title": "a/b",
    },
    {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "Inner."}]}},
    {"type": "document", "source": {"type": "content", "content": "Inner."}, "context": "From the desk."},
    {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}},
    {"type": "search_result", "source": "s", "title": "Tides", "content": [{"type": "text", "text": "High at nine."}]},
    {"type": "thinking", "thinking": "Look first.", "signature": "sig-1"},
    {"type": "redacted_thinking", "data": "sig-2"},
    {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a.md", "n": 1.50}},
    {"type": "tool_use", "id": "t2", "name": "read", "input": {}, **_MARK},
    {"type": "tool_result", "tool_use_id": "t1", "content": "bay,free\n4,yes"},
    {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "none"}], "is_error": True, **_MARK},
    {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "tool_reference", "tool_name": "read"}]},
    {"type": "tool_result", "tool_use_id": "t1"},
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "tides"}},
    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result", "url": "x"}]},
    {"type": "compaction", "content": "Earlier: bays."},
    {"type": "container_upload", "file_id": "file-1"},
    {"type": "unknown", "text": 4},
)

_INPUT_PARTS: Final[tuple[Part, ...]] = (
    *({"type": "input_text", "text": said} for said in ("The tide is at nine.", "", "<keep>Bay 7</keep> is mine.")),
    {"type": "output_text", "text": "Bay 4.", "annotations": [], "logprobs": []},
    {"type": "output_text", "text": "Bay 5.", "annotations": [{"type": "file_citation", "file_id": "f"}]},
    {"type": "input_text", "text": "Broken here.", **_BREAKPOINT},
    {"type": "refusal", "refusal": "I can't."},
    *({"type": "input_image", "image_url": f"data:image/png;base64,{one}"} for one in (_SMALL, _WIDE, _HUGE)),
    {"type": "input_image", "image_url": _URL, "detail": "low"},
    {"type": "input_image", "file_id": "file-1"},
    {"type": "input_file", "filename": "a<b>.pdf", "file_data": "data:application/pdf;base64,AAAA"},
    {"type": "unknown", "text": 4},
)
_ITEMS: Final[tuple[Part, ...]] = (
    {"role": "user", "content": "Which bay is free?"},
    {"type": "message", "role": "developer", "content": "Be short."},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Bay 4."}], "id": "m1", "phase": "x"},
    {"type": "message", "role": "critic", "content": "Too long."},
    {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": "Look."}], "encrypted_content": "x"},
    {"type": "reasoning", "id": "r2", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
    {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path": "a.md"}', "id": "f1"},
    {"type": "function_call", "call_id": "c2", "name": "read", "arguments": "not json"},
    {"type": "function_call_output", "call_id": "c1", "output": "bay,free\n4,yes"},
    {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "none"}]},
    {"type": "custom_tool_call", "call_id": "c3", "name": "sh", "input": "ls -la"},
    {"type": "custom_tool_call_output", "call_id": "c3", "output": "a.md"},
    {"type": "local_shell_call", "call_id": "c4", "action": {"type": "exec", "command": ["ls"], "env": {"A": "b"}}},
    {"type": "local_shell_call_output", "id": "c4", "output": "a.md"},
    {"type": "shell_call", "call_id": "c5", "action": {"commands": ["ls"]}},
    {"type": "shell_call_output", "call_id": "c5", "output": [{"stdout": "a", "stderr": "b", "outcome": {"type": "exit"}}]},
    {"type": "apply_patch_call", "call_id": "c6", "operation": {"type": "delete_file", "path": "a.md"}},
    {"type": "apply_patch_call_output", "call_id": "c6", "output": "ok", "status": "completed"},
    {"type": "computer_call", "call_id": "c7", "action": {"type": "click", "x": 3}, "pending_safety_checks": []},
    {
        "type": "computer_call_output",
        "call_id": "c7",
        "output": {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{_SMALL}"},
    },
    {"type": "mcp_approval_request", "id": "a1", "name": "read", "arguments": "{}", "server_label": "desk"},
    {"type": "mcp_approval_response", "approval_request_id": "a1", "approve": True},
    {"type": "mcp_approval_response", "approval_request_id": "a1", "approve": False, "reason": "no"},
    {"type": "mcp_call", "id": "p1", "name": "read", "arguments": "{}", "output": "done", "server_label": "desk"},
    {"type": "image_generation_call", "id": "g1", "result": "AAAA", "status": "completed"},
    {"type": "web_search_call", "id": "w1", "status": "completed", "action": {"query": "tides"}},
    {"type": "file_search_call", "id": "w2", "queries": ["tides"], "results": [{"text": "High at nine."}]},
    {"type": "item_reference", "id": "m9"},
    {"id": "m8"},
    {"type": "compaction", "id": "k1", "encrypted_content": "x"},
    {"type": "additional_tools", "role": "developer", "tools": []},
    {"type": "tool_search_call", "call_id": "c8", "arguments": {"q": 1}, "caller": {"type": "program", "caller_id": "c1"}},
)

_TOPS: Final[tuple[Part, ...]] = (
    {},
    {"stream": True, "max_tokens": 900, "tools": [{"name": "read"}], "stream_options": {"include_usage": True}},
    {"max_completion_tokens": 77, "response_format": {"type": "json_object"}, "metadata": {"user_id": "u"}, "max_tokens": True},
    {"max_output_tokens": 500, "text": {"format": {"type": "json_schema", "schema": {"a": 1}}}, "store": False},
    {"previous_response_id": "resp_1", "thinking": {"type": "adaptive"}, "output_format": {"type": "x"}},
    {"conversation": "conv_1", "background": True, "thinking": {"type": "enabled", "budget_tokens": 1024}},
    {"context_management": {"edits": [{"type": "compact_20260112"}]}, "n": 2, "functions": [{"name": "f"}], "max_tokens": 1.5},
    {"cache_control": {"type": "ephemeral"}, "instructions": "You run the harbour desk.", "system": "Be short."},
    {"system": [{"type": "text", "text": "Be short.", **_MARK}, {"type": "text", "text": ""}], "instructions": ""},
    {"thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}, "model": None},
)


def _content(random: Random, parts: tuple[Part, ...]) -> Any:
    return [random.choice(parts) for _ in range(random.randrange(1, 5))]


def _items(random: Random, wire: str, number: int) -> list[Any]:
    if wire == "messages":
        roles = ("user", "assistant")
        return [
            {"role": roles[i % 2], "content": "Which bay?" if random.random() < 0.2 else _content(random, _BLOCKS)}
            for i in range(number)
        ]
    items, parts = (_CHAT, _CHAT_PARTS) if wire == "chat" else (_ITEMS, _INPUT_PARTS)
    if number > _FEW:  # what lies upstream, or stands for all before it, leaves nothing to fold
        items = tuple(one for one in items if one.get("type") not in (None, "item_reference", "compaction") or "role" in one)
    found = [dict(random.choice(items)) for _ in range(number)]
    for one in found:
        if one.get("role") in ("user", "assistant", "tool") and random.random() < 0.4:
            one["content"] = _content(random, parts)
    return found


def _spoil(random: Random, value: Any, change: Callable[[Random, Any], Any] | None = None) -> None:
    """Something else in one place of the value, or nothing, or the same twice."""
    while isinstance(value, dict | list) and value:
        key = random.choice(list(value)) if isinstance(value, dict) else random.randrange(len(value))
        if isinstance(value[key], dict | list) and value[key] and random.random() < 0.75:
            value = value[key]
            continue
        if change is not None:
            value[key] = change(random, value[key])
        elif random.random() < 0.6:
            value[key] = deepcopy(random.choice(_WRONG))  # the next change may be inside of it
        elif isinstance(value, list) and random.random() < 0.5:
            value.append(value[key])
        else:
            del value[key]
        return


def spoiled(value: Any, seed: int) -> Any:
    """A copy of a value of JSON with one or two places changed, doubled or gone, or a number one higher or lower."""
    random, copy = Random(seed), deepcopy(value)
    for _ in range(1 + seed % 2):
        _spoil(random, copy, _nearby if seed % 3 == 0 else None)
    return copy


def _nearby(random: Random, value: Any) -> Any:
    """A value like it: one more, a little longer, the same with a blank around it."""
    if isinstance(value, str):
        return random.choice((value + value, f" {value}", value[1:], value.upper(), value + "x" * 300))
    return value + random.choice((-1, 1, 0.5)) if isinstance(value, int | float) else value


def body(wire: str, seed: int, number: int = 0) -> bytes:
    """A body of the wire with so many items (0: a few); half of them have something in them that does not belong there."""
    random = Random(f"{wire} {seed}")
    items: Any = json.loads(json.dumps(_items(random, wire, number or random.randrange(1, _FEW))))
    for _ in range((0, 1, 0, 2)[seed % 4]):
        _spoil(random, items)
    if wire == "responses" and seed % 15 == 8:
        items = "Which bay is free?"
    top = {"model": "gpt-4o", ("input" if wire == "responses" else "messages"): items} | _TOPS[seed % len(_TOPS)]
    separators = (",", ":") if seed % 3 else (" , ", " : ")
    return json.dumps(top, separators=separators, indent=2 if seed % 7 == 3 else None, ensure_ascii=seed % 2 == 0).encode()


#: Items of responses whose size or place decides how they are read.
_SIZED: Final[tuple[Part, ...]] = (
    *({"type": "reasoning", "encrypted_content": "x" * size, "summary": []} for size in (800, 900, 3001)),
    *({"type": "image_generation_call", "id": "g", "result": "A" * size, "status": "completed"} for size in (1, 403, 4001)),
    {"type": "reasoning", "encrypted_content": "", "content": [{"type": "reasoning_text", "text": "Look at the bay first."}]},
    {"type": "mcp_call", "id": "p", "name": "read", "arguments": '{"a": 1}', "output": None, "error": {"message": "no bay"}},
    {"type": "made_up_call", "id": "u", "name": "read", "query": ["tides", {"at": "nine"}]},
    {"type": "made_up", "text": "The tide is at nine.", "more": [{"said": "Bay 4."}]},
    {"role": "user", "content": [{**_BREAKPOINT, "type": "input_text", "text": "Marked first."}]},
    {"role": "user", "content": [{"type": "input_file", "filename": "x" * 90, "file_data": "A" * 400}, {"type": "input_file"}]},
)
_MARKED: Final[tuple[Part, ...]] = (
    {"role": "user", "content": [{**_MARK, "type": "text", "text": "Marked first."}]},
    {"role": "user", "content": [{"type": "text", **_MARK, **_BREAKPOINT, "text": "In the middle."}, {**_MARK}]},
    {**_MARK, "role": "user", "content": "On the message."},
    {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": None}, {"type": "text", "text": "b"}]},
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "x", **_MARK}]}],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "Last.", **_MARK}]},
)


_PICTURES: Final = [
    _picture(width, height)
    for width, height in (
        *((1, 1), (27, 28), (512, 512), (513, 512), (768, 768), (769, 769), (1024, 1025), (2048, 768), (2049, 769), (1568, 1568)),
        *((1569, 100), (100, 1569), (1092, 1092), (5, 0), (900, 3100)),
    )
]


def _picture_part(wire: str, data: str) -> Part:
    if wire == "messages":
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    url = f"data:image/png;base64,{data}"
    return {"type": "input_image", "image_url": url} if wire == "responses" else {"type": "image_url", "image_url": {"url": url}}


def each_alone(wire: str) -> list[bytes]:
    """For every item and part of the wire a body in which it stands between two messages of the user's."""
    items, parts = {"chat": (_CHAT, _CHAT_PARTS), "messages": ((), _BLOCKS), "responses": (_ITEMS, _INPUT_PARTS)}[wire]
    roles = ("user", "assistant") if wire == "messages" else ("user",)
    held = [{"role": role, "content": [one]} for one in parts for role in roles]
    held += [{"role": "user", "content": [_picture_part(wire, one)]} for one in _PICTURES]
    rare = _SIZED if wire == "responses" else _MARKED
    asked = {"role": "user", "content": "Which bay?"}
    key = "input" if wire == "responses" else "messages"
    return [json.dumps({"model": "gpt-4o", key: [asked, one, asked]}).encode() for one in (*items, *held, *rare)]


def changes(seed: int, conversation: Conversation) -> Changes:
    """Some of what can be done to the messages: left out, given other texts, texts of ours beside them, marks that move."""
    random, messages = Random(seed), conversation.messages
    places = [i for i, one in enumerate(messages) if not one.pinned]
    users = [i for i in places if messages[i].role == "user" and messages[i].holds]
    kept = set(users[-1:])
    first = random.choice(places or [0])
    run = (first, min(len(messages), first + random.randrange(1, 4)))
    dropped = (run,) if places and random.random() < 0.6 and not kept & {*range(*run)} else ()
    gone = {i for start, end in dropped for i in range(start, end)}
    texts = {
        i: {one.path: f"{one.text[:12]} …" for one in messages[i].texts if one.text.strip()}
        for i in places
        if i not in gone and not messages[i].sealed and random.random() < 0.5
    }
    beside = {
        i: Beside(("front",) * random.randrange(3), ("behind", "last")[: random.randrange(3)]) for i in users if i not in gone
    }
    target = users[-1] if users else None
    moved = [
        MarkMove(i, target, random.choice(("front", "own", "behind")))
        for i in sorted(gone)
        if messages[i].marked and target is not None and beside[target].front and beside[target].behind
    ]
    return Changes(
        dropped=dropped,
        texts={i: new for i, new in texts.items() if new},
        beside=beside,
        apart=frozenset(i for i in users if i not in gone and random.random() < 0.4),
        breakpoint=target if random.random() < 0.3 and target is not None and messages[target].takes_mark else None,
        unsigned=frozenset(i for i in places if messages[i].reasoning and i not in gone and random.random() < 0.7),
        drops_thinking=conversation.can_drop_thinking and random.random() < 0.5,
        marks=tuple(moved[:1]),
    )

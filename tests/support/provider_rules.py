"""What the providers refuse, for all three wires, and what a forwarded request has to keep.

These are rules beyond ``messages_api``, ``responses_rules`` and ``structure``, each with its source. Sessions are made in
``wild_sessions``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

from tests.support import messages_api, responses_rules, structure
from tests.support.messages_api import blocks_of

Body = dict[str, Any]


def refusals(wire: str, body: bytes) -> list[str]:
    """What the provider would answer with a 400."""
    value = json.loads(body)
    found = [f"{name}: {fault}" for name, rule in _RULES[wire] for fault in rule(value)]
    return found + (messages_api.refusals(body) if wire == "messages" else [])


# ---------------------------------------------------------------- Anthropic's messages


def _all_blocks(body: Body) -> Iterator[tuple[Body, Body]]:
    for message in body["messages"]:
        yield from ((message, block) for block in blocks_of(message))


def _repeated_uses(body: Body) -> Iterator[object]:
    ids = Counter(b["id"] for _, b in _all_blocks(body) if b["type"] in ("tool_use", "server_tool_use", "mcp_tool_use"))
    yield from (name for name, count in ids.items() if count > 1)


def _repeated_results(body: Body) -> Iterator[object]:
    ids = Counter(b["tool_use_id"] for _, b in _all_blocks(body) if b["type"] == "tool_result")
    yield from (name for name, count in ids.items() if count > 1)


def _errors_with_media(body: Body) -> Iterator[object]:
    for _, block in _all_blocks(body):
        if block.get("is_error") and isinstance(block.get("content"), list):
            yield from (b["type"] for b in block["content"] if b["type"] != "text")


def _wrong_sides(body: Body) -> Iterator[object]:
    for message, block in _all_blocks(body):
        kind = block["type"]
        results = kind == "tool_result" or kind in ("image", "document", "search_result", "container_upload")
        if message["role"] == "assistant" and results:
            yield kind
        if message["role"] == "user" and (kind in ("tool_use", "thinking", "redacted_thinking") or "server_tool" in kind):
            yield kind
        if message["role"] == "system" and kind not in ("text", "tool_addition", "tool_removal"):
            yield kind


def _marks_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Body, Body]]:
    """Marks in the order in which the prompt is made, with what carries them; what a tool was given is none."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in ("cache_control", "input"):
                yield from _marks_of(inner, (*path, key))
        if value.get("cache_control") and path:
            yield path, value, value["cache_control"]
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _marks_of(inner, (*path, at))


def _prompt(body: Body) -> list[Any]:
    return [body.get("tools") or [], body.get("system") or [], body["messages"]]


def _wrong_marks(body: Body) -> Iterator[object]:
    lifetimes = []
    found = list(_marks_of(_prompt(body)))
    if len(found) + bool(body.get("cache_control")) > 4:
        yield f"{len(found)} marks"
    for _, holder, mark in found:
        kind = holder.get("type")
        if kind in ("thinking", "redacted_thinking") or (kind == "text" and not holder["text"].strip()):
            yield f"on {kind}"
        lifetimes.append(mark.get("ttl", "5m"))
    if lifetimes != sorted(lifetimes):  # "1h" before "5m"
        yield lifetimes


def _thinking_first(body: Body) -> Iterator[object]:
    """Of the turn that goes on: with thinking on, its assistant's messages with calls begin with it."""
    if (body.get("thinking") or {}).get("type") != "enabled":
        return
    for message in reversed(body["messages"]):
        kinds = [b["type"] for b in blocks_of(message)]
        if message["role"] == "user" and "tool_result" not in kinds:
            return
        if message["role"] == "assistant" and "tool_use" in kinds and "thinking" not in kinds[0]:
            yield kinds


def _trailing_space(body: Body) -> Iterator[object]:
    last = body["messages"][-1]
    if last["role"] == "assistant":
        text = blocks_of(last)[-1].get("text", "")
        yield from [text] if text != text.rstrip() else []


def _mixed_citations(body: Body) -> Iterator[object]:
    on = [bool((b.get("citations") or {}).get("enabled")) for b in _documents(body)]
    if any(on) and not all(on):
        yield on


def _documents(body: Body) -> Iterator[Body]:
    for _, block in _all_blocks(body):
        inside = block.get("content") if block["type"] == "tool_result" else None
        yield from (
            b for b in [block, *(inside if isinstance(inside, list) else ())] if b["type"] in ("document", "search_result")
        )


def _none_of_the_user(body: Body) -> Iterator[object]:
    if not body["messages"]:
        yield "messages: at least one message is required"


# ---------------------------------------------------------------- chat completions


def _chat_contents(body: Body) -> Iterator[object]:
    for at, message in enumerate(body["messages"]):
        role, content = message["role"], message.get("content")
        spoken = ("tool_calls", "function_call", "refusal", "audio")
        if content is None and not (role == "assistant" and any(message.get(key) for key in spoken)):
            yield f"messages.{at}: null content of {role}"
        if content == [] or message.get("tool_calls") == []:
            yield f"messages.{at}: [] is too short"


_CHAT_PARTS: Final = {
    "system": {"text"},
    "developer": {"text"},
    "tool": {"text"},
    "assistant": {"text", "refusal", "thinking"},
    "user": {"text", "image_url", "input_audio", "file", "hologram"},
}


def _chat_parts(body: Body) -> Iterator[object]:
    for message in body["messages"]:
        parts = message.get("content")
        for part in parts if isinstance(parts, list) else ():
            if part["type"] not in _CHAT_PARTS[message["role"]]:
                yield message["role"], part["type"]


def _chat_pairs(body: Body) -> Iterator[object]:
    waiting: list[str] = []
    for at, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                yield f"messages.{at}: role 'tool' must be a response to a preceding message with 'tool_calls'"
            else:
                waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            yield f"messages.{at}: tool_call_ids did not have response messages: {waiting}"
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
    if waiting:
        yield f"no response to {waiting}"


def _chat_functions(body: Body) -> Iterator[object]:
    for before, message in zip([{}, *body["messages"]], body["messages"], strict=False):
        if message["role"] == "function" and (before.get("function_call") or {}).get("name") != message["name"]:
            yield message["name"]


# ---------------------------------------------------------------- Responses


def _responses_items(body: Body) -> list[Body]:
    found = body["input"]
    return found if isinstance(found, list) else [{"role": "user", "content": found}]


def _repeated_items(body: Body) -> Iterator[object]:
    ids = Counter(i["id"] for i in _responses_items(body) if i.get("id") and not responses_rules.kind_of(i).endswith("_output"))
    yield from (name for name, count in ids.items() if count > 1)


_NOTHING: Final[list[Body]] = [{"role": "user", "content": "x"}]


def _responses_pairs(body: Body) -> Iterator[object]:
    for rule in responses_rules.RULES:
        if "No tool" in rule.says or "following item" in rule.says or "type for this role" in rule.says:
            broken = rule.faults(_NOTHING, _responses_items(body))
            yield from (f"{rule.says}: {fault}" for fault in broken if "hologram" not in fault)


def _no_items(body: Body) -> Iterator[object]:
    if not _responses_items(body):
        yield "input"


_Rules = tuple[tuple[str, Callable[[Body], Iterator[object]]], ...]
_RULES: Final[dict[str, _Rules]] = {
    "messages": (
        ("`tool_use` ids must be unique", _repeated_uses),
        ("each tool_use must have a single result", _repeated_results),
        ("all content must be type `text` if `is_error` is true", _errors_with_media),
        ("a block of the other side", _wrong_sides),
        ("cache_control where it may not be", _wrong_marks),
        ("a final `assistant` message must start with a thinking block", _thinking_first),
        ("final assistant content cannot end with trailing whitespace", _trailing_space),
        ("citations must be enabled for all or no documents", _mixed_citations),
        ("messages: at least one message is required", _none_of_the_user),
    ),
    "chat": (
        ("Invalid value for 'content'", _chat_contents),
        ("Invalid value of a part's type", _chat_parts),
        ("tool_calls and their responses", _chat_pairs),
        ("a function's result behind another message", _chat_functions),
    ),
    "responses": (
        ("Duplicate item found with id", _repeated_items),
        ("pairs, reasoning and parts", _responses_pairs),
        ("Missing required parameter", _no_items),
    ),
}


# ---------------------------------------------------------------- what is kept

_PART_KEYS: Final = frozenset({"type", "text", "cache_control", "prompt_cache_breakpoint"})
_TEXTS: Final = frozenset({"text", "input_text", "output_text"})


def faults(wire: str, received: bytes, forwarded: bytes) -> list[str]:
    """What a careful client would object to."""
    if wire == "messages":
        return _kept_faults(received, forwarded)
    if wire == "responses":
        return responses_rules.rule_faults(received, forwarded) + _kept_faults(received, forwarded)
    return structure.structure_faults(received, forwarded, _PART_KEYS) + _kept_faults(received, forwarded)


def _exact(body: bytes) -> Any:
    """A body's value with numbers as they are written, doubled keys and the order of keys."""
    return json.loads(body, parse_float=lambda s: ("#", s), parse_int=lambda s: ("#", s), object_pairs_hook=tuple)


def _kept_faults(received: bytes, forwarded: bytes) -> list[str]:
    old, new = _exact(received), _exact(forwarded)
    names = ("messages", "input")
    beside = [pair for pair in old if pair[0] not in names] != [pair for pair in new if pair[0] not in names]
    found = ["what stands beside the history changed"] if beside and b"drop_block" not in forwarded else []
    before, after = (next(value for key, value in body if key in names) for body in (old, new))
    there = Counter(repr(_bare(block)) for block in _blocks(before))
    for block in _blocks(after):
        kind = dict(block).get("type")
        if kind in _TEXTS or kind in ("tool_result", "tool_use"):
            continue
        there[repr(_bare(block))] -= 1
        if there[repr(_bare(block))] < 0:
            found.append(f"a block is not what it was: {str(block)[:200]}")
    return found


#: What later turns rest on: tools that were found, listed, given or taken.
_LASTING: Final = (
    *("tool_reference", "tool_search_tool_result", "tool_search_output", "mcp_list_tools"),
    *("mcp_tool_listing", "tool_addition", "tool_removal"),
)


def tools_lost(received: bytes, forwarded: bytes) -> list[str]:
    """Kinds of what brings tools, of which the forwarded request has less."""

    def count(body: bytes, kind: str) -> int:
        return body.count(f'"type": "{kind}"'.encode()) + body.count(f'"type":"{kind}"'.encode())

    return [kind for kind in _LASTING if count(forwarded, kind) < count(received, kind)]


def _blocks(history: Any) -> Iterator[Any]:
    """Parts of the contents of a history."""
    for item in history if isinstance(history, list) else ():
        content = dict(item).get("content")
        yield from (part for part in (content if isinstance(content, list) else ()))


def _bare(block: Any) -> Any:
    return tuple(pair for pair in block if pair[0] not in ("cache_control", "prompt_cache_breakpoint"))


def newest_step(wire: str, body: bytes) -> list[Any]:
    """What stands behind the user's newest message but for instructions; of a tool loop its last step. Without the white space at
    the end of what Claude says, which a folded request leaves out (``fold.endings``)."""
    value = json.loads(body)
    history = value["input" if wire == "responses" else "messages"]
    history = history if isinstance(history, list) else []
    asked = next((i for i in range(len(history) - 1, -1, -1) if _asks(history[i])), -1)
    results = ("tool", "function") if wire == "chat" else ("user",)
    last = len(history)
    while last > asked + 1 and (history[last - 1]["role"] in results if wire != "responses" else _is_result(history[last - 1])):
        last -= 1
    step = [item for item in history[max(asked + 1, last - 1) :] if item.get("role") not in ("system", "developer")]
    return [_trimmed(item) for item in step] if wire == "messages" or "claude" in value["model"] else step


def _trimmed(item: Body) -> Body:
    content = item.get("content")
    if item["role"] != "assistant" or not content:
        return item
    if isinstance(content, str):
        return item | {"content": content.rstrip() or content}
    last = max((i for i, block in enumerate(content) if block["type"] == "text"), default=None)
    if last is None:
        return item
    said = content[last]["text"]
    return item | {"content": [*content[:last], content[last] | {"text": said.rstrip() or said}, *content[last + 1 :]]}


def _is_result(item: Body) -> bool:
    return responses_rules.kind_of(item).endswith("_output")


def _asks(item: Body) -> bool:
    content = item.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text"}]
    return item.get("role") == "user" and any(b["type"] != "tool_result" for b in blocks)

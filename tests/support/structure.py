"""Whether a forwarded request is as well formed as the one received (law 6).

It compares the two, message by message. What was kept of the content is not judged.

What the client itself got wrong is no fault of ours: a fault counts only where the forwarded request has more of its kind.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from tests.support.bodies import INSTRUCTING, Message, last_user, text_of

#: Fields and part types by which a provider recognises its own reasoning.
SIGNATURES: Final = frozenset(
    {
        "reasoning_details",
        "thinking_blocks",
        "signature",
        "thought_signature",
        "encrypted_content",
        "redacted_thinking",
        "thinking",
    }
)
#: Keys that our own parts may have beside those of the client's.
OWN_PART_KEYS: Final = frozenset({"type", "text"})


def structure_faults(received: bytes, forwarded: bytes, part_keys: frozenset[str] = OWN_PART_KEYS) -> list[str]:
    """What an upstream or a careful client would object to; empty when all is well.

    Args:
        received: the body as the client sent it.
        forwarded: the body as it went upstream.
        part_keys: keys that parts of ours may carry (``prompt_cache_breakpoint`` where a setting sets it).
    """
    old, new = json.loads(received), json.loads(forwarded)
    if not _is_request(old):
        return [] if old == new else ["what is no request changed"]
    if not _is_request(new):
        return ["no longer a request"]
    before, after = old["messages"], new["messages"]
    faults = [] if _rest(old) == _rest(new) and list(old) == list(new) else ["keys beside the messages changed"]
    faults += [fault for check in CHECKS for fault in check(before, after)]
    faults += [f"{kind} ({count} more)" for kind, count in (own_faults(after) - own_faults(before)).items()]
    return faults + list(_invented_part_keys(before, after, part_keys))


def _is_request(body: Any) -> bool:
    if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
        return False
    return all(isinstance(message, dict) and "role" in message for message in body["messages"])


def _rest(body: dict[str, Any]) -> str:
    return json.dumps({key: value for key, value in body.items() if key != "messages"})


def own_faults(messages: Sequence[Message]) -> Counter[str]:
    """Faults of a message list by itself, by kind."""
    return Counter([*_pairing(messages), *_arguments(messages), *_emptiness(messages), *_adjacency(messages)])


def _pairing(messages: Sequence[Message]) -> Iterator[str]:
    open_calls: Counter[Any] = Counter()
    for message in messages:
        if message["role"] == "tool":
            if open_calls[message.get("tool_call_id")] > 0:
                open_calls[message.get("tool_call_id")] -= 1
            else:
                yield "tool result without its call"
            continue
        yield from ("call without its result" for _ in open_calls.elements())
        open_calls = Counter(call.get("id") for call in message.get("tool_calls") or [])
    yield from ("call without its result at the end" for _ in open_calls.elements())


def _arguments(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        for call in message.get("tool_calls") or []:
            function = call.get("function")
            if isinstance(function, dict) and not _is_json(function.get("arguments", "{}")):
                yield "arguments are no JSON"


def _is_json(text: Any) -> bool:
    try:
        json.loads(text)
    except (TypeError, ValueError):
        return False
    return True


def _emptiness(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        calls = message.get("tool_calls") or message.get("function_call") or message.get("refusal")
        if not (_says_something(message) or calls):
            yield "empty message"
        yield from ("empty text part" for part in _parts(message) if part.get("text") == "")


def _says_something(message: Message) -> bool:
    """Whether it has a text, or anything attached."""
    return bool(text_of(message).strip()) or any(part.get("type") != "text" for part in _parts(message))


def _adjacency(messages: Sequence[Message]) -> Iterator[str]:
    roles = [message["role"] for message in messages if message["role"] not in INSTRUCTING]
    yield from ("two messages of one role in a row" for a, b in pairwise(roles) if a == b != "tool")
    if roles:
        yield f"opens with {roles[0]}"
    if not any(message["role"] == "user" and _says_something(message) for message in messages):
        yield "no user message"


def _instructions(before: Sequence[Message], after: Sequence[Message]) -> Iterator[str]:
    def of(messages: Sequence[Message]) -> list[Message]:
        return [message for message in messages if message["role"] in INSTRUCTING]

    if of(before) != of(after):
        yield "system or developer messages changed"


def _last_user_text(before: Sequence[Message], after: Sequence[Message]) -> Iterator[str]:
    asked, sent = last_user(list(before)), last_user(list(after))
    if asked is None:
        return
    own = _parts(before[asked]) or [{"text": text_of(before[asked])}]
    there = "" if sent is None else text_of(after[sent])
    parts = after[sent].get("content") if sent is not None else None
    for part in own:
        if isinstance(part.get("text"), str) and not part["text"].strip():
            continue  # white space says nothing; upstreams refuse a message of nothing else
        kept = part["text"] in there if isinstance(part.get("text"), str) else isinstance(parts, list) and part in parts
        if not kept:
            yield "the last user message lost something of its own"


def _identity(message: Message) -> str:
    """What of a message may not change: role, ids, names, keys; neither its content nor what its calls were given."""
    kept = {key: value for key, value in message.items() if key not in {"content", "tool_calls", "function_call"}}
    calls = [_call_identity(call) for call in message.get("tool_calls") or []]
    return json.dumps([kept, sorted(message), calls])


def _call_identity(call: Message) -> Message:
    function, custom = call.get("function"), call.get("custom")
    if isinstance(function, dict):
        return {**call, "function": {**function, "arguments": ""}}
    return {**call, "custom": {**custom, "input": ""}} if isinstance(custom, dict) else call


def _no_invention(before: Sequence[Message], after: Sequence[Message]) -> Iterator[str]:
    """What is sent is a part of what came, in order, each message with its own role, ids and keys."""
    at = 0
    for i, message in enumerate(after):
        wanted = _identity(message)
        while at < len(before) and _identity(before[at]) != wanted:
            at += 1
        if at == len(before):
            yield f"message {i} is invented, out of order, or has other keys than it came with"
            return
        at += 1
    if before and after and before[-1]["role"] != after[-1]["role"]:
        yield "the last message is gone"


def _content_kinds(before: Sequence[Message], after: Sequence[Message]) -> Iterator[str]:
    """A text stays a text and null stays null, except where parts are put behind a user's text."""
    allowed = {(_identity(m), type(m.get("content"))) for m in before}
    for i, message in enumerate(after):
        if (_identity(message), type(message.get("content"))) not in allowed and message["role"] != "user":
            yield f"message {i} has content of another kind"


def _signed_whole(before: Sequence[Message], after: Sequence[Message]) -> Iterator[str]:
    came = {json.dumps(message) for message in before}
    for i, message in enumerate(after):
        if is_signed(message) and json.dumps(message) not in came:
            yield f"message {i} is signed, and was edited"


def is_signed(value: Any) -> bool:
    """Whether an assistant message, or anything in it, carries a signature or encrypted reasoning."""
    if isinstance(value, dict):
        if "role" in value and value["role"] != "assistant":
            return False
        return value.get("type") in SIGNATURES or any(key in SIGNATURES or is_signed(item) for key, item in value.items())
    return isinstance(value, list) and any(is_signed(item) for item in value)


def _invented_part_keys(before: Sequence[Message], after: Sequence[Message], own: frozenset[str]) -> Iterator[str]:
    came = {json.dumps(sorted(part)) for message in before for part in _parts(message)}
    for i, message in enumerate(after):
        if any(json.dumps(sorted(part)) not in came and not set(part) <= own for part in _parts(message)):
            yield f"message {i} has a part with keys that nobody sent"


def _parts(message: Message) -> list[Message]:
    content = message.get("content")
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


_Check = Callable[[Sequence[Message], Sequence[Message]], Iterator[str]]
CHECKS: Final[tuple[_Check, ...]] = (_instructions, _last_user_text, _no_invention, _content_kinds, _signed_whole)

"""What Anthropic's messages API refuses, as a table; and preserved thinking, as the API keeps it.

These are the rules that a forwarded body must keep, each with its source. There are no conversations here, and no server.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Final, NamedTuple

Block = dict[str, Any]
Body = dict[str, Any]


class Rule(NamedTuple):
    """A refusal.

    Attributes:
        name: what is wrong, in the API's words where it has some.
        source: where the API says so.
        faults: a body to its faults of this kind.
    """

    name: str
    source: str
    faults: Callable[[Body], Iterator[object]]


def blocks_of(message: Body) -> list[Block]:
    """A message's content as blocks."""
    content = message.get("content") or []
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _is_setting(message: Body) -> bool:
    """Whether it is an instruction that says nothing, but sets how a turn is answered; such may stand anywhere."""
    return message["role"] == "system" and not message.get("content")


def _first_is_not_the_users(body: Body) -> Iterator[object]:
    first = next((message for message in body["messages"] if not _is_setting(message)), None)
    if first is None or first["role"] != "user":
        yield first


def _empty_content(body: Body) -> Iterator[object]:
    for message in body["messages"][:-1]:
        if not (message.get("content") or _is_setting(message)):
            yield message


def _blank_text(body: Body) -> Iterator[object]:
    for message in body["messages"]:
        yield from (b for b in blocks_of(message) if b["type"] == "text" and not b["text"].strip())


def _merged(body: Body) -> list[Body]:
    """Messages as the API sees them: neighbours of one role are one message."""
    found: list[Body] = []
    for message in body["messages"]:
        if found and found[-1]["role"] == message["role"]:
            found[-1] = {"role": message["role"], "content": [*found[-1]["content"], *blocks_of(message)]}
        else:
            found.append({"role": message["role"], "content": blocks_of(message)})
    return found


def _ids(message: Body, kind: str, key: str) -> list[str]:
    return [b[key] for b in message["content"] if b["type"] == kind]


def _loose_uses(body: Body) -> Iterator[object]:
    for message, after in pairwise(_merged(body)):
        if message["role"] == "assistant":
            yield from set(_ids(message, "tool_use", "id")) - set(_ids(after, "tool_result", "tool_use_id"))


def _loose_results(body: Body) -> Iterator[object]:
    for before, message in pairwise([{"role": "assistant", "content": []}, *_merged(body)]):
        yield from set(_ids(message, "tool_result", "tool_use_id")) - set(_ids(before, "tool_use", "id"))


def _results_behind(body: Body) -> Iterator[object]:
    for message in _merged(body):
        kinds = [b["type"] == "tool_result" for b in message["content"]]
        if kinds != sorted(kinds, reverse=True):
            yield kinds


def _input_is_no_object(body: Body) -> Iterator[object]:
    for message in body["messages"]:
        yield from (b for b in blocks_of(message) if b["type"] == "tool_use" and not isinstance(b["input"], dict))


def _marks(value: Any) -> int:
    """What a tool was given is none, whatever it looks like."""
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(_marks(inner) for key, inner in value.items() if key != "input")
    return sum(map(_marks, value)) if isinstance(value, list) else 0


def _too_many_marks(body: Body) -> Iterator[object]:
    if _marks(body) > 4:
        yield _marks(body)


def _parted_server_tools(body: Body) -> Iterator[object]:
    """A result may come in a later message: the turn was paused, or the server's tool called one of the client's."""
    open_uses: set[str] = set()
    for number, message in enumerate(body["messages"]):
        for block in blocks_of(message):
            if block["type"] in ("server_tool_use", "mcp_tool_use"):
                open_uses.add(block["id"])
            elif block["type"].endswith("_tool_result"):
                if block["tool_use_id"] not in open_uses:
                    yield f"unexpected `tool_use_id` found in `{block['type']}` blocks: {block['tool_use_id']}"
                open_uses.discard(block["tool_use_id"])
        own_words = message["role"] == "user" and any(b["type"] != "tool_result" for b in blocks_of(message))
        if open_uses and own_words and number < len(body["messages"]) - 1:
            yield f"{open_uses} without their results"


def _misplaced_instructions(body: Body) -> Iterator[object]:
    """Neighbours count as one; those without content may stand anywhere."""
    roles = [m["role"] for m in body["messages"]]
    for at, message in enumerate(body["messages"]):
        if message["role"] != "system" or _is_setting(message):
            continue
        front = next((i for i in range(at - 1, -1, -1) if roles[i] != "system"), None)
        behind = next((role for role in roles[at + 1 :] if role != "system"), "assistant")
        served = front is not None and roles[front] == "assistant" and _ends_served(body["messages"][front])
        if front is None or not (roles[front] == "user" or served):
            yield f"messages.{at} must follow a 'user' message"
        elif behind != "assistant":
            yield f"messages.{at} must precede an 'assistant' message or end the array"


def _ends_served(message: Body) -> bool:
    kind = blocks_of(message)[-1]["type"] if message["content"] else ""
    return bool(kind.endswith("_tool_result"))


RULES: Final = (
    Rule("first message must use the user role", "Messages API reference, `messages`", _first_is_not_the_users),
    Rule("all messages must have non-empty content", "error text of the API, 400", _empty_content),
    Rule("text content blocks must contain non-whitespace text", "error text of the API, 400", _blank_text),
    Rule("`tool_use` ids were found without `tool_result` blocks immediately after", "Handle tool calls", _loose_uses),
    Rule("unexpected `tool_use_id` found in `tool_result` blocks", "Handle tool calls", _loose_results),
    Rule("tool_result blocks must come first in the content array", "Handle tool calls, formatting", _results_behind),
    Rule("tool_use.input: Input should be a valid dictionary", "Messages API reference", _input_is_no_object),
    Rule("a maximum of 4 blocks with cache_control may be provided", "Prompt caching", _too_many_marks),
    Rule("server tool use without its result", "Web search tool", _parted_server_tools),
    Rule("role 'system' where it may not stand", "Mid-conversation system messages, limitations", _misplaced_instructions),
)


def refusals(forwarded: bytes) -> list[str]:
    """What the API would answer with a 400."""
    body = json.loads(forwarded)
    return [f"{rule.name}: {fault}" for rule in RULES for fault in rule.faults(body)]


_THOUGHTS: Final = frozenset({"thinking", "redacted_thinking"})


@dataclass
class Bindings:
    """Preserved thinking ("Preserved thinking", Claude 5.1 and later): a thinking block that is sent back is valid only while
    system, tools and all that stands in front of it are what was sent when it was produced."""

    bound: dict[str, bytes] = field(default_factory=dict)

    def answered(self, sent: bytes, answer: Body) -> None:
        """The model answered a request with a message: its thinking is bound to what was sent."""
        body = json.loads(sent)
        for signature, digest in _digests({**body, "messages": [*body["messages"], answer]}):
            self.bound.setdefault(signature, digest)

    def violations(self, sent: bytes) -> list[str]:
        """Signatures in a request that the API would refuse."""
        return [] if drops_invalid(json.loads(sent)) else self.invalid(sent)

    def invalid(self, sent: bytes) -> list[str]:
        """Signatures in a request that are not valid behind what stands in front of them."""
        return [signature for signature, digest in _digests(json.loads(sent)) if self.bound[signature] != digest]


def drops_invalid(body: Body) -> bool:
    """Whether a request asks that invalid thinking be dropped ("Preserved thinking", `prefix_mismatch_behavior`)."""
    binding = (body.get("thinking") or {}).get("block_binding") or {}
    return bool(binding.get("prefix_mismatch_behavior") == "drop_block")


def _digests(body: Body) -> Iterator[tuple[str, bytes]]:
    """Each thinking block's signature, and a digest of everything in front of it; cache marks are no content.

    A string is shorthand for a list with one text block (API reference, `content` and `system`), and instructions become a list
    for as long as they carry a mark: Claude Code 2.1.332 sends them so. Of what others said the form counts here, although nobody
    says that the API compares it: a fold must not change it either way."""
    running = blake2b(_bytes([blocks_of({"content": body.get("system")}), body.get("tools")]))
    for message in body["messages"]:
        form = message["role"] != "system" and isinstance(message["content"], str)
        running.update(_bytes(["message", message["role"], form]))
        for block in blocks_of(message):
            if block["type"] in _THOUGHTS:
                yield block.get("signature") or block["data"], running.digest()
            running.update(_bytes(block))


def _bytes(value: Any) -> bytes:
    return json.dumps(_bare(value)).encode()


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _bare(inner) for key, inner in value.items() if key != "cache_control"}
    return [_bare(inner) for inner in value] if isinstance(value, list) else value

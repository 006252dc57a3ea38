"""One conversation as it comes on each of the three wires, and what each wire's upstream refuses.

Conversations of ``block_conversations`` (thinking, images, hosted tools, marks) are written for chat completions and for
Responses, with one judge for all three. The rules themselves are elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.support import block_conversations as blocks
from tests.support.block_conversations import MARK, Block, Kind, Message
from tests.support.messages_api import blocks_of, refusals
from tests.support.responses_rules import rule_faults
from tests.support.structure import structure_faults
from turnfold.compression.wire.conversation import Wire
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES

_SYSTEM: Final = "You run the harbour desk. Never book bay 7."
_NAME: Final = "cache_control"
_BREAKPOINT: Final[Block] = {"prompt_cache_breakpoint": {"mode": "explicit"}}
_PART_KEYS: Final = frozenset({"type", "text", _NAME, "prompt_cache_breakpoint"})


@dataclass(frozen=True, slots=True)
class OnWire:
    """A wire as these tests see it.

    Attributes:
        encode: messages, as ``block_conversations`` has them, to a body of this wire.
        faults: a body as received and as forwarded, to what the upstream or a careful client would object to.
    """

    wire: Wire
    encode: Callable[[Sequence[Message]], bytes]
    faults: Callable[[bytes, bytes], list[str]]


def with_marks(messages: Sequence[Message], places: Collection[int]) -> list[Message]:
    """Messages with a mark on the last block of those at `places`, where it takes one."""
    return [marked(m) if i in places else m for i, m in enumerate(messages)]


def marked(message: Message) -> Message:
    """A message with a mark on its last block that takes one; a string becomes a block, as clients write it."""
    found = list(blocks_of(message))
    at = next((i for i in range(len(found) - 1, -1, -1) if found[i]["type"] in ("text", "tool_use", "tool_result")), None)
    if at is None:
        return message
    return {"role": message["role"], "content": [*found[:at], found[at] | MARK, *found[at + 1 :]]}


def mark_count(value: Any) -> int:
    """Cache marks in a body or a part of one."""
    if isinstance(value, dict):
        return (_NAME in value or "prompt_cache_breakpoint" in value) + sum(map(mark_count, value.values()))
    return sum(map(mark_count, value)) if isinstance(value, list) else 0


# ---------------------------------------------------------------- chat


def chat_messages(messages: Sequence[Message]) -> list[Message]:
    """As clients of OpenAI's format write it: thinking in ``thinking_blocks``, what hosted tools did nowhere."""
    found: list[Message] = []
    for message in messages:
        found += _chat_assistant(message) if message["role"] == "assistant" else _chat_user(message)
    return found


def _chat_user(message: Message) -> Iterator[Message]:
    if isinstance(message["content"], str):
        yield message
        return
    for block in message["content"]:
        if block["type"] == "tool_result":
            yield {"role": "tool", "tool_call_id": block["tool_use_id"], "content": _chat_result(block)}
    own = [part for block in message["content"] if block["type"] != "tool_result" and (part := _chat_part(block))]
    if own:
        yield {"role": "user", "content": own}


def _chat_result(block: Block) -> str | list[Block]:
    content = block["content"]
    if isinstance(content, str):
        return [{"type": "text", "text": content} | MARK] if _NAME in block else content
    parts = [part for one in content if (part := _chat_part(one))] or [{"type": "text", "text": "ok"}]
    return [*parts[:-1], parts[-1] | MARK] if _NAME in block else parts


def _chat_part(block: Block) -> Block | None:
    mark = MARK if _NAME in block else {}
    if block["type"] == "text":
        return {"type": "text", "text": block["text"]} | mark
    if block["type"] == "image":
        return {"type": "image_url", "image_url": {"url": _data_url(block)}} | mark
    if block["type"] == "container_upload":
        return {"type": "file", "file": {"file_id": block["file_id"]}} | mark
    text = "".join(_texts_inside(block))
    return {"type": "text", "text": text} if text else None


def _data_url(block: Block) -> str:
    return f"data:image/png;base64,{block['source']['data']}"


def _texts_inside(block: Block) -> Iterator[str]:
    yield from (one["text"] for one in block.get("content") or () if isinstance(one, dict) and "text" in one)
    if isinstance(block.get("source"), dict):
        yield block["source"].get("data", "")


def _chat_assistant(message: Message) -> Iterator[Message]:
    content = blocks_of(message)
    texts = [block for block in content if block["type"] == "text"]
    listed = any(_NAME in block for block in texts)
    out: Message = {"role": "assistant", "content": "\n".join(block["text"] for block in texts) or None}
    if listed:
        out["content"] = [{"type": "text", "text": block["text"]} | (MARK if _NAME in block else {}) for block in texts]
    thinking = [block for block in content if block["type"] in ("thinking", "redacted_thinking")]
    if thinking:
        out["thinking_blocks"] = thinking
    calls = [block for block in content if block["type"] == "tool_use"]
    if calls:
        out["tool_calls"] = [
            {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": json.dumps(c["input"])}}
            for c in calls
        ]
    if out["content"] or calls:
        yield out
    else:
        yield {**out, "content": "I see."}


def _encode_chat(messages: Sequence[Message]) -> bytes:
    system = {"role": "system", "content": _SYSTEM}
    tools = [{"type": "function", "function": {"name": t["name"], "parameters": t["input_schema"]}} for t in blocks.TOOLS]
    return json.dumps({"model": "gpt-4o", "messages": [system, *chat_messages(messages)], "tools": tools}).encode()


# ---------------------------------------------------------------- responses


def items(messages: Sequence[Message]) -> list[Block]:
    """As clients of Responses write it: thinking as encrypted reasoning, hosted tools as items with their result inside."""
    return [
        item
        for message in messages
        for item in (_assistant_items(message) if message["role"] == "assistant" else _user_items(message))
    ]


def _user_items(message: Message) -> Iterator[Block]:
    if isinstance(message["content"], str):
        yield {"type": "message", **message}
        return
    own = []
    for block in message["content"]:
        if block["type"] == "tool_result":
            content = _chat_result(block)
            output = content if isinstance(content, str) else list(map(_input_part, content))
            yield {"type": "function_call_output", "call_id": block["tool_use_id"], "output": output}
        elif part := _chat_part(block):
            own.append(_input_part(part))
    if own:
        yield {"type": "message", "role": "user", "content": own}


def _input_part(part: Block) -> Block:
    mark = _BREAKPOINT if _NAME in part else {}
    if part["type"] == "image_url":
        return {"type": "input_image", "image_url": part["image_url"]["url"], "detail": "auto"} | mark
    if part["type"] == "file":
        return {"type": "input_file", **part["file"]} | mark
    return {"type": "input_text", "text": part["text"]} | mark


def _assistant_items(message: Message) -> Iterator[Block]:
    thought = None
    for number, block in enumerate(blocks_of(message)):
        kind = block["type"]
        if kind in ("thinking", "redacted_thinking"):
            thought = {
                "type": "reasoning",
                "id": f"rs_{_sign(block)}",
                "summary": [],
                "encrypted_content": "gAAA" + _sign(block) * 90,
            }
            continue
        item = _assistant_item(block, number)
        if item is None:
            continue
        yield from ([thought] if thought else [])  # of several in a row the last: none stands without its follower
        thought = None
        yield item
    if thought:
        yield from (thought, _assistant_item({"type": "text", "text": "I see."}, 0) or {})


def _sign(block: Block) -> str:
    return str(block.get("signature") or block["data"])


def _assistant_item(block: Block, number: int) -> Block | None:
    if block["type"] == "text":
        said = {"type": "output_text", "text": block["text"], "annotations": []}
        return {"type": "message", "role": "assistant", "status": "completed", "content": [said]}
    if block["type"] == "tool_use":
        given = json.dumps(block["input"])
        return {
            "type": "function_call",
            "id": f"fc_{block['id']}",
            "call_id": block["id"],
            "name": block["name"],
            "arguments": given,
        }
    if block["type"] == "server_tool_use":
        return {
            "type": "web_search_call",
            "id": block["id"],
            "status": "completed",
            "action": {"type": "search", **block["input"]},
        }
    return None


def _encode_items(messages: Sequence[Message]) -> bytes:
    tools = [{"type": "function", "name": t["name"], "parameters": t["input_schema"]} for t in blocks.TOOLS]
    body = {"model": "gpt-5", "instructions": _SYSTEM, "input": items(messages), "tools": tools, "store": False}
    return json.dumps(body).encode()


# ---------------------------------------------------------------- the three


def _encode_blocks(messages: Sequence[Message]) -> bytes:
    return blocks.encode(list(messages), Kind())


WIRES: Final = {
    "chat": OnWire(CHAT, _encode_chat, lambda received, sent: structure_faults(received, sent, _PART_KEYS)),
    "responses": OnWire(RESPONSES, _encode_items, rule_faults),
    "messages": OnWire(MESSAGES, _encode_blocks, lambda received, sent: refusals(sent)),
}

"""Random Responses requests as a client would send them: the same conversations as on chat, in items.

It has Hypothesis strategies for items, inputs and bodies. ``responses_rules`` judges what comes out of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from hypothesis import strategies as st

from tests.support import conversations as chat

Item = dict[str, Any]
Draw = st.DrawFn

_PNG: Final = "data:image/png;base64," + "iVBORw0KGgo" * 20
_BREAKPOINT: Final = {"prompt_cache_breakpoint": {"mode": "explicit"}}


def reasoning(number: int) -> Item:
    """Encrypted reasoning, as it comes where nothing is stored."""
    item: Item = {"type": "reasoning", "id": f"rs_{number}", "summary": [{"type": "summary_text", "text": "Count the valves."}]}
    return item | {"encrypted_content": "gAAAAAB" + "q" * (900 + number % 7)}


#: Items that carry their result inside, and one that nobody knows.
HOSTED: Final[Sequence[Item]] = (
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "tide table"}},
    {
        "type": "file_search_call",
        "id": "fs_1",
        "status": "completed",
        "queries": ["bay"],
        "results": [{"text": "Bay 7 is shut."}],
    },
    {
        "type": "code_interpreter_call",
        "id": "ci_1",
        "code": "print(7 * 6)",
        "container_id": "cntr_1",
        "status": "completed",
        "outputs": [{"type": "logs", "logs": "42\n" * 40}],
    },
    {"type": "mcp_call", "id": "mcp_1", "server_label": "desk", "name": "count", "arguments": "{}", "output": "9 crates " * 60},
    {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw0KGgo" * 100},
    {"type": "unheard_of", "id": "x_1", "says": "A kind of item that nobody knows.", "blob": "A" * 3000},
)


@cache
@st.composite
def call_units(draw: Draw, number: int = 0) -> list[Item]:
    """Calls of other kinds than functions, with their results; some with what stands between."""
    call_id = f"other_{number}"
    long = "\n".join(f"crate {i} stands in bay {i % 9}" for i in range(draw(st.integers(1, 120))))
    call = {"call_id": call_id, "status": "completed"}
    exec_action = {"type": "exec", "command": ["bash", "-lc", "ls bays"], "env": {}}
    chunks = [{"stdout": long, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
    patch = {"type": "update_file", "path": "bays.txt", "diff": "@@\n-7\n+8\n"}
    shot = {"type": "computer_screenshot", "image_url": _PNG}
    program = {"caller": {"type": "program", "caller_id": call_id}}
    units: list[list[Item]] = [
        [
            {"type": "shell_call", **call, "action": {"commands": ["ls bays"]}},
            {"type": "shell_call_output", "call_id": call_id, "output": chunks},
        ],
        [
            {"type": "local_shell_call", "id": "ls_1", **call, "action": exec_action},
            {"type": "local_shell_call_output", "id": call_id, "output": json.dumps({"output": long})},
        ],
        [
            {"type": "apply_patch_call", **call, "operation": patch},
            {"type": "apply_patch_call_output", "call_id": call_id, "status": "completed"},
        ],
        [
            {"type": "computer_call", "id": "cu_1", **call, "action": {"type": "screenshot"}, "pending_safety_checks": []},
            {"type": "computer_call_output", "call_id": call_id, "output": shot},
        ],
        [
            {"type": "mcp_approval_request", "id": call_id, "name": "count", "arguments": "{}", "server_label": "desk"},
            {"type": "mcp_approval_response", "approval_request_id": call_id, "approve": True},
            {
                "type": "mcp_call",
                "id": "mcp_2",
                "name": "count",
                "arguments": "{}",
                "output": long,
                "approval_request_id": call_id,
                "server_label": "d",
            },
        ],
        [
            {"type": "program", "id": "p_1", "call_id": call_id, "code": "count()", "fingerprint": "f"},
            {"type": "function_call", "call_id": f"{call_id}_a", "name": "count", "arguments": "{}", **program},
            {"type": "function_call_output", "call_id": f"{call_id}_a", "output": long, **program},
            {"type": "function_call", "call_id": f"{call_id}_b", "name": "count", "arguments": "{}", **program},
            {"type": "function_call_output", "call_id": f"{call_id}_b", "output": long, **program},
            {"type": "program_output", "id": "po_1", "call_id": call_id, "result": "9", "status": "completed"},
        ],
        [
            {"type": "unheard_of_call", "call_id": call_id, "asks": long},
            {"type": "unheard_of_call_output", "call_id": call_id, "says": long},
        ],
        [  # results that come late, with another turn between
            {"type": "function_call", "call_id": f"{call_id}_a", "name": "count", "arguments": "{}"},
            {"type": "function_call", "call_id": f"{call_id}_b", "name": "count", "arguments": '{"bay": 2}'},
            {"type": "function_call_output", "call_id": f"{call_id}_b", "output": long},
            {"type": "message", "role": "assistant", "content": [_said("The other one takes longer.")]},
            {"type": "function_call_output", "call_id": f"{call_id}_a", "output": [{"type": "input_text", "text": long}]},
        ],
    ]
    return units[draw(st.integers(0, len(units) - 1))]


def _said(text: str) -> Item:
    return {"type": "output_text", "text": text, "annotations": []}


def _part(part: Item, role: str) -> Item:
    """A part of a chat message as one of this wire."""
    marks = {key: value for key, value in part.items() if key == "prompt_cache_breakpoint"}
    if part["type"] == "text":
        return {"type": "output_text" if role == "assistant" else "input_text", "text": part["text"]} | marks
    if part["type"] == "image_url":
        return {"type": "input_image", "image_url": part["image_url"]["url"], "detail": "auto"}
    if part["type"] == "file":
        return {"type": "input_file", **part["file"]}
    return {"type": "unheard_of", "blob": part}


def _content(content: Any, role: str) -> Any:
    return [_part(part, role) for part in content if part["type"] != "thinking"] if isinstance(content, list) else content


def items_of(message: chat.Message) -> list[Item]:
    """A chat message as items."""
    role, content = message["role"], message.get("content")
    if role == "tool":
        return [{"type": "function_call_output", "call_id": message["tool_call_id"], "output": _content(content, "user")}]
    found: list[Item] = []
    if content or not message.get("tool_calls"):
        found.append({"type": "message", "role": role, "content": _content(content or message.get("refusal") or "", role)})
    for call in message.get("tool_calls") or ():
        if call["type"] == "custom":
            found.append({"type": "custom_tool_call", "call_id": call["id"], **call["custom"]})
        else:
            found.append({"type": "function_call", "call_id": call["id"], **call["function"], "id": f"fc_{call['id']}"})
    return found


@cache
@st.composite
def inputs(draw: Draw, messages: st.SearchStrategy[list[chat.Message]] | None = None) -> list[Item]:
    """Items of a conversation that an upstream takes, up to a user's message or a result that waits for its answer."""
    found: list[Item] = []
    for number, message in enumerate(draw(messages if messages is not None else chat.conversations())):
        items = items_of(message)
        if message["role"] == "assistant":
            form = draw(st.integers(0, 9))
            if form < 4:
                items.insert(0, reasoning(number))
            elif form == 4:
                items[:0] = [reasoning(number), dict(HOSTED[draw(st.integers(0, len(HOSTED) - 1))]), reasoning(1000 + number)]
            elif form == 5:
                found += draw(call_units(number))
            elif form == 6:
                items.append({"type": "message", "role": "assistant", "content": [_said("More follows.")]})
            if form == 6 and message.get("tool_calls"):
                items = items[-1:] + items[:-1]
        if message["role"] == "user" and draw(st.booleans()):
            items = [{key: value for key, value in item.items() if key != "type"} for item in items]
        found += items
    return found


_TOP: Final[Sequence[Item]] = (
    {"store": False},
    {"store": False, "stream": True, "include": ["reasoning.encrypted_content"]},
    {},
    {"text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}, "verbosity": "low"}},
    {"truncation": "auto", "max_output_tokens": 900, "x_unknown": {"deep": [[[]]]}},
)


@cache
@st.composite
def bodies(draw: Draw, items: st.SearchStrategy[list[Item]] | None = None) -> bytes:
    """A request body: any key order, compact or spaced, escaped or not."""
    body: Item = {"model": draw(st.sampled_from(["gpt-5", "gpt-4o", "my-local-model"]))} | draw(st.sampled_from(_TOP))
    body["input"] = draw(items if items is not None else inputs())
    if draw(st.booleans()):
        body["instructions"] = "You run the harbour desk. Never book bay 7."
    if draw(st.booleans()):
        body["tools"] = [{"type": "function", "name": "count", "parameters": {"type": "object"}}]
    body = {key: body[key] for key in draw(st.permutations(sorted(body)))}
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", " : ")]))
    return json.dumps(body, ensure_ascii=draw(st.booleans()), separators=separators).encode()

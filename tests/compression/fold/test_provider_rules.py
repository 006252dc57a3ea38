"""Requests that a provider would refuse or misread once they are folded, each from a rule of its documents."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from tests.support import words
from tests.support.cases import each
from tests.support.effort import every
from tests.support.messages_api import refusals
from tests.support.provider_rules import tools_lost
from tests.support.warm import WARM
from turnfold.compression.fit.cut import cut
from turnfold.compression.fold import Folded, fold, unfold
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.conversation import Wire
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES

Part = dict[str, Any]


def folded(wire: Wire, history: list[Part], **options: Any) -> Folded:
    key = "input" if wire is RESPONSES else "messages"
    body = json.dumps({"model": "m", "max_tokens": 99, "store": False, key: history}).encode()
    found = fold(wire.read(body, WARM), FoldOptions(**options), WARM)
    assert unfold(found) == body
    return found


def talk(turns: int, start: int = 0) -> list[Part]:
    roles = ("user", "assistant")
    return [{"role": roles[i % 2], "content": words.prose(start + i, "en", 8)} for i in range(2 * turns)]


def text(said: str) -> Part:
    return {"type": "text", "text": said}


SEARCH: Part = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "tides"}}
FOUND: Part = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
PROGRAM: Part = {"type": "server_tool_use", "id": "s1", "name": "code_execution", "input": {"code": "await Read()"}}
RAN: Part = {"type": "code_execution_tool_result", "tool_use_id": "s1", "content": {"type": "code_execution_result"}}
CALL: Part = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}, "caller": {"tool_id": "s1"}}
ANSWER: Part = {"type": "tool_result", "tool_use_id": "t1", "content": words.prose(5, "en", 27)}
PARTED: dict[str, list[Part]] = {
    "a turn that was paused": [
        {"role": "assistant", "content": [text(words.prose(4, "en", 41)), SEARCH]},
        {"role": "assistant", "content": [FOUND, text(words.prose(3, "en", 20))]},
    ],
    "a program that calls a tool": [
        {"role": "assistant", "content": [text("I run."), PROGRAM, CALL]},
        {"role": "user", "content": [ANSWER]},
        {"role": "assistant", "content": [RAN, text(words.prose(3, "en", 20))]},
    ],
}


@pytest.mark.parametrize("name", every(2, [*PARTED], 1))
def test_what_a_servers_tool_did_stays_with_its_use(name: str) -> None:
    """Anthropic: "Each `web_search_tool_result` block must have a corresponding `server_tool_use` block before it"."""
    loop = [
        one
        for n in range(6)
        for one in (
            {"role": "assistant", "content": [{"type": "tool_use", "id": f"l{n}", "name": "Read", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"l{n}", "content": words.prose(n, "en", 17)}]},
        )
    ]
    made = 0
    for steps in range(2, len(loop) + 1, 2):
        history = [*talk(4), {"role": "user", "content": "And?"}, *loop[:4], *PARTED[name], *loop[4:], *loop[:0]][: 13 + steps]
        made += _is_taken(history, (700, 1100, 1700, 2300))
    assert made


def _is_taken(history: list[Part], rooms: tuple[int, ...]) -> int:
    """Folds and cuts of a history, none of which is refused; their number."""
    made = 0
    for room in rooms:
        found = folded(MESSAGES, history, budget=room, recall=False)
        smaller = cut(found.conversation, room, FoldOptions(), WARM)
        forwarded = [found.body] * bool(found.sections) + ([smaller.forwarded.body] if smaller else [])
        assert [refusals(body) for body in forwarded] == [[]] * len(forwarded)
        made += len(forwarded)
    return made


TOOLS: Part = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "tool_reference", "tool_name": "book"}]}
BRINGS_TOOLS: dict[str, tuple[Wire, list[Part]]] = {
    "tools that the client searched": (
        MESSAGES,
        [
            {"role": "assistant", "content": [CALL]},
            {"role": "user", "content": [TOOLS]},
            {"role": "assistant", "content": "Yes."},
        ],
    ),
    "tools that the provider searched": (
        MESSAGES,
        [{"role": "assistant", "content": [SEARCH, {"type": "tool_search_tool_result", "tool_use_id": "s1", "content": {}}]}],
    ),
    "tools that OpenAI searched": (
        RESPONSES,
        [
            {"type": "tool_search_call", "id": "ts_1", "execution": "server", "call_id": None, "arguments": {}},
            {"type": "tool_search_output", "id": "to_1", "execution": "server", "call_id": None, "tools": [{"name": "book"}]},
            {"role": "assistant", "content": "Yes."},
        ],
    ),
    "tools that the client searched for OpenAI": (
        RESPONSES,
        [
            {"type": "tool_search_call", "id": "ts_1", "execution": "client", "call_id": "c1", "arguments": {}},
            {"type": "tool_search_output", "execution": "client", "call_id": "c1", "tools": [{"name": "book"}]},
            {"role": "assistant", "content": "Yes."},
        ],
    ),
    "the tools of an MCP server": (
        RESPONSES,
        [
            {"type": "mcp_list_tools", "id": "l_1", "server_label": "desk", "tools": [{"name": "book", "input_schema": {}}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
            {"type": "mcp_call", "id": "mcp_1", "name": "book", "arguments": "{}", "server_label": "desk", "output": "ok"},
            {"role": "assistant", "content": "Yes."},
        ],
    ),
}


@each(("name", "budget"), [(name, (None, 1200)[i % 2]) for i, name in enumerate(BRINGS_TOOLS)])
def test_what_brings_tools_stays(name: str, budget: int | None) -> None:
    """Folded away, the model could not call what it had found; OpenAI would ask the MCP server again with every request."""
    wire, history = BRINGS_TOOLS[name]
    found = folded(wire, [{"role": "user", "content": "Find it."}, *history, *talk(20, 50), *talk(1)[:1]], budget=budget)
    assert found.sections
    assert tools_lost(found.conversation.body, found.body) == []


def test_a_late_result_behind_an_empty_message_leaves_no_two_users_in_a_row() -> None:
    """The empty message and the late result belong to the call, whatever instructions stand between."""
    made = [{"id": f"c{n}", "type": "function", "function": {"name": "count", "arguments": "{}"}} for n in (1, 2)]
    history = [
        *talk(8),
        {"role": "user", "content": [text("Count these."), {"type": "file", "file": {"file_id": "f1"}}]},
        {"role": "assistant", "content": "", "tool_calls": made},
        {"role": "tool", "tool_call_id": "c1", "content": words.prose(7, "en", 41)},
        {"role": "system", "content": "A late instruction: answer in Dutch."},
        {"role": "user", "content": ""},
        {"role": "tool", "tool_call_id": "c2", "content": words.prose(8, "en", 41)},
    ]
    found = folded(CHAT, history, budget=363, recall=False)
    assert found.sections
    roles = [m.role for m in found.forwarded.messages if not m.pinned]
    assert "assistant" in roles
    assert ("user", "user") not in pairwise(roles)

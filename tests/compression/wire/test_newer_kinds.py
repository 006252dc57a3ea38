"""Kinds of items, blocks and fields that the providers' newer SDKs have (anthropic 2.13, openai 3.3), each as a client sends it.

These tests show what is counted of them, quoted, kept, and left to the provider. They leave out rules that all kinds share
(``test_messages``, ``test_responses``, ``fold.test_provider_rules``).
"""

from __future__ import annotations

import json
from itertools import product
from typing import Any

from tests.support import words
from tests.support.cases import each
from tests.support.messages_api import refusals
from tests.support.warm import WARM
from turnfold.compression import tokens
from turnfold.compression.fit.cut import cut
from turnfold.compression.fold import Folded, fold, unfold
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.conversation import Conversation, Wire
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES

Part = dict[str, Any]

ROWS = json.dumps([{"id": n, "state": "open", "owner": f"u{n}"} for n in range(120)], separators=(",", ":"))
CHINESE = "订单已经发货预计三天内送达请注意查收" * 60
SIZES = {text: tokens.count(text) for text in (ROWS, CHINESE)}


def read(wire: Wire, history: list[Part], **top: Any) -> Conversation:
    key = "input" if wire is RESPONSES else "messages"
    return wire.read(json.dumps({"model": "m", "max_tokens": 99, **top, key: history}).encode(), WARM)


def folded(wire: Wire, history: list[Part], budget: int = 1500, *, recall: bool = True, **top: Any) -> Folded:
    found = fold(read(wire, history, **top), FoldOptions(budget=budget, recall=recall), WARM)
    assert unfold(found) == found.conversation.body
    return found


def user(said: Any) -> Part:
    return {"role": "user", "content": said}


def talk(turns: int, start: int = 0) -> list[Part]:
    roles = ("user", "assistant")
    return [{"role": roles[i % 2], "content": words.prose(start + i, "en", 12)} for i in range(2 * turns)]


# -- what the provider reads is counted, and can be quoted -----------------------------------------------------------------


def hosted(text: str) -> dict[str, Part]:
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}}
    return {
        "web_fetch": {"type": "web_fetch_tool_result", "content": {"type": "web_fetch_result", "url": "u", "content": document}},
        "mcp": {"type": "mcp_tool_result", "is_error": False, "content": [{"type": "text", "text": text}]},
        "mcp in a string": {"type": "mcp_tool_result", "is_error": False, "content": text},
        "code": {"type": "code_execution_tool_result", "content": {"type": "code_execution_result", "stdout": text}},
        "shell": {"type": "bash_code_execution_tool_result", "content": {"stdout": text, "return_code": 0}},
        "advisor": {"type": "advisor_tool_result", "content": {"type": "advisor_result", "text": text}},
        "use": {"type": "server_tool_use", "name": "code_execution", "input": {"code": text}},
        "mcp use": {"type": "mcp_tool_use", "name": "ask", "server_name": "desk", "input": {"q": text}},
        "listing": {"type": "mcp_tool_listing", "mcp_server_name": "desk", "tools": [{"name": "a", "description": text}]},
        "compaction": {"type": "compaction", "content": text},
    }


@each(("name", "text"), product(hosted(""), [ROWS, CHINESE]))
def test_what_a_server_tool_said_counts_on_messages(name: str, text: str) -> None:
    block = hosted(text)[name]
    found = read(MESSAGES, [user("Go."), {"role": "assistant", "content": [block, {"type": "text", "text": "Done."}]}])
    assert found.messages[1].tokens >= 0.95 * SIZES[text]


def items(text: str) -> dict[str, Part]:
    return {
        "mcp_call": {"name": "ask", "server_label": "s", "arguments": "{}", "output": text},
        "file_search_call": {"queries": ["x"], "results": [{"file_id": "f", "text": text}]},
        "code_interpreter_call": {"container_id": "c", "code": text, "outputs": []},
        "program": {"call_id": "c", "code": text, "fingerprint": "f"},
        "program_output": {"call_id": "c", "result": text, "status": "completed"},
        "apply_patch_call": {"call_id": "c", "operation": {"type": "create_file", "path": "a", "diff": text}},
        "shell_call": {"call_id": "c", "action": {"commands": [text]}},
        "tool_search_output": {"call_id": "c", "tools": [{"name": "a", "description": text}]},
    }


@each(("kind", "text"), product(items(""), [ROWS, CHINESE]))
def test_a_text_without_white_space_counts_on_responses(kind: str, text: str) -> None:
    found = read(RESPONSES, [user("Go."), {"type": kind, "id": "x", **items(text)[kind]}])
    assert found.messages[1].tokens >= 0.95 * SIZES[text]


def test_data_of_media_still_counts_nothing() -> None:
    coded = "iVBORw0KGgoAAAANSUhEUgAAAAUA" * 400
    call = {"type": "mcp_call", "id": "m", "name": "shoot", "arguments": "{}", "output": coded}
    assert read(RESPONSES, [call]).messages[0].tokens < 30
    block = {"type": "mcp_tool_result", "content": [{"type": "image", "source": {"type": "base64", "data": coded}}]}
    assert read(MESSAGES, [{"role": "assistant", "content": [block]}]).messages[0].tokens < 30


@each(
    "block",
    [
        {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": ROWS}]},
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": ROWS}]}},
        {"type": "document", "source": {"type": "content", "content": ROWS}},
    ],
)
def test_documents_beside_a_users_text_count(block: Part) -> None:
    found = read(MESSAGES, [user([{"type": "text", "text": "Read."}, block])])
    assert 0.95 * SIZES[ROWS] <= found.messages[0].tokens <= 1.1 * SIZES[ROWS]


def test_the_state_of_a_browser_counts() -> None:
    tabs = [{"id": n, "title": f"Page {n} of the harbour desk", "url": f"https://desk.example/{n}"} for n in range(60)]
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "browser_state", "tabs": tabs}]}
    use = {"type": "tool_use", "id": "t1", "name": "navigate", "input": {}, "toolset_name": "browser"}
    found = read(MESSAGES, [user("Go."), {"role": "assistant", "content": [use]}, user([result])])
    assert found.messages[2].tokens > 600


@each(
    "said",
    [
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": ROWS}]}, {"type": "text", "text": "Yes."}]},
        {"content": [{"type": "refusal", "refusal": ROWS}]},
        {"content": "Yes.", "reasoning_details": [{"type": "reasoning.text", "text": ROWS}]},
        {"content": "Yes.", "thinking_blocks": [{"type": "thinking", "thinking": ROWS, "signature": "s"}]},
        {"content": "Yes.", "reasoning_content": ROWS, "reasoning_details": [{"type": "reasoning.text", "text": ROWS}]},
    ],
)
def test_reasoning_in_the_clear_counts_once_on_chat(said: Part) -> None:
    found = read(CHAT, [user("Go."), {"role": "assistant", **said}])
    assert 0.95 * SIZES[ROWS] <= found.messages[1].tokens <= 1.1 * SIZES[ROWS]


def test_what_a_server_tool_found_can_be_recalled() -> None:
    """It stands in no other message: folded away unread, the conversation would have lost it."""
    page = f"{words.prose(1, 'en', 20)} The Nordlys berth costs 4,310 kroner a night. {words.prose(2, 'en', 20)}"
    use = {"type": "server_tool_use", "id": "s1", "name": "web_fetch", "input": {"url": "https://desk.example"}}
    fetched = {**hosted(page)["web_fetch"], "tool_use_id": "s1"}
    history = [
        user("Look the berths up."),
        {"role": "assistant", "content": [use, fetched, {"type": "text", "text": "I read the page."}]},
        *talk(12),
        user("What does the Nordlys berth cost?"),
    ]
    found = folded(MESSAGES, history, 1200)
    assert b"web_fetch_tool_result" not in found.body
    assert b"4,310 kroner" in found.body


# -- history that the provider keeps, or sums up ---------------------------------------------------------------------------


@each(
    "top",
    [
        {"thread": {"type": "create"}},
        {"thread": {"type": "continue", "previous_message_id": "msg_1"}},
        {"compaction": {"type": "summarize"}},
        {"compaction": {"type": "summarize", "instructions": "Keep all figures."}},
    ],
)
def test_nothing_is_left_out_of_what_the_provider_keeps_or_sums_up(top: Part) -> None:
    found = folded(MESSAGES, [*talk(30), user("Go on.")], **top)
    assert (found.folded, found.reason) == (False, "server-history")
    assert found.conversation.keeps_history is ("compaction" in top)


def test_a_thread_or_compaction_that_is_null_is_none() -> None:
    assert folded(MESSAGES, [*talk(30), user("Go on.")], thread=None, compaction=None).folded


# -- instructions amid the messages ----------------------------------------------------------------------------------------


@each("content", [{}, {"content": []}, {"content": None}])
def test_a_setting_of_one_turn_has_no_content(content: Part) -> None:
    effort = {"role": "system", "output_config": {"effort": "low"}, **content}
    found = folded(MESSAGES, [*talk(15), user("Be quick."), effort, *talk(15)[1:], user("Go on.")])
    assert found.sections
    assert effort in json.loads(found.body)["messages"]
    assert refusals(found.body) == []


ONCE: Part = {"role": "system", "content": "For this turn only: answer in French.", "clear_at": "next_user_message"}


@each("budget", [400, 1500, 4000])
def test_an_instruction_for_an_earlier_turn_does_not_come_back(budget: int) -> None:
    """The API no longer shows it to the model once a later message of the user's stands behind it."""
    history = [*talk(3)[:-1], ONCE, *talk(20)[1:], user("What was said of the ladders?")]
    found = folded(MESSAGES, history, budget)
    cuts = cut(found.conversation, budget, FoldOptions(), WARM)
    for body in [found.body, *([cuts.forwarded.body] if cuts else [])]:
        assert refusals(body) == []
        roles = [(m["role"], "clear_at" in m) for m in json.loads(body)["messages"]]
        at = roles.index(("system", True)) if ("system", True) in roles else -1
        assert at < 0 or ("user", False) in roles[at:]
    assert found.sections


def test_an_instruction_for_the_turn_that_goes_on_stays() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": words.prose(3, "en", 30)}
    for behind in ([], [{"role": "assistant", "content": [use]}, user([result])]):
        found = folded(MESSAGES, [*talk(20), user("And now?"), ONCE, *behind], 900)
        assert found.sections
        assert ONCE in json.loads(found.body)["messages"]
        assert refusals(found.body) == []


# -- tools that come on the way --------------------------------------------------------------------------------------------

REFERENCE: Part = {"type": "tool_reference", "name": "book"}


@each(
    ("message", "budget"),
    product(
        [
            {"role": "assistant", "content": [hosted("All berths.")["listing"], {"type": "text", "text": "Connected."}]},
            user([{"type": "tool_addition", "tool": REFERENCE}, {"type": "text", "text": words.prose(7, "en", 20)}]),
            user([{"type": "tool_removal", "tool": REFERENCE}, {"type": "text", "text": words.prose(7, "en", 20)}]),
        ],
        [500, 1500],
    ),
)
def test_what_brings_or_takes_tools_stays_under_any_budget(message: Part, budget: int) -> None:
    """Without the list Anthropic asks the MCP server again; without the others the model has other tools than it was told."""
    before = talk(4) if message["role"] == "user" else talk(4)[:-1]
    found = folded(MESSAGES, [*before, message, *talk(20)[message["role"] == "user" :], user("Go on.")], budget)
    assert found.sections
    assert message["content"][0]["type"].encode() in found.body

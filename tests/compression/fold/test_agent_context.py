"""What a coding agent puts in front of a session as a user's message stays: project instructions, and which tools there are."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.support import words
from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.provider_rules import faults, refusals
from tests.support.warm import WARM
from turnfold.compression.fold import fold
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.text.dialogue.agent_context import is_agent_context
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES

Item = dict[str, Any]

FACTS = "\n".join(
    f"- {line}"
    for line in (
        "The staging database is at db-stage-7.internal:5439.",
        "Public handlers live in apps/api/src/routes, one file per resource.",
        "Money is stored in integer cents; the helper is toCents().",
        *(words.prose(seed, "en", 2) for seed in range(12)),
    )
)
AGENTS = f"# AGENTS.md instructions for /repo\n\n<INSTRUCTIONS>\n## Shop\n{FACTS}\n</INSTRUCTIONS>"
PLACE = "<environment_context>\n  <cwd>/repo</cwd>\n  <shell>zsh</shell>\n</environment_context>"
MEMORY = (
    "<system-reminder>\nAs you answer the user's questions, you can use the following context:\n# claudeMd\n"
    f"Contents of /repo/CLAUDE.md:\n\n{FACTS}\n</system-reminder>\n"
)
SKILLS = f"<system-reminder>\nThe following skills are available for use with the Skill tool:\n\n{FACTS}\n</system-reminder>\n"
TOOLS = (
    "<system-reminder>\nThe following deferred tools are now available via ToolSearch. Their schemas are NOT loaded: call\n"
    "ToolSearch first.\nTaskCreate\nTaskUpdate\nWebFetch\n</system-reminder>"
)
RULES = (
    "<system-reminder>\nCodebase and user instructions are shown below. Be sure to adhere to these instructions.\n"
    f"Contents of /repo/CLAUDE.md:\n\n{FACTS}\n</system-reminder>"
)
RESTORED = "<system-reminder>\nResult of calling the Read tool:\n" + words.prose(40, "en", 100) + "\n</system-reminder>"
TODO = "<system-reminder>\nHere are the existing tasks:\n\n#1. [in_progress] Move quotas\n#2. Rename limits\n</system-reminder>"
SUMMARY = (
    "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier "
    f"portion of the conversation.\n\nSummary:\n1. Primary request: move the quotas.\n{FACTS}\nContinue where it was left off."
)
HANDED_OVER = (
    "Another language model started to solve this problem and produced a summary of its thinking process. Use this to build on "
    f"the work that has already been done. Here is the summary:\n{FACTS}"
)
CHANGED = f"<system-reminder>\nNote: /repo/apps/api/limits.ts was modified by a linter.\n{FACTS}\n</system-reminder>"


def steps(turns: int = 14) -> list[tuple[str, str, str]]:
    """What the user asks, what a tool finds, and what the assistant answers."""
    found = "\n".join(f"src/f{i}.ts:{i}: const quota{i} = limit{i}" for i in range(80))
    return [(f"Look at route {n}.", f"{n}\n{found}", words.prose(700 + n, "en", 12)) for n in range(turns)]


def codex(*front: str) -> bytes:
    items: list[Item] = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": t} for t in front]}]
    for number, (asked, found, said) in enumerate(steps()):
        name = f"call_{number}"
        items += [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": asked}]},
            {"type": "function_call", "call_id": name, "name": "exec_command", "arguments": '{"cmd": "rg quota"}'},
            {"type": "function_call_output", "call_id": name, "output": found},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]},
        ]
    items.append({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go on."}]})
    return json.dumps({"model": "gpt-5", "instructions": "You are Codex.", "store": False, "input": items}).encode()


def claude(*front: str) -> bytes:
    messages: list[Item] = []
    for number, (asked, found, said) in enumerate(steps()):
        name = f"toolu_{number}"
        texts = [*(front if not number else ()), asked]
        messages += [
            {"role": "user", "content": [{"type": "text", "text": t} for t in texts]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": name, "name": "Grep", "input": {"pattern": "quota"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": found}]},
            {"role": "assistant", "content": [{"type": "text", "text": said}]},
        ]
    messages.append({"role": "user", "content": [{"type": "text", "text": "Go on."}]})
    return json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages}).encode()


def chat(*front: str) -> bytes:
    messages: list[Item] = [{"role": "system", "content": "You are an agent."}, {"role": "user", "content": "\n".join(front)}]
    for number, (asked, found, said) in enumerate(steps()):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "grep", "arguments": '{"pattern": "quota"}'}}
        messages += [
            {"role": "user", "content": asked},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": found},
            {"role": "assistant", "content": said},
        ]
    return json.dumps({"model": "gpt-4o", "messages": [*messages, {"role": "user", "content": "Go on."}]}).encode()


WIRES = {"responses": RESPONSES, "messages": MESSAGES, "chat": CHAT}


@each(
    ("budget", "wire", "front", "session"),
    every(
        2,
        crosswise(
            [
                (budget, *row)
                for budget in [None, 4000]
                for row in [
                    ("responses", (AGENTS, PLACE), codex),
                    ("responses", ("<user_instructions>\n" + FACTS + "\n</user_instructions>",), codex),
                    ("messages", (MEMORY, SKILLS), claude),
                    ("chat", (AGENTS, PLACE), chat),
                    ("chat", (MEMORY,), chat),
                ]
            ],
            5,
        ),
        1,
    ),
)
def test_what_the_agent_always_needs_is_sent_word_for_word(
    wire: str, front: tuple[str, ...], session: Callable[..., bytes], budget: int | None
) -> None:
    body = session(*front)
    folded = fold(WIRES[wire].read(body, WARM), FoldOptions(prices=CachePrices(1, 1), budget=budget), WARM)
    assert folded.folded
    assert folded.tokens_after < (budget or folded.tokens_before * 0.6)
    assert all(json.dumps(text)[1:-1].encode() in folded.body for text in front)
    assert refusals(wire, folded.body) == []
    assert faults(wire, body, folded.body) == []


@each(
    ("wire", "summary", "session"),
    [
        ("responses", HANDED_OVER, codex),
        ("messages", SUMMARY, claude),
        ("chat", f"Here is a summary of the conversation to date:\n\n{FACTS}", chat),
    ],
)
def test_the_summary_that_an_agents_compaction_left_is_sent_word_for_word(
    wire: str, summary: str, session: Callable[..., bytes]
) -> None:
    folded = fold(WIRES[wire].read(session(summary), WARM), FoldOptions(prices=CachePrices(1, 1)), WARM)
    assert folded.folded
    assert json.dumps(summary)[1:-1].encode() in folded.body


AFTER_COMPACTION = (RESTORED, TODO, TOOLS, RULES)


@each("budget", [None, 9000])
def test_what_an_agent_puts_together_after_its_own_compaction_stays_whole(budget: int | None) -> None:
    folded = fold(MESSAGES.read(claude(*AFTER_COMPACTION), WARM), FoldOptions(prices=CachePrices(1, 1), budget=budget), WARM)
    assert folded.folded
    assert all(json.dumps(text)[1:-1].encode() in folded.body for text in AFTER_COMPACTION)


def test_it_does_not_fill_a_budget() -> None:
    folded = fold(MESSAGES.read(claude(*AFTER_COMPACTION), WARM), FoldOptions(prices=CachePrices(1, 1), budget=4000), WARM)
    assert folded.tokens_after <= 4000


def test_a_reminder_of_the_moment_is_folded() -> None:
    folded = fold(MESSAGES.read(claude(CHANGED), WARM), FoldOptions(prices=CachePrices(1, 1), budget=3000), WARM)
    assert json.dumps(CHANGED)[1:-1].encode() not in folded.body


@each(
    ("parts", "is_context"),
    [
        ([AGENTS], True),
        (["", AGENTS, "Fix the route."], True),
        (["Fix the route."], False),
        ([f"See this: {AGENTS}"], False),
        ([AGENTS, words.prose(1, "en", 600)], False),
        ([TOOLS, RESTORED, TODO], True),
        ([TOOLS, RESTORED, TODO, "Go on."], True),
        ([TOOLS, RESTORED.removesuffix("</system-reminder>")], False),
        ([RESTORED, TODO], False),
        ([SUMMARY], True),
        ([CHANGED], False),
        (["\n" * 400_000], False),
        ([], False),
    ],
)
def test_it_is_told_by_how_a_part_begins_and_how_much_of_the_message_it_is(parts: list[str], is_context: bool) -> None:
    assert is_agent_context(parts) is is_context

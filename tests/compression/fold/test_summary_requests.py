"""A request for a summary of the whole conversation, as agents send it when they compact: what the users said comes first.

These tests show what such a request holds under a budget. They leave out summaries of a topic (``recall``), a provider's own
compaction, which is never folded (``wire.test_newer_kinds``).
"""

from __future__ import annotations

import json
from typing import Any

from tests.support import words
from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.warm import WARM
from turnfold.compression.fold import Folded, fold, unfold
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.conversation import Wire
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES

Part = dict[str, Any]

ASKED = (
    "Add a retry to the upload client, but never for a 4xx.",
    "Rename BerthTable to MooringTable everywhere, tests too.",
    "Why does the tide job run twice on Sundays?",
    "Fix that, and write a test which fails without the fix.",
    "Do not touch anything under vendor/.",
    "The linter complains about harbour/rates.py, please look.",
    "Use decimals for all amounts instead of floats.",
    "What would it take to support kroner beside euros?",
    "Let us do it: currency as a field of the rate, default EUR.",
    "The migration has to run without a lock on the berths table.",
    "Show me the plan before you write the migration.",
    "Good, go on with steps one and two only.",
)
COMPACT = {
    "an agent's": (
        "Your job now is a detailed summary of the conversation so far, with special attention to what the user explicitly asked "
        "for and to your own latest actions. It should cover technical details, code patterns and architectural decisions, so "
        "that the work can go on without losing context. Go through the history in order. For each part name the user's requests "
        "and intents, your approach, key decisions, file names, code snippets, function signatures, edits, errors and how they "
        "were fixed. Then write these sections: primary request and intent; key technical concepts; files and code; errors and "
        "fixes; problem solving; all messages of the user; pending tasks; current work; next step. Do not call any tools."
    ),
    "a handover": "Write a handoff summary for the next model: progress, decisions, constraints, what remains to be done.",
    "a note for itself": "Provide a detailed prompt for continuing our conversation: what we did, which files, what comes next.",
    "a person's": "Please summarise our whole conversation.",
    "a person's in German": "Fasse bitte die bisherige Unterhaltung zusammen: eine Zusammenfassung in zehn Punkten.",
    "a person's in Chinese": "请总结一下我们到目前为止的对话。",
}


def session(wire: Wire, edits: int = 1) -> list[Part]:
    """Each request leads to three steps of a tool loop with so many sentences of an edit each, and to a report."""
    found: list[Part] = []
    for n, asked in enumerate(ASKED):
        found.append({"role": "user", "content": asked})
        for step in range(3):
            name, result = f"c{n}_{step}", words.prose(100 * n + step, "en", 30)
            if wire is CHAT:
                call = {"id": name, "type": "function", "function": {"name": "bash", "arguments": f'{{"step": {step}}}'}}
                found += [{"role": "assistant", "content": None, "tool_calls": [call]}]
                found += [{"role": "tool", "tool_call_id": name, "content": result}]
            else:
                use = {"type": "tool_use", "id": name, "name": "bash", "input": {"step": step}}
                found += [{"role": "assistant", "content": [use]}]
                found += [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": result}]}]
        found.append({"role": "assistant", "content": f"Done with request {n}. {words.prose(9000 + n, 'en', 12)}"})
    return found


def compacted(wire: Wire, said: str, budget: int, history: list[Part] | None = None) -> Folded:
    messages = [*(session(wire) if history is None else history), {"role": "user", "content": said}]
    body = json.dumps({"model": "m", "max_tokens": 99, "messages": messages}, ensure_ascii=False).encode()
    found = fold(wire.read(body, WARM), FoldOptions(budget=budget), WARM)
    assert unfold(found) == body
    assert found.sections
    assert found.tokens_after <= budget
    return found


@each(
    ("name", "wire", "budget"),
    every(3, crosswise([(name, *row) for name in COMPACT for row in [(CHAT, 2500), (MESSAGES, 2500), (CHAT, 6000)]], 3), 1),
)
def test_all_that_the_users_asked_for_is_there(name: str, wire: Wire, budget: int) -> None:
    found = compacted(wire, COMPACT[name], budget)
    there = "\n".join(m.text for m in found.forwarded.messages)
    assert [asked for asked in ASKED if asked not in there] == []


def test_of_long_messages_the_beginning_is_there() -> None:
    """A pasted log does not take the room of what others asked for."""
    history = session(CHAT)
    history[0] = {"role": "user", "content": f"{ASKED[0]} {words.prose(5, 'en', 300)}"}
    found = compacted(CHAT, COMPACT["a person's"], 2500, history)
    there = "\n".join(m.text for m in found.forwarded.messages)
    assert [asked for asked in ASKED if asked not in there] == []


def test_what_was_done_is_told_where_there_is_room() -> None:
    found = compacted(CHAT, COMPACT["an agent's"], 6000)
    assert sum(f"Done with request {n}." in found.forwarded.text for n in range(len(ASKED))) >= 5
    assert found.tokens_after > 0.8 * 6000


@each("budget", [1200, 1600, 2500])
def test_the_newest_list_of_what_is_to_be_done_is_there(budget: int) -> None:
    history = session(CHAT, edits=8)
    for n, at in enumerate((4, 12)):
        tasks = [{"content": f"Task {n}-{i}: {words.prose(i, 'en', 1)}", "status": "pending"} for i in range(8)]
        call = {"id": f"p{n}", "type": "function", "function": {"name": "TodoWrite", "arguments": json.dumps({"todos": tasks})}}
        noted = {"role": "tool", "tool_call_id": f"p{n}", "content": "Noted."}
        history[at:at] = [{"role": "assistant", "content": None, "tool_calls": [call]}, noted]
    found = compacted(CHAT, COMPACT["an agent's"], budget, history)
    there = "\n".join(m.text for m in found.forwarded.messages)
    assert [asked for asked in ASKED if asked not in there] == []
    assert [i for i in range(8) if f"Task 1-{i}: " not in there] == []


def test_a_summary_of_a_topic_is_about_the_topic() -> None:
    """The exchange that bears on it comes before what was asked about other things."""
    history = session(CHAT)
    history[-1] = {"role": "assistant", "content": "The tide job ran twice since cron and the scheduler both start it."}
    more = [{"role": r, "content": words.prose(i, "en", 12)} for i, r in enumerate(["user", "assistant"] * 8)]
    found = compacted(CHAT, "Summarise what we found about the tide job.", 1200, [*history, *more])
    assert "cron and the scheduler both start it" in found.forwarded.text

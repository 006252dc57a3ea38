"""Agents that send what a tool gave as a user's message keep the task that they are at work on.

These tests cover sessions in the formats of many agents through the fold and the fit, and people's chats that only look like
them. They leave out the formats (``tests.support.text_agents``), how results are shortened.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise, product
from typing import Any, Final

import pytest

from tests.support.bodies import encode, messages_of
from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.prefix import Kind, classify
from tests.support.text_agents import FORMATS, Session, session
from tests.support.warm import WARM
from turnfold.compression.fit.fit import Fitted, fit
from turnfold.compression.fold import fold, unfold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.conversation import Wire
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES

Message = dict[str, Any]

_MODEL: Final = "gpt-4o"
_OPTIONS: Final = (
    FoldOptions(model=_MODEL),
    *(FoldOptions(model=_MODEL, budget=budget) for budget in (1200, 2500, 5000)),
    *(FoldOptions(model=_MODEL, window=window) for window in (2000, 4000)),
)
_TICKS: Final = "```"


def as_chat(messages: Sequence[Message]) -> bytes:
    return encode(list(messages), model=_MODEL)


def _split(messages: Sequence[Message]) -> tuple[str, list[Message]]:
    told = "\n".join(m["content"] for m in messages if m["role"] == "system")
    return told, [m for m in messages if m["role"] != "system"]


def as_messages(messages: Sequence[Message]) -> bytes:
    system, said = _split(messages)
    parts = [{"role": m["role"], "content": [{"type": "text", "text": m["content"]}]} for m in said]
    return json.dumps({"model": _MODEL, "max_tokens": 900, "system": system or "Work.", "messages": parts}).encode()


def as_responses(messages: Sequence[Message]) -> bytes:
    system, said = _split(messages)
    items = [{"type": "message", "role": m["role"], "content": m["content"]} for m in said]
    return json.dumps({"model": _MODEL, "instructions": system or "Work.", "input": items}).encode()


WIRES: Final[dict[str, tuple[Wire, Callable[[Sequence[Message]], bytes]]]] = {
    "chat": (CHAT, as_chat),
    "messages": (MESSAGES, as_messages),
    "responses": (RESPONSES, as_responses),
}


def sent(found: Fitted) -> str:
    """The text of what is forwarded."""
    return "\n".join(message.own for message in found.forwarded.messages)


def missing(made: Session, text: str) -> list[str]:
    return [said for said in (made.asked, *made.limits, made.last) if said not in text]


@each(
    ("place", "name", "tasks", "steps"),
    every(6, crosswise([(*row, *other) for row in [*enumerate(sorted(FORMATS))] for other in [(1, 12), (2, 7), (3, 5)]], 3)),
)
def test_task_limits_and_newest_result_are_sent(place: int, name: str, tasks: int, steps: int) -> None:
    """Each format meets every second of the options, and each number of tasks meets each of them in some format."""
    made = session(name, tasks, steps, seed=tasks)
    chosen = every(6, _OPTIONS, place + 2 * tasks)
    read = CHAT.read(as_chat(made.messages), WARM)
    kept = [missing(made, sent(fit(read, options, WARM))) for options in chosen]
    assert kept == [[]] * len(kept)


def _as_marked(messages: Sequence[Message], marks: int) -> bytes:
    """A body of Anthropic's whose last user messages have cache marks."""
    told, said = _split(messages)
    parts = [{"role": m["role"], "content": [{"type": "text", "text": m["content"]}]} for m in said]
    for one in [one for one in parts if one["role"] == "user"][-marks:]:
        one["content"][0] |= {"cache_control": {"type": "ephemeral"}}
    return json.dumps({"model": _MODEL, "max_tokens": 900, "system": told or "Work.", "messages": parts}).encode()


@each("marks", [1, 2, 4, 5])
def test_reports_are_told_alike_however_far_marks_move(marks: int) -> None:
    """Each request leaves out a mark where the one before had it; every third one goes back, or on by several steps."""
    for place, name in enumerate(every(6, sorted(FORMATS), marks)):
        made, memo = session(name, 2, 5, seed=marks), Memo()
        ends = [at + 1 for at, one in enumerate(made.messages) if one["role"] == "user"]
        order = [ends[max(0, at - 5)] if at % 3 == place % 3 else end for at, end in enumerate(ends)]
        for end in order:
            body = _as_marked(made.messages[:end], marks)
            assert MESSAGES.read(body, memo).messages == MESSAGES.read(body, Memo()).messages
        assert any(message.reports for message in MESSAGES.read(_as_marked(made.messages, marks), memo).messages)


def with_native_calls(made: Session) -> list[Message]:
    """The same session with calls and results in messages of their own."""
    messages: list[Message] = []
    for i, message in enumerate(made.messages):
        if i not in made.reports:
            messages.append(message)
            continue
        thought, call = messages.pop()["content"].split("\n", 1)
        function = {"name": "run", "arguments": json.dumps({"code": call})}
        messages.append(
            {"role": "assistant", "content": thought, "tool_calls": [{"id": f"c{i}", "type": "function", "function": function}]}
        )
        messages.append({"role": "tool", "tool_call_id": f"c{i}", "content": message["content"]})
    return messages


@each(("tasks", "steps"), every(2, [(1, 14), (2, 9), (3, 6)], 1))
def test_an_agent_with_native_calls_keeps_its_task_within_a_budget_or_a_window(tasks: int, steps: int) -> None:
    made = session("openhands", tasks, steps, seed=tasks)
    read = CHAT.read(as_chat(with_native_calls(made)), WARM)
    kept = [missing(made, sent(fit(read, options, WARM))) for options in _OPTIONS]
    assert kept == [[]] * len(kept)


_NAMES: Final = ("smolagents", "react", "cline", "mini-swe", "openhands", "autogen", "chinese")


@each(("name", "wire"), every(4, [(name, wire) for name in _NAMES for wire in sorted(WIRES)]))
def test_on_every_wire(name: str, wire: str) -> None:
    made = session(name, 2, 10, seed=9)
    on, encoded = WIRES[wire]
    body = encoded(made.messages)
    read = on.read(body, WARM)
    for options in _OPTIONS[:2]:
        folded = fold(read, options, WARM)
        assert folded.folded
        assert unfold(folded) == body
        assert missing(made, "\n".join(message.own for message in folded.forwarded.messages)) == []


@pytest.mark.parametrize("name", every(2, ["smolagents", "terminus", "langchain", "swe-agent", "german"], 1))
def test_a_growing_session_repeats_itself_but_at_fold_events(name: str) -> None:
    """As in a loop of tool calls: what was recalled for a person may go when a person speaks again, and nothing in between."""
    made = session(name, 2, 12, seed=4)
    ends = [i for i, m in enumerate(made.messages, 1) if m["role"] == "user"]
    bodies = [as_chat(made.messages[:end]) for end in ends]
    folds = [fold(CHAT.read(body, WARM), _OPTIONS[0], WARM) for body in bodies]
    assert folds[-1].events
    asked = ""
    for (last, end), body, (before, after) in zip(pairwise(ends), bodies[:-1], pairwise(folds), strict=True):
        asked = asked if last - 1 in made.reports else made.messages[last - 1]["content"]
        step = classify(body, before.forwarded.body, after.forwarded.body)
        if before.events == after.events and step.kind is Kind.REWRITE:
            assert end - 1 not in made.reports
            assert asked in messages_of(before.forwarded.body)[step.at]["content"]
    for body, folded in zip(bodies[::7], folds[::7], strict=True):  # what an earlier request left in memory changes nothing
        assert fold(CHAT.read(body, Memo()), _OPTIONS[0], Memo()).forwarded.body == folded.forwarded.body


# ---------------------------------------------------------------- people

_CODE: Final = f"Try this:\n\n{_TICKS}python\nprint(total)\n{_TICKS}"
_TRACE: Final = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    print(total)\nNameError: total'
_PEOPLE: Final[dict[str, Sequence[str]]] = {
    "nods": ("continue", "next", "ok", "continue", "go on"),
    "thanks": ("Now add a test.\nThanks", "And one for zero.\nThanks", "Rename it to sum_up.\nThanks"),
    "labelled": ("Update: make the button blue", "Update: move it to the left", "Update: it needs a shadow"),
    "lists": ("Changes:\n- make the button blue\n- add a border", "Changes:\n- drop the border again\n- bigger letters"),
    "pasted with a request": (f"{_TRACE}\nPlease fix that.", f"{_TRACE}\nWhy does that still happen?"),
    "pasted below a label": (f"Error:\n{_TRACE}\n\nCan you fix it?", f"Error:\n{_TRACE}\n\nI think the import is missing."),
    "one paste": (_TRACE, "Now it works. Add a docstring.", "And type hints."),
    "emoji": ("Now add a test 🙏", "And a second one 🙏", "Good, one more 🙏"),
    "german": ("Hinweis: die Spalte heißt jetzt Betrag", "Hinweis: bitte ohne Komma", "Hinweis: und mit Datum"),
    "questions": ("Frage: was macht das?", "Frage: und wenn es leer ist?", "Frage: und bei Null?"),
    "times": ("[12:30] make it faster please", "[12:41] and smaller too please", "[13:02] no, as it was before"),
}


@each(
    ("system", "shown", "said"),
    product(
        ["You are a helpful programmer.", "Note: answer with code. Update: be terse."],
        [_CODE, 'I see.\nThe settings:\n{"port": 8080, "retries": 3}', "Rows: [1, 2, 3]"],
        sorted(_PEOPLE),
    ),
)
def test_what_people_say_behind_code_or_data_is_theirs(said: str, shown: str, system: str) -> None:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": "I want a function that adds up a column."}]
    for text in (*_PEOPLE[said], *_PEOPLE[said]):
        messages += [{"role": "assistant", "content": shown}, {"role": "user", "content": text}]
    assert [m.own for m in CHAT.read(as_chat(messages), WARM).messages if m.reports] == []


def test_answers_in_a_given_form_leave_questions_alone() -> None:
    """A program that asks one question after the other, and is answered in JSON."""
    messages: list[Message] = [{"role": "system", "content": 'Answer in JSON: {"label": ""}'}]
    for number in range(8):
        messages += [
            {"role": "user", "content": f"Text: the {number}th parcel came late and wet"},
            {"role": "assistant", "content": '{"label": "complaint"}'},
        ]
    messages.append({"role": "user", "content": "Text: all is well"})
    assert not any(m.reports for m in CHAT.read(as_chat(messages), WARM).messages)


@pytest.mark.parametrize("first", ["hello", '{"user": "hello", "lang": "de"}'])
def test_a_chat_whose_every_message_is_json_is_one_of_people(first: str) -> None:
    messages: list[Message] = [{"role": "user", "content": first}]
    for number in range(8):
        said = json.dumps({"user": f"where is order HX-{number}?", "lang": "de"})
        messages += [{"role": "assistant", "content": '{"reply": "on its way"}'}, {"role": "user", "content": said}]
    assert not any(m.reports for m in CHAT.read(as_chat(messages), WARM).messages)


_STEPS: Final = (
    "Answer with the tools read and note, in this form:\nThought: what to do\nAction: the tool\n"
    'Action Input: its input as JSON, such as {"name": "x"}\n\nThe tool responds:\nObservation: what it gave'
)


def _step(number: int) -> str:
    return f"Thought: I look.\nAction: read\nAction Input: {{'name': 'berth-{number}'}}"


def _of_one_step_each(tasks: int) -> list[Message]:
    """Tasks of one step. Some agents keep what is done in one message of the assistant's: a result is never seen twice."""
    messages: list[Message] = [{"role": "system", "content": _STEPS}]
    for number in range(tasks):
        messages.append({"role": "user", "content": f"Which parts of berth {number} are worn?"})
        rows = "id,part,state\n" + "\n".join(f"{row},pump {row},worn in year {number}" for row in range(60))
        done = f"{_step(number)}\nObservation: {rows}\nThought: I can answer now.\nAnswer: All of {number}."
        last = number == tasks - 1
        messages.append({"role": "assistant", "content": _step(number) if last else done})
        messages += [{"role": "user", "content": f"Observation: {rows}"}] if last else []
    return messages


@pytest.mark.parametrize("tasks", [1, 12])
def test_one_result_is_told_by_instructions_that_name_it_and_its_call_with_data(tasks: int) -> None:
    read = CHAT.read(as_chat(_of_one_step_each(tasks)), WARM).messages
    assert [i for i, message in enumerate(read) if message.reports] == [len(read) - 1]


def test_the_task_of_a_single_step_stays_a_message_of_its_own() -> None:
    messages = _of_one_step_each(12)
    fitted = fit(CHAT.read(as_chat(messages), WARM), FoldOptions(model=_MODEL, budget=1200), WARM)
    assert fitted.folded.folded
    task, call = (message["content"] for message in messages[-3:-1])
    forwarded = [message["content"] for message in messages_of(fitted.forwarded.body)]
    assert [any(said.split("\n\n<quotes", 1)[0].endswith(one) for said in forwarded) for one in (task, call)] == [True, True]


def test_inputs_that_are_answered_in_labelled_data_are_a_persons() -> None:
    messages: list[Message] = [{"role": "system", "content": "Input: what came in\nOutput: its kind as JSON"}]
    for number in range(6):
        messages.append({"role": "user", "content": f"Input: the {number}th parcel came late"})
        messages.append({"role": "assistant", "content": 'Kind:\nOutput:\n{"kind": "complaint"}'})
    messages.append({"role": "user", "content": "Input: all is well"})
    assert not any(m.reports for m in CHAT.read(as_chat(messages), WARM).messages)


def test_results_alone_are_bound() -> None:
    for name in FORMATS:
        made = session(name, 3, 12, seed=3)
        found = {i for i, m in enumerate(CHAT.read(as_chat(made.messages), WARM).messages) if m.reports}
        assert found == set(made.reports), name

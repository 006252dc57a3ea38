"""Histories as particular programs write them, folded: whatever the provider took before, it takes afterwards.

These tests cover habits of programs that no SDK has (results in the system's name, one call id for all calls, a prefill behind a
note that moves), made up after what the programs send. They leave out what providers allow but hardly any program does
(``wild_sessions``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, Final

from tests.support.cases import each
from tests.support.effort import crosswise
from tests.support.wild_runs import SETTINGS, fold_faults, recovery_faults
from tests.support.wild_sessions import Session
from tests.support.words import prose

Message = dict[str, Any]

TURNS: Final = 9
IMAGE: Final = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def _call(name: str, **arguments: Any) -> Message:
    return {"id": name, "type": "function", "function": {"name": "shell", "arguments": json.dumps(arguments)}}


def _result(name: str, content: Any) -> Message:
    return {"role": "tool", "tool_call_id": name, "content": content}


def _user(turn: int) -> Message:
    return {"role": "user", "content": f"Look at part {turn}. {prose(turn, 'en', 4)}"}


def _answer(turn: int) -> Message:
    return {"role": "assistant", "content": prose(200 + turn, "en", 7)}


def _results_as_system(turn: int) -> Iterator[Message]:
    """gptme: calls are fences in the text, and results come in the system's name."""
    yield {**_user(turn), "content": [{"type": "text", "text": _user(turn)["content"]}]}
    for step in range(2):
        yield {"role": "assistant", "content": [{"type": "text", "text": f"I look.\n```shell\ncat f{turn}{step}\n```"}]}
        ran = f"Ran command: `cat f{turn}{step}`\n\n```\n{prose(300 + 2 * turn + step, 'en', 13)}\n```"
        yield {"role": "system", "content": [{"type": "text", "text": ran}]}
    yield _answer(turn)


def _one_id_for_all(turn: int) -> Iterator[Message]:
    """Servers that count their calls anew in each answer."""
    yield _user(turn)
    for step in range(2):
        yield {"role": "assistant", "content": "", "tool_calls": [_call("call_0", n=turn), _call("call_1", n=step)]}
        yield from (_result(f"call_{n}", prose(400 + 4 * turn + 2 * step + n, "en", 13)) for n in range(2))
    yield _answer(turn)


def _picture_behind_its_result(turn: int) -> Iterator[Message]:
    """goose: parallel calls are parted, each with its result, and a result's picture is a message of the user's."""
    yield _user(turn)
    for name in (f"call_{turn}a", f"call_{turn}b"):
        yield {"role": "assistant", "content": None, "tool_calls": [_call(name)], "reasoning_content": prose(turn, "en", 2)}
        yield _result(name, f"{prose(500 + turn, 'en', 13)} The picture is in the next message.")
        yield {"role": "user", "content": [IMAGE]}
    yield _answer(turn)


def _heartbeats(turn: int) -> Iterator[Message]:
    """Letta: what is said is an argument of a call, and the loop goes on with messages in the user's name."""
    yield {"role": "user", "content": json.dumps({"type": "user_message", "message": _user(turn)["content"]})}
    yield {"role": "assistant", "content": "I should look.", "tool_calls": [_call(f"c{turn}", query="part")]}
    yield _result(f"c{turn}", json.dumps({"status": "OK", "message": prose(600 + turn, "en", 13)}))
    yield {"role": "user", "content": json.dumps({"type": "heartbeat", "reason": "Function call succeeded"})}
    yield {"role": "assistant", "content": None, "tool_calls": [_call(f"d{turn}", message=_answer(turn)["content"])]}
    yield _result(f"d{turn}", json.dumps({"status": "OK", "message": None}))


def _thoughts_in_tags(turn: int) -> Iterator[Message]:
    """Open WebUI: an old answer holds its thoughts in tags, and results are lists of parts."""
    yield {"role": "user", "content": [{"type": "text", "text": _user(turn)["content"]}, *([IMAGE] if turn % 3 == 0 else [])]}
    thought = f"<think>{prose(turn, 'en', 6)}</think>\nI look."
    yield {"role": "assistant", "content": thought, "tool_calls": [_call(f"e{turn}"), _call(f"f{turn}")]}
    for name in (f"e{turn}", f"f{turn}"):
        yield _result(name, [{"type": "text", "text": prose(700 + turn + n, "en", 6)} for n in range(2)])
    yield {**_answer(turn), "reasoning_details": [{"type": "reasoning.encrypted", "data": "x" * 90, "id": f"r{turn}"}]}


def _role_play(turn: int) -> Iterator[Message]:
    """SillyTavern: the character goes on by itself, or the user sends nothing."""
    yield _user(turn)
    yield _answer(turn)
    if turn % 3 == 0:
        yield _answer(turn + 50)
    if turn % 4 == 0:
        yield {"role": "user", "content": ""}


_PROGRAMS: Final[dict[str, Callable[[int], Iterator[Message]]]] = {
    "results as system": _results_as_system,
    "one id for all": _one_id_for_all,
    "picture behind its result": _picture_behind_its_result,
    "heartbeats": _heartbeats,
    "thoughts in tags": _thoughts_in_tags,
    "role play": _role_play,
}


def _session(program: str) -> Session:
    items: list[Message] = [{"role": "system", "content": f"You help. {prose(1, 'en', 5)}"}]
    for turn in range(TURNS):
        items += _PROGRAMS[program](turn)
    if program == "role play":
        items.insert(-4, {"role": "system", "content": "[The author's note: keep it short.]"})
    items.append({"role": "user", "content": "What did part 2 say?"})
    if program == "role play":
        items += [{"role": "system", "content": "[Go on.]"}, {"role": "assistant", "content": "*Ann"}]
    return Session("chat", 0, {"model": "gpt-4o"}, items, [len(items)])


@each(("program", "setting"), crosswise(product(sorted(_PROGRAMS), sorted(SETTINGS)), len(SETTINGS)))
def test_what_a_program_sends_is_as_well_formed_folded(program: str, setting: str) -> None:
    assert list(fold_faults(_session(program), setting)) == []


@each("program", sorted(_PROGRAMS))
def test_what_a_program_sends_is_as_well_formed_made_smaller(program: str) -> None:
    assert list(recovery_faults(_session(program))) == []

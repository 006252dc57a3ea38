"""What writing to the provider's cache costs decides about folds: a request's marks say for how long it is kept."""

from __future__ import annotations

import json
from bisect import bisect_left
from dataclasses import replace
from typing import Any, Final

import pytest

from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.fold import Folded, fold
from turnfold.compression.options import CachePrices, FoldDecision, FoldOptions, Warmth
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES

_MINUTES: Final = {"type": "ephemeral"}
_HOUR: Final = {"type": "ephemeral", "ttl": "1h"}
_MODEL: Final = "claude-sonnet-4-5"
_WIRES: Final = {"messages": MESSAGES, "chat": CHAT}
KEY: Final = "The key of the boat house hangs behind the blue oar."
_LONG: Final = 45  # turns
ASK: Final = "Where does the key of the boat house hang?"


def _part(text: str, mark: Any) -> dict[str, Any]:
    return {"type": "text", "text": text} | ({"cache_control": mark} if mark else {})


def _talk(turns: int, newest: Any, system: Any, first: Any = None) -> list[dict[str, Any]]:
    """A talk with marks on the system text, on the first message and on the newest one."""
    found = [{"role": "system", "content": [_part("Be brief.", system)]}]
    for turn in range(turns):
        mark = newest if turn == turns - 1 else first if not turn else None
        said = ASK if turn >= turns - 2 else f"{KEY if not turn else ''} {prose(turn, 'en', 20)}"
        found.append({"role": "user", "content": [_part(said, mark)]})
        found.append({"role": "assistant", "content": prose(1000 + turn, "en", 12 if turn < turns - 2 else 90)})
    return found[:-1]


def _folded(wire: str, messages: list[dict[str, Any]], options: FoldOptions, **more: Any) -> Folded:
    body: dict[str, Any] = {"model": _MODEL, "messages": messages, **more}
    if wire == "messages":
        body |= {"system": messages[0]["content"], "messages": messages[1:], "max_tokens": 100}
    return fold(_WIRES[wire].read(json.dumps(body).encode(), WARM), options, WARM)


def _first_event(wire: str, write: float, share: float, **marks: Any) -> int:
    """Turns of a talk at the first fold."""
    end = marks.pop("end", None)
    more = {"cache_control": end} if end else {}
    options = FoldOptions(model=_MODEL, prices=CachePrices(0.1, write), cache_hit_share=share)
    turns = range(4, 200)
    return turns[bisect_left(turns, 1, key=lambda n: _folded(wire, _talk(n, **marks), options, **more).events)]


@pytest.mark.parametrize("wire", sorted(_WIRES))
def test_marks_for_an_hour_are_reckoned_at_their_own_price(wire: str) -> None:
    minutes, hour = (_first_event(wire, write, 0.3, newest=_MINUTES, system=_MINUTES) for write in (1.25, 2.0))
    assert minutes != hour
    assert _first_event(wire, 1.25, 0.3, newest=_HOUR, system=_HOUR) == hour


@pytest.mark.parametrize("wire", sorted(_WIRES))
def test_the_newest_mark_on_a_message_decides(wire: str) -> None:
    minutes, hour = (_first_event(wire, write, 0.3, newest=_MINUTES, system=_MINUTES) for write in (1.25, 2.0))
    assert _first_event(wire, 1.25, 0.3, newest=_MINUTES, system=_HOUR) == minutes
    assert _first_event(wire, 1.25, 0.3, newest=_HOUR, system=None) == hour


def test_a_mark_at_the_end_of_the_request_decides() -> None:
    minutes, hour = (_first_event("messages", write, 0.3, newest=None, system=None, end=_MINUTES) for write in (1.25, 2.0))
    assert _first_event("messages", 1.25, 0.3, newest=None, system=_MINUTES, end=_HOUR) == hour
    assert _first_event("messages", 1.25, 0.3, newest=None, system=_HOUR, end=_MINUTES) == minutes


def test_where_writing_costs_nothing_extra_it_costs_nothing_for_an_hour() -> None:
    plain = _first_event("chat", 1.0, 0.3, newest=_MINUTES, system=None)
    assert _first_event("chat", 1.0, 0.3, newest=_HOUR, system=None) == plain


@pytest.mark.parametrize("mark", [_MINUTES, _HOUR])
def test_quotes_for_an_earlier_question_go_where_the_cache_never_had_the_answer_behind_them(mark: Any) -> None:
    options = FoldOptions(model=_MODEL, prices=CachePrices(0.1, 1.25), cache_hit_share=0.3)
    talk = _talk(_LONG, newest=mark, system=None)
    assert _recalled(_folded("messages", talk, options)) == [talk[-1]["content"][0]["text"]]


def test_quotes_stay_where_a_cache_may_have_the_answer_behind_them() -> None:
    options = FoldOptions(model=_MODEL, prices=CachePrices(0.1, 1.25), cache_hit_share=0.3)
    talk = _talk(_LONG, newest=None, system=None)
    assert len(_recalled(_folded("messages", talk, options))) > 1


def _recalled(folded: Folded) -> list[str]:
    """The user's messages with quotes behind them."""
    return [folded.conversation.messages[index].text for index in sorted(folded.recalls)]


def test_a_client_that_changes_its_marks_moves_no_earlier_fold() -> None:
    options = FoldOptions(model=_MODEL, prices=CachePrices(0.1, 1.25), belief=FoldDecision(Warmth(0.3, 0.3)))
    hour, minutes = (_talk(_LONG, newest=mark, system=None) for mark in (_HOUR, _MINUTES))
    before = _folded("messages", hour, options)
    assert {one.decision.hour for one in before.decided} == {True}
    decided = replace(options, precedents=before.decided)
    assert _texts(_folded("messages", minutes, decided)) == _texts(before) != _texts(_folded("messages", minutes, options))


def _texts(folded: Folded) -> list[str]:
    return [message.text for message in folded.forwarded.messages]


# ---------------------------------------------------------------- upstreams of which nothing is known yet

_UNKNOWN: Final = FoldOptions(
    model="somebody-large-2",
    prices_if_cached=CachePrices(0.1, 1.0),
    cache_hit_share=0.7,
    belief=FoldDecision(Warmth(0.7, 1.0)),
)


def _agent(steps: int, first: int = 40) -> dict[str, Any]:
    """A task, and steps with results of some 3,000 tokens each."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Find the fault. {prose(1, 'en', first)}"}]
    for step in range(steps):
        call = {"id": f"c{step}", "type": "function", "function": {"name": "log", "arguments": f'{{"n": {step}}}'}}
        lines = "\n".join(f"2026-10-0{n % 9} step {step} {prose(100 * step + n, 'en', 1)}" for n in range(130))
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{step}", "content": lines},
        ]
    return {"model": "somebody-large-2", "messages": messages}


def _events(steps: int, options: FoldOptions = _UNKNOWN) -> int:
    return fold(CHAT.read(json.dumps(_agent(steps)).encode(), WARM), options, WARM).events


def test_nothing_is_risked_before_requests_could_show_whether_there_is_a_cache() -> None:
    sure = replace(_UNKNOWN, prices_if_cached=None)  # of which it is known that there is none
    first = next(n for n in range(20) if _events(n, sure))
    later = next(n for n in range(20) if _events(n))
    assert first < later <= first + 2


def test_a_budget_does_not_wait() -> None:
    assert _events(2) == 0
    assert _events(2, replace(_UNKNOWN, budget=4000)) > 0

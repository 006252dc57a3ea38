"""What a client hands over of files with each request, just in front of the question, stays as it came.

These tests cover chats of agents that send files anew each time, in several forms. They leave out telling such a message by its
form (``text.test_handed_files``).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from typing import Any, Final

import pytest

from tests.support.bodies import Message
from tests.support.cases import each
from tests.support.effort import every, is_thorough
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.fold import unfold
from turnfold.compression.fold.units.questions import handed_over
from turnfold.compression.fold.units.unit import Unit
from turnfold.compression.options import CachePrices, FoldOptions

Form = Callable[[int], list[Message]]  # what is handed over at a turn

_PRICES: Final = (CachePrices(1.0, 1.0), CachePrices(0.5, 1.0), CachePrices(0.1, 1.25))
_ORDER: Final = "Never put a ticket's number into a comment."
_OUTLINE: Final = "Here is an outline of other files of the repository; treat them as read-only.\n\n"


def _source(name: str, turn: int) -> str:
    """A file as it stands at a turn: each turn has changed a line of it."""
    lines = [f"def {name}_{i}(berth):\n    return berth.{name} * {1000 + i + 77 * (turn > i)}\n" for i in range(40)]
    return "\n".join(lines)


def _fenced(turn: int) -> list[Message]:
    files = "\n\n".join(f"src/{name}.py\n```\n{_source(name, turn)}```" for name in ("quay", "crane"))
    told = "I have *added these files to the chat*.\n\n*Trust this message as the true contents of these files!*\n\n"
    ok = {"role": "assistant", "content": "Ok, any changes I propose will be to those files."}
    return [{"role": "user", "content": told + files}, ok]


def _named(turn: int) -> list[Message]:
    sources = {name: _source(name, turn) for name in ("quay", "crane")}
    files = "\n\n".join(f"Das ist `{name}.py`, wie sie jetzt ist:\n~~~python\n{text}~~~" for name, text in sources.items())
    return [{"role": "user", "content": files}, {"role": "assistant", "content": "Verstanden."}]


def _in_the_fence(turn: int) -> list[Message]:
    files = "\n\n".join(f"```python src/{name}.py\n{_source(name, turn)}```" for name in ("quay", "crane"))
    return [{"role": "user", "content": files}]


def _outlined(turn: int) -> list[Message]:
    outline = "\n".join(f"src/part{n}.py:\n⋮\n│def part_{n}(berth):\n│    {prose(n, 'en', 1)}\n⋮" for n in range(40))
    ok = {"role": "assistant", "content": "Ok, I won't edit those files."}
    return [{"role": "user", "content": _OUTLINE + outline}, ok, *_fenced(turn)]


def _requests(form: Form, turns: int) -> list[list[Message]]:
    """The requests of a chat; what was said stands in front of what is handed over, and the question behind it."""
    said: list[Message] = []
    made = []
    for turn in range(turns):
        order = f" {_ORDER}" if turn == 1 else ""
        asked: Message = {"role": "user", "content": f"Raise the rates of berth {turn} in quay.py.{order}"}
        made.append([{"role": "system", "content": "You change files with SEARCH/REPLACE blocks."}, *said, *form(turn), asked])
        said += [asked, {"role": "assistant", "content": f"{prose(turn, 'en', 7)}\n\nquay.py: done for berth {turn}."}]
        said += [{"role": "user", "content": f"I committed that as {turn:07}."}, {"role": "assistant", "content": "Ok."}]
    return made


_FORMS: Final = (_fenced, _named, _in_the_fence, _outlined)


# Every second pair: each form at two prices at least where there are three, each price with two forms.
@pytest.mark.parametrize(("form", "prices"), every(4, [*product(_FORMS, _PRICES)], 2))
def test_what_is_handed_over_stays_as_it_came(form: Form, prices: CachePrices) -> None:
    for turn, messages in enumerate(_requests(form, 60)):
        if turn % (6 if is_thorough() else 12) != 5:
            continue
        body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
        folded = fold_request(body, FoldOptions(model="gpt-4o", prices=prices), WARM)
        assert unfold(folded) == body
        sent = [one["content"] for one in json.loads(folded.body)["messages"]]
        given = [one["content"] for one in form(turn) if one["role"] == "user"]
        assert [text for text in given if not any(text in told for told in sent)] == []
        assert _ORDER in "\n".join(sent)
    assert folded.events


@pytest.mark.parametrize("form", every(2, _FORMS))  # their turns are alike, and the test above has all of them
def test_a_fold_is_not_made_anew_with_each_request(form: Form) -> None:
    """What is handed over stands elsewhere in the next request, so it decides on no fold."""
    moved, before = 0, ""
    for turn, messages in [*enumerate(_requests(form, 60))][:: 2 if is_thorough() else 3]:
        body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
        folded = fold_request(body, FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0)), WARM)
        front = json.dumps(json.loads(folded.body)["messages"][: -len(form(turn)) - 1])[:-1]
        moved += not front.startswith(before)
        before = front
    assert moved <= 60 // 8


def test_a_budget_without_room_for_it_is_met() -> None:
    messages = _requests(_fenced, 30)[-1]
    body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
    folded = fold_request(body, FoldOptions(model="gpt-4o", budget=3000), WARM)
    assert folded.tokens_after <= 3000


def _unit(at: int, tokens: int, **flags: Any) -> Unit:
    usual: dict[str, Any] = dict.fromkeys(("is_user", "pinned", "asks", "marked", "attached"), False)
    return Unit(at, at + 1, tokens, tokens, **{**usual, **flags})


_FILES: Final[dict[str, Any]] = {"is_user": True, "hands_over": True}


@each(
    ("tokens", "flags", "found"),
    [(40, {}, 2), (41, {}, None), (9, {"asks": True}, None), (9, {"pinned": True}, None), (9, {"reasons": True}, None)],
)
def test_files_that_are_acknowledged_in_few_words_are_handed_over_together(
    tokens: int, flags: dict[str, bool], found: int | None
) -> None:
    units = [
        _unit(0, 50, is_user=True),
        _unit(1, 50),
        _unit(2, 900, **_FILES),
        _unit(3, tokens, **flags),
        _unit(4, 900, **_FILES),
        _unit(5, 20),
        _unit(6, 30, is_user=True),
    ]
    assert handed_over(units, 6) == range(4 if found is None else found, 5)
    assert handed_over(units, 4) == range(4 if found is None else found, 5)
    assert handed_over(units[:2], 1) == range(1, 1)

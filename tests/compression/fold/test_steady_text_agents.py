"""Agents that get results as a user's messages: while they work, requests only append, under a budget and without.

These tests show how often such a request rewrites what was sent before. They leave out native calls (``fit.test_steady``), what a
fold keeps of such agents.
"""

from __future__ import annotations

import json
from itertools import pairwise, product
from typing import Final

import pytest

from tests.support.bodies import encode
from tests.support.effort import crosswise, every, is_thorough
from tests.support.structure import structure_faults
from tests.support.text_agents import HELD_OUT, TUNED, session
from tests.support.words import prose
from turnfold.compression.fold import Folded, conversation_tokens, fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.formats.chat import CHAT

_NAMES: Final = [*TUNED, *HELD_OUT]
_REQUESTS: Final = 9
_RULES: Final = " ".join(f"Keep file {7 * i} as it is, unless the owner of part {3 * i} says otherwise." for i in range(60))
_KEPT: Final = {0.3: 5, 0.15: 3}  # of 8, by the budget's share: a step takes a quarter of the smaller one


def _sent(name: str, share: float) -> list[Folded]:
    """The last requests of a session, under a budget of a share of the last one."""
    messages, memo = list(session(name, tasks=1, steps=30, seed=3).messages), Memo()
    whole = conversation_tokens(CHAT.read(encode(messages), memo), "gpt-4o", memo)
    options = FoldOptions(model="gpt-4o", prices=CachePrices(0.1, 1.25), cache_hit_share=1.0, budget=int(share * whole))
    ends = [i + 1 for i, message in enumerate(messages) if message["role"] == "user"][-_REQUESTS:]
    found = [fold(CHAT.read(encode(messages[:end]), memo), options, memo) for end in ends]
    assert all(one.tokens_after <= (options.budget or 0) for one in found)
    return found


@pytest.mark.parametrize(("share", "name"), every(3, crosswise(product(_KEPT, _NAMES), len(_NAMES)), 1))
def test_a_text_agent_seldom_rewrites_its_prefix_under_a_budget(name: str, share: float) -> None:
    bodies = [json.loads(one.body)["messages"] for one in _sent(name, share)]
    kept = [new[: len(old)] == old for old, new in pairwise(bodies)]
    assert sum(kept) >= _KEPT[share], kept


@pytest.mark.parametrize("name", every(3, ["cline", "terminus", "aider"], 1))
def test_an_agent_may_be_known_as_one_after_it_has_outgrown_its_budget(name: str) -> None:
    messages = list(session(name, tasks=1, steps=3, seed=3).messages)
    first = next(i for i, message in enumerate(messages) if message["role"] == "user")
    messages[first] = {**messages[first], "content": f"{messages[first]['content']}\n{_RULES}"}
    ends = [i + 1 for i, message in enumerate(messages) if message["role"] == "user"][:3]
    sizes = [conversation_tokens(CHAT.read(encode(messages[:end]), Memo()), "gpt-4o", Memo()) for end in ends]
    memo = Memo()
    for budget in range(sizes[0], sizes[-1], 100 if is_thorough() else 240):
        options = FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0), budget=budget)
        for end in ends:
            body = encode(messages[:end])
            assert structure_faults(body, fold(CHAT.read(body, memo), options, memo).body) == []


@pytest.mark.parametrize("name", every(2, ["react", "cline"], 1))
def test_replicas_hold_a_text_agent_alike(name: str) -> None:
    for one in _sent(name, 0.3)[3::9]:
        whole = conversation_tokens(CHAT.read(encode(list(session(name, 1, 30, 3).messages)), Memo()), "gpt-4o", Memo())
        options = FoldOptions(model="gpt-4o", prices=CachePrices(0.1, 1.25), cache_hit_share=1.0, budget=int(0.3 * whole))
        assert fold(one.conversation, options, Memo()).body == one.body


@pytest.mark.parametrize("size", [240, 300])
def test_a_fold_is_not_undone_where_a_chat_turns_out_to_be_an_agents(size: int) -> None:
    messages = [
        {"role": "system", "content": f"You work in a shell. {prose(1, 'en', 25)}"},
        {"role": "user", "content": f"This is how it was done before.\n{prose(2, 'en', size)}"},
        {"role": "user", "content": f"The issue: part 9 is not painted. {prose(3, 'en', 23)}"},
    ]
    for n in range(4):
        said = f"I look at part {n} now. {prose(90 + n, 'en', 6)}\n\n```\nopen part_{n}.txt\n```"
        shown = f"[File: /parts/{n}.txt (1 lines total)]\n1:{prose(50 + n, 'en', 6)}\n\n(Open file: /parts/{n}.txt)"
        shown += "\n(Current directory: /parts)\nbash-$"
        messages += [{"role": "assistant", "content": said}, {"role": "user", "content": shown}]
    memo, events = Memo(), []
    options = FoldOptions(model="gpt-4.1", prices=CachePrices(0.25, 1.0), cache_hit_share=0.7)
    for end in range(3, len(messages) + 1, 2):
        folded = fold(CHAT.read(encode(messages[:end]), memo), options, memo)
        events.append(folded.events)
        assert fold(CHAT.read(encode(messages[:end]), Memo()), options, Memo()).body == folded.body
    assert events == sorted(events), events


@pytest.mark.parametrize("opening", ["Ann:", "[Ann, 5 June]", "**Ann:**"])
def test_talk_with_speakers_names_is_folded_as_early_as_talk_without(opening: str) -> None:
    def events(user: str, answers: str) -> list[int]:
        messages, memo, found = [{"role": "system", "content": "You play a friend."}], Memo(), []
        for n in range(40):
            asked, told = prose(200 + n, "en", 8), prose(300 + n, "en", 8)
            messages.append({"role": "user", "content": f"{user} {asked}" if n else asked})  # a talk may begin without names
            folded = fold(CHAT.read(encode(messages), memo), options, memo)
            found.append(folded.events)
            messages.append(
                {"role": "assistant", "content": f"{answers} {told}\n{answers} {asked}" if n % 3 else f"{answers} {told}"}
            )
        return found

    options = FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0), cache_hit_share=0.7)
    with_names = events(opening, "Ben:")
    assert with_names[-1] > 0
    assert with_names == events(opening.translate(_UNLABELLED), "Ben;")


_UNLABELLED: Final = str.maketrans(":[]", ";()")

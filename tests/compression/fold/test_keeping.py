"""What somebody wants left as it is stays so, while everything around it is folded."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.bodies import Message, encode, messages_of
from tests.support.effort import costly, every
from tests.support.known_folds import fold_request
from tests.support.structure import structure_faults
from tests.support.warm import WARM
from turnfold.compression.options import FoldOptions, Keep

INSIDE = st.sampled_from(["7 kegs,  2 casks", "x\n\n y", "<b>1</b>"])


def table(seed: int, rows: int = 60) -> str:
    return json.dumps([{"order": f"A-{seed}-{i}", "state": "open", "crates": i * 7 % 11} for i in range(rows)], indent=1)


def session(steps: int, names: tuple[str, ...] = ("search_orders", "list_stock")) -> list[Message]:
    """An agent's session whose steps call these tools in turn, a user's message in front of every fourth."""
    messages: list[Message] = [{"role": "system", "content": "You look after orders."}]
    for i in range(steps):
        if i % 4 == 0:
            note = f"Check the orders of quay {i}. " + " ".join(f"Remember crate {i}-{k} is late." for k in range(40))
            messages.append({"role": "user", "content": note})
        call = {"id": f"c{i}", "type": "function", "function": {"name": names[i % len(names)], "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{i}", "content": table(i)})
        if i % 4 == 3:
            messages.append({"role": "assistant", "content": f"Quay {i} is done. " + "All of it is in order there. " * 30})
    return [*messages, {"role": "user", "content": "And now?"}]


def folded(messages: list[Message], keep: Keep, budget: int | None = None) -> list[Message]:
    body = encode(messages, model="gpt-4o")
    found = fold_request(body, FoldOptions(model="gpt-4o", recall=False, keep=keep, budget=budget), WARM)
    assert structure_faults(body, found.body) == []
    assert found.tokens_after < found.tokens_before
    return messages_of(found.body)


def results(messages: list[Message]) -> dict[str, str]:
    return {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool"}


@pytest.mark.parametrize("budget", [None, 2500])
def test_results_of_a_kept_tool_stay_and_others_do_not(budget: int | None) -> None:
    messages = session(24)
    sent = {
        m.get("tool_call_id"): m["content"]
        for m in folded(messages, Keep(frozenset({"list_stock"})), budget)
        if m["role"] == "tool"
    }
    came = results(messages)
    assert all(sent[f"c{i}"] == came[f"c{i}"] for i in range(1, 24, 2))
    assert any(sent.get(f"c{i}") != came[f"c{i}"] for i in range(0, 24, 2))


def test_without_it_they_are_shaped_and_folded() -> None:
    messages = session(24)
    sent = results(folded(messages, Keep()))
    came = results(messages)
    assert sum(sent.get(name) == text for name, text in came.items()) < 4


@pytest.mark.parametrize("role", ["assistant", "tool"])
def test_messages_of_a_kept_role_stay(role: str) -> None:
    messages = session(40, ("search_orders",))
    sent = [json.dumps(m, sort_keys=True) for m in folded(messages, Keep(roles=frozenset({role}))) if m["role"] == role]
    came = [json.dumps(m, sort_keys=True) for m in messages if m["role"] == role]
    assert sent == came


def stands_whole(text: str, sent: str) -> bool:
    """Whether a text was sent as it came, with nothing before and behind it but what a fold says of other messages."""
    before, found, behind = sent.partition(text)
    ours = (part.strip() for part in (before, behind))
    return bool(found) and all(not part or part.startswith("[turnfold ") for part in ours)


@pytest.mark.parametrize("turns", every(2, [40, 100]))
def test_kept_user_messages_stay_whole_and_few_have_a_text_of_ours_beside_them(turns: int) -> None:
    messages = session(turns, ("search_orders",))
    sent = [m["content"] for m in folded(messages, Keep(roles=frozenset({"user"}))) if m["role"] == "user"]
    came = [m["content"] for m in messages if m["role"] == "user"]
    assert all(stands_whole(theirs, ours) for ours, theirs in zip(sent, came, strict=True))
    assert sum(ours != theirs for ours, theirs in zip(sent, came, strict=True)) <= 3


@costly(5)
@given(
    st.integers(0, 23),
    st.sampled_from(["user", "tool", "assistant"]),
    st.sampled_from(["7 kegs,  2 casks", "x\n\n y", "<b>1</b>"]),
)
def test_what_stands_between_keep_marks_keeps_its_bytes(at: int, role: str, inside: str) -> None:
    messages = session(24)
    places = [i for i, m in enumerate(messages[:-1]) if m["role"] == role and m["content"]]
    place = places[at % len(places)]
    marked = f"{messages[place]['content']} <keep>{inside}</keep> and so on."
    messages[place] = {**messages[place], "content": marked}
    assert any(stands_whole(marked, m["content"]) for m in folded(messages, Keep()) if m["role"] == role and m["content"])


@pytest.mark.parametrize("tag", ["KEEP", "Keep"])
def test_keep_marks_may_be_written_in_capitals(tag: str) -> None:
    messages = session(24)
    marked = f"{messages[1]['content']} <{tag}>7 kegs,  2 casks</{tag}> and so on."
    messages[1] = {**messages[1], "content": marked}
    assert any(stands_whole(marked, m["content"]) for m in folded(messages, Keep()) if m["role"] == "user")


def test_a_mark_that_is_not_closed_marks_nothing() -> None:
    messages = session(24)
    plain = folded(messages, Keep())
    messages[1] = {**messages[1], "content": messages[1]["content"] + " </keep> <keep> x"}
    assert len(folded(messages, Keep())) == len(plain)

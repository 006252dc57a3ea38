"""How messages are brought within a budget: what goes first, what last, how close to the budget it ends (system E, E7).

These tests cover the order and the size of the steps. They leave out speed and linear work (``test_roundtrip``), laws over random
messages (``test_roundtrip_laws``).
"""

from __future__ import annotations

import itertools
import json
from itertools import product
from typing import Any

import pytest

from tests.support.cases import each
from tests.support.effort import crosswise, every
from turnfold.compression import Compressed, CompressOptions, compress, default_token_counter, strip_provenance, uncompress
from turnfold.compression.roundtrip.cutting import Cuttable

Message = dict[str, Any]

WORDS = ["the", "harbour", "was", "calm", "and", "blue", "boats", "came", "home", "one", "after", "another", "while"]
WORDS += ["somebody", "sang", "about", "rain", "on", "old", "stone", "walls"]
ORDERED = list(itertools.permutations(WORDS[:7]))


def prose(n: int, size: int = 12) -> str:
    return f"{' '.join((*ORDERED[31 * n % len(ORDERED)], *WORDS[7 : 7 + size]))}.".capitalize()


def fence(n: int, lines: int = 14) -> str:
    body = "\n".join(f"    step_{n}_{k} = run({n}, {k})" for k in range(lines))
    return f"```python\ndef job_{n}():\n{body}\n```"


def fenced(count: int) -> list[Message]:
    said = (f"{prose(n)}\n\n{fence(n)}\n\n{prose(n + 7)}" for n in range(count))
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(said)]


def size(messages: list[Any]) -> int:
    return sum(map(default_token_counter, strip_provenance(messages)))


def forced(messages: list[Message], budget: int, **options: Any) -> Compressed:
    result = compress(messages, CompressOptions(token_budget=budget, force_converge=True, **options))
    assert json.dumps(uncompress(result).messages) == json.dumps(messages)
    assert result.token_count == size(result.messages)
    return result


def text_of(messages: list[Any]) -> str:
    return "\n".join(str(message.get("content")) for message in messages)


def fences_in(result: Compressed) -> list[int]:
    text = text_of(result.messages)
    return [n for n in range(200) if fence(n) in text]


@each(("share", "role"), every(2, crosswise(product([0.95, 0.8, 0.6, 0.4, 0.2, 0.1], ["assistant", "tool"]), 2)))
def test_one_giant_message_leaves_no_cliff(share: float, role: str) -> None:
    """As much of it stays as there is room for, although nothing between it and the newest messages is left to give up."""
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    lines = "\n".join(f"{prose(n)} depth {n}" for n in range(160))
    asked: list[Message] = [{"role": "user", "content": "What was said?"}]
    if role == "tool":
        asked.append({"role": "assistant", "content": None, "tool_calls": [call]})
    answer = {"role": role, "content": lines if role == "tool" else lines.replace("\n", " ")}
    giant: list[Message] = [*asked, answer | ({"tool_call_id": "c"} if role == "tool" else {})]
    messages = [*giant, {"role": "user", "content": "And now?"}, {"role": "assistant", "content": "Yes."}]
    budget = int(share * size(messages))
    result = compress(messages, CompressOptions(token_budget=budget))
    assert json.dumps(uncompress(result).messages) == json.dumps(messages)
    assert result.fits
    assert result.token_count is not None
    assert result.token_count > 0.55 * budget


# --- close to the budget, oldest first --------------------------------------------------------------------------------


@each("share", [0.3, 0.6, 0.9])
def test_no_more_of_a_long_sentence_gives_way_than_has_to(share: float) -> None:
    text = ", ".join(prose(n).rstrip(".").lower() for n in range(30))
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": "Well."}]
    result = forced(messages, int(share * size(messages)), recency_window=0)
    left = result.messages[0]["content"]
    assert result.fits
    assert left.endswith(" …")
    assert text.startswith(left[:-2])
    assert 0.9 * share < len(left) / len(text) < 1.1 * share


@pytest.mark.parametrize("count", every(2, [81, 120], 1))
def test_each_budget_gives_a_result_close_below_it(count: int) -> None:
    messages = fenced(count)
    whole = size(messages)
    held = []
    for share in (0.8, 0.7, 0.6, 0.5, 0.3):
        result = forced(messages, int(share * whole))
        assert result.fits
        assert result.token_count is not None
        assert result.token_count > (share - 0.03) * whole
        held.append(fences_in(result))
    assert all(len(more) > len(fewer) for more, fewer in itertools.pairwise(held[1:]))


def test_fences_go_oldest_first_and_not_while_prose_remains() -> None:
    messages = fenced(80)
    result = forced(messages, size(messages) // 2)
    held = fences_in(result)
    assert 10 < len(held) < 79
    assert held == list(range(80 - len(held), 80))
    text = text_of(result.messages)
    assert [n for n in range(79) if prose(n) in text and n not in (78, 79)] == []
    kept_all = forced(messages, int(0.75 * size(messages)))
    assert fences_in(kept_all) == list(range(80))


@each(("over", "kind"), product([1.015, 1.05], ["prose", "fences", "calls"]))
def test_a_little_too_much_loses_a_little(kind: str, over: float) -> None:
    if kind == "prose":
        messages: list[Message] = [
            {"role": ("user", "assistant")[n % 2], "content": " ".join(prose(n * 9 + k) for k in range(8))} for n in range(80)
        ]
    elif kind == "fences":
        messages = [{"role": ("user", "assistant")[n % 2], "content": fence(n)} for n in range(80)]
    else:
        arguments = [json.dumps({"path": f"src/module_{n}.py"}) for n in range(60)]
        calls = [
            {"id": f"c{n}", "type": "function", "function": {"name": "read", "arguments": a}} for n, a in enumerate(arguments)
        ]
        messages = [{"role": "user", "content": "Read them all, one by one, please."}]
        for n, call in enumerate(calls):
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": fence(n, 4)})
    whole = size(messages)
    result = forced(messages, int(whole / over))
    assert result.fits
    assert (result.token_count or 0) > (1 - 3 * (over - 1)) * whole
    assert result.messages[-1]["content"] == messages[-1]["content"]
    changed = [n for n, (one, other) in enumerate(zip(messages, strip_provenance(result.messages), strict=False)) if one != other]
    assert not changed or len(result.messages) != len(messages) or changed[-1] < len(messages) // 4


# --- what goes last ---------------------------------------------------------------------------------------------------

ORDER = "From now on answer in French only."


@each(("beside", "share"), product([f"{prose(3)} {prose(4)}", fence(2)], [0.1, 0.3, 0.6]))
def test_a_standing_order_outlives_the_block_beside_it(beside: str, share: float) -> None:
    order = "From now on never use the word boat in any letter that you write for us."
    messages = [{"role": "user", "content": f"{order}\n\n{fence(1, 30)}\n\n{beside}"}, {"role": "assistant", "content": "Well."}]
    result = forced(messages, int(share * size(messages)), recency_window=0)
    assert result.fits
    assert order in result.messages[0]["content"]


def test_standing_orders_and_the_newest_user_message_outlive_everything_else() -> None:
    messages = [
        {"role": "user", "content": f"{ORDER} {prose(1)}"},
        *fenced(30)[1:],
        {"role": "user", "content": f"Now this: {' '.join(prose(n) for n in range(20))}\n\n{fence(900)}"},
        {"role": "assistant", "content": " ".join(prose(n + 40) for n in range(20))},
    ]
    newest = size(messages[-2:-1])
    for budget in (newest + 60, newest + 200, newest + 600):
        result = forced(messages, budget)
        assert result.fits
        assert messages[-2]["content"] in text_of(result.messages)
        assert ORDER in text_of(result.messages)
    last = forced(messages, newest // 2)
    assert last.fits
    assert messages[-2]["content"] not in text_of(last.messages)


@pytest.mark.parametrize("force", [False, True])
def test_the_newest_user_message_is_shortened_last_where_it_is_all_there_is(force: bool) -> None:
    messages = [{"role": "user", "content": " ".join(prose(n) for n in range(60))}]
    result = compress(messages, {"token_budget": size(messages) // 2, "force_converge": force})
    assert result.fits
    assert 0 < (result.token_count or 0) <= size(messages) // 2


def test_an_agent_s_only_task_stays_while_results_go() -> None:
    task = f"Find the fault. {' '.join(prose(n) for n in range(10))}"
    messages: list[Message] = [{"role": "user", "content": task}]
    for n in range(40):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "cat", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": "\n".join(prose(n * 11 + k) for k in range(12))})
    result = forced(messages, size(messages) // 6)
    assert result.fits
    assert result.messages[0]["content"] == task
    assert [m.get("tool_call_id") for m in result.messages if m["role"] == "tool"] == [f"c{n}" for n in range(40)]


# --- where it cannot fit ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("force", [False, True])
def test_what_cannot_fit_is_said_and_left_mild(force: bool) -> None:
    rules = {"role": "system", "content": " ".join(prose(n) for n in range(200))}
    messages = [rules, *fenced(20)]
    result = compress(messages, {"token_budget": size([rules]) - 10, "force_converge": force})
    assert result.fits is False
    assert fences_in(result) == list(range(20))
    default = compress(messages)
    assert strip_provenance(result.messages) == strip_provenance(default.messages)


def test_a_budget_below_the_window_leaves_the_mildest_attempt() -> None:
    messages = fenced(40)
    result = forced(messages, size(messages[-10:]) - 5, min_recency_window=10)
    assert not result.fits
    assert fences_in(result) == list(range(40))
    assert result.messages[-10:] == messages[-10:]


def test_figures_go_after_talk() -> None:
    chat = [f"{prose(n)} {prose(n + 300)} Valve {n} opened at {n + 100} bar. {prose(n + 600)}" for n in range(80)]
    messages: list[Message] = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(chat)]
    text = text_of(compress(messages, {"token_budget": int(0.4 * size(messages))}).messages)
    assert [n for n in range(80) if f"Valve {n} opened at {n + 100} bar" not in text] == []


def test_a_cut_leaves_no_more_prose_than_it_was_asked_for_around_however_many_blocks() -> None:
    piece = "We met in the harbour at noon and spoke about the weather and the fish for a while."
    text = Cuttable("\n\n".join([piece, "```\nx = 1\n```"] * 4))
    for left in range(0, text.prose, 40):
        cut = text.with_prose(left)
        assert cut.count("x = 1") == 4
        said = sum(len(line) for line in cut.splitlines() if not line.startswith(("```", "x")))
        assert left - 60 <= said <= left + 12, (left, cut)

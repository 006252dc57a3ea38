"""Claude gets no white space at the end of an assistant's text in a request that is changed; other bytes stay."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.cases import each
from tests.support.effort import every
from tests.support.known_folds import fold_request
from tests.support.prefix import Kind, classify
from tests.support.structure import structure_faults
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.calibration import Learned
from turnfold.compression.fit.fit import fit
from turnfold.compression.fold import fold, unfold
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.config.fold import fold_options
from turnfold.config.settings import Settings, UpstreamSettings

Message = dict[str, Any]
CLAUDE = "claude-sonnet-4-5"
FREE = CachePrices(1.0, 1.0)
TURNS = 26  # a little more than is folded at these prices


def chat(turns: int, ending: str = " \n", prefill: str = "", words: int = 12) -> list[Message]:
    roles = ("user", "assistant")
    messages = [{"role": roles[i % 2], "content": prose(i, "en", words) + ending * (i % 2)} for i in range(2 * turns + 1)]
    return [*messages, *([{"role": "assistant", "content": prefill}] if prefill else [])]


def body_of(messages: list[Message], model: str = CLAUDE) -> bytes:
    return json.dumps({"model": model, "messages": messages}, ensure_ascii=len(messages) % 2 == 0).encode()


def last_texts(body: bytes) -> list[str]:
    """What each message of the assistant ends with."""
    said = [m["content"] for m in json.loads(body)["messages"] if m["role"] == "assistant" and m["content"]]
    return [content if isinstance(content, str) else content[-1]["text"] for content in said]


@each(
    ("model", "prefill", "budget"),
    [
        (CLAUDE, "", None),
        (CLAUDE, '{"answer": ', 2000),
        ("anthropic/Claude-Opus-4", "Sure:\n\n", None),
        ("us.anthropic.claude-3-5-haiku-20241022-v1:0", "Okay\u3000", 2000),
    ],
)
def test_a_folded_request_ends_no_assistant_text_in_white_space(model: str, prefill: str, budget: int | None) -> None:
    body = body_of(chat(TURNS, prefill=prefill), model)
    folded = fold_request(body, FoldOptions(prices=FREE, budget=budget), WARM)
    assert folded.folded
    assert all(text == text.rstrip() for text in last_texts(folded.body))
    assert not prefill or last_texts(folded.body)[-1] == prefill.rstrip()
    assert unfold(folded) == body
    assert structure_faults(body, folded.body) == []


def test_other_models_keep_it() -> None:
    body = body_of(chat(TURNS, prefill="Sure: "), "gpt-4o")
    folded = fold_request(body, FoldOptions(prices=FREE), WARM)
    assert folded.folded
    assert last_texts(folded.body)[-1] == "Sure: "


def test_an_unchanged_request_keeps_its_bytes() -> None:
    body = body_of(chat(3, prefill="Sure: "))
    assert fold_request(body, FoldOptions(), WARM).body == body


@each(
    ("message", "ends"),
    [
        ({"content": [{"type": "text", "text": "One. "}, {"type": "text", "text": "Two.\n"}]}, "Two."),
        ({"content": [{"type": "text", "text": "Two.\t", "cache_control": {"type": "ephemeral"}}]}, "Two."),
        ({"content": "Sealed. ", "thinking_blocks": [{"type": "thinking", "thinking": "x", "signature": "s"}]}, "Sealed. "),
        ({"content": "Open. ", "thinking_blocks": None}, "Open."),
        ({"content": " \n"}, " \n"),
    ],
)
def test_lists_seals_and_blanks(message: Message, ends: str) -> None:
    body = body_of([*chat(TURNS), {"role": "assistant", **message}])
    folded = fold_request(body, FoldOptions(prices=FREE), WARM)
    assert folded.folded
    assert last_texts(folded.body)[-1] == ends
    assert unfold(folded) == body


@pytest.mark.parametrize(("window", "turns", "words"), every(2, [(600, 30, 12), (2500, 8, 150), (1200, 4, 200)], 1))
def test_a_request_made_to_fit_a_window_ends_none_either(window: int, turns: int, words: int) -> None:
    conversation = CHAT.read(body_of(chat(turns, prefill="Here it is: ", words=words)), WARM)
    fitted = fit(conversation, FoldOptions(model=CLAUDE, window=window), WARM, Learned(), fold)
    assert fitted.fitted
    assert all(text == text.rstrip() for text in last_texts(fitted.forwarded.body))


def test_any_model_of_an_upstream_that_serves_claude_alone() -> None:
    for url, refuses in (
        ("https://api.anthropic.com/v1", True),
        ("https://eu.anthropic.com/v1", True),
        ("https://api.openai.com/v1", False),
        ("https://anthropic.com.example/v1", False),
    ):
        settings = Settings(upstream=UpstreamSettings(url=url))
        assert fold_options(settings, "our-alias").refuses_trailing_space is refuses


def steps(turns: int, results: list[int]) -> list[Message]:
    """An agent that ends its words in white space; results of these turns are large, so that they are shaped or folded."""
    messages: list[Message] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": prose(1, "en", 15)}]
    for turn in range(turns):
        rows = [{"id": n, "name": f"part {n}", "state": "ok"} for n in range(120 if turn in results else 2)]
        call = {"id": f"c{turn}", "type": "function", "function": {"name": "look", "arguments": json.dumps({"at": turn})}}
        messages += [
            {"role": "assistant", "content": f"Step {turn} comes next. \n", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{turn}", "content": json.dumps(rows, indent=2)},
            {"role": "assistant", "content": f"Step {turn} is done.\n"},
            {"role": "user", "content": prose(turn, "en", 10)},
        ]
    return messages


@pytest.mark.parametrize(
    ("results", "folds"),
    every(2, [([6, 15], True), ([3], False)], 1),  # a result of 120 rows is folded at the first prices, only shaped at the second
)
def test_the_prefix_stays_stable_but_for_fold_events(results: list[int], folds: bool) -> None:
    messages, memo = steps(18, results), WARM
    options = FoldOptions(prices=FREE if folds else CachePrices(0.1, 1.25))
    before: tuple[bytes, bytes] | None = None
    events = trimmed = 0
    for end in [i + 1 for i, m in enumerate(messages) if m["role"] == "user"]:
        body = body_of(messages[:end])
        folded = fold_request(body, options, memo)
        assert unfold(folded) == body
        if before and folded.events == events:
            assert classify(*before, folded.body).kind is not Kind.REWRITE
        before, events = (body, folded.body), folded.events
        trimmed += any(text == text.rstrip() for text in last_texts(folded.body))
    assert bool(events) is folds
    assert trimmed

"""Summaries by a model of the caller's (rows E6, E9): prompts, escalation, refusal, awaiting."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.cases import each
from tests.support.small_talk import FENCE, talk, text_of
from turnfold.compression import (
    InvalidInput,
    compress,
    create_escalating_summarizer,
    create_summarizer,
    strip_provenance,
    uncompress,
)

MESSAGES = talk(20)


def run(awaitable: Any) -> Any:
    async def main() -> Any:
        return await awaitable

    return asyncio.run(main())


@pytest.mark.parametrize("mode", ["normal", "aggressive"])
def test_the_prompt_says_what_must_be_kept(mode: Any) -> None:
    seen: list[str] = []
    summarizer = create_summarizer(
        lambda prompt: seen.append(prompt) or "short",  # type: ignore[func-returns-value]
        max_response_tokens=240,
        system_prompt="This is a contract.",
        mode=mode,
        preserve_terms=["clause numbers"],
    )
    assert summarizer("The text of it.") == "short"
    (prompt,) = seen
    assert prompt.startswith("This is a contract.")
    assert "The text of it." in prompt
    assert ("240 tokens" in prompt, "120 tokens" in prompt) == (mode == "normal", mode == "aggressive")
    assert ("bullet" in prompt) == (mode == "aggressive")
    for kept in ("code", "paths", "functions", "URLs", "keys", "error messages", "numbers", "decisions", "clause numbers"):
        assert kept in prompt


@each(
    ("options", "field"),
    [
        ({"max_response_tokens": 0}, "max_response_tokens"),
        ({"mode": "brief"}, "mode"),
        ({"system_prompt": 3}, "system_prompt"),
        ({"preserve_terms": [3]}, "preserve_terms"),
        ({"preserve_terms": "pier"}, "preserve_terms"),
        ({"call": None}, "call"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput, match=field):
        create_summarizer(**{"call": str, **options})


def at_once(_: str) -> str:
    return "They talked."


async def later(_: str) -> str:
    await asyncio.sleep(0)
    return "They talked."


@each("summarizer", [at_once, later, create_summarizer(at_once), create_summarizer(later)])
def test_with_a_summarizer_the_result_is_awaited(summarizer: Callable[[str], Any]) -> None:
    waiting = compress(MESSAGES, summarizer=summarizer)
    assert inspect.isawaitable(waiting)
    result = run(waiting)
    assert "They talked." in result.messages[0]["content"]
    assert uncompress(result).messages == MESSAGES
    assert run(waiting).messages == result.messages
    assert run(compress(MESSAGES, {"summarizer": summarizer})).messages == result.messages


def failing(_: str) -> str:
    raise RuntimeError("the model is away")


@each(
    ("summarizer", "why"),
    [
        (lambda _: "", "empty"),
        (lambda _: " \n", "empty"),
        (lambda text: text + "!", "too long"),
        (lambda text: text, "too long"),
        (lambda _: None, "missing"),
        (failing, "missing"),
    ],
)
def test_a_bad_summary_is_refused(summarizer: Callable[[str], Any], why: str) -> None:
    result = run(compress(MESSAGES, {"trace": True}, summarizer=summarizer))
    assert result.messages == compress(MESSAGES).messages
    assert any(f"the summarizer's text was {why}" in decision.reason for decision in result.trace)


def test_orders_and_secrets_that_a_summary_lost_are_put_back() -> None:
    said = "From now on answer in French only. My token is ghp_Ab12Cd34Ef56Gh78Ij90."
    result = run(compress(talk(20, said, 6), summarizer=at_once))
    assert "From now on answer in French only." in text_of(result.messages)
    assert "ghp_Ab12Cd34Ef56Gh78Ij90" in text_of(result.messages)


@pytest.mark.parametrize("alone", [True, False])
def test_an_order_that_is_put_back_names_its_speaker_where_others_spoke_too(alone: bool) -> None:
    said = {**MESSAGES[0], "content": f"{MESSAGES[0]['content']} From now on answer in French only."}
    code = {"role": "assistant", "content": FENCE}
    result = run(compress([said, *([code] * alone), *MESSAGES[1:]], summarizer=at_once))
    assert ("They talked.\nFrom now on" in text_of(result.messages)) is alone
    assert ("They talked.\nuser: From now on" in text_of(result.messages)) is not alone


def test_a_summarizer_sees_no_code_and_no_tool_results() -> None:
    seen: list[str] = []

    def summarizer(text: str) -> str:
        seen.append(text)
        return "They talked."

    code = {"role": "assistant", "content": f"{MESSAGES[1]['content']}\n\n{FENCE}"}
    tool = {"role": "tool", "tool_call_id": "c", "content": "2026-01-01 INFO all is well here\n" * 90}
    result = run(compress([*MESSAGES[:5], code, tool, *MESSAGES[5:]], summarizer=summarizer))
    assert seen
    assert not any("def f" in text or "INFO" in text for text in seen)
    assert FENCE in text_of(result.messages)


def test_a_summary_keeps_to_the_budget_that_was_found() -> None:
    plain = compress(MESSAGES, {"token_budget": 400})
    result = run(compress(MESSAGES, {"token_budget": 400}, summarizer=lambda text: text[: len(text) // 2]))
    assert result.fits
    assert result.token_count <= 400
    assert strip_provenance(result.messages[-2:]) == strip_provenance(plain.messages[-2:])


def test_escalation() -> None:
    asked: list[str] = []

    def answering(*answers: Any) -> Callable[[str], Any]:
        left = list(answers)

        def call(prompt: str) -> Any:
            asked.append(prompt)
            answer = left.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call

    text = "The pump was serviced. " * 20
    for answers, expected, prompts in (
        (["Serviced."], "Serviced.", 1),
        (["", "- serviced"], "- serviced", 2),
        ([text * 2, "- serviced"], "- serviced", 2),
        ([RuntimeError("away"), "- serviced"], "- serviced", 2),
        ([RuntimeError("away"), None], "", 2),
    ):
        asked.clear()
        assert run(create_escalating_summarizer(answering(*answers), max_response_tokens=100)(text)) == expected
        assert len(asked) == prompts
    assert "100 tokens" in asked[0]
    assert "50 tokens" in asked[1]
    result = run(compress(MESSAGES, summarizer=create_escalating_summarizer(failing)))
    assert result.messages == compress(MESSAGES).messages


def test_only_the_failures_that_were_named_count_as_no_answer() -> None:
    with pytest.raises(RuntimeError, match="away"):
        run(create_escalating_summarizer(failing, failures=(OSError,))("The pump was serviced."))


def test_a_reply_without_a_term_to_keep_is_refused() -> None:
    asked = create_escalating_summarizer(lambda _: "We met and talked.", preserve_terms=["pump 3"])
    assert run(asked("We met on the pier, and pump 3 held its 43 bar as we talked.")) == ""
    assert run(asked("We met on the pier, and we talked for a long while about it.")) == "We met and talked."

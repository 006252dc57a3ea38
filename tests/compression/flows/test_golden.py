"""Layers written and rated by a model, with every call (``tests.support.golden`` says when to write the file anew)."""

from __future__ import annotations

import asyncio
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from tests.support import golden, odd_texts, small_talk, words
from tests.support.summary_writer import faithful
from turnfold.compression import CompressOptions, compress, create_escalating_summarizer, uncompress
from turnfold.compression.flows.layers import ModelWish, layer_steps
from turnfold.compression.flows.roundtrip import summarised_steps
from turnfold.compression.layers import Compressor, CompressRequest
from turnfold.compression.summary.asking import ProseWish
from turnfold.compression.summary.calls import ModelCall, ModelReply
from turnfold.compression.wire.model_calls import write_call

FILE = Path(__file__).parent / "golden" / "layers.txt"


def _said(call: ModelCall, seed: int) -> ModelReply | None:
    """What a model says: what is true, mostly; else nothing, too much, what nobody asked for, or half of it."""
    if call.kind == "scorer":
        scores = ", ".join(f'"{i}": {(7 * i + seed) % 11 / 10}' for i in range(1, 30 - seed))
        return ModelReply(f"{{{scores}}}")
    true = faithful(write_call("chat", "m", call))
    replies = (ModelReply(true), ModelReply(true[:200], complete=False), ModelReply(f"{true} Never pay Bob 77."), None)
    return (*(ModelReply(true),) * 5, *replies, ModelReply(""))[seed % 10]


def test_layers_of_a_model() -> None:
    lines = []
    for seed in golden.some(range(28)):
        text = f"{words.prose(seed, 'en', 3 + 2 * seed)} {odd_texts.text(4 * seed)}"
        wish = ModelWish(writes=seed % 4 != 3, rates=seed % 3 == 0, tokens=(300, 60, 25, 23)[seed // 3 % 4])
        flow = layer_steps(CompressRequest(text, l1_ratio=(0.3, 0.6, 0.9)[seed % 3]), wish, Compressor())
        calls, reply = list[ModelCall](), None
        try:
            while True:
                calls.append(flow.send(reply))
                reply = _said(calls[-1], seed)
        except StopIteration as done:
            made = done.value
        sizes = [layer.tokens for layer in made.result.layers]
        told = f"{made.written} {made.fault or '-'} {made.rated} of {made.sentences}, {[call.max_tokens for call in calls]}"
        lines.append(f"{seed}: {sizes} {told} {golden.name_of((made, calls))}")
    golden.agrees_in(FILE, lines)


def _shorter(text: str, seed: int) -> object:
    """What a caller's function says of a text: less, nothing, more, or no text at all."""
    said = text[: max(1, len(text) // (2 + seed % 7))]
    return (said, said, f" {said}\n", "", " ", text, f"{text}!", None, 7)[(len(text) + seed) % 9]


def _repeats(prompt: str, seed: int) -> str:
    """What a model says to a prompt: the text in it, or half of it."""
    text = prompt.rpartition("<text>\n")[2].removesuffix("\n</text>")
    return (text, text[: len(text) // 2], "", " x ")[(len(prompt) + seed) % 4]


def with_summarizer(options: CompressOptions, seed: int) -> Any:
    said = {field.name: getattr(options, field.name) for field in fields(options)}
    return {**said, "summarizer": lambda text: _shorter(text, seed)}


async def _result(flow: Any) -> Any:
    return await flow


def test_messages_summarised_by_somebody_else() -> None:
    """By a function of the caller's, by prompts that escalate, and by a model whose prose is checked."""
    lines = []
    for seed in golden.some(range(14)):
        talked = small_talk.talk(6 + seed % 4, "Never call the night desk. The code is R-0417.", seed % 5)
        messages = [*talked, {"role": "tool", "content": odd_texts.text(4 * seed)}, *small_talk.chat(2 + seed % 3)]
        if seed % 2:
            messages = [{**one, "index": i, "id": f"m{i}"} for i, one in enumerate(messages)]
        options = CompressOptions(
            recency_window=seed % 3, token_budget=(None, None, 500)[seed % 3], embed_summary_id=seed % 4 == 0, trace=True
        )
        prompts, calls = list[str](), list[ModelCall]()

        def asked(prompt: str, seed: int = seed, prompts: list[str] = prompts) -> str:
            prompts.append(prompt)
            return _repeats(prompt, seed)

        escalating = create_escalating_summarizer(asked, max_response_tokens=1 + seed, system_prompt="Hm." * (seed % 2))
        made = [
            asyncio.run(_result(compress(messages, with_summarizer(options, seed)))),
            asyncio.run(_result(compress(messages, options, summarizer=escalating))),
        ]
        flow, reply = summarised_steps(messages, options, ProseWish(200, ("R-0417",), terse=seed % 3 == 2)), None
        try:
            while True:
                calls.append(flow.send(reply))
                reply = _said(calls[-1], seed + len(calls))
        except StopIteration as done:
            made.append(done.value)
        assert all(uncompress(one).messages == messages for one in made)
        names = [golden.name_of(json.dumps(one.as_dict())) for one in made]
        lines.append(f"{seed}: {len(prompts)} prompts, {len(calls)} calls {' '.join(names)} {golden.name_of((prompts, calls))}")
    golden.agrees_in(FILE.parent / "summaries.txt", lines)


def test_a_text_as_long_as_what_it_stands_for_is_no_summary() -> None:
    """Blanks at its end make it no shorter."""
    messages = [*small_talk.talk(6, "The code is R-0417.", 3), *small_talk.chat(2)]
    asked: list[str] = []

    def padded(text: str) -> str:
        asked.append(text)
        return text[: len(text) // 2].ljust(len(text))

    made = asyncio.run(_result(compress(messages, CompressOptions(recency_window=1, trace=True), summarizer=padded)))
    reasons = [one.reason for one in made.trace or () if "the summarizer" in one.reason]
    assert asked
    assert reasons
    assert all(one.endswith("the summarizer's text was too long") for one in reasons)

"""Layers written and rated by a model, with every call (``tests.support.golden`` says when to write the file anew)."""

from __future__ import annotations

from pathlib import Path

from tests.support import golden, odd_texts, words
from tests.support.summary_writer import faithful
from turnfold.compression.flows.layers import ModelWish, layer_steps
from turnfold.compression.layers import Compressor, CompressRequest
from turnfold.compression.summary.calls import ModelCall, ModelReply
from turnfold.compression.wire.model_calls import CallText, write_call

FILE = Path(__file__).parent / "golden" / "layers.txt"


def _said(call: ModelCall, seed: int) -> ModelReply | None:
    """What a model says: what is true, mostly; else nothing, too much, what nobody asked for, or half of it."""
    if call.kind == "scorer":
        scores = ", ".join(f'"{i}": {(7 * i + seed) % 11 / 10}' for i in range(1, 30 - seed))
        return ModelReply(f"{{{scores}}}")
    true = faithful(write_call("chat", "m", CallText(call.system, call.user, call.max_tokens)))
    replies = (ModelReply(true), ModelReply(true[:200], complete=False), ModelReply(f"{true} Never pay Bob 77."), None)
    return (*(ModelReply(true),) * 5, *replies, ModelReply(""))[seed % 10]


def test_layers_of_a_model() -> None:
    lines = []
    for seed in range(28):
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
    golden.agrees(FILE, lines)

"""Layers of a text with a model's help: it may rate the sentences, and write the summary.

This module fixes the order of the steps, as a generator that yields calls, and as an awaitable over a caller's function. The
layers are made in ``layers``; prompts and checks are in ``summary``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Generator
from dataclasses import dataclass, replace
from typing import Final

from turnfold.compression import tokens
from turnfold.compression.flows.driver import DrivenFlow, answered
from turnfold.compression.flows.summarizers import PromptFunction
from turnfold.compression.layers import SCORERS, CompressedResult, Compressor, CompressRequest, Layer
from turnfold.compression.scorers.given import GivenScores
from turnfold.compression.summary.asking import ProseWish, score_sentences, write_prose
from turnfold.compression.summary.calls import ModelCall, ModelReply

_LEAST: Final = 24  # tokens of layer 1 below which a written summary could hardly be shorter


@dataclass(frozen=True, slots=True)
class ModelWish:
    """What a model is asked to do.

    Attributes:
        writes: whether to write layer 2.
        rates: whether to rate the sentences.
        tokens: maximum length of layer 2.
    """

    writes: bool = True
    rates: bool = False
    tokens: int = 300


@dataclass(frozen=True, slots=True)
class ModelLayers:
    """A result, and the model's part in it.

    Attributes:
        written: whether the model wrote layer 2.
        fault: why it did not although it was asked to; otherwise "".
        rated: number of sentences with a model's score; the others have the fallback's.
        sentences: number of sentences to rate.
    """

    result: CompressedResult
    written: bool = False
    fault: str = ""
    rated: int = 0
    sentences: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether the model did everything it was asked to do."""
        return not self.fault and self.rated == self.sentences


def layer_steps(
    request: CompressRequest, wish: ModelWish, compressor: Compressor
) -> Generator[ModelCall, ModelReply | None, ModelLayers]:
    """The layers of a text. Yields calls, and is sent replies (None if a call failed). Whatever the model does not do is done
    without it.

    Raises:
        InvalidInput: the request's scorer does not return one finite number for each sentence.
    """
    rated: dict[str, float] = {}
    pieces: list[str] = []
    if wish.rates:
        pieces = compressor.sentences(request.text)
        scores = yield from score_sentences(pieces, request.query)
        rated = {piece: score for piece, score in zip(pieces, scores, strict=True) if score is not None}
        compressor = compressor.rated_by(GivenScores(rated, SCORERS[request.scorer or "composite"]))
        request = replace(request, scorer=None)
    result = compressor.compress(request)
    made = ModelLayers(result, rated=sum(piece in rated for piece in pieces), sentences=len(pieces))
    if not wish.writes:
        return made
    most = min(wish.tokens, result.layers[1].tokens)
    if most < _LEAST:
        return replace(made, fault="too-short")
    prose = ProseWish(most - most // 4, sentences=request.l2_max_sentences)
    found = yield from write_prose(request.text, prose, tokens.count, "layer")
    layer = Layer(found.text, tokens.count(found.text))
    if not found.text or layer.tokens > result.layers[1].tokens:
        return replace(made, fault=found.fault or "longer")
    layers = (*result.layers[:2], layer)
    return replace(made, result=replace(result, layers=layers), written=True)


def compress_text(
    request: CompressRequest,
    call: PromptFunction,
    wish: ModelWish = ModelWish(),
    *,
    compressor: Compressor | None = None,
    failures: tuple[type[Exception], ...] = (Exception,),
) -> Awaitable[ModelLayers]:
    """The layers of a text with a model's help.

    Args:
        call: answers a prompt, directly or as an awaitable; an exception in `failures` counts as no answer.
        wish: what the model does; by default it writes layer 2.
    """

    def steps() -> Generator[str, object, ModelLayers]:
        return answered(layer_steps(request, wish, compressor or Compressor()), _as_prompt)

    return DrivenFlow(steps, call, failures)


def _as_prompt(asked: ModelCall) -> Generator[str, object, ModelReply | None]:
    """A call as a single prompt that is answered with text."""
    said = yield f"{asked.system}\n\n{asked.user}"
    return ModelReply(said) if isinstance(said, str) else None

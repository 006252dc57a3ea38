"""A local model as an encoder.

This module runs the model beside the event loop and bounds the CPU time that it takes. The model is in ``onnx_encoder``.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from yarl import URL

from turnfold.config.semantic import SemanticSettings
from turnfold.proxy.asking.own_upstream import Caller
from turnfold.proxy.asking.spending import Payer
from turnfold.proxy.semantic.encoder import Encoded, EncoderFailed, VectorRequest
from turnfold.proxy.semantic.onnx_encoder import OnnxEncoder, find_files

_AT_ONCE: Final = 8  # between two pauses


def open_local(semantic: SemanticSettings) -> LocalEncoder:
    """The encoder of the settings; takes about a second.

    Raises:
        EncoderFailed: there is none.
    """
    return LocalEncoder(OnnxEncoder(find_files(semantic.model or "", semantic.tokenizer), semantic.knows))


class LocalEncoder:
    """Implements ``Encoder``."""

    most_texts = _AT_ONCE
    most_calls = 1
    only_while_served = False

    def __init__(self, model: OnnxEncoder) -> None:
        self._model = model
        self.name = model.name
        self.dimension = model.dimension
        self.knows = model.knows
        self.failures: Counter[str] = Counter()

    def is_ready(self, errand: VectorRequest) -> bool:
        """Always."""
        del errand
        return True

    async def encode(self, texts: Sequence[str], errand: VectorRequest) -> Encoded:
        """See the protocol."""
        del errand
        try:
            return await asyncio.to_thread(partial(self._run, texts))
        except EncoderFailed:
            self.failures["model"] += 1
            raise

    def trial(self) -> VectorRequest:
        """An errand for a trial."""
        return VectorRequest(Payer(""), "", Caller("", ()), URL())

    def _run(self, texts: Sequence[str]) -> Encoded:
        """Vectors, and the CPU seconds that they took."""
        before = time.thread_time()
        return Encoded(self._model.encode(texts), time.thread_time() - before)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """No resources are needed."""
        yield

"""Sentence vectors for measurements: what a proxy would have made in the background is made at once.

Lives here: an encoder with a memory. Does not belong here: what is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from turnfold.compression.fold.likeness import cosines, language_of, passage_texts
from turnfold.compression.recall.ranking import Question
from turnfold.compression.text.quotes import Source
from turnfold.proxy.semantic.onnx_encoder import OnnxEncoder, find_files


class Comparison:
    """How like questions passages are; a text in another language than English is like nothing, as in the proxy.

    Args:
        model: of ``TURNFOLD_SEMANTIC_MODEL``; None: nothing is compared.
    """

    def __init__(self, model: str | None, tokenizer: Path | None = None) -> None:
        self._encoder = None if model is None else OnnxEncoder(find_files(model, tokenizer), None)
        self._kept: dict[bytes, bytes] = {}

    def likeness(self, question: Question, sources: Sequence[Source]) -> tuple[bytes, ...]:
        """As of ``Question.likeness``."""
        if self._encoder is None or language_of(question.text) != "english":
            return ()
        (asked,) = self._encoder.encode([question.text])
        return tuple(cosines(asked, self._vectors(source)) for source in sources)

    def _vectors(self, source: Source) -> bytes:
        if source.key not in self._kept:
            assert self._encoder is not None
            texts = passage_texts(source.text) if language_of(source.text) == "english" else []
            self._kept[source.key] = b"".join(self._encoder.encode(texts))
        return self._kept[source.key]

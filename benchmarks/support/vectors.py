"""Sentence vectors for measurements: what a proxy would have made in the background is made at once."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

from turnfold.compression.fold.likeness import cosines, language_of, passage_texts
from turnfold.compression.recall.question import Question
from turnfold.compression.text.quotes import Source
from turnfold.proxy.semantic.onnx_encoder import OnnxEncoder, find_files

_NAME: Final = 16  # bytes of a text's digest


class Comparison:
    """How like questions passages are; a text in another language than English is like nothing, as in the proxy.

    Args:
        model: of ``TURNFOLD_SEMANTIC_MODEL``; None: nothing is compared.
        kept: a file of vectors by text that were made before, and where those go that are made; for one model only.
    """

    def __init__(self, model: str | None, tokenizer: Path | None = None, kept: Path | None = None) -> None:
        self._encoder = None if model is None else OnnxEncoder(find_files(model, tokenizer), None)
        self._file = kept
        self._kept: dict[bytes, bytes] = {}
        self._made: dict[bytes, bytes] = {}
        if self._encoder is not None and kept is not None and kept.exists():
            record, known = _NAME + self._encoder.dimension, kept.read_bytes()
            cut = (known[i : i + record] for i in range(0, len(known), record))
            self._made = {one[:_NAME]: one[_NAME:] for one in cut}

    def likeness(self, question: Question, sources: Sequence[Source]) -> tuple[bytes, ...]:
        """As of ``Question.likeness``."""
        if self._encoder is None or language_of(question.text) != "english":
            return ()
        asked = self._vector(question.text)
        return tuple(cosines(asked, self._vectors(source)) for source in sources)

    def _vectors(self, source: Source) -> bytes:
        if source.key not in self._kept:
            texts = passage_texts(source.text) if language_of(source.text) == "english" else []
            self._kept[source.key] = b"".join(map(self._vector, texts))
        return self._kept[source.key]

    def _vector(self, text: str) -> bytes:
        assert self._encoder is not None
        name = blake2b(text.encode("utf-8", "replace"), digest_size=_NAME).digest()
        if name not in self._made:
            (self._made[name],) = self._encoder.encode([text])
            if self._file is not None:
                with self._file.open("ab") as file:
                    file.write(name + self._made[name])
        return self._made[name]

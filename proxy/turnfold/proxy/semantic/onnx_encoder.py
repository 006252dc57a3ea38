"""A sentence-embedding model in ONNX format, run on this machine.

This module finds the model's files, loads it and runs it, whatever its vectors are used for.

onnxruntime and tokenizers come with the extra ``turnfold[semantic]``, and are imported when a model is set. Nothing is ever
downloaded, and nothing reported: recent builds of onnxruntime send events to Microsoft (its Privacy.md) unless that is switched
off in front of the import. One text is run at a time: a model with quantised activations scales them by all that is in a batch,
so that a text's vector would depend on its neighbours.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from turnfold.config.paths import in_home
from turnfold.proxy.incidents import attempt
from turnfold.proxy.semantic.encoder import EncoderFailed, quantised

_MOST_TOKENS: Final = 256  # maximum tokens of a text; passages are shorter
_INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_NO_TELEMETRY: Final = "ORT_DISABLE_TELEMETRY"
_EXTRA: Final = "install turnfold[semantic]"


class ModelFiles(NamedTuple):
    """Where a model and its tokenizer are."""

    model: Path
    tokenizer: Path


def find_files(model: str, tokenizer: Path | None) -> ModelFiles:
    """The files of a model: of a path, else of an installed package, whose modules are not run.

    Raises:
        EncoderFailed: there are none.
    """
    path = in_home(model, "TURNFOLD_SEMANTIC_MODEL")
    if not path.exists():
        path = _package(model)
    if path.is_dir():
        found = sorted(path.rglob("*.onnx"), key=lambda file: (file.name != "model.onnx", len(file.parts), file))
        if not found:
            raise EncoderFailed(f"{path} contains no .onnx file")
        path = found[0]
    beside = (folder / "tokenizer.json" for folder in (path.parent, path.parent.parent))
    words = tokenizer or next((file for file in beside if file.is_file()), None)
    if words is None or not words.is_file():
        raise EncoderFailed(f"there is no tokenizer.json next to {path}: set TURNFOLD_SEMANTIC_TOKENIZER")
    return ModelFiles(path, words)


def _package(name: str) -> Path:
    module = name.replace("-", "_")
    spec = find_spec(module) if module.isidentifier() else None
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not folders:
        raise EncoderFailed(f"{name!r} is not a file, a directory or an installed package")
    return Path(folders[0])


class OnnxEncoder:
    """The model. Opening one takes about a second.

    Args:
        knows: languages that the model knows; None: all.

    Raises:
        EncoderFailed: the extra is not installed, or the files are no model that this can run.
    """

    def __init__(self, files: ModelFiles, knows: frozenset[str] | None) -> None:
        self.knows = knows
        os.environ[_NO_TELEMETRY] = "1"
        try:
            runtime, tokenizers = import_module("onnxruntime"), import_module("tokenizers")
        except ImportError as exc:
            raise EncoderFailed(f"{exc.name} is not installed: {_EXTRA}") from exc
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # the settings limit its share of the CPU
        options.log_severity_level = 4
        opened = attempt(partial(_open, runtime, tokenizers, files, options))  # both libraries raise exceptions of their own
        if isinstance(opened, Exception):
            raise EncoderFailed(f"{files.model} cannot be loaded: {type(opened).__name__}") from opened
        self._session, self._tokenizer, version = opened
        self._inputs = [one.name for one in self._session.get_inputs()]
        if unknown := set(self._inputs) - _INPUTS:
            raise EncoderFailed(f"{files.model} needs an unknown input: {min(unknown)}")
        self.name = f"onnx-{version}"
        self.dimension = 0
        self.dimension = len(self._vector("A text to try it with."))

    def encode(self, texts: Sequence[str]) -> list[bytes]:
        """A vector a text, in order. Takes long; several threads may call at once.

        Raises:
            EncoderFailed: the model failed.
        """
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> bytes:
        made = attempt(partial(self._run, text.encode("utf-8", "replace").decode()))
        if isinstance(made, Exception):
            raise EncoderFailed(f"the model failed: {type(made).__name__}") from made
        return bytes(self.dimension) if made is None else quantised(made)

    def _run(self, text: str) -> npt.NDArray[Any] | None:
        """The model's own vector; None for a text without a token."""
        ids = self._tokenizer.encode(text).ids
        if not ids:
            return None
        row = np.array([ids], np.int64)
        feeds = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
        output = np.asarray(self._session.run(None, {name: feeds[name] for name in self._inputs})[0][0])
        return output.mean(axis=0) if output.ndim > 1 else output  # mean pooling over tokens


def _open(runtime: Any, tokenizers: Any, files: ModelFiles, options: Any) -> tuple[Any, Any, str]:
    """A session, a tokenizer, and a digest of both files."""
    model, words = files.model.read_bytes(), files.tokenizer.read_bytes()
    session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    tokenizer = tokenizers.Tokenizer.from_file(str(files.tokenizer))
    tokenizer.no_padding()
    tokenizer.enable_truncation(_MOST_TOKENS)
    return session, tokenizer, sha256(model + words).hexdigest()[:24]

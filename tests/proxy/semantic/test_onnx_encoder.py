"""The encoder loads real files, by path and by package, and says what is wrong with others."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.support.tiny_encoder import DIMENSION, write_model
from turnfold.proxy.semantic.encoder import EncoderFailed, quantised
from turnfold.proxy.semantic.onnx_encoder import OnnxEncoder, find_files


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def encoder(folder: Path) -> OnnxEncoder:
    return OnnxEncoder(find_files(str(folder), None), None)


def cosine(one: bytes, other: bytes) -> float:
    a, b = (np.frombuffer(v, np.int8).astype(float) for v in (one, other))
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b) or 1.0))


def test_onnxruntime_reports_to_nobody(folder: Path, tmp_path: Path) -> None:
    code = f"from {find_files.__module__} import *; OnnxEncoder(find_files({str(folder)!r}, None), None).encode(['text'])"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=60)  # noqa: S603 - our own code
    assert list(tmp_path.iterdir()) == []  # where its telemetry runs, it keeps a session there


def test_texts_of_one_topic_are_alike(encoder: OnnxEncoder) -> None:
    hobbies, skiing, crate = encoder.encode(["hobbies", "skiing", "crate"])
    assert encoder.dimension == len(hobbies) == DIMENSION
    assert cosine(hobbies, skiing) > 0.9
    assert cosine(hobbies, crate) < 0.5


def test_a_vector_depends_on_its_own_text_alone(encoder: OnnxEncoder) -> None:
    texts = ["hobbies at the gate", "a crate", "skiing " * 500, "", "\ud800 lone", "zzz"]
    assert encoder.encode(texts) == [encoder.encode([text])[0] for text in texts]


def test_a_text_without_a_token_is_like_nothing(encoder: OnnxEncoder) -> None:
    assert encoder.encode(["", "  \n"]) == [bytes(DIMENSION)] * 2


@pytest.mark.parametrize("row", [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]])
def test_what_has_no_direction_is_all_zeros(row: list[float]) -> None:
    assert quantised(np.array(row)) == bytes(2)


def test_models_of_different_files_have_different_names(encoder: OnnxEncoder, folder: Path, tmp_path: Path) -> None:
    other = write_model(tmp_path / "other")
    words = other / "tokenizer.json"
    words.write_text(words.read_text("utf-8").replace('"pottery"', '"knitting"'), "utf-8")
    assert OnnxEncoder(find_files(str(other), None), None).name != encoder.name
    assert OnnxEncoder(find_files(str(folder / "model.onnx"), None), None).name == encoder.name


def test_an_installed_package_is_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "a_packaged_model"
    write_model(package / "data")
    (package / "__init__.py").write_text("raise RuntimeError('its modules are not run')", "utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert find_files("a-packaged-model", None).model == package / "data" / "model.onnx"


def nothing(path: Path) -> None:
    path.mkdir()


def no_tokenizer(path: Path) -> None:
    (write_model(path) / "tokenizer.json").unlink()


def broken_model(path: Path) -> None:
    (write_model(path) / "model.onnx").write_bytes(b"no model")


def broken_tokenizer(path: Path) -> None:
    (write_model(path) / "tokenizer.json").write_text("{}", "utf-8")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (nothing, "contains no .onnx file"),
        (no_tokenizer, "TURNFOLD_SEMANTIC_TOKENIZER"),
        (broken_model, "cannot be loaded"),
        (broken_tokenizer, "cannot be loaded"),
        (lambda _: None, "no file, no directory and no installed package"),
    ],
)
def test_what_is_no_model_is_told(make: Callable[[Path], None], said: str, tmp_path: Path) -> None:
    make(tmp_path / "model")
    with pytest.raises(EncoderFailed, match=said):
        OnnxEncoder(find_files(str(tmp_path / "model"), None), None)

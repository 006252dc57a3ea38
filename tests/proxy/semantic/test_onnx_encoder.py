"""The encoder loads real files, by path and by package, and says what is wrong with others."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from copy import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from tests.support.cases import each
from tests.support.tiny_encoder import DIMENSION, write_model
from turnfold.proxy.semantic.encoder import EncoderFailed, quantised
from turnfold.proxy.semantic.local_encoder import LocalEncoder
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


@each("row", [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]])
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
        (lambda _: None, "not a file, a directory or an installed package"),
    ],
)
def test_what_is_no_model_is_told(make: Callable[[Path], None], said: str, tmp_path: Path) -> None:
    make(tmp_path / "model")
    with pytest.raises(EncoderFailed, match=said):
        OnnxEncoder(find_files(str(tmp_path / "model"), None), None)


def test_a_vector_is_scaled_to_its_largest_number() -> None:
    assert list(np.frombuffer(quantised(np.array([2.0, -1.0, 0.004, 0.0])), np.int8)) == [127, -64, 0, 0]
    assert list(np.frombuffer(quantised(np.array([0.5, -3.0])), np.int8)) == [21, -127]
    assert quantised(np.array([])) == b""


class Scripted:
    """A model and a tokenizer that are made up: a token a word, a vector a token that counts its letters."""

    def __init__(self, pooled: bool = False) -> None:
        self.pooled = pooled
        self.fed: list[dict[str, list[list[int]]]] = []

    def encode(self, text: str) -> SimpleNamespace:
        return SimpleNamespace(ids=[len(word) for word in text.split()])

    def run(self, names: None, feeds: dict[str, Any]) -> list[Any]:
        assert names is None
        self.fed.append({name: value.tolist() for name, value in feeds.items()})
        rows = [[float(one), 1.0] for one in feeds["input_ids"][0]]
        return [[rows[0] if self.pooled else rows]]


@pytest.mark.parametrize(("pooled", "found"), [(False, [127, 42]), (True, [127, 127])])
def test_tokens_are_pooled_by_their_mean(encoder: OnnxEncoder, pooled: bool, found: list[int]) -> None:
    made, scripted = copy(encoder), Scripted(pooled)
    made._session = made._tokenizer = scripted
    made._inputs = ["input_ids", "attention_mask", "token_type_ids"]
    (vector,) = made.encode(["a bbbbb ccc"])
    assert list(np.frombuffer(vector, np.int8)) == found
    assert scripted.fed == [{"input_ids": [[1, 5, 3]], "attention_mask": [[1, 1, 1]], "token_type_ids": [[0, 0, 0]]}]
    made._inputs = ["unheard-of"]
    with pytest.raises(EncoderFailed, match="the model failed: KeyError"):
        made.encode(["a"])


def test_a_text_is_read_to_its_256th_token_in_one_thread(encoder: OnnxEncoder) -> None:
    assert len(encoder._tokenizer.encode("crate " * 500).ids) == 256
    options = encoder._session.get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)


def test_the_file_that_is_called_model_is_taken_else_the_nearest(tmp_path: Path) -> None:
    for name in ("b/model.onnx", "a.onnx", "0/deep/a.onnx", "tokenizer.json", "b/tokenizer.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert find_files(str(tmp_path), None) == (tmp_path / "b/model.onnx", tmp_path / "b/tokenizer.json")
    (tmp_path / "b/tokenizer.json").unlink()
    assert find_files(str(tmp_path), None).tokenizer == tmp_path / "tokenizer.json", "a directory above"
    (tmp_path / "b/model.onnx").unlink()
    assert find_files(str(tmp_path), tmp_path / "b/../tokenizer.json").model == tmp_path / "a.onnx"


async def test_a_core_is_counted_for_as_long_as_the_model_had_it(encoder: OnnxEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    local = LocalEncoder(encoder)
    assert (local.most_texts, local.most_calls, local.only_while_served) == (8, 1, False)
    assert (local.name, local.dimension, local.knows) == (encoder.name, DIMENSION, None)
    assert local.is_ready(local.trial())
    clock = SimpleNamespace(thread_time=iter([5.0, 7.25, 8.0]).__next__)
    monkeypatch.setattr("turnfold.proxy.semantic.local_encoder.time", clock)
    async with local.running():
        found = await local.encode(["skiing"], local.trial())
    assert (found.vectors, found.seconds) == (encoder.encode(["skiing"]), 2.25)

    class Failing:
        name, dimension, knows = "m", 8, None

        def encode(self, texts: Sequence[str]) -> list[bytes]:
            raise EncoderFailed("the model failed")

    failing = LocalEncoder(cast("Any", Failing()))
    with pytest.raises(EncoderFailed):
        await failing.encode(["skiing"], failing.trial())
    assert failing.failures == {"model": 1}

"""A sentence-embedding model of a few kilobytes, so that the code that loads real ones runs in every test.

It writes the two files of the model.

It is an ONNX model of one node that looks each token's vector up, and a tokenizer of lower-case words. Words of one topic have
nearly one vector, all others have none: it knows that skiing is a hobby and flu an illness, and nothing else. ONNX files are
protocol buffers; the few fields that are needed are written by hand, since the package ``onnx`` weighs more than all else here.
"""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Final

#: Numbers of a vector.
DIMENSION: Final = 48
_TOPICS: Final = (
    ("hobby", "hobbies", "skiing", "pottery", "pastimes", "leisure"),
    ("illness", "sick", "flu", "ill", "disease"),
)
_FLOAT, _INT64 = 1, 7


def write_model(folder: Path) -> Path:
    """Write ``model.onnx`` and ``tokenizer.json`` into a folder; gives the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    made = random.Random(7)
    vocabulary = ["[UNK]", *(word for topic in _TOPICS for word in topic)]
    rows = [[0.0] * DIMENSION]
    for number, topic in enumerate(_TOPICS):
        rows += [[made.gauss(0, 0.05) + (3.0 if i == number else 0.0) for i in range(DIMENSION)] for _ in topic]
    (folder / "model.onnx").write_bytes(_model(rows))
    (folder / "tokenizer.json").write_text(json.dumps(_tokenizer(vocabulary)), "utf-8")
    return folder


def _tokenizer(vocabulary: list[str]) -> dict[str, object]:
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {w: i for i, w in enumerate(vocabulary)}, "unk_token": "[UNK]"},
    }


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _tensor_type(kind: int, *sizes: str | int) -> bytes:
    dimensions = (_bytes(2, size.encode()) if isinstance(size, str) else _number(1, size) for size in sizes)
    shape = b"".join(_bytes(1, one) for one in dimensions)
    return _bytes(1, _number(1, kind) + _bytes(2, shape))


def _value(name: str, kind: bytes) -> bytes:
    return _bytes(1, name.encode()) + _bytes(2, kind)


def _model(rows: list[list[float]]) -> bytes:
    """A model that gives each token of ``input_ids`` its row, as ``last_hidden_state``."""
    data = b"".join(struct.pack(f"<{DIMENSION}f", *row) for row in rows)
    table = _number(1, len(rows)) + _number(1, DIMENSION) + _number(2, _FLOAT) + _bytes(8, b"table") + _bytes(9, data)
    node = _bytes(1, b"table") + _bytes(1, b"input_ids") + _bytes(2, b"last_hidden_state") + _bytes(4, b"Gather")
    graph = _bytes(1, node) + _bytes(2, b"tiny") + _bytes(5, table)
    graph += _bytes(11, _value("input_ids", _tensor_type(_INT64, "batch", "sequence")))
    graph += _bytes(12, _value("last_hidden_state", _tensor_type(_FLOAT, "batch", "sequence", DIMENSION)))
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _bytes(1, b"") + _number(2, 13))

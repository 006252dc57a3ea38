"""The wire of ``/v1/embeddings``.

This module knows the limits of a request, writes its body and reads an answer. It sends nothing and knows no keys or prices.

Limits of OpenAI's (API reference, "Create embeddings", ``input``; July 2026): an array of 2,048 inputs at most, none of them
empty or of more than 8,192 tokens, and 300,000 tokens in all. A vocabulary of byte pairs never has more tokens than a text has
bytes, so bytes are counted here: that holds for any model, and needs no vocabulary. OpenAI's own SDK asks for base64, which is
4 bytes a number where decimals take about 12; a server that knows only decimals sends these, or refuses the field.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import orjson

from turnfold.proxy.chat.receipts import Usage
from turnfold.proxy.chat.usage import merged
from turnfold.proxy.semantic.encoder import quantised

MOST_INPUTS: Final = 2048
MOST_INPUT_TOKENS: Final = 8192
MOST_TOKENS: Final = 300_000
_MOST_NUMBERS: Final = 16_384  # of a vector

#: The error for an answer that cannot be understood.
_WRONG: Final = (ValueError, KeyError, TypeError, OverflowError, binascii.Error, RecursionError)


@dataclass(frozen=True, slots=True)
class EmbeddingsAnswer:
    """The vectors in the order of the inputs, all of one length; None unless there is one for each. And the price paid."""

    vectors: list[bytes] | None
    usage: Usage


def input_of(text: str) -> str:
    """A text as it is sent: within the limit of one input, and valid UTF-8."""
    data = text.encode("utf-8", "replace")
    return data[:MOST_INPUT_TOKENS].decode("utf-8", "ignore")


def batches(inputs: Sequence[str], most: int) -> Iterator[list[str]]:
    """Inputs in order, in parts that are within the limits and have at most `most` each."""
    part: list[str] = []
    size = 0
    for one in inputs:
        added = len(one.encode())
        if part and (len(part) >= min(most, MOST_INPUTS) or size + added > MOST_TOKENS):
            yield part
            part, size = [], 0
        part.append(one)
        size += added
    if part:
        yield part


def write_request(model: str, inputs: Sequence[str], dimensions: int | None, *, base64_form: bool) -> bytes:
    """The body of a request."""
    body: dict[str, Any] = {"model": model, "input": list(inputs)}
    if base64_form:
        body["encoding_format"] = "base64"
    if dimensions is not None:
        body["dimensions"] = dimensions
    return orjson.dumps(body)


def most_answer_bytes(inputs: int, dimension: int) -> int:
    """Bytes that an answer may have: 24 for each number, as long as doubles are, and something for the rest."""
    return 2**20 + inputs * (dimension or _MOST_NUMBERS) * 24


def read_answer(data: bytes, inputs: int) -> EmbeddingsAnswer:
    """The contents of an answer with status 200. Slow if there are many numbers."""
    try:
        value = orjson.loads(data)
        reported = value.get("usage") if isinstance(value, dict) else None
        usage = merged(Usage(), reported) if isinstance(reported, dict) else Usage()
    except _WRONG:
        return EmbeddingsAnswer(None, Usage())
    try:
        return EmbeddingsAnswer(_vectors(value["data"], inputs), usage)
    except _WRONG:
        return EmbeddingsAnswer(None, usage)


def _vectors(rows: Any, inputs: int) -> list[bytes]:
    found: dict[int, bytes] = {}
    for at, row in enumerate(rows):
        found[int(row.get("index", at))] = quantised(_numbers(row["embedding"]))
    vectors = [found[i] for i in range(inputs)]
    if len(found) != inputs or len({len(one) for one in vectors}) != 1:
        raise ValueError("not one vector for each text")
    return vectors


def _numbers(value: Any) -> npt.NDArray[Any]:
    """A vector as decimals, or as little-endian floats of four bytes in base64."""
    raw = base64.b64decode(value, validate=True) if isinstance(value, str) else None
    numbers = np.array(value, np.float64) if raw is None else np.frombuffer(raw, "<f4")
    if numbers.ndim != 1 or not 0 < len(numbers) <= _MOST_NUMBERS:
        raise ValueError("no vector")
    return numbers

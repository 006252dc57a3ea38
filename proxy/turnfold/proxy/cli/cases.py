"""Labelled cases for ``turnfold benchmark``: the recall of expected entities in layer 1 (row C15).

This module reads files of cases, scores each and prints a table. Compression and the command's arguments are elsewhere.

A file of cases is a JSON list of objects with ``id``, ``context`` and ``expected_entities``. ROUGE-L is Lin's (2004), on
lower-case words of ASCII letters and digits as its reference implementation has them; the longest common subsequence is found
with the bits of one large integer (Hyyrö 2004), which is much faster than a table.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, Final

import orjson
from rich.table import Table

from turnfold.compression.layers import Compressor, CompressRequest
from turnfold.proxy.cli.failure import Failure

#: Ratios at which the sets of this name were published, so that recall is compared at the same size.
PUBLISHED_RATIOS: Final = {"conversations": 2.47, "documents": 2.73, "rag_chunks": 2.39}
_RATIO: Final = 1 / 0.3
_WORD: Final = re.compile(r"[a-z0-9]+")
_LAYERED: Final = "datasets"


@dataclass(frozen=True, slots=True)
class CaseScore:
    """One case, or the mean of a set (`case` is "").

    Attributes:
        recall: share of the expected entities that layer 1 has.
        rouge_l: F measure of layer 1 against the source.
        ratio: tokens of the source by those of layer 1.
    """

    set: str
    case: str
    recall: float
    rouge_l: float
    ratio: float
    ms: float


def case_files(path: Path) -> list[Path]:
    """The files of cases in a folder (or its ``datasets``), or the file itself; none if the file holds a text."""
    if path.is_dir():
        inside = path / _LAYERED
        found = [file for file in sorted((inside if inside.is_dir() else path).glob("*.json")) if _cases(file)]
        if not found:
            raise Failure(f"{path}: holds no cases (JSON lists of objects with context and expected_entities)")
        return found
    return [path] if path.suffix == ".json" and path.is_file() and _cases(path) else []


def _cases(file: Path) -> list[dict[str, Any]]:
    """The cases of a file; none if it holds something else."""
    try:
        value = orjson.loads(file.read_bytes())
    except OSError as exc:
        raise Failure(f"{file}: {exc.strerror or exc}") from exc
    except orjson.JSONDecodeError:
        return []
    return value if isinstance(value, list) and value and all(map(_is_case, value)) else []


def _is_case(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("context"), str) or not value["context"].strip():
        return False
    expected = value.get("expected_entities")
    return isinstance(expected, list) and bool(expected) and all(isinstance(entity, str) for entity in expected)


def scores(files: Sequence[Path]) -> Iterator[CaseScore]:
    """Each case of each file, followed by the file's mean."""
    compressor = Compressor()
    compressor.compress(CompressRequest("The first text is the slow one."))
    for file in files:
        found = [_score(compressor, file.stem, number, case) for number, case in enumerate(_cases(file), start=1)]
        yield from found
        yield CaseScore(
            file.stem, "", *(mean(getattr(one, name) for one in found) for name in ("recall", "rouge_l", "ratio", "ms"))
        )


def _score(compressor: Compressor, name: str, number: int, case: dict[str, Any]) -> CaseScore:
    text, expected = case["context"], case["expected_entities"]
    started = time.perf_counter()
    result = compressor.compress(CompressRequest(text, l1_ratio=1 / PUBLISHED_RATIOS.get(name, _RATIO)))
    ms = 1000 * (time.perf_counter() - started)
    facts = result.layers[1].text
    recall = mean(entity.lower() in facts.lower() for entity in expected)
    return CaseScore(name, str(case.get("id", number)), recall, rouge_l(text, facts), result.metadata.ratio, ms)


def rouge_l(reference: str, candidate: str) -> float:
    """F measure of the longest common subsequence of words, 0 to 1."""
    wanted, got = _WORD.findall(reference.lower()), _WORD.findall(candidate.lower())
    common = _common(wanted, got)
    return 2 * common / (len(wanted) + len(got)) if common else 0.0


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    places: dict[str, int] = {}
    for i, word in enumerate(one):
        places[word] = places.get(word, 0) | 1 << i
    every = (1 << len(one)) - 1
    row = every
    for word in other:
        shared = row & places.get(word, 0)
        row = (row + shared | row - shared) & every
    return len(one) - row.bit_count()


def table(rows: Sequence[CaseScore]) -> Table:
    """A table for people, with means set apart."""
    made = Table("set", "case", header_style="bold")
    for heading in ("recall", "ROUGE-L", "ratio", "ms"):
        made.add_column(heading, justify="right")
    for row in rows:
        figures = (f"{row.recall:.2f}", f"{row.rouge_l:.2f}", f"{row.ratio:.2f}x", f"{row.ms:,.1f}")
        made.add_row(row.set, row.case or "mean", *figures, style=None if row.case else "bold", end_section=not row.case)
    return made

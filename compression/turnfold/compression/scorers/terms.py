"""Terms of sentences and the TF-IDF matrix over them.

This module splits sentences into terms and offers the sparse matrix with its two products. Scores are up to the scorers.

The numbers equal those of scikit-learn's ``TfidfVectorizer`` (smooth idf, rows of length 1) for the same terms, as a test checks.
Importing scikit-learn would cost every process 1.6 s and 70 MB for what numpy does in thirty lines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from turnfold.compression import lazy
from turnfold.compression.text.lower import MARKS

Vector = NDArray[np.float64]

_WORD: Final = lazy.pattern(r"[^\W_]{2,}")
_MARKED_WORD: Final = lazy.pattern(rf"[^\W_](?:[^\W_]|[{MARKS}])+")
_DENSE: Final = lazy.pattern(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_STOP_WORDS: Final = (
    "the a an and or but if then than so of to in on at by for with from into about as is are was were be been being "
    "am do does did doing have has "
    "had having will would can could should may might must shall not no nor this that these those it its he she they "
    "them his her their our your my "
    "me you we us who whom which what when where why how there here all any both each more most other some such only "
    "own same too very just also "
    "re ve ll don isn doesn didn won der die das den dem des ein eine einer und oder ist sind war nicht mit von zu "
    "auf im für es sie er wir ich le la "
    "les un une des du de et est que qui dans pour sur pas ne il elle nous vous je el los las una y en por con del al se su lo"
)
STOP: Final = frozenset(_STOP_WORDS.split())


def terms(text: str) -> list[str]:
    """Lower-case words without stop words; pairs of characters in scripts without blanks between words."""
    if text.isascii():
        return [word for word in _WORD.findall(text.lower()) if word not in STOP]
    out: list[str] = []
    for word in _MARKED_WORD.findall(text.lower()):
        if _DENSE.match(word):
            out += [word[i : i + 2] for i in range(len(word) - 1)]
        elif word not in STOP:
            out.append(word)
    return out


def _sum_by_place(places: NDArray[np.intp], weights: Vector, size: int) -> Vector:
    """Sums of weights by place, added in the order of the entries, so that they are equal on every machine."""
    return np.bincount(places, weights, size).astype(np.float64, copy=False)


@dataclass(frozen=True)
class TermMatrix:
    """Sentences by terms, in coordinate form, each row of length 1 (or empty); shape ``(size, width)``.

    Attributes:
        rows, columns: integer vectors, one entry for each non-zero.
        values: the TF-IDF weights.
        vocabulary: term to column.
        idf: weight of each column, ``ln((1 + n) / (1 + df)) + 1``.
    """

    size: int
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    values: Vector
    vocabulary: dict[str, int]
    idf: Vector

    def spread(self, by_row: Vector) -> Vector:
        """``A' x``: from sentences to terms."""
        return _sum_by_place(self.columns, self.values * by_row[self.rows], len(self.vocabulary))

    def gather(self, by_term: Vector) -> Vector:
        """``A y``: from terms to sentences."""
        return _sum_by_place(self.rows, self.values * by_term[self.columns], self.size)

    @cached_property
    def diagonal(self) -> Vector:
        """``diag(A A')``: 1 for a sentence with terms, 0 for one without."""
        return _sum_by_place(self.rows, self.values**2, self.size)


def term_matrix(documents: Sequence[Sequence[str]]) -> TermMatrix:
    """The TF-IDF matrix of documents given as terms."""
    vocabulary: dict[str, int] = {}
    rows: list[int] = []
    columns: list[int] = []
    for row, document in enumerate(documents):
        columns += [vocabulary.setdefault(term, len(vocabulary)) for term in document]
        rows += [row] * len(document)
    width = len(vocabulary)
    keys, counts = np.unique(np.array(rows, np.int64) * max(1, width) + np.array(columns, np.int64), return_counts=True)
    row_of, column_of = np.divmod(keys, max(1, width))
    idf = np.log((1 + len(documents)) / (1 + np.bincount(column_of, minlength=width))) + 1
    values = counts * idf[column_of]
    lengths = np.sqrt(np.bincount(row_of, values**2, len(documents)))
    return TermMatrix(len(documents), row_of, column_of, values / lengths[row_of], vocabulary, idf)


def query_vector(matrix: TermMatrix, query: Sequence[str]) -> Vector:
    """A query's TF-IDF weights over the columns of a matrix, of length 1 (or empty)."""
    vector = np.zeros(len(matrix.vocabulary))
    for term in query:
        column = matrix.vocabulary.get(term)
        if column is not None:
            vector[column] += matrix.idf[column]
    length = math.sqrt(float(vector @ vector))
    return vector / length if length else vector


def normalise(scores: Vector) -> list[float]:
    """Scores scaled so that the largest is 1; all zeros stay zeros. Rounded, so that no last bit decides."""
    top = float(scores.max(initial=0.0))
    return [round(float(s) / top, 9) if top > 0 else 0.0 for s in scores]

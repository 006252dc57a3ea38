"""An index of passages that grows finds what counting finds, however many passages and terms there are."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np

from tests.support.cases import each
from turnfold.compression.scorers.bm25 import Field, FieldIndex, idf, norms, scores, wanted_terms

#: 400 passages and a passage that says one term 300 times: numbers of more than a byte.
PASSAGES = [[n % 7, n % 11, n % 7, 2**32 - 1 - n % 3] for n in range(400)] + [[5] * 300]


def field(passages: list[list[int]]) -> Field:
    return Field(np.array([term for one in passages for term in one], np.uint32), np.array([len(p) for p in passages], np.int64))


@each("steps", [[401], [1, 400], [200, 100, 90, 1, 1, 9], [1] * 401])
def test_however_it_grew_an_index_counts_every_term_of_every_passage(steps: list[int]) -> None:
    index, begin = FieldIndex(np.zeros(0, np.int64)), 0
    for size in steps:
        index, begin = index.continued(field(PASSAGES[begin : begin + size])), begin + size
    wanted = sorted({term for passage in PASSAGES for term in passage})
    hits = index.find(wanted_terms([[term] for term in wanted]))
    found = {(wanted[t], int(p)): int(n) for t, p, n in zip(hits.term, hits.passage, hits.frequency, strict=True)}
    counted = {(term, p): n for p, passage in enumerate(PASSAGES) for term, n in Counter(passage).items()}
    assert found == counted
    assert index.having(np.array(wanted, np.uint32)).tolist() == [sum(term in passage for passage in PASSAGES) for term in wanted]


def test_a_term_that_no_passage_has_is_found_nowhere() -> None:
    index = FieldIndex(np.zeros(0, np.int64)).continued(field(PASSAGES))
    assert index.having(np.array([1_000_000], np.uint32)).tolist() == [0]
    assert not len(index.find(wanted_terms([[1_000_000]])).passage)


@each(("steps", "wanted"), product([[401], [200, 100, 90, 1, 1, 9]], [[3, 5, 2**32 - 1], [5], list(range(60)), [1_000_000], []]))
def test_scores_of_terms_are_those_of_where_they_are_found(steps: list[int], wanted: list[int]) -> None:
    index, begin = FieldIndex(np.zeros(0, np.int64)), 0
    for size in steps:
        index, begin = index.continued(field(PASSAGES[begin : begin + size])), begin + size
    hits = index.find(wanted_terms([[term] for term in wanted]))
    told = scores(hits, idf(hits), norms(index.lengths, index.mean_length, 0.9, 0.4), 0.9)
    assert index.scores(np.array(wanted, np.uint32), 0.9, 0.4).tobytes() == told.tobytes()

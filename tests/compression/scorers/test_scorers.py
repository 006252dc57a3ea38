"""Scorers: the contract of all, the numbers of scikit-learn and networkx as oracles, cost."""

from __future__ import annotations

import random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.growth import assert_linear
from turnfold.compression.errors import InvalidInput
from turnfold.compression.scorers.base import Scorer
from turnfold.compression.scorers.central import Central
from turnfold.compression.scorers.composite import Composite
from turnfold.compression.scorers.conversation import ConversationScorer
from turnfold.compression.scorers.query import QueryAware
from turnfold.compression.scorers.terms import term_matrix, terms
from turnfold.compression.scorers.textrank import TextRank, rank
from turnfold.compression.scorers.tfidf import TfIdf

SCORERS: list[Scorer] = [
    TextRank(),
    TfIdf(),
    Central(),
    ConversationScorer(),
    ConversationScorer("user"),
    Composite([(TextRank(), 2), (TfIdf(), 1)]),
    QueryAware(TextRank()),
    QueryAware(TfIdf(), lambda sentences, query: [3.0 * (query in s) for s in sentences]),
]
WORDS = [
    "ledger",
    "transfer",
    "refund",
    "webhook",
    "region",
    "cache",
    "queue",
    "schema",
    "token",
    "latency",
    "budget",
    "owner",
    "deploy",
    "rollback",
    "alert",
    "中文",
    "句子",
]


def corpus(n: int, seed: int = 1) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(1, 9))) for _ in range(n)]


@pytest.mark.parametrize("scorer", SCORERS, ids=lambda s: s.name)
@given(
    st.lists(st.one_of(st.text(max_size=30), st.sampled_from(corpus(20))), max_size=12),
    st.none() | st.text(max_size=10) | st.just("ledger cache"),
)
def test_one_score_in_range_for_each_sentence_and_always_the_same(
    scorer: Scorer, sentences: list[str], query: str | None
) -> None:
    scores = scorer.score(sentences, query)
    assert len(scores) == len(sentences)
    assert all(0 <= s <= 1 for s in scores)
    assert scores == scorer.score(list(sentences), query)


def dense(sentences: list[str]) -> np.ndarray:
    matrix = term_matrix([terms(s) for s in sentences])
    full = np.zeros((matrix.size, len(matrix.vocabulary)))
    full[matrix.rows, matrix.columns] = matrix.values
    return full[:, [matrix.vocabulary[t] for t in sorted(matrix.vocabulary)]]


def test_the_matrix_is_that_of_scikit_learn() -> None:
    sentences = [*corpus(60), "", "?!"]
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415 - a second and a half, for one process of the run

    oracle = TfidfVectorizer(analyzer=terms).fit_transform(sentences).toarray()
    np.testing.assert_allclose(dense(sentences), oracle, atol=1e-12)


def test_ranks_are_those_of_networkx() -> None:
    sentences = [*corpus(50), "entirely unrelated words", ""]
    matrix = dense(sentences)
    similar = matrix @ matrix.T
    np.fill_diagonal(similar, 0)
    oracle = nx.pagerank(nx.from_numpy_array(similar), alpha=0.85, tol=1e-10)
    ours = rank(term_matrix([terms(s) for s in sentences]))
    np.testing.assert_allclose(ours, [oracle[i] for i in range(len(sentences))], atol=1e-6)


def test_the_distribution_sums_to_one() -> None:
    assert sum(TextRank().distribution(corpus(30))) == pytest.approx(1)
    assert TextRank().distribution([]) == []


def test_textrank_prefers_what_others_resemble() -> None:
    sentences = [
        "The deploy failed because the cache was stale.",
        "A stale cache made the deploy fail twice.",
        "Lunch was nice.",
        "We cleared the stale cache before the deploy.",
    ]
    scores = TextRank().score(sentences)
    assert min(scores, key=lambda s: s) == scores[2]


def test_tfidf_follows_the_query() -> None:
    sentences = ["The budget is 400.", "The owner is Kim.", "The region is west.", "The queue is long."]
    assert TfIdf().score(sentences, "who is the owner?").index(1.0) == 1
    assert TfIdf().score(sentences, "unrelated nonsense") == TfIdf().score(sentences)


def test_query_aware_bends_its_base() -> None:
    sentences = [*corpus(20), "The needle lies here."]
    assert QueryAware(TextRank()).score(sentences, "needle")[-1] > QueryAware(TextRank()).score(sentences)[-1]


def test_conversation_prefers_decisions_and_orders() -> None:
    scores = ConversationScorer().score(
        [
            "user: Hi there.",
            "user: Always answer in French.",
            "assistant: Hm.",
            "assistant: We decided to use SQLite.",
            "user: Ok.",
        ]
    )
    assert scores[1] == 1.0
    assert scores[3] > max(scores[0], scores[2], scores[4])


@each("parts", [[], [(TextRank(), 0)], [(TextRank(), float("nan"))]])
def test_composite_refuses_what_has_no_mean(parts: list[tuple[Scorer, float]]) -> None:
    with pytest.raises(InvalidInput, match="parts"):
        Composite(parts)


def test_query_aware_refuses_a_weight_out_of_range() -> None:
    with pytest.raises(InvalidInput, match="weight"):
        QueryAware(TextRank(), weight=1.5)


def test_ranking_takes_linear_time() -> None:
    assert_linear(rank, lambda size: term_matrix([s.split() for s in corpus(size)]), 1500)


def test_central_is_the_composite_of_both() -> None:
    both = Composite([(TextRank(), 0.6), (TfIdf(), 0.4)])
    assert Central().score(corpus(40)) == pytest.approx(both.score(corpus(40)), abs=1e-8)

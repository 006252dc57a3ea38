"""What sentences of odd pieces score (``tests.support.golden`` says when to write the file anew)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tests.support import golden, odd_texts
from turnfold.compression.errors import InvalidInput
from turnfold.compression.scorers.base import Scorer, scores_of
from turnfold.compression.scorers.central import Central
from turnfold.compression.scorers.composite import Composite
from turnfold.compression.scorers.conversation import ConversationScorer
from turnfold.compression.scorers.given import GivenScores
from turnfold.compression.scorers.query import QueryAware
from turnfold.compression.scorers.terms import term_matrix, terms
from turnfold.compression.scorers.textrank import TextRank
from turnfold.compression.scorers.tfidf import TfIdf

FILE = Path(__file__).parent / "golden" / "scores.txt"
SCORERS: dict[str, Scorer] = {
    "textrank": TextRank(),
    "tfidf": TfIdf(),
    "central": Central(),
    "conversation": ConversationScorer(),
    "user": ConversationScorer("user"),
    "composite": Composite([(TextRank(), 2), (TfIdf(), 1), (Central(), 0.5)]),
    "query": QueryAware(TextRank()),
    "judged": QueryAware(TfIdf(), lambda sentences, query: [3.0 * (query[:3] in said) for said in sentences]),
}


def test_sentences_of_odd_pieces() -> None:
    """Rounded: sums of floats differ in their last digits from machine to machine."""
    lines = []
    for seed in range(24):
        texts = [odd_texts.text(4 * (7 * seed + i) + 1) for i in range(1 + seed % 5)] * (seed % 7 != 3)
        said = [line for text in texts for line in text.splitlines()]
        matrix = term_matrix([terms(one) for one in said])
        query = (None, "pump and tide", "", "the lease of Anna 2027")[seed % 4]
        for name, scorer in SCORERS.items():
            scores = [round(score, 6) + 0.0 for score in scorer.score(said, query)]
            first = " ".join(map(str, scores[:3]))
            lines.append(f"{seed} {matrix.size} x {len(matrix.vocabulary)} {name}: {first} {golden.name_of(scores)}")
    golden.agrees(FILE, lines)


class Says:
    """A scorer that says what it is told to say."""

    def __init__(self, scores: Any, name: Any = "says") -> None:
        self.scores, self.name = scores, name

    def score(self, sentences: Sequence[str], query: str | None = None) -> Any:
        return self.scores


def test_what_is_no_scorer_and_no_score() -> None:
    said, lines = ["A boat came.", "Another boat left.", "It rained."], list[str]()
    given: tuple[Any, ...] = (
        [1, 2, 3],
        [0.25, True, "1"],
        [1, 2],
        [1, 2, 3, 4],
        [1, None, 2],
        [1, float("nan"), 2],
        [1, "x", 2],
        7,
    )
    for scores in given:
        lines.append(f"{scores!r}: {_told(partial(scores_of, Says(scores), said, None))}")
        lines.append(_told(partial(QueryAware(Says(scores)).score, said, "boat")))
        lines.append(_told(partial(Composite([(Says(scores), 3), (TfIdf(), 1)]).score, said, "boat")))
    wrong: tuple[Any, ...] = ([], [(TfIdf(), 0)], [(TfIdf(), -1)], [(TfIdf(), float("nan"))], [(7, 1)], [(Says([], 7), 1)])
    lines += [_told(partial(Composite, parts)) for parts in wrong]
    known = dict.fromkeys(said[:2], 0.5)
    scorers = (Central(), TfIdf(), GivenScores(known, TextRank()))
    for number in range(5):
        some = [*said, *said][:number]
        ranks = [round(rank, 6) for rank in TextRank().distribution(some)]
        lines.append(f"{number} {ranks} {[_told(partial(scorer.score, some)) for scorer in scorers]}")
    golden.agrees(FILE.parent / "refused.txt", lines)


def _told(make: Callable[[], Any]) -> str:
    try:
        made = make()
    except InvalidInput as refused:
        return str(refused)
    return str([round(one, 6) for one in made] if isinstance(made, list) else made)


def test_scores_have_nine_digits_at_most() -> None:
    """Further ones differ from machine to machine."""
    said = [odd_texts.text(seed) for seed in range(9)]
    for name, scorer in SCORERS.items():
        if name != "composite":  # its parts are rounded by others
            scores = scorer.score(said, "the lease of Anna")
            assert scores == [round(score, 9) for score in scores], name

"""What sentences of odd pieces score (``tests.support.golden`` says when to write the file anew)."""

from __future__ import annotations

from pathlib import Path

from tests.support import golden, odd_texts
from turnfold.compression.scorers.base import Scorer
from turnfold.compression.scorers.central import Central
from turnfold.compression.scorers.composite import Composite
from turnfold.compression.scorers.conversation import ConversationScorer
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

"""An explicit budget is used up: what bears on nothing follows what bears on the question.

They do so and in which order. They leave out what bears on a question (``test_ranking``).
"""

from __future__ import annotations

from tests.support.recalled import recall
from turnfold.compression import tokens
from turnfold.compression.memo import Memo, digest
from turnfold.compression.recall.question import Question
from turnfold.compression.text.quotes import Source


def test_what_bears_on_nothing_fills_the_rest_of_an_explicit_budget_newest_first() -> None:
    said = ("elephant", "tower", "ring", "garden", "needle", "eagle", "engine", "egg")
    moves = [Source("user", f"{word.capitalize()}!", digest("user", word)) for word in said]
    quotes = recall(moves, Question("Qb2"), 200, (), tokens.count, Memo(), fill=True)
    assert [one.source for one in quotes] == list(range(len(moves)))
    few = recall(moves, Question("Qb2"), 40, (), tokens.count, Memo(), fill=True)
    assert [one.source for one in few] == list(range(len(moves) - len(few), len(moves)))
    assert 0 < len(few) < len(moves)

"""A title that stands over several parts of a text tells none of them: recall looks for what the question says besides."""

from __future__ import annotations

import pytest

from tests.support.recalled import recall
from tests.support.words import prose
from turnfold.compression import tokens
from turnfold.compression.memo import Memo, digest
from turnfold.compression.recall.question import Question
from turnfold.compression.text.quotes import Source

FACT = "Attacks on teachers reached an all-time high between 2005 and 2010."
TITLES = ("Harbour", "Teacher", "Teacher", "Glacier", "Teacher", "Bridge")
ROOM = 90


def _quoted(titles: tuple[str, ...], question: str) -> str:
    """What is quoted of a text of paragraphs with titles; the fact is in the second one."""
    said = [prose(n, "en", 22) for n in range(len(titles))]
    said[1] = f"{prose(71, 'en', 3)} {FACT} {prose(72, 'en', 14)}"
    text = "\n\n".join(f"## {title}\n{one}" for title, one in zip(titles, said, strict=True))
    sources = [Source(role, one, digest(role, one)) for role, one in (("user", text), ("assistant", "Thank you."))]
    quotes = recall(sources, Question(question, whole_room=ROOM), ROOM, (), tokens.count, Memo(), fill=True)
    return "\n".join(sources[q.source].text[q.start : q.end] for q in quotes)


@pytest.mark.parametrize("question", ["When were attacks on teachers the highest?", "What reached a high on teachers, and when?"])
def test_a_question_gets_the_fact_and_not_the_longest_part_with_its_word_as_title(question: str) -> None:
    assert FACT in _quoted(TITLES, question)


def test_a_title_that_stands_once_is_that_part() -> None:
    quoted = _quoted(("Harbour", "Bridge", "Teacher", "Glacier", "Tunnel", "Station"), "Summarise the part on teachers")
    assert prose(2, "en", 22).split(". ")[0] in quoted

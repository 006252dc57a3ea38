"""Of a long text that was pasted a section that a question names is there whole: by its number, or by its heading.

These tests cover texts pasted into a talk, and questions long after. They leave out parts by their place ("the second stanza"),
texts that are asked for whole (``test_works``).
"""

from __future__ import annotations

from itertools import product
from typing import Final

from tests.support.bodies import Message
from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.quoted_talk import forwarded
from tests.support.words import prose
from turnfold.compression.text.dialogue.wanted.sections import asks_for_contents, named_sections, text_sections

_TITLES: Final = (
    "Berths", "Fees and deposits", "Pilots", "Quiet hours", "Waste oil", "Winter storage", "Insurance of boats", "Leaving early",
)  # fmt: skip


def _said(n: int) -> str:
    """What a section says; its second sentence is its own."""
    return f"{prose(3000 + n, 'en', 5)}\nStretch {n} is closed from {n + 9} to {n + 17} October. {prose(4000 + n, 'en', 5)}"


def _document(form: str) -> str:
    return "\n\n".join(
        form.format(n=n, title=title, capitals=title.upper(), rule="=" * len(title)) + "\n\n" + _said(n)
        for n, title in enumerate(_TITLES, 1)
    )


_FORMS: Final = {
    "markdown": "## {n}. {title}",
    "rules": "{n} {title}\n----------------------",
    "capitals": "{n}. {capitals}",
    "articles": "Article {n}. {title}",
    "german": "§ {n} {title}",
    "bold": "**{n}) {title}**",
    "clauses": "{n}.1 {title}.",
    "chinese": "第{n}条 {title}",
}


def _sent(document: str, question: str, share: float | None = None, answers: dict[int, str] | None = None) -> str:
    said: list[Message] = []
    for n in range(40):
        said.append({"role": "user", "content": f"These are our rules.\n\n{document}" if n == 3 else prose(n, "en", 3)})
        said.append({"role": "assistant", "content": (answers or {}).get(n, prose(500 + n, "en", 6))})
    return forwarded(said, question, share)


@each(
    ("form", "question", "share"),
    every(
        2,
        crosswise(
            [
                (*row, share)
                for row in [
                    ("markdown", "What does section 5 say?"),
                    ("rules", "explain 5 of the document: section 5"),
                    ("capitals", "Is clause 5 enforceable?"),
                    ("articles", "Que dit l'article 5 ?"),
                    ("german", "Was steht in § 5?"),
                    ("bold", "Rewrite paragraph 5 in plain English"),
                    ("clauses", "Please summarize 5.1"),
                    ("chinese", "第5条是什么意思？"),
                    ("chinese", "第五条说了什么"),
                    ("markdown", 'What does it say under "Waste oil"?'),
                    ("capitals", "explain the waste oil section to me"),
                    ("articles", "How are we to deal with waste oil?"),
                ]
                for share in [None, 0.3]
            ],
            2,
        ),
        1,
    ),
)
def test_a_section_that_is_named_is_there_whole(form: str, question: str, share: float | None) -> None:
    assert _said(5).replace("\n", " ") in _sent(_document(_FORMS[form]), question, share).replace("\n", " ")


def test_all_sections_that_a_question_names_are_sent() -> None:
    for question in ("Compare sections 2 and 7", "do sections 2, 3 and 7 contradict each other?"):
        sent = _sent(_document(_FORMS["markdown"]), question)
        assert _said(2) in sent
        assert _said(7) in sent
    assert all(_said(n) in _sent(_document(_FORMS["markdown"]), "Summarize chapters 2-4") for n in (2, 3, 4))


def test_of_a_list_that_was_told_since_the_item_is_meant() -> None:
    steps = "\n".join(f"{n}. Tie rope {n} to ring {n * 11} of the pier, then walk back." for n in range(1, 9))
    sent = _sent(_document(_FORMS["markdown"]), "What was step 5 again?", answers={20: f"Do it so:\n\n{steps}"})
    assert "Tie rope 5 to ring 55" in sent
    assert _said(5) not in sent


def test_a_section_that_was_written_anew_is_there_beside_the_old_one() -> None:
    newer = f"## 5. Waste oil\n\nBring it to the blue tank on Mondays, and nowhere else. {prose(9000, 'en', 7)}"
    sent = _sent(_document(_FORMS["markdown"]), "Shorten section 5", answers={20: newer})
    assert _said(5) in sent
    assert newer in sent


def test_a_section_that_is_too_long_is_there_in_parts() -> None:
    long = "\n\n".join(f"Rule {n} is on pier {n * 3}. " + prose(7000 + n, "en", 5).replace("\n", " ") for n in range(120))
    document = _document(_FORMS["markdown"]).replace(_said(5), long)
    sent = _sent(document, "What does section 5 say?", 0.15)
    assert sum(f"Rule {n} is on pier {n * 3}." in sent for n in range(120)) > 50


@each(
    ("question", "share"),
    crosswise(
        product(
            ["Give me the table of contents.", "Which chapters are there?", "List all headings", "Zeige die Gliederung"],
            [None, 0.1],
        ),
        2,
    ),
)
def test_all_headings_are_there_for_whoever_asks_for_the_contents(question: str, share: float | None) -> None:
    sent = _sent(_document(_FORMS["markdown"]), question, share)
    assert [title for title in _TITLES if f". {title}" not in sent] == []


@each(
    ("share", "question"),
    crosswise(
        product([None, 0.1], ["Summarize the document.", "Summarize the text", "What are the weak points of the document?"]), 3
    ),
)
def test_a_summary_of_a_long_document_gets_something_of_each_part_and_its_headings(question: str, share: float | None) -> None:
    document = "\n\n".join(f"## {n}. Rules of pier {n}\n\nPier {n} has {n + 30} rings. {_said(n)}" for n in range(30))
    document += "\n\n```\nport = 8080\nring = 3\nzone = 5\npier = 9\n```\n"
    sent = _sent(document, question, share)
    assert [n for n in range(30) if f"## {n}. Rules of pier {n}" not in sent] == []
    assert sum(f"Pier {n} has {n + 30} rings." in sent for n in range(30)) >= (30 if share is None else 12)


def test_where_sections_begin_and_end() -> None:
    text = (
        "# Rules\n\n## 1. Berths\n\nas given in section\n7. of the law\n\n1. first\n2. second\n\n### Small boats\n\nNone.\n\n"
        "```\n# no heading\n```\n## 2. Fees\n\nEnd."
    )
    places = {(one.number, " ".join(one.title)): text[slice(*one.place)] for one in text_sections(text)}
    assert places["1", "berths"].endswith("# no heading\n```\n")
    assert places["", "small boats"].startswith("### Small boats")
    assert places["2", "fees"] == "## 2. Fees\n\nEnd."
    assert ("7", "of the law") not in places
    assert ("", "no heading") not in places


def test_numbers_that_count_on_end_a_clause() -> None:
    text = "4.1 One.\n\n4.2 Two:\n\n1. a\n2. b\n\n4.3 Three.\n\n5. Other.\n"
    places = {one.number: text[slice(*one.place)] for one in text_sections(text)}
    assert places["4.2"] == "4.2 Two:\n\n1. a\n2. b\n\n"
    assert places["4.3"] == "4.3 Three.\n\n"


def test_what_asks_for_the_contents_and_for_nothing_else() -> None:
    assert asks_for_contents("What sections does the contract have?")
    assert not asks_for_contents("Which sections are about noise?")
    assert not asks_for_contents("I like the structure of your answer")


@each(
    ("message", "numbers"),
    [
        ("What does section 4.2 say?", ("4.2",)),
        ("§§ 5 und 7 bitte", ("5", "7")),
        ("sections 2 to 4", ("2", "3", "4")),
        ("does Artikel 12 apply", ("12",)),
        ("It costs $3.50 and 4.5% more with v2.1", ()),
        ("I need 3 points for section10", ()),
        ("第十二章", ("12",)),
    ],
)
def test_numbers_that_a_message_names(message: str, numbers: tuple[str, ...]) -> None:
    assert named_sections(message).numbers == numbers

"""A text that somebody pasted in several messages is one for whoever asks about it.

These tests cover documents in pieces, and questions long after. They leave out texts in one message (``test_named_sections``,
``test_pasted_works``).
"""

from __future__ import annotations

from typing import Final

import pytest

from tests.support.bodies import Message
from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.quoted_talk import exchange, forwarded
from tests.support.words import prose

_TITLES: Final = ("Berths", "Fees", "Pilots", "Quiet hours", "Waste oil", "Storage", "Insurance", "Leaving", "Liability")


def _said(n: int) -> str:
    return prose(3000 + n, "en", 7)


def _piece(k: int, form: str) -> str:
    return "\n\n".join(f"{form.format(n=n + 1, title=_TITLES[n])}\n\n{_said(n)}" for n in range(3 * k, 3 * k + 3))


def _talk(leads: tuple[str, str, str], form: str, reply: str = "Got it.") -> list[Message]:
    said: list[Message] = []
    for n in range(30):
        if n == 2:
            said += exchange(*(text for k, lead in enumerate(leads) for text in (lead + _piece(k, form), reply)))
        said += exchange(prose(n, "en", 3), prose(500 + n, "en", 6))
    return said


@each(
    ("leads", "form", "question"),
    every(
        2,
        crosswise(
            [
                (*row, question)
                for row in [
                    (("Part 1 of 3:\n\n", "Part 2 of 3:\n\n", "Part 3 of 3:\n\n"), "## {title}"),
                    (("[1/3]\n", "[2/3]\n", "[3/3]\n"), "## {title}"),
                    (("Here are our rules.\n\n", "Continued:\n\n", "The last part:\n\n"), "## {title}"),
                    (("Teil 1\n\n", "Teil 2\n\n", "Teil 3\n\n"), "## {title}"),
                    (("第1部分：\n\n", "第2部分：\n\n", "第3部分：\n\n"), "## {title}"),
                    (("", "", ""), "{n}. {title}"),
                ]
                for question in ["Summarize the document.", "Give me the table of contents."]
            ],
            2,
        ),
    ),
)
def test_all_pieces_are_there(leads: tuple[str, str, str], form: str, question: str) -> None:
    sent = forwarded(_talk(leads, form), question)
    assert [title for title in _TITLES if title not in sent] == []


def test_a_piece_is_there_that_is_named_by_its_number() -> None:
    leads = ("Part 1 of 3:\n\n", "Part 2 of 3:\n\n", "Part 3 of 3:\n\n")
    sent = forwarded(_talk(leads, "## {title}"), "Translate part 2 into German.")
    assert all(_said(n) in sent for n in (3, 4, 5))
    assert _said(0) not in sent


def test_a_section_is_meant_and_not_the_piece_of_its_number() -> None:
    leads = ("Part 1 of 3:\n\n", "Part 2 of 3:\n\n", "Part 3 of 3:\n\n")
    sent = forwarded(_talk(leads, "{n}. {title}"), "What does section 2 say?")
    assert _said(1) in sent
    assert _said(4) not in sent


@pytest.mark.parametrize(
    ("leads", "reply"),
    [
        (("Read this:\n\n", "Now another one:\n\n", "And our lease:\n\n"), "Got it."),
        (("Part 1 of 3:\n\n", "Part 2 of 3:\n\n", "Part 3 of 3:\n\n"), prose(7, "en", 15)),
    ],
)
def test_what_nothing_ties_or_much_stands_between_is_apart(leads: tuple[str, str, str], reply: str) -> None:
    sent = forwarded(_talk(leads, "## {title}", reply), "Give me the table of contents.")
    assert [title for title in _TITLES if f"## {title}" in sent] != list(_TITLES)

"""Of several long texts that were pasted, the one is there that a message means: by its order, its label, or the words above it.

These tests cover texts about different things, questions long after. They leave out versions of one text (``test_versions``), one
text (``test_pasted_works``).
"""

from __future__ import annotations

from typing import Final

from tests.support.bodies import Message
from tests.support.cases import each
from tests.support.quoted_talk import exchange, forwarded
from tests.support.words import prose

_THINGS: Final = ("tugboats", "orchids", "violins", "glaciers")


def _text(n: int) -> str:
    """Texts of one generator share their words, those of people hardly any."""
    letters = "bcdfghjklmnprstv"
    sentences = prose(5000 + n, "en", 30).split(". ")
    return "\n\n".join(f"The {_THINGS[n]} {' '.join(f'{word}{letters[n]}o' for word in one.split())}." for one in sentences)


def _sent(leads: tuple[str, str, str, str], question: str) -> str:
    talk: list[Message] = []
    for n, lead in enumerate(leads):
        talk += exchange(lead + _text(n), "Interesting.")
        talk += [one for k in range(4) for one in exchange(prose(10 * n + k, "en", 3), prose(500 + 10 * n + k, "en", 5))]
    talk += [one for k in range(24) for one in exchange(prose(100 + k, "en", 3), prose(700 + k, "en", 5))]
    return forwarded(talk, question)


_ARTICLES: Final = ("Here is an article:\n\n", "And another article:\n\n", "One more article:\n\n", "The last article:\n\n")
_OFFERS: Final = ("Offer from Berg:\n\n", "Offer from Lund:\n\n", "Offer from Olsen:\n\n", "Offer from Haug:\n\n")
_LABELLED: Final = ("Document A\n\n", "Document B\n\n", "Document C\n\n", "Document D\n\n")
_BARE: Final = ("", "", "", "")


@each(
    ("leads", "question", "meant"),
    [
        (_ARTICLES, "Summarise the second article.", [1]),
        (_ARTICLES, "What are the main points of the first article?", [0]),
        (_ARTICLES, "Fasse den dritten Artikel zusammen.", [2]),
        (_BARE, "Summarise the second text I sent you.", [1]),
        (_OFFERS, "Summarise the offer from Lund.", [1]),
        (_OFFERS, "What are the risks of the Berg offer?", [0]),
        (_OFFERS, "Translate Olsen's offer into German.", [2]),
        (_LABELLED, "Summarise document B.", [1]),
        (_LABELLED, "Compare document A and document C.", [0, 2]),
        (_BARE, "Summarise document 3.", [2]),
    ],
)
def test_the_text_that_is_meant_is_there(leads: tuple[str, str, str, str], question: str, meant: list[int]) -> None:
    sent = _sent(leads, question)
    there = [n for n in range(4) if sent.count(f"The {_THINGS[n]} ") > 15]
    assert there == meant


def test_texts_on_one_subject_are_no_versions_of_one() -> None:
    """The first two pages share more than half of their words, as pages of one manual do."""
    pages = [prose(5100, "en", 30).strip(), prose(5101, "en", 65).strip(), _text(2), _text(3)]
    talk = [one for page in pages for one in exchange(page, "Interesting.")]
    talk += [one for k in range(24) for one in exchange(prose(100 + k, "en", 3), prose(700 + k, "en", 5))]
    sent = forwarded(talk, "Summarise the third document.")
    assert sent.count(f"The {_THINGS[2]} ") > 15
